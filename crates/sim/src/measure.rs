//! Measuring: samples at even spacing, the measured span, and the records at the end. Nothing here costs a packet
//! anything, and nothing here changes what happens.

use longfat_core::atm::aal5;
use longfat_core::time::{Duration, Time};
use longfat_model::{Experiment, Flow, Host};
use longfat_record::trace::{
    CellRecord, FlowCounts, FlowRecord, FlowSample, HostRecord, Level, LinkRecord, LinkSample, MemoryRecord, QUANTILES, Trace,
};

use crate::Error;
use crate::engine::world::{Snapshot, World};
use crate::stage::endpoint::Agent;
use crate::stage::host::Gauge;

/// Watches a world: stops it at the instants where something is to be written down.
#[derive(Debug)]
pub struct Recorder {
    interval: Option<Duration>,
    next_sample: Time,
    warmup: Time,
    span_start: Time,
    end: Time,
    /// For each flow.
    at_warmup: Option<Vec<FlowCounts>>,
    /// For each flow, whether it is measured whole.
    is_whole: Vec<bool>,
    at_span_start: Option<Snapshot>,
    trace: Trace,
}

impl Recorder {
    /// Records what `experiment` asks for.
    pub fn new(experiment: &Experiment) -> Self {
        let measure = &experiment.measure;
        assert!(measure.interval != Some(Duration::ZERO), "the spacing of samples is positive");
        Recorder {
            interval: measure.interval,
            next_sample: if measure.interval.is_some() { Time::ZERO } else { Time::MAX },
            warmup: Time::ZERO + measure.warmup,
            span_start: Time::ZERO + experiment.span_start(),
            end: Time::ZERO + measure.duration,
            at_warmup: None,
            is_whole: experiment.flows.iter().map(Flow::is_measured_whole).collect(),
            at_span_start: None,
            trace: Trace::default(),
        }
    }

    /// The next instant to stop at.
    pub fn next_stop(&self) -> Time {
        let warmup = if self.at_warmup.is_none() { self.warmup } else { Time::MAX };
        let span = if self.at_span_start.is_none() { self.span_start } else { Time::MAX };
        self.next_sample.min(warmup).min(span).min(self.end)
    }

    /// Writes down what is due, after everything that happened now. Whether the run goes on.
    pub fn stopped(&mut self, world: &mut World) -> Result<bool, Error> {
        if self.at_warmup.is_none() && world.now() >= self.warmup {
            self.warm(world);
        }
        if self.at_span_start.is_none() && world.now() >= self.span_start {
            self.at_span_start = Some(world.snapshot());
            world.forget_waits();
        }
        if world.now() >= self.next_sample {
            self.sample(world)?;
            self.next_sample = world.now() + self.interval.expect("there is a next sample");
        }
        Ok(world.now() < self.end)
    }

    /// The warmup is over: what is measured begins here.
    fn warm(&mut self, world: &mut World) {
        world.advance_links();
        self.at_warmup = Some(world.counts());
        for (flow, _) in self.is_whole.iter().enumerate().filter(|(_, is_whole)| !**is_whole) {
            world.endpoint_mut(2 * flow).agent.forget_round_trips();
        }
    }

    fn sample(&mut self, world: &mut World) -> Result<(), Error> {
        world.advance_links();
        let time = world.now();
        let flows = (0..self.is_whole.len()).map(|flow| flow_sample(world, flow));
        let links = (0..world.links().len()).map(|link| link_sample(world, link));
        let trace = &mut self.trace;
        let recorded = trace.flow_series.extend(flows).and_then(|()| trace.link_series.extend(links));
        recorded.map_err(|e| Error::Recording { at: time, why: e.to_string() })
    }

    /// The run is over: the whole trace. A last sample closes a series that the end cut short.
    pub fn finish(mut self, world: &mut World, experiment: &Experiment) -> Result<Trace, Error> {
        world.advance_links();
        let last = self.trace.flow_series.last().map(|sample| sample.time);
        if self.interval.is_some() && last != Some(world.now()) {
            self.sample(world)?;
        }
        let now = world.snapshot();
        let span_end = world.all_delivered.as_ref().unwrap_or(&now);
        let span_start = self.at_span_start.as_ref().unwrap_or(span_end);
        let mut trace = self.trace;
        trace.end = world.now();
        trace.span = (span_start.time.min(span_end.time), span_end.time);
        trace.steps = world.context.steps;
        trace.packets_in_network_max = world.context.ledger.in_network_max();
        let of_flow = |i: usize| {
            let span = (&span_start.flows[i], &span_end.flows[i]);
            let at_warmup = self.at_warmup.as_ref().map(|all| &all[i]);
            flow_record(world, experiment, i).counted(&experiment.flows[i], &now.flows[i], at_warmup, span)
        };
        trace.flows = (0..experiment.flows.len()).map(of_flow).collect();
        trace.links = (0..world.links().len()).map(|i| link_record(world, experiment, i, span_start, span_end)).collect();
        trace.hosts = host_records(world, experiment, span_start, span_end);
        trace.events = world.context.ledger.take_events();
        trace.packets = world.context.ledger.take_packets();
        trace.acks = world.context.ledger.take_acks();
        Ok(trace)
    }
}

/// A link now; it has been advanced to now.
pub fn link_sample(world: &World, number: usize) -> LinkSample {
    let sample = LinkSample::of(number, world.link(number), world.now());
    match world.port(number).map(|port| port.totals(world.now())) {
        None => sample,
        Some(cells) => LinkSample {
            backlog_packets: cells.queued,
            backlog_bytes: cells.queued * u64::from(aal5::CELL),
            wire_bytes: cells.transmitted * u64::from(aal5::CELL),
            ..sample
        },
    }
}

/// A flow now.
pub fn flow_sample(world: &World, flow: usize) -> FlowSample {
    let (sender, receiver) = (&world.endpoint(2 * flow).agent, &world.endpoint(2 * flow + 1).agent);
    let (info, held) = (sender.info(), receiver.info().memory);
    FlowSample {
        time: world.now(),
        flow: flow as u32,
        cwnd: info.cwnd,
        ssthresh: info.ssthresh,
        in_flight: info.in_flight,
        rwnd: info.rwnd,
        send_buffered: info.memory.send_buffered,
        send_buffer: info.memory.send_buffer,
        receive_buffered: held.receive_buffered,
        promised: held.promised,
        srtt_s: info.srtt.as_secs_f64(),
        rto_s: info.rto.as_secs_f64(),
        bytes_delivered: receiver.bytes_delivered(),
        bytes_arrived: receiver.bytes_arrived(),
        bytes_retransmitted: sender.stats().bytes_retransmitted,
    }
}

/// All but the counts.
fn flow_record(world: &World, experiment: &Experiment, flow: usize) -> FlowRecord {
    let (sender, receiver) = (&world.endpoint(2 * flow).agent, &world.endpoint(2 * flow + 1).agent);
    let (sent, received) = (sender.stats(), receiver.stats());
    let milestones = &world.context.flows[flow];
    let trips = sender.round_trips().and_then(|trips| Some((trips, trips.at(QUANTILES, 0)?)));
    // The middle of a bin may lie beyond all that is in it.
    let quantiles = trips.map(|(trips, of)| of.map(|rtt| rtt.clamp(sent.rtt_min, trips.max()).as_secs_f64()));
    let rtt_min = (sent.rtt_min > Duration::ZERO).then(|| sent.rtt_min.as_secs_f64());
    FlowRecord {
        start: Time::ZERO + experiment.flows[flow].start,
        established: milestones.established,
        delivered_all: milestones.delivered_all,
        acked_all: milestones.acked_all,
        gave_up: milestones.gave_up,
        acks_sent: received.acks_sent,
        // One packet was the answer to the SYN.
        acks_received: world.endpoint(2 * flow).delivered.packets.saturating_sub(u64::from(milestones.established.is_some())),
        fast_retransmits: sent.fast_retransmits,
        timeouts: sent.timeouts,
        send_stalls: sent.send_stalls,
        duplicates_received: received.duplicates_received,
        rtt_min_s: rtt_min.unwrap_or(f64::NAN),
        rtt_mean_s: trips.map_or(f64::NAN, |(trips, _)| trips.mean_s()),
        rtt_max_s: trips.map_or(f64::NAN, |(trips, _)| trips.max().as_secs_f64()),
        rtt_quantiles_s: quantiles.unwrap_or([f64::NAN; 3]),
        rtt_deviation_s: sender.rtt_deviation_s(),
        packets_delivered: world.endpoint(2 * flow + 1).delivered.packets,
        in_flight_max: sent.in_flight_max,
        ..at_the_end(sender)
    }
}

/// How a sender of TCP ended.
fn at_the_end(sender: &Agent) -> FlowRecord {
    let Agent::Tcp(tcp) = sender else { return FlowRecord::default() };
    let info = sender.info();
    FlowRecord {
        cwnd_end: Some(info.cwnd),
        ssthresh_end: (info.ssthresh != u64::MAX).then_some(info.ssthresh),
        gave_up_ecn: Some(tcp.gave_up_ecn().into()),
        ..FlowRecord::default()
    }
}

fn host_records(world: &World, experiment: &Experiment, start: &Snapshot, end: &Snapshot) -> Vec<HostRecord> {
    let mut processors = start.processors.iter().zip(&end.processors).map(|(from, to)| to.saturating_sub(*from).as_secs_f64());
    let span = end.time.since(start.time).as_ps() as f64;
    let mean = |from: u128, to: u128| if span > 0.0 { to.saturating_sub(from) as f64 / span } else { 0.0 };
    let mut pools = world.memories().zip(start.memory.iter().zip(&end.memory)).map(|(pool, (from, to))| {
        let level = |i: usize, of: &Gauge| Level { mean: mean(from[i], to[i]), peak: of.peak };
        MemoryRecord {
            promised: level(0, &pool.promised),
            buffered: level(1, &pool.buffered),
            wasted: level(2, &pool.wasted),
            drops: pool.drops,
        }
    });
    let record = |host: &Host| HostRecord {
        cpu_busy_s: host.cpu.and_then(|_| processors.next()).unwrap_or(f64::NAN),
        memory: host.memory.and_then(|_| pools.next()),
    };
    experiment.hosts.iter().map(record).collect()
}

fn link_record(world: &World, experiment: &Experiment, number: usize, start: &Snapshot, end: &Snapshot) -> LinkRecord {
    let (from, to) = (&start.links[number], &end.links[number]);
    let name = &experiment.network.links[number].name;
    let record = LinkRecord::of(name, world.link(number), end.time.since(start.time), &from.line, &to.line);
    let Some(port) = world.port(number) else { return record };
    let cells = port.totals(world.now());
    LinkRecord {
        packets_in: port.packets_in,
        packets_queued: port.packets_queued(),
        wire_bytes: cells.transmitted * u64::from(aal5::CELL),
        queue_max_packets: cells.count.queue_max,
        queue_max_bytes: cells.count.queue_max * u64::from(aal5::CELL),
        cells: Some(CellRecord {
            total: cells.count,
            transmitted: cells.transmitted,
            in_span: to.cells.count.since(&from.cells.count),
            transmitted_in_span: to.cells.transmitted.saturating_sub(from.cells.transmitted),
        }),
        ..record
    }
}

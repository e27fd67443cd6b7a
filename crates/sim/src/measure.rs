//! Measuring: what the recorder asks of a world. Nothing here costs a packet anything, and nothing here changes what happens.

use longfat_core::atm::aal5;
use longfat_core::time::{Duration, Time};
use longfat_record::recorder::{Totals, Watched};
use longfat_record::trace::{CellRecord, FlowRecord, FlowSample, LinkRecord, LinkSample, LinkTotals, RttRecord};

use crate::engine::world::World;
use crate::stage::endpoint::Agent;

impl Watched for World {
    fn totals(&mut self, _now: Time) -> Totals {
        self.totals_now()
    }

    fn sample(&mut self, at: Time, flows: &mut Vec<FlowSample>, links: &mut Vec<LinkSample>) {
        self.advance_links();
        flows.extend((0..self.context.flows.len()).map(|flow| flow_sample(at, self, flow)));
        links.extend((0..self.links().len()).map(|link| link_sample(self, link)));
    }

    fn forget_round_trips(&mut self, flow: usize) {
        self.endpoint_mut(2 * flow).agent.forget_round_trips();
    }

    fn forget_waits(&mut self) {
        World::forget_waits(self);
    }

    fn flow(&self, flow: usize) -> FlowRecord {
        let (sender, receiver) = (self.endpoint(2 * flow), self.endpoint(2 * flow + 1));
        let (sent, received) = (sender.agent.stats(), receiver.agent.stats());
        let milestones = &self.context.flows[flow];
        let record = FlowRecord {
            established: milestones.established,
            delivered_all: milestones.delivered_all,
            acked_all: milestones.acked_all,
            gave_up: milestones.gave_up,
            acks_sent: received.acks_sent, // One packet was the answer to the SYN.
            acks_received: sender.delivered.packets.saturating_sub(u64::from(milestones.established.is_some())),
            fast_retransmits: sent.fast_retransmits,
            timeouts: sent.timeouts,
            send_stalls: sent.send_stalls,
            duplicates_received: received.duplicates_received,
            packets_delivered: receiver.delivered.packets,
            in_flight_max: sent.in_flight_max,
            rtt: RttRecord { deviation_s: sender.agent.rtt_deviation_s(), ..RttRecord::default() },
            ..at_the_end(&sender.agent)
        };
        record.with_round_trips(sender.agent.round_trips(), Some(sent.rtt_min).filter(|rtt| *rtt > Duration::ZERO))
    }

    fn link(&self, link: usize, span: Duration, from: &LinkTotals, to: &LinkTotals) -> LinkRecord {
        let record = LinkRecord::of(World::link(self, link), span, from, to);
        let Some(port) = self.port(link) else { return record };
        let cells = port.totals(self.now());
        LinkRecord {
            packets_in: port.packets_in,
            packets_queued: port.packets_queued(),
            wire_bytes: cells.transmitted * u64::from(aal5::CELL),
            queue_max_packets: cells.count.queue_max,
            queue_max_bytes: cells.count.queue_max * u64::from(aal5::CELL),
            cells: from.cells.zip(to.cells).map(|(from, to)| CellRecord::of(&cells.totals(), &from, &to)),
            ..record
        }
    }
}

/// A link now; it has been advanced to now.
pub(crate) fn link_sample(world: &World, number: usize) -> LinkSample {
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
pub(crate) fn flow_sample(at: Time, world: &World, flow: usize) -> FlowSample {
    let (sender, receiver) = (&world.endpoint(2 * flow).agent, &world.endpoint(2 * flow + 1).agent);
    let (info, held) = (sender.info(), receiver.info().memory);
    FlowSample {
        time: at,
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

/// Returns the end state of a TCP sender.
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

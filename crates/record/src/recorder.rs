//! Recorder of a run: samples at even spacing, counts at the end of the warmup and at both ends of the measured span, and the trace at the end.
//!
//! A backend tells the [`Recorder`] each time that is due, and the end. The recorder then asks [`Watched`] for the values. A backend of
//! several threads has a recorder in each, and each knows a part of the network.

use std::io;
use std::sync::Arc;

use longfat_core::time::{Duration, Time};
use longfat_model::{Experiment, Flow, Host};

use crate::trace::{
    FlowCounts, FlowRecord, FlowSample, HostRecord, Level, LinkRecord, LinkSample, LinkTotals, MemoryRecord, Spill, Trace, mean,
};

/// Network that is recorded, or a part of one, which leaves the values that it does not know empty.
pub trait Watched {
    /// Totals by `now`, or by the instant after it that the network has reached.
    fn totals(&mut self, now: Time) -> Totals;

    /// Adds a sample of each flow and link, which says that it is of the instant `at`.
    fn sample(&mut self, at: Time, flows: &mut Vec<FlowSample>, links: &mut Vec<LinkSample>);

    /// Forgets the round trips of `flow`, all but the least.
    fn forget_round_trips(&mut self, flow: usize);

    /// Forgets what packets waited at links.
    fn forget_waits(&mut self);

    /// The record of `flow` at the end, without its counts.
    fn flow(&self, flow: usize) -> FlowRecord;

    /// The record of `link` at the end, without its name, over a span that took `span` and began and ended with these totals.
    fn link(&self, link: usize, span: Duration, from: &LinkTotals, to: &LinkTotals) -> LinkRecord;
}

/// Totals of a network by an instant. A measurement over a span is the difference of two of these.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The instant.
    pub time: Time,
    /// One for each flow.
    pub flows: Vec<FlowCounts>,
    /// One for each link.
    pub links: Vec<LinkTotals>,
    /// Time at work of each processor, in the order of the hosts that have one.
    pub processors: Vec<Duration>,
    /// One for each bounded memory, in the order of the hosts that have one.
    pub memory: Vec<MemoryTotals>,
}

/// Totals of a host's memory by an instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryTotals {
    /// Integrals over time of the bytes promised, buffered and wasted, in byte ps.
    pub integrals: [u128; 3],
    /// Peaks, in bytes.
    pub peaks: [u64; 3],
    /// Packets that came and found none left.
    pub drops: u64,
}

/// Recorder of a run.
#[derive(Debug)]
pub struct Recorder {
    interval: Option<Duration>,
    next_sample: Time,
    last_sample: Option<Time>,
    warmup: Time,
    span_start: Time,
    end: Time,
    /// Counts of each flow at the end of the warmup.
    at_warmup: Option<Vec<FlowCounts>>,
    /// True for each flow that is measured whole.
    is_whole: Vec<bool>,
    at_span_start: Option<Totals>,
    trace: Trace,
}

impl Recorder {
    /// Records what `experiment` asks for; series that outgrow memory go to `spill`.
    ///
    /// # Panics
    /// If the spacing of samples is zero.
    pub fn new(experiment: &Experiment, spill: Option<Arc<dyn Spill>>) -> Self {
        let measure = &experiment.measure;
        assert!(measure.interval != Some(Duration::ZERO), "the spacing of samples is positive");
        Recorder {
            interval: measure.interval,
            next_sample: if measure.interval.is_some() { Time::ZERO } else { Time::MAX },
            last_sample: None,
            warmup: Time::ZERO + measure.warmup,
            span_start: Time::ZERO + experiment.span_start(),
            end: Time::ZERO + measure.duration,
            at_warmup: None,
            is_whole: experiment.flows.iter().map(Flow::is_measured_whole).collect(),
            at_span_start: None,
            trace: Trace::spilling(spill),
        }
    }

    /// Returns the latest end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Returns the time of the next record.
    pub fn next_stop(&self) -> Time {
        let warmup = if self.at_warmup.is_none() { self.warmup } else { Time::MAX };
        let span = if self.at_span_start.is_none() { self.span_start } else { Time::MAX };
        self.next_sample.min(warmup).min(span)
    }

    /// Records everything that is due, after all events up to `now`. If several samples are due, since no call came in time, the last of
    /// them is taken.
    ///
    /// # Errors
    /// An error if there is no room for the series.
    pub fn record(&mut self, now: Time, watched: &mut dyn Watched) -> io::Result<()> {
        if self.at_warmup.is_none() && self.warmup <= now {
            self.at_warmup = Some(watched.totals(now).flows);
            let counted = self.is_whole.iter().enumerate().filter(|(_, is_whole)| !**is_whole);
            counted.for_each(|(flow, _)| watched.forget_round_trips(flow));
        }
        if self.at_span_start.is_none() && self.span_start <= now {
            self.at_span_start = Some(watched.totals(now));
            watched.forget_waits();
        }
        if let Some(interval) = self.interval
            && self.next_sample <= now
        {
            let missed = now.since(self.next_sample).as_ps() / interval.as_ps();
            let due = self.next_sample + interval.saturating_mul(missed);
            self.sample(due, watched)?;
            self.next_sample = due + interval;
        }
        Ok(())
    }

    fn sample(&mut self, at: Time, watched: &mut dyn Watched) -> io::Result<()> {
        let (mut flows, mut links) = (Vec::new(), Vec::new());
        watched.sample(at, &mut flows, &mut links);
        self.last_sample = Some(at);
        self.trace.flow_series.extend(flows)?;
        self.trace.link_series.extend(links)
    }

    /// The trace of a run that is over at `end`: its records, series and span. The span ended with the totals `span_end`, or else with the run.
    /// A last sample closes series that the end cut short.
    ///
    /// # Errors
    /// An error if there is no room for the series.
    pub fn finish(mut self, end: Time, span_end: Option<Totals>, experiment: &Experiment, watched: &mut dyn Watched) -> io::Result<Trace> {
        if self.interval.is_some() && self.last_sample != Some(end) {
            self.sample(end, watched)?;
        }
        let now = watched.totals(end);
        let to = span_end.as_ref().unwrap_or(&now);
        let from = self.at_span_start.as_ref().unwrap_or(to);
        let span = to.time.since(from.time);
        let flow = |(number, flow): (usize, &Flow)| {
            let at_warmup = self.at_warmup.as_ref().map(|all| &all[number]);
            watched.flow(number).counted(flow, &now.flows[number], at_warmup, (&from.flows[number], &to.flows[number]))
        };
        let flows = experiment.flows.iter().enumerate().map(flow).collect();
        let link = |(number, (from, to)): (usize, (&LinkTotals, &LinkTotals))| {
            let name = experiment.network.links[number].name.clone();
            LinkRecord { name, ..watched.link(number, span, from, to) }
        };
        let links = from.links.iter().zip(&to.links).enumerate().map(link).collect();
        let hosts = hosts(experiment, span, [from, to, &now]);
        Ok(Trace { flows, links, hosts, end, span: (from.time.min(to.time), to.time), ..self.trace })
    }
}

/// Records of hosts from the totals at both ends of a span, which took `span`, and at the end of the run.
fn hosts(experiment: &Experiment, span: Duration, [from, to, end]: [&Totals; 3]) -> Vec<HostRecord> {
    let mut busy = from.processors.iter().zip(&to.processors).map(|(from, to)| to.saturating_sub(*from).as_secs_f64());
    let mut memory = from.memory.iter().zip(&to.memory).zip(&end.memory).map(|((from, to), end)| {
        let level = |i: usize| Level { mean: mean(span, from.integrals[i], to.integrals[i]), peak: end.peaks[i] };
        MemoryRecord { promised: level(0), buffered: level(1), wasted: level(2), drops: end.drops }
    });
    let record = |host: &Host| HostRecord {
        cpu_busy_s: host.cpu.and_then(|_| busy.next()).unwrap_or(f64::NAN),
        memory: host.memory.and_then(|_| memory.next()),
    };
    experiment.hosts.iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_model::dumbbell::Dumbbell;

    /// One flow that has delivered a byte per picosecond.
    #[derive(Default)]
    struct Steady {
        now: Time,
        forgotten: Vec<&'static str>,
    }

    impl Watched for Steady {
        fn totals(&mut self, now: Time) -> Totals {
            let count = FlowCounts { delivered: now.as_ps(), arrived: now.as_ps(), ..FlowCounts::default() };
            Totals { time: now, flows: vec![count], ..Totals::default() }
        }
        fn sample(&mut self, at: Time, flows: &mut Vec<FlowSample>, _links: &mut Vec<LinkSample>) {
            flows.push(FlowSample { time: at, bytes_delivered: self.now.as_ps(), ..FlowSample::default() });
        }
        fn forget_round_trips(&mut self, _flow: usize) {
            self.forgotten.push("round trips");
        }
        fn forget_waits(&mut self) {
            self.forgotten.push("waits");
        }
        fn flow(&self, _flow: usize) -> FlowRecord {
            FlowRecord::default()
        }
        fn link(&self, _link: usize, _span: Duration, _from: &LinkTotals, _to: &LinkTotals) -> LinkRecord {
            unreachable!("no link has totals")
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Records a run of 100 ms, with a warmup of 25 ms and samples every 10 ms, from a source that calls at the times `comes`, in ms.
    fn recorded(comes: &[u64], end: u64, span_end: Option<u64>) -> (Trace, Vec<&'static str>) {
        let mut experiment = Dumbbell { duration: Duration::from_millis(100), ..Dumbbell::default() }.experiment();
        (experiment.measure.warmup, experiment.measure.interval) = (Duration::from_millis(25), Some(Duration::from_millis(10)));
        let (mut recorder, mut steady) = (Recorder::new(&experiment, None), Steady::default());
        for ms in comes {
            steady.now = at(*ms);
            recorder.record(steady.now, &mut steady).unwrap();
        }
        steady.now = at(end);
        let span_end = span_end.map(|ms| steady.totals(at(ms)));
        (recorder.finish(steady.now, span_end, &experiment, &mut steady).unwrap(), steady.forgotten)
    }

    fn times(trace: &Trace) -> Vec<u64> {
        trace.flow_series.iter().map(|row| row.time.since(Time::ZERO).as_ps() / 1_000_000_000).collect()
    }

    #[test]
    fn who_comes_in_time_has_each_sample_and_the_span() {
        let comes: Vec<u64> = (0..=20).map(|i| 5 * i).collect();
        let (trace, forgotten) = recorded(&comes, 100, Some(75));
        assert_eq!(times(&trace), [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
        assert_eq!((trace.span, trace.end), ((at(25), at(75)), at(100)));
        let flow = &trace.flows[0];
        assert_eq!((flow.total.delivered, flow.at_warmup.delivered), (at(100).as_ps(), at(25).as_ps()));
        assert_eq!(flow.bytes_arrived_in_span, at(50).as_ps());
        assert_eq!(forgotten, ["round trips", "waits"]);
    }

    #[test]
    fn who_comes_late_has_the_last_sample_that_was_due() {
        let (trace, _) = recorded(&[0, 37, 38, 41], 43, None);
        assert_eq!(times(&trace), [0, 30, 40, 43]);
        assert_eq!(trace.flow_series.iter().nth(1).unwrap().bytes_delivered, at(37).as_ps());
        assert_eq!(trace.span, (at(37), at(43)), "the span begins when it was seen to");
    }

    #[test]
    fn a_run_that_ends_in_its_warmup_has_no_span() {
        let (trace, forgotten) = recorded(&[0, 10, 20], 20, None);
        assert_eq!((times(&trace), trace.span), (vec![0, 10, 20], (at(20), at(20))));
        assert_eq!(trace.flows[0].at_warmup.delivered, at(20).as_ps());
        assert!(forgotten.is_empty() && trace.hosts.iter().all(|host| host.cpu_busy_s.is_nan()));
    }
}

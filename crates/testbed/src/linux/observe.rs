//! What is written down of links: samples at even spacing, and records of the measured span. As the simulator's.

use longfat_core::link::Link;
use longfat_core::time::{Duration, Time};
use longfat_model::Experiment;
use longfat_record::trace::{LinkRecord, LinkSample, LinkTotals};

use crate::linux::network::Network;

/// What each link has done up to an instant.
struct Snapshot {
    time: Time,
    links: Vec<LinkTotals>,
}

impl Snapshot {
    fn of(network: &Network, time: Time) -> Self {
        Snapshot { time, links: network.links.iter().map(|link| LinkTotals::of(link, time)).collect() }
    }
}

/// Looks at the links at the instants at which something is to be written down.
pub struct Observer {
    interval: Option<Duration>,
    next_sample: Time,
    span_start: Time,
    start: Option<Snapshot>,
    warmup: Time,
    /// Packets of each flow dropped by the end of the warmup; `None` before.
    pub dropped_at_warmup: Option<Vec<u64>>,
    names: Vec<String>,
    /// Samples.
    pub series: Vec<LinkSample>,
    /// What each link did; there at the end.
    pub records: Vec<LinkRecord>,
}

impl Observer {
    /// Writes down what `experiment` asks for.
    pub fn new(experiment: &Experiment) -> Self {
        let interval = experiment.measure.interval;
        Observer {
            interval,
            next_sample: if interval.is_some() { Time::ZERO } else { Time::MAX },
            span_start: Time::ZERO + experiment.span_start(),
            start: None,
            warmup: Time::ZERO + experiment.measure.warmup,
            dropped_at_warmup: None,
            series: Vec::new(),
            records: Vec::new(),
            names: experiment.network.links.iter().map(|link| link.name.clone()).collect(),
        }
    }

    /// When it looks next.
    pub fn next(&self) -> Time {
        let start = if self.start.is_none() { self.span_start } else { Time::MAX };
        let warmup = if self.dropped_at_warmup.is_none() { self.warmup } else { Time::MAX };
        self.next_sample.min(start).min(warmup)
    }

    /// Looks: the time is [`Observer::next`].
    pub fn look(&mut self, network: &mut Network) {
        let due = self.next();
        let time = network.catch_up(due);
        if self.start.is_none() && self.span_start <= due {
            self.start = Some(Snapshot::of(network, time));
            network.links.iter_mut().for_each(Link::forget_waits);
        }
        if self.dropped_at_warmup.is_none() && self.warmup <= due {
            self.dropped_at_warmup = Some(network.log.dropped.clone());
        }
        if let Some(interval) = self.interval
            && self.next_sample <= due
        {
            self.sample(network, due);
            self.next_sample += interval;
        }
    }

    fn sample(&mut self, network: &Network, time: Time) {
        let sample = |(number, link)| LinkSample::of(number, link, time);
        self.series.extend(network.links.iter().enumerate().map(sample));
    }

    /// The run is over at `end`.
    pub fn finish(&mut self, network: &mut Network, end: Time) {
        let time = network.catch_up(end);
        if self.interval.is_some() && self.series.last().is_none_or(|last| last.time < end) {
            self.sample(network, end);
        }
        let end = Snapshot::of(network, time);
        let start = self.start.as_ref().unwrap_or(&end);
        let span = end.time.since(start.time);
        let ends = start.links.iter().zip(&end.links);
        let links = self.names.iter().zip(&network.links).zip(ends);
        self.records = links.map(|((name, link), (from, to))| LinkRecord::of(name, link, span, from, to)).collect();
    }
}

//! What is written down of links: samples at even spacing, and records of the measured span. As the simulator's.

use longfat_core::link::Link;
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};
use longfat_experiment::Experiment;
use longfat_experiment::trace::{LinkRecord, LinkSample, QUANTILES};

use crate::linux::network::Network;

/// What each link has counted up to an instant.
struct Snapshot {
    time: Time,
    links: Vec<(Duration, (u128, u128))>,
}

impl Snapshot {
    fn of(network: &Network, time: Time) -> Self {
        Snapshot { time, links: network.links.iter().map(|link| (link.busy(time), link.count.waited(time))).collect() }
    }
}

/// Looks at the links at the instants at which something is to be written down.
pub struct Observer {
    interval: Option<Duration>,
    next_sample: Time,
    span_start: Time,
    start: Option<Snapshot>,
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
            series: Vec::new(),
            records: Vec::new(),
        }
    }

    /// When it looks next.
    pub fn next(&self) -> Time {
        let start = if self.start.is_none() { self.span_start } else { Time::MAX };
        self.next_sample.min(start)
    }

    /// Looks: the time is [`Observer::next`].
    pub fn look(&mut self, network: &mut Network) {
        let due = self.next();
        let time = network.catch_up(due);
        if self.start.is_none() && self.span_start <= due {
            self.start = Some(Snapshot::of(network, time));
            network.links.iter_mut().for_each(Link::forget_waits);
        }
        if let Some(interval) = self.interval
            && self.next_sample <= due
        {
            self.sample(network, due);
            self.next_sample += interval;
        }
    }

    fn sample(&mut self, network: &Network, time: Time) {
        let sample = |(number, link): (usize, &Link)| LinkSample {
            time,
            link: number as u32,
            backlog_packets: link.count.backlog,
            backlog_bytes: link.count.backlog_bytes,
            wire_bytes: link.count.wire_bytes,
            drops: link.count.drops.iter().sum(),
            marks: link.count.marks,
        };
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
        self.records = network.links.iter().enumerate().map(|(i, link)| record(link, start, &end, i)).collect();
    }
}

fn record(link: &Link, start: &Snapshot, end: &Snapshot, number: usize) -> LinkRecord {
    let (count, from, to) = (&link.count, &start.links[number], &end.links[number]);
    let span = end.time.since(start.time).as_ps() as f64;
    let mean = |from: u128, to: u128| if span > 0.0 { to.saturating_sub(from) as f64 / span } else { 0.0 };
    LinkRecord {
        name: String::new(),
        packets_in: count.packets_in,
        packets_transmitted: count.transmitted,
        packets_delivered: count.delivered,
        packets_lost: count.lost,
        packets_queued: count.backlog,
        packets_in_flight: link.in_flight(),
        ip_bytes: count.ip_bytes,
        wire_bytes: count.wire_bytes,
        busy_s: to.0.saturating_sub(from.0).as_secs_f64(),
        drops: DropReason::ALL.iter().copied().zip(count.drops).filter(|(_, n)| *n > 0).collect(),
        marks: count.marks,
        pauses: count.pauses,
        held_s: Duration::from_ps(count.held_ps).as_secs_f64(),
        queue_max_packets: count.backlog_max,
        queue_max_bytes: count.backlog_bytes_max,
        queue_mean_packets: mean(from.1.0, to.1.0),
        queue_mean_bytes: mean(from.1.1, to.1.1),
        wait_quantiles_s: link.waits(QUANTILES).map_or([f64::NAN; 3], |of| of.map(Duration::as_secs_f64)),
        cells: None,
    }
}

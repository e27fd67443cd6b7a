//! Queueing delay.

use super::{Metric, Scope};
use crate::time::Time;

pub const MEAN: Metric = Metric {
    name: "queue_delay_mean_s",
    unit: "s",
    summary: "mean wait of a packet in the queue: mean backlog over the rate of departures",
    // Little 1961: in any system the mean number inside is the rate of passage times the mean stay.
    source: "Little 1961, L = lambda W",
    compute: |_, trace| {
        let span = trace.end.since(Time::ZERO).as_secs_f64();
        let wait = |link: &crate::trace::LinkRecord| link.queue_mean_packets * span / link.packets_transmitted as f64;
        trace.links.iter().enumerate().map(|(i, link)| (Scope::Link(i), wait(link))).collect()
    },
};

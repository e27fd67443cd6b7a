//! Queueing delay.

use super::{Bound, Metric, Scope, ratio, span_s};
use crate::Experiment;
use crate::trace::Trace;

pub const MEAN: Metric = Metric {
    name: "queue_delay_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "mean wait of a packet in the queue over the measured span: mean backlog over the rate of departures",
    // Little 1961: in any system the mean number inside is the rate of passage times the mean stay.
    source: "Little 1961, L = lambda W",
    compute: |experiment, trace| (0..trace.links.len()).map(|i| (Scope::Link(i), of_link(experiment, trace, i))).collect(),
};

fn of_link(experiment: &Experiment, trace: &Trace, i: usize) -> f64 {
    let link = &trace.links[i];
    // Departures are counted over the whole run; those of the span follow from its busy time and the mean packet.
    let mean_bytes = link.wire_bytes as f64 / link.packets_transmitted as f64;
    let departed = link.busy_s * experiment.network.links[i].rate.as_bps() as f64 / (8.0 * mean_bytes);
    ratio(link.queue_mean_packets * span_s(trace), departed)
}

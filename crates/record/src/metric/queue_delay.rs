//! Queueing delay.

use super::{Bound, Metric, Scope, ratio, span_s};
use crate::trace::Trace;
use longfat_model::Experiment;

pub(super) const MEAN: Metric = Metric {
    name: "queue_delay_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "mean wait of a packet in the queue over the measured span: mean backlog over the rate of departures",
    // Little 1961: in any system the mean number inside is the rate of passage times the mean stay.
    source: "Little 1961, L = lambda W",
    compute: |experiment, trace| (0..trace.links.len()).map(|i| (Scope::Link(i), of_link(experiment, trace, i))).collect(),
};

pub(super) const BOTTLENECK: Metric = Metric {
    name: "bottleneck_queue_delay_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "the same in front of the bottleneck; the longest, where there are several",
    source: "Little 1961, L = lambda W",
    compute: |experiment, trace| vec![(Scope::Run, of_bottlenecks(experiment, trace, of_link))],
};

/// A metric: one of the quantiles of the waits in front of the bottleneck.
macro_rules! quantile {
    ($name:literal, $place:literal, $summary:literal) => {
        Metric {
            name: $name,
            unit: "s",
            bound: Bound::NotNegative,
            summary: concat!($summary, ", in front of the bottleneck and within the measured span, from every packet, within 0.8 %; the longest, where there are several; NaN behind a switch"),
            source: "none: longfat's own",
            compute: |experiment, trace| {
                vec![(Scope::Run, of_bottlenecks(experiment, trace, |_, trace, i| trace.links[i].wait_quantiles_s[$place]))]
            },
        }
    };
}

pub(super) const BOTTLENECK_P50: Metric = quantile!("bottleneck_queue_delay_p50_s", 0, "median wait of a packet in the queue");
pub(super) const BOTTLENECK_P95: Metric = quantile!("bottleneck_queue_delay_p95_s", 1, "the wait that 95 of 100 packets did not exceed");
pub(super) const BOTTLENECK_P99: Metric = quantile!("bottleneck_queue_delay_p99_s", 2, "the wait that 99 of 100 packets did not exceed");

pub(super) const BOTTLENECK_MAX: Metric = Metric {
    name: "bottleneck_queue_delay_max_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "how long the bottleneck takes for the most that ever was in its queue, over the whole run; the longest, where there are several",
    source: "none: longfat's own",
    compute: |experiment, trace| vec![(Scope::Run, of_bottlenecks(experiment, trace, longest))],
};

/// The greatest `of` the bottlenecks; NaN where none of them has a value.
fn of_bottlenecks(experiment: &Experiment, trace: &Trace, of: fn(&Experiment, &Trace, usize) -> f64) -> f64 {
    let marked = (0..trace.links.len()).filter(|i| experiment.network.links[*i].bottleneck);
    marked.map(|i| of(experiment, trace, i)).fold(f64::NAN, f64::max)
}

/// Returns the delay of the last packet in a first-in first-out queue at its fullest, in seconds.
fn longest(experiment: &Experiment, trace: &Trace, i: usize) -> f64 {
    let (link, record) = (&experiment.network.links[i], &trace.links[i]);
    // The queue counts IP packets, and in front of a switch's link cells; the rate is of frames.
    let framed = if record.cells.is_some() { 1.0 } else { ratio(record.wire_bytes as f64, record.ip_bytes as f64) };
    ratio(record.queue_max_bytes as f64 * framed * 8.0, link.rate.as_bps() as f64)
}

fn of_link(_: &Experiment, trace: &Trace, i: usize) -> f64 {
    let link = &trace.links[i];
    // Cells, not packets, wait behind a switch.
    let departed = link.cells.as_ref().map_or(link.packets_transmitted_in_span, |cells| cells.transmitted_in_span);
    ratio(link.queue_mean_packets * span_s(trace), departed as f64)
}

//! Metrics that the measurement program `ttcp` reports, and the utilization the ANSNET paper estimates from it.

use super::{Bound, Metric, Scope, extremes, ratio};
use crate::trace::FlowRecord;
use longfat_core::time::Time;

pub(super) const RATE: Metric = Metric {
    name: "ttcp_rate_bps",
    unit: "bit/s",
    bound: Bound::Goodput,
    summary: "the flow's volume over its own completion time (payload); NaN for a flow without a volume or that did not finish",
    source: "Villamizar and Song 1994, §4.4 and §5.6",
    compute: |experiment, trace| {
        let rate = |i: usize| match experiment.flows[i].traffic.volume() {
            Some(volume) => rate(volume, [&trace.flows[i]].into_iter()),
            None => f64::NAN,
        };
        (0..trace.flows.len()).map(|i| (Scope::Flow(i), rate(i))).collect()
    },
};

// Villamizar and Song 1994, §5.6: not the mean, which a flow that waits for another would make exceed the link;
// the slowest flow's rate times the number of flows is all data over all time.
pub(super) const UTILIZATION: Metric = Metric {
    name: "ttcp_utilization_bps",
    unit: "bit/s",
    bound: Bound::NotNegative,
    summary: "rate of the slowest ttcp flow times the number of ttcp flows (payload): all data over all time where they are under way together, and an estimate, which may be above the link, where they are not",
    source: "Villamizar and Song 1994, §5.6",
    compute: |experiment, trace| {
        // Flows that start by themselves are not all active together.
        let rates: Vec<f64> = (0..trace.flows.len())
            .filter(|i| !experiment.flows[*i].traffic.is_drawn())
            .filter_map(|i| experiment.flows[i].traffic.volume().map(|volume| rate(volume, [&trace.flows[i]].into_iter())))
            .collect();
        vec![(Scope::Run, extremes(&rates).0 * rates.len() as f64)]
    },
};

/// `volume` bytes of each of `streams`, over the time from the first start until the last was done, in bit/s; NaN if one did not
/// finish.
pub(super) fn rate<'a>(volume: u64, mut streams: impl Iterator<Item = &'a FlowRecord>) -> f64 {
    let (mut bytes, mut first) = (0.0, Time::MAX);
    let last = streams.try_fold(Time::ZERO, |last, stream| {
        (bytes, first) = (bytes + volume as f64, first.min(stream.start));
        stream.delivered_all.map(|end| last.max(end))
    });
    last.map_or(f64::NAN, |last| ratio(bytes * 8.0, last.since(first).as_secs_f64()))
}

//! Goodput: payload that arrived for the first time, over the time it could.

use super::{Bound, Metric, Scope, mean_and_deviation, measured, of_intervals, ratio, senders};
use crate::trace::Trace;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Rank;
use longfat_model::Experiment;

pub(crate) const GOODPUT: Metric = Metric {
    name: "goodput_bps",
    unit: "bit/s",
    bound: Bound::Goodput,
    summary: "payload that arrived for the first time since the warmup (or the flow's start, if later), over the time until the flow or the run ended",
    // RFC 5166 §2.1.1: goodput is the throughput of data useful to the application.
    source: "RFC 5166 §2.1.1",
    compute: |experiment, trace| (0..trace.flows.len()).map(|i| (Scope::Flow(i), of_flows(experiment, trace, &[i]))).collect(),
};

pub(crate) const SENDER: Metric = Metric {
    name: "sender_goodput_bps",
    unit: "bit/s",
    bound: Bound::Goodput,
    summary: "the same of all streams of a measured sender together, from when the first was measured until the last had ended; stands in the row of each of them",
    source: "RFC 5166 §2.1.1",
    compute: |experiment, trace| {
        let of = |streams: Vec<usize>| (Scope::Sender(experiment.flows[streams[0]].stream_of), of_flows(experiment, trace, &streams));
        senders(experiment).into_iter().map(of).collect()
    },
};

pub(crate) const DEVIATION: Metric = Metric {
    name: "goodput_deviation_bps",
    unit: "bit/s",
    bound: Bound::NotNegative,
    summary: "standard deviation of the payload rates in the intervals of the series (`measure.interval`), of each measured sender and of all together; NaN without two intervals",
    // §4.4 and Table 1: of the reports that iperf prints every 5 s.
    source: "Bulot, Cottrell and Hughes-Jones 2004, §4.4",
    compute: |experiment, trace| of_intervals(experiment, trace, |rates| mean_and_deviation(rates).1),
};

pub(crate) const TOTAL: Metric = Metric {
    name: "goodput_total_bps",
    unit: "bit/s",
    bound: Bound::Goodput,
    summary: "payload of all measured flows that arrived for the first time, over the one span from when the first was measured (since warmup, or its start) until the last or the run ended",
    source: "RFC 5166 §2.1.1",
    compute: |experiment, trace| vec![(Scope::Run, of_flows(experiment, trace, &measured(experiment)))],
};

/// Goodput of `flows` together, over the time in which any of them was measured, in bit/s. A sum of rates over different times would have no
/// link for its bound.
pub(crate) fn of_flows(experiment: &Experiment, trace: &Trace, flows: &[usize]) -> f64 {
    let spans = flows.iter().filter_map(|i| measured_span(experiment, trace, *i));
    let (bytes, from, to) =
        spans.fold((0, Time::MAX, Time::ZERO), |(bytes, first, last), (more, from, to)| (bytes + more, first.min(from), last.max(to)));
    ratio(bytes as f64 * 8.0, to.since(from).as_secs_f64())
}

/// Bytes of flow `i` that arrived while it was measured, and when that began and ended. `None` of a flow that was not measured.
fn measured_span(experiment: &Experiment, trace: &Trace, i: usize) -> Option<(u64, Time, Time)> {
    let flow = &trace.flows[i];
    // The warmup keeps a flow without end out of its own slow start; a fixed volume is measured whole.
    let said = &experiment.flows[i];
    if said.traffic.rank() == Rank::Probe {
        return None;
    }
    let warmup = if said.is_measured_whole() { Duration::ZERO } else { experiment.measure.warmup };
    let from = flow.start.max(Time::ZERO + warmup);
    let to = flow.delivered_all.unwrap_or(trace.end);
    (from < to).then(|| (flow.measured().arrived, from, to))
}

//! Utilization of links, measured on the link, as the ANSNET paper wished for.

use super::{Bound, Metric, Scope, extremes, ratio, span_s};
use crate::trace::Trace;

pub(super) const LINK: Metric = Metric {
    name: "utilization",
    unit: "1",
    bound: Bound::Share,
    summary: "share of the measured span (after the warmup, while a measured flow was active) in which the link was transmitting",
    // Villamizar and Song 1994, §5.6 asks for this more direct measure; RFC 5166 §2.1 defines it.
    source: "RFC 5166 §2.1",
    compute: |_, trace| (0..trace.links.len()).map(|i| (Scope::Link(i), of_link(trace, i))).collect(),
};

pub(super) const BOTTLENECK: Metric = Metric {
    name: "bottleneck_utilization",
    unit: "1",
    bound: Bound::Share,
    summary: "utilization of the bottleneck link; of the busiest, where there are several",
    source: "Villamizar and Song 1994, §5.6",
    compute: |experiment, trace| {
        let marked = (0..trace.links.len()).filter(|i| experiment.network.links[*i].bottleneck);
        let busy: Vec<f64> = marked.map(|i| of_link(trace, i)).collect();
        vec![(Scope::Run, extremes(&busy).1)]
    },
};

fn of_link(trace: &Trace, i: usize) -> f64 {
    ratio(trace.links[i].busy_s, span_s(trace))
}

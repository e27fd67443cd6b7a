//! Round trips of the flows that a run is about: every sample counts, whatever the interval of the series.

use super::{Bound, Metric, Scope, measured};
use crate::Experiment;
use crate::trace::{FlowRecord, Trace};

pub const MEAN: Metric = Metric {
    name: "flow_rtt_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "mean round trip of the measured flows: of each the mean of its samples, and of these the mean; NaN where they take none",
    source: "RFC 2681",
    compute: |experiment, trace| {
        let known: Vec<f64> = samples(experiment, trace, |flow| flow.rtt_mean_s).collect();
        vec![(Scope::Run, if known.is_empty() { f64::NAN } else { known.iter().sum::<f64>() / known.len() as f64 })]
    },
};

pub const MAX: Metric = Metric {
    name: "flow_rtt_max_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "the greatest round trip that any of the measured flows took",
    source: "RFC 2681",
    compute: |experiment, trace| vec![(Scope::Run, samples(experiment, trace, |flow| flow.rtt_max_s).fold(f64::NAN, f64::max))],
};

fn samples(experiment: &Experiment, trace: &Trace, of: fn(&FlowRecord) -> f64) -> impl Iterator<Item = f64> {
    measured(experiment).into_iter().map(move |i| of(&trace.flows[i])).filter(|rtt| !rtt.is_nan())
}

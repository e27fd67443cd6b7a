//! Round trips of the flows that a run is about: every sample counts, whatever the interval of the series.

use super::{Bound, Metric, Scope, measured, ratio};
use crate::trace::{FlowRecord, Trace};
use longfat_model::Experiment;

pub(super) const MEAN: Metric = Metric {
    name: "flow_rtt_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "mean round trip of the measured flows: of each the mean of its samples, and of these the mean; NaN where they take none",
    source: "RFC 2681",
    compute: |experiment, trace| vec![(Scope::Run, mean(experiment, trace, |flow| flow.rtt.mean_s))],
};

/// A metric: the mean over the flows of one of their quantiles.
macro_rules! quantile {
    ($name:literal, $place:literal, $summary:literal) => {
        Metric {
            name: $name,
            unit: "s",
            bound: Bound::NotNegative,
            summary: concat!($summary, " its samples (all of them, within 0.8 %), and the mean of these over the measured flows"),
            source: "RFC 2681",
            compute: |experiment, trace| vec![(Scope::Run, mean(experiment, trace, |flow| flow.rtt.quantiles_s[$place]))],
        }
    };
}

pub(super) const P50: Metric = quantile!("flow_rtt_p50_s", 0, "of each flow the median of");
pub(super) const P95: Metric = quantile!("flow_rtt_p95_s", 1, "of each flow the round trip not exceeded by 95 of 100 of");
pub(super) const P99: Metric = quantile!("flow_rtt_p99_s", 2, "of each flow the round trip not exceeded by 99 of 100 of");

pub(super) const LOADED_PER_MINUTE: Metric = Metric {
    name: "loaded_rtt_per_minute",
    unit: "1/min",
    bound: Bound::NotNegative,
    summary: "60 s over the mean round trip of the measured flows; no RPM of the IETF, whose test adds flows until the goodput is stable, and counts HTTP requests",
    source: "none: longfat's own",
    compute: |experiment, trace| vec![(Scope::Run, ratio(60.0, mean(experiment, trace, |flow| flow.rtt.mean_s)))],
};

pub(super) const MAX: Metric = Metric {
    name: "flow_rtt_max_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "the greatest round trip that any of the measured flows took",
    source: "RFC 2681",
    compute: |experiment, trace| vec![(Scope::Run, samples(experiment, trace, |flow| flow.rtt.max_s).fold(f64::NAN, f64::max))],
};

fn mean(experiment: &Experiment, trace: &Trace, of: fn(&FlowRecord) -> f64) -> f64 {
    let known: Vec<f64> = samples(experiment, trace, of).collect();
    if known.is_empty() { f64::NAN } else { known.iter().sum::<f64>() / known.len() as f64 }
}

fn samples(experiment: &Experiment, trace: &Trace, of: fn(&FlowRecord) -> f64) -> impl Iterator<Item = f64> {
    measured(experiment).into_iter().map(move |i| of(&trace.flows[i])).filter(|rtt| !rtt.is_nan())
}

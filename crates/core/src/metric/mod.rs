//! Metrics over a trace: one file each, one line in [`REGISTRY`].

mod completion;
mod goodput;
mod jain;
mod loss;
mod queue_delay;
mod retransmit;
mod ttcp;
mod unfairness;
mod utilization;

use crate::experiment::{Experiment, Traffic};
use crate::trace::Trace;

/// What a value is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The whole run.
    Run,
    /// One flow, by its index.
    Flow(usize),
    /// One one-way link, by its index.
    Link(usize),
}

/// One metric.
pub struct Metric {
    /// Its column in the results; ends with the unit where there is one.
    pub name: &'static str,
    /// `bit/s`, `s`, or `1` for a share.
    pub unit: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Who defined it.
    pub source: &'static str,
    /// Its values; NaN where a run gives none (a flow that did not finish).
    pub compute: fn(&Experiment, &Trace) -> Vec<(Scope, f64)>,
}

/// Every metric, in the order of columns.
pub const REGISTRY: &[Metric] = &[
    goodput::GOODPUT,
    goodput::TOTAL,
    completion::COMPLETION,
    ttcp::RATE,
    ttcp::UTILIZATION,
    utilization::LINK,
    utilization::BOTTLENECK,
    unfairness::UNFAIRNESS,
    jain::JAIN,
    retransmit::SHARE,
    loss::SHARE,
    queue_delay::MEAN,
];

/// The flows a run is about: those of a fixed volume, or all flows where there are none such. A background flow
/// without end beside `ttcp` flows is scenery, and a probe always is.
fn measured(experiment: &Experiment) -> Vec<usize> {
    let ttcp = |i: &usize| matches!(experiment.flows[*i].traffic, Traffic::Ttcp { .. });
    let fixed: Vec<usize> = (0..experiment.flows.len()).filter(ttcp).collect();
    let tcp = |i: &usize| !matches!(experiment.flows[*i].traffic, Traffic::Ping { .. });
    if fixed.is_empty() { (0..experiment.flows.len()).filter(tcp).collect() } else { fixed }
}

/// Payload rates of the measured flows, in bit/s: volume over completion time, or goodput where there is no volume.
fn measured_rates(experiment: &Experiment, trace: &Trace) -> Vec<f64> {
    let rate = |i: usize| match experiment.flows[i].traffic {
        Traffic::Ttcp { volume } => ttcp::rate(volume, &trace.flows[i]),
        Traffic::Bulk | Traffic::Ping { .. } => goodput::of_flow(experiment, trace, i),
    };
    measured(experiment).into_iter().map(rate).collect()
}

/// Least and greatest of `values`; NaN when any is NaN or there are none.
fn extremes(values: &[f64]) -> (f64, f64) {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(*v), most.max(*v)))
}

#[cfg(test)]
mod tests;

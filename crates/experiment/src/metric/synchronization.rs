//! Synchronization: whether congestion windows go up and down together.

use super::{Bound, Metric, Scope, mean_and_deviation, measured, measured_samples, ratio};
use crate::Experiment;
use crate::trace::Trace;

pub const CWND: Metric = Metric {
    name: "cwnd_correlation",
    unit: "1",
    bound: Bound::Balance,
    summary: "how much the measured flows' congestion windows in the series (`measure.interval`) move together: the mean correlation of two of them, each weighted by their deviations; 1 in phase, 0 independent, below 0 out of phase; NaN without two windows that change",
    // RF95 §3.1 and §5 speak of global synchronization and measure none; Shenker, Zhang and Clark 1990 tell windows in phase from windows
    // out of phase, which is what a correlation does.
    source: "Shenker, Zhang and Clark, Some Observations on the Dynamics of a Congestion Control Algorithm, 1990: the phases; the measure is longfat's own",
    compute: |experiment, trace| vec![(Scope::Run, correlation(experiment, trace))],
};

/// Of n windows of deviations s, whose sum has deviation S: (S^2 - sum s^2) / ((sum s)^2 - sum s^2).
fn correlation(experiment: &Experiment, trace: &Trace) -> f64 {
    let flows = measured(experiment);
    let samples = measured_samples(experiment, trace, &flows);
    let deviation = |of: &dyn Fn(usize) -> f64| mean_and_deviation(&(0..samples.len()).map(of).collect::<Vec<f64>>()).1;
    let cwnd = |sample: usize, flow: usize| samples[sample][flow].cwnd as f64;
    let each: Vec<f64> = flows.iter().map(|flow| deviation(&|sample| cwnd(sample, *flow))).collect();
    let together = deviation(&|sample| flows.iter().map(|flow| cwnd(sample, *flow)).sum());
    let (sum, squares) = (each.iter().sum::<f64>(), each.iter().map(|s| s * s).sum::<f64>());
    let pairs = sum * sum - squares;
    // One window that changes is no pair; what is left of the difference is rounding.
    if pairs > 1e-9 * squares { ratio(together * together - squares, pairs).clamp(-1.0, 1.0) } else { f64::NAN }
}

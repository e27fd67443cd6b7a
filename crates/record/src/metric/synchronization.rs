//! Synchronization: whether congestion windows go up and down together.

use super::{Bound, Metric, Scope, each_sample, measured, measured_while, ratio};
use crate::trace::Trace;
use longfat_model::Experiment;

pub(super) const CWND: Metric = Metric {
    name: "cwnd_correlation",
    unit: "1",
    bound: Bound::Balance,
    summary: "how much the measured flows' congestion windows in the series (`measure.interval`) move together: the mean correlation of two of them, each weighted by their deviations; 1 in phase, 0 independent, below 0 out of phase; NaN without two windows that change",
    // RF95 §3.1 and §5 speak of global synchronization and measure none; Shenker, Zhang and Clark 1990 tell windows in phase from windows
    // out of phase, which is what a correlation does.
    source: "Shenker, Zhang and Clark, Some Observations on the Dynamics of a Congestion Control Algorithm, 1990: the phases; the measure is longfat's own",
    compute: |experiment, trace| vec![(Scope::Run, correlation(experiment, trace))],
};

/// Returns the mean correlation of n windows of deviations s, whose sum has deviation S: (S^2 - sum s^2) / ((sum s)^2 - sum s^2).
fn correlation(experiment: &Experiment, trace: &Trace) -> f64 {
    let flows = measured(experiment);
    let span = measured_while(experiment, trace, &flows);
    // Window of each flow, and last their sum.
    let mut windows = vec![0.0; flows.len() + 1];
    let mut each = |with: &mut dyn FnMut(&[f64])| {
        each_sample(experiment, trace, &mut |now, samples| {
            if !span.contains(&now) {
                return;
            }
            windows.iter_mut().zip(&flows).for_each(|(window, flow)| *window = samples[*flow].cwnd as f64);
            windows[flows.len()] = windows[..flows.len()].iter().sum();
            with(&windows);
        });
    };
    let (mut samples, mut means) = (0.0, vec![0.0; flows.len() + 1]);
    each(&mut |windows| {
        samples += 1.0;
        means.iter_mut().zip(windows).for_each(|(mean, window)| *mean += window);
    });
    if samples < 2.0 {
        return f64::NAN;
    }
    means.iter_mut().for_each(|mean| *mean /= samples);
    let mut deviations = vec![0.0; flows.len() + 1];
    each(&mut |windows| {
        let distances = windows.iter().zip(&means).map(|(window, mean)| window - mean);
        deviations.iter_mut().zip(distances).for_each(|(square, distance)| *square += distance * distance);
    });
    deviations.iter_mut().for_each(|square| *square = (*square / samples).sqrt());
    let together = deviations.pop().expect("there is that of the sum");
    let (sum, squares) = (deviations.iter().sum::<f64>(), deviations.iter().map(|s| s * s).sum::<f64>());
    let pairs = sum * sum - squares;
    // A single window that changes makes no pair. The rest of the difference is rounding.
    if pairs > 1e-9 * squares { ratio(together * together - squares, pairs).clamp(-1.0, 1.0) } else { f64::NAN }
}

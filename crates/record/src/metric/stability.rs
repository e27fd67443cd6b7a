//! The stability index.

use super::{Bound, Metric, mean_and_deviation, of_intervals, ratio};

pub(super) const STABILITY: Metric = Metric {
    name: "stability",
    unit: "1",
    bound: Bound::NotNegative,
    summary: "standard deviation over mean of the payload rates in the intervals of the series (`measure.interval`), of each measured sender and of all together: 0 is steady; NaN without two intervals",
    // Bulot et al. 2004 §4.6, after Jin, Wei and Low 2004; their intervals are of 5 s.
    source: "Bulot, Cottrell and Hughes-Jones 2004, §4.6",
    compute: |experiment, trace| {
        let index = |rates: &[f64]| {
            let (mean, deviation) = mean_and_deviation(rates);
            ratio(deviation, mean)
        };
        of_intervals(experiment, trace, index)
    },
};

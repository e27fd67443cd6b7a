//! Jain's fairness index.

use super::{Bound, Metric, Scope, measured_rates, ratio};

pub(super) const JAIN: Metric = Metric {
    name: "jain_index",
    unit: "1",
    bound: Bound::Share,
    summary: "(sum x)^2 / (n sum x^2) of the measured senders' rates: 1 is fair, 1/n is one of them taking all",
    // RFC 5166 §2.3.1, after Jain, Chiu and Hawe 1984.
    source: "RFC 5166 §2.3.1",
    compute: |experiment, trace| {
        let rates = measured_rates(experiment, trace);
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|x| x * x).sum();
        vec![(Scope::Run, ratio(sum * sum, rates.len() as f64 * squares))]
    },
};

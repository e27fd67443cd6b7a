//! Asymmetry between two senders.

use super::{Bound, Metric, Scope, measured_rates, ratio};

pub(super) const ASYMMETRY: Metric = Metric {
    name: "asymmetry",
    unit: "1",
    bound: Bound::Balance,
    summary: "(x1 - x2) / (x1 + x2) of the rates of two measured senders, in the order of the file: 1 is the first taking all, 0 is fair; NaN where there are not two",
    source: "Bulot, Cottrell and Hughes-Jones 2004, §5.2",
    compute: |experiment, trace| {
        let asymmetry = match measured_rates(experiment, trace)[..] {
            [first, second] => ratio(first - second, first + second),
            _ => f64::NAN,
        };
        vec![(Scope::Run, asymmetry)]
    },
};

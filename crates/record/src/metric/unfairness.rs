//! Deviation from fairness, as the ANSNET paper gives it.

use super::{Bound, Metric, Scope, extremes, measured_rates, ratio};

pub(super) const UNFAIRNESS: Metric = Metric {
    name: "unfairness",
    unit: "1",
    bound: Bound::Share,
    summary: "(fastest - slowest) / fastest of the measured senders' rates: 0 is fair; the least epsilon with which they are epsilon-fair",
    // Villamizar and Song 1994, §5.5 and the notes under Tables 3 and 4.
    source: "Villamizar and Song 1994, §5.5; RFC 5166 §2.3.1",
    compute: |experiment, trace| {
        let (slowest, fastest) = extremes(&measured_rates(experiment, trace));
        vec![(Scope::Run, ratio(fastest - slowest, fastest))]
    },
};

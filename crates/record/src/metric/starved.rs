//! Segregation: flows that are kept from having anything.

use super::{Bound, Metric, Scope, measured_rates};

pub(super) const FLOWS: Metric = Metric {
    name: "starved_flows",
    unit: "1",
    bound: Bound::NotNegative,
    summary: "measured senders with less than a hundredth of an equal share of the goodput",
    // Appendix A calls a simulation segregated in which one or more connections cannot attain any bandwidth. A hundredth of a share
    // stands for none: what slips through between long timeouts, and what was delivered in the start.
    source: "Romanow and Floyd 1995, appendix A",
    compute: |experiment, trace| {
        let rates = measured_rates(experiment, trace);
        let share = rates.iter().sum::<f64>() / rates.len() as f64;
        let starved = if share.is_nan() { f64::NAN } else { rates.iter().filter(|rate| **rate < 0.01 * share).count() as f64 };
        vec![(Scope::Run, starved)]
    },
};

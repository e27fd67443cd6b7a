//! What the measurement program `ttcp` reports, and the utilization the ANSNET paper estimates from it.

use super::{Metric, Scope, extremes};
use crate::experiment::Traffic;
use crate::trace::FlowRecord;

pub const RATE: Metric = Metric {
    name: "ttcp_rate_bps",
    unit: "bit/s",
    summary: "the flow's volume over its own completion time (payload); NaN for a flow without a volume or that did not finish",
    source: "Villamizar and Song 1994, §4.4 and §5.6",
    compute: |experiment, trace| {
        let rate = |i: usize| match experiment.flows[i].traffic {
            Traffic::Ttcp { volume } => rate(volume, &trace.flows[i]),
            Traffic::Bulk | Traffic::Ping { .. } => f64::NAN,
        };
        (0..trace.flows.len()).map(|i| (Scope::Flow(i), rate(i))).collect()
    },
};

// Villamizar and Song 1994, §5.6: not the mean, which a flow that waits for another would make exceed the link;
// the slowest flow's rate times the number of flows is all data over all time.
pub const UTILIZATION: Metric = Metric {
    name: "ttcp_utilization_bps",
    unit: "bit/s",
    summary: "rate of the slowest ttcp flow times the number of ttcp flows (payload)",
    source: "Villamizar and Song 1994, §5.6",
    compute: |experiment, trace| {
        let volume = |traffic: Traffic| if let Traffic::Ttcp { volume } = traffic { Some(volume) } else { None };
        let rates: Vec<f64> =
            (0..trace.flows.len()).filter_map(|i| volume(experiment.flows[i].traffic).map(|v| rate(v, &trace.flows[i]))).collect();
        vec![(Scope::Run, extremes(&rates).0 * rates.len() as f64)]
    },
};

/// `volume` bytes over the time the flow took, in bit/s; NaN if it did not finish.
pub(super) fn rate(volume: u64, flow: &FlowRecord) -> f64 {
    match flow.delivered_all {
        Some(end) => volume as f64 * 8.0 / end.since(flow.start).as_secs_f64(),
        None => f64::NAN,
    }
}

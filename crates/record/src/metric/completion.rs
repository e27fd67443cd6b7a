//! Flow completion time.

use super::{Bound, Metric, Scope};

pub(super) const COMPLETION: Metric = Metric {
    name: "completion_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "from the flow's start (its SYN) until the receiving application had every byte and the end of the stream",
    // RFC 5166 §2.2 counts the time to transfer among the measures of delay.
    source: "RFC 5166 §2.2",
    compute: |_, trace| {
        let time = |flow: &crate::trace::FlowRecord| flow.delivered_all.map_or(f64::NAN, |t| t.since(flow.start).as_secs_f64());
        trace.flows.iter().enumerate().map(|(i, flow)| (Scope::Flow(i), time(flow))).collect()
    },
};

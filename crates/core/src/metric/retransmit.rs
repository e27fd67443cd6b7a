//! How much was sent again.

use super::{Metric, Scope};

pub const SHARE: Metric = Metric {
    name: "retransmit_share",
    unit: "1",
    summary: "payload bytes retransmitted over payload bytes sent",
    // RFC 6349 §4.2: the complement of its TCP efficiency.
    source: "RFC 6349 §4.2",
    compute: |_, trace| {
        let share = |flow: &crate::trace::FlowRecord| flow.bytes_retransmitted as f64 / flow.bytes_sent as f64;
        trace.flows.iter().enumerate().map(|(i, flow)| (Scope::Flow(i), share(flow))).collect()
    },
};

//! Sends without a copy that the kernel copied all the same.

use super::{Bound, Metric, Scope, ratio};

pub(super) const SHARE: Metric = Metric {
    name: "send_copied_share",
    unit: "1",
    bound: Bound::Share,
    summary: "between real hosts, of a flow with `send = \"zerocopy\"`: sends that the sender's kernel copied all the same, over all of which it told; NaN for other flows",
    source: "Linux, Documentation/networking/msg_zerocopy.rst",
    compute: |_, trace| {
        let told = trace.flows.iter().enumerate().filter(|(_, flow)| flow.sends_completed > 0);
        told.map(|(i, flow)| (Scope::Flow(i), ratio(flow.sends_copied as f64, flow.sends_completed as f64))).collect()
    },
};

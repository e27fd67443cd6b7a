//! Retransmissions, as a share and as a rate.

use super::{Bound, Metric, Scope, measured, ratio};
use crate::trace::FlowCounts;

pub(super) const SHARE: Metric = Metric {
    name: "retransmit_share",
    unit: "1",
    bound: Bound::Share,
    summary: "payload bytes retransmitted over payload bytes sent, since the warmup",
    // RFC 6349 §4.2: the complement of its TCP efficiency.
    source: "RFC 6349 §4.2",
    compute: |_, trace| {
        let share = |counts: FlowCounts| ratio(counts.retransmitted as f64, counts.sent as f64);
        trace.flows.iter().enumerate().map(|(i, flow)| (Scope::Flow(i), share(flow.measured()))).collect()
    },
};

pub(super) const RATE: Metric = Metric {
    name: "retransmission_rate",
    unit: "1",
    bound: Bound::NotNegative,
    summary: "segments retransmitted over distinct segments since the warmup, of the measured flows together and of each flow; over 1 where segments go again and again",
    source: "Romanow and Floyd 1995, appendix C",
    compute: |experiment, trace| {
        let rate = |flows: &[FlowCounts]| {
            let sum = |of: fn(&FlowCounts) -> u64| flows.iter().map(of).sum::<u64>() as f64;
            let again = sum(|flow| flow.segments_retransmitted);
            ratio(again, sum(|flow| flow.segments_sent) - again)
        };
        let all: Vec<FlowCounts> = measured(experiment).into_iter().map(|i| trace.flows[i].measured()).collect();
        let each = trace.flows.iter().enumerate().map(|(i, flow)| (Scope::Flow(i), rate(&[flow.measured()])));
        each.chain([(Scope::Run, rate(&all))]).collect()
    },
};

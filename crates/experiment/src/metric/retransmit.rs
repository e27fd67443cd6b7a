//! How much was sent again.

use super::{Bound, Metric, Scope, measured, ratio};
use crate::trace::FlowRecord;

pub const SHARE: Metric = Metric {
    name: "retransmit_share",
    unit: "1",
    bound: Bound::Share,
    summary: "payload bytes retransmitted over payload bytes sent",
    // RFC 6349 §4.2: the complement of its TCP efficiency.
    source: "RFC 6349 §4.2",
    compute: |_, trace| {
        let share = |flow: &FlowRecord| ratio(flow.bytes_retransmitted as f64, flow.bytes_sent as f64);
        trace.flows.iter().enumerate().map(|(i, flow)| (Scope::Flow(i), share(flow))).collect()
    },
};

pub const RATE: Metric = Metric {
    name: "retransmission_rate",
    unit: "1",
    bound: Bound::NotNegative,
    summary: "segments retransmitted over distinct segments, of the measured flows together and of each flow; over 1 where segments go again and again",
    source: "Romanow and Floyd 1995, appendix C",
    compute: |experiment, trace| {
        let rate = |flows: &[&FlowRecord]| {
            let sum = |of: fn(&FlowRecord) -> u64| flows.iter().map(|flow| of(flow)).sum::<u64>() as f64;
            let again = sum(|flow| flow.segments_retransmitted);
            ratio(again, sum(|flow| flow.segments_sent) - again)
        };
        let all: Vec<&FlowRecord> = measured(experiment).into_iter().map(|i| &trace.flows[i]).collect();
        let each = trace.flows.iter().enumerate().map(|(i, flow)| (Scope::Flow(i), rate(&[flow])));
        each.chain([(Scope::Run, rate(&all))]).collect()
    },
};

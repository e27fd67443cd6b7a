//! Flows that are alike and have not the same, where nothing random happens to packets.

use super::asked::{rate, sends_more_than, window};
use super::{Asked, Check, Warning};
use crate::metric::goodput;
use crate::trace::Trace;
use longfat_core::queue::DropReason;
use longfat_model::chance;
use std::collections::BTreeMap;

pub(super) const WARNING: Warning = Warning {
    name: "phase_locked",
    summary: "one of several equal senders got less than a third of another, and nothing that happens to packets is random",
    advice: "give the hosts an `overhead` of about the time that the bottleneck takes for a packet, and edges faster than the bottleneck",
    source: "Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched Gateways, 1992",
    about: &[],
    check: Check::After(check),
};

fn check(asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    let overflows = trace.links.iter().any(|link| link.drops.iter().any(|drop| drop.0 == DropReason::Overflow));
    if !overflows || chance::has_any_under_way(asked.experiment) {
        return Vec::new();
    }
    // Least and greatest rate with their senders, by what makes senders alike.
    let mut groups: BTreeMap<_, [(f64, usize); 2]> = BTreeMap::new();
    let flows = &asked.experiment.flows;
    let mut next = 0;
    for streams in flows.chunk_by(|a, b| a.stream_of == b.stream_of) {
        let (first, flow) = (next, &streams[0]);
        next += streams.len();
        let Some(way) = asked.round_trip(flow).filter(|_| sends_more_than(flow, 0.0)) else { continue };
        let all: Vec<usize> = (first..next).collect();
        let got = goodput::of_flows(asked.experiment, trace, &all);
        let kind = (flow.sender.congestion_control.kind, flow.traffic.kind().name);
        let key = (kind, way.rtt.as_ps(), way.slowest, window(flow), streams.len(), flow.traffic.volume());
        let [least, most] = groups.entry(key).or_insert([(f64::INFINITY, first), (0.0, first)]);
        if got < least.0 {
            *least = (got, first);
        }
        if got > most.0 {
            *most = (got, first);
        }
    }
    let uneven = groups.into_values().filter(|[least, most]| least.0 < most.0 / 3.0);
    let told = |[least, most]: [(f64, usize); 2]| {
        format!(
            "{} got {}, and {}, which is set up alike, {}: nothing on the path is random, and a drop-tail queue keeps such flows in step",
            asked.flow(most.1),
            rate(most.0),
            asked.flow(least.1),
            rate(least.0)
        )
    };
    uneven.map(told).collect()
}

//! Paths of links with different MTUs.

use super::{Asked, Check, Warning};
use std::collections::BTreeSet;

pub(super) const WARNING: Warning = Warning {
    name: "mixed_mtu",
    summary: "the MTUs along a path differ, and the smallest sets the mss",
    advice: "give all links of the path the same `mtu`, or set `mss`",
    source: "RFC 8899 section 1.1",
    about: &["mtu"],
    check: Check::Before(check),
};

fn check(asked: &Asked<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut told = Vec::new();
    for (i, flow) in asked.experiment.flows.iter().enumerate().filter(|(_, flow)| flow.traffic.is_tcp()) {
        if !seen.insert((flow.from, flow.to, flow.sender.mss)) {
            continue;
        }
        let Some(way) = asked.round_trip(flow) else { continue };
        let links = || way.there.iter().chain(&way.back).map(|&link| &asked.links()[link]);
        let (Some(least), Some(most)) = (links().min_by_key(|link| link.mtu), links().rev().max_by_key(|link| link.mtu)) else { continue };
        let headers = if flow.sender.timestamps { 52 } else { 40 };
        // A smaller mss is one that the file says.
        if least.mtu < most.mtu && flow.sender.mss + headers == least.mtu {
            told.push(format!(
                "{}: packets of {} bytes fit {} and only {} fit {}, so its mss is {}",
                asked.flow(i),
                most.mtu,
                most.name,
                least.mtu,
                least.name,
                flow.sender.mss
            ));
        }
    }
    told
}

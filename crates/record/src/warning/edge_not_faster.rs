//! Hosts whose own links are no faster than the bottleneck.

use super::asked::{rate, sends_more_than};
use super::{Asked, Check, Warning};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const WARNING: Warning = Warning {
    name: "edge_not_faster",
    summary: "the edge links are no faster than the bottleneck, or faster only by framing",
    advice: "leave `edge` out, or give it a higher rate; or mark the link that should limit with `bottleneck = true`",
    source: "none: longfat's own",
    about: &["edge.rate"],
    check: Check::Before(check),
};

/// The links by which a bottleneck's flows leave their hosts, and those by which they come to the other ends; and one of the flows.
struct Ends {
    flow: usize,
    leaving: BTreeSet<usize>,
    coming: BTreeSet<usize>,
}

fn check(asked: &Asked<'_>) -> Vec<String> {
    let mut found: BTreeMap<usize, Ends> = BTreeMap::new();
    for (i, flow) in asked.experiment.flows.iter().enumerate().filter(|(_, flow)| sends_more_than(flow, 0.0)) {
        let Some(way) = asked.round_trip(flow) else { continue };
        let (first, last) = (way.there[0], way.there[way.there.len() - 1]);
        for &link in way.there.iter().filter(|link| asked.is_bottleneck(**link)) {
            let ends = found.entry(link).or_insert_with(|| Ends { flow: i, leaving: BTreeSet::new(), coming: BTreeSet::new() });
            ends.leaving.insert(first);
            ends.coming.insert(last);
        }
    }
    let told = |(&link, ends): (&usize, &Ends)| {
        let sides = [(&ends.leaving, "leave their hosts"), (&ends.coming, "come to their hosts")];
        sides.into_iter().filter_map(move |(edges, what)| of_side(asked, link, ends.flow, edges, what)).next()
    };
    found.iter().filter_map(told).collect()
}

fn of_side(asked: &Asked<'_>, bottleneck: usize, flow: usize, edges: &BTreeSet<usize>, what: &str) -> Option<String> {
    // A bottleneck at a host is that side's own link.
    if edges.iter().any(|edge| asked.is_bottleneck(*edge)) {
        return None;
    }
    let flow = &asked.experiment.flows[flow];
    let (links, carried) = (asked.links(), asked.payload_bps(bottleneck, flow));
    let together: f64 = edges.iter().map(|edge| asked.payload_bps(*edge, flow)).sum();
    let name = &links[bottleneck].name;
    let first = &links[*edges.first()?].name;
    let by = if edges.len() == 1 { first.clone() } else { format!("{first} and {} more links", edges.len() - 1) };
    if together <= carried {
        return Some(format!(
            "flows over {name} {what} by {by}, which carry {} of payload, and {name} carries {}: it never fills",
            rate(together),
            rate(carried)
        ));
    }
    let is_equal = |edge: &&usize| links[**edge].rate == links[bottleneck].rate;
    let edge = &links[*edges.iter().find(is_equal)?];
    let how = if edge.overhead == links[bottleneck].overhead { "is as fast as" } else { "differs only in framing from" };
    Some(format!("{} {how} {name}: a flow alone queues in front of it, and not at {name}", edge.name))
}

//! Switches: their links carry cells, have a port each, and a discard policy in front of those that leave.

use super::line::{Front, cannot_work};
use crate::error::Fault;
use crate::fields::DISCARD;
use crate::view::Written;
use longfat_core::atm::aal5;
use longfat_core::atm::discard::{self, DiscardContext};
use longfat_core::link::{framing, loss};
use longfat_core::params::Choice;
use longfat_core::rng::Rng;
use longfat_model::route::Routes;
use longfat_model::{Flow, Link, Network, NodeKind};
use std::collections::BTreeSet;

/// Checks the links at switches, whatever their policies.
pub(super) fn check(network: &Network, fronts: &[Front<'_>], flows: &[Flow]) -> Result<(), Fault> {
    let mut used = vec![0; network.nodes.len()];
    for (ways, fronts) in network.links.chunks(2).zip(fronts.chunks(2)) {
        let name = ways[0].name.trim_end_matches('>');
        let [a, b] = [ways[0].from, ways[0].to].map(|node| &network.nodes[node]);
        if let (false, Some(discard)) = (a.is_switch() || b.is_switch(), &fronts[0].discard) {
            let fault = discard.fault(format!("link `{name}` has a discard policy, and no switch at either end"));
            return Err(fault.help("policies are of the output ports of switches; in front of other links are queues"));
        }
        if let (true, Some(queue)) = (a.is_switch() && b.is_switch(), &fronts[0].queue) {
            let fault = queue.fault(format!("link `{name}` has a queue of packets, and joins two switches"));
            return Err(fault.help("give it a `discard` policy, whose `buffer` counts cells"));
        }
        for (way, front) in ways.iter().zip(fronts) {
            let [from, to] = [way.from, way.to].map(|node| &network.nodes[node]);
            if !way.cells && (from.is_switch() || to.is_switch()) {
                let types: Vec<&str> = framing::REGISTRY.iter().filter(|f| f.cells).map(|f| f.name).collect();
                let fault = front.place.fault(format!("a switch passes cells on, and link `{name}` carries none"));
                return Err(fault.expected(format!("a `type` that does: {}", types.join(", "))));
            }
            if from.is_switch() && to.is_switch() && way.loss.kind != loss::NONE.name {
                return Err(front.place.fault(format!("link `{name}` joins two switches, and loss models lose whole packets")));
            }
            if let (NodeKind::Switch { buffers_at_inputs: true, .. }, NodeKind::Switch { .. }) = (from.kind, to.kind) {
                let fault = front.place.fault(format!("link `{name}` goes from a switch with `buffers = \"input\"` to another switch"));
                return Err(fault.help("only the last switch of a path may have its buffers at its inputs"));
            }
            if let NodeKind::Switch { ports, .. } = to.kind {
                used[way.to] += 1;
                if used[way.to] > ports {
                    let fault = front.place.fault(format!("link `{name}` is one more than switch `{}` has ports for", to.name));
                    return Err(fault.expected(format!("at most {ports} links at it, or more `ports`")));
                }
            }
        }
    }
    ring(network, fronts, flows)
}

/// Ports that feed each other in a ring would each have to know first what the others do.
fn ring(network: &Network, fronts: &[Front<'_>], flows: &[Flow]) -> Result<(), Fault> {
    let routes = Routes::new(network);
    let is_port = |&link: &usize| network.nodes[network.links[link].from].is_switch();
    let mut feeds = vec![BTreeSet::new(); network.links.len()];
    let ends: BTreeSet<(usize, usize)> = flows.iter().flat_map(|flow| [(flow.from, flow.to), (flow.to, flow.from)]).collect();
    for (from, to) in ends {
        let path = routes.path(from, to).expect("it was found before");
        for pair in path.windows(2).filter(|pair| pair.iter().all(is_port)) {
            feeds[pair[0]].insert(pair[1]);
        }
    }
    // Links that feed no remaining link are not in a ring.
    let mut left: BTreeSet<usize> = (0..feeds.len()).filter(|link| !feeds[*link].is_empty()).collect();
    while let Some(&free) = left.iter().find(|link| feeds[**link].is_disjoint(&left)) {
        left.remove(&free);
    }
    match left.first() {
        None => Ok(()),
        Some(&link) => {
            let names: Vec<String> = left.iter().map(|&link| format!("`{}`", network.links[link].name)).collect();
            let fault = fronts[link].place.fault(format!("the ports in front of the links {} feed each other in a ring", names.join(", ")));
            Err(fault.help("put a router between two of the switches"))
        }
    }
}

/// The policy of the output port in front of `link`.
pub(super) fn policy(written: Option<&Written<'_>>, place: &Written<'_>, link: &Link, seed: u64) -> Result<Choice, Fault> {
    let choice = written.map_or_else(|| Ok(discard::choice("plain")), |written| written.choice(&DISCARD))?;
    let frame = aal5::cells(link.mtu + link.overhead);
    let context = DiscardContext { rate: link.rate, frame, rng: Rng::named(seed, &link.name) };
    (discard::named(choice.kind).check)(&choice.params, &context)
        .map_err(|sentence| cannot_work(choice.kind, link, &sentence, written, place))?;
    Ok(choice)
}

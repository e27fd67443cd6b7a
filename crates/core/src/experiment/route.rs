//! Which way packets go: the path of least propagation delay, then of fewest links, then the one whose first link comes
//! first in the network. Hosts pass nothing on.

use super::model::Network;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// For each node, the link it sends packets for `to` on; `None` where there is no way (and at `to` itself).
/// Following it from node to node always arrives.
pub fn next_links(network: &Network, to: usize) -> Vec<Option<usize>> {
    let n = network.nodes.len();
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, link) in network.links.iter().enumerate() {
        into[link.to].push(i);
    }
    let mut next: Vec<Option<usize>> = vec![None; n];
    let mut best = vec![(u64::MAX, u32::MAX); n];
    let mut heap = BinaryHeap::from([Reverse((0, 0, to))]);
    best[to] = (0, 0);
    while let Some(Reverse((delay, hops, node))) = heap.pop() {
        if best[node] != (delay, hops) || (node != to && network.nodes[node].host) {
            continue;
        }
        for &i in &into[node] {
            let link = &network.links[i];
            let cost = (delay.saturating_add(link.delay.as_ps()), hops + 1);
            let better = cost < best[link.from] || (cost == best[link.from] && next[link.from].is_some_and(|now| i < now));
            if better && link.from != to {
                if cost < best[link.from] {
                    heap.push(Reverse((cost.0, cost.1, link.from)));
                }
                best[link.from] = cost;
                next[link.from] = Some(i);
            }
        }
    }
    next
}

/// The links from `from` to the node that `next` leads to.
pub fn follow(network: &Network, next: &[Option<usize>], from: usize) -> Vec<usize> {
    std::iter::successors(next[from], |&link| next[network.links[link].to]).collect()
}

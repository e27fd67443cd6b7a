//! Static routes: the path with the fewest links; among equals, the one whose links come first in the network.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Flow, Network};
use longfat_core::time::Duration;

/// A network, prepared for finding paths. Hosts end paths and never forward packets.
#[derive(Debug)]
pub struct Routes<'a> {
    network: &'a Network,
    /// Outgoing links of each node that lead to a router.
    to_routers: Vec<Vec<usize>>,
    /// Incoming links of each node.
    into: Vec<Vec<usize>>,
}

impl<'a> Routes<'a> {
    /// Prepares `network`.
    pub fn new(network: &'a Network) -> Self {
        let mut to_routers = vec![Vec::new(); network.nodes.len()];
        let mut into = vec![Vec::new(); network.nodes.len()];
        for (i, link) in network.links.iter().enumerate() {
            into[link.to].push(i);
            if !network.nodes[link.to].is_host() {
                to_routers[link.from].push(i);
            }
        }
        Routes { network, to_routers, into }
    }

    /// Returns the links from node `from` to node `to`, in order; `None` if there is no path. From a node to itself: no links.
    ///
    /// Costs one search over the routers, whatever the number of hosts.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        if from == to {
            return Some(Vec::new());
        }
        // Link by which the search came to each node.
        let mut reached_by = BTreeMap::new();
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            if let Some(&last) = self.into[to].iter().find(|&&l| self.network.links[l].from == node) {
                let mut path = vec![last];
                let mut at = node;
                while at != from {
                    let link = reached_by[&at];
                    path.push(link);
                    at = self.network.links[link].from;
                }
                path.reverse();
                return Some(path);
            }
            for &link in &self.to_routers[node] {
                let next = self.network.links[link].to;
                if next != from
                    && let Entry::Vacant(place) = reached_by.entry(next)
                {
                    place.insert(link);
                    waiting.push_back(next);
                }
            }
        }
        None
    }

    /// Returns the rank of each link among the links into the same node: the port by which its packets come in.
    pub fn ports(&self) -> Vec<u16> {
        let mut ports = vec![0; self.network.links.len()];
        for links in &self.into {
            for (rank, &link) in links.iter().enumerate() {
                ports[link] = rank.min(usize::from(u16::MAX)) as u16;
            }
        }
        ports
    }

    /// Returns for each link the longest propagation round trip of the flows that cross it, in either direction: its queue is told this
    /// round trip. A link that no flow crosses has the longest of all.
    pub fn round_trips(&self, flows: &[Flow]) -> Vec<Duration> {
        let links = &self.network.links;
        let mut longest = vec![Duration::ZERO; links.len()];
        let mut seen = BTreeSet::new();
        for flow in flows {
            if !seen.insert((flow.from, flow.to)) {
                continue;
            }
            let paths = [self.path(flow.from, flow.to), self.path(flow.to, flow.from)];
            let crossed: Vec<usize> = paths.into_iter().flatten().flatten().collect();
            let rtt = crossed.iter().fold(Duration::ZERO, |sum, &link| sum + links[link].delay);
            for link in crossed {
                longest[link] = longest[link].max(rtt);
            }
        }
        let most = longest.iter().copied().max().unwrap_or(Duration::ZERO);
        longest.into_iter().map(|rtt| if rtt.is_zero() { most } else { rtt }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Link, Node, NodeKind};
    use longfat_core::params::{Choice, Params};
    use longfat_core::units::Rate;

    /// A network of links between nodes; upper-case names are hosts. Each link is 1 ms longer than the one before it.
    fn network(names: &str, links: &[(char, char)]) -> Network {
        let at = |name| names.find(name).unwrap();
        let choice = Choice { kind: "none", params: Params::default() };
        let link = |(i, &(from, to)): (usize, &(char, char))| Link {
            name: format!("{from}{to}"),
            from: at(from),
            to: at(to),
            rate: Rate::from_bps(1000),
            delay: Duration::from_millis(i as u64 + 1),
            cells: false,
            overhead: 0,
            min_frame: 0,
            mtu: 1500,
            discard: None,
            queue: choice.clone(),
            loss: choice.clone(),
            pause: None,
            unsteady: Default::default(),
            rate_file: None,
            delay_file: None,
            bottleneck: false,
        };
        Network {
            nodes: names
                .chars()
                .map(|c| Node { name: c.to_string(), kind: if c.is_uppercase() { NodeKind::Host } else { NodeKind::Router } })
                .collect(),
            links: links.iter().enumerate().map(link).collect(),
            moves: Vec::new(),
        }
    }

    #[test]
    fn the_fewest_links_and_then_the_first_ones() {
        let net = network("AxyzB", &[('A', 'x'), ('x', 'y'), ('x', 'z'), ('y', 'z'), ('z', 'B'), ('y', 'B')]);
        let routes = Routes::new(&net);
        // Path by y: links 0, 1, 5; by z: links 0, 2, 4. Both have three links; y is found first.
        assert_eq!(routes.path(0, 4), Some(vec![0, 1, 5]));
        assert_eq!(routes.path(4, 0), None);
        assert_eq!(routes.path(0, 0), Some(vec![]));
        // Links 2 and 3 enter z, 4 and 5 enter B.
        assert_eq!(routes.ports(), [0, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn hosts_do_not_pass_packets_on() {
        let net = network("AHBx", &[('A', 'H'), ('H', 'B'), ('A', 'x'), ('x', 'x')]);
        let routes = Routes::new(&net);
        assert_eq!(routes.path(0, 1), Some(vec![0]));
        assert_eq!(routes.path(0, 2), None);
        assert_eq!(routes.path(0, 3), Some(vec![2]));
    }
}

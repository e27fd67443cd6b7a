//! The path on its way to a network: nodes and one-way links, whose queues are still to be chosen.

use super::line::{Front, Line};
use crate::error::Fault;
use longfat_core::params::Choice;
use longfat_core::time::Duration;
use longfat_model::{Link, Network, Node, NodeKind};
use std::collections::BTreeMap;

/// The first of `names`, for a message.
pub(super) fn some(names: &[&str]) -> String {
    if names.len() <= 8 { names.join(", ") } else { format!("{}, ...", names[..8].join(", ")) }
}

/// The hosts on one side of a preset: `left1`, `left2`, ..., which `left` stands for.
pub(super) struct Side {
    pub name: &'static str,
    pub hosts: Vec<usize>,
    /// The keys that say how many there are.
    pub said_by: &'static str,
}

/// A network whose links have no queues yet.
#[derive(Default)]
pub(super) struct Plan<'a> {
    pub network: Network,
    /// Queue and discard policy in front of each link, as written.
    pub fronts: Vec<Front<'a>>,
    pub sides: Vec<Side>,
    /// Node of each name.
    numbers: BTreeMap<String, usize>,
}

impl<'a> Plan<'a> {
    /// Adds a node, whose name is its own.
    pub(super) fn node(&mut self, name: String, kind: NodeKind) -> usize {
        let number = self.network.nodes.len();
        self.numbers.insert(name.clone(), number);
        self.network.nodes.push(Node { name, kind });
        number
    }

    /// The node called `name`.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Numbers the hosts before the routers and these before the switches, as an explicit path lists them, so that both are
    /// the same network.
    pub(super) fn hosts_first(&mut self) {
        let nodes = &mut self.network.nodes;
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&i| (!nodes[i].is_host(), nodes[i].is_switch()));
        let mut place = vec![0; nodes.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        *nodes = order.iter().map(|&i| nodes[i].clone()).collect();
        for link in &mut self.network.links {
            (link.from, link.to) = (place[link.from], place[link.to]);
        }
        self.sides.iter_mut().flat_map(|side| &mut side.hosts).chain(self.numbers.values_mut()).for_each(|node| *node = place[*node]);
    }

    /// Adds the two ways of `line` between `a` and `b`.
    pub(super) fn link(&mut self, name: &str, a: usize, b: usize, line: &Line<'a>) {
        for (suffix, from, to, way) in [('>', a, b, &line.there), ('<', b, a, &line.back)] {
            self.network.links.push(Link {
                name: format!("{name}{suffix}"),
                from,
                to,
                rate: way.rate,
                delay: way.delay.unwrap_or(Duration::ZERO),
                cells: way.cells,
                overhead: way.overhead,
                min_frame: way.min_frame,
                mtu: way.mtu,
                // Chosen once the routes are known.
                queue: Choice::default(),
                discard: None,
                loss: way.loss.clone(),
                unsteady: way.changes.unsteady.clone(),
                rate_file: way.changes.rate_file.clone(),
                delay_file: way.changes.delay_file.clone(),
                pause: way.pause,
                bottleneck: way.bottleneck,
            });
            self.fronts.push(way.front.clone());
        }
    }

    /// The hosts that `name` stands for.
    pub(super) fn hosts(&self, name: &str) -> Option<Vec<usize>> {
        let group = self.sides.iter().find(|side| side.name == name).map(|side| side.hosts.clone());
        group.or_else(|| self.named(name).filter(|node| self.network.nodes[*node].is_host()).map(|node| vec![node]))
    }

    /// The host, or the hosts, that `name` at the key of a name stands for; a fault by `fault` where there is none.
    pub(super) fn hosts_or(&self, key: &str, name: &str, fault: &dyn Fn(String) -> Fault) -> Result<Vec<usize>, Fault> {
        self.hosts(name).ok_or_else(|| {
            let message = match self.named(name).map(|node| &self.network.nodes[node]) {
                Some(node) => {
                    format!("`{name}` is a {}, and flows end at hosts", if node.is_switch() { "switch" } else { "router" })
                }
                None => format!("there is no host `{name}`"),
            };
            let fault = fault(message).expected(format!("`{key}` = one of {}", some(&self.host_names())));
            let is_of = |side: &&Side| name.strip_prefix(side.name).is_some_and(|number| number.parse::<u64>().is_ok());
            match self.sides.iter().find(is_of) {
                Some(side) => fault.help(format!("the path has {} of them; {} says how many", side.hosts.len(), side.said_by)),
                None => fault.nearest(name, self.host_names()),
            }
        })
    }

    /// Returns every name that a flow can be from or to.
    pub(super) fn host_names(&self) -> Vec<&str> {
        let hosts = self.network.nodes.iter().filter(|n| n.is_host()).map(|n| n.name.as_str());
        let mut names: Vec<&str> = self.sides.iter().map(|side| side.name).chain(hosts).collect();
        names.dedup();
        names
    }
}

//! `htb`: hierarchical token buckets: each class has a rate of its own, and borrows unused bandwidth of others, up to its ceil.
//!
//! The model is that of tc-htb(8) and of link-sharing (Floyd and Van Jacobson 1995, called FJ95 below). Two buckets measure how far a class
//! is ahead of its `rate` and of its `ceil`. A class may send if it is not ahead of its own rate, or if a class around it lends, which must
//! not be ahead of its rate either. No class exceeds its ceil, whoever lends. Classes that send on their own rate come before classes that
//! borrow, and borrowing from near comes before borrowing from far. Then priorities count, and then deficit round robin.

mod params;
mod turns;

use super::bucket::Bucket;
use super::classes::Classifier;
use super::{Claim, Measure, Party, Queue, QueueKind, QueueLog};
use crate::packet::{Packet, PacketId, Packets};
use crate::params::Value;
use crate::promise::Promise;
use crate::time::Time;
use crate::units::Rate;
use turns::{Ring, Turns};

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "htb",
    summary: "hierarchical token buckets: classes with a rate each, that borrow from each other up to a ceil, with any queue inside",
    source: "tc-htb(8); Floyd and Van Jacobson, Link-sharing and Resource Management Models for Packet Networks, IEEE/ACM ToN 3(4), 1995",
    params: params::PARAMS,
    promises: &[Promise::with(&[("rate", Value::Rate(Rate::from_bps(10_000_000)))], Claim::Shapes, "tc-htb(8): the rate, after a burst")],
    check: params::check,
    build: |params, context| Box::new(params::build(params, &context)),
};

/// A class, or the root of all classes.
#[derive(Debug)]
struct Node {
    /// Parent class.
    parent: Option<usize>,
    /// Levels below it on the longest way down: 0 for a leaf.
    height: usize,
    rate: Bucket,
    ceil: Bucket,
    within: Within,
}

#[derive(Debug)]
enum Within {
    /// Inner class: the classifier, and the nodes of its classes.
    Classes(Classifier, Vec<usize>),
    /// Leaf: its number.
    Leaf(usize),
}

struct Leaf {
    node: usize,
    prio: u64,
    queue: Box<dyn Queue + Send>,
}

struct Htb {
    mtu: u32,
    /// Nodes, each behind its parent; the first holds all.
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    turns: Turns,
    /// Ring in which each leaf may send, for the scheduler.
    rings: Vec<Option<Ring>>,
}

impl Htb {
    fn leaf_of(&self, packet: &Packet) -> usize {
        let mut node = 0;
        loop {
            match &self.nodes[node].within {
                Within::Classes(classifier, below) => node = below[classifier.class(packet)],
                Within::Leaf(leaf) => return *leaf,
            }
        }
    }

    /// Returns the node and its ancestors, from the inside.
    fn path(&self, node: usize) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(&self.nodes[node]), |node| Some(&self.nodes[node.parent?]))
    }

    /// Returns the first time from `from` on at which the leaf may send its packets, as far as its own and borrowed tokens go.
    fn opens_leaf(&self, leaf: &Leaf, from: Time) -> Time {
        let opens = |bucket: &Bucket| bucket.opens(from, self.mtu);
        let within_ceils = self.path(leaf.node).map(|node| opens(&node.ceil)).max();
        let lent = self.path(leaf.node).map(|node| opens(&node.rate)).min();
        leaf.queue.opens(within_ceils.max(lent).unwrap_or(from))
    }

    /// Returns the height above the leaf of the class that lends to it, 0 if it needs none. `None`: no class lends, now that buckets are
    /// filled.
    fn lender(&self, leaf: &Leaf) -> Option<usize> {
        if self.path(leaf.node).any(|node| !node.ceil.has(self.mtu)) {
            return None;
        }
        self.path(leaf.node).find(|node| node.rate.has(self.mtu)).map(|node| node.height)
    }

    /// Returns the leaf that sends at `now`.
    fn choose(&mut self, now: Time) -> Option<(Ring, usize)> {
        self.nodes.iter_mut().for_each(|node| {
            node.rate.fill(now);
            node.ceil.fill(now);
        });
        let mut rings = std::mem::take(&mut self.rings);
        rings.clear();
        rings.extend(self.leaves.iter().map(|leaf| {
            let ready = leaf.queue.held(Measure::Packets) > 0 && leaf.queue.opens(now) <= now;
            if ready { self.lender(leaf).map(|height| (height, leaf.prio)) } else { None }
        }));
        let ring = rings.iter().copied().flatten().min();
        let chosen = ring.map(|ring| (ring, self.turns.next(ring, |leaf| rings[leaf] == Some(ring))));
        self.rings = rings;
        chosen
    }

    /// Accounts for a packet of `len` bytes of `leaf`, sent with tokens of a class of that height. It counts at each ceil, and at the rates
    /// of the lender and of all its ancestors, for which it is own traffic.
    fn charge(&mut self, leaf: usize, height: usize, len: u32) {
        let mut next = Some(self.leaves[leaf].node);
        while let Some(number) = next {
            let node = &mut self.nodes[number];
            node.ceil.take(len);
            if node.height >= height {
                node.rate.take(len);
            }
            next = node.parent;
        }
    }
}

impl Queue for Htb {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let leaf = self.leaf_of(&packets[id]);
        self.leaves[leaf].queue.enqueue(now, id, packets, log);
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        if self.held(Measure::Packets) == 0 {
            return None;
        }
        let now = self.opens(now);
        // A leaf that dropped all that it could have sent makes room for another.
        while let Some((ring, leaf)) = self.choose(now) {
            if let Some(id) = self.leaves[leaf].queue.dequeue(now, packets, log) {
                let len = packets[id].ip_len();
                self.charge(leaf, ring.0, len);
                self.turns.sent(ring, leaf, len);
                return Some(id);
            }
        }
        None
    }
    fn shapes(&self) -> bool {
        true
    }
    fn opens(&self, from: Time) -> Time {
        let held = self.leaves.iter().filter(|leaf| leaf.queue.held(Measure::Packets) > 0);
        held.map(|leaf| self.opens_leaf(leaf, from)).min().unwrap_or(from)
    }
    fn tell(&mut self, route: u32, party: &Party<'_>) {
        for node in &mut self.nodes {
            if let Within::Classes(classifier, _) = &mut node.within {
                classifier.tell(route, party);
            }
        }
        self.leaves.iter_mut().for_each(|leaf| leaf.queue.tell(route, party));
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.leaves.iter().filter_map(|leaf| leaf.queue.poll_timeout()).min()
    }
    fn handle_timeout(&mut self, now: Time) {
        let queues = self.leaves.iter_mut().map(|leaf| &mut leaf.queue);
        queues.filter(|queue| queue.poll_timeout().is_some_and(|at| at <= now)).for_each(|queue| queue.handle_timeout(now));
    }
    fn held(&self, measure: Measure) -> u64 {
        self.leaves.iter().map(|leaf| leaf.queue.held(measure)).sum()
    }
}

#[cfg(test)]
mod tests;

//! Flows in lines of their own, served in turn: what every queue that keeps flows apart shares.
//!
//! Which line a packet belongs to is [`Classifier`]'s; which line is served is deficit round robin with new lines first (RFC 8290, section
//! 4), in [`FlowQueues`]; what becomes of a packet within its line is the queue's own.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};

use super::QueueContext;
use super::fifo::{Backlog, Measure};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::rng::Rng;

pub(super) const FLOWS: ParamSpec = ParamSpec {
    name: "flows",
    kind: Kind::Count { unit: "", min: 1, max: 65_536 },
    // RFC 8290 §5.2.5.
    default: Some(Value::Count(1024)),
    doc: "lines that flows are hashed to; flows of one line share it",
};
pub(super) const COLLISIONS: ParamSpec = ParamSpec {
    name: "collisions",
    kind: Kind::Bool,
    default: Some(Value::Bool(true)),
    doc: "whether flows are hashed; if not, each has a line of its own, whatever `flows` says",
};
pub(super) const QUANTUM: ParamSpec = ParamSpec {
    name: "quantum",
    kind: Kind::Bytes { min: 64, max: 1 << 20 },
    // RFC 8290 §5.2.4.
    default: Some(Value::Auto),
    doc: "IP bytes that a line may send in its turn. When not given: the MTU",
};

/// Which line a packet belongs to.
#[derive(Debug)]
enum Classifier {
    /// By a hash of its flow, keyed so that another seed has other collisions: this many lines.
    Hash { lines: u32, key: u64 },
    /// The line of its flow, in the order in which flows first came.
    Each(HashMap<u32, u32, BuildHasherDefault<DefaultHasher>>),
}

impl Classifier {
    fn new(params: &Params, rng: &mut Rng) -> Self {
        let key = rng.next_u64();
        if params.boolean(COLLISIONS.name) {
            Classifier::Hash { lines: params.integer(FLOWS.name) as u32, key }
        } else {
            Classifier::Each(HashMap::default())
        }
    }
    #[inline]
    fn line(&mut self, route: u32) -> usize {
        match self {
            Classifier::Hash { lines, key } => {
                // The finalizer of SplitMix64, and then the high bits times the number of lines: even, and without a division.
                let mut z = u64::from(route).wrapping_add(*key);
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^= z >> 31;
                (((z >> 32) * u64::from(*lines)) >> 32) as usize
            }
            Classifier::Each(lines) => {
                let next = lines.len() as u32;
                *lines.entry(route).or_insert(next) as usize
            }
        }
    }
}

/// One line.
#[derive(Debug)]
struct Flow<S> {
    held: Backlog,
    /// IP bytes that it may still send in its turn.
    credit: i64,
    /// Whether it is in the list of new or of old lines.
    active: bool,
    state: S,
}

/// Lines, each with a state `S` of what controls it.
#[derive(Debug)]
pub struct FlowQueues<S> {
    flows: Vec<Flow<S>>,
    classifier: Classifier,
    /// Lines that began to send a short time ago, and all others that have something to send, or had when their turn came last.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    fresh: S,
    packets: u64,
    bytes: u64,
}

impl<S: Clone> FlowQueues<S> {
    /// Lines as [`FLOWS`], [`COLLISIONS`] and [`QUANTUM`] say, whose states are `fresh`.
    pub fn new(params: &Params, context: &mut QueueContext, fresh: S) -> Self {
        let quantum = if params.is_auto(QUANTUM.name) { u64::from(context.mtu) } else { params.integer(QUANTUM.name) };
        FlowQueues {
            flows: Vec::new(),
            classifier: Classifier::new(params, &mut context.rng),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: quantum as i64,
            fresh,
            packets: 0,
            bytes: 0,
        }
    }

    /// The packet `id` joins its line.
    #[inline]
    pub fn push(&mut self, id: PacketId, packets: &mut Packets) {
        let number = self.classifier.line(packets[id].route);
        if number >= self.flows.len() {
            let fresh = &self.fresh;
            self.flows.resize_with(number + 1, || Flow { held: Backlog::default(), credit: 0, active: false, state: fresh.clone() });
        }
        let flow = &mut self.flows[number];
        self.packets += 1;
        self.bytes += u64::from(packets[id].ip_len());
        flow.held.push(id, packets);
        // RFC 8290 §4.1: a line that is in neither list is a new one, with a quantum of credit.
        if !flow.active {
            (flow.active, flow.credit) = (true, self.quantum);
            self.new.push_back(number as u32);
        }
    }

    /// The next packet, which `take` takes from the line whose turn it is; it may drop others first. `None` when nothing is held.
    #[inline]
    pub fn next(
        &mut self,
        packets: &mut Packets,
        mut take: impl FnMut(&mut S, &mut Backlog, &mut Packets) -> Option<PacketId>,
    ) -> Option<PacketId> {
        // RFC 8290 §4.2: the first new line, or else the first old one.
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let (count, bytes) = (flow.held.packets(), flow.held.bytes());
            let taken = take(&mut flow.state, &mut flow.held, packets);
            self.packets -= count - flow.held.packets();
            self.bytes -= bytes - flow.held.bytes();
            if let Some(id) = taken {
                flow.credit -= i64::from(packets[id].ip_len());
                return Some(id);
            }
            // A new line that has nothing becomes an old one before it is forgotten: else one packet at a time would always come first.
            list.pop_front();
            if is_new {
                self.old.push_back(number);
            } else {
                flow.active = false;
            }
        }
    }

    /// The link is idle and nothing is held: whoever is asked for a packet then finds every line empty, and forgets them all.
    pub fn idle(&mut self) {
        for number in self.new.drain(..).chain(self.old.drain(..)) {
            self.flows[number as usize].active = false;
        }
    }

    /// Takes the first packets of the line that holds the most bytes, the first of such lines: half of them, but at most `most`. None if nothing
    /// is held.
    pub fn shorten_fattest(&mut self, most: u64, packets: &mut Packets, mut dropped: impl FnMut(PacketId, &mut Packets)) {
        let fattest = self.flows.iter().enumerate().rev().max_by_key(|(_, flow)| flow.held.bytes());
        let Some((number, _)) = fattest else { return };
        let held = &mut self.flows[number].held;
        let bytes = held.bytes();
        let count = held.packets().div_ceil(2).min(most);
        let taken = (0..count).map_while(|_| {
            let id = held.pop(packets)?;
            dropped(id, packets);
            Some(())
        });
        self.packets -= taken.count() as u64;
        self.bytes -= bytes - self.flows[number].held.bytes();
    }

    /// Lines that have something to send.
    #[cfg(test)]
    pub fn lines_in_use(&self) -> usize {
        self.flows.iter().filter(|flow| !flow.held.is_empty()).count()
    }

    /// What is held, counted in `measure`.
    #[inline]
    pub fn held(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Bytes => self.bytes,
            Measure::Packets => self.packets,
        }
    }
}

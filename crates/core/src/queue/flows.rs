//! Flow queues served in turn: shared by every queue that keeps flows apart.
//!
//! [`Classifier`] selects the flow queue of a packet. [`FlowQueues`] serves flow queues by deficit round robin with new ones first (RFC
//! 8290, section 4). The queue itself decides on packets within a flow queue.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::QueueContext;
use super::fifo::{Backlog, Measure};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::Time;

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

/// Classifier of packets into flow queues.
#[derive(Debug)]
pub(super) struct Classifier(By);

#[derive(Debug)]
enum By {
    /// Hash of the flow to one of `lines` flow queues, keyed so that another seed has other collisions.
    Hash { lines: u32, key: u64 },
    /// Flow queues in the order in which flows first came. For each route the number of its queue plus 1, or 0; and the number of queues.
    Each { lines: Vec<u32>, count: u32 },
}

impl Classifier {
    /// Returns the classifier that [`FLOWS`] and [`COLLISIONS`] describe.
    pub(super) fn new(params: &Params, rng: &mut Rng) -> Self {
        let hashed = Classifier::hash(params.integer(FLOWS.name) as u32, rng);
        if params.boolean(COLLISIONS.name) { hashed } else { Classifier::each() }
    }
    /// Returns a classifier that hashes flows to `lines` flow queues.
    pub(super) fn hash(lines: u32, rng: &mut Rng) -> Self {
        Classifier(By::Hash { lines, key: rng.next_u64() })
    }
    /// Returns a classifier that gives each flow a queue of its own.
    pub(super) fn each() -> Self {
        Classifier(By::Each { lines: Vec::new(), count: 0 })
    }
    /// Returns the number of the flow queue of this route.
    #[inline]
    pub(super) fn line(&mut self, route: u32) -> usize {
        match &mut self.0 {
            // The high bits times the number of lines: even, and without a division.
            By::Hash { lines, key } => (((mix(route, *key) >> 32) * u64::from(*lines)) >> 32) as usize,
            By::Each { lines, count } => {
                let route = route as usize;
                if route >= lines.len() {
                    lines.resize(route + 1, 0);
                }
                if lines[route] == 0 {
                    *count += 1;
                    lines[route] = *count;
                }
                lines[route] as usize - 1
            }
        }
    }
}

/// Returns the hash of the flow with this route: the finalizer of SplitMix64.
#[inline]
pub(super) const fn mix(route: u32, key: u64) -> u64 {
    let mut z = (route as u64).wrapping_add(key);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// IP bytes that a flow queue may send in its first turn of all, and in each turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quanta {
    pub first: u64,
    pub each: u64,
}

impl Quanta {
    /// Returns the quanta that [`QUANTUM`] describes.
    pub(super) fn new(params: &Params, context: &QueueContext) -> Self {
        let each = if params.is_auto(QUANTUM.name) { u64::from(context.mtu) } else { params.integer(QUANTUM.name) };
        Quanta { first: each, each }
    }
}

/// One flow queue. With thousands of them each packet misses the near caches: with the state of `codel` it takes one cache line, and with a
/// larger state no more than that state needs.
#[derive(Debug)]
#[repr(align(64))]
struct Flow<S> {
    held: Backlog,
    /// IP bytes that it may still send in its turn.
    credit: i32,
    /// True if it is in the list of new or of old flow queues, or parked.
    active: bool,
    /// True if it waits for its time.
    parked: bool,
    /// True if it had a turn before.
    known: bool,
    state: S,
}

const _: () = assert!(size_of::<Flow<super::codel::Codel>>() == 64);

/// Flow queues, each with a state `S` of its control.
#[derive(Debug)]
pub(super) struct FlowQueues<S> {
    flows: Vec<Flow<S>>,
    classifier: Classifier,
    /// New flow queues, and old ones: those that have packets, or had when their turn came last.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Parked flow queues, which hold packets and wait for their time, and the number of these packets.
    parked: BinaryHeap<Reverse<(Time, u32)>>,
    parked_packets: u64,
    /// Time until which each flow queue may send nothing, in its turn or not. It covers only those that were ever parked, and those before
    /// them.
    until: Vec<Time>,
    quanta: Quanta,
    fresh: S,
    packets: u64,
    bytes: u64,
}

impl<S: Clone> FlowQueues<S> {
    /// Returns flow queues with `fresh` states.
    pub(super) fn new(classifier: Classifier, quanta: Quanta, fresh: S) -> Self {
        FlowQueues {
            flows: Vec::new(),
            classifier,
            new: VecDeque::new(),
            old: VecDeque::new(),
            parked: BinaryHeap::new(),
            parked_packets: 0,
            until: Vec::new(),
            quanta,
            fresh,
            packets: 0,
            bytes: 0,
        }
    }

    /// Returns the number of the flow queue of this route, and makes sure that it exists.
    #[inline]
    fn number_of(&mut self, route: u32) -> usize {
        let number = self.classifier.line(route);
        if number >= self.flows.len() {
            let fresh = &self.fresh;
            let flow = || Flow { held: Backlog::default(), credit: 0, active: false, parked: false, known: false, state: fresh.clone() };
            self.flows.resize_with(number + 1, flow);
        }
        number
    }

    /// Returns the flow queue of this route.
    pub(super) fn line_of(&mut self, route: u32) -> (&mut S, &Backlog) {
        let number = self.number_of(route);
        let flow = &mut self.flows[number];
        (&mut flow.state, &flow.held)
    }

    /// Adds the packet `id`, which is stamped with the time, to its flow queue.
    #[inline]
    pub(super) fn push(&mut self, id: PacketId, packets: &mut Packets) {
        let number = self.number_of(packets[id].route);
        let flow = &mut self.flows[number];
        self.packets += 1;
        self.bytes += u64::from(packets[id].ip_len());
        flow.held.push(id, packets);
        // RFC 8290 §4.1: a flow queue in neither list is a new one, with a quantum of credit.
        if !flow.active {
            let credit = if flow.known { self.quanta.each } else { self.quanta.first };
            (flow.active, flow.known, flow.credit) = (true, true, credit as i32);
            let until = self.until.get(number).copied().unwrap_or(Time::ZERO);
            flow.parked = until > packets[id].stamp;
            if flow.parked {
                self.parked.push(Reverse((until, number as u32)));
            } else {
                self.new.push_back(number as u32);
            }
        }
        self.parked_packets += u64::from(flow.parked);
    }

    /// Returns the next packet, which `take` takes from the flow queue whose turn it is; `take` may drop others first. `None` when nothing
    /// is held.
    #[inline]
    pub(super) fn next(
        &mut self,
        packets: &mut Packets,
        mut take: impl FnMut(&mut S, &mut Backlog, &mut Packets) -> Option<PacketId>,
    ) -> Option<PacketId> {
        // RFC 8290 §4.2: the first new flow queue, or else the first old one.
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number as usize];
            // §3: zero or less ends a turn. (§4.2 says "negative", but means by it a quantum used up.)
            if flow.credit <= 0 {
                flow.credit += self.quanta.each as i32;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let (count, bytes) = (flow.held.packets(), flow.held.bytes());
            let taken = take(&mut flow.state, &mut flow.held, packets);
            self.packets -= count - flow.held.packets();
            self.bytes -= bytes - flow.held.bytes();
            if let Some(id) = taken {
                flow.credit -= packets[id].ip_len() as i32;
                return Some(id);
            }
            // §4.2: an empty new flow queue becomes an old one before it is forgotten; otherwise one packet at a time would always come
            // first.
            list.pop_front();
            if is_new {
                self.old.push_back(number);
            } else {
                flow.active = false;
            }
        }
    }

    /// Parks the flow queue that was served last: it may send nothing before `until`. An empty one is forgotten, except for that time.
    pub(super) fn park(&mut self, until: Time) {
        let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
        let number = list.pop_front().expect("a line that was served is the first of its list");
        let flow = &mut self.flows[number as usize];
        if self.until.len() <= number as usize {
            self.until.resize(number as usize + 1, Time::ZERO);
        }
        self.until[number as usize] = until;
        flow.active = !flow.held.is_empty();
        flow.parked = flow.active;
        if flow.parked {
            self.parked_packets += flow.held.packets();
            self.parked.push(Reverse((until, number)));
        }
    }

    /// Makes the flow queues whose time has come by `now` old ones again.
    pub(super) fn release(&mut self, now: Time) {
        while let Some(&Reverse((until, number))) = self.parked.peek()
            && until <= now
        {
            self.parked.pop();
            let flow = &mut self.flows[number as usize];
            flow.parked = false;
            self.parked_packets -= flow.held.packets();
            self.old.push_back(number);
        }
    }

    /// Returns the first time from `from` on at which a flow queue has a packet and may send it.
    pub(super) fn opens(&self, from: Time) -> Time {
        match self.parked.peek() {
            Some(&Reverse((until, _))) if self.packets == self.parked_packets => from.max(until),
            _ => from,
        }
    }

    /// Forgets all flow queues: the link is idle and nothing is held, so a request for a packet finds each of them empty.
    pub(super) fn idle(&mut self) {
        for number in self.new.drain(..).chain(self.old.drain(..)) {
            self.flows[number as usize].active = false;
        }
    }

    /// Takes the first packets of the flow queue that holds the most bytes, the first of such queues: half of them, but at most `most`.
    /// Takes none if nothing is held.
    pub(super) fn shorten_fattest(&mut self, most: u64, packets: &mut Packets, mut dropped: impl FnMut(PacketId, &mut Packets)) {
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
        let flow = &self.flows[number];
        self.bytes -= bytes - flow.held.bytes();
        debug_assert!(!flow.parked, "nobody parks lines and shortens them");
    }

    /// Returns the number of flow queues that have packets to send.
    #[cfg(test)]
    pub(super) fn lines_in_use(&self) -> usize {
        self.flows.iter().filter(|flow| !flow.held.is_empty()).count()
    }

    /// Returns how much is held, counted in `measure`.
    #[inline]
    pub(super) fn held(&self, measure: Measure) -> u64 {
        measure.of(self.packets, self.bytes)
    }
}

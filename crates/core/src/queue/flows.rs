//! Flows in lines of their own, served in turn: what every queue that keeps flows apart shares.
//!
//! Which line a packet belongs to is [`Classifier`]'s; which line is served is deficit round robin with new lines first (RFC 8290, section
//! 4), in [`FlowQueues`]; what becomes of a packet within its line is the queue's own.

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

/// Which line a packet belongs to.
#[derive(Debug)]
pub struct Classifier(By);

#[derive(Debug)]
enum By {
    /// Hash of the flow to one of `lines` flow queues, keyed so that another seed has other collisions.
    Hash { lines: u32, key: u64 },
    /// The line of its flow, in the order in which flows first came. For each route the number of its line plus 1, or 0; and how many there are.
    Each { lines: Vec<u32>, count: u32 },
}

impl Classifier {
    /// Returns the classifier that [`FLOWS`] and [`COLLISIONS`] describe.
    pub fn new(params: &Params, rng: &mut Rng) -> Self {
        let hashed = Classifier::hash(params.integer(FLOWS.name) as u32, rng);
        if params.boolean(COLLISIONS.name) { hashed } else { Classifier::each() }
    }
    /// Flows are hashed to so many lines.
    pub fn hash(lines: u32, rng: &mut Rng) -> Self {
        Classifier(By::Hash { lines, key: rng.next_u64() })
    }
    /// Each flow has a line of its own.
    pub fn each() -> Self {
        Classifier(By::Each { lines: Vec::new(), count: 0 })
    }
    /// The number of the line of the flow with this route.
    #[inline]
    pub fn line(&mut self, route: u32) -> usize {
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

/// The hash of the flow with this route: the finalizer of SplitMix64.
#[inline]
pub(super) const fn mix(route: u32, key: u64) -> u64 {
    let mut z = (route as u64).wrapping_add(key);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// IP bytes that a line may send in its first turn of all, and in each.
#[derive(Clone, Copy, Debug)]
pub struct Quanta {
    pub first: u64,
    pub each: u64,
}

impl Quanta {
    /// Returns the quanta that [`QUANTUM`] describes.
    pub fn new(params: &Params, context: &QueueContext) -> Self {
        let each = if params.is_auto(QUANTUM.name) { u64::from(context.mtu) } else { params.integer(QUANTUM.name) };
        Quanta { first: each, each }
    }
}

/// One line. Of thousands each packet finds its own in no near cache: with the state of `codel` it is one line of the cache, and with a larger state no
/// more than that takes.
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

/// Lines, each with a state `S` of what controls it.
#[derive(Debug)]
pub struct FlowQueues<S> {
    flows: Vec<Flow<S>>,
    classifier: Classifier,
    /// Lines that began to send a short time ago, and all others that have something to send, or had when their turn came last.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Lines that hold packets and wait for their time, and how many packets these have.
    parked: BinaryHeap<Reverse<(Time, u32)>>,
    parked_packets: u64,
    /// Until when each line may send nothing, in its turn or not. Only as many as were ever parked, and those before them.
    until: Vec<Time>,
    quanta: Quanta,
    fresh: S,
    packets: u64,
    bytes: u64,
}

impl<S: Clone> FlowQueues<S> {
    /// Lines whose states are `fresh`.
    pub fn new(classifier: Classifier, quanta: Quanta, fresh: S) -> Self {
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

    /// The number of the line of the flow with this route, which is there.
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

    /// The line of the flow with this route.
    pub fn line_of(&mut self, route: u32) -> (&mut S, &Backlog) {
        let number = self.number_of(route);
        let flow = &mut self.flows[number];
        (&mut flow.state, &flow.held)
    }

    /// The packet `id`, which is stamped with the time, joins its line.
    #[inline]
    pub fn push(&mut self, id: PacketId, packets: &mut Packets) {
        let number = self.number_of(packets[id].route);
        let flow = &mut self.flows[number];
        self.packets += 1;
        self.bytes += u64::from(packets[id].ip_len());
        flow.held.push(id, packets);
        // RFC 8290 §4.1: a line that is in neither list is a new one, with a quantum of credit.
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
            // §4.2: a new line that has nothing becomes an old one before it is forgotten: else one packet at a time would always come first.
            list.pop_front();
            if is_new {
                self.old.push_back(number);
            } else {
                flow.active = false;
            }
        }
    }

    /// The line that was served last may send nothing before `until`. If it is empty, it is forgotten, but for that.
    pub fn park(&mut self, until: Time) {
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

    /// Lines whose time has come by `now` are old ones again.
    pub fn release(&mut self, now: Time) {
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

    /// The first time from `from` on at which a line has a packet and may send it.
    pub fn opens(&self, from: Time) -> Time {
        match self.parked.peek() {
            Some(&Reverse((until, _))) if self.packets == self.parked_packets => from.max(until),
            _ => from,
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
        let flow = &self.flows[number];
        self.bytes -= bytes - flow.held.bytes();
        debug_assert!(!flow.parked, "nobody parks lines and shortens them");
    }

    /// Lines that have something to send.
    #[cfg(test)]
    pub fn lines_in_use(&self) -> usize {
        self.flows.iter().filter(|flow| !flow.held.is_empty()).count()
    }

    /// Returns how much is held, counted in `measure`.
    #[inline]
    pub fn held(&self, measure: Measure) -> u64 {
        measure.of(self.packets, self.bytes)
    }
}

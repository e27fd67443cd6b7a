//! Flow queues of one tin: an 8-way set-associative hash selects the queue that a packet joins, and DRR++ the queue that is served. The
//! number of a host's busy queues sets the size of a turn.

use std::collections::VecDeque;

use super::super::fifo::Backlog;
use super::super::flows::mix;
use super::ack_filter::{is_pure, is_redundant};
use super::cobalt::Cobalt;
use super::isolation::{Flow, NOBODY};
use crate::packet::{PacketId, Packets};

/// Flow queues of a tin.
pub(super) const LINES: usize = 1024;
/// Flow queues of a set.
pub(super) const WAYS: usize = 8;
/// Units of credit per byte, small enough that rounding a part of a quantum never shows.
pub(super) const BYTE: i64 = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Idle,
    New,
    Old,
}

/// One flow queue.
#[derive(Debug)]
#[repr(align(64))]
struct Line {
    held: Backlog,
    /// Tag of the last flow or host that used it; [`NOBODY`] if it was never used.
    tag: u32,
    hosts: [u32; 2],
    place: Place,
    /// True if it used up a turn since it was idle: its hosts count it.
    busy: bool,
    /// Credit in units of 1 / [`BYTE`].
    credit: i64,
    /// Packets that joined behind the last pure ACK, where ACKs are filtered: if no more are held, none of them is a pure ACK.
    since_ack: u32,
    cobalt: Cobalt,
}

const _: () = assert!(size_of::<Line>() == 128);

impl Line {
    const fn is_free(&self) -> bool {
        matches!(self.place, Place::Idle)
    }
}

/// Flow queues in turns.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    key: u64,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    fair: [bool; 2],
    /// Busy flow queues, of those that a host sends or receives, per host.
    busy: [Vec<u32>; 2],
    packets: u64,
}

impl Lines {
    /// Returns idle flow queues; a turn is `quantum` bytes, or a part of them by hosts at those ends that are `fair`.
    pub(super) const fn new(key: u64, quantum: u32, fair: [bool; 2]) -> Self {
        let quantum = quantum as i64 * BYTE;
        Lines {
            lines: Vec::new(),
            key,
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum,
            fair,
            busy: [Vec::new(), Vec::new()],
            packets: 0,
        }
    }
    /// Packets held.
    #[inline]
    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Adds the packet `id`, of `flow`, to its flow queue, and returns the number of that queue.
    #[inline]
    pub(super) fn push(&mut self, flow: Flow, id: PacketId, packets: &mut Packets) -> usize {
        let number = self.line_of(flow);
        self.lines[number].held.push(id, packets);
        self.packets += 1;
        if self.lines[number].is_free() {
            self.lines[number].credit = self.turn(number);
            self.lines[number].place = Place::New;
            self.new.push_back(number as u32);
        }
        number
    }

    /// Takes the first ACK that the packet `last`, which has just joined this flow queue, makes redundant, if more than `spare` are.
    pub(super) fn thin(&mut self, number: usize, spare: usize, last: PacketId, packets: &mut Packets) -> Option<PacketId> {
        let Line { held, since_ack, .. } = &mut self.lines[number];
        let has_ack = held.packets() - 1 > u64::from(*since_ack);
        *since_ack = if is_pure(packets.segment(last)) { 0 } else { since_ack.saturating_add(1) };
        if !has_ack {
            return None;
        }
        let route = packets[last].route;
        let is_spare = |id: PacketId| {
            let segment = packets.segment(id);
            packets[id].route == route && is_pure(segment) && is_redundant(segment, packets.segment(last))
        };
        // `last` does not make itself redundant.
        let mut before = None;
        let mut first = held.iter(packets).map(|id| (before.replace(id), id)).filter(|&(_, id)| is_spare(id));
        let (before, _) = first.next()?;
        if first.count() < spare {
            return None;
        }
        self.packets -= 1;
        held.take_after(before, packets)
    }

    /// Returns the number of the flow queue of `flow`, which is its own if any of its set can be.
    #[inline]
    fn line_of(&mut self, flow: Flow) -> usize {
        if self.lines.is_empty() {
            self.lay_out();
        }
        let direct = (((mix(flow.tag, self.key) >> 32) * LINES as u64) >> 32) as usize;
        if self.lines[direct].tag == flow.tag { direct } else { self.search(direct, flow) }
    }

    #[cold]
    fn lay_out(&mut self) {
        let line = || Line {
            held: Backlog::default(),
            tag: NOBODY,
            hosts: [NOBODY; 2],
            place: Place::Idle,
            busy: false,
            credit: 0,
            since_ack: u32::MAX,
            cobalt: Cobalt::new(),
        };
        self.lines.resize_with(LINES, line);
    }

    /// Searches the set when the first way belongs to another flow: finds the flow's own way, else a free way, else the first way, which is
    /// shared.
    fn search(&mut self, direct: usize, flow: Flow) -> usize {
        let first = direct - direct % WAYS;
        let mut ways = (0..WAYS).map(|n| first + (direct + n) % WAYS);
        if let Some(number) = ways.clone().find(|&way| self.lines[way].tag == flow.tag) {
            return number;
        }
        let number = ways.find(|&way| self.lines[way].is_free()).unwrap_or(direct);
        if self.lines[number].is_free() {
            self.lines[number].cobalt = Cobalt::new();
        }
        let busy = self.lines[number].busy;
        self.count(number, false);
        let line = &mut self.lines[number];
        (line.tag, line.hosts) = (flow.tag, flow.hosts);
        self.count(number, busy);
        number
    }

    /// Sets whether the hosts of a flow queue count it.
    #[inline]
    fn count(&mut self, number: usize, busy: bool) {
        if self.lines[number].busy != busy {
            self.recount(number, busy);
        }
    }

    fn recount(&mut self, number: usize, busy: bool) {
        let line = &mut self.lines[number];
        line.busy = busy;
        for (count, &host) in self.busy.iter_mut().zip(&line.hosts) {
            if host == NOBODY {
                continue;
            }
            let host = host as usize;
            if count.len() <= host {
                count.resize(host + 1, 0);
            }
            if busy {
                count[host] += 1;
            } else {
                count[host] -= 1;
            }
        }
    }

    /// Returns the turn of this flow queue: a quantum, or its part of the quantum of its host with the most busy flow queues.
    #[inline]
    fn turn(&self, number: usize) -> i64 {
        let hosts = &self.lines[number].hosts;
        let busy = |end: usize| if self.fair[end] { self.busy[end].get(hosts[end] as usize).copied().unwrap_or(0) } else { 0 };
        let most = busy(0).max(busy(1));
        if most <= 1 { self.quantum } else { self.quantum / i64::from(most) }
    }

    /// Returns the next packet, which `take` takes from the flow queue whose turn it is; `take` may drop others first. `None` when nothing
    /// is held any more: then every flow queue is idle, and `rest` has told its control. A packet takes as many bytes of credit as `size`
    /// says.
    #[inline]
    pub(super) fn next(
        &mut self,
        packets: &mut Packets,
        mut take: impl FnMut(&mut Cobalt, &mut Backlog, &mut Packets) -> Option<PacketId>,
        size: impl Fn(u32) -> u32,
        mut rest: impl FnMut(&mut Cobalt),
    ) -> Option<PacketId> {
        while self.packets > 0 {
            let is_new = !self.new.is_empty();
            let number = *if is_new { &self.new } else { &self.old }.front()?;
            let place = number as usize;
            let line = &mut self.lines[place];
            if line.credit > 0 {
                let count = line.held.packets();
                let taken = take(&mut line.cobalt, &mut line.held, packets);
                self.packets -= count - line.held.packets();
                if let Some(id) = taken {
                    line.credit -= i64::from(size(packets[id].ip_len())) * BYTE;
                    return Some(id);
                }
                if !is_new {
                    self.old.pop_front();
                    line.place = Place::Idle;
                    self.count(place, false);
                    continue;
                }
            } else {
                if !line.held.is_empty() {
                    self.count(place, true);
                }
                let turn = self.turn(place);
                self.lines[place].credit += turn;
            }
            if is_new { &mut self.new } else { &mut self.old }.pop_front();
            self.lines[place].place = Place::Old;
            self.old.push_back(number);
        }
        // The tin is empty: each flow queue is told so once. In turns a new queue would be told twice, which changes nothing.
        while let Some(number) = self.new.pop_front().or_else(|| self.old.pop_front()) {
            let line = &mut self.lines[number as usize];
            rest(&mut line.cobalt);
            line.place = Place::Idle;
            self.count(number as usize, false);
        }
        None
    }

    /// Returns the flow queue that holds the most bytes, the first of such, and these bytes.
    pub(super) fn fattest(&self) -> Option<(usize, u64)> {
        let lines = self.new.iter().chain(&self.old).map(|&number| (number as usize, self.lines[number as usize].held.bytes()));
        lines.filter(|(_, bytes)| *bytes > 0).max_by_key(|&(number, bytes)| (bytes, usize::MAX - number))
    }

    /// Takes the first packet of this flow queue, because of an overflow.
    pub(super) fn shorten(&mut self, number: usize, packets: &Packets) -> (Option<PacketId>, &mut Cobalt) {
        let line = &mut self.lines[number];
        let taken = line.held.pop(packets);
        self.packets -= u64::from(taken.is_some());
        (taken, &mut line.cobalt)
    }
}

#[cfg(test)]
impl Lines {
    /// Returns the number of the flow queue with this `tag`, for tests.
    pub(super) fn place_of(&mut self, tag: u32) -> usize {
        self.line_of(Flow { tag, hosts: [NOBODY; 2] })
    }
    /// Returns the set of `tag`.
    pub(super) fn set_of(&self, tag: u32) -> usize {
        (((mix(tag, self.key) >> 32) * LINES as u64) >> 32) as usize / WAYS
    }
}

//! Where packets are kept: each in a slot of its own from when it is sent until it is received or dropped. What queues
//! and wires hold is the number of the slot, so a packet is written once, however many hops it makes.

use std::ops::{Index, IndexMut};

use super::Packet;

/// The number of a packet's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketId(u32);

/// All packets of a network. What they take at the peak is what the most packets at one time took: 64 bytes each, and 4
/// for the place in a [`Line`]; and up to 1/128 more.
///
/// Slots come in pages of 64, and a packet gets the first free slot of the current page or, when that is full, of the next
/// page with one. So packets sent one after the other lie one after the other, whatever became of those before them: with
/// the slot freed last instead, a window of 10 Gb/s and 100 ms was soon scattered over its 10 MB, and cost a third more
/// time in caches missed.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    /// For each slot that is in a line, the one behind it.
    behind: Vec<PacketId>,
    /// A bit for each slot, 64 to a page: whether it is free.
    free: Vec<u64>,
    /// The current page.
    page: usize,
    len: usize,
}

/// Slots in a page: 4 KiB of them.
const PAGE: usize = u64::BITS as usize;

impl Packets {
    /// None yet.
    pub fn new() -> Self {
        Packets::default()
    }

    /// Keeps `packet`.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.vacant();
        self[id] = packet;
        self.keep(id);
        id
    }

    /// The slot of the next packet, which may be written there before it is kept. What is there now means nothing.
    #[inline]
    pub fn vacant(&mut self) -> PacketId {
        // So many slots stay free that a packet's share of a round through all pages, each of one step, is two steps.
        if self.len + self.len / 128 >= self.slots.len() {
            self.grow();
        }
        while self.free[self.page] == 0 {
            self.page = if self.page + 1 < self.free.len() { self.page + 1 } else { 0 };
        }
        PacketId((self.page * PAGE) as u32 + self.free[self.page].trailing_zeros())
    }

    /// Keeps what has been written to the slot `id`, which is vacant.
    #[inline]
    pub fn keep(&mut self, id: PacketId) {
        let (page, bit) = (id.0 as usize / PAGE, 1 << (id.0 as usize % PAGE));
        assert!(self.free[page] & bit != 0, "a slot was taken twice");
        self.free[page] ^= bit;
        self.len += 1;
    }

    /// Adds a page, to be used next.
    #[cold]
    fn grow(&mut self) {
        let slots = self.slots.len() + PAGE;
        assert!(u32::try_from(slots).is_ok(), "more packets in a network than 32 bits can number");
        if slots > self.slots.capacity() {
            // By an eighth, not to the double: large blocks grow where they are, and what is not yet used is not yet memory.
            self.slots.reserve_exact((slots / 8).max(PAGE));
            self.behind.reserve_exact((slots / 8).max(PAGE));
        }
        self.slots.resize(slots, Packet::default());
        self.behind.resize(slots, PacketId(0));
        self.page = self.free.len();
        self.free.push(u64::MAX);
    }

    /// Lets go of the packet `id`, which is in no line any more.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        let (page, bit) = (id.0 as usize / PAGE, 1 << (id.0 as usize % PAGE));
        assert!(self.free[page] & bit == 0, "a packet was let go of twice");
        self.free[page] |= bit;
        self.len -= 1;
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Index<PacketId> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }
}

impl IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id.0 as usize]
    }
}

/// Packets in a line, first in first out. It has no memory of its own, however long it grows: each packet's slot says
/// which is behind it. So a packet is in one line at a time, and a line is always used with the same [`Packets`].
#[derive(Debug)]
pub struct Line {
    first: PacketId,
    last: PacketId,
    len: u32,
}

impl Line {
    /// An empty line.
    pub const fn new() -> Self {
        // Of an empty line, `first` and `last` mean nothing.
        Line { first: PacketId(0), last: PacketId(0), len: 0 }
    }

    /// Appends the packet `id`, which is in no line.
    #[inline]
    pub fn push(&mut self, id: PacketId, packets: &mut Packets) {
        if self.len == 0 {
            self.first = id;
        } else {
            packets.behind[self.last.0 as usize] = id;
        }
        self.last = id;
        self.len += 1;
    }

    /// Takes the first packet. It stays in `packets`.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let id = self.first()?;
        self.first = packets.behind[id.0 as usize];
        self.len -= 1;
        Some(id)
    }

    /// The first packet.
    #[inline]
    pub const fn first(&self) -> Option<PacketId> {
        if self.len == 0 { None } else { Some(self.first) }
    }

    /// The packets, first to last.
    pub fn iter<'a>(&self, packets: &'a Packets) -> impl Iterator<Item = &'a Packet> {
        std::iter::successors(self.first(), |id| Some(packets.behind[id.0 as usize])).take(self.len()).map(|id| &packets[id])
    }

    /// How many there are.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Line {
    fn default() -> Self {
        Line::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::packet::{Ecn, Segment};
    use crate::time::Time;

    fn packet(seq: u32) -> Packet {
        let segment = Segment::new(seq, 0, 0);
        Packet { stamp: Time::ZERO, route: 0, ingress: 0, ecn: Ecn::NotEct, corrupted: false, segment }
    }

    #[test]
    fn slots_are_taken_in_order_and_used_again() {
        let mut packets = Packets::new();
        let first: Vec<_> = (0..1000).map(|seq| packets.insert(packet(seq)).0).collect();
        assert!(first.is_sorted());
        assert_eq!(packets.slots.len(), 1024, "1/128 more, in whole pages");
        // Every third leaves; whatever the order, those that come take their slots in order, but for the current page.
        (0..1000).rev().filter(|i| i % 3 == 0).for_each(|i| packets.remove(PacketId(first[i])));
        let again: Vec<_> = (0..300).map(|seq| packets.insert(packet(seq)).0).collect();
        let start = again.iter().position(|&id| id == 0).unwrap();
        assert!(again[..start].is_sorted() && again[start..].is_sorted());
        assert_eq!((packets.len(), packets.slots.len()), (966, 1024));
    }

    #[test]
    #[should_panic(expected = "let go of twice")]
    fn a_packet_leaves_once() {
        let mut packets = Packets::new();
        let id = packets.insert(packet(0));
        packets.remove(id);
        packets.remove(id);
    }

    proptest! {
        /// Lines that share their packets are as many plain queues.
        #[test]
        fn lines_are_queues(steps in prop::collection::vec((0..4_usize, any::<bool>(), 0..4_usize), 1..500)) {
            let mut packets = Packets::new();
            let mut lines = [const { Line::new() }; 4];
            let mut plain: [VecDeque<u32>; 4] = Default::default();
            let mut most = 0;
            for (seq, (from, new, to)) in steps.into_iter().enumerate() {
                // A packet comes to the end of a line; or the first of a line goes to another, or leaves from line 0.
                let moved = if new { Some(packets.insert(packet(seq as u32))) } else { lines[from].pop(&packets) };
                let expected = if new { Some(seq as u32) } else { plain[from].pop_front() };
                prop_assert_eq!(moved.map(|id| packets[id].segment.seq), expected);
                match moved {
                    Some(id) if !new && from == 0 => packets.remove(id),
                    Some(id) => {
                        lines[to].push(id, &mut packets);
                        plain[to].push_back(packets[id].segment.seq);
                    }
                    None => {}
                }
                for (line, plain) in lines.iter().zip(&plain) {
                    prop_assert!(line.iter(&packets).map(|p| p.segment.seq).eq(plain.iter().copied()));
                    prop_assert_eq!(line.len(), plain.len());
                }
                let held = plain.iter().map(VecDeque::len).sum::<usize>();
                most = most.max(held);
                prop_assert_eq!(packets.len(), held);
                prop_assert!(packets.slots.len() <= most + most / 128 + PAGE);
            }
        }
    }
}

//! Storage of packets: each has a slot of its own from when it is sent until it is received or dropped. Queues and wires hold the number of
//! the slot, so a packet is written once, however many hops it makes.

use std::ops::{Index, IndexMut};

use super::{Packet, Segment};

/// Number of a packet's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketId(u32);

impl PacketId {
    /// Successor of a packet in no line, and of the last packet of a line.
    pub(super) const NONE: PacketId = PacketId(u32::MAX);

    /// Returns the number of the slot.
    #[inline]
    pub(crate) const fn slot(self) -> usize {
        self.0 as usize
    }
}

impl Default for PacketId {
    fn default() -> Self {
        PacketId::NONE
    }
}

/// All packets of a network. Their memory is that of the most packets at one time: 24 bytes each, and 48 for the segment; and up to 1/128
/// more.
///
/// Slots come in pages of 64, and a packet gets the first free slot of the current page or, when that is full, of the next page with one.
/// So packets sent one after the other lie one after the other, whatever happened to those before them. If the slot freed last were taken
/// instead, a window of 10 Gb/s and 100 ms would soon be scattered over its 10 MB, and cost a third more time in cache misses.
///
/// Each direction of a flow has pages of its own. Packets of one direction through the same queues leave about in the order in which they
/// came, so that each round through the pages finds them free from end to end. With shared pages the acknowledgments, which do not wait
/// where data does, would leave gaps. The next packets would fill these gaps, and after some rounds no two packets sent one after the other
/// would lie in one page.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    /// Segment of the packet in each slot.
    segments: Vec<Segment>,
    pages: Vec<Page>,
    rounds: [Round; 2],
}

/// A page of slots.
#[derive(Debug)]
struct Page {
    /// Free slots: a bit for each.
    free: u64,
    /// Its round, and the next page of that round.
    way: Direction,
    next: u32,
}

/// Direction of a packet: from the first end of a flow, or from the one that answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the end that connects.
    There,
    /// From the end that listens.
    Back,
}

/// Pages in a circle.
#[derive(Debug, Default)]
struct Round {
    /// Current page.
    page: usize,
    /// Slots in all of them, those taken, and how many may be: enough stay free that a packet's share of a round through all pages, each of
    /// one step, is two steps.
    slots: usize,
    len: usize,
    most: usize,
}

/// Slots that there is room for from the start, in bytes more than the 128 KiB from which common allocators give a block pages of its own.
const FIRST: usize = 8192;
/// Slots in a page.
const PAGE: usize = u64::BITS as usize;

impl Packets {
    /// Returns an empty pool.
    pub fn new() -> Self {
        Packets::default()
    }

    /// Keeps `packet`, which carries `segment`.
    #[inline]
    pub fn insert(&mut self, way: Direction, packet: Packet, segment: Segment) -> PacketId {
        let (page, free) = self.page(way);
        let id = slot(page, *free);
        *free &= *free - 1;
        self.rounds[way as usize].len += 1;
        (self[id], *self.segment_mut(id)) = (packet, segment);
        id
    }

    /// Keeps a second packet like `id`.
    pub fn copy(&mut self, id: PacketId) -> PacketId {
        let way = self.pages[id.0 as usize / PAGE].way;
        self.insert(way, self[id], *self.segment(id))
    }

    /// Returns the slot of the next packet, which may be written there before it is kept. Its content until then means nothing.
    #[inline]
    pub fn vacant(&mut self, way: Direction) -> PacketId {
        let (page, free) = self.page(way);
        slot(page, *free)
    }

    /// Returns the page of the next packet, and its free slots.
    #[inline]
    fn page(&mut self, way: Direction) -> (usize, &mut u64) {
        let round = &self.rounds[way as usize];
        if round.len >= round.most {
            self.grow(way);
        }
        let round = &mut self.rounds[way as usize];
        if self.pages[round.page].free == 0 {
            round.turn(&self.pages);
        }
        (round.page, &mut self.pages[round.page].free)
    }

    /// Keeps the packet written to the slot `id`, which is vacant.
    #[inline]
    pub fn keep(&mut self, id: PacketId) {
        let (page, bit) = (&mut self.pages[id.0 as usize / PAGE], 1 << (id.0 as usize % PAGE));
        assert!(page.free & bit != 0, "a slot was taken twice");
        page.free ^= bit;
        self.rounds[page.way as usize].len += 1;
    }

    /// Returns the packets by the numbers of their slots ([`PacketId::slot`]), for a loop over many.
    #[inline]
    pub(crate) fn slots(&mut self) -> &mut [Packet] {
        &mut self.slots
    }

    /// Returns the segment of the packet `id`.
    #[inline]
    pub fn segment(&self, id: PacketId) -> &Segment {
        &self.segments[id.0 as usize]
    }

    /// Returns the segment of the packet `id` for writing.
    #[inline]
    pub fn segment_mut(&mut self, id: PacketId) -> &mut Segment {
        &mut self.segments[id.0 as usize]
    }

    /// Adds a page to a round, to be used next.
    #[cold]
    fn grow(&mut self, way: Direction) {
        let slots = self.slots.len() + PAGE;
        assert!(u32::try_from(slots).is_ok(), "more packets in a network than 32 bits can number");
        if slots > self.slots.capacity() {
            // Storage grows by an eighth, not to the double: large blocks grow where they are, and unused parts are not yet memory. It is
            // large from the start, too: smaller blocks would leave a hole behind with each step.
            let more = if self.slots.is_empty() { FIRST } else { (slots / 8).max(PAGE) };
            self.slots.reserve_exact(more);
            self.segments.reserve_exact(more);
        }
        self.slots.resize(slots, Packet::default());
        self.segments.resize(slots, Segment::default());
        let (page, round) = (self.pages.len(), &mut self.rounds[way as usize]);
        // The new page comes behind the current one, so that the round stays in the order of age.
        let before = if round.slots > 0 { round.page } else { page };
        self.pages.push(Page { free: u64::MAX, way, next: page as u32 });
        self.pages[page].next = std::mem::replace(&mut self.pages[before].next, page as u32);
        round.slots += PAGE;
        // The first number that is not less than the slots when 1/128 of it is added.
        round.most = round.slots - round.slots / 129;
        round.page = page;
    }

    /// Frees the slot of the packet `id`, which is in no line any more.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        let (page, bit) = (&mut self.pages[id.0 as usize / PAGE], 1 << (id.0 as usize % PAGE));
        assert!(page.free & bit == 0, "a packet was let go of twice");
        page.free |= bit;
        self.rounds[page.way as usize].len -= 1;
    }

    /// Returns how many packets are kept.
    pub fn len(&self) -> usize {
        self.rounds[0].len + self.rounds[1].len
    }

    /// Returns true if no packet is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the first free slot of a page.
#[inline]
const fn slot(page: usize, free: u64) -> PacketId {
    PacketId((page * PAGE) as u32 + free.trailing_zeros())
}

impl Round {
    /// Goes on to the next page with a free slot.
    #[inline(never)]
    fn turn(&mut self, pages: &[Page]) {
        while pages[self.page].free == 0 {
            self.page = pages[self.page].next as usize;
        }
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

/// Packets in a line, first in first out. It has no memory of its own, however long it grows: each packet has the number of the one behind
/// it. So a packet is in one line at a time, and a line is always used with the same [`Packets`].
#[derive(Debug)]
pub struct Line {
    first: PacketId,
    last: PacketId,
    len: u32,
}

/// Packets at the front of a line: the last of them, and how many they are.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    /// The last one; `None` if there are none.
    pub last: Option<PacketId>,
    /// Their number.
    pub len: u32,
}

impl Line {
    /// Returns an empty line.
    pub const fn new() -> Self {
        // `first` and `last` of an empty line mean nothing.
        Line { first: PacketId(0), last: PacketId(0), len: 0 }
    }

    /// Appends the packet `id`, which is in no line.
    #[inline]
    pub fn push(&mut self, id: PacketId, packets: &mut Packets) {
        if self.len == 0 {
            self.first = id;
        } else {
            packets[self.last].behind = id;
        }
        self.last = id;
        self.len += 1;
    }

    /// Appends all packets of `other`, which is empty then.
    #[inline]
    pub fn append(&mut self, other: &mut Line, packets: &mut Packets) {
        if other.len == 0 {
            return;
        }
        if self.len == 0 {
            self.first = other.first;
        } else {
            packets[self.last].behind = other.first;
        }
        self.last = other.last;
        self.len += std::mem::take(&mut other.len);
    }

    /// Takes the first packet. It stays in `packets`.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let id = self.first()?;
        self.first = packets[id].behind;
        self.len -= 1;
        Some(id)
    }

    /// Takes the packets at its `front`.
    #[inline]
    pub fn take(&mut self, front: Front, packets: &Packets) -> Line {
        let Front { last: Some(last), len } = front else { return Line::new() };
        let taken = Line { first: self.first, last, len };
        self.first = packets[last].behind;
        self.len -= len;
        taken
    }

    /// Takes the packets at the front up to the first for which `belongs` is false.
    #[inline(always)]
    pub fn take_while(&mut self, packets: &Packets, mut belongs: impl FnMut(&Packet) -> bool) -> Line {
        let (mut front, mut at) = (Front { last: None, len: 0 }, self.first());
        while let Some(id) = at {
            let packet = &packets[id];
            if !belongs(packet) {
                break;
            }
            front = Front { last: at, len: front.len + 1 };
            at = self.behind(id, packet);
        }
        self.take(front, packets)
    }

    /// Takes the packet behind `before`, which is in this line, or the first. It stays in `packets`.
    pub fn take_after(&mut self, before: Option<PacketId>, packets: &mut Packets) -> Option<PacketId> {
        let Some(before) = before else { return self.pop(packets) };
        let id = self.after(before, packets)?;
        packets[before].behind = packets[id].behind;
        if id == self.last {
            self.last = before;
        }
        self.len -= 1;
        Some(id)
    }

    /// Returns the first packet.
    #[inline]
    pub const fn first(&self) -> Option<PacketId> {
        if self.len == 0 { None } else { Some(self.first) }
    }

    /// Returns the packet behind `id`, which is in this line.
    #[inline]
    pub fn after(&self, id: PacketId, packets: &Packets) -> Option<PacketId> {
        self.behind(id, &packets[id])
    }

    /// Returns the packet behind `packet`, which is in this line as `id`.
    #[inline]
    pub(crate) fn behind(&self, id: PacketId, packet: &Packet) -> Option<PacketId> {
        if id == self.last { None } else { Some(packet.behind) }
    }

    /// Returns the packets, first to last.
    pub fn iter(&self, packets: &Packets) -> impl Iterator<Item = PacketId> {
        std::iter::successors(self.first(), |id| Some(packets[*id].behind)).take(self.len())
    }

    /// Returns how many packets there are.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the line is empty.
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

    fn add(packets: &mut Packets, seq: u32, way: Direction) -> PacketId {
        let segment = Segment::new(seq, 0, 0);
        packets.insert(way, Packet::new(Time::ZERO, 0, Ecn::NotEct, &segment), segment)
    }

    #[test]
    fn slots_are_taken_in_order_and_used_again() {
        let mut packets = Packets::new();
        let first: Vec<_> = (0..1000).map(|seq| add(&mut packets, seq, Direction::There).0).collect();
        assert!(first.is_sorted());
        assert_eq!(packets.slots.len(), 1024, "1/128 more, in whole pages");
        // Every third packet leaves; in any order, arrivals take their slots in order, but for the current page.
        (0..1000).rev().filter(|i| i % 3 == 0).for_each(|i| packets.remove(PacketId(first[i])));
        let again: Vec<_> = (0..300).map(|seq| add(&mut packets, seq, Direction::There).0).collect();
        let start = again.iter().position(|&id| id == 0).unwrap();
        assert!(again[..start].is_sorted() && again[start..].is_sorted());
        assert_eq!((packets.len(), packets.slots.len()), (966, 1024));
    }

    /// Packets that leave in the order in which they came find their slots in order for ever, though the number under way in the other
    /// direction varies: 1000 packets of data and 300 acknowledgments, in a pool with hardly more slots.
    #[test]
    fn what_leaves_in_order_stays_in_order() {
        let mut packets = Packets::new();
        let mut kept = [VecDeque::new(), VecDeque::new()];
        let mut apart = 0;
        for seq in 0..100_000 {
            let (way, of) = if seq % 3 == 2 { (1, Direction::Back) } else { (0, Direction::There) };
            let id = add(&mut packets, seq, of);
            if seq > 50_000 {
                apart += u32::from(kept[way].back().is_some_and(|last: &PacketId| last.0 + 1 != id.0));
            }
            kept[way].push_back(id);
            if kept[way].len() > [1000, 300][way] {
                packets.remove(kept[way].pop_front().unwrap());
            }
        }
        assert_eq!(packets.slots.len(), 1024 + 320);
        assert!(apart <= 50_000 / 64 + 2, "{apart} are not beside the one before");
    }

    #[test]
    fn a_packet_is_taken_out_of_a_line_wherever_it_stands() {
        let mut packets = Packets::new();
        let mut line = Line::new();
        let ids: Vec<PacketId> = (0..5).map(|seq| add(&mut packets, seq, Direction::There)).collect();
        ids.iter().for_each(|&id| line.push(id, &mut packets));
        let seqs = |line: &Line, packets: &Packets| line.iter(packets).map(|id| packets.segment(id).seq).collect::<Vec<_>>();
        assert_eq!(line.take_after(Some(ids[1]), &mut packets), Some(ids[2]));
        assert_eq!(seqs(&line, &packets), [0, 1, 3, 4]);
        assert_eq!(line.take_after(Some(ids[3]), &mut packets), Some(ids[4]));
        assert_eq!((line.take_after(Some(ids[3]), &mut packets), line.take_after(None, &mut packets)), (None, Some(ids[0])));
        line.push(ids[2], &mut packets);
        assert_eq!((seqs(&line, &packets), line.len()), (vec![1, 3, 2], 3));
    }

    #[test]
    #[should_panic(expected = "let go of twice")]
    fn a_packet_leaves_once() {
        let mut packets = Packets::new();
        let id = add(&mut packets, 0, Direction::There);
        packets.remove(id);
        packets.remove(id);
    }

    proptest! {
        /// Lines that share their packets behave as so many plain queues.
        #[test]
        fn lines_are_queues(steps in prop::collection::vec((0..4_usize, any::<bool>(), 0..4_usize, 0..8_u8), 1..500)) {
            let mut packets = Packets::new();
            let mut lines = [const { Line::new() }; 4];
            let mut plain: [VecDeque<u32>; 4] = Default::default();
            let mut most = [0; 2];
            for (seq, (from, new, to, whole)) in steps.into_iter().enumerate() {
                // Now and then a whole line goes to the end of another.
                if whole == 0 && from != to {
                    let mut moved = std::mem::take(&mut lines[from]);
                    lines[to].append(&mut moved, &mut packets);
                    prop_assert!(moved.is_empty());
                    let moved = std::mem::take(&mut plain[from]);
                    plain[to].extend(moved);
                    continue;
                }
                // A packet comes to the end of a line; or the first of a line goes to another, or leaves from line 0.
                let moved = if new { Some(add(&mut packets, seq as u32, if seq % 3 == 0 { Direction::Back } else { Direction::There })) } else { lines[from].pop(&packets) };
                let expected = if new { Some(seq as u32) } else { plain[from].pop_front() };
                prop_assert_eq!(moved.map(|id| packets.segment(id).seq), expected);
                match moved {
                    Some(id) if !new && from == 0 => packets.remove(id),
                    Some(id) => {
                        lines[to].push(id, &mut packets);
                        plain[to].push_back(packets.segment(id).seq);
                    }
                    None => {}
                }
                for (line, plain) in lines.iter().zip(&plain) {
                    prop_assert!(line.iter(&packets).map(|id| packets.segment(id).seq).eq(plain.iter().copied()));
                    prop_assert_eq!(line.len(), plain.len());
                }
                let held = plain.iter().map(VecDeque::len).sum::<usize>();
                (0..2).for_each(|i| most[i] = most[i].max(packets.rounds[i].len));
                prop_assert_eq!(packets.len(), held);
                prop_assert!(packets.slots.len() <= most[0] + most[1] + (most[0] + most[1]) / 128 + 2 * PAGE);
            }
        }
    }
}

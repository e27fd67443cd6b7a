//! Receiving interface of a host without a processor. Packets wait there until it interrupts, and then come to TCP at once. With receive
//! offload, consecutive segments come to TCP as one, and are answered by one ACK.

use std::collections::VecDeque;

use longfat_core::packet::{Ecn, Packet, PacketId, Segment, flags};
use longfat_core::time::Time;
use longfat_model::Interrupts;

/// Packets that wait at one interface, until it interrupts.
#[derive(Debug)]
pub(super) struct Interface {
    how: Interrupts,
    ring: VecDeque<PacketId>,
    /// Time of the next interrupt; [`Time::MAX`]: nothing waits.
    at: Time,
}

impl Interface {
    pub(super) fn new(how: Interrupts) -> Self {
        Interface { how, ring: VecDeque::new(), at: Time::MAX }
    }

    /// Takes in a packet; returns false if there is no room for it.
    pub(super) fn arrived(&mut self, now: Time, id: PacketId) -> bool {
        if self.how.rx_ring.is_some_and(|most| self.ring.len() as u64 >= most) {
            return false;
        }
        self.ring.push_back(id);
        let is_enough = self.how.rx_frames.is_some_and(|frames| self.ring.len() as u64 >= frames);
        self.at = self.at.min(if is_enough { now } else { now + self.how.rx_usecs });
        true
    }

    /// Returns the time of the next interrupt.
    pub(super) fn next(&self) -> Time {
        self.at
    }

    /// Returns all packets that wait, at an interrupt. The caller gives the queue back, empty, to [`Self::give_back`].
    pub(super) fn take(&mut self) -> VecDeque<PacketId> {
        self.at = Time::MAX;
        std::mem::take(&mut self.ring)
    }

    /// Takes back an empty queue, to reuse its memory.
    pub(super) fn give_back(&mut self, ring: VecDeque<PacketId>) {
        debug_assert!(ring.is_empty() && self.ring.is_empty());
        self.ring = ring;
    }

    /// Returns the most bytes of a clump, if there are clumps.
    pub(super) fn gro_max_size(&self) -> Option<u64> {
        self.how.gro_max_size
    }

    /// Returns every packet it holds.
    pub(super) fn holds(&self) -> impl Iterator<Item = PacketId> {
        self.ring.iter().copied()
    }
}

/// Consecutive segments of one flow. They differ in their sequence numbers alone, but for a last one that is shorter or pushes:
/// segmentation offload would make them of one large segment (Linux Documentation/networking/segmentation-offloads, on GRO).
#[derive(Debug)]
pub(super) struct Clump {
    pub member: usize,
    first: Segment,
    ecn: Ecn,
    /// Sequence number of a segment that would follow.
    next: u32,
    bytes: u64,
    /// True if no segment can follow.
    is_closed: bool,
}

impl Clump {
    /// Returns a clump of one packet.
    pub(super) fn new(member: usize, packet: &Packet, segment: &Segment) -> Self {
        let is_data = segment.len > 0 && segment.flags & !flags::PSH == flags::ACK;
        Clump {
            member,
            first: *segment,
            ecn: packet.ecn,
            next: segment.seq.wrapping_add(segment.len.into()),
            bytes: segment.len.into(),
            is_closed: !is_data || segment.has(flags::PSH) || segment.has_congestion(),
        }
    }

    /// Adds the next packet of the flow, unless the clump would then have more than `most` payload bytes or the packet differs. Returns
    /// true if it was added.
    pub(super) fn takes(&mut self, packet: &Packet, segment: &Segment, most: u64) -> bool {
        let (first, len) = (&self.first, u64::from(segment.len));
        let is_alike = segment.flags & !flags::PSH == first.flags
            && segment.ack == first.ack
            && segment.timestamps() == first.timestamps()
            && segment.options_len() == first.options_len()
            && segment.accecn() == first.accecn()
            && !segment.has_congestion()
            && packet.ecn == self.ecn;
        let follows = segment.seq == self.next && len > 0 && segment.len <= first.len && self.bytes + len <= most;
        if self.is_closed || !is_alike || !follows {
            return false;
        }
        self.next = self.next.wrapping_add(segment.len.into());
        self.bytes += len;
        self.is_closed = segment.len < first.len || segment.has(flags::PSH);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::time::Duration;

    fn data(n: u32) -> Segment {
        Segment::new(n * 1000, flags::ACK, 1000)
    }

    fn packet(segment: &Segment, ecn: Ecn) -> Packet {
        Packet::new(Time::ZERO, 0, ecn, segment)
    }

    /// Returns the number of segments in each clump, where one is of 4000 bytes at most.
    fn clumps(segments: &[(Segment, Ecn)]) -> Vec<usize> {
        let (mut sizes, mut open): (Vec<usize>, Option<Clump>) = (Vec::new(), None);
        for (segment, ecn) in segments {
            let packet = packet(segment, *ecn);
            if open.as_mut().is_some_and(|clump| clump.takes(&packet, segment, 4000)) {
                *sizes.last_mut().unwrap() += 1;
            } else {
                open = Some(Clump::new(0, &packet, segment));
                sizes.push(1);
            }
        }
        sizes
    }

    #[test]
    fn what_follows_in_order_and_is_alike_is_one_clump() {
        let plain = |numbers: &[u32]| numbers.iter().map(|n| (data(*n), Ecn::NotEct)).collect::<Vec<_>>();
        assert_eq!(clumps(&plain(&[0, 1, 2])), [3]);
        assert_eq!(clumps(&plain(&[0, 1, 2, 3, 4, 5])), [4, 2], "4000 bytes at most");
        assert_eq!(clumps(&plain(&[0, 1, 3, 4])), [2, 2], "a gap");
        assert_eq!(clumps(&plain(&[0, 2, 1, 2])), [1, 1, 2], "out of order, and again");
        let mut some = plain(&[0, 1, 2, 3]);
        some[1].1 = Ecn::Ce;
        assert_eq!(clumps(&some), [1, 1, 2], "a mark stands alone");
        some = plain(&[0, 1, 2, 3]);
        some[1].0.flags |= flags::PSH;
        assert_eq!(clumps(&some), [2, 2], "a push ends one");
        some = plain(&[0, 1, 2, 3]);
        some[2].0.flags |= flags::CWR;
        assert_eq!(clumps(&some), [2, 1, 1], "another flag stands alone");
        some = plain(&[0, 1, 2, 3]);
        some.iter_mut().zip([7, 7, 8, 8]).for_each(|((segment, _), tick)| segment.set_timestamps(tick, 1));
        assert_eq!(clumps(&some), [2, 2], "the clock ticked");
        some = plain(&[0, 1]);
        some.push((Segment::new(2000, flags::ACK, 400), Ecn::NotEct));
        some.push((Segment::new(2400, flags::ACK, 400), Ecn::NotEct));
        assert_eq!(clumps(&some), [3, 1], "a shorter one ends it");
        let ack = |n: u32| {
            let mut segment = Segment::new(0, flags::ACK, 0);
            segment.ack = n * 2000;
            (segment, Ecn::NotEct)
        };
        let acks = [0, 1, 2].map(ack);
        assert_eq!(clumps(&acks), [1, 1, 1], "ACKs are never merged");
    }

    #[test]
    fn it_interrupts_after_its_time_or_once_there_are_enough() {
        let how = Interrupts { rx_ring: Some(3), rx_usecs: Duration::from_micros(80), rx_frames: None, gro_max_size: None };
        let at = |us| Time::ZERO + Duration::from_micros(us);
        let come = |how, times: &[u64]| {
            let mut interface = Interface::new(how);
            let came: Vec<bool> = times.iter().map(|us| interface.arrived(at(*us), PacketId::default())).collect();
            (interface.next(), came)
        };
        assert_eq!(come(how, &[]).0, Time::MAX);
        assert_eq!(come(how, &[5, 20, 70, 71]), (at(85), vec![true, true, true, false]));
        assert_eq!(come(Interrupts { rx_frames: Some(2), ..how }, &[5, 20]).0, at(20));
    }
}

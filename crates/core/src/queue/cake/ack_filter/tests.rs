use super::*;
use crate::packet::{AccEcnOption, Direction, Ecn};
use crate::queue::cake::tests::{Rig, at, word};
use crate::queue::tests::packet_with;
use crate::queue::{DropReason, Measure};
use crate::time::Time;

/// Returns an ACK of `ack` with these SACK blocks, and flags beside ACK.
fn ack_with(ack: u32, blocks: &[(u32, u32)], more: u16) -> Segment {
    let mut segment = Segment::new(1, flags::ACK | more, 0);
    segment.ack = ack;
    assert!(blocks.iter().all(|&(left, right)| segment.push_sack(left, right)));
    segment
}

fn ack(ack: u32) -> Segment {
    ack_with(ack, &[], 0)
}

fn stamped(mut segment: Segment, val: u32) -> Segment {
    segment.set_timestamps(val, 1);
    segment
}

#[test]
fn only_an_ack_alone_may_be_left_out() {
    let data = Segment::new(1, flags::ACK, 100);
    let counters = AccEcnOption { order: 0, fields: 1, values: [1, 0, 0] };
    let mut accurate = ack(5);
    assert!(accurate.set_accecn(counters));
    let mut window = ack(5);
    window.window = 77;
    for (segment, expected) in [
        (ack(5), true),
        (stamped(ack(5), 3), true),
        (window, true),
        (ack_with(5, &[(10, 20), (30, 40), (50, 60)], 0), true),
        (ack_with(5, &[], flags::ECE), true),
        (ack_with(5, &[], flags::CWR), true),
        // The bit of nonces, and of accurate ECN, and its option.
        (ack_with(5, &[], flags::AE), false),
        (accurate, false),
        (data, false),
        (ack_with(5, &[], flags::FIN), false),
        (ack_with(5, &[], flags::PSH), false),
        (ack_with(5, &[], flags::RST), false),
        // A UDP packet.
        (Segment::new(1, 0, 0), false),
    ] {
        assert_eq!(is_pure(&segment), expected, "{segment:?}");
    }
    let syn = Segment::new(1, flags::SYN | flags::ACK, 0);
    assert!(!is_pure(&syn));
}

#[test]
fn an_ack_is_redundant_when_a_later_one_says_all_that_it_does_and_more() {
    let sack = |number, blocks: &[(u32, u32)]| ack_with(number, blocks, 0);
    let ece = |number| ack_with(number, &[], flags::ECE);
    let data = |number| {
        let mut segment = ack_with(number, &[], flags::PSH);
        segment.len = 1460;
        segment
    };
    for (old, new, expected, why) in [
        (ack(1000), ack(2000), true, "it acknowledges more"),
        (ack(1000), ack(1000), false, "a duplicate counts"),
        (ack(2000), ack(1000), false, "it came late"),
        (ack(u32::MAX - 9), ack(10), true, "numbers wrap"),
        (ack(1000), data(2000), true, "data acknowledges too"),
        (ack(1000), data(1000), false, "data that acknowledges nothing new"),
        (ack(1000), ack_with(2000, &[], flags::FIN), true, "the end of a stream acknowledges too"),
        (ack(1000), ack_with(2000, &[], flags::RST), false, "a reset"),
        (ack(1000), Segment::new(1, 0, 1460), false, "no ACK"),
        // ECN: what has changed is news.
        (ece(1000), ece(2000), true, "the same echo"),
        (ece(1000), ack(2000), false, "the echo ends"),
        (ack(1000), ece(2000), false, "the echo begins"),
        (ack(1000), ack_with(2000, &[], flags::CWR), false, "CWR"),
        (ack(1000), ack_with(2000, &[], flags::AE), false, "AE"),
        // SACK.
        (ack(1000), sack(1000, &[(3000, 4000)]), true, "a block more"),
        (sack(1000, &[(3000, 4000)]), ack(2000), false, "a block less"),
        (sack(1000, &[(3000, 4000)]), ack(4000), true, "the hole is filled"),
        (sack(1000, &[(3000, 4000)]), ack(3500), false, "a part of the block is not covered"),
        (sack(1000, &[(3000, 4000)]), sack(1000, &[(3000, 5000)]), true, "the block grows"),
        (sack(1000, &[(3000, 4000)]), sack(1000, &[(6000, 7000), (3000, 4000)]), true, "a second one"),
        (sack(1000, &[(3000, 4000)]), sack(1000, &[(3000, 4000)]), false, "the same again"),
        (sack(1000, &[(3000, 4000), (5000, 6000)]), sack(1000, &[(3000, 6000)]), true, "what was between came"),
        (sack(1000, &[(3000, 4000), (5000, 6000)]), sack(1000, &[(7000, 8000), (3000, 4000)]), false, "one has gone"),
        (sack(1000, &[(3000, 4000), (5000, 6000)]), sack(4000, &[(5000, 6000)]), true, "one is acknowledged"),
        // A duplicate arrived, of what was acknowledged, or of what is in a block.
        (sack(1000, &[(500, 900)]), ack(2000), false, "D-SACK"),
        (sack(1000, &[(3000, 3500), (3000, 4000)]), sack(1000, &[(3000, 5000)]), false, "D-SACK in a block"),
        // ACKs that PAWS discards carry no information.
        (stamped(ack(1000), 5), stamped(ack(2000), 5), true, "stamps"),
        (stamped(ack(1000), 5), stamped(ack(2000), 4), false, "an old stamp"),
        (stamped(ack(1000), u32::MAX), stamped(ack(2000), 3), true, "stamps wrap"),
        (stamped(ack(1000), 5), ack(2000), false, "no stamp"),
    ] {
        assert_eq!(is_redundant(&old, &new), expected, "{why}: {old:?}, {new:?}");
    }
}

impl Rig {
    /// Enqueues packets of a flow, given their acknowledgments and payloads. Their numbers are `10000 flow` and on from `first`.
    fn acks(&mut self, now: Time, flow: u32, first: u32, acks: &[(u32, u16)]) {
        for (number, &(ack, len)) in (10_000 * flow + first..).zip(acks) {
            let (mut packet, mut segment) = packet_with(Ecn::NotEct, number, len);
            packet.route = flow;
            (segment.flags, segment.ack) = (flags::ACK, ack);
            let id = self.packets.insert(Direction::There, packet, segment);
            self.queue.enqueue(now, id, &mut self.packets, &mut self.log);
        }
    }
    fn dropped(&self) -> Vec<(u32, DropReason)> {
        self.log.dropped.iter().map(|drop| (drop.0, drop.2)).collect()
    }
    fn left(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.depart(Time::ZERO)).collect()
    }
}

fn filter(mode: &'static str) -> Rig {
    Rig::new(1_000_000, &[word("ack_filter", mode)])
}

const FILTERED: DropReason = DropReason::AckFilter;

#[test]
fn two_stay_or_none_or_all() {
    let six = [1, 2, 3, 4, 5, 6].map(|n| (1000 * n, 0));
    for (mode, dropped) in [("off", &[][..]), ("on", &[0, 1, 2]), ("aggressive", &[0, 1, 2, 3, 4])] {
        let mut rig = filter(mode);
        rig.acks(at(0), 0, 0, &six);
        assert_eq!(rig.dropped(), dropped.iter().map(|&n| (n, FILTERED)).collect::<Vec<_>>(), "{mode}");
        let held = 6 - dropped.len() as u64;
        assert_eq!((rig.queue.held(Measure::Packets), rig.queue.held(Measure::Bytes)), (held, 40 * held));
        assert_eq!(rig.left(), (dropped.len() as u32..6).collect::<Vec<_>>());
    }
}

/// ACKs that have left count no more: the two that stay are in the queue.
#[test]
fn what_has_left_is_not_spare() {
    let mut rig = filter("on");
    rig.acks(at(0), 0, 0, &[(1000, 0), (2000, 0), (3000, 0)]);
    assert_eq!(rig.depart(at(0)), Some(0));
    rig.acks(at(0), 0, 3, &[(4000, 0), (5000, 0)]);
    assert_eq!(rig.dropped(), [(1, FILTERED)]);
    assert_eq!(rig.left(), [2, 3, 4]);
}

#[test]
fn data_stays_and_what_it_acknowledges_goes() {
    let mut rig = filter("aggressive");
    rig.acks(at(0), 0, 0, &[(1000, 500), (1000, 0), (2000, 0), (2000, 0), (2000, 500), (3000, 500), (3000, 0), (3000, 500), (4000, 0)]);
    // The ACK of 2000 makes that of 1000 redundant. The next ACK says the same, and the data does not acknowledge more. Then the data does:
    // one redundant ACK goes, and the other with the next arrival. At the end the ACK of 3000 goes, between the data.
    assert_eq!(rig.dropped(), [(1, FILTERED), (2, FILTERED), (3, FILTERED), (6, FILTERED)]);
    assert_eq!((rig.queue.held(Measure::Packets), rig.queue.held(Measure::Bytes)), (5, 4 * 540 + 40));
    assert_eq!(rig.left(), [0, 4, 5, 7, 8]);
}

/// Flows that share a queue are told apart, too.
#[test]
fn each_flow_has_its_own_acks() {
    let mut rig = Rig::new(1_000_000, &[word("ack_filter", "aggressive"), word("isolation", "flowblind")]);
    for n in 0..3 {
        rig.acks(at(0), 0, n, &[(1000 * n, 0)]);
        rig.acks(at(0), 1, n, &[(5000 + n, 0)]);
    }
    assert_eq!(rig.dropped(), [(0, FILTERED), (10_000, FILTERED), (1, FILTERED), (10_001, FILTERED)]);
    assert_eq!(rig.left(), [2, 10_002]);
}

/// ACKs join after the last one went: the count of ACKs is right again.
#[test]
fn a_line_goes_on_after_its_last_packet_but_one_went() {
    let mut rig = filter("aggressive");
    rig.acks(at(0), 0, 0, &[(1000, 0), (2000, 0)]);
    assert_eq!(rig.depart(at(0)), Some(1));
    rig.acks(at(0), 0, 2, &[(2000, 700), (3000, 0), (3000, 700)]);
    assert_eq!(rig.left(), [2, 3, 4]);
    assert_eq!(rig.queue.held(Measure::Packets), 0);
}

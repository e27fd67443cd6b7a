//! The unit of the limit above segmentation offload.

use super::super::tests::{context, packet};
use super::*;
use crate::packet::Direction;
use crate::params::Params;
use crate::queue::tests::Ledger;
use crate::time::Duration;

const PAYLOAD: u16 = 1460;

/// Offers bursts of (flow, segments) at one instant to a queue with this limit and bursts of up to four segments. Returns the payload of
/// the segments held after each, and the queue.
fn offer(limit: Capacity, bursts: &[(u32, u32)]) -> (Vec<u64>, Box<dyn Queue + Send>, Packets) {
    let size = Value::Bytes(4 * u64::from(PAYLOAD));
    let mut params = Params::defaults(KIND.params);
    params.set("limit", Value::Capacity(limit));
    params.set(GSO_MAX_SIZE, size);
    let mut queue = (KIND.build)(&params, context(10_000_000, 20, 1500));
    let (mut packets, mut log) = (Packets::new(), Ledger::default());
    let (mut held, mut next) = (vec![], [0_u32; 8]);
    for &(flow, segments) in bursts {
        for _ in 0..segments {
            let (mut data, mut segment) = packet(0, PAYLOAD, 0);
            (data.route, segment.seq) = (flow, next[flow as usize]);
            next[flow as usize] += u32::from(PAYLOAD);
            let id = packets.insert(Direction::There, data, segment);
            queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        held.push(queue.held(Measure::Packets));
    }
    (held, queue, packets)
}

#[test]
fn a_limit_in_packets_counts_bursts() {
    // A burst of four, one of another flow, a lone segment; then two bursts are all that fit.
    let (held, ..) = offer(Capacity::Packets(3), &[(0, 4), (1, 4), (0, 1), (1, 4), (2, 3)]);
    assert_eq!(held, [4, 8, 9, 9, 9], "the fourth and the fifth are lost whole");
    // Six segments at once are a burst of four and one of two.
    let (held, ..) = offer(Capacity::Packets(2), &[(0, 6), (1, 1)]);
    assert_eq!(held, [6, 6]);
}

#[test]
fn a_limit_in_bytes_takes_a_burst_whole() {
    // The first segment decides: 3000 bytes have room for two packets of 1500, so the second burst enters whole, and the third does not.
    let (held, ..) = offer(Capacity::Bytes(3000), &[(0, 1), (1, 4), (2, 4)]);
    assert_eq!(held, [1, 5, 5]);
}

#[test]
fn a_burst_leaves_the_count_with_its_first_segment() {
    let (held, mut queue, mut packets) = offer(Capacity::Packets(1), &[(0, 4), (1, 1)]);
    assert_eq!(held, [4, 4]);
    let mut log = Ledger::default();
    let id = queue.dequeue(Time::ZERO, &mut packets, &mut log).unwrap();
    packets.remove(id);
    let later = Time::ZERO + Duration::from_micros(1);
    for (flow, seq, expected) in [(2, 0, 4), (3, 0, 4)] {
        let (mut data, mut segment) = packet(0, PAYLOAD, 0);
        (data.route, segment.seq) = (flow, seq);
        let id = packets.insert(Direction::There, data, segment);
        queue.enqueue(later, id, &mut packets, &mut log);
        assert_eq!(queue.held(Measure::Packets), expected, "one burst waits, and no second one");
    }
    for left in (0..4).rev() {
        let id = queue.dequeue(later, &mut packets, &mut log).unwrap();
        packets.remove(id);
        assert_eq!(queue.held(Measure::Packets), left);
    }
    assert!(queue.dequeue(later, &mut packets, &mut log).is_none());
}

#[test]
fn segments_of_two_instants_are_two_packets() {
    let (_, mut queue, mut packets) = offer(Capacity::Packets(2), &[(0, 1)]);
    let mut log = Ledger::default();
    for (us, expected) in [(1, 2), (2, 2)] {
        let (mut data, mut segment) = packet(0, PAYLOAD, 0);
        (data.route, segment.seq) = (0, us * u32::from(PAYLOAD));
        let id = packets.insert(Direction::There, data, segment);
        queue.enqueue(Time::ZERO + Duration::from_micros(u64::from(us)), id, &mut packets, &mut log);
        assert_eq!(queue.held(Measure::Packets), expected);
    }
}

use super::*;
use crate::packet::{Direction, Ecn};
use crate::queue::tests::{Ledger, context, packet, packet_with};
use crate::units::Capacity;

fn thresholds_of(given: &[(&'static str, Capacity)], context: &QueueContext) -> (u64, u64, Measure) {
    let mut params = Params::defaults(KIND.params);
    given.iter().for_each(|&(name, c)| params.set(name, Value::Capacity(c)));
    let Thresholds { min, max } = thresholds(&params, context);
    assert_eq!(min.measure, max.measure);
    (min.max, max.max, min.measure)
}

#[test]
fn thresholds_not_given_follow_the_target_delay_and_the_limit() {
    use Capacity::{Bytes, Packets};
    use Measure::{Bytes as InBytes, Packets as InPackets};
    let fast = context(622_000_000, 70, 1500);
    // 622 Mb/s x 2.5 ms / 8, and three times that.
    assert_eq!(thresholds_of(&[], &fast), (194_375, 583_125, InBytes));
    assert_eq!(thresholds_of(&[("limit", Packets(1000))], &fast), (129, 387, InPackets));
    // 5 packets are more than 2.5 ms of 1 Mb/s.
    let slow = context(1_000_000, 1000, 1500);
    assert_eq!(thresholds_of(&[], &slow), (7_500, 22_500, InBytes));
    // A third of the limit, where that is less.
    assert_eq!(thresholds_of(&[("limit", Packets(9))], &slow), (3, 9, InPackets));
    assert_eq!(thresholds_of(&[("limit", Packets(1))], &slow), (0, 1, InPackets));
    // One given, the other follows; the unit of the thresholds need not be that of the limit.
    assert_eq!(thresholds_of(&[("min_threshold", Packets(7))], &fast), (7, 21, InPackets));
    assert_eq!(thresholds_of(&[("max_threshold", Bytes(90_000))], &fast), (30_000, 90_000, InBytes));
}

#[test]
fn the_weight_not_given_is_that_of_its_paper() {
    let context = context(622_000_000, 70, 1500);
    let mut params = Params::defaults(KIND.params);
    assert_eq!(wq(&params, &context, false), 0.002);
    // FGS01: C = 51833 packets a second.
    assert!((wq(&params, &context, true) * 51_833.0 - 1.0).abs() < 1e-4);
    params.set("wq", Value::Number(0.5));
    assert_eq!(wq(&params, &context, true), 0.5);
}

/// Thresholds 10 and 30 packets, ECN on.
fn queue(limit: u64, wq: f64) -> Box<dyn Queue + Send> {
    let mut params = Params::defaults(KIND.params);
    let packets = |n| Value::Capacity(Capacity::Packets(n));
    for (name, value) in [
        ("limit", packets(limit)),
        ("min_threshold", packets(10)),
        ("max_threshold", packets(30)),
        ("wq", Value::Number(wq)),
        ("max_p", Value::Number(0.5)),
        ("gentle", Value::Bool(false)),
        ("ecn", Value::Bool(true)),
    ] {
        params.set(name, value);
    }
    (KIND.build)(&params, context(10_000_000, 20, 1500))
}

/// Enqueues `count` ECN-capable packets at once.
fn fill(queue: &mut dyn Queue, count: u32, log: &mut Ledger) {
    let packets = &mut Packets::new();
    for seq in 0..count {
        let (packet, segment) = packet_with(Ecn::Ect0, seq, 1000);
        let id = packets.insert(Direction::There, packet, segment);
        queue.enqueue(Time::ZERO, id, packets, log);
    }
}

#[test]
fn ecn_marks_between_the_thresholds_and_drops_from_the_upper_one() {
    let mut queue = queue(100, 1.0);
    let mut log = Ledger::default();
    fill(queue.as_mut(), 40, &mut log);
    // No ECT packet is dropped until the average, here the queue itself, is at 30: then every one.
    assert_eq!(log.dropped, (30..40).map(|id| (id, Time::ZERO, DropReason::Early)).collect::<Vec<_>>());
    assert!(!log.marked.is_empty() && log.marked.iter().all(|id| (10..30).contains(id)), "{:?}", log.marked);
}

#[test]
fn what_does_not_fit_overflows_and_is_not_marked() {
    let mut queue = queue(30, 1.0);
    let mut log = Ledger::default();
    // At 30 RED would drop too, but the reason given is that there is no room.
    fill(queue.as_mut(), 200, &mut log);
    assert_eq!(queue.held(Measure::Packets), 30);
    assert!(log.dropped.iter().all(|&(id, _, reason)| id >= 30 && reason == DropReason::Overflow));
    assert!(log.marked.iter().all(|&id| id < 30));
}

#[test]
fn the_average_outlives_the_queue_but_not_a_silence() {
    let mut queue = queue(100, 0.1);
    let mut log = Ledger::default();
    // The average follows the queue to well over 30.
    let packets = &mut Packets::new();
    let arrive = |queue: &mut dyn Queue, now, seq, packets: &mut Packets, log: &mut Ledger| {
        let (packet, segment) = packet(seq, 1460, 0);
        let id = packets.insert(Direction::There, packet, segment);
        queue.enqueue(now, id, packets, log);
    };
    (0..200).for_each(|seq| arrive(&mut *queue, Time::ZERO, seq, packets, &mut log));
    let drained = Time::ZERO + Duration::from_secs(1);
    while queue.dequeue(drained, packets, &mut log).is_some() {}
    let early = log.dropped.len();
    // The line is still busy with the last packet: one sample of an empty queue is not enough.
    arrive(&mut *queue, drained, 200, packets, &mut log);
    assert_eq!((queue.held(Measure::Packets), log.dropped.len()), (0, early + 1));
    // 1500 bytes at 10 Mb/s take 1.2 ms; then 100 ms of silence are 3125 packets of 40 bytes.
    arrive(&mut *queue, drained + Duration::from_millis(101), 201, packets, &mut log);
    assert_eq!((queue.held(Measure::Packets), log.dropped.len()), (1, early + 1));
}

/// Returns how many of 100 packets are marked and how many are dropped, first at a queue of 20 and then at one of 60: between the
/// thresholds and over the upper one, since the average is the queue. (Where it cannot hold 60, since all are dropped from 30 on, they find
/// 30.)
fn fates(given: &[(&'static str, Value)], ecn: Ecn) -> [(usize, usize); 2] {
    let mut params = Params::defaults(KIND.params);
    let packets = |n| Value::Capacity(Capacity::Packets(n));
    let common = [("limit", packets(1000)), ("min_threshold", packets(10)), ("max_threshold", packets(30)), ("wq", Value::Number(1.0))];
    let common = common.into_iter().chain([("max_p", Value::Number(0.5)), ("gentle", Value::Bool(false)), ("ecn", Value::Bool(true))]);
    common.chain(given.iter().copied()).for_each(|(name, value)| params.set(name, value));
    let context = context(10_000_000, 20, 1500);
    assert_eq!((KIND.check)(&params, &context), Ok(()));
    let (mut queue, mut kept, mut log) = ((KIND.build)(&params, context), Packets::new(), Ledger::default());
    // Until the queue is where it is wanted; then 100 more, each of which makes room for the next.
    [20, 60].map(|held| {
        while queue.held(Measure::Packets) < held {
            let (packet, segment) = packet_with(Ecn::Ce, 0, 1000);
            let id = kept.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO, id, &mut kept, &mut log);
            assert!(log.dropped.len() < 10_000 || held == 60, "it fills");
            if log.dropped.len() >= 10_000 {
                break;
            }
        }
        log = Ledger::default();
        for _ in 0..100 {
            let before = queue.held(Measure::Packets);
            let (packet, segment) = packet_with(ecn, 1, 1000);
            let id = kept.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO, id, &mut kept, &mut log);
            if queue.held(Measure::Packets) > before {
                let id = queue.dequeue(Time::ZERO, &mut kept, &mut log).unwrap();
                kept.remove(id);
            }
        }
        (log.marked.len(), log.dropped.len())
    })
}

/// `harddrop` drops over the upper threshold the packets that would be marked; without it all of them are marked (tc-red(8)). (RFC 3168 §7
/// drops them, and so does longfat by default.)
#[test]
fn over_the_upper_threshold_packets_are_dropped_or_marked() {
    let [between, over] = fates(&[("harddrop", Value::Bool(false))], Ecn::Ect0);
    assert!(between.0 > 10 && between.1 == 0, "{between:?}");
    assert_eq!(over, (100, 0));
    let [between, over] = fates(&[("harddrop", Value::Bool(false))], Ecn::NotEct);
    assert!(between.1 > 10 && between.0 == 0 && over == (0, 100), "what cannot be marked is dropped: {between:?} {over:?}");
}

/// `nodrop` lets in packets that cannot be marked (tc-red(8)).
#[test]
fn what_cannot_be_marked_is_let_in_with_nodrop() {
    let nodrop = ("nodrop", Value::Bool(true));
    assert_eq!(fates(&[nodrop, ("harddrop", Value::Bool(false))], Ecn::NotEct), [(0, 0), (0, 0)]);
    let [between, over] = fates(&[nodrop, ("harddrop", Value::Bool(false))], Ecn::Ect0);
    assert!(between.0 > 10 && over == (100, 0), "{between:?} {over:?}");
    // `harddrop` applies over the upper threshold: packets are not marked there.
    let [between, over] = fates(&[nodrop], Ecn::NotEct);
    assert_eq!((between, over.0), ((0, 0), 0));
    assert!(over.1 > 0);
}

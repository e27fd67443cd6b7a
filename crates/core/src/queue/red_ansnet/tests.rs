use super::*;
use crate::packet::Direction;
use crate::queue::tests::{Ledger, context, packet};
use crate::time::Duration;

/// A transmit side of 30 buffers (10 packets), no averaging unless said, certain to drop from `max` on.
fn queue(receive: u64, wq: f64, min: f64, max: f64) -> Box<dyn Queue + Send> {
    let mut params = Params::defaults(KIND.params);
    for (name, value) in [
        ("buffers", Value::Count(30)),
        ("receive_buffers", Value::Count(receive)),
        ("wq", Value::Number(wq)),
        ("min_threshold", Value::Number(min)),
        ("max_threshold", Value::Number(max)),
    ] {
        params.set(name, value);
    }
    (KIND.build)(&params, context(44_209_694, 68, 4352))
}

const DATA: u16 = 4096;

/// Enqueues packets of `len` bytes of data.
fn arrive(queue: &mut dyn Queue, seqs: std::ops::Range<u32>, now: Time, len: u16, packets: &mut Packets, log: &mut Ledger) {
    for seq in seqs {
        let (packet, segment) = packet(seq, len, 0);
        let id = packets.insert(Direction::There, packet, segment);
        queue.enqueue(now, id, packets, log);
    }
}

fn reasons(log: &Ledger) -> Vec<(u32, DropReason)> {
    log.dropped.iter().map(|d| (d.0, d.2)).collect()
}

#[test]
fn red_does_not_see_the_receive_side() {
    // Before the last packet comes to the transmit side, 27 of 30 buffers are used: just where drops would begin.
    let mut queue = queue(30, 1.0, 0.9, 1.0);
    let (packets, mut log) = (&mut Packets::new(), Ledger::default());
    arrive(&mut *queue, 0..21, Time::ZERO, DATA, packets, &mut log);
    assert_eq!(queue.held(Measure::Packets), 20);
    assert_eq!(reasons(&log), [(20, DropReason::Overflow)], "both sides full, and nothing dropped early");
}

#[test]
fn red_decides_as_a_packet_moves_to_the_transmit_side() {
    let mut queue = queue(30, 0.2, 0.8, 0.9);
    let (packets, mut log) = (&mut Packets::new(), Ledger::default());
    // Ten data packets fill the transmit side while the average lags behind; thirty ACKs wait.
    arrive(&mut *queue, 0..10, Time::ZERO, DATA, packets, &mut log);
    arrive(&mut *queue, 10..40, Time::ZERO, 0, packets, &mut log);
    assert_eq!((queue.held(Measure::Packets), log.dropped.len()), (40, 0));
    // Each departure frees three buffers; ACKs that move meet 27 to 29 in use, so the average passes 27.
    let later = Time::ZERO + Duration::from_millis(1);
    (0..5).for_each(|_| _ = queue.dequeue(later, packets, &mut log));
    assert!(!log.dropped.is_empty());
    assert!(log.dropped.iter().all(|&(id, at, reason)| id >= 10 && at == later && reason == DropReason::Early));
}

#[test]
fn arrivals_at_a_full_transmit_side_are_seen_by_the_average() {
    let mut queue = queue(0, 0.2, 0.8, 0.9);
    let (packets, mut log) = (&mut Packets::new(), Ledger::default());
    // The average lags while the side fills: 10 packets fit.
    arrive(&mut *queue, 0..10, Time::ZERO, DATA, packets, &mut log);
    assert_eq!((queue.held(Measure::Packets), log.dropped.len()), (10, 0));
    arrive(&mut *queue, 10..30, Time::ZERO, DATA, packets, &mut log);
    assert!(log.dropped.iter().all(|d| d.2 == DropReason::Overflow));
    // They have raised it over 27, so now there is room and yet the next is dropped.
    queue.dequeue(Time::ZERO, packets, &mut log);
    arrive(&mut *queue, 30..31, Time::ZERO, DATA, packets, &mut log);
    assert_eq!(reasons(&log).last(), Some(&(30, DropReason::Early)));
}

#[test]
fn the_average_outlives_the_queue() {
    let mut queue = queue(0, 0.02, 0.1, 0.2);
    let (packets, mut log) = (&mut Packets::new(), Ledger::default());
    // It passes 6 of 30 buffers while the side is nearly full, then everything is dropped.
    arrive(&mut *queue, 0..200, Time::ZERO, DATA, packets, &mut log);
    let drained = Time::ZERO + Duration::from_secs(1);
    while queue.dequeue(drained, packets, &mut log).is_some() {}
    // The line is still busy with the last packet: one sample of an empty queue is not enough.
    let dropped = log.dropped.len();
    arrive(&mut *queue, 200..201, drained, DATA, packets, &mut log);
    assert_eq!((queue.held(Measure::Packets), log.dropped.len()), (0, dropped + 1));
    assert_eq!(reasons(&log).last(), Some(&(200, DropReason::Early)));
}

//! Kinds of retransmission, as a sender of each kind makes them.

use super::*;

/// Segments and acknowledgments fast, by timer, probing and unexplained.
fn kinds(found: &Value) -> [u64; 4] {
    ["fast", "timeout", "tail_probe", "unknown"].map(|kind| found["data"]["retransmitted"][kind].as_u64().unwrap())
}

/// Ten segments at 20 ms, of which those at `lost` are missing, and duplicates without SACK for those behind the first.
fn window(lost: &[u32]) -> Transfer {
    let mut transfer = (0..10).fold(Transfer::new(), |transfer, k| transfer.data(20, 1000 * k));
    for _ in lost[0] as usize + lost.len()..10 {
        transfer = transfer.ack(40, 1000 * lost[0], &[]);
        transfer = transfer.ack(40, 1000 * lost[0], &[]);
    }
    transfer
}

#[test]
fn newreno_repairs_a_hole_at_each_partial_acknowledgment() {
    let found = window(&[1, 4, 7]).data(41, 1000).ack(61, 4000, &[]).data(61, 4000).ack(81, 7000, &[]).data(81, 7000).ack(101, 10_000, &[]);
    let found = found.report();
    assert_eq!(kinds(&found), [3, 0, 0, 0]);
    assert_eq!((&found["data"]["episodes"], &found["data"]["timeouts"]), (&1.into(), &0.into()));
}

/// RFC 6582 section 3.2, the impatient variant: the timer expires while partial acknowledgments come, and the front is retransmitted again.
#[test]
fn a_timer_within_newreno_s_recovery() {
    let found = window(&[1, 4, 7]).data(41, 1000).ack(61, 4000, &[]).data(61, 4000).data(66, 4000).ack(86, 7000, &[]).data(86, 7000);
    assert_eq!(kinds(&found.ack(106, 10_000, &[]).report()), [2, 2, 0, 0]);
}

#[test]
fn a_repair_that_is_lost_is_repaired_once_something_later_has_arrived() {
    let lost = (0..5).fold(Transfer::new(), |transfer, k| transfer.data(20, 1000 * k));
    let lost = lost.ack(40, 0, &[(1000, 2000)]).ack(40, 0, &[(1000, 4000)]).ack(40, 0, &[(1000, 5000)]).data(41, 0).data(42, 5000);
    // (RFC 8985 section 6.2.) What was sent behind the repair is selectively acknowledged.
    let rack = lost.ack(62, 0, &[(1000, 6000)]).data(63, 0).ack(83, 6000, &[]);
    assert_eq!(kinds(&rack.report()), [2, 0, 0, 0]);
}

/// A sender by RFC 6675 sends new data for each segment that arrives, and waits for its timer all the same.
#[test]
fn a_repair_that_is_lost_waits_for_the_timer_while_acknowledgments_come() {
    let mut lost = (0..5).fold(Transfer::new(), |transfer, k| transfer.data(20, 1000 * k));
    lost = lost.ack(40, 0, &[(1000, 2000)]).ack(40, 0, &[(1000, 4000)]).ack(40, 0, &[(1000, 5000)]).data(41, 0).data(42, 5000);
    for k in 0..48_u32 {
        let now = 62 + 20 * i64::from(k);
        lost = lost.ack(now, 0, &[(1000, 6000 + 1000 * k)]).data(now, 6000 + 1000 * k);
    }
    assert_eq!(kinds(&lost.data(1041, 0).ack(1061, 54_000, &[]).report()), [1, 1, 0, 0]);
}

/// Round trips of 20 ms and of 400: the deviation alone makes a timer of more than a second, and the sender's is a second.
#[test]
fn a_timer_where_round_trips_are_uneven() {
    let mut uneven = Transfer::new();
    let mut now = 20;
    for k in 0..20_u32 {
        let trip = if k % 2 == 0 { 20 } else { 400 };
        uneven = uneven.data(now, 1000 * k).ack(now + trip, 1000 * (k + 1), &[]);
        now += trip;
    }
    let found = uneven.data(now, 20_000).data(now, 21_000).data(now + 1000, 20_000).ack(now + 1020, 22_000, &[]).report();
    assert_eq!(kinds(&found), [0, 1, 0, 0]);
}

#[test]
fn syns_and_fins_have_numbers_of_their_own() {
    let mut packets = Transfer::new().packets;
    packets.insert(1, Packet { time: 10 * MS, id: 7, ..packets[0] });
    let ends = |time, id| Packet { flags: FIN | ACK, seq: 1100, ack: 500, id, ..packet(time, false) };
    packets.extend(Transfer::new().data(20, 0).packets.drain(3..));
    packets.extend([ends(30 * MS, 8), ends(330 * MS, 9), ends(930 * MS, 10)]);
    let found = report(&packets)["connections"][0].clone();
    assert_eq!((&found["syns_retransmitted"], &found["fins_retransmitted"]), (&1.into(), &2.into()));
    assert_eq!((&found["data"]["segments"], kinds(&found)), (&1.into(), [0; 4]));
}

/// A capture at the sender, on a path of 100 us, has a segment 48 us behind the one after it: no retransmission comes so soon.
#[test]
fn what_is_late_by_less_than_half_a_round_trip_is_no_retransmission() {
    let mut packets = Transfer::new().packets;
    for (place, us) in [0, 100, 100].into_iter().enumerate() {
        packets[place].time = us * 1000;
    }
    let mut now = 200_000;
    for k in 0..40_u32 {
        let late = if k == 20 { 48_000 } else { 0 };
        for (place, after) in [(0, late), (1, 0)] {
            let pair = Transfer::new().data(0, 2000 * k + 1000 * place).packets[3];
            packets.push(Packet { time: now + after, ..pair });
        }
        let ack = Transfer::new().ack(0, 2000 * (k + 1), &[]).packets[3];
        packets.push(Packet { time: now + late + 100_000, ..ack });
        now += 300_000;
    }
    packets.sort_by_key(|packet| packet.time);
    let found = report(&packets)["connections"][0].clone();
    assert_eq!((kinds(&found), &found["data"]["reordered"]["before_capture"]), ([0; 4], &1.into()));
}

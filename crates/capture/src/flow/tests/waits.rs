//! Tests of the causes of a sender's waits, of overtaken segments, and of losses at a small bucket.

use super::*;

/// At 0.2 ms every tenth segment comes 50 ms late: what is behind it arrives, and the sender waits for that one. `again`: it is
/// retransmitted by a
/// timer, in vain, before that.
fn overtaken(again: bool) -> Value {
    let mut transfer = Transfer::new();
    let (mut now, mut at) = (30, 0);
    for _ in 0..60 {
        for k in 0..10 {
            transfer = transfer.data(now + k, at + 1000 * k as u32);
            transfer = if k == 0 { transfer } else { transfer.ack(now + k, at, &[(at + 1000, at + 1000 * (k as u32 + 1))]) };
        }
        if again {
            transfer = transfer.data(now + 45, at);
        }
        transfer = transfer.ack(now + 50, at + 10_000, &[]);
        if again {
            transfer = transfer.ack(now + 51, at + 10_000, &[(at, at + 1000)]);
        }
        (now, at) = (now + 52 - i64::from(!again) * 2, at + 10_000);
    }
    transfer.report()
}

#[test]
fn who_waits_for_what_was_overtaken_is_no_silent_application() {
    let found = overtaken(false);
    assert_eq!(found["data"]["retransmitted"]["segments"], 0);
    assert_eq!(found["verdict"]["cause"], "reordering", "{}", found["verdict"]);
}

#[test]
fn what_was_sent_again_for_nothing_counts_once() {
    // An answer that comes too soon shows it, and then a DSACK says the same.
    let found = overtaken(true);
    assert_eq!(found["data"]["retransmitted"]["segments"], 60, "{}", found["data"]["retransmitted"]);
    assert_eq!(found["data"]["retransmitted"]["needless"], 60, "{}", found["data"]["retransmitted"]);
    assert_eq!(found["verdict"]["cause"], "reordering", "{}", found["verdict"]);
}

/// An application that writes each 100 ms is what limits, though a segment of each of its writes is overtaken.
#[test]
fn an_application_stays_one_though_its_segments_are_overtaken() {
    let mut transfer = Transfer::new();
    for write in 0..60_i64 {
        let (now, at) = (30 + 100 * write, 5000 * write as u32);
        for k in 0..5 {
            transfer = transfer.data(now, at + 1000 * k);
        }
        for k in 1..5 {
            transfer = transfer.ack(now + 20, at, &[(at + 1000, at + 1000 * (k + 1))]);
        }
        transfer = transfer.ack(now + 30, at + 5000, &[]);
    }
    let found = transfer.report();
    assert_eq!(found["verdict"]["cause"], "application", "{}", found["verdict"]);
}

/// Bursts of up to 14 segments, each as soon as the one before is acknowledged, in front of what takes 6 and forgets one each 8 ms; as a queue it
/// makes those wait that it takes.
fn small(is_queue: bool) -> Value {
    let mut transfer = Transfer::new();
    let (mut level, mut last, mut at) = (0.0_f64, 0, 0);
    let mut now = 20;
    for burst in 0..120_i64 {
        let (mut lost, mut answers) = (Vec::new(), Vec::new());
        for k in 0..(6 + burst * 5 % 9) {
            let time = now + k;
            level = (level - (time - last) as f64 / 8.0).max(0.0);
            last = time;
            transfer = transfer.data(time, at);
            if level > 5.0 {
                lost.push(at);
            } else {
                let wait = if is_queue { (8.0 * level) as i64 } else { 0 };
                answers.push((time + 20 + wait, at));
                level += 1.0;
            }
            at += 1000;
        }
        let mut acked = at - 1000 * (6 + burst * 5 % 9) as u32;
        for &(time, got) in &answers {
            if got == acked {
                acked += 1000;
                transfer = transfer.ack(time, acked, &[]);
            } else {
                transfer = transfer.ack(time, acked, &[(got, got + 1000)]);
            }
        }
        for (k, hole) in lost.iter().enumerate() {
            let time = answers.last().map_or(now, |(time, _)| *time) + k as i64;
            let next = lost.get(k + 1).copied().unwrap_or(at);
            transfer = transfer.data(time, *hole).ack(time + 20, next, &[]);
        }
        now = transfer.packets.iter().map(|packet| packet.time).max().unwrap_or(0) / MS;
    }
    transfer.packets.sort_by_key(|packet| packet.time);
    transfer.report()["verdict"].clone()
}

/// Both lose the same segments.
#[test]
fn a_small_bucket_is_told_from_a_small_buffer_by_what_waits() {
    let (policer, buffer) = (small(false), small(true));
    assert_eq!(policer["cause"], "policer", "{policer}");
    assert_ne!(buffer["cause"], "policer", "{buffer}");
}

/// A buffer of one segment, of which the next is sent as soon as it is acknowledged; `is_asked`: for an answer with data instead.
fn one_at_a_time(is_asked: bool) -> Value {
    let mut transfer = Transfer::new();
    for n in 0..100_i64 {
        let at = 1000 * n as u32;
        transfer = transfer.data(20 + 20 * n, at).ack(40 + 20 * n, at + 1000, &[]);
        if is_asked {
            let answer = transfer.packets.last_mut().unwrap();
            (answer.seq, answer.len) = (500 + 10 * n as u32, 10);
        }
    }
    transfer.report()["verdict"].clone()
}

#[test]
fn who_waits_for_an_acknowledgment_waits_for_no_application() {
    let (buffer, asked) = (one_at_a_time(false), one_at_a_time(true));
    assert_eq!(buffer["cause"], "send buffer", "{buffer}");
    assert_eq!(asked["cause"], "application", "{asked}");
}

/// A window of two segments is full all the time, and every third one is lost and waits for the timer.
#[test]
fn what_a_timer_repairs_is_no_wait_for_the_window() {
    let mut transfer = Transfer::new();
    let (mut now, mut at) = (20, 0);
    for _ in 0..40 {
        transfer = transfer.data(now, at).data(now, at + 1000).ack(now + 20, at + 2000, &[]);
        (now, at) = (now + 20, at + 2000);
        transfer = transfer.data(now, at).data(now, at + 1000).data(now + 300, at).ack(now + 320, at + 1000, &[]);
        transfer = transfer.data(now + 320, at + 1000).ack(now + 340, at + 2000, &[]);
        (now, at) = (now + 340, at + 2000);
    }
    transfer.packets.iter_mut().for_each(|packet| packet.window = 125);
    transfer.packets.iter_mut().take(2).for_each(|packet| packet.window = 2000);
    let found = transfer.report();
    assert_eq!(found["data"]["retransmitted"]["timeout"], 80, "{}", found["data"]["retransmitted"]);
    assert_ne!(found["verdict"]["cause"], "receive window", "{}", found["verdict"]);
}

/// An application that writes each 75 ms; timestamps make the pause before each write look like a round trip to the sender.
#[test]
fn pauses_of_an_application_are_no_round_trips() {
    let stamped = |value, echo| Options { timestamps: Some((value, echo)), ..Options::default() };
    let mut transfer = Transfer::new();
    transfer.packets.iter_mut().for_each(|packet| packet.options.timestamps = Some((1, 1)));
    for write in 0..60_i64 {
        let (now, at) = (30 + 75 * write, 10_000 * write as u32);
        for k in 0..10 {
            transfer = transfer.data(now, at + 1000 * k);
            transfer.packets.last_mut().unwrap().options = stamped(now as u32, (now - 46) as u32);
        }
        for k in 0..10 {
            transfer = transfer.ack(now + 20 + k, at + 1000 * (k as u32 + 1), &[]);
            transfer.packets.last_mut().unwrap().options = stamped((now + 20 + k) as u32, now as u32);
        }
    }
    let found = transfer.report();
    assert_eq!(found["verdict"]["cause"], "application", "{}", found["verdict"]);
}

/// Captured 1 ms from the receiver, whose window is four segments; data follow each ACK 2 ms later, and the handshake's last ACK 50 ms late.
#[test]
fn a_host_that_is_late_in_the_handshake_lengthens_no_round_trip() {
    let mut transfer = Transfer::new();
    (transfer.packets[1].time, transfer.packets[2].time) = (MS, 53 * MS);
    let mut now = 60;
    for trip in 0..50 {
        let at = 4000 * trip;
        for k in 0..4 {
            transfer = transfer.data(now, at + 1000 * k);
        }
        transfer = transfer.ack(now + 1, at + 4000, &[]);
        now += 3;
    }
    transfer.packets.iter_mut().skip(3).for_each(|packet| packet.window = 250);
    transfer.packets[1].window = 4000;
    let found = transfer.report();
    assert_eq!(found["data"]["flight_max_bytes"], 4000);
    let trip = |name: &str, of: &str| found[name][of].as_f64().unwrap();
    assert!((trip("rtt", "min_s") - 3e-3).abs() < 1e-9 && (trip("rtt_near", "min_s") - 2e-3).abs() < 1e-9, "{}", found["rtt"]);
    assert!(trip("rtt", "max_s") < 4e-3, "{}", found["rtt"]);
    assert_eq!(found["verdict"]["cause"], "receive window", "{}", found["verdict"]);
    assert!(found["notes"][0].as_str().unwrap().starts_with("the round trip is 3.000 ms"), "{}", found["notes"]);
}

/// Requests of 500 bytes over 20 ms, each answered at once; without `is_whole` they are written in two parts, of which the second waits for the
/// ACK of the first, which comes 40 ms late.
fn requests(is_whole: bool) -> Value {
    let mut transfer = Transfer::new();
    let mut now = 30;
    for request in 0..60_u32 {
        let at = 500 * request;
        let mut part = |ms, at, len| {
            transfer.packets.push(Packet {
                seq: 100 + at,
                ack: 500 + 50 * request,
                flags: ACK,
                len,
                window: 10_000,
                ..packet(ms * MS, false)
            });
        };
        if is_whole {
            part(now, at, 500);
        } else {
            part(now, at, 200);
            part(now + 60, at + 200, 300);
            let first = Packet { seq: 500 + 50 * request, ack: 300 + at, flags: ACK, window: 10_000, ..packet((now + 60) * MS, true) };
            transfer.packets.insert(transfer.packets.len() - 1, first);
            now += 60;
        }
        now += 20;
        let answer = Packet { seq: 500 + 50 * request, ack: 600 + at, flags: ACK, len: 50, window: 10_000, ..packet(now * MS, true) };
        transfer.packets.push(answer);
        now += 1;
    }
    transfer.report()
}

#[test]
fn a_write_that_waits_for_a_delayed_acknowledgment_has_a_cause_of_its_own() {
    let (parts, whole) = (requests(false), requests(true));
    assert_eq!(parts["verdict"]["cause"], "Nagle and delayed ACKs", "{}", parts["verdict"]);
    assert_eq!(whole["verdict"]["cause"], "application", "{}", whole["verdict"]);
    assert_eq!(parts["data"]["retransmitted"]["segments"], 0);
}

/// A sender that leaves timestamps out of the mss sends no segment that was joined.
#[test]
fn offload_is_what_is_longer_than_the_mss() {
    let offload = |len: u32| {
        let mut transfer = Transfer::new().data(20, 0);
        transfer.packets.iter_mut().for_each(|packet| packet.options.timestamps = Some((1, 1)));
        transfer.packets[3].len = len;
        transfer.report()
    };
    assert_eq!(offload(1000)["data"]["offload"], 0);
    let joined = offload(1976);
    assert_eq!(joined["data"]["offload"], 1);
    assert!(joined["notes"][0].as_str().unwrap().contains("by offload (TSO, GRO)"), "{}", joined["notes"]);
}

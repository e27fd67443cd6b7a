//! Tests of needless retransmissions and of overtaken segments.

use super::*;

/// Ten windows of four segments over 172 ms, without timestamps. The first two of each are retransmitted as one after `wait` ms, and all is
/// acknowledged `answer` ms later. Of the handshake nothing is known but its SYN, and the first round trip is 548 ms.
fn again(wait: i64, answer: i64) -> Value {
    let mut transfer = Transfer::new();
    transfer.packets.truncate(1);
    transfer = transfer.data(20, 0).ack(568, 1000, &[]);
    for window in 0..10_i64 {
        let (now, at) = (1000 + 1000 * window, 1000 + 6000 * window as u32);
        for k in 0..4 {
            transfer = transfer.data(now, at + 1000 * k);
        }
        transfer = transfer.data(now + wait, at);
        transfer.packets.last_mut().unwrap().len = 2000;
        transfer = transfer.ack(now + wait + answer, at + 4000, &[]);
        transfer = transfer.data(now + 600, at + 4000).data(now + 601, at + 5000);
        transfer = transfer.ack(now + 772, at + 5000, &[]).ack(now + 773, at + 6000, &[]);
    }
    transfer.report()
}

#[test]
fn a_long_first_round_trip_proves_nothing() {
    let found = again(250, 174);
    let sent = &found["data"]["retransmitted"];
    assert_eq!((&sent["segments"], &sent["needless"]), (&10.into(), &0.into()), "{sent}");
    assert_ne!(found["verdict"]["cause"], "reordering", "{}", found["verdict"]);
}

#[test]
fn an_answer_that_is_too_soon_counts_a_retransmission_once() {
    let sent = again(150, 22)["data"]["retransmitted"].clone();
    assert_eq!((&sent["segments"], &sent["needless"]), (&10.into(), &10.into()), "{sent}");
}

/// Captured at the receiver, 20 ms from its sender: in each window of ten the first three are late by 30 ms. `resent`: the sender sends the first
/// again, which comes before it.
fn late(resent: bool) -> Value {
    let mut transfer = Transfer::new();
    (transfer.packets[1].time, transfer.packets[2].time) = (0, 20 * MS);
    let stamped = |transfer: &mut Transfer, value: i64| {
        transfer.packets.last_mut().unwrap().options.timestamps = Some((value as u32, value as u32));
    };
    for window in 0..50_i64 {
        let (now, at) = (30 + 60 * window, 10_000 * window as u32);
        for k in 3..10 {
            transfer = transfer.data(now + k, at + 1000 * k as u32);
            stamped(&mut transfer, now + k - 20);
            transfer = transfer.ack(now + k, at, &[(at + 3000, at + 1000 * (k as u32 + 1))]);
        }
        if resent {
            transfer = transfer.data(now + 25, at);
            stamped(&mut transfer, now + 15);
        }
        for k in 0..3 {
            transfer = transfer.data(now + 30 + k, at + 1000 * k as u32);
            stamped(&mut transfer, now + k - 20);
        }
        transfer = transfer.ack(now + 33, at + 10_000, &[]);
    }
    for packet in transfer.packets.iter_mut().filter(|packet| packet.options.timestamps.is_none()) {
        packet.options.timestamps = Some(((packet.time / MS) as u32, 0));
    }
    transfer.report()
}

#[test]
fn what_is_older_than_what_overtook_it_was_not_sent_again() {
    let found = late(false)["data"].clone();
    assert_eq!((&found["retransmitted"]["segments"], &found["reordered"]["before_capture"]), (&0.into(), &150.into()), "{found}");
}

#[test]
fn what_its_own_retransmission_overtook_counts_once() {
    let found = late(true);
    let data = &found["data"];
    let sent = &data["retransmitted"];
    assert_eq!((&sent["segments"], &sent["needless"], &sent["lost_before_capture"]), (&50.into(), &50.into(), &0.into()), "{data}");
    assert_eq!(data["reordered"]["before_capture"], 150, "{data}");
}

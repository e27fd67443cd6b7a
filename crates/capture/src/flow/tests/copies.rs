//! Captures that hold packets twice.

use super::*;

/// Ten windows of ten segments, of which a window loses one that is retransmitted; each packet with an identification of its own and
/// timestamps
/// of a clock of 10 ms, which is too slow to tell a copy.
fn identified() -> Vec<Packet> {
    let mut transfer = Transfer::new();
    for window in 0..10_i64 {
        let (now, at) = (20 + 40 * window, 10_000 * window as u32);
        for k in 0..10 {
            transfer = transfer.data(now + k, at + 1000 * k as u32);
        }
        if window == 5 {
            for k in 1..10 {
                transfer = transfer.ack(now + 20 + k, at, &[(at + 1000, at + 1000 * (k as u32 + 1))]);
            }
            transfer = transfer.data(now + 22, at);
        }
        transfer = transfer.ack(now + 39, at + 10_000, &[]);
    }
    transfer.packets.sort_by_key(|packet| packet.time);
    for (place, packet) in transfer.packets.iter_mut().enumerate() {
        packet.id = 1000 + place as u16;
        packet.options.timestamps = Some(((packet.time / (10 * MS)) as u32, 0));
    }
    transfer.packets
}

/// Adds each packet again, `delay` ns later, as `copy` makes it.
fn mirrored(packets: &[Packet], delay: i64, copy: impl Fn(Packet) -> Packet) -> Vec<Packet> {
    let copies = packets.iter().map(|packet| copy(Packet { time: packet.time + delay, ..*packet }));
    let mut all: Vec<Packet> = packets.iter().copied().chain(copies).collect();
    all.sort_by_key(|packet| packet.time);
    all
}

fn without_copies(mut found: Value) -> Value {
    found["copies"] = Value::Null;
    found["notes"].as_array_mut().unwrap().retain(|note| !note.as_str().unwrap().contains("copies of others"));
    found
}

#[test]
fn a_mirrored_capture_gives_the_answer_of_one_that_is_not() {
    let packets = identified();
    let once = report(&packets)["connections"][0].clone();
    assert_eq!((&once["data"]["retransmitted"]["segments"], &once["copies"]), (&1.into(), &Value::Null));
    for delay in [0, 20_000, MS, 70 * MS, 3000 * MS] {
        for hop in [0, 1] {
            let twice = report(&mirrored(&packets, delay, |packet| Packet { ttl: packet.ttl - hop, ..packet }))["connections"][0].clone();
            let late = delay as f64 / 1e9;
            let copies = serde_json::json!({ "samples": packets.len(), "min_s": late, "mean_s": late, "max_s": late });
            assert_eq!(twice["copies"], copies);
            assert_eq!(without_copies(twice), once, "{delay} ns, {hop} hop");
        }
    }
}

/// IPv6 has no identification.
#[test]
fn a_hop_limit_that_is_less_tells_a_copy() {
    let mut packets = identified();
    packets.iter_mut().for_each(|packet| packet.id = 0);
    let once = report(&packets)["connections"][0].clone();
    let twice = report(&mirrored(&packets, 5 * MS, |packet| Packet { ttl: packet.ttl - 1, ..packet }))["connections"][0].clone();
    assert_eq!(twice["copies"]["samples"], packets.len());
    assert_eq!(without_copies(twice), once);
}

/// A retransmission without timestamps differs from the original in its identification alone.
#[test]
fn a_retransmission_is_no_copy() {
    for ids in [[1, 2], [7, 7], [0, 0]] {
        let mut packets = Transfer::new().data(20, 0).data(20, 1000).data(400, 0).ack(420, 1000, &[]).data(420, 1000).packets;
        packets.iter_mut().for_each(|packet| packet.id = ids[0]);
        packets[5].id = ids[1];
        packets[7].id = ids[1] + ids[1] - ids[0];
        let found = report(&packets)["connections"][0].clone();
        assert_eq!((&found["data"]["retransmitted"]["segments"], &found["copies"]), (&2.into(), &Value::Null), "{ids:?}");
    }
}

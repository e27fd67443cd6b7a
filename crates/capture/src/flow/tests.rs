//! Connections made by hand, and any that can be.

mod clocks;
mod copies;
mod kinds;
mod losses;
mod needless;
mod waits;

use super::table::Table;
use crate::read::testing::packet;
use crate::read::{Options, Packet};
use longfat_core::packet::flags::{ACK, ECE, FIN, RST, SYN};
use proptest::prelude::*;
use serde_json::Value;

const MS: i64 = 1_000_000;

fn report(packets: &[Packet]) -> Value {
    let mut table = Table::new(100);
    for packet in packets {
        table.add(*packet);
    }
    serde_json::to_value(table.finish()).unwrap()
}

/// A transfer with an mss of 1000, captured at its sender, a round trip of 20 ms.
struct Transfer {
    packets: Vec<Packet>,
}

impl Transfer {
    fn new() -> Self {
        let syn = |time, is_back, flags| Packet {
            flags,
            options: Options { mss: Some(1000), window_scale: Some(4), sack_permitted: true, ..Options::default() },
            window: 10_000,
            ..packet(time, is_back)
        };
        let packets = vec![
            Packet { seq: 99, ..syn(0, false, SYN) },
            Packet { seq: 499, ack: 100, ..syn(20 * MS, true, SYN | ACK) },
            Packet { seq: 100, ack: 500, flags: ACK, window: 10_000, ..packet(20 * MS, false) },
        ];
        Transfer { packets }
    }
    fn data(mut self, ms: i64, at: u32) -> Self {
        self.packets.push(Packet {
            seq: 100 + at,
            ack: 500,
            flags: ACK,
            len: 1000,
            ip_len: 1040,
            window: 10_000,
            ..packet(ms * MS, false)
        });
        self
    }
    fn ack(mut self, ms: i64, at: u32, blocks: &[(u32, u32)]) -> Self {
        let blocks: Vec<(u32, u32)> = blocks.iter().map(|(a, b)| (100 + a, 100 + b)).collect();
        let options = crate::read::testing::sack(&blocks);
        self.packets.push(Packet { seq: 500, ack: 100 + at, flags: ACK, window: 10_000, options, ..packet(ms * MS, true) });
        self
    }
    fn report(&self) -> Value {
        report(&self.packets)["connections"][0].clone()
    }
}

#[test]
fn a_transfer_without_loss() {
    let found = Transfer::new().data(20, 0).data(21, 1000).ack(40, 1000, &[]).ack(43, 2000, &[]).report();
    assert_eq!(found["capture_point"], "sender");
    assert_eq!((&found["data"]["segments"], &found["data"]["bytes_acked"]), (&2.into(), &2000.into()));
    assert_eq!((&found["rtt"]["min_s"], &found["rtt"]["max_s"]), (&0.02.into(), &0.022.into()));
    assert_eq!(found["data"]["flight_max_bytes"], 2000);
    assert_eq!(found["receiver"]["window_max_bytes"], 160_000);
    assert_eq!(found["data"]["retransmitted"]["segments"], 0);
    assert_eq!(found["notes"], serde_json::json!([]));
}

#[test]
fn a_fast_retransmit() {
    let lost = Transfer::new().data(20, 0).data(20, 1000).data(20, 2000).data(20, 3000).data(20, 4000);
    let found = lost.ack(40, 1000, &[]).ack(40, 1000, &[(2000, 3000)]).ack(40, 1000, &[(2000, 4000)]).ack(40, 1000, &[(2000, 5000)]);
    let found = found.data(41, 1000).ack(61, 5000, &[]).report();
    let again = &found["data"]["retransmitted"];
    assert_eq!((&again["segments"], &again["fast"], &again["needless"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!(found["data"]["episodes"], 1);
}

#[test]
fn a_timeout_and_what_follows_it() {
    let found = Transfer::new().data(20, 0).data(20, 1000).data(400, 0).ack(420, 1000, &[]).data(420, 1000).ack(440, 2000, &[]).report();
    let again = &found["data"]["retransmitted"];
    assert_eq!((&again["segments"], &again["timeout"]), (&2.into(), &2.into()));
    assert_eq!(found["data"]["timeouts"], 1);
}

#[test]
fn a_tail_loss_probe() {
    let found = Transfer::new().data(20, 0).data(20, 1000).data(20, 2000).ack(40, 1000, &[]).data(82, 2000).ack(102, 1000, &[(2000, 3000)]);
    let found = found.data(103, 1000).ack(123, 3000, &[]).report();
    let again = &found["data"]["retransmitted"];
    assert_eq!((&again["tail_probe"], &again["fast"], &again["timeout"]), (&1.into(), &1.into(), &0.into()));
}

#[test]
fn overtaken_and_not_lost() {
    // Behind the point of capture: the receiver has a hole, which closes by itself.
    let behind = Transfer::new().data(20, 0).data(20, 1000).data(20, 2000).ack(40, 0, &[(1000, 2000)]).ack(41, 3000, &[]).report();
    assert_eq!(behind["data"]["reordered"]["behind_capture"], 1);
    assert_eq!(behind["data"]["retransmitted"]["segments"], 0);
    // Before it: the segment comes late.
    let before = Transfer::new().data(20, 1000).data(20, 0).ack(40, 2000, &[]).report();
    assert_eq!(before["data"]["reordered"]["before_capture"], 1);
    assert_eq!(before["data"]["retransmitted"]["segments"], 0);
    assert_eq!(before["data"]["never_captured_bytes"], 0);
}

#[test]
fn a_needless_retransmission_and_a_packet_captured_twice() {
    // Data that is acknowledged is retransmitted.
    let found = Transfer::new().data(20, 0).data(20, 1000).ack(40, 2000, &[]).data(60, 1000).ack(80, 2000, &[(1000, 2000)]).report();
    assert_eq!(found["data"]["retransmitted"]["needless"], 1);
    let twice = Transfer::new().data(20, 0).data(20, 0).ack(40, 1000, &[]).report();
    assert_eq!((&twice["copies"]["samples"], &twice["data"]["retransmitted"]["segments"]), (&1.into(), &0.into()));
}

#[test]
fn what_the_capture_has_lost_is_said() {
    let found = Transfer::new().data(20, 0).data(20, 2000).ack(40, 3000, &[]).report();
    assert_eq!(found["data"]["never_captured_bytes"], 1000);
    assert_eq!(found["notes"][0], "1000 bytes were acknowledged and are not in the capture: it has lost packets");
}

#[test]
fn the_same_ends_again_are_another_connection() {
    let mut packets = Transfer::new().data(20, 0).packets;
    packets.push(Packet { flags: FIN | ACK, seq: 1100, ack: 500, ..packet(30 * MS, false) });
    packets.push(Packet { flags: SYN, seq: 7777, ..packet(50 * MS, false) });
    let found = report(&packets);
    assert_eq!(found["connections"].as_array().unwrap().len(), 2);
}

/// At the receiver, a round trip is from an acknowledgment to the segment that echoes it, however many are under way.
#[test]
fn the_near_round_trip_is_that_of_echoes() {
    let stamped = |value, echo| Options { timestamps: Some((value, echo)), ..Options::default() };
    let mut packets = Vec::new();
    for k in 0..1000_u32 {
        let time = i64::from(k) * MS;
        // The queue grows: the later, the longer an echo takes, from 150 ms to 250 ms.
        if k >= 170 && k % 10 != 9 {
            let echoed = k - 150 - k / 10;
            packets.push(Packet { seq: 1000 * k, len: 1000, ack: 1, flags: ACK, options: stamped(k, echoed), ..packet(time, false) });
            packets.push(Packet { ack: 1000 * (k + 1), flags: ACK, window: 60_000, options: stamped(k, k), ..packet(time, true) });
        } else {
            packets.push(Packet { seq: 1, ack: 1000 * k, flags: ACK, window: 60_000, options: stamped(k, k), ..packet(time, true) });
        }
    }
    let found = report(&packets)["connections"][0].clone();
    assert_eq!(found["capture_point"], "receiver");
    assert!(found["rtt_near"]["samples"].as_u64().unwrap() > 500, "{}", found["rtt_near"]);
    let trip = |name: &str| found["rtt_near"][name].as_f64().unwrap();
    assert!((0.15..0.17).contains(&trip("min_s")) && (0.24..0.26).contains(&trip("max_s")), "{}", found["rtt_near"]);
}

#[test]
fn sequence_numbers_wrap() {
    let mut packets = Transfer::new().data(20, 0).data(21, 1000).ack(40, 2000, &[]).packets;
    for packet in &mut packets {
        match packet.from.port() {
            1000 => packet.seq = packet.seq.wrapping_sub(1100),
            _ => packet.ack = packet.ack.wrapping_sub(1100),
        }
    }
    assert_eq!(report(&packets)["connections"][0]["data"]["bytes_acked"], 2000);
}

#[test]
fn many_connections_take_bounded_memory() {
    let mut table = Table::new(7_000);
    for i in 0..30_000_u32 {
        let port = |packet: Packet| crate::read::testing::with_port(packet, i);
        table.add(port(Packet { flags: SYN, seq: i, ..packet(i64::from(i) * MS, false) }));
    }
    let found = serde_json::to_value(table.finish()).unwrap();
    let kept = found["connections"].as_array().unwrap().len() as u64;
    assert_eq!((kept, found["left_out"].as_u64().unwrap()), (7_000, 23_000));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    /// Any packets in any order cause no panic, and the counts add up.
    #[test]
    fn any_packets_can_be_looked_at(
        rows in prop::collection::vec((any::<bool>(), 0_i64..1000, 0_u32..40, 0_u32..40, 0_u32..3, 0_usize..8, prop::collection::vec((0_u32..40, 0_u32..40), 0..4), any::<bool>()), 0..60)
    ) {
        let mut packets = Vec::new();
        for (is_back, ms, seq, ack, len, kind, blocks, is_wild) in rows {
            let flags = [ACK, ACK, ACK, ACK, SYN, SYN | ACK, FIN | ACK, RST][kind];
            let blocks: Vec<(u32, u32)> = blocks.iter().map(|(a, b)| (1000 * a, 1000 * b)).collect();
            let wild = if is_wild { 0x9000_0000 } else { 0 };
            let options = crate::read::testing::sack(&blocks);
            packets.push(Packet {
                seq: (1000 * seq).wrapping_add(wild), ack: 1000 * ack, len: 1000 * len, flags, options, window: 5000, ..packet(ms * MS, is_back)
            });
        }
        let found = report(&packets);
        let counted = |one: &Value| one["packets"].as_u64().unwrap() + one["copies"]["samples"].as_u64().unwrap_or(0);
        let total: u64 = found["connections"].as_array().unwrap().iter().map(counted).sum();
        prop_assert_eq!(total, packets.len() as u64);
    }
}

/// A window of ten segments each round trip, which is 20 ms and later 60 ms; the acknowledgments with these flags.
fn two_paths(flags: u16) -> Value {
    let mut transfer = Transfer::new();
    let (mut now, mut at) = (20, 0);
    for trip in 0..100 {
        let rtt = if trip < 50 { 20 } else { 60 };
        for segment in 0..10 {
            transfer = transfer.data(now + segment, at + 1000 * segment as u32);
        }
        for segment in 0..10 {
            transfer = transfer.ack(now + rtt + segment, at + 1000 * (segment as u32 + 1), &[]);
            transfer.packets.last_mut().unwrap().flags |= flags;
        }
        (now, at) = (now + rtt, at + 10_000);
    }
    transfer.packets.sort_by_key(|packet| packet.time);
    transfer.report()["verdict"].clone()
}

#[test]
fn a_path_that_changes_is_not_named_where_marks_explain_the_round_trips() {
    let (silent, marked) = (two_paths(0), two_paths(ECE));
    assert_eq!(silent["cause"], "path change", "{silent}");
    assert_eq!(marked["cause"], "congestion, by ECN", "{marked}");
}

#[test]
fn a_timer_that_is_too_short_is_no_reordering() {
    // The path holds everything for 400 ms, ten times, and the data that the timer retransmitted had arrived.
    let mut transfer = Transfer::new();
    let (mut now, mut at) = (20, 0);
    for _ in 0..10 {
        for _ in 0..30 {
            transfer = transfer.data(now, at).ack(now + 20, at + 1000, &[]);
            (now, at) = (now + 21, at + 1000);
        }
        transfer = transfer.data(now, at).data(now + 300, at).ack(now + 301, at + 1000, &[]);
        transfer = transfer.ack(now + 320, at + 1000, &[(at, at + 1000)]);
        (now, at) = (now + 321, at + 1000);
    }
    let found = transfer.report();
    assert_eq!(found["data"]["retransmitted"]["timeout"], 10, "{}", found["data"]["retransmitted"]);
    assert_eq!(found["data"]["retransmitted"]["needless"], 10);
    assert_ne!(found["verdict"]["cause"], "reordering", "{}", found["verdict"]);
}

/// Captured behind a queue that is never empty, a segment comes each millisecond, and no ACK comes before it but each twentieth time: the sender
/// waited for none, and for no application either.
#[test]
fn a_queue_that_stands_is_no_silent_application() {
    let mut transfer = Transfer::new();
    for n in 0..3_000 {
        // The first round trips are without a queue, later it holds 40 ms.
        let rtt = if n < 20 { 20 } else { 60 };
        transfer = transfer.data(20 + n, 1000 * n as u32);
        if n % 20 == 19 {
            transfer = transfer.ack(20 + n + rtt, 1000 * (n as u32 + 1), &[]);
        }
    }
    transfer.packets.sort_by_key(|packet| packet.time);
    let found = transfer.report();
    assert_eq!(found["verdict"]["cause"], "a full path", "{}", found["verdict"]);
}

/// Both segments of a window are lost, time and again: the pause until the timer sends them again is no silence of an application.
#[test]
fn a_timer_that_is_waited_for_is_no_silent_application() {
    let mut transfer = Transfer::new();
    let (mut now, mut at) = (20, 0);
    for _ in 0..30 {
        transfer = transfer.data(now, at).data(now + 1, at + 1000);
        transfer = transfer.data(now + 300, at).ack(now + 320, at + 1000, &[]).data(now + 320, at + 1000).ack(now + 340, at + 2000, &[]);
        (now, at) = (now + 340, at + 2000);
    }
    let found = transfer.report();
    assert_eq!(found["data"]["retransmitted"]["timeout"], 60, "{}", found["data"]["retransmitted"]);
    assert_ne!(found["verdict"]["cause"], "application", "{}", found["verdict"]);
}

/// A bottleneck passes a segment each millisecond, 20 ms away. Its sender starts with `start` segments, and has one more in flight with each
/// `every` acknowledgments, up to `most`.
fn queued(start: usize, every: usize, most: usize) -> Value {
    let mut transfer = Transfer::new();
    let (mut sent, mut acks): (Vec<i64>, Vec<i64>) = (vec![20; start], Vec::new());
    for n in 0..3_000 {
        acks.push((sent[n] + 20).max(acks.last().map_or(0, |last| last + 1)));
        let flight = sent.len() - n;
        let more = if (n + 1) % every == 0 && flight <= most { 2 } else { 1 };
        sent.extend(vec![acks[n]; more]);
    }
    for (n, time) in sent.iter().enumerate().take(acks.len()) {
        transfer = transfer.data(*time, 1000 * n as u32);
    }
    for (n, time) in acks.iter().enumerate() {
        transfer = transfer.ack(*time, 1000 * (n as u32 + 1), &[]);
    }
    transfer.packets.sort_by_key(|packet| packet.time);
    transfer.report()["verdict"].clone()
}

#[test]
fn a_queue_that_fills_is_no_other_path() {
    let found = queued(60, 20, 1_000);
    assert_ne!(found["cause"], "path change", "{found}");
}

/// The receiver's window of 160,000 bytes is eight times what the path holds.
#[test]
fn a_window_that_only_fills_a_queue_does_not_limit() {
    let found = queued(20, 1, 160);
    assert_eq!(found["cause"], "a full path", "{found}");
}

/// A segment that fills a hole soon was retransmitted: the capture is at the receiver, 0.2 ms from the sender and back.
#[test]
fn on_a_short_path_what_was_sent_again_is_not_late() {
    let mut transfer = Transfer::new();
    let us = 1000;
    transfer.packets[1].time = 0;
    transfer.packets[2].time = 200 * us;
    let data = |time, at: u32| Packet { seq: 100 + at, ack: 500, flags: ACK, len: 1000, window: 10_000, ..packet(time, false) };
    let ack = |time, at: u32| Packet { seq: 500, ack: 100 + at, flags: ACK, window: 10_000, ..packet(time, true) };
    for n in 0..50 {
        let (time, at) = (MS * i64::from(n + 1), 3000 * n);
        transfer.packets.extend([data(time, at), ack(time, at + 1000), data(time + 10 * us, at + 2000), ack(time + 10 * us, at + 1000)]);
        transfer.packets.extend([data(time + 210 * us, at + 1000), ack(time + 210 * us, at + 3000)]);
    }
    let found = transfer.report()["data"].clone();
    assert_eq!(found["reordered"]["before_capture"], 0, "{found}");
    assert_eq!(found["retransmitted"]["lost_before_capture"], 50, "{found}");
}

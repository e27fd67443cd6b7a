//! Window sizing between two endpoints: what it must not change, what it must not promise.

use std::cell::RefCell;

use super::*;
use longfat_core::params::{Choice, Value};
use longfat_core::units::Capacity;
use proptest::prelude::*;

fn with(kind: &str, changes: &[(&'static str, Value)]) -> TcpConfig {
    let mut window_sizing = window_sizing::choice(kind);
    for (name, value) in changes {
        window_sizing.params.set(name, *value);
    }
    TcpConfig { window_sizing, ..config("rfc") }
}

/// Segments sent: when, from where. And what a sender saw: cwnd, rwnd, ssthresh.
type Sent = Vec<(Time, u32)>;
type Windows = Vec<(u64, u64, u64)>;

/// A long stream over 60 ms with a loss now and then: what was sent, and the windows
/// once a round trip.
fn stream(sender: TcpConfig, receiver: TcpConfig, losses: &[u64]) -> (Sent, Windows) {
    let sender = TcpConfig { initial_ssthresh: 300 * 1448, ..sender };
    let losses = losses.to_vec();
    let mut data = 0;
    let mut pair = Pair::new(sender, receiver, ms(30)).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        if client && segment.len > 0 && losses.contains(&data) { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(u64::MAX);
    let mut windows = Vec::new();
    for n in 1..100 {
        pair.run_until(at_ms(60 * n));
        let info = pair.client.info();
        windows.push((info.cwnd, info.rwnd, info.ssthresh));
    }
    (pair.data().map(|(at, segment)| (at, segment.seq)).collect(), windows)
}

#[test]
fn right_sizing_sends_what_a_window_without_bound_would() {
    for losses in [&[][..], &[5_000], &[3_000, 3_001, 9_000, 20_000]] {
        let without = stream(config("rfc"), config("rfc"), losses).0;
        for (sender, receiver) in [("ideal", "ideal"), ("drs", "static"), ("static", "drs"), ("drs", "drs"), ("auto-psc", "auto-psc")] {
            let (sent, windows) = stream(with(sender, &[]), with(receiver, &[]), losses);
            let first = sent.iter().zip(&without).position(|(a, b)| a != b);
            let around = first.map(|n| (sent[n].0, without[n].0, &windows[(sent[n].0.as_ps() / 60_000_000_000) as usize - 4..]));
            assert_eq!((first, sent.len()), (None, without.len()), "{sender} to {receiver}, losses {losses:?}: {around:?}");
        }
    }
}

#[test]
fn the_window_follows_cwnd() {
    for timestamps in [true, false] {
        let config = TcpConfig { timestamps, ..with("drs", &[("maxwnd", Value::Capacity(Capacity::Bytes(4 << 20)))]) };
        let (_, windows) = stream(config.clone(), config, &[5_000]);
        let mss = if timestamps { 1448 } else { 1460 };
        for (i, &(cwnd, rwnd, ssthresh)) in windows.iter().enumerate().skip(2) {
            // Weigle and Feng 2001 §II, as the sender sees it: in slow start the window lets this round trip double.
            assert!(rwnd >= cwnd + mss, "round {i}: cwnd {cwnd}, rwnd {rwnd}");
            assert!(rwnd <= 5 * cwnd.max(20 * mss), "round {i}: cwnd {cwnd}, rwnd {rwnd}");
            // Five round trips after slow start or a loss it is a few segments more, in steps of four, of the scale (64 bytes) and of
            // two segments an ACK.
            let settled = i > 20 && windows[i - 8..=i].iter().all(|w| w.0 >= w.2 && w.2 == ssthresh);
            assert!(!settled || rwnd <= cwnd + 12 * mss, "round {i}: cwnd {cwnd}, rwnd {rwnd}");
        }
    }
}

/// Weigle and Feng 2001 §II measures round trips by timestamps. Without them the receiver learns of a longer one late; but what it then
/// takes for less cwnd must not become less window, which would hold the sender back in truth.
#[test]
fn a_round_trip_made_longer_does_not_close_the_window() {
    let delivered = |kind: &str, timestamps: bool| {
        let config = |kind| TcpConfig { timestamps, ..with(kind, &[]) };
        let sender = TcpConfig { initial_ssthresh: 100 * 1448, ..config("static") };
        let mut extra = Duration::ZERO;
        let mut pair = Pair::new(sender, config(kind), ms(30)).network(move |n, client, segment, _| {
            // From the 5000th packet on each takes 50 us longer than the one before, until 60 ms have become 210.
            if client && segment.len > 0 && n > 5_000 && extra < ms(150) {
                extra += Duration::from_micros(50);
            }
            vec![if client { extra } else { Duration::ZERO }]
        });
        pair.client.write(u64::MAX);
        pair.run_until(at_ms(20_000));
        pair.server.bytes_delivered()
    };
    for timestamps in [true, false] {
        let (fixed, sized) = (delivered("static", timestamps), delivered("drs", timestamps));
        assert!(sized * 100 >= 97 * fixed, "timestamps {timestamps}: {sized} of {fixed}");
    }
}

#[test]
fn without_scaling_a_sized_window_ends_at_64_kib() {
    for kind in ["drs", "linux", "ideal"] {
        let receiver = TcpConfig { window_scale: false, ..with(kind, &[]) };
        let (_, windows) = stream(with(kind, &[]), receiver, &[]);
        let most = windows.iter().map(|w| w.1).max().unwrap();
        assert!((60_000..=65_535).contains(&most), "{kind}: {most}");
    }
}

#[test]
fn memory_limits_a_promise_and_its_return_opens_the_window() {
    let mut pair = Pair::new(config("rfc"), with("drs", &[]), ms(30));
    pair.server.set_memory_limit(u64::MAX, 10_000);
    pair.client.write(u64::MAX);
    pair.run_until(at_ms(1_000));
    let memory = pair.server.memory();
    assert!(memory.promised <= 10_000 && memory.receive_wanted > 10_000, "{memory:?}");
    // Nothing at all: what is promised stays, and is used up; then the sender probes.
    pair.server.set_memory_limit(u64::MAX, 0);
    pair.run_until(at_ms(1_500));
    assert!(pair.server.memory().promised < 1448);
    let before = pair.server.bytes_delivered();
    // The word of it is an ACK of its own: no probe need ask.
    pair.server.set_memory_limit(u64::MAX, 100_000);
    pair.run_until(at_ms(1_700));
    assert!(pair.server.bytes_delivered() > before + 20_000);
    assert!(pair.client.info().memory.send_buffered > 0);
}

#[test]
fn before_the_handshake_little_is_wanted() {
    // A host that hands out memory by what is wanted must not give all to those that are still opening.
    for kind in ["ideal", "drs", "search", "auto-psc", "linux"] {
        let connection = Connection::connect(with(kind, &[]), 0, Duration::ZERO);
        let memory = connection.memory();
        assert!(memory.send_buffer == memory.send_wanted && memory.send_wanted <= 40 * 1448, "{kind}: {memory:?}");
        assert!(!["drs", "linux"].contains(&kind) || memory.receive_wanted <= 65_536, "{kind}: {memory:?}");
    }
}

#[test]
fn the_send_buffer_keeps_to_memory_whatever_the_kind() {
    for kind in window_sizing::NAMES {
        let mut pair = Pair::new(with(kind, &[]), config("rfc"), ms(30));
        pair.client.set_memory_limit(20_000, u64::MAX);
        pair.client.write(u64::MAX);
        for n in 1..40 {
            pair.run_until(at_ms(60 * n));
            let memory = pair.client.memory();
            assert!(memory.send_buffered <= 20_000 && memory.send_buffer <= 20_000, "{kind}: {memory:?}");
        }
        assert!(pair.client.stats().in_flight_max > 15_000, "{kind}");
    }
}

#[test]
fn what_a_segment_would_hold_is_what_it_holds() {
    let mut pair = Pair::new(config("rfc"), with("drs", &[]), ms(10));
    pair.client.write(5_000);
    pair.run_until(at_ms(500));
    let (next, now) = (pair.client.stats().bytes_sent as u32, pair.now);
    let segment = |offset: u32, len: u16| {
        let mut segment = Segment::new(0xffff_fff0_u32.wrapping_add(1 + next + offset), flags::ACK, len);
        segment.ack = 0x7fff_fff1;
        segment
    };
    // Read at once; beyond a gap; partly there already; all there; beyond the window.
    let cases = [(0, 1_000, 0), (2_000, 1_000, 1_000), (2_500, 1_000, 500), (2_600, 400, 0), (1 << 20, 1_000, 0)];
    for (offset, len, expected) in cases {
        let before = pair.server.memory().receive_buffered;
        let segment = segment(offset, len);
        assert_eq!(pair.server.would_hold(&segment, 0), expected, "{offset}");
        let mut stamped = segment;
        stamped.set_timestamps(1_000_000, 0);
        pair.server.handle_segment(now, &stamped, Ecn::NotEct);
        assert_eq!(pair.server.memory().receive_buffered, before + expected, "{offset}");
    }
    // A FIN takes a number of the stream, and no room.
    let before = pair.server.memory().receive_buffered;
    let mut fin = segment(4_000, 0);
    fin.flags |= flags::FIN;
    assert_eq!(pair.server.would_hold(&fin, 0), 0);
    fin.set_timestamps(1_000_000, 0);
    pair.server.handle_segment(now, &fin, Ecn::NotEct);
    assert_eq!(pair.server.memory().receive_buffered, before);
    pair.server.set_auto_read(false);
    assert_eq!(pair.server.would_hold(&segment(1_000, 700), 0), 700);
}

/// One thing that happens to the host's memory: (when, in ms; bytes for the receive side; bytes for the send side).
type Limit = (u64, u64, u64);

/// Streams through a network that loses, delays and reorders, while the hosts give and take memory. Every promise is held against
/// the memory there was.
fn under_memory(kind: Choice, timestamps: bool, limits: &[Limit], mischief: &[u8], reads: &[u16]) {
    let volume = 300_000;
    let server = TcpConfig { window_sizing: kind, timestamps, ..config("rfc") }.with(|tcp| tcp.timers.rto_max = Duration::from_secs(4));
    let client = server.clone();
    let edge = RefCell::new(0u64);
    let mut pair = Pair::with_iss(client, server, ms(10), 0, 0).network(|n, client, segment, _| {
        if !client && segment.has(flags::ACK) && !segment.has(flags::SYN) {
            // RFC 9293 §3.8.6.2.1, but for what the scale rounds off.
            let now = u64::from(segment.ack) + (u64::from(segment.window) << 14);
            let mut edge = edge.borrow_mut();
            assert!(now + (1 << 14) > *edge, "the right edge moved from {edge} to {now}");
            *edge = now.max(*edge);
        }
        match mischief.get(n as usize) {
            Some(0..=20) => vec![],
            Some(21..=60) => vec![ms(u64::from(mischief[n as usize]))],
            Some(61..=70) => vec![Duration::ZERO, ms(5)],
            _ => vec![Duration::ZERO],
        }
    });
    pair.server.set_auto_read(reads.is_empty());
    pair.client.write(volume);
    pair.client.close();
    let mut limit = u64::MAX;
    let mut committed = 65_535;
    // Each packet that the network loses can cost the longest timeout, one after the other.
    let patience = 40_000 + 4_000 * mischief.len() as u64;
    for step in 0..patience {
        for &(_, receive, send) in limits.iter().filter(|(at, ..)| *at == step) {
            pair.server.set_memory_limit(u64::MAX, receive);
            pair.client.set_memory_limit(send, u64::MAX);
            limit = receive;
        }
        if step == 2_000 {
            // In the end there is enough, so that every run can finish.
            pair.server.set_memory_limit(u64::MAX, u64::MAX);
            pair.client.set_memory_limit(u64::MAX, u64::MAX);
            limit = u64::MAX;
        }
        // A step that comes to nothing can still send, as the memory there is now allows: it counts as well.
        let mut more = true;
        while more {
            more = pair.step(at_ms(step + 1));
            // No promise above memory: what the receiver is bound to grows only as far as there is memory for it.
            let memory = pair.server.memory();
            assert!(memory.receive_committed() <= committed.max(limit), "{memory:?} of {limit}, {committed} before");
            assert!(memory.receive_buffered <= memory.receive_committed(), "{memory:?}");
            committed = memory.receive_committed();
            pair.client.assert_invariants();
            pair.server.assert_invariants();
        }
        if let Some(most) = reads.get(step as usize % reads.len().max(1)) {
            pair.server.read(u64::from(*most) + step / 10);
            committed = pair.server.memory().receive_committed();
        }
        if pair.server.end_of_stream() && pair.client.all_acked() {
            break;
        }
    }
    assert_eq!(pair.server.bytes_delivered(), volume, "{:?} {:?}", pair.client, pair.server);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_promise_is_above_memory_and_no_byte_is_lost(
        leeway in 1u64..20_000,
        timestamps: bool,
        shrink_after in 1u64..=8,
        limits in prop::collection::vec((0u64..2_000, prop_oneof![1 => 0u64..3_000, 3 => 3_000u64..200_000], prop_oneof![1 => 0u64..3_000, 3 => 3_000u64..200_000]), 0..40),
        mischief in prop::collection::vec(any::<u8>(), 0..600),
        reads in prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(0u16..4_000, 1..6)],
    ) {
        let mut kind = window_sizing::choice("drs");
        kind.params.set("leeway", Value::Capacity(Capacity::Bytes(leeway)));
        kind.params.set("shrink_after", Value::Count(shrink_after));
        under_memory(kind, timestamps, &limits, &mischief, &reads);
    }
}

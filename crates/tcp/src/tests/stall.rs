//! Local congestion: the interface of the sender's host has no room.

use super::*;

/// A sender in the middle of slow start, with some 100 segments in flight.
fn sending() -> Pair<'static> {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(50));
    pair.client.write(u64::MAX);
    // The handshake, then ten segments doubled in three round trips and a half.
    pair.run_until(at_ms(450));
    pair
}

#[test]
fn a_refused_segment_is_not_sent_and_goes_later() {
    let mut pair = sending();
    let before = pair.client.stats();
    pair.client.set_room(false);
    assert!(!pair.client.wants_room(), "nothing was asked for yet");
    pair.run_until(at_ms(520));
    assert!(pair.client.wants_room());
    assert_eq!(pair.client.stats().bytes_sent, before.bytes_sent);
    assert_eq!(pair.client.stats().send_stalls, 0, "whether it is congestion is for the driver to say");
    pair.client.set_room(true);
    pair.run_until(at_ms(1_000));
    assert!(!pair.client.wants_room());
    let sent = pair.client.stats();
    assert!(sent.bytes_sent > 2 * before.bytes_sent);
    assert_eq!((sent.bytes_retransmitted, sent.timeouts), (0, 0));
    let mut next = pair.data().next().unwrap().1.seq;
    for (_, segment) in pair.data() {
        assert_eq!(segment.seq, next, "no byte was left out");
        next = segment.seq.wrapping_add(u32::from(segment.len));
    }
}

#[test]
fn a_stall_halves_the_window_once_a_round_trip() {
    let mut pair = sending();
    let flight = pair.client.info().in_flight;
    assert!(flight > 50 * 1448);
    pair.client.local_congestion(pair.now);
    // RFC 5681 Eq. 4 by Reno: half of what is in flight.
    let half = pair.client.info().cwnd;
    assert!(half <= flight / 2 && half > flight / 2 - 1448, "{half} of {flight}");
    for _ in 0..5 {
        pair.client.local_congestion(pair.now);
    }
    assert_eq!((pair.client.info().cwnd, pair.client.stats().send_stalls), (half, 6), "one reduction, and each stall counted");
    // Half a round trip later nothing sent since has been acknowledged; two round trips later everything has.
    pair.run_until(at_ms(480));
    pair.client.local_congestion(pair.now);
    assert!(pair.client.info().cwnd >= half);
    pair.run_until(at_ms(680));
    let (before, flight) = (pair.client.info().cwnd, pair.client.info().in_flight);
    pair.client.local_congestion(pair.now);
    assert!(pair.client.info().cwnd <= flight / 2 && pair.client.info().cwnd < before);
    assert_eq!(pair.client.stats().segments_retransmitted, 0);
}

#[test]
fn acknowledgments_and_window_probes_go_without_room() {
    let mut pair = Pair::new(config("rfc"), config("rfc"), ms(10));
    pair.client.set_room(false);
    pair.server.set_room(false);
    pair.server.write(10_000);
    pair.client.write(10_000);
    pair.run_until(at_ms(1_000));
    // The handshake is done, and no data went.
    assert!(pair.client.is_established() && pair.server.is_established());
    assert_eq!((pair.client.bytes_delivered(), pair.server.bytes_delivered()), (0, 0));
    pair.server.set_room(true);
    pair.run_until(at_ms(2_000));
    assert_eq!((pair.client.bytes_delivered(), pair.server.bytes_delivered()), (10_000, 0), "the client acknowledged it");
    assert!(pair.client.wants_room());
    pair.client.set_room(true);
    pair.run_until(at_ms(3_000));
    assert_eq!(pair.server.bytes_delivered(), 10_000);
}

#[test]
fn a_retransmission_waits_for_room_as_well() {
    for stack in ["rfc", "bsd-reno-1994"] {
        // The 20th segment is lost; when duplicates tell of it, there is no room.
        let mut count = 0;
        let mut pair = Pair::new(config(stack), config(stack), ms(50)).network(move |_, client, segment, _| {
            count += u64::from(client && segment.len > 0);
            if client && count == 20 { vec![] } else { vec![Duration::ZERO] }
        });
        pair.client.write(200_000);
        while pair.client.stats().fast_retransmits == 0 {
            pair.client.set_room(pair.client.stats().segments_sent < 20 || pair.client.info().in_flight < 14_480);
            assert!(pair.step(at_ms(60_000)), "{stack}: stuck");
            if pair.client.stats().timeouts > 0 {
                break;
            }
        }
        for _ in 0..1_000 {
            pair.client.set_room(false);
            pair.step(at_ms(60_000));
            pair.client.set_room(true);
            pair.step(at_ms(60_000));
        }
        pair.client.set_room(true);
        pair.run_until(at_ms(60_000));
        assert_eq!(pair.server.bytes_delivered(), 200_000, "{stack}");
    }
}

/// A tail loss probe waits for the interface, and goes when there is room.
#[test]
fn a_tail_loss_probe_waits_for_room() {
    let sender = TcpConfig { recovery: RecoveryKind::Rack, mss: 1000, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, config("rfc"), ms(50), 0, 0).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        if client && segment.len > 0 && data <= 2 { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(2_000);
    // Both are lost; the probe is due two round trips after 100 ms.
    pair.run_until(at_ms(250));
    pair.client.set_room(false);
    pair.run_until(at_ms(350));
    assert!(pair.client.wants_room() && pair.client.stats().tail_probes == 0);
    pair.client.set_room(true);
    pair.run_until(at_ms(600));
    let stats = pair.client.stats();
    assert_eq!((stats.tail_probes, stats.timeouts, pair.server.bytes_delivered()), (1, 0, 2_000));
    assert_eq!(pair.data().nth(2).unwrap().0, at_ms(350));
}

/// The new segments of F-RTO wait for the interface: a want of room does not make a spurious timeout a real one.
#[test]
fn the_new_segments_of_frto_wait_for_room() {
    let sender = TcpConfig { mss: 1000, ..config("linux") }.with(|tcp| {
        tcp.repair.undo = false;
        tcp.repair.tail_probe = false;
    });
    let receiver = TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        // The first window comes 400 ms late and 20 ms apart, and what the timer sends again after 300 ms comes after it.
        vec![if client && segment.len > 0 && data <= 11 { ms(400 + 20 * (data - 1)) } else { Duration::ZERO }]
    });
    pair.client.write(100_000);
    pair.run_until(at_ms(590));
    assert_eq!((pair.client.stats().timeouts, pair.client.stats().segments_retransmitted), (1, 1));
    pair.client.set_room(false);
    pair.run_until(at_ms(610));
    assert!(pair.client.wants_room());
    pair.client.set_room(true);
    // The second ACK of the window, at 620 ms, decides.
    pair.run_until(at_ms(625));
    let stats = pair.client.stats();
    assert_eq!((stats.spurious_recoveries, stats.segments_retransmitted), (1, 1), "{stats:?}");
    let after_the_stall: Vec<u32> = pair.data().filter(|(at, _)| *at == at_ms(610)).map(|(_, s)| (s.seq - 1) / 1000).collect();
    assert_eq!(after_the_stall, [10, 11]);
}

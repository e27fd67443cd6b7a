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

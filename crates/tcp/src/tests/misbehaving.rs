//! Receivers that misbehave (Savage and others, CCR 1999), against senders of several kinds. The paper's findings are from memory; its text
//! was not at hand.

use proptest::prelude::*;

use super::*;
use crate::options::Misbehaviour;

const MSS: u64 = 1448;

fn deceiving(config: &TcpConfig, ack_division: u32, dupack_spoofing: u32, optimistic_acks: u32) -> TcpConfig {
    TcpConfig { misbehaviour: Misbehaviour { ack_division, dupack_spoofing, optimistic_acks }, ..config.clone() }
}

/// A sender that counts ACKs or bytes, each segment of whose stream is acknowledged at once.
fn sender(recovery: RecoveryKind, abc_limit: u32) -> TcpConfig {
    TcpConfig { recovery, sack: recovery.is_selective(), delayed_ack: DelayedAck::Off, delayed_ack_time: None, ..config("rfc") }
        .with(|tcp| tcp.sending.abc_limit = abc_limit)
}

/// Data segments that the client has sent `until` then, where `bytes` are written at once.
fn sent(client: &TcpConfig, server: TcpConfig, bytes: u64, until: u64) -> usize {
    let mut pair = Pair::new(client.clone(), server, ms(50));
    pair.client.write(bytes);
    pair.run_until(at_ms(until));
    pair.data().count()
}

/// Section 3.1: slow start by ACKs grows by a segment for each of the M parts: M + 1 times the window after a round trip, where an honest
/// receiver doubles it. By bytes (RFC 3465 §2.1, the paper's section 4.1) it doubles in both cases.
#[test]
fn ack_division_makes_slow_start_a_burst_unless_bytes_count() {
    for (abc_limit, parts, expected) in [(0, 1, 20), (0, 4, 50), (0, 9, 100), (2, 1, 20), (2, 9, 20)] {
        let client = sender(RecoveryKind::Sack, abc_limit);
        let mut pair = Pair::new(client.clone(), deceiving(&client, parts, 0, 0), ms(50));
        pair.client.write(10_000_000);
        // The handshake takes 100 ms; the ACKs of the first window come at 200 ms.
        pair.run_until(at_ms(210));
        let cwnd = pair.client.info().cwnd / MSS;
        assert_eq!(cwnd, expected, "abc_limit {abc_limit}, {parts} parts");
    }
}

/// Section 3.2: each duplicate lets fast recovery send a segment (RFC 5681 §3.2, step 4). SACKs do not lie: a duplicate that reports nothing is
/// none (RFC 6675 §2, DupAck).
#[test]
fn duplicates_without_a_cause_make_fast_recovery_a_burst_unless_sacks_count() {
    let newreno = sender(RecoveryKind::NewReno, 2);
    let honest = sent(&newreno, newreno.clone(), 10_000_000, 210);
    let spoofed = sent(&newreno, deceiving(&newreno, 1, 20, 0), 10_000_000, 210);
    // The first ACK of ten has 20 duplicates: three of them start the recovery, and the others inflate its window. All ten have 200.
    assert!(spoofed > honest + 100, "{spoofed} against {honest}");
    let sack = sender(RecoveryKind::Sack, 2);
    assert_eq!(sent(&sack, deceiving(&sack, 1, 20, 0), 10_000_000, 210), sent(&sack, sack.clone(), 10_000_000, 210));
}

/// Section 3.3: a window acknowledged ahead is one more on the way: twice the rate, as over half of the round trip.
#[test]
fn optimistic_acks_halve_the_round_trip() {
    let window = 40 * MSS;
    let client = sender(RecoveryKind::Sack, 2);
    let receiver = TcpConfig { receive_buffer: window, ..client.clone() };
    let delivered = |server: TcpConfig| {
        let mut pair = Pair::new(client.clone(), server, ms(50));
        pair.client.write(u64::MAX);
        pair.run_until(at_ms(2_040));
        let before = pair.server.bytes_delivered();
        pair.run_until(at_ms(4_040));
        pair.server.bytes_delivered() - before
    };
    let (honest, ahead) = (delivered(receiver.clone()), delivered(deceiving(&receiver, 1, 0, 40)));
    assert_eq!(honest / window, 20);
    assert!(ahead.abs_diff(2 * honest) <= 2 * window, "{ahead} against {honest}");
}

/// Nobody retransmits what is acknowledged. The receiver has all but the lost segment; the sender takes all for delivered, and its window never
/// shrinks.
#[test]
fn optimistic_acks_over_a_lost_segment_leave_a_gap() {
    let client = sender(RecoveryKind::Sack, 2);
    let mut data = 0;
    let mut pair = Pair::new(client.clone(), deceiving(&client, 1, 0, 4), ms(50)).network(|_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        if client && segment.len > 0 && data == 30 { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(100 * MSS);
    pair.client.close();
    pair.run_until(at_ms(5_000));
    assert!(pair.client.all_acked() && pair.server.end_of_stream());
    assert_eq!(pair.client.stats().segments_retransmitted, 0);
    assert_eq!(pair.server.bytes_delivered(), 99 * MSS);
    assert_eq!(pair.server.bytes_read(), 99 * MSS);
}

/// RFC 9293 §3.10.7.4: ACKs of what was not sent do nothing but bring an answer, from which the receiver learns what was sent. There are ten
/// answers in 5 s (RFC 5961 §7); after that a timeout tells it.
#[test]
fn optimistic_acks_of_what_was_not_sent_do_no_harm() {
    let client = sender(RecoveryKind::Sack, 2);
    let mut pair = Pair::new(client.clone(), deceiving(&client, 1, 0, 100_000), ms(50));
    for n in 1..=20 {
        // Less than a window each time: there is nothing more that could be acknowledged.
        pair.client.write(3 * MSS);
        pair.run_until(at_ms(500 * n));
    }
    pair.run_until(at_ms(20_000));
    assert_eq!(pair.server.bytes_delivered(), 60 * MSS);
    assert_eq!(pair.client.unacked(), (0, 0));
}

fn any_sender() -> impl Strategy<Value = TcpConfig> {
    use RecoveryKind::*;
    let recovery = prop::sample::select(vec![Tahoe, Reno, NewReno, Sack, Fack, Rack]);
    let stack = prop::sample::select(vec!["rfc", "linux", "bsd-reno-1994"]);
    (stack, recovery, prop::sample::select(congestion::NAMES), any::<bool>(), 0u32..3).prop_map(
        |(stack, recovery, control, timestamps, abc_limit)| {
            TcpConfig { recovery, congestion_control: congestion::choice(control), timestamps, ..config(stack) }
                .with(|tcp| tcp.sending.abc_limit = abc_limit)
        },
    )
}

/// Delays of a segment's copies in 0.1 ms more than usual: none of them is a loss.
fn fate() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        40 => Just(vec![0]),
        3 => Just(vec![]),
        1 => Just(vec![0, 40]),
        2 => (1u64..300).prop_map(|late| vec![late]),
    ]
}

fn deceived<'a>(client: &TcpConfig, server: TcpConfig, fates: &'a [Vec<u64>], bytes: u64) -> Pair<'a> {
    let mut pair = Pair::new(client.clone(), server, ms(5)).network(|n, _, _, _| {
        let fate = fates.get(n as usize);
        fate.map_or_else(|| vec![Duration::ZERO], |fate| fate.iter().map(|late| Duration::from_micros(100 * late)).collect())
    });
    pair.client.write(bytes);
    pair.client.close();
    pair.run_until(Time::ZERO + Duration::from_secs(600));
    pair
}

proptest! {
    /// Parts and duplicates deceive the congestion control alone: the stream comes whole.
    #[test]
    fn the_stream_comes_whole_in_parts_and_duplicates(
        client in any_sender(),
        (parts, duplicates) in (1u32..12, 0u32..12),
        fates in prop::collection::vec(fate(), 0..300),
        bytes in 1u64..300_000,
    ) {
        let server = deceiving(&client, parts, duplicates, 0);
        let pair = deceived(&client, server, &fates, bytes);
        prop_assert!(pair.client.all_acked() && pair.server.end_of_stream());
        prop_assert_eq!(pair.server.bytes_read(), bytes);
    }

    /// The sender is never stuck, and the receiver never has what did not come; without a loss and without reordering it has all.
    #[test]
    fn the_sender_believes_optimistic_acks(
        client in any_sender(),
        (parts, duplicates, lead) in (1u32..4, 0u32..4, 1u32..100),
        fates in prop::collection::vec(fate(), 0..300),
        bytes in 1u64..300_000,
        clean in any::<bool>(),
    ) {
        let server = deceiving(&client, parts, duplicates, lead);
        let pair = deceived(&client, server, if clean { &[] } else { &fates }, bytes);
        prop_assert!(pair.client.all_acked());
        prop_assert!(pair.server.bytes_read() <= bytes);
        if clean {
            prop_assert!(pair.server.end_of_stream());
            prop_assert_eq!(pair.server.bytes_read(), bytes);
        }
    }
}

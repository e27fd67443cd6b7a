//! ACKs that later ones have overtaken (below SND.UNA): what they SACK is news, what they acknowledge is not. And what is counted.

use super::*;

/// A client with segments 0 to 9 of 1000 bytes out, of which the first two are acknowledged; nothing reaches it but by hand.
pub(super) fn ten_out(change: impl Fn(&mut TcpConfig)) -> Pair<'static> {
    let mut sender = TcpConfig { mss: 1000, initial_window: 10, timestamps: false, ..config("rfc") };
    change(&mut sender);
    let receiver = TcpConfig { timestamps: sender.timestamps, ..config("rfc") };
    let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0);
    pair = pair.network(|_, client, segment, _| if client && segment.len > 0 { vec![] } else { vec![Duration::ZERO] });
    pair.client.write(10_000);
    pair.run_until(at_ms(150));
    tell(&mut pair, 2, &[]);
    assert_eq!(pair.client.info().outstanding, 8_000);
    pair
}

/// An ACK of the first `n` segments, with `blocks`.
pub(super) fn tell(pair: &mut Pair, n: u32, blocks: &[(u32, u32)]) {
    take(pair, Segment::new(1, flags::ACK, 0), n, blocks);
}

/// One that was sent at this tick of the server's clock.
fn tell_at(pair: &mut Pair, tick: u32, n: u32, blocks: &[(u32, u32)]) {
    let mut segment = Segment::new(1, flags::ACK, 0);
    segment.set_timestamps(tick, 0);
    take(pair, segment, n, blocks);
}

pub(super) fn take(pair: &mut Pair, mut segment: Segment, n: u32, blocks: &[(u32, u32)]) {
    (segment.ack, segment.window) = (1 + 1000 * n, 60_000);
    for (from, until) in blocks {
        segment.push_sack(1 + 1000 * from, 1 + 1000 * until);
    }
    pair.client.handle_segment(pair.now, &segment, Ecn::NotEct);
    pair.flush();
    pair.client.assert_invariants();
}

/// RFC 6675 §5.
#[test]
fn what_an_overtaken_ack_sacks_begins_a_recovery() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        let mut pair = ten_out(|c| c.recovery = recovery);
        tell(&mut pair, 1, &[(3, 4)]);
        tell(&mut pair, 1, &[(5, 6), (3, 4)]);
        assert_eq!((pair.client.info().sacked, pair.client.stats().fast_retransmits), (2, 0));
        tell(&mut pair, 0, &[(7, 8), (5, 6), (3, 4)]);
        assert_eq!((pair.client.info().sacked, pair.client.stats().fast_retransmits), (3, 1), "{recovery:?}");
        assert_eq!(pair.data().last().unwrap().1.seq, 2_001, "the hole at the left edge first, or with it");
        // Nothing that an ACK of before says again is news.
        let before = pair.client.info();
        tell(&mut pair, 1, &[(3, 4)]);
        assert_eq!(pair.client.info(), before);
    }
}

/// RFC 7323 §5.3, R1: an ACK of an older tick of the other side's clock is not acceptable, whatever it SACKs; one of the same tick is.
#[test]
fn paws_comes_before_what_an_overtaken_ack_sacks() {
    for (tick, sacked) in [(1_000_000, 2), (999_999, 1)] {
        let mut pair = ten_out(|c| (c.recovery, c.timestamps) = (RecoveryKind::Sack, true));
        tell_at(&mut pair, 1_000_000, 2, &[(3, 4)]);
        tell_at(&mut pair, tick, 1, &[(5, 6), (3, 4)]);
        assert_eq!(pair.client.info().sacked, sacked, "tick {tick}");
    }
}

/// RFC 5681 §2: a duplicate ACK acknowledges what the highest one does.
#[test]
fn an_overtaken_ack_is_no_duplicate() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack] {
        let mut pair = ten_out(|c| c.recovery = recovery);
        (0..5).for_each(|_| tell(&mut pair, 1, &[]));
        assert_eq!((pair.client.stats().fast_retransmits, pair.client.info().ca_state), (0, CaState::Open), "{recovery:?}");
    }
}

/// A duplicate that it reports was one (RFC 2883), and the reduction for it is taken back.
#[test]
fn a_dsack_that_comes_late_counts() {
    let mut pair = ten_out(|c| (c.recovery, c.repair.undo) = (RecoveryKind::Sack, true));
    let before = pair.client.info();
    tell(&mut pair, 2, &[(3, 6)]);
    assert!(pair.client.info().ssthresh < before.ssthresh);
    tell(&mut pair, 10, &[]);
    assert_eq!(pair.client.stats().spurious_recoveries, 0);
    tell(&mut pair, 9, &[(2, 3)]);
    assert_eq!((pair.client.stats().spurious_recoveries, pair.client.info().ssthresh), (1, before.ssthresh));
}

/// ACKs come out of order, and not the data (RFC 8985 §6.2 step 3).
#[test]
fn acks_out_of_order_are_not_data_out_of_order() {
    for (ack, reordering) in [(1, 3), (2, 5)] {
        let mut pair = ten_out(|c| c.recovery = RecoveryKind::Rack);
        tell(&mut pair, 2, &[(7, 8)]);
        tell(&mut pair, ack, &[(3, 4)]);
        assert_eq!((pair.client.info().sacked, pair.client.info().reordering), (2, reordering), "ack {ack}");
    }
}

/// A FIN alone is no data segment, the second time no more than the first.
#[test]
fn a_fin_sent_again_is_not_data_sent_again() {
    let sender = TcpConfig { mss: 1000, timestamps: false, ..config("rfc") };
    let mut fins = 0;
    let mut pair =
        Pair::with_iss(sender, TcpConfig { timestamps: false, ..config("rfc") }, ms(50), 0, 0).network(move |_, client, segment, _| {
            fins += u64::from(client && segment.has(flags::FIN));
            if client && segment.has(flags::FIN) && fins < 4 { vec![] } else { vec![Duration::ZERO] }
        });
    pair.client.write(3_000);
    pair.run_until(at_ms(1_000));
    pair.client.close();
    pair.run_until(at_ms(60_000));
    let stats = pair.client.stats();
    assert_eq!((stats.segments_sent, stats.segments_retransmitted, stats.bytes_retransmitted), (3, 0, 0));
    assert_eq!(stats.fins_retransmitted, 3);
}

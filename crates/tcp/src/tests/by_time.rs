//! RACK-TLP (RFC 8985), round trip by round trip: 1000-byte segments, 100 ms round trip, chosen losses and delays.

use super::recovery::{at, transfer};
use super::*;

const RACK: RecoveryKind = RecoveryKind::Rack;

/// Runs `recovery::transfer` with `extra(n)` more delay for data segment n (0 is the first, retransmissions count). Also returns `info`.
fn delayed(recovery: RecoveryKind, window: u32, segments: u64, extra: impl Fn(u64) -> Duration) -> (Vec<(u64, u64)>, Stats, TcpInfo) {
    let sender = TcpConfig { recovery, mss: 1000, initial_window: window, initial_ssthresh: u64::from(window) * 1000, ..config("rfc") };
    let receiver = TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        vec![if client && segment.len > 0 { extra(data - 1) } else { Duration::ZERO }]
    });
    pair.client.write(segments * 1000);
    pair.run_until(at_ms(20_000));
    assert_eq!(pair.server.bytes_delivered(), segments * 1000);
    let sent = pair.data().map(|(at, s)| (at.as_ps() / 1_000_000_000, u64::from(s.seq - 1) / 1000)).collect();
    (sent, pair.client.stats(), pair.client.info())
}

/// RFC 8985 §9.1, figure 1: of P0 to P3 only P0 arrives. Two round trips after its ACK a probe sends P3 again; its SACK tells that P1
/// and P2 are lost; the retransmission of P1 is lost, which the SACK of P2 tells. No timeout.
#[test]
fn the_example_of_the_rfc_needs_no_timeout() {
    let sent = transfer(RACK, 4, 4, &[1, 2, 3, 5], |c| c.repair.prr = false);
    assert_eq!(at(&sent, 100), [0, 1, 2, 3]);
    assert_eq!(sent[4..], [(400, 3), (500, 1), (500, 2), (600, 1)]);
    // RFC 6675 waits for the timer, and then sends one by one in slow start.
    let sack = transfer(RecoveryKind::Sack, 4, 4, &[1, 2, 3, 5], |c| c.repair.prr = false);
    assert!(sack.last().unwrap().0 > 1_200);
}

/// RFC 8985 §6.2 step 4: until reordering has been seen, three segments SACKed are enough, as ever.
#[test]
fn the_threshold_rules_until_reordering_is_seen() {
    let sent = transfer(RACK, 10, 40, &[3], |_| {});
    assert_eq!(at(&sent, 200), [10, 11, 12, 13, 14, 3, 15].as_slice());
}

/// RFC 8985 §6.2 step 5: two segments SACKed are not enough; a quarter of the round trip later it is lost all the same.
#[test]
fn the_reordering_timer_finds_what_too_few_segments_follow() {
    let sent = transfer(RACK, 3, 12, &[0], |_| {});
    assert_eq!(at(&sent, 225), [0]);
    let sack = transfer(RecoveryKind::Sack, 3, 3, &[0], |_| {});
    assert_eq!(sack[3].0, 200 + 1000 - 100);
    assert_eq!(transfer(RACK, 3, 3, &[0], |_| {})[3], (225, 0));
}

/// RFC 6675 §6, the more careful timer: as long as something comes back RACK sends what is lost again, four times here, and needs no
/// timer for it, though the rto is less than three round trips.
#[test]
fn a_retransmission_lost_again_and_again_needs_no_timeout() {
    for (recovery, timeouts) in [(RACK, false), (RecoveryKind::Sack, true)] {
        let sender = TcpConfig { recovery, mss: 1000, initial_window: 10, ..config("rfc") }.with(|tcp| tcp.timers.rto_min = ms(250));
        let mut count = 0;
        let mut pair = Pair::with_iss(sender, TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") }, ms(50), 0, 0);
        pair = pair.network(move |_, client, segment, _| {
            let first = client && segment.len > 0 && segment.seq == 1;
            count += u32::from(first);
            if first && count < 5 { vec![] } else { vec![Duration::ZERO] }
        });
        pair.client.write(100_000);
        pair.run_until(at_ms(20_000));
        assert_eq!(pair.server.bytes_delivered(), 100_000);
        assert_eq!(pair.client.stats().timeouts > 0, timeouts, "{recovery:?}: {:?}", pair.client.stats());
        let sent: Vec<_> = pair.data().filter(|(_, s)| s.seq == 1).map(|(at, _)| at).collect();
        assert!(timeouts || sent == [100, 200, 300, 400, 500].map(at_ms), "{sent:?}");
    }
}

/// Data late by less than the window is not lost, and data late by more is.
#[test]
fn what_is_late_by_less_than_a_quarter_of_the_round_trip_is_not_sent_again() {
    let again = |late: u64| delayed(RACK, 3, 30, move |n| ms(if n == 0 { late } else { 0 })).1.segments_retransmitted;
    assert_eq!((again(24), again(26)), (0, 1));
}

/// RFC 8985 §6.2 step 5: the reordering timer is set anew by each ACK. What it waited for has come, and it is not set for the time in the
/// past when there is data again. Random networks found it.
#[test]
fn the_reordering_timer_ends_with_what_it_waited_for() {
    let sender = TcpConfig { recovery: RACK, mss: 1000, initial_window: 10, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") }, ms(50), 0, 0);
    pair = pair.network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        let late = match data {
            1 => 10,
            6.. => 5,
            _ => 0,
        };
        vec![ms(if client && segment.len > 0 { late } else { 0 })]
    });
    pair.client.write(3_000);
    pair.run_until(at_ms(205));
    assert_eq!(pair.client.poll_timeout(), Some(at_ms(225)), "a quarter of the round trip after the SACKs");
    pair.run_until(at_ms(1_000));
    assert_eq!((pair.client.info().outstanding, pair.client.poll_timeout()), (0, None));
    pair.client.write(5_000);
    // The ACKs of two of five are back.
    pair.run_until(at_ms(1_100));
    assert_eq!(pair.client.info().outstanding, 3_000);
    assert!(pair.client.poll_timeout().unwrap() > at_ms(1_100), "{:?}", pair.client.poll_timeout());
    pair.run_until(at_ms(2_000));
    assert_eq!((pair.client.stats().segments_retransmitted, pair.client.info().outstanding), (0, 0));
}

/// Segments keep coming late by 20 ms. The threshold sends each again; RACK the first one only: then it has seen reordering.
#[test]
fn reordering_is_learned() {
    let late = |n: u64| ms(if n % 25 == 3 { 20 } else { 0 });
    let (_, sack, _) = delayed(RecoveryKind::Sack, 20, 1000, late);
    let (_, rack, info) = delayed(RACK, 20, 1000, late);
    assert!(sack.segments_retransmitted > 10, "{sack:?}");
    assert_eq!((rack.segments_retransmitted, rack.fast_retransmits, rack.timeouts), (1, 1, 0), "{rack:?}");
    // All that followed in the window came before it.
    assert!(info.reordering >= 10, "{info:?}");
}

/// RFC 8985 §6.2 step 4: each round trip with DSACKs widens the window by a quarter of the round trip, up to the whole.
#[test]
fn dsacks_widen_the_window() {
    let late = |n: u64| ms(if n % 40 == 3 { 70 } else { 0 });
    let (sent, rack, _) = delayed(RACK, 20, 2000, late);
    // Nothing, and then 50 ms, are too little; 75 ms are enough.
    assert_eq!(rack.segments_retransmitted, 2, "{rack:?}");
    let receiver = |dsack| {
        let sender = TcpConfig { recovery: RACK, mss: 1000, initial_window: 20, initial_ssthresh: 20_000, ..config("rfc") };
        let mut data = 0;
        let mut pair = Pair::with_iss(sender, TcpConfig { dsack, ..config("rfc") }, ms(50), 0, 0).network(move |_, client, s, _| {
            data += u64::from(client && s.len > 0);
            vec![if client && s.len > 0 { late(data - 1) } else { Duration::ZERO }]
        });
        pair.client.write(2_000_000);
        pair.run_until(at_ms(20_000));
        pair.client.stats().segments_retransmitted
    };
    assert!(receiver(false) > 3 * receiver(true), "without DSACKs nothing is learned");
    assert!(sent.len() > 2000);
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    // Segment 0 and its first retransmission, the eleventh segment sent.
    let sent = transfer(RACK, 10, 40, &[0, 10], |c| c.repair.limited_transmit = false);
    let zeros: Vec<u64> = sent.iter().filter(|(_, n)| *n == 0).map(|(t, _)| *t).collect();
    assert_eq!(zeros, [100, 200, 300]);
    assert!(sent.last().unwrap().0 < 1_000);
}

/// Lost three times over: each loss costs a round trip.
#[test]
fn retransmissions_lost_again_and_again_cost_a_round_trip_each() {
    let sender = TcpConfig { recovery: RACK, mss: 1000, initial_window: 20, initial_ssthresh: 20_000, ..config("rfc") };
    let mut times = 0;
    let mut pair = Pair::with_iss(sender, config("rfc"), ms(50), 0, 0).network(move |_, client, segment, _| {
        let lost = client && segment.seq == 1 && segment.len > 0 && times < 4;
        times += u64::from(lost);
        if lost { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(u64::MAX);
    pair.run_until(at_ms(1000));
    let zeros: Vec<u64> = pair.data().filter(|(_, s)| s.seq == 1).map(|(at, _)| at.as_ps() / 1_000_000_000).collect();
    assert_eq!(zeros, [100, 200, 300, 400, 500]);
    assert_eq!((pair.client.stats().timeouts, pair.client.stats().fast_retransmits), (0, 1));
}

/// RFC 8985 §7.2, §7.3: two round trips after the last ACK, the last segment again; new data, if there is any.
#[test]
fn a_lost_tail_is_probed() {
    let sent = transfer(RACK, 10, 10, &[8, 9], |c| c.repair.prr = false);
    assert_eq!(sent[10..], [(400, 9), (500, 8)]);
    // All ten are lost, the probe is the eleventh, and its SACK tells of the ten.
    let all: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let sent = transfer(RACK, 10, 40, all, |c| c.repair.prr = false);
    assert_eq!(sent[10], (300, 10));
    assert!(sent[11..].iter().take(5).map(|(t, n)| (*t, *n)).eq((0..5).map(|n| (400, n))), "{sent:?}");
    // With one segment out, the receiver may be waiting with its ACK.
    let sent = transfer(RACK, 10, 10, &[9], |_| {});
    assert_eq!(sent[10..], [(600, 9)]);
}

/// RFC 8985 §7.4: a probe that repaired the only loss leaves no other trace of it, so the ACK beyond it reduces the window; one that
/// was not needed (the original was late, and both were acknowledged) does not.
#[test]
fn a_loss_that_the_probe_repaired_is_answered() {
    let run = |lose: bool| {
        let sender = TcpConfig { recovery: RACK, mss: 1000, initial_window: 10, ..config("rfc") };
        let receiver = TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") };
        let mut data = 0;
        let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0).network(move |_, client, segment, _| {
            data += u64::from(client && segment.len > 0);
            match data {
                10 if client && segment.len > 0 && lose => vec![],
                10 if client && segment.len > 0 => vec![ms(520)],
                _ => vec![Duration::ZERO],
            }
        });
        pair.client.write(10_000);
        pair.run_until(at_ms(800));
        let before = pair.client.info();
        assert_eq!((before.ssthresh, before.in_flight), (u64::MAX, 0));
        pair.client.write(5_000);
        pair.run_until(at_ms(1_500));
        let (stats, info) = (pair.client.stats(), pair.client.info());
        assert_eq!((stats.tail_probes, stats.segments_retransmitted, stats.timeouts), (1, 1, 0), "{stats:?}");
        (stats.tail_losses, info.ssthresh)
    };
    let (losses, ssthresh) = run(true);
    assert!(losses == 1 && ssthresh < u64::MAX);
    assert_eq!(run(false), (0, u64::MAX));
}

/// RFC 8985 §7.3, §8: one probe, then the retransmission timer from then on.
#[test]
fn a_lost_probe_is_followed_by_the_timeout() {
    let sent = transfer(RACK, 4, 4, &[0, 1, 2, 3, 4, 5], |_| {});
    let rto = 1000;
    assert_eq!(sent[4..7], [(300, 3), (300 + rto, 0), (300 + 3 * rto, 0)]);
}

/// RFC 8985 §6.3: at a timeout, what was sent less than a round trip ago is not lost.
#[test]
fn a_timeout_spares_what_was_sent_just_before() {
    let sender = TcpConfig { recovery: RACK, mss: 1000, initial_window: 4, ..config("rfc") }.with(|tcp| tcp.sending.nagle = false);
    let receiver = TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        // The second and the probe that repeats it are lost.
        if client && segment.len > 0 && (data == 2 || data == 3) { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(1000);
    pair.run_until(at_ms(1_000));
    pair.client.write(1000);
    // The probe comes after 2 srtt + 200 ms, the timeout a second later.
    pair.run_until(at_ms(2_350));
    assert_eq!(pair.client.stats().tail_probes, 1);
    pair.client.write(1000);
    pair.run_until(at_ms(2_401));
    let info = pair.client.info();
    assert_eq!((info.ca_state, info.lost, info.retrans, info.in_flight), (CaState::Loss, 1, 1, 2000), "{info:?}");
    pair.run_until(at_ms(4_000));
    assert_eq!((pair.server.bytes_delivered(), pair.client.stats().segments_retransmitted), (3000, 2));
}

/// `tcp_info` through a recovery.
#[test]
fn the_state_is_told() {
    let sender = TcpConfig { recovery: RACK, mss: 1000, initial_window: 10, initial_ssthresh: 10_000, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, config("rfc"), ms(50), 0, 0).network(move |_, client, segment, _| {
        let n = data;
        data += u64::from(client && segment.len > 0);
        // 0 is lost; the ten arrive 5 ms apart.
        if client && segment.len > 0 && n == 0 { vec![] } else { vec![if client { ms(5 * n.min(9)) } else { Duration::ZERO }] }
    });
    pair.client.write(u64::MAX);
    let mut seen = Vec::new();
    for t in [150, 206, 211, 216, 400] {
        pair.run_until(at_ms(t));
        let info = pair.client.info();
        seen.push((info.ca_state, info.sacked, info.lost, info.retrans));
    }
    assert_eq!(
        seen,
        [
            (CaState::Open, 0, 0, 0),
            (CaState::Disorder, 1, 0, 0),
            (CaState::Disorder, 2, 0, 0),
            (CaState::Recovery, 3, 1, 1),
            (CaState::Open, 0, 0, 0)
        ]
    );
}

/// Pacing may be what holds the probe back: it goes when pacing lets it, and does not wait for the retransmission timer.
#[test]
fn a_probe_that_pacing_holds_goes_when_it_may() {
    // 10 % of a window of one segment each 100 ms: 1 s a segment.
    let sender = TcpConfig { recovery: RACK, mss: 1000, initial_window: 1, ..config("rfc") }.with(|tcp| {
        tcp.sending.pacing = Pacing::On;
        tcp.sending.pacing_ss_ratio = 10;
        tcp.timers.rto_min = Duration::from_secs(3);
    });
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, config("rfc"), ms(50), 0, 0).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        if client && segment.len > 0 && data == 1 { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(1_000);
    pair.run_until(at_ms(10_000));
    let sent: Vec<u64> = pair.data().map(|(at, _)| at.as_ps() / 1_000_000_000).collect();
    // The probe is due 200 ms + 200 ms (a lone segment) after 100 ms.
    assert_eq!(sent, [100, 1_100]);
    assert_eq!((pair.client.stats().tail_probes, pair.client.stats().timeouts), (1, 0));
}

/// RFC 5681 §4.3: losses in two successive windows lower the window twice. The second is of what was sent during the repair of the first,
/// and has been found and retransmitted before that repair ends.
#[test]
fn losses_of_two_windows_reduce_twice() {
    for recovery in [RecoveryKind::Sack, RACK] {
        let reductions = |lost: &'static [u64]| {
            let sender = TcpConfig { recovery, mss: 1000, initial_window: 20, initial_ssthresh: 20_000, ..config("rfc") };
            let mut data = 0;
            let mut pair = Pair::with_iss(sender, TcpConfig { delayed_ack: DelayedAck::Off, ..config("rfc") }, ms(50), 0, 0);
            pair = pair.network(move |_, client, segment, _| {
                data += u64::from(client && segment.len > 0);
                let is_data = client && segment.len > 0;
                // The 26th is the retransmission of the first that is lost: late, so that the second loss shows before the repair ends.
                let extra = if is_data && data == 26 { ms(20) } else { Duration::ZERO };
                if is_data && lost.contains(&(data - 1)) { vec![] } else { vec![extra] }
            });
            pair.client.write(200_000);
            pair.run_until(at_ms(20_000));
            assert_eq!(pair.server.bytes_delivered(), 200_000);
            (pair.client.stats().fast_retransmits, pair.client.info().ssthresh / 1000)
        };
        assert_eq!(reductions(&[3]), (1, 10), "{recovery:?}");
        assert_eq!(reductions(&[3, 27]), (2, 5), "{recovery:?}");
    }
}

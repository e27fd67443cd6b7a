//! Loss recovery, round trip by round trip: 1000-byte segments, 100 ms round trip, chosen losses.

use super::*;

/// A transfer in which the data segments numbered in `lost` (0 is the first, retransmissions count) are lost. Cwnd and ssthresh
/// start at `window` segments, so that the sender is in congestion avoidance with that window.
pub(super) fn transfer(
    recovery: RecoveryKind,
    window: u32,
    segments: u64,
    lost: &'static [u64],
    change: impl Fn(&mut TcpConfig),
) -> Vec<(u64, u64)> {
    let mut sender = TcpConfig {
        recovery,
        mss: 1000,
        initial_window: window,
        initial_ssthresh: u64::from(window) * 1000,
        timestamps: false,
        ..config("rfc")
    };
    change(&mut sender);
    // 65,535 bytes: the window of the SYN-ACK, which is not scaled, is then the window of every ACK.
    let receiver = TcpConfig { delayed_ack: DelayedAck::Off, timestamps: false, receive_buffer: 65_535, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0).network(move |_, client, segment, _| {
        if client && segment.len > 0 {
            data += 1;
            if lost.contains(&(data - 1)) {
                return vec![];
            }
        }
        // Segments and ACKs arrive one by one, never at the same instant, in the order sent.
        vec![Duration::ZERO]
    });
    pair.client.write(segments * 1000);
    pair.run_until(at_ms(30_000));
    assert_eq!(pair.server.bytes_delivered(), segments * 1000);
    let sent: Vec<(u64, u64)> = pair.data().map(|(at, s)| (at.as_ps() / 1_000_000_000, u64::from(s.seq - 1) / 1000)).collect();
    assert!(pair.client.stats().segments_sent == sent.len() as u64);
    sent
}

/// The segments sent at `ms`.
pub(super) fn at(sent: &[(u64, u64)], ms: u64) -> Vec<u64> {
    sent.iter().filter(|(t, _)| *t == ms).map(|(_, n)| *n).collect()
}

const ALL: [RecoveryKind; 5] = [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack];

#[test]
fn one_loss_is_repaired_by_fast_retransmit_in_one_round_trip() {
    for recovery in ALL {
        let sent = transfer(recovery, 10, 40, &[3], |_| {});
        assert_eq!(at(&sent, 100), (0..10).collect::<Vec<_>>());
        // Three new ACKs let three more go, then six duplicates tell of the loss: the third brings the retransmission.
        let round = at(&sent, 200);
        assert_eq!(round[..3], [10, 11, 12], "{recovery:?}");
        assert!(round.contains(&3), "{recovery:?}: {round:?}");
        assert_eq!(sent.iter().filter(|(_, n)| *n == 3).count(), 2, "{recovery:?}");
        assert!(sent.last().unwrap().0 < 1200, "{recovery:?} took a timeout");
    }
}

#[test]
fn after_one_loss_the_window_is_half() {
    for recovery in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack] {
        let sent = transfer(recovery, 20, 100, &[0], |_| {});
        // The loss is of the first of 20: no new ACK, 19 duplicates, so half the window is let out during recovery,
        // and half a window (and one more for the round that passed) is out in each round after it.
        let during = at(&sent, 200).len();
        let after = at(&sent, 300).len();
        assert!((9..=11).contains(&during), "{recovery:?}: {during} during");
        assert!((9..=12).contains(&after), "{recovery:?}: {after} after");
        assert!(!sent.iter().any(|(t, _)| *t >= 1_200 && *t < 30_000 && at(&sent, *t).is_empty()));
    }
    let sent = transfer(RecoveryKind::Tahoe, 20, 100, &[0], |_| {});
    // Tahoe starts over with one segment.
    assert_eq!(at(&sent, 200).iter().filter(|n| **n == 0).count(), 1);
}

#[test]
fn sack_repairs_many_losses_in_one_round_trip_newreno_one_a_round_trip() {
    let lost = &[0, 2, 4, 6, 8];
    let sack = transfer(RecoveryKind::Sack, 40, 120, lost, |_| {});
    let again: Vec<u64> = sack.iter().filter(|(t, n)| *t == 200 && lost.contains(n)).map(|(_, n)| *n).collect();
    assert_eq!(again, [0, 2, 4, 6, 8]);
    let newreno = transfer(RecoveryKind::NewReno, 40, 120, lost, |_| {});
    let again: Vec<(u64, u64)> = newreno.iter().filter(|(t, n)| *t >= 200 && lost.contains(n)).copied().collect();
    assert_eq!(again, [(200, 0), (300, 2), (400, 4), (500, 6), (600, 8)]);
}

#[test]
fn reno_takes_a_timeout_where_newreno_does_not() {
    // Three losses in one window of eight: Reno leaves recovery at the first partial ACK, with too few segments out for more.
    let timed_out = |kind| transfer(kind, 8, 60, &[0, 2, 4], |_| {}).iter().any(|(t, _)| *t >= 1_200);
    assert!(timed_out(RecoveryKind::Reno));
    assert!(!timed_out(RecoveryKind::NewReno));
    assert!(!timed_out(RecoveryKind::Sack));
}

#[test]
fn limited_transmit_saves_a_timeout_with_a_window_of_three() {
    // RFC 3042: with three segments out and the first lost, only two duplicates come; two new segments bring two more.
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let last = |limited| {
            transfer(recovery, 3, 12, &[0], |c| c.repair.limited_transmit = limited).iter().find(|(t, n)| *n == 0 && *t > 100).unwrap().0
        };
        assert_eq!(last(true), 300, "{recovery:?}");
        assert!(last(false) >= 1_100, "{recovery:?}");
    }
}

#[test]
fn the_duplicate_ack_threshold_is_obeyed() {
    for recovery in ALL {
        for threshold in 1..6u32 {
            let sent = transfer(recovery, 10, 40, &[0], |c| {
                c.repair.dupack_threshold = threshold;
                c.repair.limited_transmit = false;
            });
            // Nine duplicates arrive, all at 200 ms.
            assert_eq!(at(&sent, 200).first(), Some(&0), "{recovery:?} {threshold}");
        }
        let sent = transfer(recovery, 4, 20, &[0], |c| {
            c.repair.dupack_threshold = 4;
            c.repair.limited_transmit = false;
        });
        assert!(!at(&sent, 200).contains(&0), "{recovery:?}: three duplicates are not four");
    }
}

#[test]
fn a_timeout_backs_off_and_starts_over_with_one_segment() {
    // (Under RACK-TLP a probe comes first.)
    for recovery in &ALL[..4] {
        let recovery = *recovery;
        // The whole window is lost, and the first two retransmissions too.
        let sent = transfer(recovery, 4, 12, &[0, 1, 2, 3, 4, 5], |_| {});
        let zeros: Vec<u64> = sent.iter().filter(|(_, n)| *n == 0).map(|(t, _)| *t).collect();
        // RFC 6298: rto is 1 s at least; then doubled, and doubled.
        assert_eq!(zeros, [100, 1100, 3100, 7100], "{recovery:?}");
        assert_eq!(at(&sent, 7100), [0]);
        assert_eq!(at(&sent, 7200), [1, 2], "{recovery:?}: slow start over what was outstanding");
    }
}

#[test]
fn a_lost_retransmission_costs_a_timeout_and_nothing_else() {
    // (RACK finds it: `by_time`.)
    for recovery in &ALL[..4] {
        let recovery = *recovery;
        // Segment 0 and its retransmission, which is the eleventh segment sent (limited transmit aside).
        let sent = transfer(recovery, 10, 40, &[0, 10], |c| c.repair.limited_transmit = false);
        assert_eq!(sent[10].1, 0, "{recovery:?}");
        let third = sent.iter().filter(|(_, n)| *n == 0).nth(2).unwrap();
        assert!((1_200..1_400).contains(&third.0), "{recovery:?}: at {}", third.0);
    }
}

#[test]
fn bsd_timers_fire_on_their_ticks() {
    let sender = TcpConfig { mss: 1000, ..config("bsd-reno-1994") };
    let mut data = 0;
    let mut pair = Pair::new(sender, config("bsd-reno-1994"), ms(35)).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        if client && segment.len > 0 && data == 5 { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(5_000);
    pair.run_until(at_ms(10_000));
    assert_eq!(pair.server.bytes_delivered(), 5_000);
    // The last of five is lost, nothing follows it: a timeout, at a tick of the 500 ms clock (phase 123 ms: 377, 877, ...).
    let last = pair.data().last().unwrap().0;
    assert_eq!((last.as_ps() / 1_000_000_000 + 123) % 500, 0);
    assert_eq!(pair.client.stats().timeouts, 1);
    // A lone segment waits for the 200 ms heartbeat (phase 77 ms) before it is acknowledged.
    let first_ack = pair.log.iter().find(|(_, client, s)| !client && !s.has(flags::SYN)).unwrap().0;
    assert_eq!((first_ack.as_ps() / 1_000_000_000 + 77) % 200, 0);
}

/// RFC 5681 §3.1 Eq. 4 and what follows it: the fast retransmit of Tahoe is lost, and the timer finds cwnd at one segment;
/// ssthresh is still half of what was in flight.
#[test]
fn tahoe_keeps_ssthresh_when_its_fast_retransmit_is_lost() {
    let sender = TcpConfig { recovery: RecoveryKind::Tahoe, mss: 1000, initial_window: 20, timestamps: false, ..config("rfc") }
        .with(|tcp| tcp.repair.limited_transmit = false);
    let mut data = 0;
    let mut pair = Pair::new(sender, TcpConfig { timestamps: false, ..config("rfc") }, ms(50)).network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        if client && segment.len > 0 && (data == 1 || data == 21) { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(u64::MAX);
    pair.run_until(at_ms(1_300));
    assert_eq!((pair.client.stats().fast_retransmits, pair.client.stats().timeouts), (1, 1));
    assert_eq!(pair.client.info().ssthresh, 10_000);
}

/// Runs `transfer` with SACK and a window of 20, but each segment takes a millisecond longer than the one before it, so that what each
/// ACK lets out can be told apart. Returns the segments sent at each of `acks`, in ms after 200.
fn answers(prr: bool, lost: &'static [u64], acks: std::ops::Range<u64>) -> Vec<Vec<u64>> {
    let sender = TcpConfig { mss: 1000, initial_window: 20, initial_ssthresh: 20_000, timestamps: false, ..config("rfc") }
        .with(|tcp| tcp.repair.prr = prr);
    let receiver = TcpConfig { delayed_ack: DelayedAck::Off, timestamps: false, ..config("rfc") };
    let mut data = 0;
    let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0).network(move |_, client, segment, _| {
        if !client || segment.len == 0 {
            return vec![Duration::ZERO];
        }
        data += 1;
        if lost.contains(&(data - 1)) { vec![] } else { vec![ms((data - 1).min(19))] }
    });
    pair.client.write(u64::MAX);
    pair.run_until(at_ms(300));
    let sent: Vec<(u64, u64)> = pair.data().map(|(at, s)| (at.as_ps() / 1_000_000_000, u64::from(s.seq - 1) / 1000)).collect();
    acks.map(|n| at(&sent, 200 + n)).collect()
}

const FIRST_15: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// RFC 6937 §3.1, first example: one segment of 20 is lost. Limited transmit on two duplicates, the retransmission on the third,
/// then one segment for every other ACK with PRR; without, silence until half the window has drained (RFC 6675 §5).
#[test]
fn one_loss_of_twenty_with_and_without_prr() {
    let counts = |prr| answers(prr, &[0], 1..20).iter().map(Vec::len).collect::<Vec<_>>();
    let with = counts(true);
    assert_eq!(with[..3], [1, 1, 1]);
    assert_eq!(answers(true, &[0], 1..4), [vec![20], vec![21], vec![0]]);
    // (Every third here and there, where the whole segments of the rounding show.)
    assert!(with[3..].windows(2).all(|w| w[0] + w[1] <= 1) && with[3..].windows(3).all(|w| w.iter().sum::<usize>() >= 1), "{with:?}");
    let without = counts(false);
    assert_eq!(without[..3], [1, 1, 1]);
    let silent = without[3..].iter().take_while(|n| **n == 0).count();
    assert!(silent >= 7 && without[3 + silent..].iter().all(|n| *n == 1), "{without:?}");
}

/// RFC 6937 §3.1, second example: the first 15 of 20 are lost. Of the rest three are SACKed when recovery begins; two of limited
/// transmit make the pipe 4. RFC 6675 sends what brings it to cwnd = 10 at once; PRR's bound is packet conservation: one an ACK.
#[test]
fn a_burst_of_fifteen_losses_with_and_without_prr() {
    assert_eq!(answers(false, FIRST_15, 15..20), [vec![20], vec![21], vec![0, 1, 2, 3, 4, 5], vec![6], vec![7]]);
    assert_eq!(answers(true, FIRST_15, 15..20), [vec![20], vec![21], vec![0], vec![1], vec![2]]);
}

/// RFC 6675 §4, NextSeg: rule 1 sends what is lost, oldest first; rule 2 new data where nothing is lost.
#[test]
fn next_seg_sends_the_lost_first_and_then_what_is_new() {
    let sent = answers(true, &[0, 2, 4], 1..20).concat();
    let repair = sent.iter().position(|n| *n == 0).unwrap();
    let again: Vec<u64> = sent.iter().copied().filter(|n| *n < 20).collect();
    assert_eq!(again, [0, 2, 4]);
    assert!(sent[repair..repair + 3] == [0, 2, 4] && sent[repair + 3..].iter().all(|n| *n >= 22), "{sent:?}");
}

/// RFC 6675 §4, NextSeg: with nothing new to send, rule 4 sends the last segment once, and its SACK lets rule 3 send a hole that too
/// few segments follow to call it lost. No timeout is needed.
#[test]
fn next_seg_rescues_the_end_of_a_stream() {
    let sent = transfer(RecoveryKind::Sack, 10, 10, &[2, 8, 9], |c| c.repair.prr = false);
    let again: Vec<(u64, u64)> = sent[10..].to_vec();
    assert_eq!(again, [(200, 2), (200, 9), (300, 8)]);
}

/// RFC 6675 §5.1 and RFC 2018 §8: a receiver that reneged is found out by a timeout, and everything is retransmitted.
#[test]
fn a_receiver_that_reneges_costs_a_timeout_and_no_data() {
    let mut pair = Pair::with_iss(
        TcpConfig { mss: 1000, initial_window: 10, timestamps: false, ..config("rfc") },
        TcpConfig { timestamps: false, ..config("rfc") },
        ms(50),
        0,
        0,
    );
    let mut data = 0;
    pair = pair.network(move |_, client, segment, _| {
        data += u64::from(client && segment.len > 0);
        if client && segment.len > 0 && data == 1 { vec![] } else { vec![Duration::ZERO] }
    });
    pair.client.write(10_000);
    pair.run_until(at_ms(220));
    // Nine are SACKed; the first is on its way again.
    assert_eq!(pair.client.info().in_flight, 1000);
    pair.server.renege();
    pair.run_until(at_ms(5_000));
    assert_eq!(pair.server.bytes_delivered(), 10_000);
    assert_eq!(pair.client.stats().timeouts, 1);
}

/// After a timeout, segments that the receiver had bring duplicate ACKs of the very end of what was outstanding: no fast
/// retransmit (RFC 6582 §3.2 steps 2 and 4, and §4).
#[test]
fn duplicates_of_a_go_back_n_are_no_loss() {
    for recovery in [RecoveryKind::Tahoe, RecoveryKind::NewReno] {
        let sender = TcpConfig { recovery, mss: 1000, initial_window: 10, timestamps: false, ..config("rfc") };
        // Every ACK of the first flight is late by 3 s: a spurious timeout, and all is retransmitted.
        let mut pair = Pair::new(sender, TcpConfig { timestamps: false, ..config("rfc") }, ms(50));
        let clock = pair.clock.clone();
        pair = pair.network(move |_, client, segment, _| {
            let late = !client && !segment.has(flags::SYN) && clock.get() < at_ms(500);
            vec![if late { ms(1_030) } else { Duration::ZERO }]
        });
        pair.client.write(10_000);
        pair.run_until(at_ms(20_000));
        assert_eq!(pair.server.bytes_delivered(), 10_000);
        assert_eq!((pair.client.stats().timeouts, pair.client.stats().fast_retransmits), (1, 0), "{recovery:?}");
    }
}

/// BSD's Reno has no such guard: a fast retransmit in the middle of a go-back-N. What the go-back-N had not reached is still sent.
#[test]
fn a_fast_retransmit_inside_a_go_back_n_does_not_end_it() {
    // The first flight is lost but for segments 1, 2, 3, 9, whose repetition brings duplicates.
    let lost: &[u64] = &[0, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
    let sent = transfer(RecoveryKind::Reno, 20, 20, lost, |c| c.repair.limited_transmit = false);
    // One timeout at most for each of what is lost twice over: all is done in the slow start after the first.
    assert!(sent.last().unwrap().0 < 6_000, "{sent:?}");
}

/// RFC 6298 §3 and RFC 7323 §4.2: one sample a round trip, so that a steady stream of ACKs does not wear the variance away.
#[test]
fn the_estimator_takes_one_sample_a_round_trip() {
    let sender = TcpConfig { initial_window: 100, ..config("rfc") }.with(|tcp| tcp.timers.rto_min = Duration::ZERO);
    let mut pair = Pair::new(sender, config("rfc"), ms(50));
    pair.client.write(100 * 1448);
    pair.run_until(at_ms(250));
    // The handshake's sample and one more of the same 100 ms: rttvar 50, then 37.5 ms.
    assert_eq!(pair.client.info().rttvar, Duration::from_micros(37_500));
}

//! Timeouts and fast retransmits for nothing, and how they are taken back: F-RTO, Eifel, DSACK.

use super::*;
use proptest::prelude::*;

const ALL: [RecoveryKind; 6] =
    [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack];

/// A sender in congestion avoidance with 20 segments of 1000 bytes; what it sends from 1 s on is held up for `spike`, in order. The
/// round trip is 100 ms, the rto 300 ms. State and totals after 4 s, and just before.
fn delay_spike(spike: Duration, change: impl Fn(&mut TcpConfig)) -> (TcpInfo, TcpInfo, Stats) {
    let mut sender = TcpConfig { mss: 1000, initial_window: 20, initial_ssthresh: 20_000, timestamps: false, ..config("rfc") }
        .with(|tcp| tcp.timers.rto_min = ms(300));
    change(&mut sender);
    let receiver = TcpConfig { delayed_ack: DelayedAck::Off, timestamps: sender.timestamps, dsack: sender.dsack, ..config("rfc") };
    let pair = Pair::with_iss(sender, receiver, ms(50), 0, 0);
    let clock = pair.clock.clone();
    let mut pair = pair.network(move |_, client, _, _| {
        // Nothing overtakes: all that is sent during the spike arrives when it ends.
        let (now, end) = (clock.get(), at_ms(1_000) + spike);
        vec![if client && now >= at_ms(1_000) && now < end { end.since(now) } else { Duration::ZERO }]
    });
    pair.client.write(u64::MAX);
    pair.run_until(at_ms(999));
    let before = pair.client.info();
    pair.run_until(at_ms(4_000));
    (before, pair.client.info(), pair.client.stats())
}

/// RFC 5682: a delay spike sets off the timer; the two ACKs that follow tell that nothing was lost.
#[test]
fn frto_undoes_a_timeout_by_a_delay_spike() {
    for recovery in ALL {
        let (before, after, with) = delay_spike(ms(450), |c| (c.recovery, c.repair.frto) = (recovery, true));
        let (_, _, without) = delay_spike(ms(450), |c| c.recovery = recovery);
        assert_eq!((with.timeouts, with.spurious_recoveries), (1, 1), "{recovery:?}: {with:?}");
        // The one segment that the timer sent, and the probe before it.
        assert_eq!(with.segments_retransmitted, 1, "{recovery:?}");
        assert!(without.segments_retransmitted > 10 || recovery == RecoveryKind::Rack, "{recovery:?}: go-back-N, {without:?}");
        assert_eq!(after.ca_state, CaState::Open);
        assert!(after.cwnd >= before.cwnd && after.ssthresh >= before.ssthresh, "{recovery:?}: {before:?} {after:?}");
    }
}

/// RFC 5682 §2.1 step 2b: of eleven segments ten are held up from 100 ms to 800 ms, and the timer goes off at 400 ms. One new segment is left to send on the
/// first ACK, and the second ACK tells that the timeout was for nothing.
#[test]
fn frto_needs_but_one_new_segment() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        let sender = TcpConfig { recovery, mss: 1000, initial_window: 10, timestamps: false, ..config("rfc") }.with(|tcp| {
            tcp.repair.frto = true;
            tcp.timers.rto_min = ms(300);
        });
        let receiver = TcpConfig { delayed_ack: DelayedAck::Off, timestamps: false, ..config("rfc") };
        let pair = Pair::with_iss(sender, receiver, ms(50), 0, 0);
        let clock = pair.clock.clone();
        let mut pair = pair.network(move |_, client, segment, _| {
            let held = client && segment.len > 0 && clock.get() < at_ms(800);
            vec![if held { at_ms(800).since(clock.get()) } else { Duration::ZERO }]
        });
        pair.client.write(11_000);
        pair.run_until(at_ms(3_000));
        let stats = pair.client.stats();
        assert_eq!(pair.server.bytes_delivered(), 11_000, "{recovery:?}");
        assert_eq!((stats.timeouts, stats.spurious_recoveries, stats.segments_retransmitted), (1, 1, 1), "{recovery:?}: {stats:?}");
    }
}

/// RFC 5682 §2.1 step 3a, §3.1 step 3a: where the window was lost, F-RTO changes nothing but the order: slow start repairs it all.
#[test]
fn frto_finds_a_real_loss_real() {
    for recovery in ALL {
        let mut sender =
            TcpConfig { recovery, mss: 1000, initial_window: 10, timestamps: false, ..config("rfc") }.with(|tcp| tcp.repair.frto = true);
        sender.repair.limited_transmit = false;
        let mut data = 0;
        let mut pair =
            Pair::with_iss(sender, TcpConfig { timestamps: false, ..config("rfc") }, ms(50), 0, 0).network(move |_, client, s, _| {
                data += u64::from(client && s.len > 0);
                // The first ten, and the probe of RACK-TLP.
                let lost = data <= 10 || (recovery == RecoveryKind::Rack && data == 11);
                if client && s.len > 0 && lost { vec![] } else { vec![Duration::ZERO] }
            });
        pair.client.write(40_000);
        pair.run_until(at_ms(10_000));
        let stats = pair.client.stats();
        assert_eq!(pair.server.bytes_delivered(), 40_000, "{recovery:?}");
        assert_eq!((stats.timeouts, stats.spurious_recoveries), (1, 0), "{recovery:?}: {stats:?}");
        assert!(pair.client.info().ssthresh <= 10_000);
    }
}

/// RFC 3522: the first ACK after the timeout echoes a time before it. The reduction is taken back at once.
#[test]
fn eifel_undoes_a_timeout_by_a_delay_spike() {
    for recovery in ALL {
        let (before, after, stats) = delay_spike(ms(450), |c| (c.recovery, c.repair.undo, c.timestamps) = (recovery, true, true));
        assert_eq!((stats.timeouts, stats.spurious_recoveries), (1, 1), "{recovery:?}: {stats:?}");
        assert!(stats.segments_retransmitted <= 2, "{recovery:?}: {stats:?}");
        assert!(after.cwnd >= before.cwnd && after.ca_state == CaState::Open, "{recovery:?}: {before:?} {after:?}");
    }
}

/// RFC 3708: the receiver reports all that the timer retransmitted as duplicates (without timestamps, nor F-RTO).
#[test]
fn dsacks_undo_a_timeout_by_a_delay_spike() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        let (before, after, stats) = delay_spike(ms(450), |c| (c.recovery, c.repair.undo) = (recovery, true));
        assert_eq!(stats.spurious_recoveries, 1, "{recovery:?}: {stats:?}");
        assert!(after.cwnd >= before.cwnd, "{recovery:?}: {before:?} {after:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However long the spike, and whichever way there is to tell: where the timer went off once, each takes it back, alone or with
    /// the others.
    #[test]
    fn every_way_finds_the_same_timeout_needless(spike in 320u64..780) {
        for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
            for (frto, undo, timestamps, dsack) in
                [(true, false, false, false), (false, true, true, false), (false, true, false, true), (true, true, true, true)]
            {
                let (before, after, stats) = delay_spike(ms(spike), |c| {
                    (c.recovery, c.repair.frto, c.repair.undo, c.timestamps, c.dsack) = (recovery, frto, undo, timestamps, dsack);
                });
                // The probe of RACK-TLP puts the timer off.
                prop_assert!(stats.timeouts == 1 || (stats.timeouts == 0 && recovery == RecoveryKind::Rack), "{:?}", stats);
                prop_assert_eq!(stats.spurious_recoveries, stats.timeouts, "{:?} {} {} {}: {:?}", recovery, frto, timestamps, dsack, stats);
                prop_assert!(after.cwnd >= before.cwnd && after.ssthresh >= before.ssthresh, "{:?} {:?}", before, after);
            }
        }
    }
}

/// Ten segments overtake one, by far enough that it is taken for lost: its late arrival and the DSACK say that it was not.
#[test]
fn reordering_does_not_cost_half_the_window() {
    let run = |recovery, undo, timestamps| {
        let sender = TcpConfig { recovery, timestamps, mss: 1000, initial_window: 20, initial_ssthresh: 20_000, ..config("rfc") }
            .with(|tcp| tcp.repair.undo = undo);
        let receiver = TcpConfig { delayed_ack: DelayedAck::Off, timestamps, ..config("rfc") };
        let mut data = 0;
        let mut pair = Pair::with_iss(sender, receiver, ms(50), 0, 0).network(move |_, client, segment, _| {
            data += u64::from(client && segment.len > 0);
            vec![if client && segment.len > 0 && data == 1 { ms(40) } else { Duration::ZERO }]
        });
        pair.client.write(u64::MAX);
        pair.run_until(at_ms(1_000));
        (pair.client.stats(), pair.client.info())
    };
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        for timestamps in [false, true] {
            let (stats, info) = run(recovery, true, timestamps);
            assert_eq!((stats.fast_retransmits, stats.spurious_recoveries), (1, 1), "{recovery:?} {timestamps}");
            assert!(info.ssthresh >= 20_000 && info.cwnd >= 20_000, "{recovery:?} {timestamps}: {info:?}");
            let (stats, info) = run(recovery, false, timestamps);
            assert!(stats.spurious_recoveries == 0 && info.ssthresh == 10_000, "{recovery:?}: {info:?}");
        }
    }
    // Timestamps alone, without SACK.
    let (stats, info) = run(RecoveryKind::NewReno, true, true);
    assert!(stats.spurious_recoveries == 1 && info.ssthresh >= 20_000, "{info:?}");
}

/// A fast retransmit that repaired a loss is not taken back, whatever else arrives twice.
#[test]
fn a_real_loss_is_not_undone() {
    for recovery in ALL {
        for (undo, frto) in [(true, false), (true, true)] {
            let sender = TcpConfig { recovery, mss: 1000, initial_window: 20, initial_ssthresh: 20_000, ..config("rfc") }.with(|tcp| {
                tcp.repair.undo = undo;
                tcp.repair.frto = frto;
            });
            let mut data = 0;
            let mut pair = Pair::with_iss(sender, config("rfc"), ms(50), 0, 0).network(move |_, client, segment, _| {
                data += u64::from(client && segment.len > 0);
                // Two losses; and a duplicate by the network that has nothing to do with them.
                match data {
                    3 | 5 if client && segment.len > 0 => vec![],
                    30 if client && segment.len > 0 => vec![Duration::ZERO, Duration::ZERO],
                    _ => vec![Duration::ZERO],
                }
            });
            pair.client.write(u64::MAX);
            pair.run_until(at_ms(800));
            assert_eq!(pair.client.stats().spurious_recoveries, 0, "{recovery:?}");
            assert!(pair.client.info().ssthresh <= 10_000, "{recovery:?}");
        }
    }
}

//! Two ways to say Tahoe, as a congestion control and as a way of recovery; and the stack of 1988.

use super::*;
use crate::congestion;

#[test]
fn the_control_behaves_as_reno_with_tahoe_recovery_whatever_recovery_says() {
    let run = |control: &str, recovery| {
        let sender = TcpConfig { congestion_control: congestion::choice(control), recovery, ..config("rfc") };
        // Losses among the first transmissions: single ones, a burst, and more than a window, which takes the timer.
        let mut segments = 0;
        let mut highest = 0;
        let mut pair = Pair::with_iss(sender, config("rfc"), ms(30), 0, 0).network(|_, client, segment, _| {
            if !client || segment.len == 0 || segment.seq <= highest {
                return vec![Duration::ZERO];
            }
            (highest, segments) = (segment.seq, segments + 1);
            let lost = matches!(segments, 60 | 61 | 200..210 | 700..850);
            if lost { vec![] } else { vec![Duration::ZERO] }
        });
        pair.client.write(2_000_000);
        pair.client.close();
        pair.run_until(at_ms(60_000));
        assert_eq!(pair.server.bytes_read(), 2_000_000, "{control}");
        let segments: Vec<_> = pair.data().map(|(at, segment)| (at, segment.seq)).collect();
        (pair.client.stats().timeouts, segments)
    };
    let tahoe = run("reno", RecoveryKind::Tahoe);
    assert!(tahoe.0 > 0);
    assert!(tahoe == run("tahoe", RecoveryKind::Sack) && tahoe == run("tahoe", RecoveryKind::NewReno));
    assert!(tahoe != run("reno", RecoveryKind::Sack));
}

/// The stack of 1988 over 100 ms, segments of 1000 bytes, every one acknowledged at once by a peer with room for `window`.
fn tahoe_1988<'a>(window: u64, change: impl Fn(&mut TcpConfig)) -> Pair<'a> {
    let base = TcpConfig { mss: 1000, delayed_ack: DelayedAck::Off, send_buffer: 1 << 20, ..config("bsd-tahoe-1988") };
    let mut sender = base.clone();
    change(&mut sender);
    let mut pair = Pair::with_iss(sender, TcpConfig { receive_buffer: window, ..base }, ms(50), 0, 0);
    pair.client.write(10_000_000);
    pair
}

/// Romanow and Floyd 1995 §2: the window doubles each round trip up to half the one advertised, then grows by a segment, and is
/// never more than advertised.
#[test]
fn slow_start_ends_at_half_the_advertised_window() {
    let mut pair = tahoe_1988(12_000, |_| {});
    let mut windows = Vec::new();
    for round in 1..14 {
        pair.run_until(at_ms(50 + 100 * round));
        windows.push(pair.data().filter(|(at, _)| *at > at_ms(100 * round - 50)).count());
    }
    assert_eq!(pair.client.info().ssthresh, 6_000);
    // mss^2 / cwnd an ACK is a little less than a segment a window: in one round no whole one came together.
    assert_eq!(windows, [1, 2, 4, 6, 7, 8, 9, 10, 10, 11, 12, 12, 12]);
    // Window in use, and the segment more that this allows (and what the last ACK added beyond it).
    assert!((13_000..13_100).contains(&pair.client.info().cwnd));
}

/// Romanow and Floyd 1995, appendix B: the least timeout is two ticks whatever the tick, and the first is 0.2 s also after a lost SYN.
#[test]
fn timers_follow_a_clock_of_any_granularity() {
    for (tick_us, rtt_us) in [(1, 40_u64), (100, 40), (100, 5_000), (300_000, 40), (300_000, 5_000)] {
        let tick = Duration::from_micros(tick_us);
        let mut pair =
            tahoe_1988(8_000, |c| (c.timers.slow_timer, c.timers.rto_min, c.timers.rto_initial) = (tick, tick * 2, ms(200).max(tick * 2)));
        pair.delay = Duration::from_micros(rtt_us / 2);
        let mut dropped = 0;
        // The SYN, and the first data.
        pair = pair.network(move |n, client, segment, _| {
            let drop = client && (n == 0 || segment.len > 0 && dropped == 0 && segment.seq == 1);
            dropped += u64::from(drop && segment.len > 0);
            if drop { vec![] } else { vec![Duration::ZERO] }
        });
        pair.run_until(Time::ZERO + Duration::from_secs(4));
        let first: Vec<Time> =
            pair.log.iter().filter(|(_, client, s)| *client && (s.len > 0 || s.seq == 0)).map(|(at, ..)| *at).take(4).collect();
        let initial = ms(200).max(tick * 2);
        for gap in [first[1].since(first[0]), first[3].since(first[2])] {
            assert!(gap + tick >= initial && gap <= initial, "{tick_us} us: {gap:?}");
        }
        // A steady round trip: srtt, and at least two ticks.
        let rto = pair.client.info().rto;
        let rtt = Duration::from_micros(rtt_us);
        assert!(rto >= tick * 2 && rto <= (rtt + tick * 4).max(tick * 2), "{tick_us} us: {rto:?}");
        assert_eq!(pair.client.stats().timeouts, 1, "{tick_us} us");
    }
}

/// RFC 2582 §5 describes it: going back over what has arrived brings duplicate ACKs, which start another fast retransmit.
#[test]
fn bsd_retransmits_fast_again_within_one_window() {
    let again = |repeated| {
        let mut pair = tahoe_1988(64_000, |c| (c.repair.repeated_fast_retransmit, c.initial_window) = (repeated, 30)).network({
            let mut n = 0;
            move |_, client, segment, _| {
                n += u32::from(client && segment.len > 0);
                let lost = client && segment.len > 0 && matches!(n, 2 | 4 | 6);
                if lost { vec![] } else { vec![Duration::ZERO] }
            }
        });
        pair.run_until(at_ms(3_000));
        pair.client.stats().fast_retransmits
    };
    assert_eq!(again(false), 1);
    assert!(again(true) > 1);
}

#[test]
fn bsd_lowers_ssthresh_with_each_timeout() {
    let after = |halve| {
        // From 2 s on nothing arrives.
        let mut pair = tahoe_1988(32_000, |c| c.timers.halve_each_timeout = halve);
        let clock = pair.clock.clone();
        pair = pair.network(move |_, client, _, _| if client && clock.get() > at_ms(2_000) { vec![] } else { vec![Duration::ZERO] });
        pair.run_until(at_ms(20_000));
        assert!(pair.client.stats().timeouts > 2);
        pair.client.info().ssthresh
    };
    assert_eq!((after(false), after(true)), (15_000, 2_000));
}

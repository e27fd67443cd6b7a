//! A congestion window that is not used: what becomes of it after idleness, and at a loss.

use super::*;
use crate::{CwndValidation, Pacing};

const MSS: u64 = 1448;

/// A client on a path of 50 ms that has sent 1000 segments; its window is more than 300 then.
fn after_a_burst(cwnd_validation: CwndValidation, lose: Rc<Cell<u64>>) -> Pair<'static> {
    let config = config("rfc").with(|tcp| tcp.sending.cwnd_validation = cwnd_validation);
    let network = move |_, client, segment: &mut Segment, _: &mut Ecn| {
        // The next so many data segments.
        let hit = client && segment.len > 0 && lose.get() > 0;
        lose.set(lose.get() - u64::from(hit));
        if hit { vec![] } else { vec![Duration::ZERO] }
    };
    let mut pair = Pair::new(config.clone(), config, ms(25)).network(network);
    pair.client.write(1000 * MSS);
    pair.run_until(at_ms(2_000));
    assert!(pair.client.all_acked() && pair.client.info().cwnd > 300 * MSS);
    pair
}

#[test]
fn after_idleness_it_is_kept_or_not() {
    for (kind, minutes, expected) in [
        (CwndValidation::Off, 6, 1.0),
        (CwndValidation::Rfc7661, 1, 1.0),
        // RFC 7661 §4.4.3: half of it after five minutes.
        (CwndValidation::Rfc7661, 6, 0.5),
    ] {
        let mut pair = after_a_burst(kind, Rc::default());
        let before = pair.client.info().cwnd;
        pair.run_until(at_ms(minutes * 60_000));
        pair.client.write(MSS);
        pair.flush();
        assert_eq!(pair.client.info().cwnd, (before as f64 * expected) as u64, "{kind:?} after {minutes} min");
    }
    // RFC 5681 §4.1.
    let mut pair = after_a_burst(CwndValidation::Rfc5681, Rc::default());
    pair.run_until(at_ms(10_000));
    pair.client.write(MSS);
    pair.flush();
    assert_eq!(pair.client.info().cwnd, 10 * MSS);
}

/// RFC 2861 §3.2: half of it for each rto of idleness; ssthresh leads back to three quarters.
#[test]
fn after_idleness_it_has_decayed() {
    for (pause, halvings) in [(0, 0), (1_500, 1), (2_500, 2), (60_000, 60)] {
        let mut pair = after_a_burst(CwndValidation::Rfc2861, Rc::default());
        let (before, rto) = (pair.client.info().cwnd, pair.client.info().rto);
        let last = pair.data().last().unwrap().0;
        assert_eq!(rto, Duration::from_secs(1), "the least");
        pair.run_until(last + ms(pause));
        pair.client.write(MSS);
        pair.flush();
        assert_eq!(pair.client.info().cwnd, (before >> halvings).max(10 * MSS), "after {pause} ms");
    }
}

/// RFC 2861 §3.1: a fifth of a window of hundreds, for rto after rto. RFC 5681 keeps it.
#[test]
fn a_window_used_in_part_decays() {
    for (kind, decays) in [(CwndValidation::Rfc5681, false), (CwndValidation::Rfc2861, true)] {
        let mut pair = after_a_burst(kind, Rc::default());
        // The burst ended a while ago: that idleness is over.
        pair.client.write(MSS);
        pair.run_until(at_ms(2_100));
        let before = pair.client.info().cwnd;
        let mut windows = Vec::new();
        for n in 1..40 {
            pair.client.write(before / 5 / MSS * MSS);
            pair.run_until(at_ms(2_100 + 100 * n));
            windows.push(pair.client.info().cwnd);
        }
        if !decays {
            assert!(windows.iter().all(|cwnd| *cwnd == before));
            continue;
        }
        windows.dedup();
        // Halfway to a fifth of it, again and again: 0.6, 0.4, 0.3 of what it was.
        let shares: Vec<f64> = windows.iter().map(|cwnd| *cwnd as f64 / before as f64).collect();
        assert!(shares[0] == 1.0 && shares.len() >= 4, "{shares:?}");
        for pair in shares.windows(2) {
            assert!((pair[1] - (pair[0] + 0.2) / 2.0).abs() < 0.01, "{shares:?}");
        }
    }
}

/// RFC 7661 §4.4.2.
#[test]
fn an_unused_window_is_paced_out_over_a_round_trip() {
    for (kind, pacing, paced) in [
        (CwndValidation::Rfc7661, Pacing::Auto, true),
        (CwndValidation::Rfc7661, Pacing::Off, false),
        (CwndValidation::Off, Pacing::Auto, false),
    ] {
        let config = config("rfc").with(|tcp| {
            tcp.sending.cwnd_validation = kind;
            tcp.sending.pacing = pacing;
        });
        let mut pair = Pair::new(config.clone(), config, ms(25));
        pair.client.write(1000 * MSS);
        pair.run_until(at_ms(60_000));
        let (window, sent) = (pair.client.info().cwnd / MSS, pair.data().count() as u64);
        assert!(sent == 1000 && window > 300);
        pair.client.write(4 * window * MSS);
        pair.run_until(at_ms(60_049));
        let mut bursts: Vec<(Time, u64)> = Vec::new();
        for (at, _) in pair.data().skip(1000) {
            match bursts.last_mut() {
                Some((last, n)) if *last == at => *n += 1,
                _ => bursts.push((at, 1)),
            }
        }
        if !paced {
            assert_eq!(bursts, [(at_ms(60_000), window)], "{kind:?} {pacing:?}");
            continue;
        }
        // A window in 50 ms, by quanta of 1 ms.
        let (total, most) = bursts.iter().fold((0, 0), |(sum, most), (_, n)| (sum + n, most.max(*n)));
        assert!(total.abs_diff(window * 49 / 50) <= most && most <= window / 50 + 2, "{window}: {bursts:?}");
        // Used again, it is validated, and its ACKs clock it.
        pair.run_until(at_ms(60_160));
        assert!(pair.client.info().cwnd / MSS > window);
        assert_eq!(pair.data().count() as u64, 1000 + 4 * window);
    }
}

#[test]
fn a_loss_falls_back_to_what_was_used() {
    for (kind, expected) in [(CwndValidation::Off, 10), (CwndValidation::Rfc7661, 9)] {
        let lose = Rc::new(Cell::new(0));
        let mut pair = after_a_burst(kind, lose.clone());
        let before = pair.client.info().cwnd;
        // 20 segments a fifth of a second: a small part of the window.
        for n in 0..20 {
            pair.client.write(20 * MSS);
            if n == 19 {
                lose.set(1);
            }
            pair.run_until(at_ms(2_200 + 200 * n));
            assert!(n == 19 || pair.client.info().cwnd == before, "it neither grows nor shrinks while it is not used");
        }
        let (window, stats) = (pair.client.info().cwnd / MSS, pair.client.stats());
        // The second is RFC 6675's rescue of the last segment, which was not lost.
        assert_eq!((stats.fast_retransmits, stats.timeouts, stats.segments_retransmitted), (1, 0, 2));
        // Half of the 20 in flight; RFC 7661 §4.4.1 takes off half of what was lost, too: (20 - 1) / 2.
        assert_eq!(window, expected, "{kind:?}");
    }
}

#[test]
fn a_flow_without_pause_does_not_notice() {
    let windows = |cwnd_validation| {
        let config = config("rfc").with(|tcp| tcp.sending.cwnd_validation = cwnd_validation);
        // One segment in 2000 is lost.
        let network = |n, client, _: &mut Segment, _: &mut Ecn| if client && n % 2_000 == 1_999 { vec![] } else { vec![Duration::ZERO] };
        let mut pair = Pair::new(config.clone(), config, ms(25)).network(network);
        pair.client.write(u64::MAX);
        let windows: Vec<u64> = (0..300)
            .map(|n| {
                pair.run_until(at_ms(20 * n));
                pair.client.info().cwnd
            })
            .collect();
        (windows, pair.client.stats().fast_retransmits)
    };
    let (standard, losses) = windows(CwndValidation::Rfc5681);
    assert!(losses > 3);
    assert_eq!(windows(CwndValidation::Rfc7661), (standard, losses));
}

/// Ten segments at a time, of a window of ten: each flight uses it whole, and lets it grow as one with more behind it would.
#[test]
fn a_window_exactly_full_grows() {
    for (control, ssthresh, expected) in
        [("reno", u64::MAX, 20), ("reno", 10 * MSS, 11), ("cubic", u64::MAX, 20), ("scalable", u64::MAX, 20)]
    {
        let sender =
            TcpConfig { congestion_control: congestion::choice(control), initial_ssthresh: ssthresh, initial_window: 10, ..config("rfc") };
        let mut pair = Pair::new(sender, config("rfc"), ms(25));
        pair.client.write(10 * MSS);
        pair.run_until(at_ms(500));
        assert!(pair.client.all_acked());
        assert_eq!(pair.client.info().cwnd / MSS, expected, "{control}");
        // Half of it now: not used.
        pair.client.write(5 * MSS);
        pair.run_until(at_ms(1_000));
        assert_eq!(pair.client.info().cwnd / MSS, expected, "{control}");
    }
}

/// Slow start with less than cwnd in flight: RFC 9438 §5.8 has no growth; Linux has it up to twice what was in flight.
#[test]
fn slow_start_may_go_on_with_half_the_window_used() {
    for (slow_start_half_used, ssthresh, segments, expected) in [
        (false, u64::MAX, 9, 10),
        (true, u64::MAX, 10, 20),
        (true, u64::MAX, 9, 18),
        (true, u64::MAX, 6, 12),
        // Half is not more than half.
        (true, u64::MAX, 5, 10),
        // In congestion avoidance all of it must be used.
        (true, 10 * MSS, 9, 10),
        (true, 10 * MSS, 10, 11),
    ] {
        let sender = TcpConfig { initial_ssthresh: ssthresh, initial_window: 10, ..config("rfc") }
            .with(|tcp| tcp.growth.slow_start_half_used = slow_start_half_used);
        let mut pair = Pair::new(sender, config("rfc"), ms(25));
        // Again and again, as an application with so much to send at a time does.
        for n in 1..=10 {
            pair.client.write(segments * MSS);
            pair.run_until(at_ms(500 * n));
            assert!(pair.client.all_acked());
            if n == 1 && expected > 10 && segments == 10 {
                break;
            }
        }
        assert_eq!(pair.client.info().cwnd / MSS, expected, "{segments} of 10, {slow_start_half_used}");
    }
}

/// RFC 5681 Eq. 4: ssthresh from what is in flight; Linux reckons it from cwnd (RFC 9438 §4.6 knows both). For losses, timeouts, marks.
#[test]
fn ssthresh_may_come_from_cwnd() {
    for (ssthresh_from_cwnd, of) in [(false, 20), (true, 100)] {
        for control in ["reno", "cubic"] {
            let left = if control == "reno" { 0.5 } else { 0.7 };
            for all in [false, true] {
                let lose = Rc::new(Cell::new(0));
                let counter = Rc::clone(&lose);
                let network = move |_, client, segment: &mut Segment, _: &mut Ecn| {
                    let hit = client && segment.len > 0 && counter.get() > 0;
                    counter.set(counter.get() - u64::from(hit));
                    if hit { vec![] } else { vec![Duration::ZERO] }
                };
                let congestion_control = congestion::choice(control);
                let initial = 100 * MSS;
                let sender = TcpConfig { congestion_control, initial_window: 100, initial_ssthresh: initial, ..config("rfc") }
                    .with(|tcp| tcp.growth.ssthresh_from_cwnd = ssthresh_from_cwnd);
                let mut pair = Pair::new(sender, config("rfc"), ms(25)).network(network);
                pair.run_until(at_ms(200));
                lose.set(if all { 20 } else { 1 });
                pair.client.write(20 * MSS);
                pair.run_until(at_ms(1_400));
                let (info, stats) = (pair.client.info(), pair.client.stats());
                assert_eq!((stats.timeouts > 0, stats.fast_retransmits), (all, u64::from(!all)));
                let expected = (f64::from(of) * MSS as f64 * left + 0.5) as u64;
                assert_eq!(info.ssthresh, expected, "{control}, from cwnd: {ssthresh_from_cwnd}, timeout: {all}");
            }
        }
    }
}

/// A send buffer that is no whole number of segments: Nagle's algorithm holds its last piece back, and more waits behind it. cwnd grows to
/// the segment beyond what the buffer allows, and no further.
#[test]
fn a_send_buffer_is_the_limit_at_once() {
    for send_buffer in [20_000, 20_500] {
        let sender = TcpConfig { mss: 1000, send_buffer, ..config("rfc") };
        let mut pair = Pair::new(sender, config("rfc"), ms(25));
        pair.client.write(1_000_000);
        pair.run_until(at_ms(2_000));
        let cwnd = pair.client.info().cwnd;
        assert!((21_000..=22_000).contains(&cwnd), "{send_buffer}: {cwnd}");
    }
}

/// A connection that begins late was not idle before: its first window is whole (RFC 2861 §3.2 begins with T_prev = now).
#[test]
fn a_late_connection_does_not_begin_decayed() {
    let sender = TcpConfig { initial_window: 10, ..config("rfc") }.with(|tcp| tcp.sending.cwnd_validation = CwndValidation::Rfc2861);
    let mut pair = Pair::new(sender, config("rfc"), ms(25));
    pair.now = at_ms(60_000);
    pair.client.write(3 * MSS);
    pair.run_until(at_ms(60_300));
    assert!(pair.client.all_acked());
    assert_eq!(pair.client.info().cwnd, 10 * MSS);
}

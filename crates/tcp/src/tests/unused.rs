//! A congestion window that is not used: what becomes of it after idleness, and at a loss.

use super::*;
use crate::{CwndValidation, Pacing};

const MSS: u64 = 1448;

/// A client on a path of 50 ms that has sent 1000 segments; its window is more than 300 then.
fn after_a_burst(cwnd_validation: CwndValidation, lose: Rc<Cell<u64>>) -> Pair<'static> {
    let config = TcpConfig { cwnd_validation, ..config("rfc") };
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

/// RFC 7661 §4.4.2.
#[test]
fn an_unused_window_is_paced_out_over_a_round_trip() {
    for (kind, pacing, paced) in [
        (CwndValidation::Rfc7661, Pacing::Auto, true),
        (CwndValidation::Rfc7661, Pacing::Off, false),
        (CwndValidation::Off, Pacing::Auto, false),
    ] {
        let config = TcpConfig { cwnd_validation: kind, pacing, ..config("rfc") };
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
        let config = TcpConfig { cwnd_validation, ..config("rfc") };
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

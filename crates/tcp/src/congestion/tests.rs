//! Conformance: what every congestion control in the registry must do. Loops over the registry.

use super::testing::give;
use super::*;
use crate::stack;
use longfat_core::params::{Kind, Value};

mod lives;

fn config(name: &'static str) -> TcpConfig {
    let mut config = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
    config.congestion_control = choice(name);
    config
}

/// A path of two segments each ms and 70 ms. The `n`th ACK, 1 ms after the one before.
fn ack(n: u64, cwnd: u64) -> AckSample {
    let (delivered, a_round) = ((n + 1) * 2 * 1448, 70 * 2 * 1448);
    let rate = RateSample {
        delivered: delivered.min(a_round),
        interval: Duration::from_millis(70),
        prior_delivered: delivered.saturating_sub(a_round),
        total_delivered: delivered,
        in_flight_then: cwnd,
        in_flight: cwnd,
        rtt: Some(Duration::from_millis(70)),
        ..RateSample::default()
    };
    AckSample {
        now: Time::ZERO + Duration::from_millis(n),
        acked: 2 * 1448,
        delivered: 2 * 1448,
        in_flight: cwnd,
        rtt: Some(Duration::from_millis(70)),
        srtt: Duration::from_millis(70),
        rtt_min: Duration::from_millis(70),
        round: n / 10,
        cwnd_limited: true,
        rate: Some(rate),
        ..AckSample::default()
    }
}

fn event(kind: Congestion, n: u64, flight_size: u64) -> CongestionEvent {
    CongestionEvent { now: Time::ZERO + Duration::from_millis(n), kind, flight_size }
}

/// A long life: growth, losses, timeouts, idleness. Calls `check` after every step.
fn live(name: &'static str, mut check: impl FnMut(&dyn CongestionControl)) {
    let mut control = (find(name).unwrap().build)(&config(name));
    for n in 0..3_000 {
        match n % 997 {
            500 => control.on_congestion(&event(Congestion::Loss, n, control.cwnd())),
            700 => control.on_congestion(&event(Congestion::Timeout, n, control.cwnd())),
            701 => control.on_congestion(&event(Congestion::TimeoutAgain, n, control.cwnd())),
            900 => control.on_congestion(&event(Congestion::Ecn, n, control.cwnd())),
            950 => control.on_restart(Duration::from_secs(5)),
            _ => {
                let sample = ack(n, control.cwnd());
                give(control.as_mut(), &sample);
            }
        }
        check(control.as_ref());
    }
}

#[test]
fn every_control_keeps_at_least_one_segment_and_a_threshold_of_two() {
    for kind in REGISTRY {
        live(kind.name, |c| {
            assert!(c.cwnd() >= 1448, "{}", kind.name);
            assert!(c.ssthresh() >= 2 * 1448, "{}", kind.name);
        });
    }
}

#[test]
fn every_control_starts_with_the_initial_window_and_grows() {
    for kind in REGISTRY {
        let mut control = (kind.build)(&config(kind.name));
        assert_eq!(control.cwnd(), 10 * 1448, "{}", kind.name);
        for n in 0..100 {
            let sample = ack(n, control.cwnd());
            give(control.as_mut(), &sample);
        }
        assert!(control.cwnd() > 10 * 1448, "{}", kind.name);
    }
}

/// A control that lets PRR steer it through recovery answers each loss; one that steers itself may know better, but does not take
/// a loss for a reason to send more (see the test after this one for what it owes).
#[test]
fn every_control_shrinks_on_loss_and_falls_to_one_segment_on_timeout() {
    for kind in REGISTRY {
        let mut control = (kind.build)(&config(kind.name));
        for n in 0..100 {
            let sample = ack(n, control.cwnd());
            give(control.as_mut(), &sample);
        }
        let before = control.cwnd();
        control.on_congestion(&event(Congestion::Loss, 100, before));
        if control.uses_prr() {
            assert!(control.cwnd() < before && control.ssthresh() < before, "{}", kind.name);
        } else {
            assert!(control.cwnd() <= before + 2 * 1448, "{}", kind.name);
        }
        control.on_congestion(&event(Congestion::Timeout, 200, control.cwnd()));
        assert_eq!(control.cwnd(), 1448, "{}", kind.name);
        let threshold = control.ssthresh();
        control.on_congestion(&event(Congestion::TimeoutAgain, 300, 1448));
        assert_eq!(control.ssthresh(), threshold, "{}", kind.name);
    }
}

/// What a control owes that does not answer every loss: to yield where losses are many and lasting.
#[test]
fn every_control_that_steers_itself_yields_when_half_of_what_it_sends_is_lost() {
    for kind in REGISTRY {
        let mut control = (kind.build)(&config(kind.name));
        if control.uses_prr() {
            continue;
        }
        for n in 0..3_000 {
            give(control.as_mut(), &ack(n, 140 * 1448));
        }
        let (cwnd, rate) = (control.cwnd(), control.pacing_rate());
        // For 21 rounds one of two segments is lost.
        let mut lost = 0;
        for n in 0..1_500 {
            let mut ack = ack(3_000 + n, 140 * 1448);
            lost += 1448;
            (ack.acked, ack.delivered, ack.in_recovery) = (1448, 1448, true);
            let rate = ack.rate.as_mut().expect("every sample here has one");
            (rate.total_delivered, rate.delivered) = (3_000 * 2 * 1448 + n * 1448, 70 * 1448);
            rate.prior_delivered = rate.total_delivered - 70 * 1448;
            (rate.total_lost, rate.lost) = (lost, lost.min(70 * 1448));
            let start = rate.total_delivered + lost;
            control.on_lost(&LostPacket { start, end: start + 1448, in_flight_then: 140 * 1448, lost: rate.lost, app_limited: false });
            control.on_sample(&ack);
        }
        assert!(control.cwnd() < cwnd * 3 / 4, "{}: {} of {cwnd}", kind.name, control.cwnd());
        assert!(control.pacing_rate() < rate.map(|r| Rate::from_bps(r.as_bps() * 3 / 4)), "{}", kind.name);
    }
}

/// A window that nobody uses does not grow. Where the window follows the rate of delivery, it is bounded by that rate.
#[test]
fn no_control_grows_while_something_else_is_the_limit() {
    for kind in REGISTRY {
        let mut control = (kind.build)(&config(kind.name));
        for n in 0..100 {
            let mut ack = AckSample { cwnd_limited: false, ..ack(n, 1448) };
            ack.rate.as_mut().expect("every sample here has one").app_limited = true;
            give(control.as_mut(), &ack);
            if control.uses_prr() {
                assert_eq!(control.cwnd(), 10 * 1448, "{}", kind.name);
            }
        }
        // The BDP is 140 segments, the greatest gain 2.9; three quanta of 64 KiB, and one ACK.
        assert!(control.cwnd() <= 29 * 14 * 1448 + 3 * 65_536 + 2 * 1448, "{}: {}", kind.name, control.cwnd());
    }
}

#[test]
fn every_control_takes_back_what_was_for_nothing_and_only_once() {
    for kind in REGISTRY {
        for why in [Congestion::Loss, Congestion::Timeout, Congestion::Ecn] {
            let mut control = (kind.build)(&config(kind.name));
            for n in 0..100 {
                let sample = ack(n, control.cwnd());
                give(control.as_mut(), &sample);
            }
            // A first reduction that was right, so that there is a threshold to give back.
            control.on_congestion(&event(Congestion::Loss, 100, control.cwnd()));
            control.on_recovered(Time::ZERO + Duration::from_millis(100));
            let before = (control.cwnd(), control.ssthresh());
            control.on_congestion(&event(why, 101, before.0));
            control.on_spurious();
            let after = (control.cwnd(), control.ssthresh());
            assert!(after.0 >= before.0 && after.1 >= before.1, "{} after {why:?}: {before:?} became {after:?}", kind.name);
            control.on_spurious();
            assert_eq!((control.cwnd(), control.ssthresh()), after, "{} after {why:?}", kind.name);
        }
    }
}

#[test]
fn every_default_is_within_its_bounds() {
    for (kind, p) in REGISTRY.iter().flat_map(|kind| kind.params.iter().map(move |p| (kind, p))) {
        let within = match (p.kind, p.default) {
            (_, None | Some(Value::Auto)) => true,
            (Kind::Number { min, max }, Some(Value::Number(x))) => min <= x && x <= max,
            (Kind::Count { min, max, .. }, Some(Value::Count(n))) | (Kind::Bytes { min, max }, Some(Value::Bytes(n))) => {
                min <= n && n <= max
            }
            (Kind::Duration { min, max }, Some(Value::Duration(d))) => min <= d && d <= max,
            (Kind::Choice(words), Some(Value::Choice(word))) => words.contains(&word),
            (kind, Some(value)) => std::mem::discriminant(&kind) == std::mem::discriminant(&Kind::Bool) && matches!(value, Value::Bool(_)),
        };
        assert!(within, "{}: {} is {:?}", kind.name, p.name, p.default);
    }
}

#[test]
fn every_control_is_deterministic() {
    for kind in REGISTRY {
        let life = || {
            let mut windows = Vec::new();
            live(kind.name, |c| windows.push((c.cwnd(), c.ssthresh())));
            windows
        };
        assert_eq!(life(), life(), "{}", kind.name);
    }
}

#[test]
fn reno_slow_start_doubles_a_round_and_avoidance_adds_one_segment_a_round() {
    let mut control = (find("reno").unwrap().build)(&TcpConfig { initial_window: 2, ..config("reno") });
    let round = |control: &mut Box<dyn CongestionControl + Send>| {
        let mut left = control.cwnd();
        let mut n = 0;
        while left > 0 {
            let acked = left.min(2 * 1448);
            control.on_ack(&AckSample { acked, ..ack(n, left) });
            left -= acked;
            n += 1;
        }
        control.cwnd() / 1448
    };
    assert_eq!([round(&mut control), round(&mut control), round(&mut control)], [4, 8, 16]);
    control.on_congestion(&event(Congestion::Loss, 0, control.cwnd()));
    assert_eq!(control.cwnd() / 1448, 8);
    assert_eq!([round(&mut control), round(&mut control), round(&mut control)], [9, 10, 11]);
}

#[test]
fn reno_halves_to_the_byte_or_as_bsd_did_to_whole_segments() {
    for (abc_limit, expected) in [(2, 15 * 1448 / 2), (0, 7 * 1448)] {
        let mut control = (find("reno").unwrap().build)(&TcpConfig { abc_limit, ..config("reno") });
        control.on_congestion(&event(Congestion::Loss, 0, 15 * 1448));
        assert_eq!(control.ssthresh(), expected);
    }
}

/// Round trips that come and go with the flow's own queue, in trains of ACKs: whatever the slow start makes of it, the control keeps
/// its bounds, grows no faster than the bytes acknowledged, and does the same again.
#[test]
fn every_control_lives_with_every_slow_start() {
    for kind in REGISTRY {
        for slow_start in slow_start::NAMES {
            let config = TcpConfig { slow_start, ..config(kind.name) };
            let life = || {
                let mut control = (kind.build)(&config);
                let mut windows = Vec::new();
                for n in 0..3_000 {
                    let (before, below) = (control.cwnd(), control.cwnd() < control.ssthresh());
                    let queue = Duration::from_micros((n % 300) * 100);
                    let rtt = Duration::from_millis(70) + queue;
                    match n % 997 {
                        500 => control.on_congestion(&event(Congestion::Loss, n, before)),
                        700 => control.on_congestion(&event(Congestion::Timeout, n, before)),
                        701 => control.on_spurious(),
                        950 => control.on_restart(Duration::from_secs(5)),
                        _ => {
                            let sample = AckSample { rtt: Some(rtt), round: n / 50, ..ack(n, before) };
                            control.on_sample(&sample);
                            control.on_ack(&sample);
                            // What was acknowledged; of Hybla, 2^rho - 1 times that, and rho = 100 ms / 25 ms at most.
                            let fold = if kind.name == "hybla" { 15 } else { 1 };
                            let most = before + if below { fold * sample.acked } else { before };
                            assert!(control.cwnd() <= most, "{} with {slow_start}", kind.name);
                        }
                    }
                    assert!(control.cwnd() >= 1448 && control.ssthresh() >= 2 * 1448, "{} with {slow_start}", kind.name);
                    windows.push((control.cwnd(), control.ssthresh()));
                }
                windows
            };
            assert_eq!(life(), life(), "{} with {slow_start}", kind.name);
        }
    }
}

#[test]
fn leaving_slow_start_sets_ssthresh_and_growth_goes_on_in_congestion_avoidance() {
    for name in ["reno", "cubic"] {
        for (slow_start, leaves) in [("standard", false), ("limited", false), ("hystart", true), ("hystart++", true)] {
            let mut control = (find(name).unwrap().build)(&TcpConfig { slow_start, ..config(name) });
            // 20 ACKs a round; the round trip rises by 20 ms in the third.
            for n in 0..400 {
                let rtt = Duration::from_millis(if n < 40 { 70 } else { 90 });
                control.on_ack(&AckSample { rtt: Some(rtt), round: n / 20, now: Time::ZERO + Duration::from_millis(10 * n), ..ack(n, 0) });
            }
            assert_eq!(control.ssthresh() < u64::MAX, leaves, "{name} with {slow_start}");
            assert!(!leaves || control.cwnd() > control.ssthresh(), "{name} with {slow_start}");
        }
    }
}

/// A control that keeps a window must take one that was found not validated; one that models the path need not.
#[test]
fn every_control_that_keeps_a_window_takes_another() {
    for kind in REGISTRY {
        let mut control = (kind.build)(&config(kind.name));
        for n in 0..100 {
            control.on_ack(&ack(n, control.cwnd()));
        }
        control.on_validation(40 * 1448, 60 * 1448);
        let taken = (control.cwnd(), control.ssthresh()) == (40 * 1448, 60 * 1448);
        assert!(taken || !control.uses_prr(), "{}: on_validation is missing", kind.name);
    }
}

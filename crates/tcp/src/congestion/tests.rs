//! Conformance: what every congestion control in the registry must do. Loops over the registry.

use super::*;
use crate::conformance::{ack, event};
use crate::stack;
use longfat_core::params::{Kind, Value};

mod lives;

fn config(name: &'static str) -> TcpConfig {
    let mut config = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
    config.congestion_control = choice(name);
    config
}

#[test]
fn every_control_conforms() {
    for kind in REGISTRY {
        for check in crate::conformance::CHECKS {
            if let Err(why) = (check.run)(kind) {
                panic!("{}: every control {}; {why}", kind.name, check.name);
            }
        }
    }
}

/// The checks see what is wrong: a control that does nothing fails where it must.
#[test]
fn a_control_that_does_nothing_does_not_conform() {
    #[derive(Debug)]
    struct Nothing(Window);
    impl CongestionControl for Nothing {
        fn window(&self) -> Option<&Window> {
            Some(&self.0)
        }
        fn on_ack(&mut self, _ack: &AckSample) {}
        fn on_congestion(&mut self, _event: &CongestionEvent) {}
    }
    let kind = ControlKind { name: "nothing", build: |config| Box::new(Nothing(Window::new(config))), ..reno::KIND };
    let failed: Vec<&str> = crate::conformance::CHECKS.iter().filter(|check| (check.run)(&kind).is_err()).map(|check| check.name).collect();
    assert_eq!(
        failed,
        [
            "starts with the initial window, and grows",
            "shrinks on loss, and falls to one segment on timeout",
            "takes another window, where it keeps one"
        ]
    );
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

/// RFC 6928 §2, Eq. 1: min(10 MSS, max(2 MSS, 14,600)). Linux has ten segments of any size (ip-route(8), `initcwnd`, counts them).
#[test]
fn the_initial_window_is_that_of_rfc_6928_or_so_many_segments() {
    for (mss, rfc, linux) in [
        (536, 5_360, 5_360),
        (1_448, 14_480, 14_480),
        (1_460, 14_600, 14_600),
        (1_461, 14_600, 14_610),
        (2_190, 14_600, 21_900),
        (7_300, 14_600, 73_000),
        (7_301, 14_602, 73_010),
        (8_960, 17_920, 89_600),
        (65_483, 130_966, 654_830),
    ] {
        for (stack, expected) in [("rfc", rfc), ("linux", linux), ("linux-2.4", 3 * u64::from(mss)), ("reno-2001", mss.into())] {
            for kind in REGISTRY {
                let config =
                    TcpConfig { congestion_control: choice(kind.name), mss, ..TcpConfig::new(&stack::find(stack).unwrap().params(), 1500) };
                // Controls that need a parameter have no default to be built with.
                if kind.params.iter().all(|p| p.default.is_some()) {
                    // Prague counts its window in whole segments.
                    let unit = if kind.name == "prague" { mss.into() } else { 1 };
                    assert_eq!((kind.build)(&config).cwnd(), expected.next_multiple_of(unit), "{} on {stack}, mss {mss}", kind.name);
                }
            }
        }
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
        let mut control = (find("reno").unwrap().build)(&config("reno").with(|tcp| tcp.sending.abc_limit = abc_limit));
        control.on_congestion(&event(Congestion::Loss, 0, 15 * 1448));
        assert_eq!(control.ssthresh(), expected);
    }
}

#[test]
fn leaving_slow_start_sets_ssthresh_and_growth_goes_on_in_congestion_avoidance() {
    for name in ["reno", "cubic"] {
        for (slow_start, leaves) in
            [("standard", false), ("limited", false), ("hystart", true), ("hystart++", true), ("careful_resume", false)]
        {
            let mut control = (find(name).unwrap().build)(&config(name).with(|tcp| tcp.growth.slow_start = slow_start));
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

//! Random lives of every control: calls in any order, samples with extreme values, parameters at their bounds. Whatever happens, a
//! control does not panic, does not overflow, keeps its floors and does not grow while it is not the limit.

use longfat_core::params::{Choice, Params};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const MSS: u64 = 1448;

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack {
        after: Duration,
        acked: u64,
        sacked: u64,
        rtt: Option<Duration>,
        delay: Option<i64>,
        new_round: bool,
        limited: bool,
        recovery: bool,
    },
    Reduce {
        after: Duration,
        kind: Congestion,
        in_flight_percent: u64,
    },
    Recovered,
    Spurious,
    Restart,
    /// The window is not trusted any more (RFC 7661 §4.4).
    Validation,
    SynLoss,
}

fn ps(n: u64) -> Duration {
    Duration::from_ps(n)
}

fn span() -> impl Strategy<Value = Duration> {
    select(vec![ps(0), ps(1), ps(1_000_000), ps(1_000_000_000), ps(70_000_000_000), ps(10_000_000_000_000), ps(1_000_000_000_000_000)])
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || select(vec![0, 1, 2 * MSS, 1 << 20, 1 << 40]);
    let acks = (
        span(),
        select(vec![1, MSS, 2 * MSS, 1 << 20, 1 << 40]),
        bytes(),
        proptest::option::of(span()),
        proptest::option::of(-1_000_000_000_000_i64..1_000_000_000_000),
        any::<bool>(),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(after, acked, sacked, rtt, delay, new_round, limited, recovery)| Step::Ack {
            after,
            acked,
            sacked,
            rtt,
            delay,
            new_round,
            limited,
            recovery,
        });
    let kinds = vec![Congestion::Loss, Congestion::Timeout, Congestion::TimeoutAgain, Congestion::Ecn, Congestion::Local];
    let reductions =
        (span(), select(kinds), 0..=100_u64).prop_map(|(after, kind, in_flight_percent)| Step::Reduce { after, kind, in_flight_percent });
    prop_oneof![
        30 => acks,
        3 => reductions,
        1 => Just(Step::Recovered),
        1 => Just(Step::Spurious),
        1 => Just(Step::Restart),
        1 => Just(Step::Validation),
        1 => Just(Step::SynLoss),
    ]
}

/// The parameters of a control: its defaults, all at their least, all at their most.
fn params(kind: &ControlKind, level: u8) -> Params {
    let mut params = Params::defaults(kind.params);
    for p in kind.params {
        let bounds = match p.kind {
            Kind::Number { min, max } => [Value::Number(min), Value::Number(max)],
            Kind::Count { min, max, .. } => [Value::Count(min), Value::Count(max)],
            Kind::Bytes { min, max } => [Value::Bytes(min), Value::Bytes(max)],
            Kind::Duration { min, max } => [Value::Duration(min), Value::Duration(max)],
            Kind::Bool => [Value::Bool(false), Value::Bool(true)],
            _ => continue,
        };
        if level > 0 {
            params.set(p.name, bounds[usize::from(level) - 1]);
        }
    }
    params
}

/// Lives through `steps`, checking what every control promises; returns its windows.
fn run(kind: &ControlKind, config: &TcpConfig, steps: &[Step]) -> Vec<(u64, u64)> {
    let mut control = (kind.build)(config);
    let (mut now, mut round, mut srtt, mut rtt_min) = (Time::ZERO, 0, Duration::ZERO, Duration::ZERO);
    let mut windows = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let before = control.cwnd();
        match *step {
            Step::Ack { after, acked, sacked, rtt, delay, new_round, limited, recovery } => {
                now += after;
                round += u64::from(new_round);
                if let Some(rtt) = rtt {
                    rtt_min = if srtt.is_zero() { rtt } else { rtt_min.min(rtt) };
                    srtt = rtt;
                }
                let sample = AckSample {
                    now,
                    acked,
                    delivered: acked + sacked,
                    marked: if i % 7 == 0 { acked } else { 0 },
                    in_flight: before,
                    rtt,
                    srtt,
                    rtt_min,
                    forward_delay: delay,
                    round,
                    cwnd_limited: limited,
                    in_recovery: recovery,
                    ..AckSample::default()
                };
                control.on_sample(&sample);
                if !recovery {
                    control.on_ack(&sample);
                }
                assert!(limited || control.cwnd() <= before, "{} grew while something else was the limit", kind.name);
            }
            Step::Reduce { after, kind: why, in_flight_percent } => {
                now += after;
                control.on_congestion(&event_at(now, why, before / 100 * in_flight_percent));
                if control.traits().prr != PrrUse::Never {
                    assert!(control.cwnd() <= before.max(2 * MSS), "{}: {why:?} made {before} {}", kind.name, control.cwnd());
                }
            }
            Step::Recovered => control.on_recovered(now),
            Step::Spurious => control.on_spurious(),
            Step::Restart => control.on_unused(Unused::Idle(Duration::from_secs(1))),
            Step::Validation => control.on_unused(Unused::Limited { cwnd: before / 2, ssthresh: before / 4 * 3 }),
            Step::SynLoss => syn_lost(&mut *control),
        }
        let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
        assert!((MSS..1 << 50).contains(&cwnd), "{}: cwnd {cwnd} after {step:?}", kind.name);
        assert!(ssthresh >= 2 * MSS, "{}: ssthresh {ssthresh} after {step:?}", kind.name);
        windows.push((cwnd, ssthresh));
    }
    windows
}

fn event_at(now: Time, kind: Congestion, flight_size: u64) -> CongestionEvent {
    CongestionEvent { now, kind, flight_size }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_control_survives_any_life_and_lives_it_again_the_same(
        steps in prop::collection::vec(step(), 1..300),
        level in 0..3_u8,
        initial_window in select(vec![1, 2, 10, 1000]),
        initial_ssthresh in select(vec![2 * MSS, 100 * MSS, u64::MAX]),
        abc_limit in select(vec![0, 2, 1_000_000]),
    ) {
        for kind in REGISTRY {
            let config = TcpConfig { congestion_control: Choice { kind: kind.name, params: params(kind, level) }, initial_window, initial_ssthresh, ..config(kind.name) }.with(|tcp| tcp.sending.abc_limit = abc_limit);
            prop_assert_eq!(run(kind, &config, &steps), run(kind, &config, &steps), "{}", kind.name);
        }
    }
}

//! AIMD(a, b): Reno with its constants free, as the equations of Bulot, Cottrell and Hughes-Jones 2004 §2.1 have them.

use super::promises::{AS_RENO_BESIDE_CUBIC, CONVERGES, FULL, sawtooth};
use super::{AckSample, Claim, CongestionControl, CongestionEvent, ControlKind, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::promise::Promise;

pub(super) const KIND: ControlKind = ControlKind {
    name: "aimd",
    summary: "AIMD(a, b) with any a and b; 1 and 1/2 are Reno's",
    source: "Chiu and Jain, Computer Networks and ISDN Systems 1989; Bulot et al. 2004 Eq. 1 to 3",
    params: &[
        ParamSpec {
            name: "a",
            kind: Kind::Number { min: 0.001, max: 1000.0 },
            default: Some(Value::Number(1.0)),
            doc: "additive increase: segments for each window acknowledged",
        },
        ParamSpec {
            name: "b",
            kind: Kind::Number { min: 0.001, max: 0.999 },
            default: Some(Value::Number(0.5)),
            doc: "multiplicative decrease: the share of the window that a loss takes",
        },
        ParamSpec {
            name: "c",
            kind: Kind::Number { min: 0.001, max: 8.0 },
            default: Some(Value::Number(1.0)),
            doc: "slow start: segments for each segment acknowledged; with c the window grows (1 + c)-fold a round trip",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.5, "the definition: a loss takes b"),
        Promise::with(&[("b", Value::Number(0.125))], Claim::sawtooth(0.125), "the definition: a loss takes b"),
        CONVERGES,
        AS_RENO_BESIDE_CUBIC,
    ],
    build: |config| Box::new(Aimd::new(config)),
};

/// Additive increase by `a`, multiplicative decrease by `b`, slow start by `c`.
#[derive(Clone, Debug)]
pub struct Aimd {
    window: Window,
    a: f64,
    b: f64,
    c: f64,
}

impl Aimd {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Aimd { window: Window::new(config), a: params.number("a"), b: params.number("b"), c: params.number("c") }
    }
}

impl CongestionControl for Aimd {
    keeps_window!();

    fn on_ack(&mut self, ack: &AckSample) {
        // Bulot et al. 2004 Eq. 1 below ssthresh, Eq. 2 above.
        if !self.window.slow_start_by(ack, self.c) && ack.cwnd_limited {
            self.window.increase(ack, self.a);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // Bulot et al. 2004 Eq. 3.
        self.window.reduce(event, 1.0 - self.b);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, reno, testing::*};
    use super::*;
    use longfat_core::time::{Duration, Time};

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn a_segments_a_round_and_b_of_the_window_a_loss() {
        let mut c = (KIND.build)(&config("aimd", &[("a", Value::Number(4.0)), ("b", Value::Number(0.2))], 100));
        rounds(c.as_mut(), Time::ZERO, RTT, 0, 5);
        assert!((segments(c.as_ref()) - 120.0).abs() < 0.7, "{}", segments(c.as_ref()));
        let before = c.cwnd();
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), (before as f64 * 0.8 + 0.5) as u64);
    }

    #[test]
    fn slow_start_grows_one_and_c_fold_a_round_and_ends_at_ssthresh() {
        for (c, after) in [(0.5, [15, 22, 33]), (1.0, [20, 40, 80]), (3.0, [40, 160, 200])] {
            let config = TcpConfig { initial_ssthresh: 200 * MSS, ..config("aimd", &[("c", Value::Number(c))], 10) };
            let mut control = (KIND.build)(&config);
            for expected in after {
                rounds(control.as_mut(), Time::ZERO, RTT, 0, 1);
                let got = control.cwnd() / MSS;
                assert!(got.abs_diff(expected) <= 1, "c = {c}: {got}, not {expected}");
            }
        }
    }

    #[test]
    fn by_default_it_is_reno_to_a_segment() {
        let mut aimd = (KIND.build)(&TcpConfig { initial_ssthresh: 80 * MSS, ..config("aimd", &[], 10) });
        let mut reno = (reno::KIND.build)(&TcpConfig { initial_ssthresh: 80 * MSS, ..config("reno", &[], 10) });
        for n in 0..60 {
            for c in [&mut aimd, &mut reno] {
                if n % 20 == 19 {
                    reduce(c.as_mut(), Time::ZERO, if n == 39 { Congestion::Timeout } else { Congestion::Loss });
                }
                rounds(c.as_mut(), Time::ZERO, RTT, 0, 1);
            }
            assert!((segments(aimd.as_ref()) - segments(reno.as_ref())).abs() <= 1.5, "round {n}");
        }
    }
}

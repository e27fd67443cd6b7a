//! Scalable TCP (Kelly 2003): a fixed share of what is acknowledged, so that the time between losses does not grow with the window.

use super::promises::{FULL, beside_cubic, sawtooth};
use super::{AckSample, CongestionControl, CongestionEvent, ControlKind, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};

pub(super) const KIND: ControlKind = ControlKind {
    name: "scalable",
    summary: "multiplicative increase and decrease: a for each segment acknowledged, b of the window for a loss",
    source: "Kelly, Scalable TCP, ACM CCR 33(2), 2003",
    params: &[
        ParamSpec {
            name: "a",
            kind: Kind::Number { min: 0.0001, max: 1.0 },
            default: Some(Value::Number(0.01)),
            doc: "segments added for each segment acknowledged",
        },
        ParamSpec {
            name: "b",
            kind: Kind::Number { min: 0.001, max: 0.5 },
            default: Some(Value::Number(0.125)),
            doc: "the share of the window that a loss takes",
        },
        ParamSpec {
            name: "legacy_window",
            kind: Kind::Count { unit: "segments", min: 0, max: 1_000_000 },
            default: Some(Value::Count(16)),
            doc: "up to this window it grows as Reno (Linux: 100)",
        },
        ParamSpec {
            name: "legacy_b",
            kind: Kind::Number { min: 0.001, max: 0.5 },
            default: Some(Value::Number(0.5)),
            doc: "the share of the window that a loss takes within the legacy window (Linux: 0.125)",
        },
    ],
    // Linux grows by 1 / min(cwnd, 100) and takes an eighth of any window: at 2 % of loss over 50 ms that is 4.0 Mbit/s, and the paper's
    // variant 1.9, where 4.8 was measured.
    linux: &[("legacy_window", Value::Count(100)), ("legacy_b", Value::Number(0.125))],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.125, "Kelly 2003, section 3: a loss takes 1/8"),
        // Nothing of how it shares: multiplicative increase and decrease keep the shares they find (Chiu and Jain 1989).
        beside_cubic(
            0.5,
            0.95,
            "Kelly 2003, section 3: a smaller decrease, and an increase that grows with the window, take more than Reno does",
        ),
    ],
    build: |c| Box::new(Scalable::new(c)),
};

/// MIMD above the legacy window.
#[derive(Clone, Debug)]
pub struct Scalable {
    window: Window,
    a: f64,
    b: f64,
    /// Largest window in which growth is as Reno's, in bytes.
    legacy: u64,
    /// Share that a loss takes within the legacy window.
    legacy_b: f64,
}

impl Scalable {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let window = Window::new(config);
        let legacy = params.integer("legacy_window") * window.mss;
        Scalable { window, a: params.number("a"), b: params.number("b"), legacy, legacy_b: params.number("legacy_b") }
    }
}

impl CongestionControl for Scalable {
    keeps_window!();

    fn on_ack(&mut self, ack: &AckSample) {
        let w = &mut self.window;
        if w.slow_start(ack) || !ack.cwnd_limited {
            return;
        }
        if w.cwnd <= self.legacy {
            // Kelly 2003 §3: the legacy window, where Reno does well and must not be outdone.
            w.increase(ack, 1.0);
        } else {
            // Kelly 2003 §3: cwnd += a for each ACK.
            w.grow(self.a * w.acked_segments(ack) * w.mss as f64);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // Kelly 2003 §3: cwnd -= b cwnd; half within the legacy window.
        let b = if self.window.cwnd <= self.legacy { self.legacy_b } else { self.b };
        self.window.reduce(event, 1.0 - b);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, testing::*};
    use super::*;
    use longfat_core::time::{Duration, Time};

    const RTT: Duration = Duration::from_millis(200);

    #[test]
    fn a_round_adds_a_hundredth_and_a_loss_takes_an_eighth() {
        let mut c = (KIND.build)(&config("scalable", &[], 1000));
        rounds(c.as_mut(), Time::ZERO, RTT, 0, 1);
        assert_eq!(segments(c.as_ref()), 1010.0);
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), 1010 * MSS * 7 / 8);
    }

    #[test]
    fn the_time_back_to_a_window_does_not_depend_on_the_window() {
        // Kelly 2003 §3: ln(1 / (1 - b)) / ln(1 + a) round trips, 13.4 of them: 2.7 s at 200 ms, whatever the rate.
        for cwnd in [100, 1_000, 10_000] {
            let mut c = (KIND.build)(&config("scalable", &[], cwnd));
            reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
            let mut n = 0;
            while segments(c.as_ref()) < cwnd as f64 {
                rounds(c.as_mut(), Time::ZERO, RTT, 0, 1);
                n += 1;
            }
            assert_eq!(n, 14, "from {cwnd}");
        }
    }

    #[test]
    fn linux_grows_as_reno_to_a_hundred_segments_and_gives_up_an_eighth_of_any_window() {
        let variant = |cwnd| (KIND.build)(&config("scalable", KIND.linux, cwnd));
        let grown = |cwnd| {
            let mut c = variant(cwnd);
            rounds(c.as_mut(), Time::ZERO, RTT, 0, 1);
            segments(c.as_ref()) - cwnd as f64
        };
        assert!((grown(20) - 1.0).abs() < 0.05 && (grown(100) - 1.0).abs() < 0.05 && (grown(300) - 3.0).abs() < 0.05);
        let mut c = variant(16);
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), 14 * MSS);
    }

    #[test]
    fn the_legacy_window_is_reno() {
        let mut c = (KIND.build)(&config("scalable", &[], 12));
        rounds(c.as_mut(), Time::ZERO, RTT, 0, 4);
        assert!((segments(c.as_ref()) - 16.0).abs() < 0.6);
        let mut c = (KIND.build)(&config("scalable", &[], 16));
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), 8 * MSS);
    }
}

//! Vegas (Brakmo and Peterson 1995): once a round trip, how many of its own segments wait in the path, by the difference
//! between the rate it would have on an empty path and the one it has; the window keeps that number between alpha and beta.

use super::promises::{beside_cubic, queues_segments, uses};
use super::{AckSample, Claim, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::promise::Promise;

pub(super) const KIND: ControlKind = ControlKind {
    name: "vegas",
    summary: "keeps alpha to beta segments of its own in the queue, by round-trip times",
    source: "Brakmo, O'Malley and Peterson, TCP Vegas, SIGCOMM 1994; Brakmo and Peterson, IEEE JSAC 13(8), 1995",
    params: &[
        // SIGCOMM 1994 §3.2, §5: in segments, "Vegas-2,4" of the two versions measured there; gamma is one segment.
        ParamSpec {
            name: "alpha",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Some(Value::Number(2.0)),
            doc: "with fewer segments in the queue than this, a segment more a round",
        },
        ParamSpec {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Some(Value::Number(4.0)),
            doc: "with more segments in the queue than this, a segment less a round",
        },
        ParamSpec {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Some(Value::Number(1.0)),
            doc: "with more segments in the queue than this, slow start ends",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.97, "Brakmo and Peterson 1995: some segments are always queued"),
        queues_segments(2.0, 6.0, "Brakmo and Peterson 1995: alpha to beta, 2 to 4, and up to two of a pair held for a delayed ACK"),
        Promise::with(
            &[("alpha", Value::Number(10.0)), ("beta", Value::Number(14.0))],
            Claim::QueuesSegments { least: 10.0, most: 16.0 },
            "Brakmo and Peterson 1995: alpha to beta, and up to two of a pair held for a delayed ACK",
        ),
        // Nothing of how it shares: a flow that starts later takes the queue of the first for a part of the path (Mo et al. 1999).
        beside_cubic(
            0.0,
            0.4,
            "Mo, La, Anantharam and Walrand, Analysis and Comparison of TCP Reno and Vegas, INFOCOM 1999: less than Reno",
        ),
    ],
    build: |c| Box::new(Vegas::new(c)),
};

/// Share of the window that is left after a loss seen by duplicate ACKs: three quarters (Hengartner, Bolliger and Gross, TCP Vegas
/// revisited, INFOCOM 2000, of the authors' implementation).
const AFTER_LOSS: f64 = 0.75;

/// Vegas' window and where in its rounds it is.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    alpha: f64,
    beta: f64,
    gamma: f64,
    round: u64,
    /// Slow start: whether this is one of the rounds that double.
    doubles: bool,
}

impl Vegas {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let [alpha, beta, gamma] = ["alpha", "beta", "gamma"].map(|name| params.number(name));
        Vegas { window: Window::new(config), alpha, beta, gamma, round: 0, doubles: false }
    }

    /// The round is over, and so many segments of ours wait in the path (unless it could not be measured).
    fn end_round(&mut self, waiting: Option<f64>) {
        let w = &mut self.window;
        if w.in_slow_start() {
            // JSAC 1995 §III-C: the window doubles every other round only; what is measured in the rounds between, while it is
            // fixed, is a valid comparison, and ends slow start once it is beyond gamma.
            if !self.doubles && waiting.is_some_and(|n| n > self.gamma) {
                w.move_to(w.cwnd);
            }
            self.doubles = !self.doubles;
        } else if let Some(n) = waiting {
            // JSAC 1995 §III-B: linear increase below alpha, linear decrease beyond beta.
            if n < self.alpha {
                w.grow(w.mss as f64);
            } else if n > self.beta {
                w.move_to((w.cwnd - w.mss.min(w.cwnd)).max(2 * w.mss));
            }
        }
    }
}

impl CongestionControl for Vegas {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::flag("doubles", &mut self.doubles)]
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        if ack.round != self.round {
            // JSAC 1995 §III-B: the ACK of the distinguished segment, the first one sent in this round. What is in flight was
            // sent since, so that Actual = in flight / RTT and Expected = in flight / BaseRTT, and
            // diff = (Expected - Actual) BaseRTT.
            self.round = ack.round;
            let waiting = ack.rtt.filter(|rtt| !rtt.is_zero()).map(|rtt| {
                let in_flight = ack.in_flight as f64 / self.window.mss as f64;
                in_flight * (1.0 - ack.rtt_min.as_secs_f64() / rtt.as_secs_f64())
            });
            self.end_round(waiting);
        }
        if self.doubles {
            self.window.slow_start(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let factor = match event.kind {
            Congestion::Loss | Congestion::Ecn | Congestion::Local => AFTER_LOSS,
            Congestion::Timeout | Congestion::TimeoutAgain => 0.5,
        };
        self.window.reduce(event, factor);
        self.doubles = true;
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Idle(_) = unused {
            self.doubles = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::Time;

    fn vegas(segments: u64, ssthresh: u64) -> Vegas {
        Vegas::new(&TcpConfig { initial_ssthresh: ssthresh, ..config("vegas", &[], segments) })
    }

    /// The window in segments after rounds of so many milliseconds each.
    fn windows(path: &mut Path, vegas: &mut Vegas, rtts: &[u64]) -> Vec<u64> {
        let mut window = |rtt: &u64| {
            path.round(vegas, *rtt);
            vegas.cwnd() / MSS
        };
        rtts.iter().map(&mut window).collect()
    }

    #[test]
    fn the_window_keeps_between_alpha_and_beta() {
        let (mut path, mut v) = (Path::new(100), vegas(50, 2 * MSS));
        // An empty path: one more. 51 (1 - 100/103) = 1.5 < 2: one more.
        assert_eq!(windows(&mut path, &mut v, &[100, 103]), [51, 52]);
        // 52 (1 - 100/106) = 2.9 and 52 (1 - 100/108) = 3.9: neither.
        assert_eq!(windows(&mut path, &mut v, &[106, 108]), [52, 52]);
        // 52 (1 - 100/109) = 4.3 and 51 (1 - 100/109) = 4.2 > 4: one less.
        assert_eq!(windows(&mut path, &mut v, &[109, 109]), [51, 50]);
    }

    #[test]
    fn slow_start_doubles_every_other_round_and_ends_beyond_gamma() {
        let (mut path, mut v) = (Path::new(100), vegas(4, u64::MAX));
        assert_eq!(windows(&mut path, &mut v, &[100, 100, 100, 100]), [8, 8, 16, 16]);
        // 16 (1 - 100/106) = 0.9 at the end of a round that stood still: on.
        assert_eq!(windows(&mut path, &mut v, &[106]), [32]);
        // 32 (1 - 100/104) = 1.2 at the end of one that doubled says nothing; after the round that stands still it ends slow start.
        assert_eq!(windows(&mut path, &mut v, &[104]), [32]);
        assert_eq!(v.ssthresh(), u64::MAX);
        assert_eq!(windows(&mut path, &mut v, &[104]), [32]);
        assert_eq!(v.ssthresh(), 32 * MSS);
    }

    #[test]
    fn a_quarter_less_after_a_loss_and_one_segment_after_a_timeout() {
        let mut v = vegas(40, 2 * MSS);
        reduce(&mut v, Time::ZERO, Congestion::Loss);
        assert_eq!((v.cwnd(), v.ssthresh()), (30 * MSS, 30 * MSS));
        v.on_spurious();
        assert_eq!(v.cwnd(), 40 * MSS);
        reduce(&mut v, Time::ZERO, Congestion::Timeout);
        assert_eq!((v.cwnd(), v.ssthresh()), (MSS, 20 * MSS));
    }

    #[test]
    fn never_under_two_segments() {
        let (mut path, mut v) = (Path::new(100), vegas(4, 2 * MSS));
        (v.alpha, v.beta) = (0.5, 1.0);
        // 9/10 of the window waits, whatever it is.
        assert_eq!(windows(&mut path, &mut v, &[1000; 5]), [3, 2, 2, 2, 2]);
    }
}

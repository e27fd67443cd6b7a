//! NV, New Vegas (Brakmo 2010): Vegas for data centers. The window keeps `pad` segments of its own in the queue, counted from the
//! largest rate of a decision's samples, so that one delayed round trip decides nothing.
//!
//! The slides were not at hand. Model and constants are from memory; choices of ours say so.

use super::promises::{beside_cubic, queues_segments, uses};
use super::{AckSample, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::{Duration, Time};

pub(super) const KIND: ControlKind = ControlKind {
    name: "nv",
    summary: "Vegas for data centers, judged by the largest rate of two round trips",
    source: "Brakmo, Linux Plumbers Conference 2010",
    params: &[
        ParamSpec {
            name: "pad",
            kind: Kind::Number { min: 1.0, max: 1e6 },
            default: Some(Value::Number(10.0)),
            doc: "segments of its own in the queue beyond which the window falls",
        },
        ParamSpec {
            name: "pad_buffer",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Some(Value::Number(2.0)),
            doc: "segments under the pad from which the window stands still",
        },
        ParamSpec {
            name: "decision_rounds",
            kind: Kind::Count { unit: "", min: 1, max: 64 },
            default: Some(Value::Count(2)),
            doc: "round trips whose samples decide together",
        },
        ParamSpec {
            name: "reset_period",
            kind: Kind::Duration { min: Duration::from_millis(100), max: Duration::from_secs(3600) },
            default: Some(Value::Duration(Duration::from_secs(5))),
            doc: "time after which the least round trip is measured anew",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.95, "Brakmo 2010: some segments are always queued"),
        queues_segments(4.0, 14.0, "Brakmo 2010: up to 10 segments are queued, and up to two of a pair held for a delayed ACK"),
        // Nothing of how it shares: a flow that starts later takes the queue of the first for a part of the path, as with Vegas.
        beside_cubic(0.0, 0.5, "Brakmo 2010: for data centers in which all use it; delay-based controls lose to those that fill queues"),
    ],
    build: |c| Box::new(Nv::new(c)),
};

/// Share of the surplus that one decision takes away: a choice of ours, as half of the way is Vegas' successors' (FAST 2004).
const DECREASE: f64 = 0.5;

/// Round trips in which the window is halved, to measure the least: the first empties the queue, and the samples of the second know it. Both
/// are choices of ours.
const DRAIN_ROUNDS: u64 = 3;

/// NV's window, the rates of this decision, and the least round trip.
#[derive(Clone, Debug)]
pub struct Nv {
    window: Window,
    pad: f64,
    pad_buffer: f64,
    decision_rounds: u64,
    reset_period: Duration,
    round: u64,
    decided: u64,
    /// Largest rate of this decision, in bytes per second.
    rate: f64,
    /// Least round trip, that of the period under way, and when the period began.
    least: Duration,
    least_of_period: Duration,
    period: Option<Time>,
    /// Round in which the window comes back that was halved to measure the least round trip.
    draining: Option<u64>,
    /// False: the last decision was against growth.
    grows: bool,
}

impl Nv {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Nv {
            window: Window::new(config),
            pad: params.number("pad"),
            pad_buffer: params.number("pad_buffer"),
            decision_rounds: params.integer("decision_rounds"),
            reset_period: params.duration("reset_period"),
            round: 0,
            decided: 0,
            rate: 0.0,
            least: Duration::ZERO,
            least_of_period: Duration::ZERO,
            period: None,
            draining: None,
            grows: true,
        }
    }

    fn measure(&mut self, ack: &AckSample, rtt: Duration) {
        let began = *self.period.get_or_insert(ack.now);
        if ack.now.since(began) > self.reset_period && !ack.in_recovery {
            self.period = Some(ack.now);
            self.drain(ack.round);
        }
        if self.draining.is_some_and(|until| ack.round >= until) {
            self.draining = None;
            if !self.least_of_period.is_zero() {
                self.least = self.least_of_period;
            }
        }
        let lower = |least: Duration| if least.is_zero() { rtt } else { least.min(rtt) };
        (self.least, self.least_of_period) = (lower(self.least), lower(self.least_of_period));
        // The rate of what was in flight over this round trip; the largest of many, for delays beside the path's make it only smaller.
        self.rate = self.rate.max(ack.in_flight as f64 / rtt.as_secs_f64());
    }

    /// Segments of ours in the queue, by the rate: cwnd less what the path itself holds.
    fn queued(&self, in_flight: f64) -> f64 {
        (in_flight - self.rate * self.least.as_secs_f64()) / self.window.mss as f64
    }

    /// Halves the window for some round trips, so that the queue empties and the least round trip can be measured; slow start brings it back.
    fn drain(&mut self, round: u64) {
        let w = &mut self.window;
        if w.in_slow_start() {
            return;
        }
        let before = w.cwnd;
        w.move_to((before / 2).max(2 * w.mss).min(before));
        w.ssthresh = before.max(2 * w.mss);
        (self.draining, self.least_of_period) = (Some(round + DRAIN_ROUNDS), Duration::ZERO);
    }

    fn decide(&mut self, in_flight: u64) {
        let queued = self.queued(in_flight as f64);
        self.grows = queued < self.pad - self.pad_buffer;
        if queued > self.pad {
            let w = &mut self.window;
            if w.in_slow_start() {
                w.move_to(w.cwnd);
            }
            let surplus = ((queued - self.pad) * DECREASE).max(1.0) * w.mss as f64;
            w.move_to(((w.cwnd as f64 - surplus).max(0.0) as u64).max(2 * w.mss).min(w.cwnd));
        }
        self.rate = 0.0;
    }

    fn restart(&mut self) {
        (self.rate, self.grows, self.decided) = (0.0, true, self.round);
    }
}

impl CongestionControl for Nv {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::span("rtt_min", &mut self.least), Variable::flag("grows", &mut self.grows)]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.measure(ack, rtt);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        if self.draining.is_some() {
            self.restart();
            return;
        }
        if ack.round != self.round {
            self.round = ack.round;
            if self.round.saturating_sub(self.decided) >= self.decision_rounds {
                self.decided = self.round;
                if self.rate > 0.0 {
                    self.decide(ack.in_flight);
                }
            }
        }
        if !self.window.slow_start(ack) && self.grows {
            self.window.increase(ack, 1.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.draining = None;
        self.window.reduce(event, 0.5);
        self.restart();
    }

    fn on_unused(&mut self, unused: Unused) {
        self.draining = None;
        self.window.unused(unused);
        self.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, testing::*};
    use super::*;

    fn nv(params: &[(&'static str, Value)], segments: u64) -> Nv {
        Nv::new(&config("nv", params, segments))
    }

    fn windows(path: &mut Path, nv: &mut Nv, rtts: &[u64]) -> Vec<f64> {
        let mut window = |rtt: &u64| {
            path.round(nv, *rtt);
            segments(nv).round()
        };
        rtts.iter().map(&mut window).collect()
    }

    #[test]
    fn it_grows_under_the_pad_stands_still_in_the_buffer_and_falls_beyond() {
        let every = [("decision_rounds", Value::Count(1))];
        let (mut path, mut n) = (Path::new(100), nv(&every, 100));
        // A decision is about the round before it, of a window of 100 segments: none queued.
        assert_eq!(windows(&mut path, &mut n, &[100, 100]), [101.0, 102.0]);
        // 102 (1 - 100/110) = 9.3 queued: known a round later, then it stands still.
        assert_eq!(windows(&mut path, &mut n, &[110, 110, 110]), [103.0, 103.0, 103.0]);
        // 103 (1 - 100/125) = 20.6 queued: half of 10.6 less.
        assert_eq!(windows(&mut path, &mut n, &[125, 125]), [103.0, 98.0]);
    }

    #[test]
    fn one_delayed_round_trip_decides_nothing() {
        let mut n = nv(&[], 100);
        n.least = Duration::from_millis(100);
        let at = |ms| AckSample { in_flight: 100 * MSS, rtt: Some(Duration::from_millis(ms)), ..AckSample::default() };
        for ms in [100, 900, 400] {
            n.on_sample(&at(ms));
        }
        assert!(n.queued(100.0 * MSS as f64).abs() < 1e-9);
    }

    /// After a period the window is halved for three round trips. The least of those is the new one, and slow start brings the window back.
    #[test]
    fn the_least_round_trip_is_measured_anew() {
        let (mut path, mut n) = (Path::new(100), nv(&[("reset_period", Value::Duration(Duration::from_secs(1)))], 50));
        n.window.ssthresh = 2 * MSS;
        windows(&mut path, &mut n, &[100; 3]);
        // The path became longer.
        let w = windows(&mut path, &mut n, &[200; 10]);
        assert_eq!(n.least, Duration::from_millis(200));
        let least = w.iter().copied().fold(f64::MAX, f64::min);
        assert!((22.0..28.0).contains(&least), "{w:?}");
        assert!(w[6..].iter().any(|w| *w > 45.0), "{w:?}");
    }

    #[test]
    fn slow_start_ends_with_the_pad_and_a_loss_halves() {
        let (mut path, mut n) = (Path::new(100), nv(&[], 10));
        n.window.ssthresh = u64::MAX;
        windows(&mut path, &mut n, &[100, 100, 130, 130, 130]);
        assert!(n.ssthresh() < u64::MAX);
        let before = n.cwnd();
        reduce(&mut n, path.now, Congestion::Loss);
        assert_eq!(n.cwnd(), before.div_ceil(2));
        n.on_spurious();
        assert_eq!(n.cwnd(), before);
    }
}

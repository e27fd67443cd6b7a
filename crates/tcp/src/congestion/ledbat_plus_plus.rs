//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT with round trips, a gain that fits the path, a multiplicative decrease, and
//! slowdowns in which the path shows how long it is.

use super::promises::{beside_cubic, queues_bdp, uses};
use super::queueing_delay::{BASE_HISTORY, CURRENT_FILTER, QueueingDelay};
use super::{AckSample, Claim, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::promise::Promise;
use longfat_core::time::{Duration, Time};

pub(super) const KIND: ControlKind = ControlKind {
    name: "ledbat++",
    summary: "LEDBAT with a gain that fits the path, and slowdowns",
    source: "draft-irtf-iccrg-ledbat-plus-plus-01",
    params: &[
        ParamSpec {
            name: "target",
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_millis(100) },
            // Section 4.5.
            default: Some(Value::Duration(Duration::from_millis(60))),
            doc: "the queueing delay that it holds",
        },
        ParamSpec {
            name: "constant",
            kind: Kind::Number { min: 0.0, max: 100.0 },
            // Section 4.3.
            default: Some(Value::Number(1.0)),
            doc: "the share of the window that it gives up each round trip, for each target's length of delay over the target",
        },
        ParamSpec {
            name: "slowdown_interval",
            kind: Kind::Count { unit: "", min: 1, max: 1000 },
            // Section 4.4: the next one begins after nine times as long as the last took.
            default: Some(Value::Count(9)),
            doc: "time between slowdowns, as a multiple of the last one's length",
        },
        BASE_HISTORY,
        CURRENT_FILTER,
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(
            0.85,
            "draft-irtf-iccrg-ledbat-plus-plus section 4.4: slowdowns take no more than a tenth of the time, and of the rest AIMD uses all",
        ),
        Promise::with(
            HALF_A_PRODUCT,
            Claim::QueuesBdp { least: 0.3, most: 0.6 },
            "draft-irtf-iccrg-ledbat-plus-plus section 4.3: the queueing delay settles at the target, here half of a product, but for a tenth of the time",
        ),
        Promise::with(
            HALF_A_PRODUCT,
            Claim::BesideCubic { least: 0.0, most: 0.35 },
            "draft-irtf-iccrg-ledbat-plus-plus section 1: background traffic yields; one that starts beside CUBIC takes a part of its queue for the path",
        ),
        queues_bdp(0.0, 0.71, "arithmetic: halved when a buffer of one product overflows, as Reno, less the slowdowns"),
        Promise::with(
            HALF_A_PRODUCT,
            Claim::Shares(0.8),
            "draft-irtf-iccrg-ledbat-plus-plus section 4: slowdowns and a multiplicative decrease let flows share, whoever came first",
        ),
        beside_cubic(0.0, 0.45, "draft-irtf-iccrg-ledbat-plus-plus section 4.2: a gain of a third over 40 ms, so less than Reno gets"),
    ],
    build: |c| Box::new(LedbatPlusPlus::new(c)),
};

const HALF_A_PRODUCT: &[(&str, Value)] = &[("target", Value::Duration(Duration::from_millis(20)))];

/// Phase of the slowdowns (section 4.4).
#[derive(Clone, Copy, PartialEq, Debug)]
enum Slowdown {
    /// The first slow start is not over.
    First,
    /// Waits for the next one.
    Waits {
        /// Its start.
        at: Time,
    },
    /// The window is two segments for two round trips, from `since` on.
    Holds {
        /// Start of the slowdown.
        since: Time,
        /// End of the two round trips.
        until: Time,
    },
    /// Slow start, back to the window of before.
    Returns {
        /// Start of the slowdown.
        since: Time,
    },
}

/// The window, its gain and its slowdowns.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    window: Window,
    delay: QueueingDelay,
    target: f64,
    constant: f64,
    interval: u64,
    slowdown: Slowdown,
    rtt: Duration,
}

impl LedbatPlusPlus {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        LedbatPlusPlus {
            window: Window::new(config),
            delay: QueueingDelay::new(params.integer(BASE_HISTORY.name), params.integer(CURRENT_FILTER.name)),
            target: params.duration("target").as_secs_f64(),
            constant: params.number("constant"),
            interval: params.integer("slowdown_interval"),
            slowdown: Slowdown::First,
            rtt: Duration::ZERO,
        }
    }

    /// Section 4.2: GAIN = 1 / min(16, ceil(2 TARGET / base)): the shorter the path, the slower the growth.
    fn gain(&self) -> f64 {
        let base = self.delay.base().map_or(0.0, |ps| Duration::from_ps(ps.max(0) as u64).as_secs_f64());
        if base <= 0.0 { 1.0 / 16.0 } else { 1.0 / libm::ceil(2.0 * self.target / base).clamp(1.0, 16.0) }
    }

    /// Moves through the slowdowns. Whether the window is held as it is.
    fn slow_down(&mut self, now: Time) -> bool {
        let w = &mut self.window;
        match self.slowdown {
            // The initial slowdown: two round trips after the first slow start.
            Slowdown::First if !w.in_slow_start() => self.slowdown = Slowdown::Waits { at: now.saturating_add(self.rtt.saturating_mul(2)) },
            // Not in the slow start after a timeout: the window is small, and shows the path.
            Slowdown::Waits { at } if now >= at && !w.in_slow_start() => {
                let (before, floor) = (w.cwnd, 2 * w.mss);
                w.move_to(before.min(floor));
                w.ssthresh = before.max(floor);
                self.slowdown = Slowdown::Holds { since: now, until: now.saturating_add(self.rtt.saturating_mul(2)) };
            }
            Slowdown::Holds { since, until } if now >= until => self.slowdown = Slowdown::Returns { since },
            Slowdown::Returns { since } if !w.in_slow_start() => {
                self.slowdown = Slowdown::Waits { at: now.saturating_add(now.since(since).saturating_mul(self.interval)) };
            }
            _ => {}
        }
        matches!(self.slowdown, Slowdown::Holds { .. })
    }
}

impl CongestionControl for LedbatPlusPlus {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::span("rtt", &mut self.rtt)]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        // Section 4.5: round trips, so that the clocks and timestamps of the peer do not matter.
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt;
            self.delay.measure(ack.now, rtt.as_ps() as i64, rtt);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if self.slow_down(ack.now) {
            return;
        }
        let Some(queueing) = self.delay.get() else { return };
        let (gain, over) = (self.gain(), queueing.as_secs_f64() / self.target);
        let w = &mut self.window;
        if w.in_slow_start() {
            // Section 4.1: growth by the gain; the first slow start ends at three quarters of the target, later ones at ssthresh.
            if self.slowdown == Slowdown::First && over > 0.75 {
                w.move_to(w.cwnd);
            } else {
                w.slow_start_by(ack, gain);
            }
            return;
        }
        let rounds = w.acked_segments(ack) / w.segments();
        if over <= 1.0 {
            // Section 4.2: GAIN segments each round trip.
            if ack.cwnd_limited {
                w.grow(gain * rounds * w.mss as f64);
            }
        } else {
            // Section 4.3: W += max(GAIN - constant W (delay / target - 1), -W / 2) each round trip, spread over its ACKs.
            let segments = w.segments();
            let change = (gain - self.constant * segments * (over - 1.0)).max(-segments / 2.0);
            if change < 0.0 || ack.cwnd_limited {
                w.grow(change * rounds * w.mss as f64);
                // A window below ssthresh would be in slow start, and back above the target within a round trip.
                w.ssthresh = w.ssthresh.min(w.cwnd).max(2 * w.mss);
            }
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.reduce(event, 0.5);
        if matches!(event.kind, Congestion::Timeout | Congestion::TimeoutAgain) && matches!(self.slowdown, Slowdown::Holds { .. }) {
            // One segment shows the path as well as two.
            self.slowdown = Slowdown::Returns { since: event.now };
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn ledbat(segments: u64, ssthresh: u64) -> LedbatPlusPlus {
        LedbatPlusPlus::new(&TcpConfig { initial_ssthresh: ssthresh, ..config("ledbat++", &[], segments) })
    }

    fn windows(l: &mut LedbatPlusPlus, path: &mut Path, rtts: &[u64]) -> Vec<f64> {
        let mut after = |rtt: &u64| {
            path.round(l, *rtt);
            (segments(l) * 10.0).round() / 10.0
        };
        rtts.iter().map(&mut after).collect()
    }

    #[test]
    fn the_gain_fits_the_path() {
        // 2 · 60 ms over the base: 120 ms and more: 1; 40 ms: 1/3; 50 ms: 2.4, so 1/3; 5 ms: 1/24, at least 1/16.
        for (base, divisor) in [(200, 1.0), (120, 1.0), (119, 2.0), (50, 3.0), (40, 3.0), (5, 16.0)] {
            let (mut path, mut l) = (Path::new(base), ledbat(10, 2 * MSS));
            path.round(&mut l, base);
            assert_eq!(l.gain(), 1.0 / divisor, "{base} ms");
        }
    }

    #[test]
    fn growth_by_the_gain_and_a_decrease_by_the_distance() {
        let (mut path, mut l) = (Path::new(120), ledbat(60, 2 * MSS));
        l.slowdown = Slowdown::Waits { at: Time::MAX };
        // A gain of 1. At 60 ms of queue it still grows; at 72 ms: 1 - 62 (1.2 - 1) = -11.4 a round, less as the window falls.
        let got = windows(&mut l, &mut path, &[120, 180]);
        assert_eq!(got, [61.0, 62.0]);
        let after = windows(&mut l, &mut path, &[192])[0];
        assert!((51.0..53.0).contains(&after), "{after}");
        // Half at most: at 600 ms of queue nine windows would go.
        let after = windows(&mut l, &mut path, &[720])[0];
        assert!((25.5..28.0).contains(&after), "{after}");
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        let (mut path, mut l) = (Path::new(120), ledbat(10, u64::MAX));
        assert_eq!(windows(&mut l, &mut path, &[120, 165]), [20.0, 40.0], "45 ms are not over three quarters of 60");
        let before = l.cwnd();
        path.round(&mut l, 166);
        assert!(l.ssthresh() < u64::MAX && l.cwnd() < before + 5 * MSS);
    }

    #[test]
    fn a_slowdown_holds_two_segments_for_two_round_trips_and_returns() {
        let (mut path, mut l) = (Path::new(120), ledbat(64, 64 * MSS));
        // Slow start is over: two round trips later the window is two segments, for two more; then it doubles to where it was.
        let got = windows(&mut l, &mut path, &[120; 12]);
        assert_eq!(got[..2], [65.0, 66.0]);
        let at = got.iter().position(|w| *w == 2.0).unwrap();
        assert_eq!(at, 2);
        let held = got.iter().filter(|w| **w == 2.0).count();
        assert!((2..=3).contains(&held), "{got:?}");
        assert!(got.windows(2).filter(|w| w[0] < 33.0 && w[0] > 2.0).all(|w| w[1] >= 1.9 * w[0]), "{got:?}");
        // The next one comes nine times as long after it: 5 to 9 round trips of it, so 45 to 80 later.
        let got = windows(&mut l, &mut path, &[120; 100]);
        let next = got.iter().position(|w| *w == 2.0).unwrap();
        assert!((40..90).contains(&next), "{next}");
    }

    #[test]
    fn a_loss_halves_and_a_timeout_leaves_one_segment() {
        let mut l = ledbat(40, 2 * MSS);
        reduce(&mut l, Time::ZERO, Congestion::Loss);
        assert_eq!(l.cwnd(), 20 * MSS);
        reduce(&mut l, Time::ZERO, Congestion::Timeout);
        assert_eq!((l.cwnd(), l.ssthresh()), (MSS, 10 * MSS));
    }
}

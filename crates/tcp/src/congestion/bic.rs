//! BIC (Xu, Harfoush and Rhee 2004): a binary search for the window between one that lost and one that did not, and beyond the old
//! maximum a slow start of its own.

use super::promises::{FULL, beside_cubic, sawtooth, shares};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};

pub(super) const KIND: ControlKind = ControlKind {
    name: "bic",
    summary: "binary search between the last good and the last bad window, with max probing",
    source: "Xu, Harfoush and Rhee, Binary increase congestion control for fast long-distance networks, INFOCOM 2004",
    params: &[
        ParamSpec {
            name: "smax",
            kind: Kind::Number { min: 1.0, max: 10_000.0 },
            default: Some(Value::Number(32.0)),
            doc: "most segments that a round trip adds (Linux: 16)",
        },
        ParamSpec {
            name: "smin",
            kind: Kind::Number { min: 0.0001, max: 1.0 },
            default: Some(Value::Number(0.01)),
            doc: "least segments that a round trip adds",
        },
        ParamSpec {
            name: "beta",
            kind: Kind::Number { min: 0.001, max: 0.5 },
            default: Some(Value::Number(0.125)),
            doc: "the share of the window that a loss takes (Linux: 205 of 1024)",
        },
        ParamSpec {
            name: "low_window",
            kind: Kind::Count { unit: "segments", min: 0, max: 1_000_000 },
            default: Some(Value::Count(14)),
            doc: "below this window it is Reno",
        },
    ],
    // The defaults of the module's parameters `max_increment` (16) and `beta` (819 of 1024 stay).
    linux: &[("smax", Value::Number(16.0)), ("beta", Value::Number(205.0 / 1024.0))],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.125, "Xu, Harfoush and Rhee 2004: a loss takes 1/8"),
        shares(0.9, "Xu, Harfoush and Rhee 2004: flows with equal round trips converge"),
        beside_cubic(0.5, 0.95, "Ha, Rhee and Xu, CUBIC, 2008, section 1: BIC is too aggressive on short round trips, hence CUBIC"),
    ],
    build: |c| Box::new(Bic::new(c)),
};

/// State of the search, in segments.
#[derive(Clone, Copy, Debug)]
struct Search {
    /// The window that the search goes to; infinite while none is known.
    max: f64,
    /// Probing for a new maximum: segments a round trip, and the window at which they double. Zero: not probing.
    step: f64,
    target: f64,
}

/// BIC's variables.
#[derive(Clone, Debug)]
pub struct Bic {
    window: Window,
    smax: f64,
    smin: f64,
    beta: f64,
    low_window: f64,
    search: Search,
    before: Search,
}

impl Bic {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let search = Search { max: f64::INFINITY, step: 0.0, target: 0.0 };
        Bic {
            window: Window::new(config),
            smax: params.number("smax"),
            smin: params.number("smin"),
            beta: params.number("beta"),
            low_window: params.integer("low_window") as f64,
            search,
            before: search,
        }
    }

    /// Segments a round trip at a window of `cwnd` segments.
    fn increment(&mut self, cwnd: f64) -> f64 {
        let s = &mut self.search;
        if s.step == 0.0 && cwnd < s.max {
            // Xu et al. 2004 §III-A, B: half of the way to the maximum, since each ACK makes cwnd the new minimum; Smax where that
            // is farther, Smin at the end.
            return ((s.max - cwnd) / 2.0).clamp(self.smin, self.smax);
        }
        // Xu et al. 2004 §III-C, max probing: past the maximum, 1 segment a round trip, then 2, 4.. up to Smax, and on with Smax.
        if s.step == 0.0 {
            (s.step, s.target) = (1.0, cwnd + 1.0);
        } else if cwnd >= s.target {
            s.step *= 2.0;
            s.target = cwnd + s.step;
        }
        if s.step >= self.smax {
            *s = Search { max: f64::INFINITY, step: 0.0, target: 0.0 };
            return self.smax;
        }
        s.step
    }
}

impl CongestionControl for Bic {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let Search { max, step, target } = &mut self.search;
        vec![Variable::segments("w_max", max), Variable::segments("step", step), Variable::segments("target", target)]
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if self.window.slow_start(ack) || !ack.cwnd_limited {
            return;
        }
        let cwnd = self.window.segments();
        let increment = if cwnd < self.low_window { 1.0 } else { self.increment(cwnd) };
        self.window.increase(ack, increment);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let cwnd = self.window.segments();
        let low = cwnd < self.low_window;
        let beta = if low { 0.5 } else { self.beta };
        if event.kind != Congestion::TimeoutAgain {
            self.before = self.search;
            let mut max = self.search.max;
            if !low {
                // Xu et al. 2004 §III-D, fast convergence: a flow that loses below its last maximum goes halfway down from this one.
                // Departs from the pseudo-code in that no known maximum is not a higher one.
                max = if max.is_finite() && cwnd < max { cwnd * (2.0 - beta) / 2.0 } else { cwnd };
            }
            self.search = Search { max, step: 0.0, target: 0.0 };
        }
        self.window.reduce(event, 1.0 - beta);
    }

    fn on_spurious(&mut self) {
        if self.window.undo() {
            self.search = self.before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::{Duration, Time};

    const RTT: Duration = Duration::from_millis(100);

    fn bic(params: &[(&'static str, Value)], cwnd: u64) -> Box<dyn CongestionControl + Send> {
        (KIND.build)(&config("bic", params, cwnd))
    }

    /// Returns the growth of each of `n` round trips, in segments.
    fn gains(c: &mut dyn CongestionControl, n: usize) -> Vec<f64> {
        let mut gains = Vec::new();
        for _ in 0..n {
            let before = segments(c);
            rounds(c, Time::ZERO, RTT, 0, 1);
            gains.push(segments(c) - before);
        }
        gains
    }

    #[test]
    fn additive_increase_then_binary_search_then_max_probing() {
        let mut c = bic(&[], 2000);
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), 1750 * MSS);
        // 250 segments to go: Smax a round trip until 64 are left.
        let gained = gains(c.as_mut(), 5);
        assert!(gained.iter().all(|g| (g - 32.0).abs() < 0.7), "{gained:?}");
        // Then half of what is left a round trip: it shrinks by e^-0.5, since each ACK is a step.
        let gained = gains(c.as_mut(), 12);
        for pair in gained[2..8].windows(2) {
            assert!((pair[1] / pair[0] - 0.607).abs() < 0.02, "{gained:?}");
        }
        assert!(segments(c.as_ref()) < 2000.0);
        // Then beyond, doubling up to Smax, where it stays.
        let gained = gains(c.as_mut(), 60);
        let probing: Vec<_> = gained.iter().skip_while(|g| **g < 0.9).collect();
        assert!((0.9..1.3).contains(probing[0]) && probing.windows(2).all(|p| p[1] > &(p[0] * 0.98)), "{gained:?}");
        assert!((gained[59] - 32.0).abs() < 0.7);
    }

    #[test]
    fn a_second_loss_below_the_maximum_gives_way() {
        let mut c = Bic::new(&config("bic", &[], 2000));
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!(c.search.max, 2000.0);
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        // 1750 (2 - 0.125) / 2.
        assert!((c.search.max - 1640.625).abs() < 1e-9);
        assert_eq!(c.cwnd(), 1_531_250);
        // Not taken for a downward trend: a loss beyond the old maximum.
        let mut c = Bic::new(&config("bic", &[], 200));
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        rounds(&mut c, Time::ZERO, RTT, 0, 60);
        let lost_at = segments(&c);
        assert!(lost_at > 300.0);
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!(c.search.max, lost_at);
    }

    #[test]
    fn below_the_low_window_it_is_reno() {
        let mut c = bic(&[], 10);
        assert!(gains(c.as_mut(), 3).iter().all(|g| (g - 1.0).abs() < 0.2));
        let before = c.cwnd();
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), before.div_ceil(2));
    }

    #[test]
    fn a_spurious_loss_gives_back_the_search() {
        let mut c = Bic::new(&config("bic", &[], 2000));
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        let search = c.search;
        reduce(&mut c, Time::ZERO, Congestion::Timeout);
        c.on_spurious();
        assert_eq!((c.search.max, c.cwnd()), (search.max, 1750 * MSS));
    }
}

//! TCP-Illinois (Liu, Basar and Srikant 2006): loss says whether to shrink, queueing delay how much to grow and to shrink.

use super::promises::{FULL, beside_cubic, queues_bdp, shares};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "illinois",
    summary: "AIMD whose alpha and beta follow the average queueing delay",
    source: "Liu, Basar and Srikant, TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed networks, VALUETOOLS 2006; Performance Evaluation 65, 2008",
    params: &[
        ParamSpec {
            name: "alpha_min",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Some(Value::Number(0.3)),
            doc: "segments a round trip when the queue is full",
        },
        ParamSpec {
            name: "alpha_max",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            default: Some(Value::Number(10.0)),
            doc: "segments a round trip when the queue is empty",
        },
        ParamSpec {
            name: "beta_min",
            kind: Kind::Number { min: 0.01, max: 0.5 },
            default: Some(Value::Number(0.125)),
            doc: "the share of the window that a loss takes when the queue is short",
        },
        ParamSpec {
            name: "beta_max",
            kind: Kind::Number { min: 0.5, max: 0.9 },
            default: Some(Value::Number(0.5)),
            doc: "the share of the window that a loss takes when the queue is long",
        },
        ParamSpec {
            name: "theta",
            kind: Kind::Count { unit: "round trips", min: 0, max: 1000 },
            default: Some(Value::Count(5)),
            doc: "once the queue was not empty, so long must it have been before alpha is alpha_max again",
        },
        ParamSpec {
            name: "window_threshold",
            kind: Kind::Count { unit: "segments", min: 0, max: 1_000_000 },
            default: Some(Value::Count(10)),
            doc: "below this window it is Reno (Linux: 15)",
        },
    ],
    linux: &[("window_threshold", Value::Count(15))],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        queues_bdp(
            0.5,
            0.9,
            "Liu, Basar and Srikant 2008: a concave window, from 0.56 (a straight line from a half) to 0.88 (an eighth off)",
        ),
        shares(0.9, "Liu, Basar and Srikant 2008: equal round trips share equally"),
        beside_cubic(0.35, 0.85, "Liu, Basar and Srikant 2008: as much as Reno where the queue is long, more where it is short"),
    ],
    build: |c| Box::new(Illinois::new(c)),
};

/// Liu et al. 2006 §3: d_i = eta_i d_m.
const ETA_1: f64 = 0.01;
const ETA_2: f64 = 0.1;
const ETA_3: f64 = 0.8;

/// State that a congestion event may change beside the window.
#[derive(Clone, Copy, Debug)]
struct State {
    alpha: f64,
    beta: f64,
    /// Round trips since the average delay was last above d_1; none counted once alpha is at its greatest. `None`: it never was.
    calm: Option<u64>,
}

/// Reno's: before anything is known, after a timeout, and for small windows.
const RENO: State = State { alpha: 1.0, beta: 0.5, calm: None };

/// Illinois's variables.
#[derive(Clone, Debug)]
pub struct Illinois {
    window: Window,
    alpha_min: f64,
    alpha_max: f64,
    beta_min: f64,
    beta_max: f64,
    theta: u64,
    threshold: f64,
    state: State,
    before: State,
    /// The longest round trip of the connection.
    rtt_max: Duration,
    /// The round trip under way: its number, and the sum (ps) and number of its samples.
    round: u64,
    sum: u128,
    samples: u64,
}

impl Illinois {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Illinois {
            window: Window::new(config),
            alpha_min: params.number("alpha_min"),
            alpha_max: params.number("alpha_max"),
            beta_min: params.number("beta_min"),
            beta_max: params.number("beta_max"),
            theta: params.integer("theta"),
            threshold: params.integer("window_threshold") as f64,
            state: RENO,
            before: RENO,
            rtt_max: Duration::ZERO,
            round: 0,
            sum: 0,
            samples: 0,
        }
    }

    /// Liu et al. 2006 §3: once a round trip, alpha and beta from its average delay `da`, where the greatest is `dm`; in seconds.
    fn update(&mut self, da: f64, dm: f64) {
        self.state.beta = self.beta(da, dm);
        let d1 = ETA_1 * dm;
        if da > d1 {
            self.state.calm = Some(0);
            // f1 = kappa1 / (kappa2 + da), both multiplied by alpha_max - alpha_min: alpha_max at d1, alpha_min at dm.
            let (low, high) = (self.alpha_min, self.alpha_max);
            self.state.alpha = low * high * (dm - d1) / ((dm - d1) * low + (da - d1) * (high - low));
        } else if self.state.alpha < self.alpha_max {
            // One sample below d1 may be noise: once there was delay, only theta in a row bring alpha_max back.
            self.state.calm = self.state.calm.map(|rounds| rounds + 1);
            if self.state.calm.is_none_or(|rounds| rounds >= self.theta) {
                self.state.alpha = self.alpha_max;
            }
        }
    }

    /// Alpha and beta as at the start. That there was delay stays known: no timeout and no idleness brings alpha_max back sooner.
    fn start_over(&mut self) {
        self.state = State { calm: self.state.calm.map(|_| 0), ..RENO };
    }

    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (ETA_2 * dm, ETA_3 * dm);
        if da <= d2 {
            self.beta_min
        } else if da < d3 {
            // kappa3 + kappa4 da: from beta_min at d2 to beta_max at d3.
            self.beta_min + (self.beta_max - self.beta_min) * (da - d2) / (d3 - d2)
        } else {
            self.beta_max
        }
    }

    fn is_small(&self) -> bool {
        self.window.segments() < self.threshold
    }
}

impl CongestionControl for Illinois {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let State { alpha, beta, .. } = &mut self.state;
        vec![
            Variable::number("alpha", alpha, self.alpha_min..=self.alpha_max),
            Variable::number("beta", beta, self.beta_min..=self.beta_max),
            Variable::span("rtt_max", &mut self.rtt_max),
        ]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        if ack.round != self.round {
            if self.samples > 0 {
                let average = Duration::from_ps((self.sum / u128::from(self.samples)) as u64);
                let (da, dm) = (average.saturating_sub(ack.rtt_min), self.rtt_max.saturating_sub(ack.rtt_min));
                self.update(da.as_secs_f64(), dm.as_secs_f64());
            }
            (self.round, self.sum, self.samples) = (ack.round, 0, 0);
        }
        if let Some(rtt) = ack.rtt {
            self.sum += u128::from(rtt.as_ps());
            self.samples += 1;
            self.rtt_max = self.rtt_max.max(rtt);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !self.window.slow_start(ack) && ack.cwnd_limited {
            let alpha = if self.is_small() { RENO.alpha } else { self.state.alpha };
            self.window.increase(ack, alpha);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != Congestion::TimeoutAgain {
            self.before = self.state;
        }
        if matches!(event.kind, Congestion::Timeout | Congestion::TimeoutAgain) {
            // Liu et al. 2006 §3: a timeout is standard TCP's, with alpha and beta as at the start.
            self.start_over();
        }
        let beta = if self.is_small() { RENO.beta } else { self.state.beta };
        self.window.reduce(event, 1.0 - beta);
    }

    fn on_spurious(&mut self) {
        if self.window.undo() {
            self.state = self.before;
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Idle(_) = unused {
            self.start_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::Time;

    fn illinois(cwnd: u64) -> Illinois {
        Illinois::new(&config("illinois", &[], cwnd))
    }

    /// Rounds `from..to`, each with one sample of `delay` ms over 100 ms.
    fn delays(c: &mut Illinois, from: u64, to: u64, delay: u64) {
        for round in from..to {
            let rtt = Duration::from_millis(100 + delay);
            c.on_sample(&AckSample { round, rtt_min: Duration::from_millis(100), ..ack(Time::ZERO, rtt) });
        }
    }

    #[test]
    fn alpha_falls_and_beta_rises_with_the_delay() {
        let mut c = illinois(1000);
        // dm = 100 ms, so d1 = 1, d2 = 10, d3 = 80 ms. kappa1 = 99 * 0.3 * 10 / 9.7, kappa2 = 99 * 0.3 / 9.7 - 1.
        let alpha = |da: f64| (99.0 * 3.0 / 9.7) / (99.0 * 0.3 / 9.7 - 1.0 + da);
        let expected =
            [(1.0, 10.0, 0.125), (2.0, alpha(2.0), 0.125), (10.0, alpha(10.0), 0.125), (45.0, alpha(45.0), 0.3125), (100.0, 0.3, 0.5)];
        for (da, a, b) in expected {
            c.state = State { alpha: 10.0, ..RENO };
            c.update(da / 1000.0, 0.1);
            assert!((c.state.alpha - a).abs() < 1e-9, "alpha({da} ms) = {}, not {a}", c.state.alpha);
            assert!((c.state.beta - b).abs() < 1e-9, "beta({da} ms) = {}, not {b}", c.state.beta);
        }
    }

    #[test]
    fn averages_a_round_trip_over_the_least_and_the_longest() {
        let mut c = illinois(1000);
        delays(&mut c, 0, 3, 100);
        delays(&mut c, 3, 5, 45);
        // The round of 45 ms is over with the first sample of the next.
        assert!((c.state.beta - 0.3125).abs() < 1e-9);
        let before = c.cwnd();
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), (before as f64 * 0.6875 + 0.5) as u64);
    }

    #[test]
    fn alpha_is_greatest_only_after_theta_round_trips_without_delay() {
        let mut c = illinois(1000);
        delays(&mut c, 0, 3, 100);
        assert!((c.state.alpha - 0.3).abs() < 1e-9);
        // Round 2 had delay; rounds 3 to 6 are four without.
        delays(&mut c, 3, 8, 0);
        assert!(c.state.alpha < 1.0, "{:?}", c.state);
        delays(&mut c, 8, 9, 0);
        assert_eq!(c.state.alpha, 10.0);
        // One round with delay: it starts again.
        delays(&mut c, 9, 11, 50);
        assert!(c.state.alpha < 1.0 && c.state.calm == Some(0));
    }

    /// Liu et al. 2006 §3: alpha_max as soon as the average delay is known to be under d1; theta is for coming back.
    #[test]
    fn without_any_delay_alpha_is_greatest_from_the_first_round_trip_measured() {
        let mut c = illinois(1000);
        let gained: Vec<f64> = (0..4)
            .map(|number| {
                let before = segments(&c);
                rounds(&mut c, Time::ZERO, Duration::from_millis(100), number, 1);
                segments(&c) - before
            })
            .collect();
        // The first round trip measures, as Reno.
        for (gained, expected) in gained.iter().zip([1.0, 10.0, 10.0, 10.0]) {
            assert!((gained / expected - 1.0).abs() < 0.02, "{gained}, not {expected}");
        }
    }

    #[test]
    fn after_a_timeout_what_is_known_of_the_delay_stays_known() {
        for (delay, alpha) in [(0, 10.0), (50, 0.3)] {
            let mut c = illinois(1000);
            delays(&mut c, 0, 2, delay);
            reduce(&mut c, Time::ZERO, Congestion::Timeout);
            assert_eq!(c.state.alpha, 1.0);
            delays(&mut c, 2, 5, 0);
            assert!((c.state.alpha - alpha).abs() < 1e-9, "{delay} ms before it: {:?}", c.state);
        }
    }

    #[test]
    fn grows_by_alpha_segments_a_round() {
        let mut c = illinois(1000);
        c.state.alpha = 7.0;
        rounds(&mut c, Time::ZERO, Duration::from_millis(100), 0, 1);
        assert!((segments(&c) - 1007.0).abs() < 0.1);
    }

    #[test]
    fn a_small_window_and_a_timeout_are_reno() {
        let mut c = illinois(9);
        c.state = State { alpha: 10.0, beta: 0.125, calm: Some(0) };
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), 4500);
        let mut c = illinois(1000);
        c.state = State { alpha: 10.0, beta: 0.125, calm: Some(0) };
        reduce(&mut c, Time::ZERO, Congestion::Timeout);
        assert_eq!((c.cwnd(), c.ssthresh(), c.state.alpha), (MSS, 500 * MSS, 1.0));
        c.on_spurious();
        assert_eq!((c.cwnd(), c.state.alpha, c.state.beta), (1000 * MSS, 10.0, 0.125));
    }
}

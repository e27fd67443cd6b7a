//! Compound TCP (Tan, Song, Zhang and Sridharan 2006): Reno's window, and beside it one that grows fast while few of its
//! packets wait in the queue and shrinks as more do. `Window` here holds the sum of the two.

use super::promises::{CONVERGES, FULL, beside_cubic, sawtooth};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::congestion::rounds::Rounds;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;

const fn number(name: &'static str, max: f64, default: f64, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Number { min: 0.0, max }, default: Some(Value::Number(default)), doc }
}

pub(super) const KIND: ControlKind = ControlKind {
    name: "compound",
    summary: "Reno's window plus one by delay: scalable while the queue is short, gone when it is not",
    source: "Tan, Song, Zhang and Sridharan, A compound TCP approach, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
    // draft-sridharan-tcpm-ctcp-02 §3 and §5 have these values; what the paper calls zeta is eta there.
    params: &[
        number("alpha", 10.0, 0.125, "the delay window grows by alpha win^k - 1 segments a round"),
        number("beta", 1.0, 0.5, "the share of the whole window given up on loss"),
        number("k", 1.0, 0.75, "see alpha"),
        number("zeta", 100.0, 1.0, "the delay window gives up zeta segments for each that waits in the queue"),
        number("gamma", 1e6, 30.0, "with so many segments in the queue the delay window shrinks"),
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.5, "Tan et al. 2006: a loss takes half; over gamma = 30 segments of queue the delay window is gone"),
        CONVERGES,
        beside_cubic(0.3, 0.65, "Tan et al. 2006: beside Reno it takes what Reno would"),
    ],
    build: |c| Box::new(Compound::new(c)),
};

/// draft-sridharan-tcpm-ctcp-02 §2, §6: below so many segments it is Reno.
const LOW_WINDOW: f64 = 38.0;

/// Compound's two windows.
#[derive(Clone, Debug)]
pub struct Compound {
    /// cwnd + dwnd.
    window: Window,
    alpha: f64,
    beta: f64,
    k: f64,
    zeta: f64,
    gamma: f64,
    rounds: Rounds,
    /// The delay window, in segments, and as before the last reduction.
    dwnd: f64,
    dwnd_before: f64,
    /// The least round trip since the last timeout; zero before the first.
    base: Duration,
}

impl Compound {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let [alpha, beta, k, zeta, gamma] = ["alpha", "beta", "k", "zeta", "gamma"].map(|name| params.number(name));
        Compound {
            window: Window::new(config),
            alpha,
            beta,
            k,
            zeta,
            gamma,
            rounds: Rounds::default(),
            dwnd: 0.0,
            dwnd_before: 0.0,
            base: Duration::ZERO,
        }
    }

    /// The delay window becomes `dwnd`, and the whole window with it.
    fn set_dwnd(&mut self, dwnd: f64) {
        let change = dwnd - self.dwnd;
        self.window.grow(change * self.window.mss as f64);
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd).max(2 * self.window.mss);
        // The window itself may be at the most that can be used.
        self.dwnd = dwnd.min(self.window.segments());
    }

    /// A round of congestion avoidance is over; its round trip was `rtt`.
    fn end_round(&mut self, rtt: Duration) {
        let win = self.window.segments();
        // draft-sridharan-tcpm-ctcp-02 §3: diff = (win / base - win / rtt) base.
        let diff = win * (1.0 - self.base.as_secs_f64() / rtt.as_secs_f64());
        if diff >= self.gamma {
            // Eq. 4, and never negative.
            self.set_dwnd((self.dwnd - self.zeta * diff).max(0.0));
        } else if win >= LOW_WINDOW {
            // INFOCOM 2006 §III, Eq. 5: by (alpha win^k - 1)+; the draft's Eq. 3 has dwnd^k, which would never leave zero.
            self.set_dwnd(self.dwnd + (self.alpha * libm::pow(win, self.k) - 1.0).max(0.0));
        }
    }
}

impl CongestionControl for Compound {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::segments("dwnd", &mut self.dwnd), Variable::span("rtt_min", &mut self.base)]
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        let over = self.rounds.sample(ack);
        if let Some(rtt) = ack.rtt {
            self.base = if self.base.is_zero() { rtt } else { self.base.min(rtt) };
        }
        // draft-sridharan-tcpm-ctcp-02 §2: slow start is Reno's, without the delay window.
        if self.window.slow_start(ack) {
            return;
        }
        if let Some(trips) = over
            && !trips.mean.is_zero()
        {
            self.end_round(trips.mean);
        }
        // Eq. 2: the loss window grows by 1/(cwnd + dwnd) a segment acknowledged.
        self.window.increase(ack, 1.0);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.rounds.restart();
        match event.kind {
            Congestion::Loss | Congestion::Ecn | Congestion::Local => {
                self.dwnd_before = self.dwnd;
                let loss_window = self.window.segments() - self.dwnd;
                self.window.reduce(event, 1.0 - self.beta);
                // INFOCOM 2006 §III, Eq. 5: what is left of the whole, less half of the loss window.
                self.dwnd = (self.window.segments() - loss_window / 2.0).max(0.0);
            }
            Congestion::Timeout | Congestion::TimeoutAgain => {
                if event.kind == Congestion::Timeout {
                    self.dwnd_before = self.dwnd;
                }
                self.window.reduce(event, 1.0 - self.beta);
                // draft-sridharan-tcpm-ctcp-02 §3: the delay window is gone, and the path may be another.
                (self.dwnd, self.base) = (0.0, Duration::ZERO);
            }
        }
    }

    fn on_spurious(&mut self) {
        if self.window.undo() {
            self.dwnd = self.dwnd_before;
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        self.dwnd = 0.0;
        if let Unused::Idle(_) = unused {
            self.rounds.restart();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::Time;

    fn compound(segments: u64) -> (Path, Compound) {
        (Path::new(100), Compound::new(&config("compound", &[], segments)))
    }

    #[test]
    fn an_empty_queue_adds_alpha_win_to_the_k_a_round() {
        let (mut path, mut c) = compound(1000);
        path.round(&mut c, 100);
        assert_eq!(c.cwnd() / MSS, 1000, "one segment a round, by fractions");
        let win = c.window.segments();
        path.round(&mut c, 100);
        // 0.125 x 1001^0.75 - 1 = 21.2 beside Reno's one.
        let dwnd = 0.125 * libm::pow(win, 0.75) - 1.0;
        assert!((c.dwnd - dwnd).abs() < 1e-9 && (dwnd - 21.25).abs() < 0.01, "{} {dwnd}", c.dwnd);
        assert!((c.window.segments() - (win + dwnd + 1.0)).abs() < 0.05, "{}", c.window.segments());
    }

    #[test]
    fn a_queue_of_gamma_takes_the_delay_window_away() {
        let (mut path, mut c) = compound(1000);
        path.round(&mut c, 100);
        c.set_dwnd(300.0);
        let win = c.window.segments();
        path.round(&mut c, 110);
        let grown = c.dwnd;
        path.round(&mut c, 110);
        // Between: 10/110 of the window waits.
        let diff = (win + grown - 300.0 + 1.0) * 10.0 / 110.0;
        assert!((c.dwnd - (grown - diff)).abs() < 0.1, "{} {}", c.dwnd, grown - diff);
        for _ in 0..20 {
            path.round(&mut c, 110);
        }
        assert_eq!(c.dwnd, 0.0, "and then it is Reno");
    }

    #[test]
    fn below_38_segments_it_is_reno() {
        let (mut path, mut c) = compound(20);
        for _ in 0..10 {
            path.round(&mut c, 100);
        }
        assert_eq!((c.dwnd, c.window.segments().round()), (0.0, 30.0));
    }

    #[test]
    fn a_loss_halves_the_whole_and_the_loss_window_has_its_half() {
        let (_, mut c) = compound(600);
        c.set_dwnd(400.0);
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!((c.cwnd() / MSS, c.dwnd), (500, 200.0));
        c.on_spurious();
        assert_eq!((c.cwnd() / MSS, c.dwnd), (1000, 400.0));
        reduce(&mut c, Time::ZERO, Congestion::Timeout);
        assert_eq!((c.cwnd(), c.ssthresh() / MSS, c.dwnd), (MSS, 500, 0.0));
    }
}

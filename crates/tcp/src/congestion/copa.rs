//! Copa (Arun and Balakrishnan 2018): the window moves towards the rate 1 / (delta dq), dq being the queueing delay; where others keep
//! the queue from emptying, delta follows losses as Reno's window does.
//!
//! Abstract and summaries of the paper were read; section numbers and what is not in them are from memory.

use super::extremes::Least;
use super::promises::{beside_cubic, shares, uses};
use super::state::Unit;
use super::{AckSample, Claim, Congestion, CongestionControl, CongestionEvent, ControlKind, PrrUse, Traits, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::promise::Promise;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use std::cmp::Reverse;

pub(super) const KIND: ControlKind = ControlKind {
    name: "copa",
    summary: "moves towards the rate 1 / (delta queueing delay)",
    source: "Arun and Balakrishnan, Copa, NSDI 2018",
    params: &[
        ParamSpec {
            name: "delta",
            kind: Kind::Number { min: 0.001, max: 10.0 },
            default: Some(Value::Number(0.5)),
            doc: "weight of delay against throughput: alone it keeps about 1 / delta segments of its own in the queue",
        },
        ParamSpec {
            name: "mode_switching",
            kind: Kind::Bool,
            default: Some(Value::Bool(true)),
            doc: "whether delta follows losses while the queue is not nearly empty once in five round trips",
        },
        ParamSpec {
            name: "loss_limit",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.1)),
            doc: "loss of a round trip from which the window halves; longfat's own, for heavy losses",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.95, "Arun and Balakrishnan 2018, section 3: the queue is nearly empty once in five round trips, and seldom empty"),
        Promise::with(
            &[("delta", Value::Number(0.05)), ("mode_switching", Value::Bool(false))],
            Claim::QueuesSegments { least: 10.0, most: 50.0 },
            "Arun and Balakrishnan 2018, section 3: the queue swings between 0 and 2.5 / delta segments",
        ),
        shares(0.9, "Arun and Balakrishnan 2018, section 5.1: flows converge to equal shares"),
        beside_cubic(0.2, 0.7, "Arun and Balakrishnan 2018, abstract: it co-exists well with CUBIC"),
    ],
    build: |c| Box::new(Copa::new(c)),
};

/// §2.1: RTTmin is of the last 10 s.
const RTT_MIN_SPAN: Duration = Duration::from_secs(10);
/// Steps in which the time of round trips is counted.
const GRAIN: Duration = Duration::from_micros(100);
const COARSE_GRAIN: Duration = Duration::from_millis(100);
/// §2.2: segments are paced at twice cwnd in a round trip.
const PACING_GAIN: f64 = 2.0;
/// §2.2: velocity doubles once the direction was the same for three round trips.
const ROUNDS_BEFORE_DOUBLING: u32 = 3;
/// §2.3: the queue is nearly empty while the queueing delay is under a tenth of the largest of the last four round trips; Copa alone empties
/// it once in five round trips.
const NEARLY_EMPTY: f64 = 0.1;
const ROUNDS_OF_RTT_MAX: u64 = 4;
const ROUNDS_BETWEEN_EMPTY: u64 = 5;

/// How the last reduction is taken back.
#[derive(Clone, Copy, Debug)]
enum Undo {
    Nothing,
    Delta(f64),
    Window,
}

/// Copa's window, its round trips and its delta.
#[derive(Clone, Debug)]
pub struct Copa {
    window: Window,
    default_delta: f64,
    switches: bool,
    loss_limit: f64,
    delta: f64,
    rtt_min: Least<Duration>,
    standing: Least<Duration>,
    rtt_max: Least<Reverse<Duration>>,
    /// RTTmin and RTTstanding; zero before the first.
    least: Duration,
    standing_rtt: Duration,
    velocity: f64,
    /// The direction of the last round trip, and for how many it has been the same.
    rises: bool,
    same_for: u32,
    round: u64,
    cwnd_at_round: u64,
    /// When the queue was nearly empty last.
    emptied_at: Time,
    competes: bool,
    /// Whether a loss or a mark lowered 1 / delta in this round.
    reduced_in_round: bool,
    /// Whether the last round halved the window for its losses.
    halved: bool,
    /// Bytes delivered and lost on the connection when the round began.
    at_round: (u64, u64),
    undo: Undo,
}

impl Copa {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let window = Window::new(config);
        let delta = params.number("delta");
        Copa {
            default_delta: delta,
            switches: params.boolean("mode_switching"),
            loss_limit: params.number("loss_limit"),
            delta,
            rtt_min: Least::new(COARSE_GRAIN),
            standing: Least::new(GRAIN),
            rtt_max: Least::new(GRAIN),
            least: Duration::ZERO,
            standing_rtt: Duration::ZERO,
            velocity: 1.0,
            rises: true,
            same_for: 0,
            round: 0,
            cwnd_at_round: window.cwnd,
            emptied_at: Time::ZERO,
            competes: false,
            reduced_in_round: false,
            halved: false,
            at_round: (0, 0),
            undo: Undo::Nothing,
            window,
        }
    }

    /// §2.1: dq = RTTstanding - RTTmin.
    fn queueing_delay(&self) -> Duration {
        self.standing_rtt.saturating_sub(self.least)
    }

    /// §2.1: whether cwnd / RTTstanding is no more than the target 1 / (delta dq).
    fn is_below_target(&self) -> bool {
        self.window.segments() * self.delta * self.queueing_delay().as_secs_f64() <= self.standing_rtt.as_secs_f64()
    }

    fn measure(&mut self, ack: &AckSample, rtt: Duration) {
        self.least = self.rtt_min.update(ack.now, rtt, RTT_MIN_SPAN);
        // §2.1: RTTstanding is the least of the last srtt / 2: ACKs that were held or bunched do not count.
        self.standing_rtt = self.standing.update(ack.now, rtt, ack.srtt / 2);
        let Reverse(most) = self.rtt_max.update(ack.now, Reverse(rtt), ack.srtt * ROUNDS_OF_RTT_MAX);
        let swing = most.saturating_sub(self.least).as_secs_f64();
        if self.queueing_delay().as_secs_f64() <= NEARLY_EMPTY * swing {
            self.emptied_at = ack.now;
        }
        let competes = self.switches && ack.now.since(self.emptied_at) > ack.srtt * ROUNDS_BETWEEN_EMPTY;
        if competes != self.competes {
            // §2.3: each mode begins with the default delta.
            (self.competes, self.delta) = (competes, self.default_delta);
        }
    }

    /// Whether data that was sent in this round arrives. The sender counts no rounds in recovery.
    fn is_next_round(&mut self, ack: &AckSample) -> bool {
        match &ack.rate {
            Some(rate) if rate.prior_delivered < self.at_round.0 => false,
            Some(_) => true,
            None => std::mem::replace(&mut self.round, ack.round) != ack.round,
        }
    }

    /// §2.2, once a round trip: velocity by the direction; §2.3: delta.
    fn end_round(&mut self, ack: &AckSample) {
        let rises = self.window.cwnd > self.cwnd_at_round;
        self.same_for = if rises == self.rises { self.same_for.saturating_add(1) } else { 0 };
        self.rises = rises;
        self.velocity = match self.same_for {
            0 => 1.0,
            // Departs from the paper in the bound, which the step has too: no change of more than a segment for each acknowledged.
            n if n >= ROUNDS_BEFORE_DOUBLING => (2.0 * self.velocity).min((self.window.segments() * self.delta).max(1.0)),
            _ => self.velocity,
        };
        self.cwnd_at_round = self.window.cwnd;
        let was_reduced = std::mem::replace(&mut self.reduced_in_round, false);
        let now = ack.rate.map_or(self.at_round, |rate| (rate.total_delivered, rate.total_lost));
        let (delivered, lost) = (now.0 - self.at_round.0, now.1 - self.at_round.1);
        self.at_round = now;
        match lost {
            _ if !self.competes || was_reduced => {}
            // §2.3: 1 / delta grows by one each round trip without a loss.
            0 => self.delta = 1.0 / (1.0 / self.delta + 1.0),
            // Recovery that takes several round trips is one event to the sender. Each that loses more counts here.
            _ => self.lower_inverse_delta(),
        }
        // Departs from the paper, in which I know of no answer to heavy losses: RFC 9743 §5.1.1 wants one.
        // The round after it has losses of what was sent before.
        let was_halved = std::mem::replace(&mut self.halved, false);
        if !was_halved && lost > 0 && lost as f64 > self.loss_limit * (delivered + lost) as f64 {
            self.halved = true;
            self.window.move_to((self.window.cwnd / 2).max(2 * self.window.mss).min(self.window.cwnd));
        }
    }

    /// §2.1: an ACK moves the window by v / (delta cwnd) for each segment delivered.
    fn step(&mut self, ack: &AckSample) {
        let w = &self.window;
        let per_segment = (self.velocity / (self.delta * w.segments())).min(1.0);
        let change = per_segment * ack.delivered as f64;
        if !self.is_below_target() {
            let most = self.window.cwnd as f64 / 2.0;
            self.window.grow(-change.min(most));
        } else if ack.cwnd_limited {
            self.window.grow(change.min(self.window.cwnd as f64));
        }
    }

    /// §2.3: a round trip with losses halves 1 / delta, to no less than the default.
    fn lower_inverse_delta(&mut self) {
        self.delta = (2.0 * self.delta).min(self.default_delta);
    }

    fn reset_velocity(&mut self) {
        (self.velocity, self.same_for) = (1.0, 0);
    }
}

impl CongestionControl for Copa {
    keeps_window!();

    fn traits(&self) -> Traits {
        Traits { prr: PrrUse::Never, wants_rate: true, ..Traits::WINDOW }
    }

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![
            Variable::number("delta", &mut self.delta, 1e-9..=10.0),
            Variable::number("velocity", &mut self.velocity, 1.0..=1e9),
            Variable::span("rtt_min", &mut self.least),
            Variable::span("rtt_standing", &mut self.standing_rtt),
            Variable::new("competes", Unit::Flag, Some(f64::from(u8::from(self.competes))), 0.0..=1.0, |v| self.competes = v != 0.0),
        ]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        // Of SACKed data, too: the cumulative ACK stands still in recovery, which lasts many round trips where retransmissions are lost.
        let rtt = ack.rate.and_then(|rate| rate.rtt).or(ack.rtt).filter(|rtt| !rtt.is_zero());
        if let Some(rtt) = rtt {
            self.measure(ack, rtt);
        }
        if self.standing_rtt.is_zero() {
            return;
        }
        if self.window.in_slow_start() && !self.is_below_target() {
            // §2.2: slow start ends when the rate is beyond the target.
            self.window.move_to(self.window.cwnd);
        }
        if self.is_next_round(ack) {
            self.end_round(ack);
        }
        // The ACK of a retransmission says nothing of the queue.
        if ack.in_recovery && rtt.is_some() {
            self.step(ack);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !self.window.slow_start(ack) && !self.standing_rtt.is_zero() {
            self.step(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            Congestion::Timeout | Congestion::TimeoutAgain => {
                self.window.reduce(event, 0.5);
                self.delta = self.default_delta;
                self.reset_velocity();
                self.undo = Undo::Window;
            }
            // §2.3: a loss halves 1 / delta, to no less than the default. In the default mode it is no signal.
            Congestion::Loss | Congestion::Ecn | Congestion::Local => {
                self.undo = Undo::Delta(self.delta);
                self.reduced_in_round = true;
                if self.competes {
                    self.lower_inverse_delta();
                }
                // A loss ends slow start: the queue is full.
                if self.window.in_slow_start() {
                    self.window.reduce(event, 0.5);
                    self.undo = Undo::Window;
                }
            }
        }
    }

    fn on_spurious(&mut self) {
        match std::mem::replace(&mut self.undo, Undo::Nothing) {
            Undo::Nothing => {}
            Undo::Delta(delta) => self.delta = delta,
            Undo::Window => {
                self.window.undo();
            }
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        self.reset_velocity();
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.standing_rtt.is_zero() {
            return self.window.pacing_rate();
        }
        Some(Rate::from_bps((8.0 * PACING_GAIN * self.window.cwnd as f64 / self.standing_rtt.as_secs_f64()) as u64 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::rate::RateSample;

    fn copa(params: &[(&'static str, Value)], segments: u64) -> Copa {
        Copa::new(&config("copa", params, segments))
    }

    /// The window in segments after rounds of so many milliseconds each.
    fn windows(path: &mut Path, copa: &mut Copa, rtts: &[u64]) -> Vec<f64> {
        let mut window = |rtt: &u64| {
            path.round(copa, *rtt);
            segments(copa).round()
        };
        rtts.iter().map(&mut window).collect()
    }

    #[test]
    fn the_window_moves_by_velocity_over_delta_each_round_and_velocity_doubles_after_three() {
        let (mut path, mut c) = (Path::new(100), copa(&[("mode_switching", Value::Bool(false))], 100));
        // 1 / delta = 2 segments each round, a little less as the window grows under way. The direction is known after the first round, the
        // same for three after the fourth: 4 then, and 8.
        assert_eq!(windows(&mut path, &mut c, &[100; 6]), [102.0, 104.0, 106.0, 108.0, 112.0, 119.0]);
        assert_eq!(c.velocity, 4.0);
    }

    #[test]
    fn beyond_the_target_rate_it_goes_down() {
        let (mut path, mut c) = (Path::new(100), copa(&[("mode_switching", Value::Bool(false))], 100));
        path.round(&mut c, 100);
        // 102 segments: the target is cwnd / RTT = 1 / (0.5 dq), at dq = 2 RTT / cwnd, 2 ms. With 4 ms queued it is beyond.
        assert!(c.is_below_target());
        // RTTstanding is of half a round trip: as much up as down in the first, two segments down in the second.
        assert_eq!(windows(&mut path, &mut c, &[104, 104]), [102.0, 100.0]);
        assert!(!c.is_below_target());
        // The target itself: 100 segments, 1 ms of 101 ms queued is 0.99 of 2 segments.
        path.round(&mut c, 101);
        assert!(c.is_below_target());
    }

    #[test]
    fn slow_start_ends_beyond_the_target() {
        let (mut path, mut c) = (Path::new(100), copa(&[], 10));
        c.window.ssthresh = u64::MAX;
        assert_eq!(windows(&mut path, &mut c, &[100, 100]), [20.0, 40.0]);
        // 40 segments: the target queueing delay is 5 ms.
        // RTTstanding knows of it half a round trip later.
        path.round(&mut c, 110);
        assert!(c.ssthresh() <= 61 * MSS && segments(&c) < 61.0, "{}", segments(&c));
    }

    #[test]
    fn a_queue_that_does_not_empty_makes_it_compete_and_a_loss_halves_one_over_delta() {
        let (mut path, mut c) = (Path::new(100), copa(&[], 100));
        path.round(&mut c, 100);
        for _ in 0..4 {
            path.round(&mut c, 150);
        }
        assert!(!c.competes);
        for _ in 0..7 {
            path.round(&mut c, 150);
        }
        assert!(c.competes);
        let inverse = 1.0 / c.delta;
        assert!(inverse > 4.0, "{inverse}");
        let before = c.cwnd();
        reduce(&mut c, path.now, Congestion::Loss);
        assert!((1.0 / c.delta - (inverse / 2.0).max(2.0)).abs() < 1e-9);
        assert_eq!(c.cwnd(), before, "only delta answers");
        c.on_spurious();
        assert!((1.0 / c.delta - inverse).abs() < 1e-9);
        // An empty queue: the default again.
        path.round(&mut c, 100);
        assert!(!c.competes);
        assert_eq!(c.delta, 0.5);
    }

    #[test]
    fn losses_are_no_signal_alone_a_timeout_is() {
        let (mut path, mut c) = (Path::new(100), copa(&[], 100));
        path.round(&mut c, 100);
        let before = c.cwnd();
        reduce(&mut c, path.now, Congestion::Loss);
        assert_eq!((c.cwnd(), c.delta), (before, 0.5));
        reduce(&mut c, path.now, Congestion::Timeout);
        assert_eq!(c.cwnd(), MSS);
        c.on_spurious();
        assert_eq!(c.cwnd(), before);
    }

    /// In recovery the sender counts no rounds and the cumulative ACK measures no round trip; SACKed data tells of both.
    #[test]
    fn heavy_losses_halve_once_for_a_window_sent_before_also_in_recovery() {
        let mut c = copa(&[("mode_switching", Value::Bool(false))], 100);
        let rtt = Duration::from_millis(100);
        let mut round = |n: u64, lost: u64| {
            let rate = RateSample {
                prior_delivered: n * 60 * MSS,
                total_delivered: (n + 1) * 60 * MSS,
                total_lost: lost * MSS,
                rtt: Some(rtt),
                ..RateSample::default()
            };
            let now = Time::ZERO + rtt * (n + 1);
            let ack = AckSample { now, delivered: MSS, srtt: rtt, in_recovery: true, rate: Some(rate), ..AckSample::default() };
            c.on_sample(&ack);
            (segments(&c).round(), c.velocity)
        };
        assert_eq!(round(0, 0), (100.0, 1.0));
        // 40 of 100, then 30 of 90 of the same window, then 20 of 80.
        assert_eq!([round(1, 40).0, round(2, 70).0, round(3, 90).0], [50.0, 50.0, 25.0]);
    }

    #[test]
    fn it_paces_at_twice_its_window() {
        let (mut path, mut c) = (Path::new(100), copa(&[], 100));
        path.round(&mut c, 100);
        assert_eq!(c.pacing_rate().unwrap().as_bps(), 2 * 8 * c.cwnd() * 10 + 1);
    }
}

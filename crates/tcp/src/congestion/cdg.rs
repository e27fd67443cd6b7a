//! CDG, the CAIA delay gradient (Hayes and Armitage 2011): the window falls with a probability that grows with the gradient of the least
//! and the largest round trip; losses count where the queue may be full.
//!
//! The paper's text was not at hand. Model, constants and section order are from memory; each choice of ours says so.

use super::promises::{beside_cubic, queues_bdp, shares, uses};
use super::state::Unit;
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Established, PathModel, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::rng::Rng;
use longfat_core::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "cdg",
    summary: "backs off at random as round trips grow",
    source: "Hayes and Armitage, Networking 2011",
    params: &[
        ParamSpec {
            name: "gradient_scale",
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(1) },
            default: Some(Value::Duration(Duration::from_millis(3))),
            doc: "growth of round trips per round trip at which it backs off with a probability of 63 %",
        },
        ParamSpec {
            name: "beta",
            kind: Kind::Number { min: 0.1, max: 0.99 },
            default: Some(Value::Number(0.7)),
            doc: "the share of the window that a delay leaves",
        },
        ParamSpec {
            name: "ineffective",
            kind: Kind::Count { unit: "", min: 1, max: 1000 },
            default: Some(Value::Count(5)),
            doc: "reductions in a row that shorten no round trip, after which as many are left out",
        },
        ParamSpec {
            name: "loss_tolerance",
            kind: Kind::Bool,
            default: Some(Value::Bool(true)),
            doc: "whether a loss while the queue is known not to be full leaves the window (Linux: false)",
        },
    ],
    linux: &[("loss_tolerance", Value::Bool(false))],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.8, "Hayes and Armitage 2011, section 4: reasonable goodput at a factor of 0.7"),
        queues_bdp(0.0, 0.5, "Hayes and Armitage 2011, abstract: low queueing delay"),
        shares(0.9, "Hayes and Armitage 2011, abstract: flows share fairly"),
        beside_cubic(0.0, 0.6, "Hayes and Armitage 2011, section 4: it coexists with loss-based flows, and gets less"),
    ],
    build: |c| Box::new(Cdg::new(c)),
};

/// Gradients under the moving average.
const SMOOTHING: usize = 8;
/// Reduction by losses: Reno's.
const AFTER_LOSS: f64 = 0.5;

/// The queue of the path, by which of the two extremes stands still first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    Unknown,
    Full,
    Empty,
    Rising,
    Falling,
}

/// A moving average of gradients, in ms per round trip.
#[derive(Clone, Debug, Default)]
struct Average {
    last: [f64; SMOOTHING],
    at: usize,
    newest: f64,
}

impl Average {
    fn push(&mut self, gradient: f64) {
        self.last[self.at] = gradient;
        self.at = (self.at + 1) % SMOOTHING;
        self.newest = gradient;
    }

    fn get(&self) -> f64 {
        self.last.iter().sum::<f64>() / SMOOTHING as f64
    }
}

/// CDG's window, its gradients, and the window that losses alone would have left.
#[derive(Clone, Debug)]
pub struct Cdg {
    window: Window,
    scale_ms: f64,
    beta: f64,
    ineffective: u64,
    tolerates: bool,
    round: u64,
    /// Least and largest round trip of this round and of the last, in ms.
    extremes: Option<(f64, f64)>,
    before: Option<(f64, f64)>,
    least: Average,
    most: Average,
    queue: Queue,
    /// In bytes; zero: none.
    shadow: f64,
    /// Reductions in a row that had no effect, and those that are still left out.
    in_vain: u64,
    left_out: u64,
    rng: Rng,
}

impl Cdg {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Cdg {
            window: Window::new(config),
            scale_ms: params.duration("gradient_scale").as_secs_f64() * 1e3,
            beta: params.number("beta"),
            ineffective: params.integer("ineffective"),
            tolerates: params.boolean("loss_tolerance"),
            round: 0,
            extremes: None,
            before: None,
            least: Average::default(),
            most: Average::default(),
            queue: Queue::Unknown,
            shadow: 0.0,
            in_vain: 0,
            left_out: 0,
            rng: Rng::named(0, "cdg"),
        }
    }

    /// The round is over: the gradients of its extremes, and the queue that they tell of.
    fn end_round(&mut self) -> bool {
        let Some(now) = self.extremes.take() else { return false };
        let Some(before) = self.before.replace(now) else { return false };
        self.least.push(now.0 - before.0);
        self.most.push(now.1 - before.1);
        let (least, most) = (self.least.get(), self.most.get());
        self.queue = match (least, most) {
            // A queue that fills lets the largest round trip stand still before the least; one that drains, the least before the largest.
            (l, m) if l > 0.0 && m <= 0.0 => Queue::Full,
            (l, m) if m < 0.0 && l >= 0.0 => Queue::Empty,
            (l, m) if l > 0.0 && m > 0.0 => Queue::Rising,
            (l, m) if l < 0.0 && m < 0.0 => Queue::Falling,
            _ => self.queue,
        };
        if self.queue == Queue::Empty {
            // A choice of ours: who empties the queue competes with nobody.
            self.shadow = 0.0;
        } else if self.shadow > 0.0 {
            // A choice of ours: the shadow grows as a window of Reno's does.
            self.shadow += self.window.mss as f64;
        }
        true
    }

    /// Whether this round's gradients ask for a reduction: P = 1 - exp(-g / G), of the larger of the two.
    fn backs_off(&mut self) -> bool {
        // Slow start looks at the newest gradient: a smoothed one would come too late.
        let (least, most) =
            if self.window.in_slow_start() { (self.least.newest, self.most.newest) } else { (self.least.get(), self.most.get()) };
        if least < 0.0 || most < 0.0 {
            (self.in_vain, self.left_out) = (0, 0);
        }
        let gradient = least.max(most);
        if gradient <= 0.0 || self.rng.uniform() >= 1.0 - libm::exp(-gradient / self.scale_ms) {
            return false;
        }
        if self.left_out > 0 {
            self.left_out -= 1;
            return false;
        }
        self.in_vain += 1;
        if self.in_vain >= self.ineffective {
            (self.in_vain, self.left_out) = (0, self.ineffective);
        }
        true
    }

    fn forget(&mut self) {
        (self.extremes, self.before) = (None, None);
        (self.least, self.most) = (Average::default(), Average::default());
        (self.queue, self.shadow) = (Queue::Unknown, 0.0);
        (self.in_vain, self.left_out) = (0, 0);
    }
}

impl CongestionControl for Cdg {
    keeps_window!();

    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn state(&mut self) -> Vec<Variable<'_>> {
        let shadow = &mut self.shadow;
        vec![Variable::new("shadow", Unit::Bytes, Some(*shadow), 0.0..=1e15, |bytes| *shadow = bytes)]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        if ack.round != self.round {
            self.round = ack.round;
            if self.end_round() && !ack.in_recovery && self.backs_off() {
                self.shadow = self.shadow.max(self.window.cwnd as f64);
                self.window.move_to(((self.window.cwnd as f64 * self.beta) as u64).max(2 * self.window.mss).min(self.window.cwnd));
            }
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64() * 1e3;
            let (least, most) = self.extremes.unwrap_or((rtt, rtt));
            self.extremes = Some((least.min(rtt), most.max(rtt)));
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !self.window.slow_start(ack) && ack.cwnd_limited {
            self.window.increase(ack, 1.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let cwnd = self.window.cwnd;
        match event.kind {
            Congestion::Loss if self.tolerates && matches!(self.queue, Queue::Empty | Queue::Rising | Queue::Falling) => {
                // The queue is known not to be full: the loss is not congestion's.
                self.window.reduce_to(event, cwnd);
            }
            Congestion::Loss => {
                // Half of what losses alone would have left, but never more than there is.
                self.window.reduce_to(event, ((self.shadow.max(cwnd as f64) * AFTER_LOSS) as u64).min(cwnd * 9 / 10));
                self.shadow = 0.0;
            }
            Congestion::Ecn | Congestion::Local => self.window.reduce(event, AFTER_LOSS),
            Congestion::Timeout | Congestion::TimeoutAgain => {
                self.window.reduce(event, AFTER_LOSS);
                self.forget();
            }
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Idle(_) = unused {
            self.forget();
        }
    }
}

impl PathModel for Cdg {
    fn on_established(&mut self, established: &Established) {
        self.rng = Rng::named(established.seed, "cdg");
    }

    fn on_syn_loss(&mut self) {
        self.window.syn_loss();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::Time;

    fn cdg(params: &[(&'static str, Value)], segments: u64) -> Cdg {
        Cdg::new(&config("cdg", params, segments))
    }

    /// A gradient beside which the scale is nothing: every positive one is a reduction.
    const CERTAIN: (&str, Value) = ("gradient_scale", Value::Duration(Duration::from_micros(1)));

    #[test]
    fn a_round_trip_that_stands_still_lets_it_grow_and_one_that_grows_takes_three_tenths() {
        let (mut path, mut c) = (Path::new(100), cdg(&[CERTAIN], 100));
        for _ in 0..3 {
            path.round(&mut c, 100);
        }
        assert_eq!(segments(&c).round(), 103.0);
        path.round(&mut c, 108);
        // The gradient, 8 ms over eight rounds, is known when the round is over: 0.7 of 104, and one on.
        path.round(&mut c, 108);
        assert!((segments(&c) - (0.7 * 104.0 + 1.0)).abs() < 0.5, "{}", segments(&c));
    }

    #[test]
    fn the_probability_is_that_of_the_formula() {
        // 24 ms over 8 rounds are 3 ms a round: 1 - 1/e. Every draw is of a new control.
        let mut hits = 0;
        for seed in 0..2_000 {
            let mut c = cdg(&[], 100);
            c.on_established(&Established { now: Time::ZERO, rtt: None, sack: true, seed });
            c.least.push(24.0);
            hits += u32::from(c.backs_off());
        }
        let expected = 2_000.0 * (1.0 - libm::exp(-1.0));
        assert!((f64::from(hits) - expected).abs() < 3.5 * (2_000.0_f64 * 0.632 * 0.368).sqrt(), "{hits} of 2000");
    }

    #[test]
    fn after_five_reductions_in_vain_five_are_left_out() {
        let mut c = cdg(&[CERTAIN], 100);
        c.least.push(8.0);
        let said: Vec<bool> = (0..12).map(|_| c.backs_off()).collect();
        assert_eq!(said, [vec![true; 5], vec![false; 5], vec![true; 2]].concat());
        // A round trip that falls ends the count.
        c.least.push(-20.0);
        assert!(!c.backs_off());
        assert_eq!((c.in_vain, c.left_out), (0, 0));
    }

    #[test]
    fn the_extremes_tell_the_queue() {
        let state = |least: f64, most: f64| {
            let mut c = cdg(&[], 100);
            (c.before, c.extremes) = (Some((100.0, 110.0)), Some((100.0 + least, 110.0 + most)));
            c.end_round();
            c.queue
        };
        assert_eq!(
            [state(1.0, 0.0), state(0.0, -1.0), state(1.0, 1.0), state(-1.0, -1.0), state(0.0, 0.0)],
            [Queue::Full, Queue::Empty, Queue::Rising, Queue::Falling, Queue::Unknown]
        );
    }

    #[test]
    fn a_loss_counts_unless_the_queue_is_known_not_to_be_full() {
        for (queue, tolerates, left) in
            [(Queue::Unknown, true, 50), (Queue::Full, true, 50), (Queue::Rising, true, 100), (Queue::Rising, false, 50)]
        {
            let mut c = cdg(&[("loss_tolerance", Value::Bool(tolerates))], 100);
            c.queue = queue;
            reduce(&mut c, Time::ZERO, Congestion::Loss);
            assert_eq!(c.cwnd() / MSS, left, "{queue:?}");
        }
    }

    #[test]
    fn the_shadow_gives_back_what_delays_took_where_others_fill_the_queue() {
        let mut c = cdg(&[], 70);
        (c.shadow, c.queue) = (100.0 * MSS as f64, Queue::Full);
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd() / MSS, 50);
        // A shadow of more than twice the window would make a loss a reason to send more.
        let mut c = cdg(&[], 70);
        (c.shadow, c.queue) = (300.0 * MSS as f64, Queue::Full);
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd() / MSS, 63);
    }
}

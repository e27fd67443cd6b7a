//! TCP-LP (Kuzmanovic and Knightly 2003) with whatever growth: a control that yields to others. Congestion is seen early, by one-way
//! delays, and a second sight of it soon after the first means that others are there.

use super::state::Unit;
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, Traits, Unused, Variable, Window};
use crate::TcpConfig;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::{Duration, Time};

/// INFOCOM 2003 §IV-A: delta = 0.15 of the range of delays; §IV-B: an inference phase of three round trips.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "delta",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        default: Some(Value::Number(0.15)),
        doc: "early congestion: a smoothed one-way delay beyond this share of the way from the least to the greatest seen",
    },
    ParamSpec {
        name: "inference",
        kind: Kind::Count { unit: "", min: 0, max: 1000 },
        default: Some(Value::Count(3)),
        doc: "round trips of the inference phase, in which the window does not grow",
    },
];

/// INFOCOM 2003 §IV-A: the weight of a new delay in the smoothed one.
const SMOOTHING: f64 = 0.125;

/// Congestion, as the delays tell of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Early {
    /// No congestion.
    Clear,
    /// Congestion: give up what a loss would cost.
    First,
    /// Again, in the inference phase: others are there. Down to one segment.
    Second,
}

/// An ACK of one segment: when that was sent, and its delay.
#[derive(Clone, Copy, Debug)]
struct Alone {
    sent: Time,
    delay: i64,
}

/// The delays seen, and the inference phase. Delays are in ps, up to a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    delta: f64,
    inference: u64,
    /// One tick of the timestamps: a delay is as measured, or longer by less than this.
    tick: i64,
    mss: u64,
    /// The last ACK answered one segment, and nothing has been acknowledged since.
    alone: Option<Alone>,
    /// The least delay there can have been, from above, and the greatest, from below.
    pub range: Option<(i64, i64)>,
    smoothed: Option<f64>,
    /// A loss has shown how long the delay is where the queue is full.
    pub full_seen: bool,
    round: u64,
    /// Delays before this round are of a window that has been given up since.
    seen_from: u64,
    /// The inference phase ends.
    until: Time,
}

impl Delays {
    fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Delays {
            delta: params.number("delta"),
            inference: params.integer("inference"),
            tick: config.timers.timestamp_tick.as_ps() as i64,
            mss: u64::from(config.mss),
            alone: None,
            range: None,
            smoothed: None,
            full_seen: false,
            round: 0,
            seen_from: 0,
            until: Time::ZERO,
        }
    }

    /// Takes in the delay that this ACK tells.
    #[inline]
    pub(super) fn measure(&mut self, ack: &AckSample) {
        self.round = ack.round;
        if ack.acked == 0 {
            return;
        }
        let alone = self.alone.take();
        let Some((delay, rtt)) = ack.forward_delay.zip(ack.rtt) else { return };
        let sent = Time::from_ps(ack.now.as_ps().saturating_sub(rtt.as_ps()));
        if let Some(alone) = alone.filter(|alone| self.follows(sent.since(alone.sent), ack)) {
            self.take(alone.delay);
        }
        if ack.in_flight < 2 * self.mss || ack.round < self.seen_from {
            return;
        }
        if ack.acked < 2 * self.mss {
            self.alone = Some(Alone { sent, delay });
        } else {
            self.take(delay);
        }
    }

    /// Returns true if the receiver cannot have held the ACK of one segment for long. This ACK answers the next one, sent `gap` later.
    ///
    /// RFC 5681 §4.2: the receiver's timer may hold the ACK of one segment, but not that of two. So it waits no longer than the next segment
    /// takes to come. The last segment of a burst waits for the timer. That is no delay of the path, and far longer than most: it would pass for
    /// the greatest one, and a window of a few segments, whose last one waits in each round, would never grow. Segments that ACKs clock are
    /// spaced by a round trip over the window. Twice that counts as soon, up to a quarter of a round trip.
    #[inline]
    fn follows(&self, gap: Duration, ack: &AckSample) -> bool {
        gap.saturating_mul((ack.in_flight / (2 * self.mss)).max(4)) <= ack.srtt
    }

    /// Takes in a delay of the path.
    #[inline]
    fn take(&mut self, delay: i64) {
        // Within a tick the measured delay falls from the true one to one tick less. So the greatest measured is the greatest there
        // was, and the least is under the least measured and a tick, which comes as near as ACKs are close to each other.
        let (least, most) = self.range.unwrap_or((i64::MAX, i64::MIN));
        self.range = Some((least.min(delay + self.tick), most.max(delay)));
        let smoothed = self.smoothed.unwrap_or(delay as f64);
        self.smoothed = Some(smoothed + SMOOTHING * (delay as f64 - smoothed));
    }

    /// Judges the delays. An inference phase begins if they tell of congestion.
    #[inline]
    fn early(&mut self, ack: &AckSample) -> Early {
        // Slow start finds the greatest delay. Where it ends before the queue was full, at the host's own, there is none to take a share of.
        if !self.full_seen {
            return Early::Clear;
        }
        let (Some((least, most)), Some(smoothed)) = (self.range, self.smoothed) else { return Early::Clear };
        // INFOCOM 2003 §IV-A: d > d_min + delta (d_max - d_min).
        if smoothed <= least as f64 + self.delta * (most - least).max(0) as f64 {
            return Early::Clear;
        }
        let early = if self.holds(ack.now) { Early::Second } else { Early::First };
        self.until = ack.now + ack.srtt.saturating_mul(self.inference);
        self.reduced();
        early
    }

    /// Returns true during the inference phase, in which the window does not grow (INFOCOM 2003 §IV-B).
    #[inline]
    fn holds(&self, now: Time) -> bool {
        now < self.until
    }

    /// The window was reduced, for whatever reason. What it does shows from the end of the round after this one on.
    fn reduced(&mut self) {
        self.seen_from = self.round + 2;
        (self.smoothed, self.alone) = (None, None);
    }

    /// Delays tell from now on: a reduction was for nothing, or sending starts again after idleness.
    fn restart(&mut self) {
        self.seen_from = self.round;
        (self.smoothed, self.alone) = (None, None);
    }
}

/// Growth of the window where nothing is to be given to others, and the cost of a loss.
pub(super) trait Growth: std::fmt::Debug {
    /// Segments for each window acknowledged.
    fn increase(&mut self, w: &Window) -> f64;
    /// The share of a window of `w` segments that a loss, or the first early indication, takes.
    fn decrease(w: f64) -> f64;
}

/// A window that yields.
#[derive(Clone, Debug)]
pub(super) struct LowPriority<G> {
    pub(super) window: Window,
    pub(super) delays: Delays,
    growth: G,
}

impl<G: Growth> LowPriority<G> {
    /// Creates the control from `config`.
    pub(super) fn new(config: &TcpConfig, growth: G) -> Self {
        LowPriority { window: Window::new(config), delays: Delays::new(config), growth }
    }
}

impl<G: Growth> CongestionControl for LowPriority<G> {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let Delays { smoothed, until, .. } = &mut self.delays;
        // In ps there, as delays of clocks that are not synchronized.
        let seconds = |ps: f64| ps / 1e12;
        let delay = Variable::new("delay", Unit::Seconds, smoothed.map(seconds), 0.0..=1e6, |s| *smoothed = Some(s * 1e12));
        vec![delay, Variable::instant("inference_until", until)]
    }

    fn traits(&self) -> Traits {
        Traits { wants_forward_delay: true, ..Traits::WINDOW }
    }

    fn on_sample(&mut self, ack: &AckSample) {
        self.delays.measure(ack);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        let w = &mut self.window;
        // INFOCOM 2003 Fig. 2 is of congestion avoidance: slow start is TCP's.
        match if w.in_slow_start() { Early::Clear } else { self.delays.early(ack) } {
            Early::First => w.move_to((w.cwnd as f64 * (1.0 - G::decrease(w.segments()))) as u64),
            Early::Second => w.move_to(w.mss),
            Early::Clear => {
                if ack.cwnd_limited && !self.delays.holds(ack.now) && !w.slow_start(ack) {
                    let a = self.growth.increase(w);
                    w.increase(ack, a);
                }
            }
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.reduce(event, 1.0 - G::decrease(self.window.segments()));
        self.delays.full_seen |= event.kind != Congestion::Local;
        self.delays.reduced();
    }

    fn on_spurious(&mut self) {
        if self.window.undo() {
            self.delays.restart();
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Idle(_) = unused {
            self.delays.restart();
        }
    }
}

//! The last of the remedies of Weigle and Feng 2001 §IV-B: right-sizing with a heuristic over maxwnd. The sender tries a larger
//! maxwnd and looks: more throughput, and it stays; less throughput and a cwnd that swings, and it goes back, and a little below.
//!
//! The paper gives the idea and no constants. All of them are parameters, and their defaults are ours.

use super::ideal::{SPARE, at_first};
use super::{MAXWND, SendSizing, SendState, SizingKind, check_maxwnd, check_segment, unbounded};
use crate::TcpConfig;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Time;
use longfat_core::units::Capacity;

pub(super) const KIND: SizingKind = SizingKind {
    name: "search",
    summary: "right-sizing under a maxwnd that the sender searches: raised while it helps, lowered when throughput falls and cwnd swings",
    source: "Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, section IV-B; constants are longfat's",
    params: &[
        MAXWND,
        ParamSpec {
            name: "start",
            kind: Kind::Window,
            default: Some(Value::Capacity(Capacity::Packets(44))),
            doc: "maxwnd at the start, and the least: by default the 64 KB of a static window",
        },
        ParamSpec {
            name: "step",
            kind: Kind::Number { min: 0.001, max: 1.0 },
            default: Some(Value::Number(0.1)),
            doc: "relative step by which maxwnd is raised, at least one segment",
        },
        ParamSpec {
            name: "period",
            kind: Kind::Count { unit: "", min: 1, max: 10_000 },
            default: Some(Value::Count(8)),
            doc: "round trips over which throughput and cwnd are looked at",
        },
        ParamSpec {
            name: "better",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.02)),
            doc: "relative change of throughput that counts as better or worse",
        },
        ParamSpec {
            name: "swing",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.25)),
            doc: "cwnd swings where its least in a period is below its most by more than this share",
        },
        ParamSpec {
            name: "rest",
            kind: Kind::Count { unit: "", min: 0, max: 10_000 },
            default: Some(Value::Count(8)),
            doc: "periods after a raise that was no use, before the next is tried",
        },
    ],
    check: |config| {
        let start = config.window_sizing.params.window("start", config.mss.into()).expect("it has a default");
        check_segment("start", start, config)?;
        check_maxwnd(config)
    },
    most: unbounded,
    send: |config| Some(Box::new(Search::new(config))),
    receive: |_| None,
};

/// A period that is over: what it delivered, in bytes a second, and the least and the most of cwnd in it.
#[derive(Clone, Copy, Debug)]
struct Period {
    rate: f64,
    swings: bool,
}

#[derive(Debug)]
struct Search {
    start: u64,
    step: f64,
    period: u64,
    better: f64,
    swing: f64,
    rest: u64,
    maxwnd: u64,
    /// Before the last raise, where that is still to be judged: maxwnd and throughput.
    before: Option<(u64, f64)>,
    /// Periods to rest.
    resting: u64,
    /// The period under way: when and with what it began, in which round trip, and the least and most of cwnd.
    began: Option<(Time, u64, u64)>,
    cwnd: (u64, u64),
    needed: u64,
}

impl Search {
    fn new(config: &TcpConfig) -> Self {
        let params = &config.window_sizing.params;
        let start = params.window("start", config.mss.into()).expect("it has a default");
        Search {
            start,
            step: params.number("step"),
            period: params.integer("period"),
            better: params.number("better"),
            swing: params.number("swing"),
            rest: params.integer("rest"),
            maxwnd: start,
            before: None,
            resting: 0,
            began: None,
            cwnd: (u64::MAX, 0),
            needed: at_first(config),
        }
    }

    /// The window that counts: a cwnd far above maxwnd may swing without a packet noticing.
    fn note(&mut self, state: &SendState) {
        let cwnd = state.cwnd.min(self.maxwnd);
        self.cwnd = (self.cwnd.0.min(cwnd), self.cwnd.1.max(cwnd));
    }

    fn end_period(&mut self, state: &SendState) -> Option<Period> {
        let (at, una, round) = *self.began.get_or_insert((state.now, state.una, state.round));
        let span = state.now.since(at).as_secs_f64();
        if state.round < round + self.period || span <= 0.0 {
            return None;
        }
        let (least, most) = self.cwnd;
        self.began = Some((state.now, state.una, state.round));
        self.cwnd = (u64::MAX, 0);
        Some(Period { rate: (state.una - una) as f64 / span, swings: (least as f64) < most as f64 * (1.0 - self.swing) })
    }

    /// A period is over: keeps the last raise, or takes it back; and tries another when it is time.
    fn judge(&mut self, period: Period, mss: u64) {
        match self.before.take() {
            Some((_, rate)) if period.rate > rate * (1.0 + self.better) => {}
            Some((maxwnd, rate)) => {
                // §IV-B: worse, and cwnd swings: the path is overshot, so slightly less than before. Merely no better: as before,
                // since memory that brings nothing is wasted.
                let overshot = period.swings && period.rate < rate * (1.0 - self.better);
                self.maxwnd = if overshot { maxwnd.saturating_sub(self.raise(maxwnd, mss)).max(self.start) } else { maxwnd };
                self.resting = self.rest;
                return;
            }
            None => {}
        }
        if self.resting > 0 {
            self.resting -= 1;
            return;
        }
        self.before = Some((self.maxwnd, period.rate));
        self.maxwnd += self.raise(self.maxwnd, mss);
    }

    fn raise(&self, maxwnd: u64, mss: u64) -> u64 {
        ((maxwnd as f64 * self.step) as u64).max(mss)
    }
}

impl SendSizing for Search {
    fn update(&mut self, state: &SendState) {
        self.needed = state.needed.min(state.rwnd) + SPARE * state.mss;
        self.note(state);
        if let Some(period) = self.end_period(state) {
            self.judge(period, state.mss);
        }
    }

    fn buffer(&self) -> u64 {
        self.needed.min(self.maxwnd)
    }
}

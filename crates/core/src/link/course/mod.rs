//! Rates and delays over time: piece after piece, each with one value.
//!
//! A [`Course`] describes them: steps that are written down, or drawn by one of the kinds in [`REGISTRY`], one file each.

mod leo;
mod lte;
mod markov;
mod outages;
mod random_walk;
mod sine;
mod steps;
#[cfg(test)]
mod tests;

pub(super) use outages::Interrupted;
pub use outages::{Outage, Outages};
pub use steps::{Step, Steps};

use crate::by_name;
use crate::params::{Choice, Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::text::TIME;

/// One value, and the time up to (and without) which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Time at which the next piece begins; [`Time::MAX`]: never.
    pub until: Time,
    /// Bits per second, or picoseconds.
    pub value: u64,
}

/// Pieces one after the other, from time zero on, without end.
pub trait Pieces {
    /// Returns the next piece.
    fn next(&mut self) -> Piece;
}

/// Values of a quantity over time: bits per second for a rate, picoseconds for a delay.
#[derive(Clone, Debug, PartialEq)]
pub enum Course {
    /// Steps as the user wrote them.
    Steps(Steps),
    /// Drawn between two values.
    Drawn {
        /// Least value.
        low: u64,
        /// Greatest value.
        high: u64,
        /// Kind of the values: an entry of [`REGISTRY`].
        by: Choice,
    },
}

impl Course {
    /// Returns the least value that it ever has, as far as that is known beforehand.
    pub fn least(&self) -> u64 {
        match self {
            Course::Steps(steps) => steps.values().min().unwrap_or(0),
            Course::Drawn { low, .. } => *low,
        }
    }

    /// Returns the greatest value.
    pub fn greatest(&self) -> u64 {
        match self {
            Course::Steps(steps) => steps.values().max().unwrap_or(0),
            Course::Drawn { high, .. } => *high,
        }
    }

    /// Returns the mean over a long time: over one period of steps that repeat; the last value of steps that do not.
    pub fn mean(&self) -> u64 {
        match self {
            Course::Steps(steps) => steps.mean(),
            Course::Drawn { low, high, by } => between(*low, *high, (named(by.kind).mean)(&by.params)),
        }
    }

    /// Checks that it makes sense. The error is one sentence for the user.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Course::Steps(steps) => steps.check(),
            Course::Drawn { low, high, by } if low < high => (named(by.kind).check)(&by.params),
            Course::Drawn { .. } => Err("low must be under high".to_owned()),
        }
    }

    /// Returns its pieces; random values are drawn from `rng`.
    pub fn pieces(&self, rng: Rng) -> Box<dyn Pieces + Send> {
        match self {
            Course::Steps(steps) => Box::new(steps.pieces()),
            Course::Drawn { low, high, by } => {
                let levels = (named(by.kind).build)(&by.params, rng);
                Box::new(Drawn { low: *low, high: *high, levels, at: Time::ZERO })
            }
        }
    }
}

/// Levels from 0 (the least value) to 1 (the greatest), each with the time for which it holds, which is not zero.
pub trait Levels {
    /// Returns the next level.
    fn next(&mut self) -> (Duration, f64);
}

/// One way to draw values.
pub struct CourseKind {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Parameters that users can set.
    pub params: &'static [ParamSpec],
    /// Checks what bounds on single parameters cannot say. `Err` is one sentence for the user.
    pub check: fn(&Params) -> Result<(), String>,
    /// Returns the mean level over a long time.
    pub mean: fn(&Params) -> f64,
    /// Builds a sequence of levels.
    pub build: fn(&Params, Rng) -> Box<dyn Levels + Send>,
    /// True if it applies to rates only, never to delays.
    pub of_rates_alone: bool,
}

/// Every kind, in the order of listings.
pub const REGISTRY: &[CourseKind] = &[sine::KIND, random_walk::KIND, markov::KIND, leo::KIND, lte::KIND];
by_name!(CourseKind, "course", with params);

/// Kind of a time of which there can be many in a run.
const SOME_TIME: Kind = Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) };

const fn time(name: &'static str, default: Option<Value>, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: SOME_TIME, default, doc }
}

/// Returns a value in words, for messages.
fn words(time: Duration) -> String {
    TIME.format(time.as_ps())
}

fn between(low: u64, high: u64, level: f64) -> u64 {
    low + ((high - low) as f64 * level + 0.5) as u64
}

struct Drawn {
    low: u64,
    high: u64,
    levels: Box<dyn Levels + Send>,
    at: Time,
}

impl Pieces for Drawn {
    fn next(&mut self) -> Piece {
        let (time, level) = self.levels.next();
        self.at = self.at.saturating_add(time);
        Piece { until: self.at, value: between(self.low, self.high, level) }
    }
}

/// Pieces, and the current one.
pub(super) struct Current {
    pieces: Box<dyn Pieces + Send>,
    piece: Piece,
}

impl Current {
    pub(super) fn new(mut pieces: Box<dyn Pieces + Send>) -> Self {
        let piece = pieces.next();
        Current { pieces, piece }
    }

    /// Returns the piece that `time` is in; times never run backwards.
    #[inline]
    pub(super) fn at(&mut self, time: Time) -> Piece {
        while self.piece.until <= time && self.piece.until < Time::MAX {
            self.piece = self.pieces.next();
        }
        self.piece
    }
}

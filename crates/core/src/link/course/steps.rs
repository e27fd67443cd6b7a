//! Steps that are written down: each time has a value; the last one holds, or the steps begin anew.

use std::sync::Arc;

use super::{Piece, Pieces, words};
use crate::time::{Duration, Time};

/// A value from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time after the start of the run, or of the period.
    pub at: Duration,
    /// Bits per second, or picoseconds.
    pub value: u64,
}

/// Steps in order of time, the first at zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Steps; at least one.
    pub steps: Arc<[Step]>,
    /// Period after which they begin anew; `None`: the last one holds.
    pub repeat: Option<Duration>,
}

impl Steps {
    /// Returns one value for ever.
    pub fn constant(value: u64) -> Self {
        Steps { steps: [Step { at: Duration::ZERO, value }].into(), repeat: None }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = u64> {
        self.steps.iter().map(|step| step.value)
    }

    /// Returns when the step of this number ends within its period.
    fn end(&self, number: usize) -> Option<Duration> {
        self.steps.get(number + 1).map(|next| next.at).or(self.repeat)
    }

    pub(super) fn mean(&self) -> u64 {
        let last = self.steps.last().map_or(0, |step| step.value);
        let Some(period) = self.repeat else { return last };
        let area = |(i, step): (usize, &Step)| {
            let time = self.end(i).unwrap_or(period).saturating_sub(step.at);
            u128::from(step.value) * u128::from(time.as_ps())
        };
        (self.steps.iter().enumerate().map(area).sum::<u128>() / u128::from(period.as_ps())) as u64
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match self.steps.first() {
            None => return Err("there is no step".to_owned()),
            Some(first) if !first.at.is_zero() => {
                return Err(format!("the first step is at {}, and nothing is said of before", words(first.at)));
            }
            Some(_) => {}
        }
        if let Some(pair) = self.steps.windows(2).find(|pair| pair[1].at <= pair[0].at) {
            return Err(format!("time does not go on: a step at {} comes after one at {}", words(pair[1].at), words(pair[0].at)));
        }
        let last = self.steps[self.steps.len() - 1].at;
        match self.repeat {
            Some(period) if period <= last => Err(format!("they repeat after {}, but the last step is at {}", words(period), words(last))),
            _ => Ok(()),
        }
    }

    pub(super) fn pieces(&self) -> impl Pieces + Send + use<> {
        Walk { steps: self.clone(), number: 0, start: Time::ZERO }
    }
}

struct Walk {
    steps: Steps,
    number: usize,
    /// Start of the current period.
    start: Time,
}

impl Pieces for Walk {
    fn next(&mut self) -> Piece {
        let value = self.steps.steps[self.number].value;
        let until = self.steps.end(self.number).map_or(Time::MAX, |end| self.start.saturating_add(end));
        self.number += 1;
        if let (true, Some(period)) = (self.number == self.steps.steps.len(), self.steps.repeat) {
            (self.number, self.start) = (0, self.start.saturating_add(period));
        }
        Piece { until, value }
    }
}

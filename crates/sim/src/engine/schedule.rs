//! The schedule: when each stage has something to do, how far it may go in its turn, and how far all have come.

use longfat_core::time::{Duration, Time};

use super::plan::Plan;
use crate::due::Due;

/// The turns of the stages, each by its place in the order of a sweep.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Time at which each stage has something to do, plus its lag behind the front: the front of the first sweep in which it has its turn.
    due: Due,
    /// Distance of each stage behind the front.
    behind: Vec<Duration>,
    /// From one sweep to the next; zero where all stages go together, one instant after the other, because the run may end at any of them.
    period: Duration,
    /// Distance of the last stage behind the front.
    spread: Duration,
    /// Time beyond which no stage has gone.
    front: Time,
    /// Time beyond which no stage goes in this sweep.
    stop: Time,
    /// Time up to and including which every stage has gone; `None` before the first sweep.
    reached: Option<Time>,
}

impl Schedule {
    /// The schedule of `plan` at time zero; `units` says for each stage, in order, which unit of the plan it is, and nothing is due.
    pub(super) fn new(plan: &Plan, units: impl Iterator<Item = usize>) -> Self {
        let behind: Vec<Duration> = units.map(|unit| plan.behind[unit]).collect();
        Schedule {
            due: Due::new(behind.len()),
            period: plan.period,
            spread: behind.iter().copied().max().unwrap_or(Duration::ZERO),
            behind,
            front: Time::ZERO,
            stop: Time::ZERO,
            reached: None,
        }
    }

    pub(super) fn front(&self) -> Time {
        self.front
    }

    pub(super) fn reached(&self) -> Option<Time> {
        self.reached
    }

    pub(super) fn is_single(&self) -> bool {
        self.period == Duration::ZERO
    }

    /// Records that all stages have come to `now`, from which the next sweep goes on.
    pub(super) fn meet(&mut self, now: Time) {
        self.front = now;
    }

    /// Makes all stages go together from here on.
    pub(super) fn be_single(&mut self) {
        for place in 0..self.behind.len() {
            let due = self.due_at(place);
            self.due.set(place, due);
        }
        self.behind.fill(Duration::ZERO);
        (self.spread, self.period) = (Duration::ZERO, Duration::ZERO);
    }

    /// A sweep begins, in which no stage goes beyond `stop`: moves the front.
    pub(super) fn begin(&mut self, stop: Time, is_first: bool) {
        self.stop = stop;
        let next = self.due.first();
        // A sweep assumes that all stages have gone through the last front, less their distance behind it. Before the first sweep no stage
        // has gone through time zero itself.
        let unlived = Duration::from_ps(u64::from(is_first));
        // No event happens before `next`: skip to it.
        self.front = (self.front + self.period.saturating_sub(unlived)).max(next).min(stop.saturating_add(self.spread));
    }

    /// The first stage from `place` on whose turn it is in this sweep.
    #[inline]
    pub(super) fn next(&self, place: usize) -> Option<usize> {
        self.due.next(place, self.front)
    }

    /// Returns how far the stage at `place` may go in its turn.
    #[inline]
    pub(super) fn until(&self, place: usize) -> Time {
        Time::from_ps(self.front.as_ps() - self.behind[place].as_ps()).min(self.stop)
    }

    /// Returns the time at which the stage at `place` has something to do.
    #[inline]
    pub(super) fn due_at(&self, place: usize) -> Time {
        let due = self.due.at(place);
        if due == Time::MAX { due } else { Time::from_ps(due.as_ps() - self.behind[place].as_ps()) }
    }

    /// The stage at `place` next has something to do at `time`.
    #[inline]
    pub(super) fn set(&mut self, place: usize, time: Time) {
        self.due.set(place, time.saturating_add(self.behind[place]));
    }

    /// The stage at `place` has something to do at `time`, if not earlier.
    #[inline]
    pub(super) fn lower(&mut self, place: usize, time: Time) {
        self.due.lower(place, time.saturating_add(self.behind[place]));
    }

    /// The stage at `place` has done all before `next`, and that is enough for one turn: no stage goes further in this sweep.
    pub(super) fn cut(&mut self, place: usize, next: Time) {
        self.front = Time::from_ps(next.as_ps() - 1 + self.behind[place].as_ps());
    }

    /// Bounds this sweep: no stage goes beyond `bound` either.
    #[inline]
    pub(super) fn bound(&mut self, bound: Time) {
        self.stop = self.stop.min(bound);
    }

    /// The sweep is over.
    pub(super) fn end(&mut self) {
        let last = self.front.as_ps().checked_sub(self.spread.as_ps()).map(Time::from_ps);
        self.reached = self.reached.max(last.map(|last| last.min(self.stop)));
    }
}

//! An input of a port: the runs of cells that have come there, or are about to, one behind the other.

use std::collections::VecDeque;

use super::Run;
use crate::time::Duration;

/// Time later than every time and every slot.
pub(super) const NEVER: u64 = u64::MAX;

/// One input.
pub(super) struct Input {
    /// Run whose cells are next.
    head: Option<Run>,
    /// Time at which its next cell has come, in ps.
    pub next: u64,
    /// Time from one cell to the next, in ps.
    spacing: u64,
    behind: VecDeque<Run>,
    announced: u64,
    served: u64,
    /// Ends of frames to come, each as its number among the announced cells, and when it comes.
    ends: VecDeque<(u64, u64)>,
}

impl Input {
    /// Returns an empty input at a line with this cell time.
    pub(super) fn new(spacing: Duration) -> Self {
        Input { head: None, next: NEVER, spacing: spacing.as_ps(), behind: VecDeque::new(), announced: 0, served: 0, ends: VecDeque::new() }
    }

    /// Adds `run` behind the others. Returns true if there are no others.
    pub(super) fn push(&mut self, run: Run) -> bool {
        self.announced += u64::from(run.cells);
        if run.is_end {
            self.ends.push_back((self.announced, run.arrives.as_ps() + u64::from(run.cells - 1) * self.spacing));
        }
        self.behind.push_back(run);
        self.head.is_none()
    }

    /// Makes the next run the head, if there is one. A run of no cells is returned instead, and the caller asks again.
    pub(super) fn step(&mut self) -> Option<Run> {
        self.head = self.behind.pop_front();
        self.next = self.head.map_or(NEVER, |run| run.arrives.as_ps());
        self.head.take_if(|run| run.cells == 0)
    }

    /// Takes a cell of the head. Returns how many are left of it.
    #[inline]
    pub(super) fn take(&mut self) -> Run {
        let run = self.head.as_mut().expect("an input that is ready has a run");
        run.cells -= 1;
        self.next += self.spacing;
        self.served += 1;
        if run.cells == 0 && run.is_end {
            self.ends.pop_front();
        }
        *run
    }

    /// Returns the run whose cells are next.
    #[inline]
    pub(super) fn head(&self) -> Option<&Run> {
        self.head.as_ref()
    }

    /// Returns the cells left of it.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.head.map_or(0, |run| run.cells.into())
    }

    /// Returns the time from one cell to the next, in ps.
    #[inline]
    pub(super) fn spacing(&self) -> u64 {
        self.spacing
    }

    /// Takes `cells` cells of the head, but not its last.
    #[inline]
    pub(super) fn skip(&mut self, cells: u64) {
        let run = self.head.as_mut().expect("an input that is ready has a run");
        run.cells -= cells as u32;
        self.next += cells * self.spacing;
        self.served += cells;
    }

    /// Returns a slot before which the next end of a frame does not come to the output.
    pub(super) fn end_of_frame(&self, slot: u64, slot_time: u64) -> u64 {
        let Some(&(number, at)) = self.ends.front() else { return NEVER };
        at.div_ceil(slot_time).max(slot + (number - self.served - 1))
    }

    /// Returns the runs, next first.
    pub(super) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.head.iter().chain(&self.behind)
    }
}

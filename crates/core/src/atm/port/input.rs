//! An input of a port: the runs of cells that have come there, or are about to, one behind the other.

use std::collections::VecDeque;

use super::Run;
use crate::time::Duration;

/// Later than every time and every slot.
pub const NEVER: u64 = u64::MAX;

/// One input.
pub struct Input {
    /// The run whose cells are next.
    head: Option<Run>,
    /// When its next cell has come, in ps.
    pub next: u64,
    /// From one cell to the next, in ps.
    spacing: u64,
    behind: VecDeque<Run>,
    announced: u64,
    served: u64,
    /// For each end of a frame to come: the how many-th of the announced cells it is, and when it comes.
    ends: VecDeque<(u64, u64)>,
}

impl Input {
    /// An empty input at a line with this cell time.
    pub fn new(spacing: Duration) -> Self {
        Input { head: None, next: NEVER, spacing: spacing.as_ps(), behind: VecDeque::new(), announced: 0, served: 0, ends: VecDeque::new() }
    }

    /// `run` comes behind the others; whether there are no others.
    pub fn push(&mut self, run: Run) -> bool {
        self.announced += u64::from(run.cells);
        if run.is_end {
            self.ends.push_back((self.announced, run.arrives.as_ps() + u64::from(run.cells - 1) * self.spacing));
        }
        self.behind.push_back(run);
        self.head.is_none()
    }

    /// The next run is the head, where there is one. One of no cells is returned instead, and the next one is to be asked for.
    pub fn step(&mut self) -> Option<Run> {
        self.head = self.behind.pop_front();
        self.next = self.head.map_or(NEVER, |run| run.arrives.as_ps());
        self.head.take_if(|run| run.cells == 0)
    }

    /// Takes a cell of the head; returns what is left of it.
    #[inline]
    pub fn take(&mut self) -> Run {
        let run = self.head.as_mut().expect("an input that is ready has a run");
        run.cells -= 1;
        self.next += self.spacing;
        self.served += 1;
        if run.cells == 0 && run.is_end {
            self.ends.pop_front();
        }
        *run
    }

    /// The run whose cells are next.
    #[inline]
    pub fn head(&self) -> Option<&Run> {
        self.head.as_ref()
    }

    /// The cells left of it.
    #[inline]
    pub fn left(&self) -> u64 {
        self.head.map_or(0, |run| run.cells.into())
    }

    /// From one cell to the next, in ps.
    #[inline]
    pub fn spacing(&self) -> u64 {
        self.spacing
    }

    /// Takes so many cells of the head, but not its last.
    #[inline]
    pub fn skip(&mut self, cells: u64) {
        let run = self.head.as_mut().expect("an input that is ready has a run");
        run.cells -= cells as u32;
        self.next += cells * self.spacing;
        self.served += cells;
    }

    /// A slot before which the next end of a frame does not come to the output.
    pub fn end_of_frame(&self, slot: u64, slot_time: u64) -> u64 {
        let Some(&(number, at)) = self.ends.front() else { return NEVER };
        at.div_ceil(slot_time).max(slot + (number - self.served - 1))
    }

    /// The runs, next first.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.head.iter().chain(&self.behind)
    }
}

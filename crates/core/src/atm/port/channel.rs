//! State that a port keeps for each channel.

use std::collections::VecDeque;

use crate::atm::aal5::Reassembly;
use crate::atm::discard::{CellDrop, Verdict};

/// Position of a channel within a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Between frames: the next cell begins a frame.
    #[default]
    Between,
    /// In a frame whose cells pass.
    Passing,
    /// In a frame that lost a cell: its last cell passes.
    Rest,
    /// In a frame that is dropped whole.
    Dropping,
}

/// One channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Channel {
    pub state: State,
    /// Next cells that are dropped, whatever they are.
    pub to_drop: u32,
    /// True if its frame is marked here.
    pub is_marked: bool,
    /// Reason why the first cell of its packet was dropped here, if one was.
    pub cause: Option<CellDrop>,
    /// Frame as the far end reassembles it from the cells that passed.
    pub far_end: Reassembly,
}

impl Channel {
    /// Begins a frame with this verdict. Returns true if it is marked.
    pub(super) fn begin(&mut self, verdict: Verdict) -> bool {
        self.state = if verdict == Verdict::Drop { State::Dropping } else { State::Passing };
        self.is_marked = verdict == Verdict::Mark;
        self.is_marked
    }
}

/// Cells of each channel in the buffer.
#[derive(Debug)]
pub(super) struct Occupancy {
    /// Channel of each cell in the buffer.
    line: VecDeque<u32>,
    cells: Vec<u32>,
    channels: u64,
}

impl Occupancy {
    /// Returns an empty buffer for this many channels.
    pub(super) fn new(channels: usize) -> Self {
        Occupancy { line: VecDeque::new(), cells: vec![0; channels], channels: 0 }
    }

    /// Drops from the account all but the last `queued` cells, which have left.
    fn catch_up(&mut self, queued: u64) {
        while self.line.len() as u64 > queued {
            let Some(channel) = self.line.pop_front() else { break };
            let cells = &mut self.cells[channel as usize];
            *cells -= 1;
            self.channels -= u64::from(*cells == 0);
        }
    }

    /// Returns the cells of `channel` among the `queued` in the buffer, and the number of channels that have any.
    pub(super) fn of(&mut self, channel: u32, queued: u64) -> (u64, u64) {
        self.catch_up(queued);
        (self.cells[channel as usize].into(), self.channels)
    }

    /// Adds a cell of `channel` behind the `queued` cells in the buffer.
    pub(super) fn come(&mut self, channel: u32, queued: u64) {
        self.catch_up(queued);
        self.line.push_back(channel);
        let cells = &mut self.cells[channel as usize];
        self.channels += u64::from(*cells == 0);
        *cells += 1;
    }
}

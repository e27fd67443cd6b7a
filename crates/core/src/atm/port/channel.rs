//! State that a port keeps for each channel.

use std::collections::VecDeque;

use crate::atm::aal5::Reassembly;
use crate::atm::discard::{CellDrop, Verdict};

/// Position of a channel within a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing: the next cell begins a frame.
    #[default]
    Between,
    /// A frame whose cells pass.
    Passing,
    /// One that lost a cell: the last one passes.
    Rest,
    /// One that is dropped whole.
    Dropping,
}

/// One channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Channel {
    pub state: State,
    /// How many of its next cells are dropped, whatever they are.
    pub to_drop: u32,
    /// Its frame is marked here.
    pub is_marked: bool,
    /// Why the first cell of its packet was dropped here, if one was.
    pub cause: Option<CellDrop>,
    /// Frame as the far end reassembles it from the cells that passed.
    pub far_end: Reassembly,
}

impl Channel {
    /// A frame begins; whether it is marked.
    pub fn begin(&mut self, verdict: Verdict) -> bool {
        self.state = if verdict == Verdict::Drop { State::Dropping } else { State::Passing };
        self.is_marked = verdict == Verdict::Mark;
        self.is_marked
    }
}

/// How many cells each channel has in the buffer.
#[derive(Debug)]
pub struct Occupancy {
    /// The channel of each cell in the buffer.
    line: VecDeque<u32>,
    cells: Vec<u32>,
    channels: u64,
}

impl Occupancy {
    /// An empty buffer, for so many channels.
    pub fn new(channels: usize) -> Self {
        Occupancy { line: VecDeque::new(), cells: vec![0; channels], channels: 0 }
    }

    /// All but the last `queued` cells have left.
    fn catch_up(&mut self, queued: u64) {
        while self.line.len() as u64 > queued {
            let Some(channel) = self.line.pop_front() else { break };
            let cells = &mut self.cells[channel as usize];
            *cells -= 1;
            self.channels -= u64::from(*cells == 0);
        }
    }

    /// The cells of `channel` among the `queued` in the buffer, and how many channels have any.
    pub fn of(&mut self, channel: u32, queued: u64) -> (u64, u64) {
        self.catch_up(queued);
        (self.cells[channel as usize].into(), self.channels)
    }

    /// A cell of `channel` comes in behind the `queued` cells in the buffer.
    pub fn come(&mut self, channel: u32, queued: u64) {
        self.catch_up(queued);
        self.line.push_back(channel);
        let cells = &mut self.cells[channel as usize];
        self.channels += u64::from(*cells == 0);
        *cells += 1;
    }
}

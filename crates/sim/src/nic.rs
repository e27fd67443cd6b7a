//! The transmit queue of a host's interface, as TCP sees it: full, or not. What it holds is in the queue of the link.

use std::collections::VecDeque;

use longfat_experiment::OnFull;

/// The interface between a host and one of its links.
#[derive(Debug)]
pub struct Nic {
    /// The link it feeds.
    pub link: u32,
    txqueuelen: u64,
    /// Whether TCP takes a full queue as congestion.
    pub stalls: bool,
    /// The endpoints that wait for room, in turn.
    pub waiting: VecDeque<u32>,
    /// Whose turn it is, for one packet.
    pub turn: Option<u32>,
}

impl Nic {
    /// Of a host whose segments do not simply get lost when the queue is full.
    pub fn new(link: u32, txqueuelen: u64, on_full: OnFull) -> Self {
        Nic { link, txqueuelen, stalls: on_full == OnFull::Stall, waiting: VecDeque::new(), turn: None }
    }

    /// Whether a queue of `backlog` packets takes one more.
    pub fn has_room(&self, backlog: u64) -> bool {
        backlog < self.txqueuelen
    }

    /// The same for `endpoint`, which lets those go first that wait already.
    pub fn has_room_for(&mut self, endpoint: u32, backlog: u64) -> bool {
        let first = self.stalls || self.waiting.is_empty() || self.turn.take() == Some(endpoint);
        first && self.has_room(backlog)
    }
}

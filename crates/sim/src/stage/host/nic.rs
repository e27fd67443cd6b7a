//! The transmit queue of a host's interface, as TCP sees it: full, or not. What it holds is in the queue of the link.

use std::collections::VecDeque;

use longfat_model::OnFull;

/// The interface between a host and one of its links.
#[derive(Debug)]
pub struct Nic {
    txqueuelen: u64,
    /// Whether TCP takes a full queue as congestion.
    pub stalls: bool,
    /// The endpoints that wait for room, in turn.
    pub waiting: VecDeque<usize>,
    /// Whose turn it is, for one packet.
    pub turn: Option<usize>,
    /// Where small queues are kept: whose packets wait in it, and how long each is (IP).
    small: Option<VecDeque<(usize, u32)>>,
    /// How many endpoints wait until their own part of it is small.
    pub wait_for_own: usize,
    /// Those of them whose turn has come.
    pub ready: VecDeque<usize>,
}

impl Nic {
    /// The queue of a host whose segments do not simply get lost when it is full, and which may keep small queues.
    pub fn new(txqueuelen: u64, on_full: OnFull, keeps_small: bool) -> Self {
        Nic {
            txqueuelen,
            stalls: on_full == OnFull::Stall,
            waiting: VecDeque::new(),
            turn: None,
            small: keeps_small.then(VecDeque::new),
            wait_for_own: 0,
            ready: VecDeque::new(),
        }
    }

    /// Whether somebody waits for a packet to leave.
    pub fn is_awaited(&self) -> bool {
        !self.waiting.is_empty() || self.wait_for_own > 0
    }

    /// A packet of `bytes` of `endpoint` has joined the queue. Whether that is of interest.
    pub fn joined(&mut self, endpoint: usize, bytes: u32) -> bool {
        if let Some(small) = &mut self.small {
            small.push_back((endpoint, bytes));
        }
        self.small.is_some()
    }

    /// Now that the queue holds `backlog` packets: one of those that have left, and how long it is.
    pub fn left(&mut self, backlog: u64) -> Option<(usize, u32)> {
        self.small.as_mut().filter(|small| small.len() as u64 > backlog)?.pop_front()
    }

    /// Whether a queue of `backlog` packets takes one more.
    pub fn has_room(&self, backlog: u64) -> bool {
        backlog < self.txqueuelen
    }

    /// The same for `endpoint`, which lets those go first that wait already.
    pub fn has_room_for(&mut self, endpoint: usize, backlog: u64) -> bool {
        let first = self.stalls || self.waiting.is_empty() || self.turn.take() == Some(endpoint);
        first && self.has_room(backlog)
    }
}

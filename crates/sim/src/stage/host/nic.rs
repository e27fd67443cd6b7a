//! The transmit queue of a host's interface, as TCP sees it: full, or not. What it holds is in the queue of the link.

use std::collections::VecDeque;

use longfat_model::OnFull;

use super::Spot;

/// The interface between a host and one of its links.
#[derive(Debug)]
pub struct Nic {
    /// Its place in the agenda of its island; `None` where no endpoint uses it.
    pub spot: Option<Spot>,
    /// The link it feeds.
    pub link: u32,
    txqueuelen: u64,
    /// Whether TCP takes a full queue as congestion.
    pub stalls: bool,
    /// The endpoints that wait for room, in turn.
    pub waiting: VecDeque<u32>,
    /// Whose turn it is, for one packet.
    pub turn: Option<u32>,
    /// Where small queues are kept: whose packets wait in it, and how long each is (IP).
    small: Option<VecDeque<(u32, u32)>>,
    /// How many endpoints wait until their own part of it is small.
    pub wait_for_own: usize,
    /// Those of them whose turn has come.
    pub ready: VecDeque<u32>,
}

impl Nic {
    /// Of a host whose segments do not simply get lost when the queue is full.
    pub fn new(link: u32, txqueuelen: u64, on_full: OnFull) -> Self {
        Nic {
            spot: None,
            link,
            txqueuelen,
            stalls: on_full == OnFull::Stall,
            waiting: VecDeque::new(),
            turn: None,
            small: None,
            wait_for_own: 0,
            ready: VecDeque::new(),
        }
    }

    /// It keeps small queues from now on.
    pub fn keep_small(&mut self) {
        self.small = Some(VecDeque::new());
    }

    /// Whether somebody waits for a packet to leave.
    pub fn is_awaited(&self) -> bool {
        !self.waiting.is_empty() || self.wait_for_own > 0
    }

    /// A packet of `bytes` of `endpoint` has joined the queue. Whether that is of interest.
    pub fn joined(&mut self, endpoint: u32, bytes: u32) -> bool {
        if let Some(small) = &mut self.small {
            small.push_back((endpoint, bytes));
        }
        self.small.is_some()
    }

    /// Now that the queue holds `backlog` packets: one of those that have left, and how long it is.
    pub fn left(&mut self, backlog: u64) -> Option<(u32, u32)> {
        self.small.as_mut().filter(|small| small.len() as u64 > backlog)?.pop_front()
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

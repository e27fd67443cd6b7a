//! Transmit queue of a host's interface, as TCP sees it: full, or not. Its packets are in the queue of the link.

use std::collections::VecDeque;

use longfat_model::OnFull;

/// The interface between a host and one of its links.
#[derive(Debug)]
pub(super) struct Nic {
    txqueuelen: u64,
    /// True if TCP takes a full queue as congestion.
    pub stalls: bool,
    /// The endpoints that wait for room, in turn.
    pub waiting: VecDeque<usize>,
    /// Endpoint whose turn it is, for one packet.
    pub turn: Option<usize>,
    /// Endpoints of the packets in the queue and the packets' lengths (IP), where small queues are kept.
    small: Option<VecDeque<(usize, u32)>>,
    /// Number of endpoints that wait until their own part of the queue is small.
    pub wait_for_own: usize,
    /// Endpoints among them whose turn has come.
    pub ready: VecDeque<usize>,
}

impl Nic {
    /// Returns the queue of a host that does not simply lose segments when the queue is full, and which may keep small queues.
    pub(super) fn new(txqueuelen: u64, on_full: OnFull, keeps_small: bool) -> Self {
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

    /// True if an endpoint waits for a packet to leave.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty() || self.wait_for_own > 0
    }

    /// Records that a packet of `bytes` of `endpoint` has joined the queue. Returns true if small queues are kept.
    pub(super) fn joined(&mut self, endpoint: usize, bytes: u32) -> bool {
        if let Some(small) = &mut self.small {
            small.push_back((endpoint, bytes));
        }
        self.small.is_some()
    }

    /// Returns the endpoint and the length of a packet that has left, if any, now that the queue holds `backlog` packets.
    pub(super) fn left(&mut self, backlog: u64) -> Option<(usize, u32)> {
        self.small.as_mut().filter(|small| small.len() as u64 > backlog)?.pop_front()
    }

    /// True if a queue of `backlog` packets takes one more.
    pub(super) fn has_room(&self, backlog: u64) -> bool {
        backlog < self.txqueuelen
    }

    /// True if a queue of `backlog` packets takes one more of `endpoint`, after the endpoints that wait already.
    pub(super) fn has_room_for(&mut self, endpoint: usize, backlog: u64) -> bool {
        let first = self.stalls || self.waiting.is_empty() || self.turn.take() == Some(endpoint);
        first && self.has_room(backlog)
    }
}

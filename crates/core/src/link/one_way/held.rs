//! Bound on all packets of a link: in its queue, in transmission and on the wire.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;

/// Packets on the wire of a link that takes no more than a limit, queue and wire together, as tc-netem(8) counts its `limit`.
#[derive(Debug)]
pub(super) struct Held {
    limit: u64,
    /// Arrival time of each packet on the wire.
    arrivals: BinaryHeap<Reverse<Time>>,
}

impl Held {
    /// Returns an empty wire, with room for `limit` packets in all.
    pub(super) fn new(limit: u64) -> Self {
        Held { limit, arrivals: BinaryHeap::new() }
    }

    /// Adds a packet that is on the wire until `arrival`.
    pub(super) fn launched(&mut self, arrival: Time) {
        self.arrivals.push(Reverse(arrival));
    }

    /// Returns true if there is no room for one more beside `backlog` packets in the queue, once all that arrives by `now` has left the
    /// wire.
    pub(super) fn is_full(&mut self, now: Time, backlog: u64) -> bool {
        while self.arrivals.peek().is_some_and(|Reverse(arrival)| *arrival <= now) {
            self.arrivals.pop();
        }
        backlog + self.arrivals.len() as u64 >= self.limit
    }
}

//! Waits of packets in the queue of a link, if they are recorded.

use std::collections::VecDeque;

use super::Link;
use crate::quantiles::Quantiles;
use crate::time::{Duration, Time};

/// Waits of packets. Packets that went straight onto an idle line are counted, not recorded.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Waits of the packets that left.
    spread: Quantiles,
    /// Packets that had left before the first recorded one, and packets in `spread` since.
    before: u64,
    recorded: u64,
}

impl Waits {
    /// Records the wait of a packet that leaves the queue.
    #[inline]
    pub(super) fn record(&mut self, wait: Duration) {
        self.spread.record(wait);
        self.recorded += 1;
    }

    /// Records the waits of the `packets` that leave one every `time` from `starts` on, and the first of which are those that `came` first.
    #[inline]
    pub(super) fn record_first(&mut self, packets: usize, came: &mut VecDeque<Time>, mut starts: Time, time: Duration) {
        if packets == 1
            && let Some(came) = came.pop_front()
        {
            return self.record(starts.since(came));
        }
        for came in came.drain(..packets) {
            self.record(starts.since(came));
            starts += time;
        }
    }
}

impl Link {
    /// Starts to record how long each packet waits in the queue.
    pub fn record_waits(&mut self) {
        self.waits = Some(Box::default());
    }

    /// Discards the waits recorded so far.
    pub fn forget_waits(&mut self) {
        let before = self.carried().transmitted;
        if let Some(waits) = &mut self.waits {
            **waits = Waits { before, ..Waits::default() };
        }
    }

    /// Returns the waits that the shares `of` did not exceed, of all packets that have left the queue since [`Link::forget_waits`] (each
    /// from 0 to 1, rising), within 1/128; `None` if none has left, or if waits are not recorded.
    pub fn waits<const N: usize>(&self, of: [f64; N]) -> Option<[Duration; N]> {
        let waits = self.waits.as_ref()?;
        waits.spread.at(of, self.carried().transmitted - waits.before - waits.recorded)
    }
}

//! Probes of a closed window (RFC 9293 §3.8.6.1).

use super::{Range, Sender};
use longfat_core::time::Time;

impl Sender {
    /// The peer's window keeps us from sending: where nothing is in flight either, it is probed.
    pub(super) fn arm_persist(&mut self, now: Time) {
        if self.board.outstanding() == 0 && !self.timers.is_probing() && self.board.max() >= 1 {
            // The send buffer alone cannot be the cause: with nothing outstanding it is empty.
            self.timers.start_probing(now, &self.trips);
        }
    }

    /// The window's room that silly-window avoidance held back. If there is none: one byte, or, with the sequence number before the left
    /// edge, nothing; that is outside of any window, and so is answered with an ACK (RFC 9293 §3.10.7.4).
    pub(super) fn window_probe(&mut self, now: Time) -> Range {
        self.timers.probe_sent();
        let start = self.board.una();
        if self.empty_window_probe && self.peer.edge <= start {
            return Range { start: start - 1, end: start - 1, retransmitted: false };
        }
        let retransmitted = self.board.max() > start;
        if !retransmitted {
            let room = self.peer.edge.saturating_sub(start).max(1);
            let len = room.min(self.payload_max).min(self.end_of_buffered() - start);
            self.board.sent_new(len);
            self.log.sent(start, start + len, now);
        }
        let end = self.board.max().min(start + self.payload_max);
        self.count(now, Range { start, end, retransmitted })
    }
}

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

    /// At least one byte, more if the window has room that silly-window avoidance held back.
    pub(super) fn window_probe(&mut self, now: Time) -> Range {
        self.timers.probe_sent();
        let start = self.board.una();
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

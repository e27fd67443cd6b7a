//! The retransmission timer, and the probes of a closed window.

use crate::recovery::Timer;
use crate::sender::{Range, Sender};
use longfat_core::time::{Duration, Time};

impl Sender {
    pub fn arm_rto(&mut self, now: Time) {
        self.deadline = self.clock.deadline(now, self.rtt.rto());
        self.rto_at = self.deadline;
        self.timer = Timer::Retransmission;
    }

    /// The peer's window keeps us from sending and nothing is in flight: ask again later (RFC 9293 §3.8.6.1).
    pub(super) fn arm_persist(&mut self, now: Time) {
        if self.board.outstanding() == 0 && self.persist.is_none() && self.board.max() >= 1 {
            // The send buffer alone cannot be the cause: with nothing outstanding it is empty.
            self.persist = Some(0);
            self.deadline = self.clock.deadline(now, self.persist_delay(0));
        }
    }

    fn persist_delay(&self, probes: u32) -> Duration {
        self.rtt.rto().saturating_mul(1 << probes.min(16)).min(Duration::from_secs(60))
    }

    /// The timer went off, after `span`, and nothing had come.
    pub fn note_unanswered(&mut self, now: Time, span: Duration) {
        let una = self.board.una();
        if self.unanswered.0 != una {
            self.unanswered = (una, Time::from_ps(now.as_ps().saturating_sub(span.as_ps())));
        }
    }

    /// A window probe was answered, if only by saying that the window is still closed: the other side is there (RFC 9293 §3.8.6.1,
    /// MUST-37).
    pub fn probe_was_answered(&mut self) {
        self.unanswered.0 = 0;
    }

    /// For how long nothing has answered.
    pub fn unanswered(&self, now: Time) -> Duration {
        let (una, since) = self.unanswered;
        if una == self.board.una() { now.since(since) } else { Duration::ZERO }
    }

    /// The timer went off while probing.
    pub fn persist_timeout(&mut self, now: Time, probes: u32) {
        self.note_unanswered(now, self.persist_delay(probes));
        self.probe = true;
        self.persist = Some(probes + 1);
        self.deadline = self.clock.deadline(now, self.persist_delay(probes + 1));
    }

    /// At least one byte, more if the window has room that silly-window avoidance held back.
    pub(super) fn window_probe(&mut self, now: Time) -> Range {
        self.probe = false;
        let start = self.board.una();
        let again = self.board.max() > start;
        if !again {
            let room = self.peer.edge.saturating_sub(start).max(1);
            let len = room.min(self.payload_max).min(self.buffer.size()).min(self.stream.end() - start);
            self.board.sent_new(len);
            self.log.sent(start, start + len, now);
        }
        let end = self.board.max().min(start + self.payload_max);
        self.count(now, Range { start, end, again })
    }
}

//! The receiver's share of [the common case](crate::connection::Plain): the next data, and ACKs of it.

use super::Receiver;
use crate::ecn::EcnKind;
use crate::seq::{timestamp_before, wrap};
use longfat_core::packet::{Ecn, Segment, flags};
use longfat_core::time::Time;

impl Receiver {
    /// Returns true if nothing is missing, and nobody reads late or is to be told of marks.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.beyond.is_none() & self.fin.is_none() & self.auto_read & self.feedback.is_none() & (self.echo.kind() == EcnKind::Off)
    }

    /// Returns true if `segment` is current, begins with the next byte, and lies within the window.
    #[inline]
    pub(crate) fn expects(&self, segment: &Segment) -> bool {
        (segment.seq == wrap(self.irs, self.nxt))
            & (self.nxt + u64::from(segment.len) <= self.promised.max(self.nxt))
            & segment.timestamps().is_none_or(|(val, _)| !timestamp_before(val, self.ts_recent))
    }

    /// Takes in a plain segment that it expects. Returns true if it must be acknowledged at once.
    #[inline]
    pub(crate) fn handle_plain(&mut self, now: Time, segment: &Segment, ecn: impl FnOnce() -> Ecn) -> bool {
        self.duplicate = None;
        if let Some((val, _)) = segment.timestamps()
            && self.nxt <= self.last_ack_sent
        {
            (self.ts_recent, self.ts_recent_at) = (val, now);
        }
        if segment.len == 0 {
            return false;
        }
        self.largest_segment = self.largest_segment.max(segment.len.into());
        let fresh = u64::from(segment.len);
        self.nxt += fresh;
        let is_urgent = self.acks.arrived(now, fresh, self.largest_segment, false);
        (self.buffer.sizing.is_some() && self.follow_arrival(now, segment, ecn())) || is_urgent
    }

    /// Stamps the acknowledgment of a plain receiver to which nothing has come twice. Counts as sent, in each of `segments`.
    #[inline]
    pub(crate) fn stamp_plain(&mut self, now: Time, segment: &mut Segment, segments: impl FnOnce() -> u64) {
        segment.flags |= flags::ACK;
        segment.ack = wrap(self.irs, self.nxt);
        segment.window = self.advertise(false);
        self.acks.sent();
        self.last_ack_sent = self.nxt;
        if self.buffer.sizing.is_some() {
            (0..segments()).for_each(|_| self.note_answer(now, segment));
        }
    }
}

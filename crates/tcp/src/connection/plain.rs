//! The common case by itself: an open connection with nothing amiss, which takes the next data, or a cumulative ACK of some of what is on its
//! way (Jacobson, 4BSD TCP Header Prediction, ACM CCR 20(2), 1990).
//!
//! Everything here gives what [`Connection::handle_segment`] and [`Connection::poll_transmit`] would. Tests compare both.

use super::sending::Sending;
use super::{Connection, State};
use crate::seq::wrap;
use longfat_core::packet::{Ecn, Segment, flags};
use longfat_core::time::Time;

/// A connection with nothing amiss. Nothing else can happen to it while it is borrowed, and a plain segment leaves it as it is: so one look
/// at it is enough for any number of segments.
#[derive(Debug)]
pub struct Plain<'a>(&'a mut Connection);

impl Connection {
    /// Returns the connection for plain segments, if nothing is amiss: it is open and goes on, nothing is lost, SACKed, marked or probed, and
    /// nothing is to be said before all else.
    #[inline]
    pub fn plain(&mut self) -> Option<Plain<'_>> {
        let is_open = (self.state == State::Established) & !self.released & !self.ack_now;
        let has_no_prompt = self.prompt.as_ref().is_none_or(|prompt| !prompt.is_due && prompt.misbehaving.is_none());
        let sends_plainly = match &self.sending {
            Sending::Active(sender) => sender.is_plain(),
            Sending::Silent(silent) => silent.is_plain(),
        };
        (is_open && has_no_prompt && sends_plainly && self.receiver.is_plain()).then_some(Plain(self))
    }

    /// Stamps `segment`, the first of so many `segments`, as [`Connection::stamp`] does.
    #[inline]
    fn stamp_plain(&mut self, now: Time, segment: &mut Segment, segments: impl FnOnce() -> u64) {
        if let Some(clock) = self.timestamps {
            segment.set_timestamps(clock.ticks(now) as u32, self.receiver.ts_recent());
        }
        self.receiver.stamp_plain(now, segment, segments);
        self.ack_now = false;
    }
}

impl Plain<'_> {
    /// Takes in `segment`, if it is plain: returns true if it was. [`Plain::send`] must follow. `ecn`: its ECN field.
    #[inline]
    pub fn handle(&mut self, now: Time, segment: &Segment, ecn: impl FnOnce() -> Ecn) -> bool {
        let Connection { sending, receiver, iss, ack_now, .. } = &mut *self.0;
        if segment.flags & !flags::PSH != flags::ACK || !segment.has_no_option_but_timestamps() || !receiver.expects(segment) {
            return false;
        }
        let is_plain = match sending {
            Sending::Active(sender) => segment.len == 0 && sender.handle_plain_ack(now, segment),
            Sending::Silent(silent) => segment.len > 0 && silent.handle_plain_ack(*iss, segment),
        };
        if is_plain {
            *ack_now = receiver.handle_plain(now, segment, ecn);
        }
        is_plain
    }

    /// Gives `send` each segment that goes now; none is ECN-capable. Returns true if these are all: if not, the rest is for
    /// [`Connection::poll_transmit`].
    #[inline]
    pub fn send(&mut self, now: Time, mut send: impl FnMut(&Segment)) -> bool {
        let connection = &mut *self.0;
        // Segments of `step` bytes from `end` on until `stop`, one after the other: an ACK counts as one.
        let (mut segment, mut end, stop, step, written_through, is_all);
        if let Sending::Active(sender) = &mut connection.sending {
            let burst = sender.burst(now);
            (end, stop, step, is_all) = (burst.start, burst.end, sender.mss(), burst.is_all);
            segment = Segment::new(sender.number(end), 0, step as u16);
            written_through = sender.stream.no_write_ends_before(end + step);
        } else {
            (end, stop, step, is_all) = (0, u64::from(connection.ack_now), 1, true);
            segment = Segment::new(wrap(connection.iss, 1), 0, 0);
            written_through = u64::MAX;
            connection.acks_sent += stop;
        }
        if end < stop {
            connection.stamp_plain(now, &mut segment, || (stop - end) / step);
        }
        while end < stop {
            end += step;
            let pushes = end >= written_through && connection.sending.sender().is_some_and(|sender| sender.stream.write_ends_at(end));
            segment.flags = flags::ACK | if pushes { flags::PSH } else { 0 };
            send(&segment);
            segment.seq = segment.seq.wrapping_add(step as u32);
        }
        is_all
    }

    /// Returns the time at which a timer goes off; [`Time::MAX`]: never.
    #[inline]
    pub fn deadline(&self) -> Time {
        // An open connection does not wait in TIME-WAIT.
        let sender = self.0.sending.sender().map_or(Time::MAX, |sender| sender.timers.deadline());
        sender.min(self.0.receiver.ack_deadline())
    }
}

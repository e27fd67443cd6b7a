//! Contents of an acknowledgment: how far the stream has come, the window, what came beyond a gap or twice, and ECN marks.

use super::Receiver;
use crate::seq::wrap;
use longfat_core::packet::{CongestionHeader, Segment, flags};
use longfat_core::time::Time;

impl Receiver {
    /// The acknowledgment as it stands: ack, window, SACK blocks, ECN. Counts as sent. `room` is for options.
    #[inline]
    pub(crate) fn stamp(&mut self, now: Time, segment: &mut Segment, room: u64) {
        let mut room = room;
        if let Some(feedback) = self.feedback
            && room >= CongestionHeader::LEN.into()
            && !segment.has(flags::SYN)
        {
            segment.set_returned_feedback(feedback);
            self.feedback = None;
        }
        if segment.has_congestion() {
            room = room.saturating_sub(CongestionHeader::LEN.into());
        }
        segment.flags |= flags::ACK;
        segment.ack = wrap(self.irs, self.nxt);
        segment.window = self.advertise(segment.has(flags::SYN));
        if self.sack && (self.reported().is_some() || self.beyond.is_some()) {
            self.report(segment, room.saturating_sub(self.echo.option_len(segment.len > 0).into()));
        }
        let blocks = segment.sack_count() as u64;
        self.echo.stamp(segment, room.saturating_sub(if blocks > 0 { 4 + 8 * blocks } else { 0 }));
        self.acks.sent();
        self.last_ack_sent = self.nxt;
        if self.buffer.sizing.is_some() {
            self.note_answer(now, segment);
        }
    }

    /// Returns true if a data segment of at most `mss` bytes shall return feedback of routers.
    #[inline]
    pub(crate) fn returns_feedback(&self, mss: u64) -> bool {
        self.feedback.is_some() && mss >= 64
    }

    /// Returns the range that came twice, where DSACK is in use.
    #[inline]
    fn reported(&self) -> Option<(u64, u64)> {
        self.duplicate.filter(|_| self.dsack).map(|(start, end)| (start, end.get()))
    }

    fn report(&mut self, segment: &mut Segment, room: u64) {
        let most = ((room.saturating_sub(4) / 8) as usize).min(self.most_blocks(segment.len > 0));
        if let Some((s, e)) = self.reported().filter(|_| most > 0) {
            self.duplicate = None;
            segment.push_sack(wrap(self.irs, s), wrap(self.irs, e));
        }
        for (s, e) in self.beyond.iter().flat_map(|beyond| beyond.newest_first(self.nxt)) {
            if segment.sack_count() >= most || !segment.push_sack(wrap(self.irs, s), wrap(self.irs, e)) {
                return;
            }
        }
    }

    /// RFC 9768 §3.2.3.3: two blocks come before the AccECN option, a third does not.
    #[inline]
    fn most_blocks(&self, data: bool) -> usize {
        if self.echo.option_len(data) > 0 { 2 } else { 4 }
    }

    /// Bytes of options that a data segment of at most `mss` bytes, options included, shall carry now, the timestamps apart.
    #[inline]
    pub(crate) fn options_len(&self, mss: u64, timestamps: bool) -> u64 {
        // A segment this short has no room for the counters of AccECN; they are on the next pure ACK.
        let counters = if mss >= 64 { self.echo.option_len(true) } else { 0 };
        u64::from(counters) + self.sack_len(mss, timestamps)
    }

    /// Returns the octets of these options that SACK takes: all that there is to tell, but no more than half the segment.
    #[inline]
    fn sack_len(&self, mss: u64, timestamps: bool) -> u64 {
        if !self.sack || (self.reported().is_none() && self.beyond.is_none()) {
            return 0;
        }
        let blocks = u64::from(self.reported().is_some()) + self.beyond.as_ref().map_or(0, |beyond| beyond.count_up_to(4)) as u64;
        match blocks.min(if timestamps { 3 } else { 4 }).min(self.most_blocks(true) as u64).min((mss / 2).saturating_sub(4) / 8) {
            0 => 0,
            n => 4 + 8 * n,
        }
    }

    /// Returns the bytes that could be taken in now, as far as they may be advertised.
    #[inline]
    fn window(&self) -> u64 {
        self.buffer.size.saturating_sub(self.unread).min(self.clamp)
    }

    /// The window field. The promised edge moves right only by steps worth sending for (RFC 9293 §3.8.6.2.2), and never left;
    /// what is shown can fall short of it by the rounding of the scale (RFC 7323 §2.4 allows that).
    #[inline]
    pub(super) fn advertise(&mut self, syn: bool) -> u16 {
        let shift = if syn { 0 } else { self.shift };
        let shown = self.window().min(0xffff << shift) >> shift;
        let edge = self.nxt + (shown << shift);
        let step = u64::from(self.largest_segment).min(self.buffer.size / 2).max(1);
        if edge >= self.promised + step || self.promised < self.nxt {
            self.promised = edge;
        }
        ((self.promised - self.nxt) >> shift).min(0xffff) as u16
    }

    /// Lets the acknowledgment that `segment` has been stamped with say `ack`, which what has come may not have reached, or be beyond. Its window
    /// has the same right edge, or as many bytes beyond `ack`.
    pub(crate) fn restate(&mut self, segment: &mut Segment, ack: u64) {
        if ack > self.nxt {
            let shown = self.window().min(0xffff << self.shift) >> self.shift;
            self.promised = self.promised.max(ack + (shown << self.shift));
        }
        segment.ack = wrap(self.irs, ack);
        segment.window = (self.promised.saturating_sub(ack) >> self.shift).min(0xffff) as u16;
        self.last_ack_sent = ack;
    }

    /// Returns true if the window has opened so far since the last ACK that the other side should know (TCP/IP Illustrated vol. 1 §20.4:
    /// two segments or half the buffer).
    pub(crate) fn wants_update(&self) -> bool {
        let edge = self.nxt + self.window().min(0xffff << self.shift);
        let gain = edge.saturating_sub(self.promised);
        gain >= (2 * u64::from(self.largest_segment)).min(self.buffer.size / 2).max(1)
    }

    /// Returns the window of a SYN: never scaled (RFC 7323 §2.2).
    pub(crate) fn first_window(&self) -> u16 {
        self.window().min(0xffff) as u16
    }
}

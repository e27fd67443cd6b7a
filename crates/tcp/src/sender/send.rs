//! Next segment that may be sent, and the bookkeeping of segments sent.

use super::stream::Piece;
use super::{Limit, Range, Room, Sender};
use crate::pacing::quantum;
use crate::repair::{Allowance, Lost, Speculation};
use crate::seq::wrap;
use longfat_core::packet::{CongestionHeader, Segment, flags};
use longfat_core::time::Time;

impl Sender {
    /// Returns true if all that was written is acknowledged, and there is nothing else to send: always, for a stream that only goes in
    /// the other direction.
    #[inline]
    pub(crate) fn is_done(&mut self) -> bool {
        let done = self.board.una() >= self.stream.end() && !(self.timers.probe_is_due() || self.repair.is_pressing());
        if done {
            self.usage.limited_by(Limit::Application);
        }
        done
    }

    /// The next transmission allowed now. It is counted as sent.
    #[inline]
    pub(crate) fn next(&mut self, now: Time) -> Option<Range> {
        self.buffer.refill(self.board.una(), self.stream.end());
        if self.timers.probe_is_due() {
            return Some(self.window_probe(now));
        }
        if self.pacer.holds(now) {
            let limit = self.limit_when_paced();
            self.usage.limited_by(limit);
            if limit == Limit::Rwnd {
                // A window that closed meanwhile is probed, whatever pacing says.
                self.arm_persist(now);
            }
            return None;
        }
        if self.repair.probe_is_due() {
            return self.tail_probe(now);
        }
        let pipe = self.board.pipe();
        let mut window = self.window();
        match self.repair.frto_allows() {
            Allowance::New { most } => return self.next_for_frto(now, most),
            Allowance::Nothing => {
                self.usage.limited_by(Limit::Cwnd);
                return None;
            }
            Allowance::Any => {}
        }
        if self.repair.comes_first() {
            if let Some(range) = self.next_repair(now, pipe, window) {
                return Some(range);
            }
            if self.usage.limit() == Limit::Cwnd {
                return None;
            }
        } else {
            window = self.repair.window_for_new(&self.board, self.mss, window);
        }
        let new = self.next_new(now, pipe, window);
        if new.is_none() && self.usage.limit() != Limit::Cwnd && self.repair.speculates() {
            return self.next_speculative(now, pipe, window);
        }
        new
    }

    /// Returns the limit that would keep the sender from sending if pacing did not.
    fn limit_when_paced(&self) -> Limit {
        if self.repair.heeds_no_window() {
            // Neither heeds the window.
            Limit::Pacing
        } else if self.board.pipe() + self.payload_max > self.window() {
            Limit::Cwnd
        } else if self.board.has_lost() {
            Limit::Pacing
        } else if self.board.max() >= self.end_of_buffered() {
            Limit::Application
        } else if self.board.max() >= self.peer.edge {
            Limit::Rwnd
        } else {
            Limit::Pacing
        }
    }

    /// Returns the time at which pacing lets the next segment go, if that is what holds it.
    pub(crate) fn paced_until(&self, now: Time) -> Time {
        if self.usage.limit() == Limit::Pacing && self.pacer.next() > now { self.pacer.next() } else { Time::MAX }
    }

    /// Lost data, oldest first. Where only the window forbids it, that is the limit then.
    fn next_repair(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        self.usage.limited_by(Limit::Application);
        let (start, end) = match self.repair.next_lost(&self.board, self.payload_max, pipe, window) {
            Lost::Nothing => return None,
            Lost::Waits => {
                self.usage.limited_by(Limit::Cwnd);
                return None;
            }
            Lost::Goes { start, end } => (start, end),
        };
        if !self.host.takes() {
            return None;
        }
        self.repair.lost_goes(&mut self.board, self.payload_max, start, end);
        (end > start).then(|| self.count_repair(now, Range { start, end, retransmitted: true }))
    }

    /// Something lost goes again.
    fn count_repair(&mut self, now: Time, range: Range) -> Range {
        if let Some(validation) = self.unused.validation() {
            validation.repaired(range.end - range.start);
        }
        self.count_as(now, range, true)
    }

    /// New data, as far as the windows, the buffer and the silly-window rules allow.
    #[inline]
    fn next_new(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        let start = self.board.max();
        let una = self.board.una();
        let piece = self.stream.next(start, self.payload_max, self.buffered_until(), self.peer.edge);
        let (payload, fin, len) = (piece.payload, piece.fin, piece.len());
        let is_empty = len == 0 || self.stream.is_past(start);
        let idle = una == start;
        let holds = self.holds_back(start, piece, idle);
        if idle && !is_empty {
            self.control.idle_ends(now);
            self.restart(now);
        }
        if let Some(limit) = holds {
            self.usage.limited_by(limit);
            if limit == Limit::Rwnd && (is_empty || !piece.is_all) {
                self.arm_persist(now);
            }
            return None;
        }
        if pipe + len > window && !(fin && pipe + payload <= window) {
            self.usage.limited_by(Limit::Cwnd);
            return None;
        }
        if self.host.room != Room::Yes && !self.may_go_on_host(now, pipe, window, len) {
            return None;
        }
        let end = start + len;
        self.repair.sent_new(now, &mut self.board, len);
        self.trips.sent(now, end);
        let range = self.count(now, Range { start, end, retransmitted: false });
        self.note_decay(now);
        Some(range)
    }

    /// Returns the limit that keeps `piece`, which begins at `start`, from going, if another than cwnd does. `idle`: nothing is outstanding.
    #[inline]
    pub(super) fn holds_back(&self, start: u64, piece: Piece, idle: bool) -> Option<Limit> {
        if piece.len() == 0 || self.stream.is_past(start) {
            return Some(if start < self.stream.end() { Limit::Rwnd } else { Limit::Application });
        }
        // RFC 9293 §3.8.6.2.1: a full segment; or all there is, subject to Nagle; or half the largest window.
        let half = piece.payload > 0 && 2 * piece.payload >= self.peer.max();
        let goes = piece.payload == self.payload_max || piece.fin || self.stream.permits_partial(piece, idle) || half;
        // The application is not the limit if more was written than the send buffer holds.
        (!goes).then_some(if piece.is_last { Limit::Application } else { Limit::Rwnd })
    }

    /// RFC 8985 §7.3: new data, whatever cwnd says, or the last segment again.
    fn tail_probe(&mut self, now: Time) -> Option<Range> {
        let range = self.next_new(now, 0, u64::MAX).or_else(|| {
            let (start, end) = self.board.last_segment(self.payload_max).filter(|_| self.host.takes())?;
            Some(self.count(now, Range { start, end, retransmitted: true }))
        });
        let Some(range) = range else {
            // A probe for which the host had no room waits.
            self.repair.probe_kept_back(self.host.room == Room::Refused);
            return None;
        };
        self.stats.tail_probes += 1;
        self.repair.probe_sent(self.board.max(), range.retransmitted);
        self.arm_rto(now);
        Some(range)
    }

    /// RFC 5682 step 2b: up to two new segments, or one where there is no more; where there is none to send, what was lost goes again as ever.
    fn next_for_frto(&mut self, now: Time, most: u8) -> Option<Range> {
        if most == 0 {
            self.usage.limited_by(Limit::Cwnd);
            return None;
        }
        let range = self.next_new(now, 0, u64::MAX);
        if range.is_none() && self.host.room == Room::Refused {
            return None;
        }
        if self.repair.frto_tried_new(range.is_some()) { self.next(now) } else { range }
    }

    /// The peer's window keeps us from sending: where nothing is in flight either, it is probed (RFC 9293 §3.8.6.1).
    fn arm_persist(&mut self, now: Time) {
        if self.board.outstanding() == 0 && !self.timers.is_probing() && self.board.max() >= 1 {
            // The send buffer alone cannot be the cause: with nothing outstanding it is empty.
            self.timers.start_probing(now, &self.trips);
        }
    }

    /// The window's room that silly-window avoidance held back. If there is none: one byte, or, with the sequence number before the left
    /// edge, nothing; that is outside of any window, and so is answered with an ACK (RFC 9293 §3.10.7.4).
    fn window_probe(&mut self, now: Time) -> Range {
        self.timers.probe_sent();
        let start = self.board.una();
        if self.empty_window_probe && self.peer.edge <= start {
            return Range { start: start - 1, end: start - 1, retransmitted: false };
        }
        let retransmitted = self.board.max() > start;
        if !retransmitted {
            let room = self.peer.edge.saturating_sub(start).max(1);
            let len = room.min(self.payload_max).min(self.end_of_buffered() - start);
            self.repair.sent_new(now, &mut self.board, len);
        }
        let end = self.board.max().min(start + self.payload_max);
        self.count(now, Range { start, end, retransmitted })
    }

    /// Returns data that may not be lost, to be sent so that ACKs keep coming.
    fn next_speculative(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        if pipe + self.payload_max > window {
            return None;
        }
        let speculation = self.repair.next_speculative(&self.board, self.payload_max).filter(|_| self.host.takes())?;
        self.repair.speculation_goes(&mut self.board, speculation);
        let Speculation { start, end, .. } = speculation;
        Some(self.count(now, Range { start, end, retransmitted: true }))
    }

    /// Bookkeeping common to every transmission.
    #[inline]
    fn count(&mut self, now: Time, range: Range) -> Range {
        self.count_as(now, range, false)
    }

    /// Counts a transmission; `repairs`: it was lost.
    #[inline]
    fn count_as(&mut self, now: Time, range: Range, repairs: bool) -> Range {
        let len = range.end - range.start;
        let payload = self.stream.payload(range.start, range.end);
        self.stats.bytes_sent += payload;
        self.stats.segments_sent += u64::from(payload > 0);
        if range.retransmitted {
            self.stats.bytes_retransmitted += payload;
            self.stats.segments_retransmitted += u64::from(payload > 0);
            self.stats.fins_retransmitted += u64::from(payload == 0);
            self.trips.sent_again();
            self.repair.sent_again(now, (range.start, range.end), &self.board, repairs, self.trips.tsval(now));
        }
        self.repair.sent(len);
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.board.outstanding());
        self.unused.sent(now);
        // RFC 6298 §5.1.
        if !self.timers.is_set() || (repairs && self.repair.restarts_timer() && !self.timers.is_probing()) {
            self.arm_rto(now);
        }
        self.set_timer(now);
        self.control.sent(now, (range.start, range.end), range.retransmitted, &self.board);
        if let Some(rate) = self.pacing_rate() {
            self.pacer.sent(now, payload, rate, || match &self.host.bursts {
                None => quantum(rate, self.mss, self.control.traits().burst_least),
                Some(bursts) => bursts.offload.burst(rate, self.trips.least(), self.mss),
            });
        }
        range
    }

    /// The TCP header of `range`, without what the receiver half stamps on it.
    #[inline]
    pub(crate) fn segment(&mut self, range: Range, segment: &mut Segment) {
        let payload = self.stream.payload(range.start, range.end);
        *segment = Segment::new(wrap(self.iss, range.start), 0, payload as u16);
        if self.stream.is_past(range.end) {
            segment.flags |= flags::FIN;
        }
        if payload > 0 && self.stream.write_ends_at(range.start + payload) {
            segment.flags |= flags::PSH;
        }
        // RFC 3168 §6.1.2: on new data; §6.1.6: not on a window probe.
        if !range.retransmitted && payload > 0 && !self.timers.is_probing() && self.reductions.take_cwr() {
            segment.flags |= flags::CWR;
        }
    }

    /// Returns the payload that goes with the SYN, at most `room` bytes, and whether a write ends with it. It is not outstanding before it is
    /// acknowledged: a SYN that is retransmitted goes without it (RFC 7413 §4.2.2).
    pub(crate) fn ride_on_syn(&mut self, room: u64) -> (u16, bool) {
        let payload = self.stream.next(1, room, self.end_of_buffered(), u64::MAX).payload;
        self.stats.bytes_sent += payload;
        self.stats.segments_sent += u64::from(payload > 0);
        (payload as u16, payload > 0 && self.stream.write_ends_at(1 + payload))
    }

    /// Notes the answer to a SYN with `sent` bytes of data: `taken` of them are acknowledged. The rest goes again, with the initial window.
    pub(crate) fn syn_data_answered(&mut self, sent: u64, taken: u64) {
        self.board.sent_new(taken);
        self.board.acknowledge(1 + taken);
        self.buffer.refill(self.board.una(), self.stream.end());
        self.stats.bytes_retransmitted += sent - taken;
        self.stats.segments_retransmitted += u64::from(taken < sent);
    }

    /// The SYN-ACK has gone, and data may go before it is acknowledged (RFC 7413 §4.2.2): only it is retransmitted until then.
    pub(crate) fn open_early(&mut self) {
        self.board.acknowledge(1.max(self.board.una()));
    }

    /// Until the handshake is done, the timer is the SYN-ACK's.
    pub(crate) fn wait_for_handshake(&mut self) {
        self.timers.choose(None, || None);
    }

    /// Adds the congestion header to a data segment (Katabi, Handley and Rohrs 2002 §3.3). It asks for the window that all that is written
    /// and may be sent would fill, divided by the packets of the present one.
    pub(crate) fn ask_routers(&self, segment: &mut Segment) {
        let window = self.window();
        let useful = self.end_of_buffered().min(self.peer.edge).saturating_sub(self.board.una());
        let packets = window.max(self.mss) as f64 / self.mss as f64;
        segment.set_congestion(CongestionHeader {
            // §6: the price stands in the header as a smaller window.
            cwnd: (window as f64 / self.control.traits().explicit).min(f64::from(i32::MAX)) as u32,
            rtt: self.trips.srtt().as_secs_f64() as f32,
            feedback: (useful.saturating_sub(window) as f64 / packets) as f32,
            answered: false,
        });
    }
}

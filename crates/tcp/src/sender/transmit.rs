//! What may be sent next, and the bookkeeping of what is.

use crate::RecoveryKind;
use crate::recovery::Forward;
use crate::sender::{Limit, Phase, Range, Sender};
use crate::seq::wrap;
use longfat_core::packet::{Segment, flags};
use longfat_core::time::Time;

impl Sender {
    /// Whether all that was written is acknowledged, and there is nothing else to send: of a stream that only goes the other way,
    /// always.
    #[inline]
    pub fn is_done(&mut self) -> bool {
        let done = self.board.una() >= self.stream.end() && !(self.probe || self.force || self.tail.due || self.forward.is_some());
        if done {
            self.limit = Limit::Application;
        }
        done
    }

    /// The next transmission allowed now. It is counted as sent.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<Range> {
        if self.probe {
            return Some(self.window_probe(now));
        }
        if self.pacer.holds(now) {
            self.limit = self.limit_when_paced();
            if self.limit == Limit::Rwnd {
                // A window that closed meanwhile is probed, whatever pacing says.
                self.arm_persist(now);
            }
            return None;
        }
        if self.tail.due {
            return self.tail_probe(now);
        }
        let pipe = self.board.pipe();
        let mut window = self.window();
        match self.forward {
            Some(Forward::Second { allowed }) => return self.next_forward(now, allowed),
            Some(Forward::First { end }) if end > 0 => {
                // One segment is all that cwnd allows after a timeout.
                self.limit = Limit::Cwnd;
                return None;
            }
            _ => {}
        }
        if self.phase == Phase::Recovery || self.phase == Phase::Loss || self.force {
            if let Some(range) = self.next_repair(now, pipe, window) {
                return Some(range);
            }
            if self.limit == Limit::Cwnd {
                return None;
            }
        } else if self.duplicates > 0 {
            if !self.limited_transmit {
                window = window.saturating_sub(self.board.sacked_bytes());
            } else if !self.kind.is_selective() {
                // RFC 3042: on the first two duplicate ACKs, up to cwnd + 2 SMSS may be outstanding.
                window += u64::from(self.duplicates.min(2)) * self.mss;
            }
        }
        let new = self.next_new(now, pipe, window);
        if new.is_none() && self.phase == Phase::Recovery && self.limit != Limit::Cwnd && self.kind == RecoveryKind::Sack {
            return self.next_speculative(now, pipe, window);
        }
        new
    }

    /// While pacing holds the sender back: what would keep it from sending if pacing did not.
    fn limit_when_paced(&self) -> Limit {
        if self.force | self.tail.due {
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

    /// Whether cwnd keeps the sender from sending more. Between two bursts of a paced sender that is told from this round and the
    /// one before: a window used up once a round is the limit, whatever spaces the segments within it.
    #[inline]
    pub(crate) fn cwnd_limited(&mut self) -> bool {
        match self.limit {
            Limit::Cwnd => {
                self.cwnd_round = Some(self.round);
                true
            }
            Limit::Pacing => self.cwnd_round.is_some_and(|last| self.round <= last + 1),
            Limit::Rwnd | Limit::Application => false,
        }
    }

    /// When pacing lets the next segment go, if that is what holds it.
    pub fn paced_until(&self, now: Time) -> Time {
        if self.limit == Limit::Pacing && self.pacer.next() > now { self.pacer.next() } else { Time::MAX }
    }

    /// Lost data, oldest first. Sets `limit` to Cwnd where only the window forbids it.
    fn next_repair(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        self.limit = Limit::Application;
        if self.force && !self.kind.is_selective() {
            if !self.may_transmit() {
                return None;
            }
            self.force = false;
            let start = self.board.una();
            let range = Range { start, end: (start + self.payload_max).min(self.board.max()), again: true };
            if self.board.next_lost(self.payload_max) == Some((start, range.end)) {
                self.board.retransmitted(start, range.end);
            }
            return (range.end > start).then(|| self.count_repair(now, range));
        }
        let (start, end) = self.board.next_lost(self.payload_max)?;
        if !self.force && pipe + (end - start) > window {
            self.limit = Limit::Cwnd;
            return None;
        }
        if !self.may_transmit() {
            return None;
        }
        self.force = false;
        self.board.retransmitted(start, end);
        Some(self.count_repair(now, Range { start, end, again: true }))
    }

    /// Something lost goes again.
    fn count_repair(&mut self, now: Time, range: Range) -> Range {
        if let Some(validation) = &mut self.validation {
            validation.repaired(range.end - range.start);
        }
        self.count(now, range)
    }

    /// New data, as far as the windows, the buffer and the silly-window rules allow.
    #[inline]
    pub(crate) fn next_new(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        let start = self.board.max();
        let una = self.board.una();
        let piece = self.stream.next(start, self.payload_max, self.buffered_until(), self.peer.edge);
        let (payload, fin, len) = (piece.payload, piece.fin, piece.len());
        if len == 0 || self.stream.is_past(start) {
            self.limit = if start < self.stream.end() { Limit::Rwnd } else { Limit::Application };
            if self.limit == Limit::Rwnd {
                self.arm_persist(now);
            }
            return None;
        }
        let idle = una == start;
        if idle && self.rate.as_ref().is_some_and(|rate| rate.is_app_limited()) {
            self.control.on_idle_end(now);
        }
        if idle && self.restart_after_idle && start > 1 && now.since(self.last_sent) > self.rtt.rto() {
            // RFC 5681 §4.1.
            self.control.on_restart(now.since(self.last_sent));
            self.last_sent = now;
        }
        if idle {
            self.validate(now);
        }
        // RFC 9293 §3.8.6.2.1: a full segment; or all there is, subject to Nagle; or half the largest window.
        let half = payload > 0 && 2 * payload >= self.peer.max();
        if !(payload == self.payload_max || fin || self.stream.permits_partial(piece, idle) || half) {
            self.limit = if piece.is_all { Limit::Application } else { Limit::Rwnd };
            if !piece.is_all {
                self.arm_persist(now);
            }
            return None;
        }
        if pipe + len > window && !(fin && pipe + payload <= window) {
            self.limit = Limit::Cwnd;
            return None;
        }
        if !self.may_transmit() {
            // The host is the limit: cwnd must not grow for it.
            self.limit = Limit::Application;
            return None;
        }
        let end = start + len;
        if self.kind == RecoveryKind::Rack && self.log.is_full() && self.board.has_sacked() {
            self.log.forget_arrived(|start, end| self.board.next_missing(start, end).is_none());
        }
        self.board.sent_new(len);
        self.log.sent(start, end, now);
        if self.timed.is_none() && !self.clock.is_exact() {
            self.timed = Some((end, self.clock.ticks(now)));
        }
        Some(self.count(now, Range { start, end, again: false }))
    }

    /// RFC 6675 §4, NextSeg rules 3 and 4: with nothing lost and nothing new to send, a hole that may be lost; then, once a
    /// recovery, the last segment, so that ACKs keep coming.
    fn next_speculative(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        if pipe + self.payload_max > window {
            return None;
        }
        if let Some((start, end)) = self.board.next_hole(self.payload_max) {
            if !self.may_transmit() {
                return None;
            }
            self.board.retransmitted(start, end);
            return Some(self.count(now, Range { start, end, again: true }));
        }
        if self.rescued || self.board.retransmitted_until() >= self.board.max() {
            return None;
        }
        // Departs from rule 4 where the highest outstanding byte is SACKed: the ACK clock then needs no rescue, and the highest
        // hole has been sent again already by rule 1 or 3.
        let (start, end) = self.board.last_segment(self.payload_max)?;
        if !self.may_transmit() {
            return None;
        }
        self.rescued = true;
        Some(self.count(now, Range { start, end, again: true }))
    }

    /// Bookkeeping common to every transmission.
    #[inline]
    pub(crate) fn count(&mut self, now: Time, range: Range) -> Range {
        let len = range.end - range.start;
        let payload = self.stream.payload(range.start, range.end);
        self.stats.bytes_sent += payload;
        self.stats.segments_sent += u64::from(payload > 0);
        if range.again {
            self.stats.bytes_retransmitted += payload;
            self.stats.segments_retransmitted += 1;
            self.timed = None;
            match &mut self.rack {
                Some(rack) => rack.again.sent(range.start, range.end, self.board.max(), now),
                None => self.log.sent_again(range.end),
            }
            if let Some(Forward::First { end: end @ 0 }) = &mut self.forward {
                *end = range.end;
            }
            if let Some(undo) = &mut self.undo {
                undo.sent(len, self.timestamp_clock.map(|clock| clock.ticks(now) as u32));
            }
        }
        if let Some(prr) = &mut self.prr {
            prr.sent(len);
        }
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.board.outstanding());
        self.last_sent = now;
        // RFC 6298 §5.1.
        if self.deadline == Time::MAX {
            self.arm_rto(now);
        }
        if self.rack.is_some() && self.persist.is_none() {
            self.set_timer(now);
        }
        if let Some(rate) = &mut self.rate {
            if rate.is_full() {
                rate.forget_arrived(|start, end| self.board.next_missing(start, end).is_none());
            }
            rate.sent(now, range.start, range.end, range.again, self.board.pipe());
        }
        if let Some(rate) = self.pacing_rate() {
            self.pacer.sent(now, payload, rate, self.mss);
        }
        range
    }

    /// The TCP header of `range`, without what the receiver half stamps on it.
    #[inline]
    pub fn segment(&mut self, range: Range, segment: &mut Segment) {
        let payload = self.stream.payload(range.start, range.end);
        *segment = Segment::new(wrap(self.iss, range.start), 0, payload as u16);
        if self.stream.is_past(range.end) {
            segment.flags |= flags::FIN;
        }
        if payload > 0 && self.stream.write_ends_at(range.start + payload) {
            segment.flags |= flags::PSH;
        }
        // RFC 3168 §6.1.2: on new data; §6.1.6: not on a window probe.
        if self.cwr_pending && !range.again && payload > 0 && self.persist.is_none() {
            segment.flags |= flags::CWR;
            self.cwr_pending = false;
        }
    }
}

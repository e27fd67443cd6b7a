//! What may be sent next, and the bookkeeping of what is.

use crate::RecoveryKind;
use crate::pacing::quantum;
use crate::repair::{Allowance, Lost, Speculation};
use crate::sender::{Limit, Range, Room, Sender};
use crate::seq::wrap;
use longfat_core::packet::{Segment, flags};
use longfat_core::time::Time;

impl Sender {
    /// Whether all that was written is acknowledged, and there is nothing else to send: of a stream that only goes the other way,
    /// always.
    #[inline]
    pub fn is_done(&mut self) -> bool {
        let done = self.board.una() >= self.stream.end() && !(self.timers.probe_is_due() || self.repair.is_pressing());
        if done {
            self.usage.limited_by(Limit::Application);
        }
        done
    }

    /// The next transmission allowed now. It is counted as sent.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<Range> {
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
        if self.repair.tlp.is_due() {
            return self.tail_probe(now);
        }
        let pipe = self.board.pipe();
        let mut window = self.window();
        match self.repair.frto.allows() {
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

    /// While pacing holds the sender back: what would keep it from sending if pacing did not.
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

    /// When pacing lets the next segment go, if that is what holds it.
    pub fn paced_until(&self, now: Time) -> Time {
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
        if !self.may_transmit() {
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
    pub(super) fn next_new(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        let start = self.board.max();
        let una = self.board.una();
        let piece = self.stream.next(start, self.payload_max, self.buffered_until(), self.peer.edge);
        let (payload, fin, len) = (piece.payload, piece.fin, piece.len());
        if len == 0 || self.stream.is_past(start) {
            let limit = if start < self.stream.end() { Limit::Rwnd } else { Limit::Application };
            self.usage.limited_by(limit);
            if limit == Limit::Rwnd {
                self.arm_persist(now);
            }
            return None;
        }
        let idle = una == start;
        if idle && self.rate.as_ref().is_some_and(|rate| rate.is_app_limited()) {
            self.control.on_idle_end(now);
        }
        if idle {
            self.restart(now);
        }
        // RFC 9293 §3.8.6.2.1: a full segment; or all there is, subject to Nagle; or half the largest window.
        let half = payload > 0 && 2 * payload >= self.peer.max();
        if !(payload == self.payload_max || fin || self.stream.permits_partial(piece, idle) || half) {
            // Where more was written than the send buffer holds, the application is not the limit.
            self.usage.limited_by(if piece.is_last { Limit::Application } else { Limit::Rwnd });
            if !piece.is_all {
                self.arm_persist(now);
            }
            return None;
        }
        if pipe + len > window && !(fin && pipe + payload <= window) {
            self.usage.limited_by(Limit::Cwnd);
            return None;
        }
        if self.room != Room::Yes && !self.may_go_on_host(now, pipe, window, len) {
            return None;
        }
        let end = start + len;
        if self.repair.kind() == RecoveryKind::Rack && self.log.is_full() && self.board.has_sacked() {
            self.log.forget_arrived(|start, end| self.board.next_missing(start, end).is_none());
        }
        self.board.sent_new(len);
        self.log.sent(start, end, now);
        self.trips.sent(now, end);
        let range = self.count(now, Range { start, end, retransmitted: false });
        self.note_decay(now);
        Some(range)
    }

    /// What may not be lost, so that ACKs keep coming.
    fn next_speculative(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        if pipe + self.payload_max > window {
            return None;
        }
        let speculation = self.repair.next_speculative(&self.board, self.payload_max).filter(|_| self.may_transmit())?;
        self.repair.speculation_goes(&mut self.board, speculation);
        let Speculation { start, end, .. } = speculation;
        Some(self.count(now, Range { start, end, retransmitted: true }))
    }

    /// Bookkeeping common to every transmission.
    #[inline]
    pub(super) fn count(&mut self, now: Time, range: Range) -> Range {
        self.count_as(now, range, false)
    }

    /// The same; `repairs`: it was lost.
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
            match &mut self.repair.rack {
                Some(rack) => rack.retransmissions.sent(range.start, range.end, self.board.max(), now),
                None => self.log.sent_again(range.end),
            }
            self.repair.frto.sent_again(range.end);
            self.repair.undo.sent_again(range.start, range.end, self.board.una(), repairs, || self.trips.tsval(now));
        }
        self.repair.sent(len);
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.board.outstanding());
        self.unused.sent(now);
        // RFC 6298 §5.1. RACK finds lost retransmissions by itself, for as long as anything comes back: with it the timer is the more
        // careful one of RFC 6675 §6, which begins anew with each retransmission of a repair.
        if !self.timers.is_set() || (repairs && self.repair.rack.is_some() && !self.timers.is_probing()) {
            self.arm_rto(now);
        }
        if self.repair.rack.is_some() && !self.timers.is_probing() {
            self.set_timer(now);
        }
        if let Some(rate) = &mut self.rate {
            if rate.is_full() {
                rate.forget_arrived(|start, end| self.board.next_missing(start, end).is_none());
            }
            rate.sent(now, range.start, range.end, range.retransmitted, self.board.pipe());
        }
        if let Some(rate) = self.pacing_rate() {
            self.pacer.sent(now, payload, rate, || match &self.bursts {
                None => quantum(rate, self.mss, self.control.burst_least()),
                Some(bursts) => bursts.offload.burst(rate, self.stats.rtt_min, self.mss),
            });
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
        if !range.retransmitted && payload > 0 && !self.timers.is_probing() && self.reductions.take_cwr() {
            segment.flags |= flags::CWR;
        }
    }
}

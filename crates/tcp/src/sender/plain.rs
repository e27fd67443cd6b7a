//! The sender's share of [the common case](crate::connection::Plain): cumulative ACKs, and the full segments that they let go.

use super::{Limit, Room, Sender};
use crate::congestion::AckSample;
use crate::seq::{unwrap, wrap};
use longfat_core::packet::Segment;
use longfat_core::time::Time;

/// Full segments that go one after the other: `start..end` of the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub start: u64,
    pub end: u64,
    /// True if nothing more may go now.
    pub is_all: bool,
}

impl Sender {
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.repair.is_plain(&self.board)
            && self.control.is_plain() & !self.is_explicit & self.unused.is_plain() & !self.ecn.is_on()
            && (self.host.room == Room::Yes) & self.host.bursts.is_none() & !self.timers.is_probing() & !self.timers.probe_is_due()
    }

    /// Takes in a plain ACK, if it acknowledges some of what is outstanding, and not all. Returns true if it does. (As [`Sender::handle_ack`]
    /// would.)
    #[inline]
    pub(crate) fn handle_plain_ack(&mut self, now: Time, segment: &Segment) -> bool {
        let (una, max) = (self.board.una(), self.board.max());
        let ack = unwrap(self.iss, una, segment.ack);
        if ack <= una || ack >= max {
            return false;
        }
        let (acked, in_flight) = (ack - una, max - una);
        self.note_use(in_flight);
        self.peer.update(segment, ack);
        self.repair.ack_begins(false);
        let sent = self.repair.acknowledged(now, segment, ack, &self.board, &self.trips);
        let rtt = self.trips.acked(now, segment, ack, max, sent);
        self.board.acknowledge_plain(ack);
        self.repair.progress();
        self.usage.acked(ack, max);
        let sample = AckSample {
            now,
            acked,
            delivered: acked,
            marked: 0,
            in_flight,
            rtt,
            srtt: self.trips.srtt(),
            rtt_min: self.trips.least(),
            forward_delay: self.forward_delay(now, segment, rtt),
            round: self.usage.round(),
            cwnd_limited: self.usage.lets_grow(una, || (self.control.cwnd(), self.control.ssthresh())),
            after_timeout: false,
            in_recovery: false,
            rate: None,
        };
        self.control.on_sample(&sample);
        self.control.on_ack(&sample);
        self.repair.nothing_waits();
        self.arm_rto(now);
        self.set_timer(now);
        self.size_buffer(now);
        true
    }

    /// After a plain ACK: the full segments that go now, which count as sent.
    #[inline]
    pub(crate) fn burst(&mut self, now: Time) -> Burst {
        let (una, start, mss) = (self.board.una(), self.board.max(), self.mss);
        let mut burst = Burst { start, end: start, is_all: false };
        if self.pacer.holds(now) || self.pacing_rate().is_some() {
            return burst;
        }
        self.payload_max = mss;
        self.buffer.refill(una, self.stream.end());
        let allowed = una + self.window();
        let written = self.peer.edge.min(self.buffer.reach(una)).min(self.stream.plain_until());
        let mut segments = 0;
        // Few segments go at a time: a division would take longer.
        while burst.end + mss <= allowed.min(written) {
            burst.end += mss;
            segments += 1;
        }
        if burst.end > start {
            self.repair.sent_new(now, &mut self.board, burst.end - start);
            self.trips.sent(now, start + mss);
            self.stats.bytes_sent += burst.end - start;
            self.stats.segments_sent += segments;
            self.stats.in_flight_max = self.stats.in_flight_max.max(burst.end - una);
            self.unused.sent(now);
            self.set_timer(now);
        }
        let limit = if burst.end + mss <= written {
            Some(Limit::Cwnd)
        } else {
            self.holds_back(burst.end, self.stream.next(burst.end, mss, self.buffered_until(), self.peer.edge), false)
        };
        if let Some(limit) = limit {
            self.usage.limited_by(limit);
            self.waits(now);
            burst.is_all = true;
        }
        burst
    }

    /// Returns the sequence number of `offset`.
    #[inline]
    pub(crate) fn number(&self, offset: u64) -> u32 {
        wrap(self.iss, offset)
    }
}

//! Round trips, as ACKs and SACKs tell of them.

use super::Sender;
use longfat_core::packet::Segment;
use longfat_core::time::{Duration, Time};

impl Sender {
    /// A round trip for the estimator, and an exact one for the control and the statistics.
    #[inline]
    pub(super) fn measure(&mut self, now: Time, segment: &Segment, ack: u64) -> Option<Duration> {
        // Karn: only bytes sent once.
        let sent = if self.repair.rack.is_some() {
            self.told_in_order(now, segment, ack)
        } else {
            let clear = self.log.is_clear(self.board.una());
            self.log.arrived(ack).filter(|_| clear)
        };
        let exact = sent.map(|(first, _)| now.since(first));
        let latest = sent.map(|(_, last)| now.since(last));
        if let Some(rtt) = latest {
            self.note_rtt(rtt);
        }
        self.trips.acked(now, segment, ack, self.board.max(), exact);
        latest
    }

    /// What the left edge passes on its way to `ack`: when the first and the last of it left that were sent once and had not
    /// arrived before.
    #[inline]
    fn told_in_order(&mut self, now: Time, segment: &Segment, ack: u64) -> Option<(Time, Time)> {
        let rack = self.repair.rack.as_mut()?;
        if !self.board.has_sacked() && rack.retransmissions.is_empty() {
            let span = self.log.arrived(ack)?;
            rack.arrived_in_order(now, ack, span.1);
            return Some(span);
        }
        let tells = self.trips.tells_of_retransmission(now, self.stats.rtt_min, Some(segment));
        let rack = self.repair.rack.as_mut()?;
        rack.span = None;
        let mut at = self.board.una();
        while let Some((start, end)) = self.board.next_missing(at, ack) {
            rack.arrived(now, start, end, &self.log, tells);
            at = end;
        }
        self.log.arrived(ack);
        rack.span
    }

    /// SACKs newly reach up to `top`: that segment has just arrived, and unless it was sent twice its round trip is as good as that
    /// of one acknowledged (RFC 6298 §3 forbids only the ambiguous ones). While the left edge stands still there is no other.
    pub(super) fn measure_sacked(&mut self, now: Time, top: u64) -> Option<Duration> {
        let sent = match &self.repair.rack {
            Some(rack) => rack.span,
            None => self.log.arrived(top).filter(|_| self.log.is_clear(top - 1)),
        };
        let rtt = now.since(sent?.1);
        self.note_rtt(rtt);
        self.trips.sacked(top, self.board.max(), rtt);
        Some(rtt)
    }

    #[inline]
    fn note_rtt(&mut self, rtt: Duration) {
        let least = &mut self.stats.rtt_min;
        *least = if *least == Duration::ZERO { rtt } else { rtt.min(*least) };
        self.round_trips.record(rtt);
    }
}

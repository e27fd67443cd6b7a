//! Round trips, as ACKs and SACKs tell of them.

use crate::sender::Sender;
use longfat_core::packet::Segment;
use longfat_core::time::{Duration, Time};

impl Sender {
    /// A round trip for the estimator, and an exact one for the control and the statistics.
    #[inline]
    pub(super) fn measure(&mut self, now: Time, segment: &Segment, ack: u64) -> Option<Duration> {
        // Karn: only bytes sent once.
        let sent = if self.rack.is_some() {
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
        let echoed = match (segment.timestamps(), self.timestamp_clock) {
            // RFC 7323 §4: the echo tells of any segment, sent again or not.
            (Some((_, ecr)), Some(clock)) => Some((clock, (clock.ticks(now) as u32).wrapping_sub(ecr))),
            _ => None,
        };
        if self.clock.is_exact() {
            // One sample a round trip, as RFC 6298 §3 has it: with one an ACK, alpha and beta would span a few ACKs instead of a few
            // round trips, and rttvar would vanish (RFC 7323 §4.2 weighs them down instead, to the same end).
            if ack > self.sampled_until || self.rtt.is_backed_off() {
                let echo = echoed.filter(|(_, t)| *t < 1 << 31).map(|(clock, ticks)| clock.span(u64::from(ticks)));
                if let Some(rtt) = exact.or(echo) {
                    self.rtt.sample(rtt);
                    self.sampled_until = self.board.max();
                }
            }
        } else if let Some((clock, ticks)) = echoed.filter(|(_, t)| *t < 1 << 31) {
            self.rtt.sample(clock.span(u64::from(ticks)));
        } else if let Some((end, tick)) = self.timed
            && ack >= end
        {
            self.timed = None;
            self.rtt.sample(self.clock.span(self.clock.ticks(now) - tick));
        }
        latest
    }

    /// SACKs newly reach up to `top`: that segment has just arrived, and unless it was sent twice its round trip is as good as that
    /// of one acknowledged (RFC 6298 §3 forbids only the ambiguous ones). While the left edge stands still there is no other.
    pub(super) fn measure_sacked(&mut self, now: Time, top: u64) -> Option<Duration> {
        let sent = match &self.rack {
            Some(rack) => rack.span,
            None => self.log.arrived(top).filter(|_| self.log.is_clear(top - 1)),
        };
        let rtt = now.since(sent?.1);
        self.note_rtt(rtt);
        if self.clock.is_exact() && top > self.sampled_until {
            self.rtt.sample(rtt);
            self.sampled_until = self.board.max();
        }
        Some(rtt)
    }

    #[inline]
    fn note_rtt(&mut self, rtt: Duration) {
        let s = &mut self.stats;
        s.rtt_min = if s.rtt_samples == 0 { rtt } else { s.rtt_min.min(rtt) };
        s.rtt_max = s.rtt_max.max(rtt);
        s.rtt_sum_ps += u128::from(rtt.as_ps());
        s.rtt_samples += 1;
    }
}

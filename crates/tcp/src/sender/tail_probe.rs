//! The tail loss probe in the sender (RFC 8985 §7): when the timer is set for it, what it sends, and what its answer means.

use super::{Range, Sender};
use crate::congestion::Congestion;
use crate::repair::Tlp;
use crate::sender::stall::Room;
use longfat_core::packet::Segment;
use longfat_core::time::Time;

impl Sender {
    /// Sets the timer for what comes first.
    #[inline]
    pub(super) fn set_timer(&mut self, now: Time) {
        // RFC 8985 §7.2: not in recovery, nothing SACKed, and no probe out.
        let (board, repair) = (&self.board, &self.repair);
        let may_probe = repair.tlp.may_be_set() && repair.is_open() && !board.has_sacked();
        let (srtt, alone) = (self.trips.srtt(), board.outstanding() <= self.mss);
        let reordering = repair.rack.as_ref().and_then(|rack| rack.wake);
        self.timers.choose(reordering, || may_probe.then(|| now + Tlp::timeout(srtt, alone)));
    }

    /// RFC 8985 §7.3: new data, whatever cwnd says, or the last segment again.
    pub(super) fn tail_probe(&mut self, now: Time) -> Option<Range> {
        let range = self.next_new(now, 0, u64::MAX).or_else(|| {
            let (start, end) = self.board.last_segment(self.payload_max).filter(|_| self.may_transmit())?;
            Some(self.count(now, Range { start, end, retransmitted: true }))
        });
        let Some(range) = range else {
            // One that the host had no room for waits.
            self.repair.tlp.kept_back(self.room == Room::Refused);
            return None;
        };
        self.stats.tail_probes += 1;
        self.repair.tlp.sent(self.board.max(), range.retransmitted);
        self.arm_rto(now);
        Some(range)
    }

    /// RFC 8985 §7.4.2: where this ACK says that the probe repaired a loss, that was congestion. `moved`: the left edge moved.
    pub(super) fn probe_answered(&mut self, now: Time, ack: u64, moved: bool, segment: &Segment, duplicate: Option<(u64, u64)>) {
        if self.repair.tlp.acked(ack, moved, segment.sack_count() > 0, duplicate) && self.repair.is_open() {
            self.stats.tail_losses += 1;
            let flight_size = self.flight_size();
            self.respond(now, Congestion::Loss, flight_size, false);
            self.repair.undo.forget();
        }
    }
}

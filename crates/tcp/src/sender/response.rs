//! Congestion as the sender answers it: from what a reduction is reckoned, and what marks ask for.

use super::Sender;
use crate::congestion::{Congestion, CongestionEvent};
use longfat_core::time::Time;

impl Sender {
    /// From what a reduction is reckoned, in bytes; zero where nothing is outstanding.
    pub(super) fn flight_size(&self) -> u64 {
        // RFC 5681 §3.2 step 2: limited transmit does not count, and what cwnd allows is what the sender meant to send. After a
        // timeout most of what is outstanding is long lost, and cwnd says what is in flight: a timeout with some progress since
        // the last one then leaves a lower ssthresh than Eq. 4 would (an upper bound), as BSD's min(cwnd, rwnd) / 2 does.
        let (outstanding, cwnd) = (self.board.outstanding(), self.control.cwnd().max(self.mss));
        self.unused.basis(outstanding.min(cwnd)).unwrap_or_else(|| self.reductions.basis(outstanding, cwnd))
    }

    /// Congestion of this kind, with `flight_size` in flight: the control reduces its window. What follows is a fast `recovery` or not.
    pub(super) fn respond(&mut self, now: Time, kind: Congestion, flight_size: u64, recovery: bool) {
        self.control.on_congestion(&CongestionEvent { now, kind, flight_size });
        if let Some(validation) = self.unused.validation() {
            validation.congestion(flight_size, recovery);
        }
        self.reduced();
    }

    /// RFC 3168 §6.1.2: after a reduction for whatever reason, CWR goes on the next new segment, and echoes of marks on what
    /// was sent before do not reduce again.
    pub(super) fn reduced(&mut self) {
        self.usage.forget();
        if self.ecn.is_on() {
            self.reductions.reduced(self.board.max(), self.ecn.answers_by_cwr());
        }
    }

    /// The window that a reduction without a loss leaves is reached at once, or by PRR, where `flight` bytes were in flight.
    pub(super) fn ease(&mut self, flight: u64) {
        if self.control.uses_prr_on_marks() {
            self.repair.ease(&self.board, flight, self.control.cwnd(), self.mss);
        }
    }

    /// An ACK tells of marks; before it, all was acknowledged up to `una`, `flight_size` is what a reduction is reckoned from, and `in_flight`
    /// were in flight. RFC 3168 §6.1.2: as for a
    /// loss, at most once a round trip, and without retransmitting. How far the window shrinks is the control's business, also
    /// where it counts the marks (RFC 8257 §3.3).
    pub(super) fn echo_of_congestion(&mut self, now: Time, una: u64, flight_size: u64, in_flight: u64) {
        if self.repair.is_open() && self.reductions.heeds_marks(una) && flight_size > 0 {
            let event = if self.ecn.is_enough() { Congestion::Ecn } else { Congestion::Loss };
            self.respond(now, event, flight_size, false);
            self.ease(in_flight);
            // What this leaves is not to be taken back for an earlier loss that was none.
            self.repair.undo.forget();
        }
    }
}

//! Congestion as the sender answers it: from what a reduction is reckoned, and that there is one a round trip. Marks and local congestion
//! reduce no window that was reduced since what they tell of was sent.

use super::Sender;
use crate::TcpConfig;
use crate::congestion::{Congestion, CongestionEvent, PrrUse};
use longfat_core::time::Time;

#[derive(Debug)]
pub(crate) struct Reductions {
    /// CWR goes on the next new segment.
    cwr_pending: bool,
    /// No more reductions for marks before this is acknowledged.
    cwr_until: u64,
    /// None for local congestion before this is.
    stalled_until: u64,
    from_cwnd: bool,
}

impl Reductions {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Reductions { cwr_pending: false, cwr_until: 0, stalled_until: 0, from_cwnd: config.growth.ssthresh_from_cwnd }
    }

    /// Returns the base of a reduction of `cwnd` with so much outstanding.
    pub(super) fn basis(&self, outstanding: u64, cwnd: u64) -> u64 {
        // RFC 9438 §4.6: so do some implementations of CUBIC, which then must not let an unused window grow.
        if self.from_cwnd && outstanding > 0 { cwnd } else { outstanding.min(cwnd) }
    }

    /// RFC 3168 §6.1.2: the window was reduced, for whatever reason. Echoes of marks on what was sent before (below `max`) do not reduce it
    /// again. `answered`: CWR tells of it.
    pub(super) fn reduced(&mut self, max: u64, answered: bool) {
        self.cwr_until = max;
        self.cwr_pending = answered;
    }

    /// Returns true if, with all below `una` acknowledged, echoes of marks are of what was sent after the last reduction.
    #[inline]
    pub(super) fn heeds_marks(&self, una: u64) -> bool {
        una >= self.cwr_until
    }

    /// Returns true if CWR is to go; it goes now.
    #[inline]
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_pending)
    }

    /// Returns true if local congestion is of what was sent after the last reduction. The last repair was of what lies below `repaired`.
    pub(super) fn heeds_stalls(&self, una: u64, repaired: u64) -> bool {
        una >= self.stalled_until.max(repaired).max(self.cwr_until)
    }

    /// Local congestion reduces the window.
    pub(super) fn stalled(&mut self, max: u64) {
        self.stalled_until = max;
    }
}

impl Sender {
    /// Returns the base of a reduction, in bytes; zero where nothing is outstanding.
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
        if self.control.traits().prr == PrrUse::Reductions {
            self.repair.ease(&self.board, flight, self.control.cwnd(), self.mss);
        }
    }

    /// An ACK tells of marks; before it, all was acknowledged up to `una`, `flight_size` is what a reduction is reckoned from, and `in_flight`
    /// were in flight. RFC 3168 §6.1.2: as for a loss, at most once a round trip, and without retransmitting. How far the window shrinks is
    /// the control's business, also where it counts the marks (RFC 8257 §3.3).
    pub(super) fn echo_of_congestion(&mut self, now: Time, una: u64, flight_size: u64, in_flight: u64) {
        if self.repair.is_open() && self.reductions.heeds_marks(una) && flight_size > 0 {
            let event = if self.ecn.is_enough() { Congestion::Ecn } else { Congestion::Loss };
            self.respond(now, event, flight_size, false);
            self.ease(in_flight);
            // This reduction is not to be taken back for an earlier, spurious loss.
            self.repair.keep_reduction();
        }
    }

    /// The interface refused a segment: Web100's SendStall. Linux 2.4 takes that as congestion (Bulot et al. 2004 §4.3; the state
    /// it calls CWR): one reduction a window, as for an ECN echo (RFC 3168 §6.1.2), and none while a loss is being repaired.
    pub(crate) fn local_congestion(&mut self, now: Time) {
        self.stats.send_stalls += 1;
        let heeded = self.reductions.heeds_stalls(self.board.una(), self.repair.point());
        if heeded && self.repair.is_open() && self.board.outstanding() > 0 {
            self.reductions.stalled(self.board.max());
            let flight_size = self.flight_size();
            self.control.on_congestion(&CongestionEvent { now, kind: Congestion::Local, flight_size });
            self.reduced();
            self.ease(self.board.pipe());
            self.repair.keep_reduction();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holds_until_what_was_outstanding_is_acknowledged() {
        let mut reductions = Reductions::new(&TcpConfig::new(&crate::stack::named("rfc").params(), 1500));
        assert!(reductions.heeds_marks(0) && reductions.heeds_stalls(0, 0) && !reductions.take_cwr());
        reductions.stalled(500);
        assert!(reductions.heeds_marks(0) && !reductions.heeds_stalls(499, 0) && reductions.heeds_stalls(500, 0));
        reductions.reduced(1000, true);
        assert!(!reductions.heeds_marks(999) && reductions.heeds_marks(1000));
        assert!(!reductions.heeds_stalls(999, 0) && !reductions.heeds_stalls(1000, 1200) && reductions.heeds_stalls(1200, 1200));
        assert!(reductions.take_cwr() && !reductions.take_cwr(), "once");
    }
}

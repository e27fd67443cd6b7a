//! The retransmission timer goes off, or a window opens that was closed: what is outstanding is sent again.

use crate::congestion::{Congestion, CongestionEvent};
use crate::recovery::{Forward, Probe};
use crate::sampling::lost;
use crate::sender::{Phase, Sender};
use longfat_core::time::Time;

impl Sender {
    /// The retransmission timer went off (RFC 6298 §5.4 to 5.6).
    pub fn retransmission_timeout(&mut self, now: Time) {
        if let Some(probes) = self.persist {
            self.persist_timeout(now, probes);
            return;
        }
        if self.board.outstanding() == 0 {
            self.deadline = Time::MAX;
            return;
        }
        if self.time_is_up(now) {
            return;
        }
        self.check_app_limited();
        self.stats.timeouts += 1;
        let una = self.board.una();
        // RFC 5681 §3.1: a second timeout for the same segment leaves ssthresh as it is.
        let again = self.timeout_una == Some(una) && !self.halve_each_timeout;
        let kind = if again { Congestion::TimeoutAgain } else { Congestion::Timeout };
        self.note_unanswered(now, self.rtt.rto());
        self.timeout_una = Some(una);
        let flight_size = self.flight_size();
        self.control.on_congestion(&CongestionEvent { now, kind, flight_size });
        self.reduced();
        self.validated_by_congestion(flight_size, false);
        // RFC 5682 §2.1 step 1: not where a timeout's retransmissions are under way. A timeout repeated leaves what is watched.
        let first = self.phase != Phase::Loss;
        if kind == Congestion::Timeout {
            self.watch(true);
        }
        self.start_over(now);
        self.forward = (self.use_frto && first).then_some(Forward::First { end: 0 });
        self.rtt.back_off();
        self.arm_rto(now);
    }

    /// All that is outstanding and not SACKed counts as lost; none of it as retransmitted.
    ///
    /// RFC 2018 §8 would forget the SACKs after a timeout, since the receiver may have reneged; RFC 6675 §5.1 lets a sender keep
    /// them if it looks out for that. We keep them: a receiver that reneged shows it when the left edge meets a SACKed byte, and
    /// the timeout that follows forgets them.
    pub(super) fn start_over(&mut self, now: Time) {
        if self.rack.is_none() {
            self.note_all_lost();
        }
        let reneged = self.board.reneged();
        if reneged {
            self.board.forget_sacks();
        }
        if reneged || self.rack.is_none() {
            self.lose_all();
        } else {
            self.lose_overdue(now);
        }
        self.phase = Phase::Loss;
        self.recover = self.board.max();
        // RFC 6582 §3.2 step 1 and §4: going back over what the receiver may have brings duplicate ACKs of the very end of it, so
        // the ACK must cover *more* than what was sent.
        self.no_fast_retransmit_below = self.recover + 1;
        self.inflation = 0;
        self.prr = None;
        // RFC 6298 §5.4: the first goes again, whatever else may still be in flight.
        self.force = self.rack.is_some();
        self.tail = Probe::default();
        self.duplicates = 0;
        self.timed = None;
        if self.rack.is_none() {
            self.log.sent_again(self.board.max());
        }
    }

    /// The window that was closed is open: whatever the probes did not get through is sent again.
    pub(super) fn window_opened(&mut self, now: Time, ack: u64) {
        self.persist = None;
        self.deadline = Time::MAX;
        if ack < self.board.max() {
            self.lose_all();
            self.phase = Phase::Loss;
            self.recover = self.board.max();
            // Pacing may hold back what goes again, and what is outstanding has a timer (RFC 6298 §5.1).
            self.arm_rto(now);
        }
    }

    /// All that is outstanding and not SACKed is lost; none of it counts as retransmitted.
    fn lose_all(&mut self) {
        self.board.forget_losses();
        match &mut self.rack {
            Some(rack) => rack.lose_all(&mut self.board, lost(&mut self.rate, &mut self.control)),
            None => {
                self.board.mark_lost_until(self.board.max());
            }
        }
    }
}

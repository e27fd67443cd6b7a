//! The timer goes off, or a window opens that was closed: what is outstanding is sent again.

use super::{Phase, Sender, Timer};
use crate::congestion::Congestion;
use crate::sender::sampling::lost;
use longfat_core::time::Time;

impl Sender {
    /// The retransmission timer went off (RFC 6298 §5.4 to 5.6).
    pub fn retransmission_timeout(&mut self, now: Time) {
        if self.timers.probe_again(now, self.board.una(), &self.trips) {
            return;
        }
        if self.board.outstanding() == 0 {
            self.timers.stop();
            return;
        }
        if self.time_is_up(now) {
            return;
        }
        self.check_app_limited();
        self.stats.timeouts += 1;
        let una = self.board.una();
        let kind = if self.repair.times_out_again(una) { Congestion::TimeoutAgain } else { Congestion::Timeout };
        self.timers.note_unanswered(now, una, self.trips.rto());
        let flight_size = self.flight_size();
        self.respond(now, kind, flight_size, false);
        // RFC 5682 §3.1 (and §2.1 step 1 for timeouts): not where a repair is under way, whose own retransmission may have been lost while
        // new data went out behind it. A timeout repeated leaves what is watched. (Step 1 would begin F-RTO anew for it; we do not.)
        let first = self.repair.is_open();
        if kind == Congestion::Timeout {
            self.repair.undo.watch(true, una, false);
        }
        self.start_over(now);
        self.repair.frto.begin(first);
        self.trips.back_off();
        self.arm_rto(now);
    }

    /// The timer went off for something other than a retransmission timeout. Whether it did.
    fn time_is_up(&mut self, now: Time) -> bool {
        match self.timers.set_for() {
            Timer::Retransmission => return false,
            Timer::Probe => {
                self.repair.tlp.went_off(self.board.outstanding() > 0);
                // RFC 8985 §7.3: after a probe, the retransmission timer.
                self.arm_rto(now);
            }
            Timer::Reordering => {
                let delivered = self.board.una() + self.board.sacked_bytes();
                if self.repair.phase() == Phase::Recovery {
                    self.steer(now, delivered, false);
                } else {
                    self.look_for_losses(now, delivered);
                }
                self.set_timer(now);
            }
        }
        true
    }

    /// All that is outstanding and not SACKed counts as lost; none of it as retransmitted.
    ///
    /// RFC 2018 §8 would forget the SACKs after a timeout, since the receiver may have reneged; RFC 6675 §5.1 lets a sender keep
    /// them if it looks out for that. We keep them: a receiver that reneged shows it when the left edge meets a SACKed byte, and
    /// the timeout that follows forgets them.
    pub(super) fn start_over(&mut self, now: Time) {
        let by_time = self.repair.rack.is_some();
        if !by_time {
            self.note_all_lost();
        }
        let reneged = self.board.reneged();
        if reneged {
            self.board.forget_sacks();
        }
        if reneged || !by_time {
            self.lose_all();
        } else {
            let (latency, lost) = (self.latency(), lost(&mut self.rate, &mut self.control));
            self.repair.lose_overdue(now, &mut self.board, &self.log, self.mss, latency, lost);
        }
        self.repair.start_over(self.board.max());
        self.trips.sent_again();
        if !by_time {
            self.log.sent_again(self.board.max());
        }
    }

    /// The window that was closed is open: whatever the probes did not get through is sent again.
    pub(super) fn window_opened(&mut self, now: Time, ack: u64) {
        self.timers.rest();
        if ack < self.board.max() {
            self.lose_all();
            // What this sends again says nothing of the last reduction.
            self.repair.undo.forget();
            self.repair.send_again(self.board.max());
            // Pacing may hold back what goes again, and what is outstanding has a timer (RFC 6298 §5.1).
            self.arm_rto(now);
        }
    }

    /// All that is outstanding and not SACKed is lost.
    fn lose_all(&mut self) {
        self.repair.lose_all(&mut self.board, lost(&mut self.rate, &mut self.control));
    }
}

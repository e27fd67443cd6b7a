//! Losses and the sender: it asks [`Repair`](crate::repair::Repair) what ACKs and timers mean, tells the congestion control, and sets the
//! timer.

use super::{Phase, Sender, Timer};
use crate::congestion::{Congestion, PrrUse};
use crate::repair::{OnDuplicate, OnProgress};
use longfat_core::packet::Segment;
use longfat_core::time::Time;

impl Sender {
    /// A new ACK during fast recovery. Whether the retransmission timer restarts.
    pub(super) fn ack_in_recovery(&mut self, now: Time, ack: u64, acked: u64, delivered_before: u64) -> bool {
        match self.repair.progress_in_recovery(ack, acked, self.mss) {
            OnProgress::Ends => self.end_recovery(now),
            OnProgress::Steer => self.steer(now, delivered_before, true),
            OnProgress::Hole { restart_timer } => {
                self.head_is_lost();
                return restart_timer;
            }
        }
        true
    }

    fn end_recovery(&mut self, now: Time) {
        self.repair.end(&self.board);
        self.stats.recoveries_ended += 1;
        self.control.on_recovered(now);
        if let Some(validation) = self.unused.validation()
            && let Some(to) = validation.recovered(self.control.ssthresh())
        {
            self.control.on_unused(to.into());
        }
    }

    /// An ACK that moved nothing but says that a segment has left the network.
    pub(super) fn duplicate_ack(&mut self, now: Time, delivered_before: u64) {
        match self.repair.duplicate_ack(self.board.una(), self.mss) {
            OnDuplicate::Nothing => {}
            OnDuplicate::Steer => self.steer(now, delivered_before, false),
            OnDuplicate::Look => self.look_for_losses(now, delivered_before),
            OnDuplicate::Enter => self.enter_recovery(now, delivered_before),
        }
    }

    /// Returns true if anything became lost.
    fn detect_losses(&mut self, now: Time) -> bool {
        self.repair.detect(now, &mut self.board, self.mss, &self.trips, &mut self.control)
    }

    /// Reports the segment at the left edge as lost: without SACK only a retransmission tells of a loss.
    fn head_is_lost(&mut self) {
        let una = self.board.una();
        self.control.lost_within(&self.board, una, (una + self.mss).min(self.board.max()));
    }

    /// Outside fast recovery, with SACK: RFC 6675 §5 steps 1 and 2.
    pub(super) fn look_for_losses(&mut self, now: Time, delivered_before: u64) {
        if self.repair.looks_for_losses() {
            self.detect_losses(now);
            if self.repair.must_recover(&self.board) {
                self.enter_recovery(now, delivered_before);
            }
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Time, delivered_before: u64) {
        self.stats.fast_retransmits += 1;
        let flight_size = self.flight_size();
        self.repair.begin(&self.board);
        self.trips.sent_again();
        if self.repair.is_tahoe() {
            // Fast retransmit, then slow start over all that is outstanding (Jacobson 1988; Fall and Floyd 1996 §2).
            self.respond(now, Congestion::Timeout, flight_size, false);
            self.repair.start_over(now, &mut self.board, self.mss, &self.trips, &mut self.control);
            self.repair.stands_for_timeout(self.board.una());
            self.arm_rto(now);
            return;
        }
        if self.repair.eases() {
            // One reduction a window of data, for marks and losses together (RFC 3168 §6.1.2). There is none to take back.
            self.repair.keep_reduction();
        } else {
            self.respond(now, Congestion::Loss, flight_size, true);
        }
        let ssthresh = (self.control.traits().prr != PrrUse::Never).then(|| self.control.ssthresh());
        self.repair.enter(&mut self.board, self.mss, delivered_before, ssthresh);
        if self.repair.is_selective() {
            self.steer(now, delivered_before, false);
        } else {
            self.head_is_lost();
        }
        self.arm_rto(now);
    }

    /// SACK recovery: what this ACK lets out.
    pub(super) fn steer(&mut self, now: Time, delivered_before: u64, advanced: bool) {
        let newly_lost = self.detect_losses(now);
        let delivered = (self.board.una() + self.board.sacked_bytes()).saturating_sub(delivered_before);
        self.repair.steer(delivered, self.board.pipe(), advanced && !newly_lost, || self.control.cwnd());
    }

    /// The reduction was for nothing: window and state as before it, and what is on its way is not retransmitted (RFC 4015).
    pub(super) fn take_back(&mut self, now: Time, segment: &Segment) {
        self.stats.spurious_recoveries += 1;
        self.control.on_spurious();
        if self.repair.take_back(&mut self.board) {
            self.trips.after_spike(now, segment, self.board.max());
        }
    }

    /// The timer went off: that of retransmissions (RFC 6298 §5.4 to 5.6), of a window probe, of reordering or of the tail loss probe.
    pub(crate) fn time_is_up(&mut self, now: Time) {
        if self.timers.probe_again(now, self.board.una(), &self.trips) {
            return;
        }
        if self.board.outstanding() == 0 {
            self.timers.stop();
            return;
        }
        match self.timers.set_for() {
            Timer::Retransmission => self.retransmission_timeout(now),
            Timer::Probe => {
                self.repair.probe_timed_out(self.board.outstanding() > 0);
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
    }

    fn retransmission_timeout(&mut self, now: Time) {
        self.check_app_limited();
        self.stats.timeouts += 1;
        let una = self.board.una();
        let again = self.repair.times_out_again(una);
        self.timers.note_unanswered(now, una, self.trips.rto());
        let flight_size = self.flight_size();
        self.respond(now, if again { Congestion::TimeoutAgain } else { Congestion::Timeout }, flight_size, false);
        self.repair.timed_out(now, again, &mut self.board, self.mss, &self.trips, &mut self.control);
        self.trips.sent_again();
        self.trips.back_off();
        self.arm_rto(now);
    }

    /// The window that was closed is open.
    pub(super) fn window_opened(&mut self, now: Time, ack: u64) {
        self.timers.rest();
        if ack < self.board.max() {
            self.repair.window_opened(&mut self.board, &mut self.control);
            // Pacing may hold back what goes again, and what is outstanding has a timer (RFC 6298 §5.1).
            self.arm_rto(now);
        }
    }

    /// Sets the timer for what comes first.
    #[inline]
    pub(super) fn set_timer(&mut self, now: Time) {
        let (repair, board, mss, srtt) = (&self.repair, &self.board, self.mss, self.trips.srtt());
        if repair.has_timers() {
            self.timers.choose(repair.reordering_due(), || repair.probe_timeout(board, mss, srtt).map(|span| now + span));
        }
    }
}

//! What the sender does about losses: it asks [`Repair`](crate::repair::Repair) what ACKs and timers mean, tells the congestion control,
//! and sets the timer.

use super::{Phase, Sender};
use crate::RecoveryKind;
use crate::congestion::Congestion;
use crate::repair::{Latency, OnDuplicate, OnProgress};
use crate::sender::sampling::lost;
use longfat_core::time::Time;

impl Sender {
    /// What finding losses by time must know of round trips.
    pub(super) fn latency(&self) -> Latency {
        Latency { rtt_min: self.stats.rtt_min, srtt: self.trips.srtt() }
    }

    /// A new ACK during fast recovery. Whether the retransmission timer restarts.
    pub(super) fn ack_in_recovery(&mut self, now: Time, ack: u64, acked: u64, delivered_before: u64) -> bool {
        match self.repair.progress_in_recovery(ack, acked, self.mss) {
            OnProgress::Ends => self.end_recovery(now),
            OnProgress::Steer => self.steer(now, delivered_before, true),
            OnProgress::Hole { restart_timer } => {
                self.note_lost_head();
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
            self.control.on_validation(to.cwnd, to.ssthresh);
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

    /// Whether anything became lost.
    fn detect_losses(&mut self, now: Time) -> bool {
        let (latency, lost) = (self.latency(), lost(&mut self.rate, &mut self.control));
        let news = self.repair.detect(now, &mut self.board, &self.log, self.mss, latency, lost);
        self.note_losses();
        news
    }

    /// Outside fast recovery, with SACK: RFC 6675 §5 steps 1 and 2.
    pub(super) fn look_for_losses(&mut self, now: Time, delivered_before: u64) {
        let by_time = self.repair.rack.is_some();
        if !by_time && self.repair.phase() == Phase::Loss {
            // Everything below the recovery point is being sent again already.
            return;
        }
        self.detect_losses(now);
        if self.repair.is_open() && (self.board.has_lost() || (!by_time && self.repair.has_enough_duplicates())) {
            self.enter_recovery(now, delivered_before);
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Time, delivered_before: u64) {
        self.stats.fast_retransmits += 1;
        let (una, flight_size, is_tahoe) = (self.board.una(), self.flight_size(), self.repair.kind() == RecoveryKind::Tahoe);
        self.repair.begin(&self.board);
        self.trips.sent_again();
        if is_tahoe {
            // Fast retransmit, then slow start over all that is outstanding (Jacobson 1988; Fall and Floyd 1996 §2).
            self.respond(now, Congestion::Timeout, flight_size, false);
            self.start_over(now);
            self.repair.stands_for_timeout(una);
            self.arm_rto(now);
            return;
        }
        if self.repair.eases() {
            // One reduction a window of data, for marks and losses together (RFC 3168 §6.1.2). There is none to take back.
            self.repair.undo.forget();
        } else {
            self.respond(now, Congestion::Loss, flight_size, true);
        }
        let ssthresh = self.control.uses_prr().then(|| self.control.ssthresh());
        self.repair.enter(&mut self.board, self.mss, delivered_before, ssthresh);
        if self.repair.kind().is_selective() {
            self.steer(now, delivered_before, false);
        } else {
            self.note_lost_head();
        }
        self.arm_rto(now);
    }

    /// SACK recovery: what this ACK lets out.
    pub(super) fn steer(&mut self, now: Time, delivered_before: u64, advanced: bool) {
        let newly_lost = self.detect_losses(now);
        let delivered = (self.board.una() + self.board.sacked_bytes()).saturating_sub(delivered_before);
        self.repair.steer(delivered, self.board.pipe(), advanced && !newly_lost, || self.control.cwnd());
    }
}

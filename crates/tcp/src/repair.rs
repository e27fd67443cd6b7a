//! Repair: where the sender is in making up for losses, and what that lets it send.
//!
//! It finds losses by duplicate ACKs (RFC 5681, 6582), by SACKs (RFC 6675; FACK) or by time (RFC 8985): its [`Detection`]. The window is the
//! congestion control's business. Its other parts, each with a state of its own: [`Steering`], the tail loss probe ([`Tlp`]), [`Frto`]
//! and [`Undo`]. The sender tells it what was sent, acknowledged and timed out, and asks what to do; it knows none of the parts.

mod detection;
mod frto;
mod next;
mod spurious;
mod steering;
mod tlp;
mod undo;

pub(super) use frto::{Allowance, Frto};
pub(super) use next::{Lost, Speculation};
pub(super) use spurious::Reported;

use crate::congestion::Measured;
use crate::prr::Prr;
use crate::round_trips::RoundTrips;
use crate::scoreboard::Scoreboard;
use crate::sent_log::SentLog;
use crate::{RecoveryKind, TcpConfig};
use detection::{Detection, FastRetransmit};
use longfat_core::time::Time;
use std::num::NonZeroU64;
use steering::Steering;
use tlp::Tlp;
use undo::Undo;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery, until the recovery point is acknowledged.
    Recovery,
    /// After a timeout (or under Tahoe): everything outstanding is retransmitted, in slow start, until the recovery point is acknowledged.
    Loss,
}

/// Response to a duplicate ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnDuplicate {
    Nothing,
    /// Ask what a recovery with SACK lets out now.
    Steer,
    /// Look whether SACKs tell of losses.
    Look,
    /// Fast retransmit.
    Enter,
}

/// Effect on a fast recovery of an ACK that moves the left edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnProgress {
    Ends,
    Steer,
    /// The segment at the left edge is lost, and goes again.
    Hole {
        restart_timer: bool,
    },
}

#[derive(Debug)]
pub(super) struct Repair {
    detection: Detection,
    log: SentLog,
    threshold: u32,
    use_prr: bool,
    prr_on_marks: bool,
    whole_segments: bool,
    repeated_fast_retransmit: bool,
    halve_each_timeout: bool,
    limited_transmit: bool,
    phase: Phase,
    /// Fast recovery and Loss end when this is acknowledged (RFC 6582 and 6675: recover, RecoveryPoint).
    recover: u64,
    /// Left edge below which there is no fast retransmit without SACK (RFC 6582 §3.2 steps 2 and 4).
    no_fast_retransmit_below: u64,
    duplicates: u32,
    /// Reno's artificial window: segments that have left the network (RFC 5681 §3.2).
    inflation: i64,
    /// Steering of a recovery with SACK, or of a window that comes down until `recover` is acknowledged.
    steering: Steering,
    /// The first segment must be retransmitted whatever the window says.
    force: bool,
    /// RFC 6675 §4 rule 4: already rescued in this recovery.
    rescued: bool,
    partial_acks: u32,
    /// The left edge at the last timeout: the same again means no progress.
    timeout_una: Option<NonZeroU64>,
    tlp: Tlp,
    frto: Frto,
    undo: Undo,
}

impl Repair {
    pub(crate) fn new(config: &TcpConfig, kind: RecoveryKind) -> Self {
        Repair {
            detection: Detection::new(kind),
            log: SentLog::default(),
            threshold: config.repair.dupack_threshold,
            use_prr: config.repair.prr,
            prr_on_marks: config.repair.prr && config.repair.prr_on_marks,
            whole_segments: config.growth.whole_segments,
            repeated_fast_retransmit: config.repair.repeated_fast_retransmit,
            halve_each_timeout: config.timers.halve_each_timeout,
            limited_transmit: config.repair.limited_transmit,
            phase: Phase::Open,
            recover: 0,
            no_fast_retransmit_below: 0,
            duplicates: 0,
            inflation: 0,
            steering: Steering::NONE,
            force: false,
            rescued: false,
            partial_acks: 0,
            timeout_una: None,
            tlp: Tlp::new(config.repair.tail_probe),
            frto: Frto::new(config.repair.frto),
            undo: Undo::new(config.repair.undo, config.repair.frto),
        }
    }

    /// Losses are repaired like this; none has been.
    pub(crate) fn set_kind(&mut self, kind: RecoveryKind) {
        self.detection = Detection::new(kind);
    }

    /// SACKs are heeded.
    #[inline]
    pub(crate) fn is_selective(&self) -> bool {
        !matches!(self.detection, Detection::Duplicates(_))
    }

    /// A loss is answered by slow start over all that is outstanding (Jacobson 1988).
    pub(crate) fn is_tahoe(&self) -> bool {
        matches!(self.detection, Detection::Duplicates(FastRetransmit::Tahoe))
    }

    fn is_reno(&self) -> bool {
        matches!(self.detection, Detection::Duplicates(FastRetransmit::Reno))
    }

    /// Returns true if nothing is lost, SACKed, retransmitted or asked for by a timer, and no window is held down.
    #[inline]
    pub(crate) fn is_plain(&self, board: &Scoreboard) -> bool {
        self.is_open()
            && board.is_plain()
            && (self.duplicates == 0) & (self.inflation == 0) & !self.is_pressing() & !self.awaits_verdict() & !self.eases()
            && !self.watches_retransmissions()
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Returns the point up to which all must be acknowledged before the repair ends, or the point of the last repair.
    pub(crate) fn point(&self) -> u64 {
        self.recover
    }

    pub(crate) fn has_duplicates(&self) -> bool {
        self.duplicates > 0
    }

    /// The window to keep to, where the control's is `cwnd`.
    #[inline]
    pub(crate) fn window(&self, mss: u64, cwnd: impl FnOnce() -> u64) -> u64 {
        if self.eases() || self.phase == Phase::Recovery && self.is_selective() {
            self.steering.window(mss)
        } else {
            cwnd().saturating_add_signed(self.inflation).max(mss)
        }
    }

    /// Returns true if the segment that stands still is a duplicate ACK: RFC 6675 §2 counts ACKs that SACK something new (`sacked`
    /// bytes); RFC 5681 §2 those that carry nothing and change nothing.
    pub(crate) fn is_duplicate(&self, sacked: u64, is_bare: bool) -> bool {
        if self.is_selective() { sacked > 0 } else { is_bare }
    }

    /// An ACK that moved nothing but says that a segment has left the network.
    pub(crate) fn duplicate_ack(&mut self, una: u64, mss: u64) -> OnDuplicate {
        self.duplicates += 1;
        match (self.phase, self.is_selective()) {
            (Phase::Recovery, true) => OnDuplicate::Steer,
            // RFC 5681 §3.2 step 4: one more segment has left.
            (Phase::Recovery, false) => {
                self.inflation += mss as i64;
                OnDuplicate::Nothing
            }
            (_, true) => OnDuplicate::Look,
            (_, false) => {
                // RFC 6582 §3.2 step 2: not again for losses of the window already repaired. Reno had no such guard, nor Tahoe as BSD
                // had it.
                let guarded = !self.is_reno() && !self.repeated_fast_retransmit;
                let enters = self.duplicates == self.threshold && !(guarded && una < self.no_fast_retransmit_below);
                if enters { OnDuplicate::Enter } else { OnDuplicate::Nothing }
            }
        }
    }

    /// The left edge moves.
    #[inline]
    pub(crate) fn progress(&mut self) {
        self.duplicates = 0;
        self.timeout_una = None;
    }

    /// Marks, or the host's own queue, ask for a window of `cwnd`, and nothing is lost: it comes down by PRR until all of `board` is
    /// acknowledged (Linux's state CWR: the change "use PRR to reduce cwin in CWR state", 2012). `flight`: what was in flight.
    pub(crate) fn ease(&mut self, board: &Scoreboard, flight: u64, cwnd: u64, mss: u64) {
        if self.prr_on_marks {
            self.steering.ease(Prr::new(flight, cwnd, mss, self.whole_segments), board.pipe());
            self.recover = board.max();
        }
    }

    /// Returns true if the window is coming down, with nothing lost.
    #[inline]
    pub(crate) fn eases(&self) -> bool {
        self.steering.eases()
    }

    /// Returns true if the window is still coming down with all below `una` acknowledged. That ends where something is acknowledged that
    /// was sent since it began: it carried CWR (RFC 3168 §6.1.2; Linux's state CWR ends there, measured: docs/stacks/linux.md).
    pub(crate) fn still_eases(&mut self, una: u64) -> bool {
        if una > self.recover {
            self.steering.stop();
        }
        self.eases()
    }

    /// Takes in that the left edge moves to `ack` while what a timeout lost is retransmitted.
    pub(crate) fn progress_in_loss(&mut self, ack: u64) {
        if ack >= self.recover {
            self.phase = Phase::Open;
            self.detection.recovered();
        }
    }

    /// Takes in that the left edge moves to `ack`, by `acked` bytes, during a fast recovery.
    pub(crate) fn progress_in_recovery(&mut self, ack: u64, acked: u64, mss: u64) -> OnProgress {
        if ack >= self.recover || self.is_reno() {
            return OnProgress::Ends;
        }
        if self.is_selective() {
            return OnProgress::Steer;
        }
        // RFC 6582 §3.2 step 3, partial ACK: retransmit the next hole, deflate by what was acknowledged, add back one
        // segment; the timer restarts on the first partial ACK only.
        self.force = true;
        self.inflation -= acked as i64;
        if acked >= mss {
            self.inflation += mss as i64;
        }
        self.partial_acks += 1;
        OnProgress::Hole { restart_timer: self.partial_acks == 1 }
    }

    /// Fast recovery is whole: back to the control's own window, ssthresh (RFC 6582 §3.2 step 3, full ACK, option 2; RFC 9937 §6.3).
    pub(crate) fn end(&mut self, board: &Scoreboard) {
        // Data that still counts as lost here, without SACK, is the rest of a timeout's go-back-N that Reno's fast retransmit
        // interrupted: it goes on where it was.
        self.phase = if !self.is_selective() && board.has_lost() { Phase::Loss } else { Phase::Open };
        self.inflation = 0;
        self.steering.stop();
        self.force = false;
        self.detection.recovered();
    }

    /// Something is lost, and the window will be reduced: from now on that is watched.
    pub(crate) fn begin(&mut self, board: &Scoreboard) {
        self.recover = board.max();
        // RFC 6582 §3.2 step 2 asks for an ACK of *more*, here as after a timeout. But a repair that fills the holes one by one makes
        // hardly a duplicate: three ACKs of the very end tell of a loss behind it, and waiting for one more byte is waiting for the
        // timer. (§4 lets a sender take them for one by heuristics.)
        self.no_fast_retransmit_below = board.max();
        self.tlp.reset();
        self.frto.stop();
        self.undo.watch(false, board.una(), board.retransmitted_until() > board.una());
    }

    /// Fast recovery begins; before this ACK `delivered_before` of the stream had been delivered. `ssthresh`: what it leads to, for
    /// a control that leaves that to PRR.
    pub(crate) fn enter(&mut self, board: &mut Scoreboard, mss: u64, delivered_before: u64, ssthresh: Option<u64>) {
        self.phase = Phase::Recovery;
        self.partial_acks = 0;
        if !self.is_selective() {
            self.steering.stop();
            // RFC 5681 §3.2 step 3: the duplicate ACKs tell of segments that have left.
            self.inflation = i64::from(self.threshold) * mss as i64;
            self.force = true;
            return;
        }
        if matches!(self.detection, Detection::Sack | Detection::Fack) {
            board.mark_lost_until(board.una() + mss);
        }
        self.rescued = false;
        // Nothing forces a retransmission that is still on its way from the recovery before.
        self.force = board.has_lost() && (self.detection.is_by_time() || board.retransmitted_until() == board.una());
        // A reduction that had begun goes on (the same change of Linux).
        self.steering.recover(|| {
            let ssthresh = ssthresh.filter(|_| self.use_prr)?;
            // RFC 9937 §6.1: what was outstanding, without what was SACKed before this ACK.
            let delivered = board.una() + board.sacked_bytes() - delivered_before;
            let flight = board.outstanding() - board.sacked_bytes() + delivered;
            // In bytes: whole segments would lose one more at the full queue, and the kernel does not (docs/stacks/linux.md).
            Some(Prr::new(flight, ssthresh, mss, false))
        });
    }

    /// A recovery with SACK, or a window that comes down: `delivered` more bytes have arrived, `pipe` are in flight. `safe`: the left edge moved, and no loss
    /// showed.
    pub(crate) fn steer(&mut self, delivered: u64, pipe: u64, safe: bool, cwnd: impl FnOnce() -> u64) {
        self.steering.on_ack(delivered, pipe, safe, cwnd);
    }

    /// A timeout, with everything below `una` acknowledged. Whether it is one more for the same segment: RFC 5681 §3.1 leaves
    /// ssthresh as it is then.
    pub(crate) fn times_out_again(&mut self, una: u64) -> bool {
        let before = std::mem::replace(&mut self.timeout_una, NonZeroU64::new(una));
        before == self.timeout_una && !self.halve_each_timeout
    }

    /// Notes that Tahoe's response stands for a timeout: one of the same segment after it is the second.
    pub(crate) fn stands_for_timeout(&mut self, una: u64) {
        self.timeout_una = NonZeroU64::new(una);
    }

    /// The retransmission timer went off, as the first sign of a loss or while one is repaired. A timeout of the same segment `again` leaves what
    /// is watched.
    pub(crate) fn timed_out(
        &mut self,
        now: Time,
        again: bool,
        board: &mut Scoreboard,
        mss: u64,
        trips: &RoundTrips,
        control: &mut Measured,
    ) {
        // RFC 5682 §3.1 (and §2.1 step 1 for timeouts): not where a repair is under way, whose own retransmission may have been lost while
        // new data went out behind it. (Step 1 would begin F-RTO anew for a timeout repeated; we do not.)
        let first = self.is_open();
        if !again {
            self.undo.watch(true, board.una(), false);
        }
        self.start_over(now, board, mss, trips, control);
        self.frto.begin(first);
    }

    /// Everything outstanding is to be retransmitted, the first of it at once. None of it counts as retransmitted.
    ///
    /// RFC 2018 §8 would forget the SACKs after a timeout, since the receiver may have reneged; RFC 6675 §5.1 lets a sender keep
    /// them if it looks out for that. We keep them: a receiver that reneged shows it when the left edge meets a SACKed byte, and
    /// the timeout that follows forgets them.
    pub(crate) fn start_over(&mut self, now: Time, board: &mut Scoreboard, mss: u64, trips: &RoundTrips, control: &mut Measured) {
        if !self.detection.is_by_time() {
            control.all_lost(board);
        }
        let reneged = board.reneged();
        if reneged {
            board.forget_sacks();
        }
        if reneged || !self.detection.is_by_time() {
            self.lose_all(board, control);
        } else {
            self.lose_overdue(now, board, mss, trips, control);
        }
        self.send_again(board.max());
        // RFC 6582 §3.2 steps 2 and 4, and §4: going back over what the receiver may have brings duplicate ACKs of the very end of it,
        // so the ACK must cover *more* than what was sent.
        self.no_fast_retransmit_below = self.recover + 1;
        self.inflation = 0;
        self.steering.stop();
        // RFC 6298 §5.4: the first goes again, whatever else may still be in flight.
        self.force = self.detection.is_by_time();
        self.tlp.reset();
        self.duplicates = 0;
        if !self.detection.is_by_time() {
            self.log.sent_again(board.max());
        }
    }

    /// A window that was closed is open: whatever the probes did not get through is retransmitted, which says nothing of the last
    /// reduction.
    pub(crate) fn window_opened(&mut self, board: &mut Scoreboard, control: &mut Measured) {
        self.lose_all(board, control);
        self.undo.forget();
        self.send_again(board.max());
    }

    /// Everything outstanding, up to `max`, is to be retransmitted.
    fn send_again(&mut self, max: u64) {
        self.phase = Phase::Loss;
        self.recover = max;
    }

    /// The window was reduced for something else than a loss that may turn out to be none: that is not to be taken back.
    pub(crate) fn keep_reduction(&mut self) {
        self.undo.forget();
    }

    /// An ACK may say what became of a reduction, or of a tail loss probe.
    #[inline]
    pub(crate) fn awaits_verdict(&self) -> bool {
        self.undo.is_watching() || self.frto.is_running() || self.tlp.end().is_some()
    }

    /// Restores the state before a loss that was spurious (RFC 4015). Returns true if it was a spurious timeout.
    pub(crate) fn take_back(&mut self, board: &mut Scoreboard) -> bool {
        let timeout = self.frto.is_running() || self.undo.is_of_timeout();
        if self.phase != Phase::Open {
            board.forget_losses();
            self.detection.judge_again();
            self.phase = Phase::Open;
            self.steering.stop();
            self.inflation = 0;
            self.force = false;
            self.duplicates = 0;
        }
        if self.frto.is_running() {
            // RFC 5682 §2.1 step 3b: recover = SND.UNA. Only the first segment went again, so duplicates of the rest tell of a loss.
            self.no_fast_retransmit_below = board.una();
        }
        self.frto.stop();
        self.undo.forget();
        self.timeout_una = None;
        timeout
    }
}

#[cfg(test)]
mod tests;

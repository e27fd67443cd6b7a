//! Repair: where the sender is in making up for losses, and what that lets it send.
//!
//! It decides by duplicate ACKs (RFC 5681, 6582), by SACKs (RFC 6675) or by time (RFC 8985), whichever it is told; the window is the
//! congestion control's business. Its parts, each with a state of its own: [`Steering`], [`Rack`], the tail loss probe ([`Tlp`]),
//! [`Frto`] and [`Undo`].

mod detection;
mod frto;
mod next;
mod steering;
mod tlp;
mod undo;

pub(super) use detection::Latency;
pub(super) use frto::{Allowance, Finding, Frto, Told};
pub(super) use next::{Lost, Speculation};
pub(super) use tlp::Tlp;

use crate::prr::Prr;
use crate::rack::Rack;
use crate::scoreboard::Scoreboard;
use crate::{RecoveryKind, TcpConfig};
use std::num::NonZeroU64;
use steering::Steering;
use undo::Undo;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery, until the recovery point is acknowledged.
    Recovery,
    /// After a timeout (or under Tahoe): everything outstanding is sent again, in slow start, until the recovery point is acknowledged.
    Loss,
}

/// What a duplicate ACK asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnDuplicate {
    Nothing,
    /// To say what a recovery with SACK lets out now.
    Steer,
    /// To see whether SACKs tell of losses.
    Look,
    /// Fast retransmit.
    Enter,
}

/// What an ACK that moves the left edge does to a fast recovery.
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
    kind: RecoveryKind,
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
    /// Without SACK: no fast retransmit while the left edge is below this (RFC 6582 §3.2 steps 2 and 4).
    no_fast_retransmit_below: u64,
    duplicates: u32,
    /// Reno's artificial window: segments that have left the network (RFC 5681 §3.2).
    inflation: i64,
    /// Of a recovery with SACK, or of a window that comes down until `recover` is acknowledged.
    steering: Steering,
    /// The first segment must be retransmitted whatever the window says.
    force: bool,
    /// RFC 6675 §4 rule 4: already rescued in this recovery.
    rescued: bool,
    partial_acks: u32,
    /// The left edge at the last timeout: the same again means no progress.
    timeout_una: Option<NonZeroU64>,
    /// Where time finds losses.
    pub rack: Option<Box<Rack>>,
    pub tlp: Tlp,
    pub frto: Frto,
    pub undo: Undo,
}

impl Repair {
    pub fn new(config: &TcpConfig, kind: RecoveryKind) -> Self {
        Repair {
            kind,
            threshold: config.dupack_threshold,
            use_prr: config.prr,
            prr_on_marks: config.prr && config.prr_on_marks,
            whole_segments: config.whole_segments,
            repeated_fast_retransmit: config.repeated_fast_retransmit,
            halve_each_timeout: config.halve_each_timeout,
            limited_transmit: config.limited_transmit,
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
            rack: rack(kind),
            tlp: Tlp::new(config.tail_probe),
            frto: Frto::new(config.frto),
            undo: Undo::new(config.undo, config.frto),
        }
    }

    /// Losses are repaired like this; none has been.
    pub fn set_kind(&mut self, kind: RecoveryKind) {
        (self.kind, self.rack) = (kind, rack(kind));
    }

    #[inline]
    pub fn kind(&self) -> RecoveryKind {
        self.kind
    }

    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// What must be acknowledged before it ends, or when last it ended.
    pub fn point(&self) -> u64 {
        self.recover
    }

    /// How many duplicate ACKs, or segments SACKed, tell of a loss.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    pub fn has_duplicates(&self) -> bool {
        self.duplicates > 0
    }

    /// The window to keep to, where the control's is `cwnd`.
    #[inline]
    pub fn window(&self, mss: u64, cwnd: impl FnOnce() -> u64) -> u64 {
        if self.eases() || self.phase == Phase::Recovery && self.kind.is_selective() {
            self.steering.window(mss)
        } else {
            cwnd().saturating_add_signed(self.inflation).max(mss)
        }
    }

    /// Whether the segment that stands still is a duplicate ACK: RFC 6675 §2 counts ACKs that SACK something new (`sacked` bytes);
    /// RFC 5681 §2 those that carry nothing and change nothing.
    pub fn is_duplicate(&self, sacked: u64, is_bare: bool) -> bool {
        if self.kind.is_selective() { sacked > 0 } else { is_bare }
    }

    /// An ACK that moved nothing but says that a segment has left the network.
    pub fn duplicate_ack(&mut self, una: u64, mss: u64) -> OnDuplicate {
        self.duplicates += 1;
        match (self.phase, self.kind.is_selective()) {
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
                let guarded = self.kind != RecoveryKind::Reno && !self.repeated_fast_retransmit;
                let enters = self.duplicates == self.threshold && !(guarded && una < self.no_fast_retransmit_below);
                if enters { OnDuplicate::Enter } else { OnDuplicate::Nothing }
            }
        }
    }

    /// Whether as many duplicate ACKs have come as tell of a loss.
    pub fn has_enough_duplicates(&self) -> bool {
        self.duplicates >= self.threshold
    }

    /// The left edge moves.
    #[inline]
    pub fn progress(&mut self) {
        self.duplicates = 0;
        self.timeout_una = None;
    }

    /// Marks, or the host's own queue, ask for a window of `cwnd`, and nothing is lost: it comes down by PRR until all of `board` is
    /// acknowledged (Linux's state CWR: the change "use PRR to reduce cwin in CWR state", 2012). `flight`: what was in flight.
    pub fn ease(&mut self, board: &Scoreboard, flight: u64, cwnd: u64, mss: u64) {
        if self.prr_on_marks {
            self.steering.ease(Prr::new(flight, cwnd, mss, self.whole_segments), board.pipe());
            self.recover = board.max();
        }
    }

    /// Whether the window is coming down, with nothing lost.
    #[inline]
    pub fn eases(&self) -> bool {
        self.steering.eases()
    }

    /// With all below `una` acknowledged: whether it still is. It ends where something is acknowledged that was sent since it began: that
    /// carried CWR (RFC 3168 §6.1.2; Linux's state CWR ends there, measured: docs/stacks/linux.md).
    pub fn still_eases(&mut self, una: u64) -> bool {
        if una > self.recover {
            self.steering.stop();
        }
        self.eases()
    }

    /// It moves to `ack` while what a timeout lost is sent again.
    pub fn progress_in_loss(&mut self, ack: u64) {
        if ack >= self.recover {
            self.phase = Phase::Open;
            self.note_recovered();
        }
    }

    /// It moves to `ack`, by `acked` bytes, during a fast recovery.
    pub fn progress_in_recovery(&mut self, ack: u64, acked: u64, mss: u64) -> OnProgress {
        if ack >= self.recover || self.kind == RecoveryKind::Reno {
            return OnProgress::Ends;
        }
        if self.kind.is_selective() {
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
    pub fn end(&mut self, board: &Scoreboard) {
        // Without SACK, what still counts as lost here is the rest of a timeout's go-back-N that Reno's fast retransmit
        // interrupted: it goes on where it was.
        self.phase = if !self.kind.is_selective() && board.has_lost() { Phase::Loss } else { Phase::Open };
        self.inflation = 0;
        self.steering.stop();
        self.force = false;
        self.note_recovered();
    }

    fn note_recovered(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.recovered();
        }
    }

    /// Something is lost, and the window will be reduced: from now on that is watched.
    pub fn begin(&mut self, board: &Scoreboard) {
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
    pub fn enter(&mut self, board: &mut Scoreboard, mss: u64, delivered_before: u64, ssthresh: Option<u64>) {
        self.phase = Phase::Recovery;
        self.partial_acks = 0;
        if !self.kind.is_selective() {
            self.steering.stop();
            // RFC 5681 §3.2 step 3: the duplicate ACKs tell of segments that have left.
            self.inflation = i64::from(self.threshold) * mss as i64;
            self.force = true;
            return;
        }
        if self.kind == RecoveryKind::Sack {
            board.mark_lost_until(board.una() + mss);
        }
        self.rescued = false;
        // Nothing forces a retransmission that is still on its way from the recovery before.
        self.force = board.has_lost() && (self.kind == RecoveryKind::Rack || board.retransmitted_until() == board.una());
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
    pub fn steer(&mut self, delivered: u64, pipe: u64, safe: bool, cwnd: impl FnOnce() -> u64) {
        self.steering.on_ack(delivered, pipe, safe, cwnd);
    }

    /// A timeout, with everything below `una` acknowledged. Whether it is one more for the same segment: RFC 5681 §3.1 leaves
    /// ssthresh as it is then.
    pub fn times_out_again(&mut self, una: u64) -> bool {
        let before = std::mem::replace(&mut self.timeout_una, NonZeroU64::new(una));
        before == self.timeout_una && !self.halve_each_timeout
    }

    /// What Tahoe does stands for a timeout: one of the same segment after it is the second.
    pub fn stands_for_timeout(&mut self, una: u64) {
        self.timeout_una = NonZeroU64::new(una);
    }

    /// Everything outstanding, up to `max`, is to be sent again, the first of it at once.
    pub fn start_over(&mut self, max: u64) {
        self.send_again(max);
        // RFC 6582 §3.2 steps 2 and 4, and §4: going back over what the receiver may have brings duplicate ACKs of the very end of it,
        // so the ACK must cover *more* than what was sent.
        self.no_fast_retransmit_below = self.recover + 1;
        self.inflation = 0;
        self.steering.stop();
        // RFC 6298 §5.4: the first goes again, whatever else may still be in flight.
        self.force = self.rack.is_some();
        self.tlp.reset();
        self.duplicates = 0;
    }

    /// Everything outstanding, up to `max`, is to be sent again.
    pub fn send_again(&mut self, max: u64) {
        self.phase = Phase::Loss;
        self.recover = max;
    }

    /// F-RTO says that something was lost: without SACK, there is room for one more than the two new ones (RFC 5682 §2.1), so that
    /// the repair goes on.
    pub fn goes_on_after_frto(&mut self) {
        self.force = !self.kind.is_selective();
    }

    /// What looked lost was not (RFC 4015): the state before it. Whether a timeout was for nothing.
    pub fn take_back(&mut self, board: &mut Scoreboard) -> bool {
        let timeout = self.frto.is_running() || self.undo.is_of_timeout();
        if self.phase != Phase::Open {
            board.forget_losses();
            if let Some(rack) = &mut self.rack {
                rack.judge_again();
            }
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

fn rack(kind: RecoveryKind) -> Option<Box<Rack>> {
    (kind == RecoveryKind::Rack).then(Box::default)
}

#[cfg(test)]
mod tests;

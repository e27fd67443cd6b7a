//! Was that loss one? F-RTO (RFC 5682), Eifel detection (RFC 3522) and DSACKs (RFC 3708) tell; then the reduction is taken back, and
//! what is on its way is not sent again (RFC 4015).

use crate::sender::{Limit, Phase, Range, Sender};
use crate::seq::{timestamp_before, unwrap};
use crate::stall::Room;
use longfat_core::packet::Segment;
use longfat_core::time::Time;

/// Where F-RTO is after a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forward {
    /// RFC 5682 §2.1 and §3.1, step 2: the first segment was sent again, up to `end` (0: not yet); its ACK is awaited.
    First { end: u64 },
    /// Step 3: so many new segments may go; the next ACK decides.
    Second { allowed: u8 },
}

/// The last reduction, as long as it can be taken back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    timeout: bool,
    /// What was outstanding.
    from: u64,
    until: u64,
    /// RetransmitTS: TSval of the first retransmission (RFC 3522 §3.2 step 2).
    stamp: Option<u32>,
    /// The first ACK that moved the left edge has come.
    answered: bool,
    /// Bytes sent again, and of them those not reported as duplicates.
    again: u64,
    unreported: u64,
}

impl Undo {
    /// `len` bytes are sent again, with this TSval.
    pub fn sent(&mut self, len: u64, stamp: Option<u32>) {
        if self.again == 0 {
            self.stamp = stamp;
        }
        self.again += len;
        self.unreported += len;
    }
}

impl Sender {
    /// A reduction for a loss begins: from now on it is watched.
    pub(super) fn watch(&mut self, timeout: bool) {
        self.forward = None;
        let (from, until) = (self.board.una(), self.board.max());
        self.undo = self.use_undo.then(|| Box::new(Undo { timeout, from, until, stamp: None, answered: false, again: 0, unreported: 0 }));
    }

    /// The range that this ACK says has arrived twice (RFC 2883 §4): below the left edge, or inside the second block.
    pub(super) fn duplicate_told(&self, segment: &Segment, ack: u64) -> Option<(u64, u64)> {
        let block = |i| {
            let (left, right) = segment.sack(i);
            (unwrap(self.iss, ack, left), unwrap(self.iss, ack, right))
        };
        let (left, right) = block(0);
        let inside = |outer: (u64, u64)| outer.0 <= left && right <= outer.1;
        (left < right && (right <= ack || (segment.sack_count() > 1 && inside(block(1))))).then_some((left, right))
    }

    /// What this ACK (before it is taken in, but for its SACK blocks) says of the last reduction. `sacked`: bytes newly SACKed.
    /// `marked`: it tells of ECN marks.
    pub(super) fn judge_reduction(
        &mut self,
        now: Time,
        segment: &Segment,
        ack: u64,
        sacked: u64,
        duplicate: Option<(u64, u64)>,
        marked: bool,
    ) {
        let moves = ack > self.board.una();
        let spurious = self.frto_says_spurious(ack, moves, sacked)
            | self.eifel_says_spurious(segment, moves)
            | duplicate.is_some_and(|range| self.dsack_says_spurious(range));
        // RFC 4015 §3, step 8: not where the network asks for a reduction.
        if spurious && !marked {
            self.take_back(now, segment);
        }
    }

    /// RFC 5682: the basic algorithm (§2.1), or with SACK the enhanced one (§3.1).
    fn frto_says_spurious(&mut self, ack: u64, moves: bool, sacked: u64) -> bool {
        let selective = self.kind.is_selective();
        match self.forward {
            Some(Forward::First { end }) if moves => {
                // Step 2a: all of it is there, or not even what was sent again.
                let goes_on = end > 0 && ack >= end && ack < self.recover;
                // Step 2b.
                self.forward = goes_on.then_some(Forward::Second { allowed: 2 });
            }
            // Step 2a of §2.1; §3.1 takes in the SACKs and waits.
            Some(Forward::First { .. }) if !selective => self.forward = None,
            Some(Forward::Second { .. }) => {
                let beyond = selective && self.board.highest_sacked().unwrap_or(0).max(ack) > self.recover;
                // Step 3a: it was a loss. Step 3b: this was sent before the timeout. (Neither: an ACK that says nothing new.)
                if beyond || (!selective && !moves) {
                    self.forward = None;
                    // §2.1: room for one more than the two new ones, so that the repair goes on.
                    self.force = !selective;
                } else {
                    return moves || sacked > 0;
                }
            }
            _ => {}
        }
        false
    }

    /// RFC 3522 §3.2: the first new ACK after a retransmission echoes a time before it.
    fn eifel_says_spurious(&mut self, segment: &Segment, moves: bool) -> bool {
        let Some(undo) = self.undo.as_mut().filter(|undo| moves && !undo.answered && undo.again > 0) else { return false };
        undo.answered = true;
        match (segment.timestamps(), undo.stamp) {
            (Some((_, ecr)), Some(stamp)) => timestamp_before(ecr, stamp),
            _ => false,
        }
    }

    /// RFC 3708 §3: every byte that was sent again had arrived before.
    fn dsack_says_spurious(&mut self, (left, right): (u64, u64)) -> bool {
        let waiting = self.phase == Phase::Recovery && self.board.has_lost();
        let Some(undo) = self.undo.as_mut().filter(|undo| undo.from <= left && right <= undo.until) else { return false };
        undo.unreported = undo.unreported.saturating_sub(right - left);
        undo.again > 0 && undo.unreported == 0 && !waiting
    }

    /// The reduction was for nothing: window and state as before it.
    fn take_back(&mut self, now: Time, segment: &Segment) {
        let timeout = self.forward.is_some() || self.undo.as_ref().is_some_and(|undo| undo.timeout);
        self.stats.spurious_recoveries += 1;
        self.control.on_spurious();
        if self.phase != Phase::Open {
            self.board.forget_losses();
            if let Some(rack) = &mut self.rack {
                rack.judge_again();
            }
            self.phase = Phase::Open;
            self.prr = None;
            self.inflation = 0;
            self.force = false;
            self.duplicates = 0;
        }
        (self.forward, self.undo, self.timeout_una) = (None, None, None);
        if timeout && let (Some((_, ecr)), Some(clock)) = (segment.timestamps(), self.timestamp_clock) {
            // RFC 4015 §3, step 9: such a delay can come again.
            let ticks = (clock.ticks(now) as u32).wrapping_sub(ecr);
            if ticks < 1 << 31 {
                self.rtt.after_spike(clock.span(u64::from(ticks)));
                self.sampled_until = self.board.max();
            }
        }
    }

    /// RFC 5682 step 2b: up to two new segments; where there are none to send, what was lost goes again as ever.
    pub(crate) fn next_forward(&mut self, now: Time, allowed: u8) -> Option<Range> {
        if allowed == 0 {
            self.limit = Limit::Cwnd;
            return None;
        }
        let range = self.next_new(now, 0, u64::MAX);
        if range.is_none() && self.room == Room::Refused {
            return None;
        }
        self.forward = if range.is_some() { Some(Forward::Second { allowed: allowed - 1 }) } else { None };
        range.or_else(|| self.next(now))
    }
}

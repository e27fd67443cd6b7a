//! Losses are found by duplicate ACKs (RFC 5681, 6582), by SACKs (RFC 6675 §4, IsLost; FACK) or by time (RFC 8985 §6). The same records tell when
//! a segment that arrives had been sent.

use super::{Phase, Repair};
use crate::RecoveryKind;
use crate::congestion::Measured;
use crate::rack::Rack;
use crate::round_trips::RoundTrips;
use crate::scoreboard::Scoreboard;
use longfat_core::packet::Segment;
use longfat_core::time::{Duration, Time};

/// Methods by which losses are found.
#[derive(Debug)]
pub(super) enum Detection {
    /// Duplicate ACKs, without SACK.
    Duplicates(FastRetransmit),
    /// SACKs.
    Sack,
    /// The highest SACK: what is below it has left the network.
    Fack,
    /// SACKs and time.
    Rack(Box<Rack>),
}

/// The answer to the third duplicate ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FastRetransmit {
    Tahoe,
    Reno,
    NewReno,
}

impl Detection {
    pub(super) fn new(kind: RecoveryKind) -> Self {
        match kind {
            RecoveryKind::Tahoe => Detection::Duplicates(FastRetransmit::Tahoe),
            RecoveryKind::Reno => Detection::Duplicates(FastRetransmit::Reno),
            RecoveryKind::NewReno => Detection::Duplicates(FastRetransmit::NewReno),
            RecoveryKind::Sack => Detection::Sack,
            RecoveryKind::Fack => Detection::Fack,
            RecoveryKind::Rack => Detection::Rack(Box::default()),
        }
    }

    #[inline]
    pub(super) fn is_by_time(&self) -> bool {
        matches!(self, Detection::Rack(_))
    }

    #[inline]
    fn rack(&self) -> Option<&Rack> {
        if let Detection::Rack(rack) = self { Some(rack) } else { None }
    }

    #[inline]
    pub(super) fn rack_mut(&mut self) -> Option<&mut Rack> {
        if let Detection::Rack(rack) = self { Some(rack) } else { None }
    }

    /// A recovery ends.
    pub(super) fn recovered(&mut self) {
        if let Some(rack) = self.rack_mut() {
            rack.recovered();
        }
    }

    /// Nothing is lost after all.
    pub(super) fn judge_again(&mut self) {
        if let Some(rack) = self.rack_mut() {
            rack.judge_again();
        }
    }
}

/// A SACK block: how many bytes newly arrived, and how many of them were sent once, where F-RTO wants to know.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sacked {
    pub bytes: u64,
    pub originals: u64,
}

impl Repair {
    /// An ACK comes, `late` if it was overtaken by another: its SACK blocks, and then what it acknowledges, follow.
    #[inline]
    pub(crate) fn ack_begins(&mut self, late: bool) {
        if let Some(rack) = self.detection.rack_mut() {
            rack.begin(late);
        }
    }

    /// A SACK block of it, `left..right`.
    pub(crate) fn sacked(
        &mut self,
        now: Time,
        (left, right): (u64, u64),
        board: &mut Scoreboard,
        trips: &RoundTrips,
        control: &mut Measured,
    ) -> Sacked {
        let Repair { detection, log, undo, frto, .. } = self;
        let answer = trips.answer(now, None);
        let mut originals = 0;
        let bytes = board.sack(left, right, |start, end| {
            control.arrived(now, start, end);
            if frto.is_running() {
                originals += undo.sent_once(start, end);
            }
            if let Some(rack) = detection.rack_mut() {
                rack.arrived(now, start, end, log, answer);
            }
        });
        Sacked { bytes, originals }
    }

    /// Returns when the newest segment left that the blocks newly told of, if it was sent once. The segment ends at `top`.
    pub(crate) fn newest_sacked(&mut self, top: u64) -> Option<Time> {
        let span = match &self.detection {
            Detection::Rack(rack) => rack.span,
            _ => self.log.arrived(top).filter(|_| self.log.is_clear(top - 1)),
        };
        span.map(|(_, last)| last)
    }

    /// Takes in that the left edge moves to `ack`. Returns when the first and the last left of what was sent once and is new.
    #[inline]
    pub(crate) fn acknowledged(
        &mut self,
        now: Time,
        segment: &Segment,
        ack: u64,
        board: &Scoreboard,
        trips: &RoundTrips,
    ) -> Option<(Time, Time)> {
        let Detection::Rack(rack) = &mut self.detection else {
            let clear = self.log.is_clear(board.una());
            return self.log.arrived(ack).filter(|_| clear);
        };
        if !board.has_sacked() && rack.retransmissions.is_empty() {
            let span = self.log.arrived(ack)?;
            rack.arrived_in_order(now, ack, span.1);
            return Some(span);
        }
        let answer = trips.answer(now, Some(segment));
        rack.span = None;
        board.holes(board.una(), ack).for_each(|(start, end)| rack.arrived(now, start, end, &self.log, answer));
        self.log.arrived(ack);
        rack.span
    }

    /// It reports that `range` arrived twice (RFC 8985 §6.2 step 4), when everything below `max` has been sent. A tail loss probe that was for
    /// nothing says so, too: that is no reordering.
    pub(crate) fn duplicate_reported(&mut self, range: (u64, u64), max: u64) {
        debug_assert!(range.0 < range.1);
        if Some(range.1) != self.tlp.end()
            && let Some(rack) = self.detection.rack_mut()
        {
            rack.duplicate_reported(max);
        }
    }

    /// Retransmissions are on their way that detection looks after.
    #[inline]
    pub(crate) fn watches_retransmissions(&self) -> bool {
        self.detection.rack().is_some_and(|rack| !rack.retransmissions.is_empty())
    }

    /// Everything outstanding was sent after all that has arrived.
    #[inline]
    pub(crate) fn nothing_waits(&mut self) {
        if let Some(rack) = self.detection.rack_mut() {
            rack.nothing_waits();
        }
    }

    /// The timer is set for more than retransmission timeouts: reordering, and the tail loss probe.
    #[inline]
    pub(crate) fn has_timers(&self) -> bool {
        self.detection.is_by_time()
    }

    /// Returns the time at which something will be lost unless it arrives before.
    #[inline]
    pub(crate) fn reordering_due(&self) -> Option<Time> {
        self.detection.rack().and_then(|rack| rack.wake)
    }

    /// The retransmission timer begins anew with each retransmission of a repair. RACK finds lost retransmissions by itself, for as long
    /// as anything comes back: with it the timer is the more careful one of RFC 6675 §6.
    #[inline]
    pub(crate) fn restarts_timer(&self) -> bool {
        self.detection.is_by_time()
    }

    /// Losses are looked for. Without RACK they are not while a timeout's are repaired: everything below the recovery point goes again already.
    pub(crate) fn looks_for_losses(&self) -> bool {
        self.detection.is_by_time() || self.phase != Phase::Loss
    }

    /// A fast recovery is to begin: with SACK, RFC 6675 §5 steps 1 and 2.
    pub(crate) fn must_recover(&self, board: &Scoreboard) -> bool {
        self.is_open() && (board.has_lost() || (!self.detection.is_by_time() && self.duplicates >= self.threshold))
    }

    /// RFC 8985 §6.2 step 4.
    fn reordering_window(&mut self, board: &Scoreboard, mss: u64, trips: &RoundTrips) -> Duration {
        let at_once = self.phase != Phase::Open || board.has_sacked_enough(self.threshold, mss);
        let rack = self.detection.rack_mut();
        rack.map_or(Duration::ZERO, |rack| rack.reordering_window(board.una(), trips.least(), trips.srtt(), at_once))
    }

    /// RFC 6675's IsLost, FACK's, or with RACK RFC 8985 §6.2 step 5. Whether anything became lost, which `control` is told of.
    pub(crate) fn detect(&mut self, now: Time, board: &mut Scoreboard, mss: u64, trips: &RoundTrips, control: &mut Measured) -> bool {
        if self.detection.is_by_time() {
            let window = self.reordering_window(board, mss, trips);
            let (rack, log) = (self.detection.rack_mut(), &self.log);
            return rack.is_some_and(|rack| rack.detect(now, window, board, log, |start, end| control.lost(start, end)));
        }
        let news = match self.detection {
            Detection::Fack => self.detect_forward(board, mss),
            _ => board.update_lost(self.threshold, mss),
        };
        control.lost_below(board);
        news
    }

    /// Mathis and Mahdavi 1996: a recovery begins where the highest SACK is more than three segments above the left edge, or at the third
    /// duplicate ACK. Then all below it that is not SACKed has left the network (their `awnd` counts none of it), and goes again.
    fn detect_forward(&self, board: &mut Scoreboard, mss: u64) -> bool {
        let Some(fack) = board.highest_sacked() else { return false };
        let far = fack - board.una() > u64::from(self.threshold) * mss;
        (self.phase == Phase::Recovery || far || self.duplicates >= self.threshold) && board.mark_lost_until(fack)
    }

    /// RFC 8985 §6.3: the retransmission timer went off. Only what has been out for long enough is lost.
    pub(super) fn lose_overdue(&mut self, now: Time, board: &mut Scoreboard, mss: u64, trips: &RoundTrips, control: &mut Measured) {
        let window = self.reordering_window(board, mss, trips);
        if let Some(rack) = self.detection.rack_mut() {
            rack.timeout(now, window, board, &self.log, mss, |start, end| control.lost(start, end));
        }
    }

    /// Marks all that is outstanding and not SACKed as lost; none of it counts as retransmitted.
    pub(super) fn lose_all(&mut self, board: &mut Scoreboard, control: &mut Measured) {
        board.forget_losses();
        match self.detection.rack_mut() {
            Some(rack) => rack.lose_all(board, |start, end| control.lost(start, end)),
            None => {
                board.mark_lost_until(board.max());
            }
        }
    }

    /// Segments of `mss` bytes that may come late, or be missing below those that have come, before something is lost.
    pub(crate) fn reordering(&self, mss: u64) -> u32 {
        self.threshold.max(self.detection.rack().map_or(0, |rack| rack.reordering.div_ceil(mss) as u32))
    }

    /// Bytes outstanding that are lost, retransmitted since or not, and bytes outstanding that were retransmitted.
    pub(crate) fn lost_and_retransmitted(&self, board: &Scoreboard) -> (u64, u64) {
        let Some(rack) = self.detection.rack() else { return board.marked() };
        // Data retransmitted had been lost, but for a tail loss probe. It may be lost once more.
        let retransmitted = rack.retransmissions.bytes();
        let twice = rack.retransmissions.bytes_among(board.lost());
        (board.lost_bytes() + retransmitted - twice, retransmitted - twice)
    }
}

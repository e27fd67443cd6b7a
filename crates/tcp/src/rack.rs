//! RACK: a segment is lost when one sent later has arrived and a reordering window has passed (RFC 8985 §6).
//!
//! Per-segment times are runs of what left at one instant: first transmissions in [`SentLog`], later ones in [`Retransmissions`].
//! Both are in order of time, so that detection goes on from where it stopped and sees each transmission about once.

use std::cmp::Ordering;

use crate::retransmissions::{Order, Retransmissions};
use crate::round_trips::Answer;
use crate::scoreboard::Scoreboard;
use crate::sent_log::SentLog;
use longfat_core::time::{Duration, Time};

/// RFC 8985 §6.2 step 4: a widened window lasts for so many recoveries.
const PERSIST: u32 = 16;

/// The state of RFC 8985 §5.3.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Retransmissions that are outstanding.
    pub retransmissions: Retransmissions,
    /// RACK.xmit_ts and RACK.end_seq: of all that has arrived, what was sent last.
    newest: Option<(Order, u64)>,
    /// RACK.rtt, and when that segment was sent, if this ACK told of it.
    rtt: Duration,
    told: Time,
    /// RACK.fack: one past the highest byte that has arrived; as it was before this ACK, and now.
    fack_before: u64,
    fack: u64,
    reordering_seen: bool,
    /// The farthest that something came late, in bytes.
    pub reordering: u64,
    mult: u32,
    persist: u32,
    dsack_round: Option<u64>,
    /// First transmissions below this need not be looked at any more: they have arrived, were retransmitted, or have been called lost.
    judged: u64,
    /// Time when the next segment will be lost, unless it arrives before.
    pub wake: Option<Time>,
    /// Send times of the first and last segments that this ACK tells of and that were sent only once.
    pub span: Option<(Time, Time)>,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            retransmissions: Retransmissions::default(),
            newest: None,
            rtt: Duration::ZERO,
            told: Time::ZERO,
            fack_before: 0,
            fack: 0,
            reordering_seen: false,
            reordering: 0,
            // RFC 8985 §6.1.
            mult: 1,
            persist: 0,
            dsack_round: None,
            judged: 0,
            wake: None,
            span: None,
        }
    }
}

impl Rack {
    /// An ACK comes: what it tells is told by [`Self::arrived`], piece by piece. Where it comes `late`, overtaken by another, it is the
    /// ACKs that are out of order, and says nothing of the data.
    #[inline]
    pub(crate) fn begin(&mut self, late: bool) {
        self.fack_before = if late { 0 } else { self.fack };
        self.span = None;
        self.told = Time::ZERO;
    }

    /// Everything up to `end` has arrived in order, sent once, the last of it at `sent`: the common case.
    #[inline]
    pub(crate) fn arrived_in_order(&mut self, now: Time, end: u64, sent: Time) {
        self.fack = self.fack.max(end);
        self.advance(now, Order { sent, position: end, serial: 0 }, end);
    }

    /// RFC 8985 §6.2 steps 2 and 3, of `start..end`, which has arrived now. `answer`: the ACK, as it may answer retransmissions.
    pub(crate) fn arrived(&mut self, now: Time, start: u64, end: u64, log: &SentLog, answer: Answer) {
        let mut retransmitted: Option<(Order, u64)> = None;
        let mut from = start;
        let mut originals = [(0, 0); 2];
        let mut note = |s: u64, e: u64| {
            if s < e {
                originals = if originals[0].1 == 0 { [(s, e); 2] } else { [originals[0], (s, e)] };
            }
        };
        self.retransmissions.take(start, end, |piece| {
            note(from, piece.start);
            from = piece.end;
            if answer.is_of(piece.order.sent) {
                retransmitted = retransmitted.max(Some((piece.order, piece.end)));
            }
        });
        note(from, end);
        if let Some((order, end)) = retransmitted {
            self.advance(now, order, end);
        }
        let [first, last] = originals;
        if last.1 > 0 {
            let (oldest, newest) = (log.at(first.0).1, log.at(last.1 - 1).1);
            self.span = Some(self.span.map_or((oldest, newest), |span| (span.0.min(oldest), span.1.max(newest))));
            self.advance(now, Order { sent: newest, position: last.1, serial: 0 }, last.1);
            // Pieces of one ACK come in no order of their own (§6.2 step 3 takes them in sequence).
            if first.0 < self.fack_before {
                self.reordering_seen = true;
                self.reordering = self.reordering.max(self.fack_before - first.0);
            }
        }
        self.fack = self.fack.max(end);
    }

    /// RFC 8985 §6.2 step 2. Of what one ACK tells of, what was sent last gives the round trip.
    #[inline]
    fn advance(&mut self, now: Time, order: Order, end: u64) {
        if order.sent >= self.told {
            (self.rtt, self.told) = (now.since(order.sent), order.sent);
        }
        self.newest = self.newest.max(Some((order, end)));
    }

    /// The ACK says that something arrived twice (RFC 8985 §6.2 step 4): the window was too small. Once a round trip.
    pub(crate) fn duplicate_reported(&mut self, max: u64) {
        self.reordering_seen = true;
        if self.dsack_round.is_none() {
            self.dsack_round = Some(max);
            self.mult += 1;
            self.persist = PERSIST;
        }
    }

    /// A recovery ends.
    pub(crate) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// RFC 8985 §6.2 step 4: how late something may come before it is lost. `at_once`: recovery is under way, or enough is SACKed
    /// that the duplicate ACK threshold alone says so.
    pub(crate) fn reordering_window(&mut self, una: u64, min_rtt: Duration, srtt: Duration, at_once: bool) -> Duration {
        self.dsack_round = self.dsack_round.filter(|round| una < *round);
        if at_once && !self.reordering_seen {
            return Duration::ZERO;
        }
        (min_rtt.saturating_mul(u64::from(self.mult)) / 4).min(srtt)
    }

    /// RFC 8985 §6.2 step 5. Whether anything became lost, which `lost` is told of; `wake` is when the next will be.
    pub(crate) fn detect(
        &mut self,
        now: Time,
        window: Duration,
        board: &mut Scoreboard,
        log: &SentLog,
        lost: impl FnMut(u64, u64),
    ) -> bool {
        let Some(newest) = self.newest else { return false };
        // RFC 8985 §6.2 step 2 tells what left at one instant apart by where it ends; we know what left first.
        self.judge(now, window, board, log, lost, |order, end| match order.cmp(&newest.0) {
            Ordering::Less => end,
            Ordering::Equal => end.min(newest.1),
            Ordering::Greater if order.sent == newest.0.sent && order.serial == 0 => newest.0.position,
            Ordering::Greater => 0,
        })
    }

    /// RFC 8985 §6.3: the retransmission timer went off. The first segment is lost, and whatever else has been out for long enough.
    pub(crate) fn timeout(
        &mut self,
        now: Time,
        window: Duration,
        board: &mut Scoreboard,
        log: &SentLog,
        mss: u64,
        mut lost: impl FnMut(u64, u64),
    ) {
        self.judge(now, window, board, log, &mut lost, |_, end| end);
        self.wake = None;
        let una = board.una();
        if let Some((start, end)) = board.next_missing(una, board.max().min(una + mss)) {
            if board.lose(start, end) {
                lost(start, end);
            }
            self.judged = self.judged.max(end);
        }
    }

    /// Everything that has not arrived is lost.
    pub(crate) fn lose_all(&mut self, board: &mut Scoreboard, mut lost: impl FnMut(u64, u64)) {
        let mut at = board.una();
        while let Some((start, end)) = board.next_missing(at, board.max()) {
            board.lose(start, end);
            lost(start, end);
            at = end;
        }
        self.judged = board.max();
        self.retransmissions.all_judged();
        self.wake = None;
    }

    /// Stops the reordering timer: all that is outstanding was sent after all that has arrived, so there is nothing to wait for.
    pub(crate) fn nothing_waits(&mut self) {
        self.wake = None;
    }

    /// Nothing is lost after all.
    pub(crate) fn judge_again(&mut self) {
        self.judged = 0;
        self.retransmissions.judge_again();
    }

    /// Calls lost what is overdue. Of a transmission and its end, `until` says up to where it may be.
    fn judge(
        &mut self,
        now: Time,
        window: Duration,
        board: &mut Scoreboard,
        log: &SentLog,
        mut lost: impl FnMut(u64, u64),
        until: impl Fn(Order, u64) -> u64,
    ) -> bool {
        let before = board.lost_bytes();
        self.wake = None;
        let patience = self.rtt + window;
        self.judged = self.judged.max(board.una());
        while self.judged < board.max() {
            let (end, sent) = log.at(self.judged);
            let end = until(Order { sent, position: end, serial: 0 }, end);
            if end <= self.judged {
                break;
            }
            let due = sent + patience;
            while let Some((s, e)) = self.missing(board, self.judged, end) {
                if due > now {
                    self.wake_at(due);
                    break;
                }
                if board.lose(s, e) {
                    lost(s, e);
                }
                self.judged = e;
            }
            if self.wake.is_some() {
                break;
            }
            self.judged = end;
        }
        while let Some(oldest) = self.retransmissions.oldest() {
            let end = until(oldest.order, oldest.end);
            if end <= oldest.start {
                break;
            }
            let due = oldest.order.sent + patience;
            let mut out = self.retransmissions.within(oldest.start, end).filter(|piece| piece.order == oldest.order).peekable();
            if due > now && out.peek().is_some() {
                drop(out);
                self.wake_at(due);
                break;
            }
            out.for_each(|piece| {
                if board.lose(piece.start, piece.end) {
                    lost(piece.start, piece.end);
                }
            });
            self.retransmissions.judged(end);
        }
        board.lost_bytes() > before
    }

    fn wake_at(&mut self, due: Time) {
        self.wake = Some(self.wake.map_or(due, |wake| wake.min(due)));
    }

    /// The first bytes of `from..until` that were sent once and have not arrived.
    fn missing(&self, board: &Scoreboard, mut from: u64, until: u64) -> Option<(u64, u64)> {
        while let Some((mut start, end)) = board.next_missing(from, until) {
            for piece in self.retransmissions.within(start, end) {
                if start < piece.start {
                    return Some((start, piece.start));
                }
                start = piece.end;
            }
            if start < end {
                return Some((start, end));
            }
            from = end;
        }
        None
    }
}

#[cfg(test)]
mod tests;

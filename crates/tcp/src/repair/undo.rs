//! The last reduction, as long as it can be taken back: Eifel detection (RFC 3522) and DSACKs (RFC 3708) tell whether it was for
//! nothing.
//!
//! A reduction is judged by what its own repair retransmitted, and by nothing else. What an earlier repair or a tail loss probe
//! retransmitted
//! may still be on its way when it begins, and proves nothing when it arrives.

use crate::range_set::RangeSet;
use crate::seq::timestamp_before;
use longfat_core::packet::Segment;

#[derive(Debug, Default)]
struct Reduction {
    timeout: bool,
    /// The left edge when it began.
    from: u64,
    /// RetransmitTS: TSval of its first retransmission (RFC 3522 §3.2 step 2).
    stamp: Option<u32>,
    /// An ACK has come that tells a retransmission from what was sent before it.
    answered: bool,
    /// True if its repair has sent something again.
    repairs: bool,
    /// Retransmissions of its repair that no DSACK has reported; among them, those sent twice.
    unreported: RangeSet,
    twice: RangeSet,
    /// DSACKs cannot tell any more.
    ambiguous: bool,
}

impl Reduction {
    fn sent_again(&mut self, start: u64, end: u64, stamp: Option<u32>) {
        if !self.repairs {
            (self.repairs, self.stamp) = (true, stamp);
        }
        if self.unreported.bytes_within(start, end) == 0 {
            self.unreported.insert(start, end, |_, _| {});
            return;
        }
        let mut known = Vec::new();
        let mut at = start;
        self.unreported.insert(start, end, |s, e| {
            known.push((at, s));
            at = e;
        });
        known.push((at, end));
        for (s, e) in known {
            // A third time: too many to tell apart.
            self.ambiguous |= self.twice.bytes_within(s, e) > 0;
            self.twice.insert(s, e, |_, _| {});
        }
    }

    /// `left..right`, all of it retransmitted by its repair, arrived twice. Each report stands for one retransmission.
    fn reported(&mut self, left: u64, right: u64) {
        let mut at = left;
        while let Some((start, end)) = self.twice.next_hole(at, right) {
            self.unreported.remove_within(start, end);
            at = end;
        }
        self.twice.remove_within(left, right);
    }
}

/// Retransmissions from before the reduction that is watched, which may still be on their way.
#[derive(Debug, Default)]
struct Earlier {
    sent: RangeSet,
    /// TSval of the first of it.
    stamp: Option<u32>,
}

impl Earlier {
    /// Everything below `una` has arrived.
    fn forget_below(&mut self, una: u64) {
        self.sent.remove_below(una);
        if self.sent.is_empty() {
            self.stamp = None;
        }
    }

    fn add(&mut self, start: u64, end: u64, stamp: Option<u32>) {
        if self.sent.is_empty() {
            self.stamp = stamp;
        }
        self.sent.insert(start, end, |_, _| {});
    }
}

/// Retransmissions that are kept.
#[derive(Debug, Default)]
struct Kept {
    last: Option<Reduction>,
    earlier: Earlier,
}

#[derive(Debug)]
pub(crate) struct Undo {
    enabled: bool,
    /// True if retransmissions are kept apart from what was sent once.
    keeps: bool,
    /// Not before there is one, or a reduction.
    kept: Option<Box<Kept>>,
}

impl Undo {
    /// `frto`: F-RTO asks what was retransmitted.
    pub(super) fn new(enabled: bool, frto: bool) -> Self {
        Undo { enabled, keeps: enabled || frto, kept: None }
    }

    /// A reduction for a loss, or for a `timeout`, with all below `una` acknowledged: from now on it is watched. It `inherits` where some of
    /// what is lost was retransmitted by the repair before: whether that was for nothing no DSACK of this one's own retransmissions tells.
    pub(super) fn watch(&mut self, timeout: bool, una: u64, inherits: bool) {
        if self.keeps {
            self.forget();
            let kept = self.kept.get_or_insert_default();
            kept.earlier.forget_below(una);
            kept.last = Some(Reduction { timeout, from: una, ambiguous: inherits, ..Reduction::default() });
        }
    }

    /// Forgets the last reduction: the window as it is now is not to be taken back.
    pub(super) fn forget(&mut self) {
        if let Some(Kept { last, earlier }) = self.kept.as_deref_mut()
            && let Some(last) = last.take()
        {
            last.unreported.descending().for_each(|(start, end)| earlier.add(start, end, last.stamp));
        }
    }

    fn last(&self) -> Option<&Reduction> {
        self.kept.as_ref().and_then(|kept| kept.last.as_ref())
    }

    #[inline]
    pub(super) fn is_watching(&self) -> bool {
        self.enabled && self.last().is_some()
    }

    /// Returns true if the reduction that is watched was for a timeout.
    pub(super) fn is_of_timeout(&self) -> bool {
        self.last().is_some_and(|last| last.timeout)
    }

    /// `start..end` is retransmitted, with all below `una` acknowledged and the TSval `stamp`: because it is lost, by a repair; or as
    /// a probe or a guess.
    #[inline]
    pub(super) fn sent_again(&mut self, start: u64, end: u64, una: u64, repairs: bool, stamp: Option<u32>) {
        if !self.keeps {
            return;
        }
        let kept = self.kept.get_or_insert_default();
        match kept.last.as_mut().filter(|_| repairs) {
            Some(last) => last.sent_again(start, end, stamp),
            None => {
                kept.earlier.forget_below(una);
                kept.earlier.add(start, end, stamp);
            }
        }
    }

    /// Returns how much of `start..end` was not retransmitted before the reduction that is watched.
    pub(super) fn sent_once(&self, start: u64, end: u64) -> u64 {
        end - start - self.kept.as_ref().map_or(0, |kept| kept.earlier.sent.bytes_within(start, end))
    }

    /// Returns true if `segment` echoes a time at which the repair had begun to send again.
    pub(super) fn answers_again(&self, segment: &Segment) -> bool {
        let stamp = self.last().and_then(|last| last.stamp);
        segment.timestamps().zip(stamp).is_some_and(|((_, ecr), stamp)| !timestamp_before(ecr, stamp))
    }

    /// RFC 3522 §3.2: whether an ACK that fills the holes `filled` answers something sent before its retransmission. It echoes the
    /// segment with which the left edge moved (RFC 7323 §4.3), and which of those that was is not known where ACKs are delayed or
    /// lost. So it decides where all that it fills was retransmitted by this repair; if the sender is `blind`, knowing of nothing
    /// beyond the left edge, where the first of it was. Where some of that had been retransmitted before, it must echo a time before
    /// that, too. The first such ACK decides.
    pub(super) fn eifel(&mut self, segment: &Segment, filled: impl Iterator<Item = (u64, u64)>, blind: bool) -> bool {
        let Some(Kept { last: Some(last), earlier }) = self.kept.as_deref_mut().filter(|_| self.enabled) else { return false };
        if last.answered || !last.repairs {
            return false;
        }
        let (mut any, mut stamp) = (false, last.stamp);
        for (start, mut end) in filled {
            if blind {
                end = last.unreported.containing(start).map_or(start, |(_, until)| end.min(until));
            }
            if start == end || last.unreported.bytes_within(start, end) < end - start {
                return false;
            }
            any = true;
            if earlier.sent.bytes_within(start, end) > 0 {
                stamp = earlier.stamp;
            }
        }
        last.answered |= any;
        any && segment.timestamps().zip(stamp).is_some_and(|((_, ecr), stamp)| timestamp_before(ecr, stamp))
    }

    /// RFC 3708 §3: `left..right` arrived twice. Whether all that the repair retransmitted had arrived before, each time that it did (B.1).
    /// `waiting`: more is to be retransmitted. Where something arrives twice that nobody retransmitted (A.4), the network makes copies, and
    /// DSACKs
    /// no longer tell of this reduction.
    ///
    /// Departures: A.4 would give up DSACKs for the rest of the connection. A.3 gives up on a second retransmission; here each must be
    /// reported. A.1 would not undo where a whole window of ACKs was lost, which a report at SND.UNA with nothing SACKed shows.
    pub(super) fn dsack(&mut self, (left, right): (u64, u64), waiting: bool) -> bool {
        let Some(Kept { last: Some(last), earlier }) = self.kept.as_deref_mut().filter(|_| self.enabled) else { return false };
        if right <= last.from {
            return false;
        }
        if last.unreported.bytes_within(left, right) == right - left {
            last.reported(left, right);
        } else if earlier.sent.bytes_within(left, right) == 0 {
            last.ambiguous = true;
        }
        last.repairs && last.unreported.is_empty() && !last.ambiguous && !waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::once;

    fn echoing(ecr: u32) -> Segment {
        let mut segment = Segment::new(1, 0, 0);
        segment.set_timestamps(1, ecr);
        segment
    }

    /// 1000..2000 retransmitted at 77, 3000..3500 at 80.
    fn watched() -> Undo {
        let mut undo = Undo::new(true, false);
        undo.watch(false, 1000, false);
        undo.sent_again(1000, 2000, 1000, true, Some(77));
        undo.sent_again(3000, 3500, 1000, true, Some(80));
        undo
    }

    #[test]
    fn the_first_ack_of_something_sent_again_decides_by_what_it_echoes() {
        assert!(watched().eifel(&echoing(76), once((1000, 2000)), false));
        assert!(!watched().eifel(&echoing(77), once((1000, 2000)), false));
        let mut undo = watched();
        assert!(!undo.eifel(&echoing(76), std::iter::empty(), false), "not one that fills nothing");
        assert!(!undo.eifel(&Segment::new(1, 0, 0), once((1000, 2000)), false));
        assert!(!undo.eifel(&echoing(76), once((3000, 3500)), false), "only the first");
    }

    #[test]
    fn an_ack_of_something_else_says_nothing() {
        let mut undo = watched();
        assert!(!undo.eifel(&echoing(76), once((2000, 3000)), false), "not retransmitted");
        assert!(!undo.eifel(&echoing(76), [(1000, 2000), (2500, 3000)].into_iter(), false), "one of both");
        let mut blind = watched();
        assert!(!blind.eifel(&echoing(76), once((500, 5000)), true));
        assert!(blind.eifel(&echoing(76), once((1000, 5000)), true), "without SACK, the left edge");
        assert!(undo.eifel(&echoing(76), [(1000, 2000), (3000, 3500)].into_iter(), false), "either was retransmitted, and both later");
    }

    /// A repair begins while a retransmission of the one before is on its way.
    #[test]
    fn what_an_earlier_repair_sent_again_proves_nothing() {
        let mut undo = watched();
        undo.watch(false, 2000, false);
        undo.sent_again(4000, 5000, 2000, true, Some(100));
        assert!(!undo.eifel(&echoing(80), once((3000, 3500)), false));
        // Retransmitted by both: the first must have been for nothing, too.
        undo.sent_again(3000, 3500, 2000, true, Some(101));
        assert!(!undo.eifel(&echoing(80), once((3000, 3500)), false));
        let mut undo = watched();
        undo.watch(true, 2000, false);
        undo.sent_again(3000, 3500, 2000, true, Some(101));
        assert!(undo.eifel(&echoing(76), once((3000, 3500)), false));
        // Nor what a probe sent, before a repair or after it.
        let mut undo = Undo::new(true, false);
        undo.sent_again(5000, 6000, 1000, false, Some(50));
        undo.watch(false, 1000, false);
        undo.sent_again(5000, 6000, 1000, false, Some(60));
        assert!(!undo.eifel(&echoing(49), once((5000, 6000)), false) && !undo.dsack((5000, 6000), false));
    }

    #[test]
    fn every_byte_must_be_reported() {
        let mut undo = watched();
        assert!(!undo.dsack((0, 1000), false), "not of this reduction");
        assert!(!undo.dsack((1000, 2000), false));
        assert!(!undo.dsack((3000, 3500), true), "more goes again");
        let mut undo = watched();
        assert!(!undo.dsack((1000, 2000), false));
        assert!(undo.dsack((3000, 3500), false));
    }

    /// Retransmissions of the repair before may have been lost.
    #[test]
    fn what_is_inherited_is_not_reported() {
        let mut undo = watched();
        undo.watch(false, 2000, true);
        undo.sent_again(4000, 5000, 2000, true, Some(100));
        assert!(!undo.dsack((4000, 5000), false));
    }

    #[test]
    fn each_retransmission_must_be_reported() {
        let mut undo = watched();
        undo.sent_again(1500, 2500, 1000, true, Some(90));
        assert!(!undo.dsack((3000, 3500), false) && !undo.dsack((1000, 2000), false) && !undo.dsack((2000, 2500), false));
        assert!(undo.dsack((1500, 2000), false));
        // Three times: nothing is said.
        let mut undo = watched();
        for _ in 0..2 {
            undo.sent_again(1000, 2000, 1000, true, Some(90));
        }
        assert!(!undo.dsack((3000, 3500), false) && (0..4).all(|_| !undo.dsack((1000, 2000), false)));
    }

    /// RFC 3708 §3: copies that the network made.
    #[test]
    fn a_copy_of_what_was_sent_once_makes_dsacks_worthless() {
        let mut undo = watched();
        assert!(!undo.dsack((2000, 3000), false));
        assert!(!undo.dsack((1000, 2000), false) && !undo.dsack((3000, 3500), false));
        // And a report repeated is none of another segment.
        let mut undo = watched();
        assert!(!undo.dsack((1000, 2000), false) && !undo.dsack((1000, 2000), false));
    }

    #[test]
    fn nothing_is_watched_where_it_is_off() {
        let mut undo = Undo::new(false, false);
        undo.watch(true, 0, false);
        undo.sent_again(0, 10, 0, true, None);
        assert!(!undo.is_watching() && !undo.is_of_timeout() && !undo.dsack((0, 10), false));
        // For F-RTO alone: what was retransmitted is known, and nothing else.
        let mut undo = Undo::new(false, true);
        undo.watch(false, 0, false);
        undo.sent_again(0, 10, 0, true, Some(5));
        undo.watch(true, 0, false);
        undo.sent_again(0, 10, 0, true, Some(7));
        assert!(!undo.is_watching() && !undo.eifel(&echoing(1), once((0, 10)), false) && !undo.dsack((0, 10), false));
        assert!(undo.answers_again(&echoing(7)) && !undo.answers_again(&echoing(6)));
        assert_eq!((undo.sent_once(0, 10), undo.sent_once(5, 30)), (0, 20));
    }
}

//! Outstanding bytes as the sender knows them: SACKed, lost, retransmitted (RFC 6675 §3, §4).
//!
//! Two marks stand for the per-octet flags of the RFC: everything below `lost_until` that is not SACKed counts as lost, and
//! everything below `retransmitted_until` that is not SACKed has been retransmitted (RFC 6675's HighRxt). Each mark only
//! moves forward within an episode, so that `pipe` is kept up to date at a cost that does not grow with the window.
//!
//! RACK (RFC 8985) marks losses by time, anywhere, and finds lost retransmissions too. There the marks stay at the left edge, and a
//! set of ranges tells what is lost and not retransmitted since: all else that is not SACKed is in flight, once.

use crate::range_set::RangeSet;

/// The state of the bytes between `una` and `max`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    una: u64,
    max: u64,
    sacked: RangeSet,
    /// The first SACK blocks of the last ACK: a receiver repeats what it has said (RFC 2018 §4).
    told: Option<Box<[(u64, u64); 3]>>,
    sacked_bytes: u64,
    lost_until: u64,
    sacked_below_lost: u64,
    retransmitted_until: u64,
    sacked_below_retransmitted: u64,
    /// Lost by time, and not retransmitted since; `None` while nothing has been.
    lost: Option<Box<RangeSet>>,
    lost_bytes: u64,
}

impl Scoreboard {
    /// First byte not acknowledged (SND.UNA).
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Returns one past the highest byte ever sent (SND.MAX; HighData + 1).
    #[inline]
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// `bytes` more were sent for the first time.
    #[inline]
    pub(crate) fn sent_new(&mut self, bytes: u64) {
        self.max += bytes;
    }

    /// RFC 6675's pipe: octets believed to be in the network.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        let retransmitted = self.retransmitted_until - self.una - self.sacked_below_retransmitted;
        let first_time = self.max - self.lost_until - (self.sacked_bytes - self.sacked_below_lost);
        retransmitted + first_time - self.lost_bytes
    }

    /// Sent and not cumulatively acknowledged.
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        self.max - self.una
    }

    #[inline]
    pub(crate) fn has_sacked(&self) -> bool {
        self.sacked_bytes > 0
    }

    /// Returns true if nothing is SACKed, lost or retransmitted.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.sacked_bytes | self.lost_bytes | (self.lost_until - self.una) | (self.retransmitted_until - self.una) == 0
    }

    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Returns one past the highest byte SACKed.
    pub(crate) fn highest_sacked(&self) -> Option<u64> {
        self.sacked.end()
    }

    /// Bytes below `ack` that are outstanding and not SACKed.
    #[inline]
    pub(crate) fn missing_below(&self, ack: u64) -> u64 {
        ack - self.una - if self.sacked_bytes > 0 { self.sacked.bytes_within(self.una, ack) } else { 0 }
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: u64) {
        debug_assert!(ack <= self.max);
        if self.sacked_bytes > 0 {
            self.sacked_bytes -= self.sacked.bytes_within(self.una, ack);
            self.sacked_below_lost -= self.sacked.bytes_within(self.una, ack.min(self.lost_until));
            self.sacked_below_retransmitted -= self.sacked.bytes_within(self.una, ack.min(self.retransmitted_until));
            self.sacked.remove_below(ack);
        }
        if self.lost_bytes > 0 {
            self.not_lost(self.una, ack);
        }
        self.una = ack;
        self.lost_until = self.lost_until.max(ack);
        self.retransmitted_until = self.retransmitted_until.max(ack);
    }

    /// Everything below `ack` has arrived, and [`Self::is_plain`] holds.
    #[inline]
    pub(crate) fn acknowledge_plain(&mut self, ack: u64) {
        debug_assert!(ack <= self.max);
        (self.una, self.lost_until, self.retransmitted_until) = (ack, ack, ack);
    }

    /// Returns true if the last ACK had this SACK block, too: all of it is known.
    #[inline]
    pub(crate) fn was_told(&self, block: (u64, u64)) -> bool {
        self.told.as_ref().is_some_and(|told| told.contains(&block))
    }

    /// An ACK had these SACK blocks.
    #[inline]
    pub(crate) fn note_told(&mut self, told: [(u64, u64); 3]) {
        **self.told.get_or_insert_default() = told;
    }

    /// A SACK block; bytes it tells for the first time. `fresh` is called with each piece of them, in order.
    pub(crate) fn sack(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) -> u64 {
        let (start, end) = (start.max(self.una), end.min(self.max));
        let mut news = 0;
        let (lost, retransmitted) = (self.lost_until, self.retransmitted_until);
        let (mut below_lost, mut below_retransmitted) = (0, 0);
        self.sacked.insert(start, end, |s, e| {
            news += e - s;
            below_lost += e.min(lost).saturating_sub(s);
            below_retransmitted += e.min(retransmitted).saturating_sub(s);
            fresh(s, e);
        });
        if self.lost_bytes > 0 && start < end {
            self.not_lost(start, end);
        }
        self.sacked_bytes += news;
        self.sacked_below_lost += below_lost;
        self.sacked_below_retransmitted += below_retransmitted;
        news
    }

    /// Moves `lost_until` up to where RFC 6675's IsLost holds: `threshold` separate SACKed ranges above, or more than
    /// (`threshold` - 1) * `mss` bytes SACKed above. Whether any byte became lost.
    pub(crate) fn update_lost(&mut self, threshold: u32, mss: u64) -> bool {
        let mut bytes = 0;
        let enough = u64::from(threshold - 1) * mss;
        let mark = (1..=threshold).zip(self.sacked.descending()).find_map(|(n, (start, end))| {
            bytes += end - start;
            (n == threshold || bytes > enough).then_some(start)
        });
        mark.is_some_and(|start| self.mark_lost_until(start))
    }

    /// Everything below `offset` that is not SACKed is lost. Whether any byte became so.
    pub(crate) fn mark_lost_until(&mut self, offset: u64) -> bool {
        let offset = offset.min(self.max);
        if offset <= self.lost_until {
            return false;
        }
        let sacked = self.sacked.bytes_within(self.lost_until, offset);
        let news = offset - self.lost_until > sacked;
        self.sacked_below_lost += sacked;
        self.lost_until = offset;
        news
    }

    /// `start..end`, of which nothing is SACKed, is lost: the newest transmission of it, whichever that was. Whether it was not before.
    pub(crate) fn lose(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(self.una <= start && end <= self.max && self.sacked.bytes_within(start, end) == 0);
        let before = self.lost_bytes;
        let news = &mut self.lost_bytes;
        self.lost.get_or_insert_default().insert(start, end, |s, e| *news += e - s);
        self.lost_bytes > before
    }

    /// `start..end` has arrived, or goes again: none of it is lost any more.
    fn not_lost(&mut self, start: u64, end: u64) {
        let gone = self.lost.as_mut().map_or(0, |lost| lost.remove_within(start, end));
        self.lost_bytes -= gone;
    }

    /// Bytes lost by time and not retransmitted since.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// The first bytes at or after `from`, and before `until`, that have not arrived.
    #[inline]
    pub(crate) fn next_missing(&self, from: u64, until: u64) -> Option<(u64, u64)> {
        self.sacked.next_hole(from.max(self.una), until)
    }

    /// The ranges of `from..until` that have not arrived, in order.
    pub(crate) fn holes(&self, from: u64, until: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut at = from;
        std::iter::from_fn(move || {
            let hole = self.next_missing(at, until)?;
            at = hole.1;
            Some(hole)
        })
    }

    /// A new episode: nothing counts as retransmitted any more.
    pub(crate) fn forget_retransmissions(&mut self) {
        self.retransmitted_until = self.una;
        self.sacked_below_retransmitted = 0;
    }

    /// A new episode: nothing counts as lost any more.
    pub(crate) fn forget_losses(&mut self) {
        self.lost_until = self.una;
        self.sacked_below_lost = 0;
        self.lost = None;
        self.lost_bytes = 0;
        self.forget_retransmissions();
    }

    /// The receiver went back on a promise (RFC 2018 §8): all SACK information is void.
    pub(crate) fn forget_sacks(&mut self) {
        self.sacked.clear();
        self.told = None;
        self.sacked_bytes = 0;
        self.sacked_below_lost = 0;
        self.sacked_below_retransmitted = 0;
    }

    /// Returns true if the first outstanding byte is SACKed: it cannot be, unless the receiver reneged.
    pub(crate) fn reneged(&self) -> bool {
        self.sacked.containing(self.una).is_some()
    }

    /// The next lost bytes not yet retransmitted (RFC 6675 §4 NextSeg rule 1): start, and at most `mss` bytes on.
    #[inline]
    pub(crate) fn next_lost(&self, mss: u64) -> Option<(u64, u64)> {
        if let Some((start, end)) = self.lost.as_ref().and_then(|lost| lost.first()) {
            return Some((start, end.min(start + mss)));
        }
        if self.retransmitted_until >= self.lost_until {
            return None;
        }
        let (start, end) = self.sacked.next_hole(self.retransmitted_until, self.lost_until)?;
        Some((start, end.min(start + mss)))
    }

    /// The next bytes below the highest SACK, lost or not, not yet retransmitted (NextSeg rule 3).
    pub(crate) fn next_hole(&self, mss: u64) -> Option<(u64, u64)> {
        let top = self.sacked.end()?;
        let (start, end) = self.sacked.next_hole(self.retransmitted_until, top)?;
        Some((start, end.min(start + mss)))
    }

    /// The last segment outstanding that is not SACKed, where it ends at `max` (NextSeg rule 4, the rescue).
    pub(crate) fn last_segment(&self, mss: u64) -> Option<(u64, u64)> {
        let start = self.sacked.end().unwrap_or(self.una).max(self.max.saturating_sub(mss)).max(self.una);
        (start < self.max).then_some((start, self.max))
    }

    /// `start..end` was retransmitted; all holes before it have been too.
    pub(crate) fn retransmitted(&mut self, start: u64, end: u64) {
        if self.lost_bytes > 0 {
            self.not_lost(start, end);
            return;
        }
        debug_assert!(end > self.retransmitted_until && end <= self.max);
        let skipped = self.sacked.bytes_within(self.retransmitted_until, start);
        self.sacked_below_retransmitted += skipped;
        self.retransmitted_until = end;
    }

    /// RFC 6675's HighRxt, plus one.
    pub(crate) fn retransmitted_until(&self) -> u64 {
        self.retransmitted_until
    }

    /// Bytes lost, and bytes retransmitted, as the marks have them.
    pub(crate) fn marked(&self) -> (u64, u64) {
        let lost = self.lost_until - self.una - self.sacked_below_lost;
        (lost, self.retransmitted_until - self.una - self.sacked_below_retransmitted)
    }

    /// Returns the ranges that are lost by time and not retransmitted since.
    pub(crate) fn lost(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.lost.iter().flat_map(|lost| lost.descending())
    }

    /// Returns true if `threshold` segments are SACKed: as many separate ranges, or more bytes than one less can hold (RFC 6675 §4).
    pub(crate) fn has_sacked_enough(&self, threshold: u32, mss: u64) -> bool {
        self.sacked_bytes > u64::from(threshold - 1) * mss || self.sacked.count_up_to(threshold as usize) == threshold as usize
    }

    /// Below this everything not SACKed counts as lost.
    pub(crate) fn lost_until(&self) -> u64 {
        self.lost_until
    }

    /// Returns true if lost bytes remain to be retransmitted.
    pub(crate) fn has_lost(&self) -> bool {
        self.next_lost(1).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 10;

    /// Per-octet flags, as the RFC words it: slow and plain.
    #[derive(Default, Clone)]
    struct Model {
        una: u64,
        sacked: Vec<bool>,
        lost_until: u64,
        again_until: u64,
    }

    impl Model {
        fn ranges_and_bytes_above(&self, at: usize) -> (u32, u64) {
            let mut ranges = 0;
            let mut bytes = 0;
            let mut inside = false;
            for s in &self.sacked[at + 1..] {
                ranges += u32::from(*s && !inside);
                inside = *s;
                bytes += u64::from(*s);
            }
            (ranges, bytes)
        }
        fn is_lost(&self, at: usize, threshold: u32) -> bool {
            let (ranges, bytes) = self.ranges_and_bytes_above(at);
            ranges >= threshold || bytes > u64::from(threshold - 1) * MSS
        }
        fn pipe(&self) -> u64 {
            (self.una as usize..self.sacked.len())
                .filter(|i| !self.sacked[*i])
                .map(|i| u64::from(i as u64 >= self.lost_until) + u64::from((i as u64) < self.again_until))
                .sum()
        }
    }

    proptest! {
        #[test]
        fn pipe_and_is_lost_equal_the_rfc_octet_by_octet(
            steps in prop::collection::vec((0u8..5, 0u64..30, 1u64..4), 1..80),
            threshold in 1u32..5,
        ) {
            let mut board = Scoreboard::default();
            let mut model = Model::default();
            board.sent_new(300);
            model.sacked = vec![false; 300];
            for (what, at, len) in steps {
                match what {
                    0 => {
                        // Cumulative ACKs end where a hole begins, as a receiver's do.
                        let ack = (at * MSS).max(board.una());
                        let ack = (ack..300).find(|i| !model.sacked[*i as usize]).unwrap_or(300);
                        board.acknowledge(ack);
                        model.una = ack;
                        model.lost_until = model.lost_until.max(ack);
                        model.again_until = model.again_until.max(ack);
                        for i in 0..ack { model.sacked[i as usize] = false; }
                    }
                    1 | 2 => {
                        let (s, e) = (at * MSS, ((at + len) * MSS).min(300));
                        let news = board.sack(s, e, |_, _| {});
                        let mut expected = 0;
                        for i in s.max(model.una)..e {
                            expected += u64::from(!model.sacked[i as usize]);
                            model.sacked[i as usize] = true;
                        }
                        prop_assert_eq!(news, expected);
                    }
                    3 => {
                        board.update_lost(threshold, MSS);
                        for i in model.una as usize..300 {
                            if !model.sacked[i] && model.is_lost(i, threshold) {
                                model.lost_until = model.lost_until.max(i as u64 + 1);
                            }
                        }
                    }
                    _ => {
                        let expected = (model.again_until..model.lost_until).find(|i| !model.sacked[*i as usize]);
                        let next = board.next_lost(MSS);
                        prop_assert_eq!(next.map(|n| n.0), expected);
                        if let Some((s, e)) = next {
                            prop_assert!((s..e).all(|i| !model.sacked[i as usize] && i < model.lost_until));
                            board.retransmitted(s, e);
                            model.again_until = e;
                        }
                    }
                }
                prop_assert_eq!(board.pipe(), model.pipe());
                prop_assert_eq!(board.outstanding(), 300 - model.una);
            }
        }
    }
}

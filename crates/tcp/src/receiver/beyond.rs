//! Data beyond a gap, until the gap is closed.

use crate::range_set::RangeSet;

type Range = (u64, u64);

/// Data that has come out of order.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    ranges: RangeSet,
    /// Bytes held.
    pub held: u64,
    /// The ranges that grew last, newest first (RFC 2018 §4); what ends below the next byte expected is none any more.
    recent: [Range; 4],
}

impl Beyond {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// `start..end` has come; how many bytes of it for the first time, and the range that it is part of now.
    pub(super) fn take(&mut self, start: u64, end: u64) -> (u64, Option<Range>) {
        let mut fresh = 0;
        let range = self.ranges.insert(start, end, |s, e| fresh += e - s);
        self.held += fresh;
        (fresh, range)
    }

    /// Everything below `next` has come in order. If more has, by what is here, up to where; that is let go of.
    pub(super) fn close(&mut self, next: u64) -> Option<u64> {
        let (_, end) = self.ranges.first().filter(|first| first.0 <= next)?;
        self.held -= end - next;
        self.ranges.remove_below(end);
        Some(end)
    }

    /// Puts `newest`, to which something has come, at the head of what is reported (RFC 2018 §4).
    pub(super) fn remember(&mut self, newest: Range, next: u64) {
        let mut kept = [newest, (0, 0), (0, 0), (0, 0)];
        // A range grows, or two become one, only by what arrives: then that is the newest.
        let others = self.newest_first(next).filter(|r| !(newest.0 <= r.0 && r.1 <= newest.1));
        kept[1..].iter_mut().zip(others).for_each(|(kept, range)| *kept = range);
        self.recent = kept;
    }

    /// Returns the ranges to report where `next` is the next byte expected.
    pub(super) fn newest_first(&self, next: u64) -> impl Iterator<Item = Range> + use<> {
        self.recent.into_iter().filter(move |range| range.0 > next)
    }

    /// Returns the number of ranges, but no more than `most`.
    pub(super) fn count_up_to(&self, most: usize) -> usize {
        self.ranges.count_up_to(most)
    }

    /// Bytes of `from..until` that are here.
    pub(super) fn bytes_within(&self, from: u64, until: u64) -> u64 {
        self.ranges.bytes_within(from, until)
    }
}

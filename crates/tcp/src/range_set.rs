//! A set of byte ranges: what the receiver holds out of order, what the sender knows to be SACKed.

use crate::blocks::{Blocks, Piece, Place};

/// Half open: start, end.
type Range = (u64, u64);

impl Piece for Range {
    #[inline]
    fn end(&self) -> u64 {
        self.1
    }
}

/// Disjoint, non-adjacent half-open ranges of offsets.
#[derive(Clone, Debug, Default)]
pub(super) struct RangeSet {
    ranges: Blocks<Range>,
}

impl RangeSet {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of ranges, but no more than `most`.
    pub(crate) fn count_up_to(&self, most: usize) -> usize {
        self.ranges.iter().take(most).count()
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Adds `start..end`; calls `fresh` with each piece that was not in the set before, in order. Returns the range that holds it, unless it
    /// is empty.
    pub(crate) fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) -> Option<Range> {
        if start >= end {
            return None;
        }
        let place = self.ranges.first_reaching(start);
        let Some(first) = self.ranges.get(place).filter(|first| first.0 <= end) else {
            fresh(start, end);
            self.ranges.put(place, (start, end));
            return Some((start, end));
        };
        if start < first.0 {
            fresh(start, first.0);
        }
        let mut merged = (start.min(first.0), first.1);
        // Ranges after the first that the new one reaches, too.
        let next = |set: &Self, place: Place| {
            let after = set.ranges.after(place);
            set.ranges.get(after).filter(|range| range.0 <= end).map(|range| (after, range))
        };
        while let Some((after, range)) = next(self, place) {
            fresh(merged.1, range.0);
            merged.1 = range.1;
            self.ranges.remove(after);
        }
        if merged.1 < end {
            fresh(merged.1, end);
            merged.1 = end;
        }
        *self.ranges.at(place) = merged;
        Some(merged)
    }

    /// Takes `start..end` out; how many bytes of it were in the set.
    pub(crate) fn remove_within(&mut self, start: u64, end: u64) -> u64 {
        let mut gone = 0;
        let mut place = self.ranges.first_reaching(start + 1);
        while let Some((s, e)) = self.ranges.get(place).filter(|range| range.0 < end) {
            gone += e.min(end) - s.max(start);
            match (s < start, e > end) {
                (false, false) => {
                    self.ranges.remove(place);
                    place = self.ranges.first_reaching(start + 1);
                }
                (false, true) => self.ranges.at(place).0 = end,
                (true, cut) => {
                    self.ranges.at(place).1 = start;
                    if cut {
                        self.ranges.put((place.0, place.1 + 1), (end, e));
                    }
                    place = self.ranges.first_reaching(start + 1);
                }
            }
        }
        gone
    }

    /// Removes everything below `offset`.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        self.ranges.remove_below(offset);
        if self.first().is_some_and(|first| first.0 < offset) {
            self.ranges.at((0, 0)).0 = offset;
        }
    }

    /// The lowest range.
    #[inline]
    pub(crate) fn first(&self) -> Option<Range> {
        self.ranges.first()
    }

    /// The highest offset in the set, plus one.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.1)
    }

    /// Ranges from the highest down.
    pub(crate) fn descending(&self) -> impl Iterator<Item = Range> + '_ {
        self.ranges.iter().rev()
    }

    /// The range that holds `offset`.
    pub(crate) fn containing(&self, offset: u64) -> Option<Range> {
        self.ranges.get(self.ranges.first_reaching(offset + 1)).filter(|range| range.0 <= offset)
    }

    /// The first hole at or after `from` that begins below `until`, cut off there: (start, end).
    pub(crate) fn next_hole(&self, from: u64, until: u64) -> Option<Range> {
        if from >= until {
            return None;
        }
        let place = self.ranges.first_reaching(from + 1);
        let (start, next) = match self.ranges.get(place) {
            Some(range) if range.0 <= from => (range.1, self.ranges.get(self.ranges.after(place))),
            next => (from, next),
        };
        (start < until).then(|| (start, next.map_or(until, |range| range.0.min(until))))
    }

    /// Bytes of the set inside `from..until`; costs the ranges there.
    pub(crate) fn bytes_within(&self, from: u64, until: u64) -> u64 {
        if from >= until {
            return 0;
        }
        let mut bytes = 0;
        let mut place = self.ranges.first_reaching(from + 1);
        while let Some(range) = self.ranges.get(place).filter(|range| range.0 < until) {
            bytes += range.1.min(until) - range.0.max(from);
            place = self.ranges.after(place);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a plain set of bytes.
        #[test]
        fn behaves_as_a_set_of_bytes(operations in prop::collection::vec((0u64..60, 1u64..12, 0u8..7), 1..60)) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (at, len, what) in operations {
                if what == 0 {
                    set.remove_below(at);
                    model.retain(|b| *b >= at);
                } else if what <= 2 {
                    let gone = set.remove_within(at, at + len);
                    let before = model.len();
                    model.retain(|b| !(at..at + len).contains(b));
                    prop_assert_eq!(gone, (before - model.len()) as u64);
                } else {
                    let mut fresh = Vec::new();
                    let holds = set.insert(at, at + len, |s, e| fresh.extend(s..e));
                    prop_assert_eq!(holds, set.containing(at));
                    let expected: Vec<u64> = (at..at + len).filter(|b| !model.contains(b)).collect();
                    prop_assert_eq!(fresh, expected);
                    model.extend(at..at + len);
                }
                let held: Vec<u64> = set.ranges.iter().flat_map(|r| r.0..r.1).collect();
                prop_assert!(set.ranges.are_in_shape());
                prop_assert_eq!(held, model.iter().copied().collect::<Vec<_>>());
                let mut previous_end = None;
                for (s, e) in set.ranges.iter() {
                    prop_assert!(s < e && previous_end.is_none_or(|p| p < s));
                    previous_end = Some(e);
                }
                prop_assert_eq!(set.bytes_within(at, at + 7), (at..at + 7).filter(|b| model.contains(b)).count() as u64);
                let hole = (at..72).find(|b| !model.contains(b)).map(|s| (s, (s..72).find(|b| model.contains(b)).unwrap_or(72)));
                prop_assert_eq!(set.next_hole(at, 72), hole);
            }
        }
    }
}

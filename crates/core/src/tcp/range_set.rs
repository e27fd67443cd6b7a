//! A set of byte ranges: what the receiver holds out of order, what the sender knows to be SACKed.
//!
//! Every operation costs O(log ranges), amortised over the ranges it merges, whatever the window holds.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent half-open ranges of offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RangeSet {
    /// Start to end.
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many ranges.
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Adds `start..end`; calls `fresh` with each piece that was not in the set before, in order.
    pub fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let (mut merged_start, mut merged_end) = (start, end);
        let mut covered = start;
        if let Some((&s, &e)) = self.ranges.range(..=start).next_back()
            && e >= start
        {
            if e >= end {
                return;
            }
            merged_start = s;
            covered = e;
        }
        while let Some((&s, &e)) = self.ranges.range(start + 1..=end).next() {
            if s > covered {
                fresh(covered, s);
            }
            covered = covered.max(e);
            merged_end = merged_end.max(e);
            self.ranges.remove(&s);
        }
        if covered < end {
            fresh(covered, end);
        }
        self.ranges.insert(merged_start, merged_end);
    }

    /// Removes everything below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        while let Some(first) = self.ranges.first_entry() {
            if *first.get() <= offset {
                first.remove();
            } else {
                if *first.key() < offset {
                    let end = first.remove();
                    self.ranges.insert(offset, end);
                }
                return;
            }
        }
    }

    /// The lowest range.
    #[inline]
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.first_key_value().map(|(&s, &e)| (s, e))
    }

    /// The highest offset in the set, plus one.
    pub fn end(&self) -> Option<u64> {
        self.ranges.last_key_value().map(|(_, &e)| e)
    }

    /// Ranges from the highest down.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().rev().map(|(&s, &e)| (s, e))
    }

    /// The range that holds `offset`.
    pub fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        self.ranges.range(..=offset).next_back().map(|(&s, &e)| (s, e)).filter(|(_, e)| offset < *e)
    }

    /// The first hole at or after `from` that begins below `until`, cut off there: (start, end).
    pub fn next_hole(&self, from: u64, until: u64) -> Option<(u64, u64)> {
        let start = self.containing(from).map_or(from, |(_, e)| e);
        if start >= until {
            return None;
        }
        let end = self.ranges.range(start..).next().map_or(until, |(&s, _)| s.min(until));
        Some((start, end))
    }

    /// Bytes of the set inside `from..until`; costs the ranges there.
    pub fn bytes_within(&self, from: u64, until: u64) -> u64 {
        if from >= until {
            return 0;
        }
        let head = self.containing(from).map_or(0, |(_, e)| e.min(until) - from);
        let rest: u64 = self.ranges.range(from + 1..until).map(|(&s, &e)| e.min(until) - s).sum();
        head + rest
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
        fn behaves_as_a_set_of_bytes(operations in prop::collection::vec((0u64..60, 1u64..12, prop::bool::weighted(0.15)), 1..60)) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (at, len, remove) in operations {
                if remove {
                    set.remove_below(at);
                    model.retain(|b| *b >= at);
                } else {
                    let mut fresh = Vec::new();
                    set.insert(at, at + len, |s, e| fresh.extend(s..e));
                    let expected: Vec<u64> = (at..at + len).filter(|b| !model.contains(b)).collect();
                    prop_assert_eq!(fresh, expected);
                    model.extend(at..at + len);
                }
                let held: Vec<u64> = set.ranges.iter().flat_map(|(&s, &e)| s..e).collect();
                prop_assert_eq!(held, model.iter().copied().collect::<Vec<_>>());
                let mut previous_end = None;
                for (&s, &e) in &set.ranges {
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

//! A set of byte ranges: what the receiver holds out of order, what the sender knows to be SACKed.
//!
//! The ranges lie in order in blocks of bounded size, full ones but where something was put in between, so that a range costs
//! little more than its 16 bytes (a tree map takes 40) however many thousands a window has lost. Finding one is a binary search
//! over the blocks and one inside a block; putting one in or taking one out moves at most a block. At both ends, where nearly all
//! of the work is, nothing moves.

use std::collections::VecDeque;

/// The most ranges in a block.
const BLOCK: usize = if cfg!(test) { 4 } else { 128 };

/// Half open: start, end.
type Range = (u64, u64);

/// Disjoint, non-adjacent half-open ranges of offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RangeSet {
    /// None of them is empty.
    blocks: VecDeque<VecDeque<Range>>,
}

/// A place in the set: block, and range in it.
type Place = (usize, usize);

impl RangeSet {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How many ranges there are, but no more than `most`.
    pub fn count_up_to(&self, most: usize) -> usize {
        self.blocks.iter().flatten().take(most).count()
    }

    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// The place of the first range that ends at or after `offset` (behind the last, if none does).
    fn first_reaching(&self, offset: u64) -> Place {
        // What is asked for is nearly always in the first block or the last.
        let last = self.blocks.len().saturating_sub(1);
        let before = |block: &VecDeque<Range>| block.back().is_some_and(|r| r.1 < offset);
        let block = match self.blocks.front() {
            Some(first) if !before(first) => 0,
            Some(_) if last > 0 && before(&self.blocks[last - 1]) => last,
            _ => self.blocks.partition_point(before),
        };
        let Some(ranges) = self.blocks.get(block) else { return (block, 0) };
        // And there it is the first range or the last.
        let len = ranges.len();
        let within = match ranges.front() {
            Some(first) if first.1 >= offset => 0,
            _ if len > 1 && ranges[len - 2].1 < offset => len - usize::from(ranges[len - 1].1 >= offset),
            _ => ranges.partition_point(|r| r.1 < offset),
        };
        if within == len { (block + 1, 0) } else { (block, within) }
    }

    #[inline]
    fn get(&self, (block, within): Place) -> Option<Range> {
        self.blocks.get(block).and_then(|ranges| ranges.get(within)).copied()
    }

    /// The place behind that of a range.
    #[inline]
    fn after(&self, (block, within): Place) -> Place {
        if within + 1 < self.blocks[block].len() { (block, within + 1) } else { (block + 1, 0) }
    }

    fn remove(&mut self, (block, within): Place) {
        self.blocks[block].remove(within);
        if self.blocks[block].is_empty() {
            self.blocks.remove(block);
        }
    }

    fn put(&mut self, (block, within): Place, range: Range) {
        // Behind the end of one block is before the start of the next: the block that is there already takes it.
        let (block, within) = if within == 0 && block > 0 { (block - 1, self.blocks[block - 1].len()) } else { (block, within) };
        let Some(ranges) = self.blocks.get_mut(block) else {
            self.blocks.push_back(VecDeque::from([range]));
            return;
        };
        if ranges.len() < BLOCK {
            if ranges.len() == ranges.capacity() {
                // Small sets stay small.
                ranges.reserve_exact((ranges.len() + 4).min(BLOCK - ranges.len()));
            }
            ranges.insert(within, range);
        } else if within == BLOCK {
            self.blocks.insert(block + 1, VecDeque::from([range]));
        } else {
            let rest = ranges.split_off(BLOCK / 2);
            let (at, within) = if within <= BLOCK / 2 { (block, within) } else { (block + 1, within - BLOCK / 2) };
            self.blocks.insert(block + 1, rest);
            self.blocks[at].insert(within, range);
        }
    }

    /// Adds `start..end`; calls `fresh` with each piece that was not in the set before, in order.
    pub fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let place = self.first_reaching(start);
        let Some(first) = self.get(place).filter(|first| first.0 <= end) else {
            fresh(start, end);
            self.put(place, (start, end));
            return;
        };
        if start < first.0 {
            fresh(start, first.0);
        }
        let mut merged = (start.min(first.0), first.1);
        // Ranges after the first that the new one reaches, too.
        let next = |set: &Self, place: Place| {
            let after = set.after(place);
            set.get(after).filter(|range| range.0 <= end).map(|range| (after, range))
        };
        while let Some((after, range)) = next(self, place) {
            fresh(merged.1, range.0);
            merged.1 = range.1;
            self.remove(after);
        }
        if merged.1 < end {
            fresh(merged.1, end);
            merged.1 = end;
        }
        self.blocks[place.0][place.1] = merged;
    }

    /// Takes `start..end` out; how many bytes of it were in the set.
    pub fn remove_within(&mut self, start: u64, end: u64) -> u64 {
        let mut gone = 0;
        let mut place = self.first_reaching(start + 1);
        while let Some((s, e)) = self.get(place).filter(|range| range.0 < end) {
            gone += e.min(end) - s.max(start);
            match (s < start, e > end) {
                (false, false) => {
                    self.remove(place);
                    place = self.first_reaching(start + 1);
                }
                (false, true) => self.blocks[place.0][place.1].0 = end,
                (true, cut) => {
                    self.blocks[place.0][place.1].1 = start;
                    if cut {
                        self.put((place.0, place.1 + 1), (end, e));
                    }
                    place = self.first_reaching(start + 1);
                }
            }
        }
        gone
    }

    /// Removes everything below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        while let Some(block) = self.blocks.front_mut() {
            match block.front_mut() {
                Some(range) if range.1 > offset => {
                    range.0 = range.0.max(offset);
                    return;
                }
                Some(_) => {
                    block.pop_front();
                }
                None => {
                    self.blocks.pop_front();
                }
            }
        }
    }

    /// The lowest range.
    #[inline]
    pub fn first(&self) -> Option<Range> {
        self.get((0, 0))
    }

    /// The highest offset in the set, plus one.
    pub fn end(&self) -> Option<u64> {
        self.blocks.back().and_then(VecDeque::back).map(|range| range.1)
    }

    /// Ranges from the highest down.
    pub fn descending(&self) -> impl Iterator<Item = Range> + '_ {
        self.blocks.iter().rev().flat_map(|block| block.iter().rev()).copied()
    }

    /// The range that holds `offset`.
    pub fn containing(&self, offset: u64) -> Option<Range> {
        self.get(self.first_reaching(offset + 1)).filter(|range| range.0 <= offset)
    }

    /// The first hole at or after `from` that begins below `until`, cut off there: (start, end).
    pub fn next_hole(&self, from: u64, until: u64) -> Option<Range> {
        if from >= until {
            return None;
        }
        let place = self.first_reaching(from + 1);
        let (start, next) = match self.get(place) {
            Some(range) if range.0 <= from => (range.1, self.get(self.after(place))),
            next => (from, next),
        };
        (start < until).then(|| (start, next.map_or(until, |range| range.0.min(until))))
    }

    /// Bytes of the set inside `from..until`; costs the ranges there.
    pub fn bytes_within(&self, from: u64, until: u64) -> u64 {
        if from >= until {
            return 0;
        }
        let mut bytes = 0;
        let mut place = self.first_reaching(from + 1);
        while let Some(range) = self.get(place).filter(|range| range.0 < until) {
            bytes += range.1.min(until) - range.0.max(from);
            place = self.after(place);
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
                    set.insert(at, at + len, |s, e| fresh.extend(s..e));
                    let expected: Vec<u64> = (at..at + len).filter(|b| !model.contains(b)).collect();
                    prop_assert_eq!(fresh, expected);
                    model.extend(at..at + len);
                }
                let held: Vec<u64> = set.blocks.iter().flatten().flat_map(|r| r.0..r.1).collect();
                prop_assert!(set.blocks.iter().all(|b| !b.is_empty() && b.len() <= BLOCK));
                prop_assert_eq!(held, model.iter().copied().collect::<Vec<_>>());
                let mut previous_end = None;
                for &(s, e) in set.blocks.iter().flatten() {
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

//! What was sent again: when, by offset and in order of time.

use std::collections::{BTreeMap, VecDeque};

use crate::time::Time;

/// When something was sent, told apart from all else of the same instant: first transmissions by where they end (and serial 0),
/// retransmissions by what had been sent for the first time before them, and by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Order {
    pub sent: Time,
    pub position: u64,
    pub serial: u64,
}

/// One retransmission, or several in a row at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Again {
    pub start: u64,
    pub end: u64,
    pub order: Order,
}

/// The newest retransmission of every byte that was sent again and has not arrived, by offset; and, in order of time, those that are
/// not known to be lost. Only retransmissions cost anything here.
#[derive(Clone, Debug, Default)]
pub(super) struct Retransmissions {
    /// Start, to end and time.
    newest: BTreeMap<u64, (u64, Order)>,
    /// Parts of these may have arrived, or may have been sent again later: `newest` then says otherwise.
    in_time: VecDeque<Again>,
    serial: u64,
}

impl Retransmissions {
    /// Whether nothing that was sent again is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.newest.is_empty()
    }

    /// `start..end` leaves again, when everything below `max` has been sent.
    pub fn sent(&mut self, start: u64, end: u64, max: u64, now: Time) {
        self.take(start, end, |_| {});
        self.serial += 1;
        let mut order = Order { sent: now, position: max, serial: self.serial };
        match self.in_time.back_mut() {
            Some(last) if last.end == start && (last.order.sent, last.order.position) == (now, max) => {
                last.end = end;
                order = last.order;
            }
            _ => self.in_time.push_back(Again { start, end, order }),
        }
        match self.newest.range_mut(..start).next_back() {
            Some((_, entry)) if *entry == (start, order) => entry.0 = end,
            _ => {
                self.newest.insert(start, (end, order));
            }
        }
    }

    /// Cuts an entry in two at `offset`.
    fn cut(&mut self, offset: u64) {
        if let Some((_, entry)) = self.newest.range_mut(..offset).next_back()
            && entry.0 > offset
        {
            let (end, order) = *entry;
            entry.0 = offset;
            self.newest.insert(offset, (end, order));
        }
    }

    /// `start..end` has arrived: what of it was sent again is forgotten, and told to `gone` in order.
    pub fn take(&mut self, start: u64, end: u64, mut gone: impl FnMut(Again)) {
        if self.newest.is_empty() {
            return;
        }
        self.cut(start);
        self.cut(end);
        while let Some((&at, &(until, order))) = self.newest.range(start..end).next() {
            self.newest.remove(&at);
            gone(Again { start: at, end: until, order });
        }
        if self.newest.is_empty() {
            self.in_time.clear();
        }
    }

    /// What of `start..end` was sent again, in order.
    pub fn within(&self, start: u64, end: u64) -> impl Iterator<Item = Again> + '_ {
        let before = self.newest.range(..start).next_back();
        before.into_iter().chain(self.newest.range(start..end)).filter_map(move |(&at, &(until, order))| {
            let (start, end) = (at.max(start), until.min(end));
            (start < end).then_some(Again { start, end, order })
        })
    }

    /// The oldest retransmission of which something has neither arrived nor been sent again since nor been called lost.
    pub fn oldest(&mut self) -> Option<Again> {
        while let Some(&oldest) = self.in_time.front() {
            if self.within(oldest.start, oldest.end).any(|piece| piece.order == oldest.order) {
                return Some(oldest);
            }
            self.in_time.pop_front();
        }
        None
    }

    /// The oldest one below `end` has been called lost.
    pub fn judged(&mut self, end: u64) {
        if let Some(oldest) = self.in_time.front_mut() {
            oldest.start = end;
            if oldest.start >= oldest.end {
                self.in_time.pop_front();
            }
        }
    }

    /// None has been called lost: all are to be judged again.
    pub fn judge_again(&mut self) {
        self.in_time = self.newest.iter().map(|(&start, &(end, order))| Again { start, end, order }).collect();
        self.in_time.make_contiguous().sort_by_key(|again| (again.order, again.end));
    }

    /// All have been called lost.
    pub fn all_judged(&mut self) {
        self.in_time.clear();
    }

    /// Bytes of `ranges` that were sent again and have not arrived.
    pub fn bytes_among(&self, ranges: impl Iterator<Item = (u64, u64)>) -> u64 {
        ranges.flat_map(|(start, end)| self.within(start, end)).map(|again| again.end - again.start).sum()
    }

    /// Bytes that were sent again and have not arrived.
    pub fn bytes(&self) -> u64 {
        self.newest.iter().map(|(start, (end, _))| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn the_oldest_still_out_comes_first() {
        let mut r = Retransmissions::default();
        let oldest = |r: &mut Retransmissions| r.oldest().map(|o| (o.start, o.end, o.order.sent));
        r.sent(10, 20, 90, at(1));
        r.sent(20, 30, 90, at(1));
        r.sent(50, 60, 90, at(2));
        // Sent again later: the first is no longer what counts of 10..20.
        r.sent(10, 20, 90, at(3));
        assert_eq!(oldest(&mut r), Some((10, 30, at(1))));
        r.take(20, 30, |gone| assert_eq!(gone.order.sent, at(1)));
        assert_eq!(oldest(&mut r), Some((50, 60, at(2))));
        r.judged(60);
        assert_eq!(oldest(&mut r), Some((10, 20, at(3))));
        assert_eq!(r.bytes(), 20);
        r.judge_again();
        assert_eq!(oldest(&mut r), Some((50, 60, at(2))));
    }

    proptest! {
        /// Against the time of each byte.
        #[test]
        fn knows_the_newest_time_of_each_byte(steps in prop::collection::vec((0u64..40, 1u64..12, prop::bool::weighted(0.4)), 1..60)) {
            let mut r = Retransmissions::default();
            let mut model: BTreeMap<u64, Time> = BTreeMap::new();
            for (n, (start, len, arrives)) in steps.into_iter().enumerate() {
                let end = start + len;
                if arrives {
                    let mut gone = Vec::new();
                    r.take(start, end, |g| gone.extend((g.start..g.end).map(|b| (b, g.order.sent))));
                    let expected: Vec<_> = (start..end).filter_map(|b| model.remove(&b).map(|t| (b, t))).collect();
                    prop_assert_eq!(gone, expected);
                } else {
                    let now = at(n as u64 / 2);
                    r.sent(start, end, 99, now);
                    model.extend((start..end).map(|b| (b, now)));
                }
                let held: Vec<_> = r.within(5, 45).flat_map(|g| (g.start..g.end).map(move |b| (b, g.order.sent))).collect();
                prop_assert_eq!(held, model.range(5..45).map(|(b, t)| (*b, *t)).collect::<Vec<_>>());
                prop_assert_eq!(r.bytes(), model.len() as u64);
                prop_assert_eq!(r.oldest().map(|o| o.order.sent), model.values().min().copied());
            }
        }
    }
}

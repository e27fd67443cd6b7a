//! What was sent again: when, by offset and in order of time.

use std::collections::{BTreeMap, VecDeque};

use crate::time::Time;

/// One retransmission, or several in a row at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Again {
    pub start: u64,
    pub end: u64,
    pub sent: Time,
}

/// The newest retransmission of every byte that was sent again and has not arrived, by offset; and, in order of time, those that are
/// not known to be lost. Only retransmissions cost anything here.
#[derive(Clone, Debug, Default)]
pub(super) struct Retransmissions {
    /// Start, to end and time.
    newest: BTreeMap<u64, (u64, Time)>,
    /// Parts of these may have arrived, or may have been sent again later: `newest` then says otherwise.
    in_time: VecDeque<Again>,
}

impl Retransmissions {
    /// Whether nothing that was sent again is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.newest.is_empty()
    }

    /// `start..end` leaves again.
    pub fn sent(&mut self, start: u64, end: u64, now: Time) {
        self.take(start, end, |_| {});
        let joined = self.newest.range_mut(..start).next_back().filter(|(_, entry)| **entry == (start, now));
        match joined {
            Some((_, entry)) => entry.0 = end,
            None => {
                self.newest.insert(start, (end, now));
            }
        }
        match self.in_time.back_mut() {
            Some(last) if last.sent == now && last.end == start => last.end = end,
            _ => {
                // Of one instant, what ends lower comes first (RFC 8985 §6.2 step 2).
                let later = self.in_time.iter().rev().take_while(|entry| entry.sent == now && entry.end > end).count();
                self.in_time.insert(self.in_time.len() - later, Again { start, end, sent: now });
            }
        }
    }

    /// Cuts an entry in two at `offset`.
    fn cut(&mut self, offset: u64) {
        if let Some((_, entry)) = self.newest.range_mut(..offset).next_back()
            && entry.0 > offset
        {
            let (end, sent) = *entry;
            entry.0 = offset;
            self.newest.insert(offset, (end, sent));
        }
    }

    /// `start..end` has arrived: what of it was sent again is forgotten, and told to `gone` in order.
    pub fn take(&mut self, start: u64, end: u64, mut gone: impl FnMut(Again)) {
        if self.newest.is_empty() {
            return;
        }
        self.cut(start);
        self.cut(end);
        while let Some((&at, &(until, sent))) = self.newest.range(start..end).next() {
            self.newest.remove(&at);
            gone(Again { start: at, end: until, sent });
        }
        if self.newest.is_empty() {
            self.in_time.clear();
        }
    }

    /// What of `start..end` was sent again, in order.
    pub fn within(&self, start: u64, end: u64) -> impl Iterator<Item = Again> + '_ {
        let before = self.newest.range(..start).next_back();
        before.into_iter().chain(self.newest.range(start..end)).filter_map(move |(&at, &(until, sent))| {
            let (start, end) = (at.max(start), until.min(end));
            (start < end).then_some(Again { start, end, sent })
        })
    }

    /// The oldest retransmission of which something has neither arrived nor been sent again since nor been called lost.
    pub fn oldest(&mut self) -> Option<Again> {
        while let Some(&oldest) = self.in_time.front() {
            if self.within(oldest.start, oldest.end).any(|piece| piece.sent == oldest.sent) {
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
        self.in_time = self.newest.iter().map(|(&start, &(end, sent))| Again { start, end, sent }).collect();
        self.in_time.make_contiguous().sort_by_key(|again| (again.sent, again.end));
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
        r.sent(10, 20, at(1));
        r.sent(20, 30, at(1));
        r.sent(50, 60, at(2));
        // Sent again later: the first is no longer what counts of 10..20.
        r.sent(10, 20, at(3));
        assert_eq!(r.oldest(), Some(Again { start: 10, end: 30, sent: at(1) }));
        r.take(20, 30, |gone| assert_eq!(gone.sent, at(1)));
        assert_eq!(r.oldest().unwrap().sent, at(2));
        r.judged(60);
        assert_eq!(r.oldest().unwrap(), Again { start: 10, end: 20, sent: at(3) });
        assert_eq!(r.bytes(), 20);
        r.judge_again();
        assert_eq!(r.oldest().unwrap().sent, at(2));
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
                    r.take(start, end, |g| gone.extend((g.start..g.end).map(|b| (b, g.sent))));
                    let expected: Vec<_> = (start..end).filter_map(|b| model.remove(&b).map(|t| (b, t))).collect();
                    prop_assert_eq!(gone, expected);
                } else {
                    let now = at(n as u64 / 2);
                    r.sent(start, end, now);
                    model.extend((start..end).map(|b| (b, now)));
                }
                let held: Vec<_> = r.within(5, 45).flat_map(|g| (g.start..g.end).map(move |b| (b, g.sent))).collect();
                prop_assert_eq!(held, model.range(5..45).map(|(b, t)| (*b, *t)).collect::<Vec<_>>());
                prop_assert_eq!(r.bytes(), model.len() as u64);
                prop_assert_eq!(r.oldest().map(|o| o.sent), model.values().min().copied());
            }
        }
    }
}

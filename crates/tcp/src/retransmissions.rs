//! Retransmissions: when they were sent, by offset and in order of time.

use std::collections::VecDeque;

use crate::blocks::{self, Blocks, Place};
use longfat_core::time::Time;

/// When something was sent, told apart from all else of the same instant: first transmissions by where they end (and serial 0),
/// retransmissions by what had been sent for the first time before them, and by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Order {
    pub sent: Time,
    pub position: u64,
    pub serial: u32,
}

/// One retransmission, or several in a row at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Retransmission {
    pub start: u64,
    pub end: u64,
    pub order: Order,
}

/// Retransmission as it is kept. A window is of no more than 1 GiB, so that 32 bits hold what is measured against it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Newest {
    start: u64,
    sent: Time,
    len: u32,
    /// From `start` to the position of its order.
    ahead: u32,
    serial: u32,
}

impl Newest {
    fn new(Retransmission { start, end, order }: Retransmission) -> Self {
        Newest { start, sent: order.sent, len: (end - start) as u32, ahead: (order.position - start) as u32, serial: order.serial }
    }

    fn retransmission(self) -> Retransmission {
        let order = Order { sent: self.sent, position: self.start + u64::from(self.ahead), serial: self.serial };
        Retransmission { start: self.start, end: self.start + u64::from(self.len), order }
    }
}

impl blocks::Piece for Newest {
    #[inline]
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// One that is not known to be lost: by its serial, `newest` tells when it was sent.
#[derive(Clone, Copy, Debug)]
struct Unjudged {
    start: u64,
    len: u32,
    serial: u32,
}

impl Unjudged {
    fn end(self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// The newest retransmission of every byte that was retransmitted and has not arrived, by offset; and, in order of time, those that are
/// not known to be lost. Only retransmissions cost anything here.
#[derive(Clone, Debug, Default)]
pub(super) struct Retransmissions {
    newest: Blocks<Newest>,
    /// Parts of these may have arrived, or may have been retransmitted later: `newest` then says otherwise.
    in_time: VecDeque<Unjudged>,
    /// Order of the last retransmission.
    last: Option<Order>,
}

impl Retransmissions {
    /// Returns true if no retransmission is outstanding.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.is_empty()
    }

    /// `start..end` leaves again, when everything below `max` has been sent.
    pub(crate) fn sent(&mut self, start: u64, end: u64, max: u64, now: Time) {
        self.take(start, end, |_| {});
        let serial = self.last.map_or(0, |last| last.serial).checked_add(1).expect("fewer than 2^32 retransmissions");
        let mut order = Order { sent: now, position: max, serial };
        match (self.in_time.back_mut(), self.last) {
            (Some(back), Some(last)) if back.serial == last.serial && back.end() == start && (last.sent, last.position) == (now, max) => {
                back.len += (end - start) as u32;
                order = last;
            }
            _ => {
                if self.in_time.len() == self.in_time.capacity() {
                    // Grows by an eighth: after an overshoot these are a good part of a connection's memory.
                    self.in_time.reserve_exact(16 + self.in_time.len() / 8);
                }
                self.in_time.push_back(Unjudged { start, len: (end - start) as u32, serial });
            }
        }
        self.last = Some(order);
        let place = self.newest.first_reaching(start);
        if let Some(before) =
            self.newest.get(place).map(Newest::retransmission).filter(|before| (before.end, before.order) == (start, order))
        {
            *self.newest.at(place) = Newest::new(Retransmission { end, ..before });
        } else {
            let place = self.first_beyond(start);
            self.newest.put(place, Newest::new(Retransmission { start, end, order }));
        }
    }

    /// The place of the first that ends beyond `offset`.
    fn first_beyond(&self, offset: u64) -> Place {
        self.newest.first_reaching(offset + 1)
    }

    /// Cuts an entry in two at `offset`.
    fn cut(&mut self, offset: u64) {
        let place = self.first_beyond(offset);
        if let Some(whole) = self.newest.get(place).map(Newest::retransmission).filter(|whole| whole.start < offset) {
            *self.newest.at(place) = Newest::new(Retransmission { end: offset, ..whole });
            self.newest.put(self.newest.after(place), Newest::new(Retransmission { start: offset, ..whole }));
        }
    }

    /// `start..end` has arrived: what of it was retransmitted is forgotten, and told to `gone` in order.
    pub(crate) fn take(&mut self, start: u64, end: u64, mut gone: impl FnMut(Retransmission)) {
        if self.newest.is_empty() {
            return;
        }
        self.cut(start);
        self.cut(end);
        let mut place = self.first_beyond(start);
        while let Some(newest) = self.newest.get(place).filter(|newest| newest.start < end) {
            place = self.newest.remove(place);
            gone(newest.retransmission());
        }
        if self.newest.is_empty() {
            self.in_time.clear();
        }
    }

    /// Returns the retransmissions within `start..end`, in order.
    pub(crate) fn within(&self, start: u64, end: u64) -> impl Iterator<Item = Retransmission> + '_ {
        let mut place = self.first_beyond(start);
        std::iter::from_fn(move || {
            let retransmission = self.newest.get(place)?.retransmission();
            place = self.newest.after(place);
            Some(retransmission)
        })
        .map_while(move |Retransmission { start: from, end: until, order }| {
            (from < end).then(|| Retransmission { start: from.max(start), end: until.min(end), order })
        })
    }

    /// The oldest retransmission of which something has neither arrived nor been retransmitted since nor been called lost.
    pub(crate) fn oldest(&mut self) -> Option<Retransmission> {
        while let Some(&oldest) = self.in_time.front() {
            if let Some(piece) = self.within(oldest.start, oldest.end()).find(|piece| piece.order.serial == oldest.serial) {
                return Some(Retransmission { start: oldest.start, end: oldest.end(), order: piece.order });
            }
            self.in_time.pop_front();
        }
        None
    }

    /// The oldest one below `end` has been called lost.
    pub(crate) fn judged(&mut self, end: u64) {
        if let Some(oldest) = self.in_time.front_mut() {
            if oldest.end() <= end {
                self.in_time.pop_front();
            } else {
                oldest.len = (oldest.end() - end) as u32;
                oldest.start = end;
            }
        }
    }

    /// None has been called lost: all are to be judged again.
    pub(crate) fn judge_again(&mut self) {
        let mut all: Vec<Retransmission> = self.newest.iter().map(Newest::retransmission).collect();
        all.sort_by_key(|retransmission| (retransmission.order, retransmission.end));
        let unjudged = |retransmission: Retransmission| Unjudged {
            start: retransmission.start,
            len: (retransmission.end - retransmission.start) as u32,
            serial: retransmission.order.serial,
        };
        self.in_time = all.into_iter().map(unjudged).collect();
    }

    /// All have been called lost.
    pub(crate) fn all_judged(&mut self) {
        self.in_time.clear();
    }

    /// Bytes of `ranges` that were retransmitted and have not arrived.
    pub(crate) fn bytes_among(&self, ranges: impl Iterator<Item = (u64, u64)>) -> u64 {
        ranges.flat_map(|(start, end)| self.within(start, end)).map(|retransmission| retransmission.end - retransmission.start).sum()
    }

    /// Bytes that were retransmitted and have not arrived.
    pub(crate) fn bytes(&self) -> u64 {
        self.newest.iter().map(|newest| u64::from(newest.len)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use longfat_core::time::Duration;
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
        // Retransmitted later: the first is no longer what counts of 10..20.
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

//! Send times of first transmissions until they are known to have arrived: from them round trips are measured.

use std::collections::VecDeque;

use longfat_core::time::Time;

/// Times of first transmission, in order. What leaves at one instant is one entry, and what can no longer be measured is
/// forgotten: the log is no longer than what is on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct SentLog {
    /// Start of the first entry.
    from: u64,
    /// End offset, and when; each entry begins where the one before it ends.
    entries: VecDeque<(u64, Time)>,
    /// Karn: nothing is measured below this offset, where something was sent more than once.
    ambiguous_until: u64,
}

impl SentLog {
    /// `start..end` is sent for the first time.
    #[inline]
    pub(crate) fn sent(&mut self, start: u64, end: u64, now: Time) {
        match self.entries.back_mut() {
            Some(last) if last.1 == now => {
                last.0 = end;
                return;
            }
            Some(_) => {}
            None => self.from = start,
        }
        self.make_room();
        self.entries.push_back((end, now));
    }

    /// Grows the log by an eighth: a window of many thousands of segments is most of a connection's memory.
    #[inline]
    fn make_room(&mut self) {
        if self.is_full() {
            self.entries.reserve_exact(8 + self.entries.len() / 8);
        }
    }

    /// Returns true if the next entry needs more memory, or [`Self::forget_arrived`].
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    /// Makes room: while a hole at the left edge waits to be filled, nearly all beyond it arrives, which `arrived` tells of the bytes from
    /// one offset to another. The entry behind what is forgotten then begins earlier, where nothing is asked about.
    #[cold]
    pub(crate) fn forget_arrived(&mut self, arrived: impl Fn(u64, u64) -> bool) {
        let (mut start, mut left) = (self.from, self.entries.len());
        self.entries.retain(|&(end, _)| {
            left -= 1;
            // The last one stays: every byte that was sent has an entry.
            let keeps = left == 0 || !arrived(start, end);
            start = end;
            keeps
        });
        // Entries left may fill it again soon.
        if self.entries.capacity() - self.entries.len() < 8 + self.entries.len() / 8 {
            self.entries.reserve_exact(8 + self.entries.len() / 8);
        }
    }

    /// Something up to `end` is retransmitted.
    pub(crate) fn sent_again(&mut self, end: u64) {
        self.ambiguous_until = self.ambiguous_until.max(end);
        self.forget_below(self.ambiguous_until);
    }

    /// Returns true if nothing from `offset` on was sent more than once.
    #[inline]
    pub(crate) fn is_clear(&self, offset: u64) -> bool {
        offset >= self.ambiguous_until
    }

    /// All up to `offset` has arrived, cumulatively or by SACK: when the first and the last of it that is in the log were sent.
    #[inline]
    pub(crate) fn arrived(&mut self, offset: u64) -> Option<(Time, Time)> {
        if offset <= self.from {
            return None;
        }
        let first = self.entries.front()?.1;
        let mut last = first;
        while let Some(&(end, sent)) = self.entries.front() {
            last = sent;
            if end > offset {
                break;
            }
            self.from = end;
            self.entries.pop_front();
            if end == offset {
                break;
            }
        }
        Some((first, last))
    }

    /// When the byte at `offset`, which has been sent and not yet taken out by [`Self::arrived`], was sent for the first time, and
    /// the end of what left with it.
    #[inline]
    pub(crate) fn at(&self, offset: u64) -> (u64, Time) {
        // Nearly always it is what was sent last, or first.
        let last = self.entries.len() - 1;
        let at = match self.entries.front() {
            Some(first) if first.0 > offset => 0,
            _ if last > 0 && self.entries[last - 1].0 <= offset => last,
            _ => self.entries.partition_point(|entry| entry.0 <= offset),
        };
        self.entries[at]
    }

    fn forget_below(&mut self, offset: u64) {
        while let Some(&(end, _)) = self.entries.front()
            && end <= offset
        {
            self.from = end;
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::time::Duration;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn gives_the_times_of_what_arrived() {
        let mut log = SentLog::default();
        log.sent(1, 11, at(1));
        log.sent(11, 21, at(1));
        log.sent(21, 31, at(2));
        log.sent(31, 41, at(3));
        // Part of the entry of 1 ms, then the rest of it and some of the next; nothing twice.
        assert_eq!(log.arrived(11), Some((at(1), at(1))));
        assert_eq!(log.arrived(25), Some((at(1), at(2))));
        assert_eq!(log.arrived(31), Some((at(2), at(2))));
        assert_eq!(log.arrived(31), None);
        assert_eq!(log.arrived(41), Some((at(3), at(3))));
        assert_eq!(log.arrived(99), None);
        assert!(log.entries.is_empty());
    }

    #[test]
    fn forgets_what_arrived_beyond_a_hole() {
        let mut log = SentLog::default();
        for n in 0..10 {
            log.sent(10 * n, 10 * n + 10, at(n));
        }
        // All but 0..10, and half of 50..60.
        log.forget_arrived(|start, end| start >= 10 && !(start < 55 && end > 50));
        assert_eq!(log.entries, [(10, at(0)), (60, at(5)), (100, at(9))]);
        assert_eq!([5, 52, 99].map(|offset| log.at(offset).1), [at(0), at(5), at(9)]);
        assert!(!log.is_full());
        // Twice does no more harm than once.
        log.forget_arrived(|start, _| start >= 10);
        assert_eq!(log.entries, [(10, at(0)), (100, at(9))]);
    }

    #[test]
    fn forgets_what_was_sent_again() {
        let mut log = SentLog::default();
        for n in 0..10 {
            log.sent(10 * n, 10 * n + 10, at(n));
        }
        log.sent_again(45);
        assert!(!log.is_clear(44) && log.is_clear(45));
        assert_eq!(log.entries.len(), 6);
        // Rest of the entry that reaches beyond begins at 40.
        assert_eq!(log.arrived(40), None);
        assert_eq!(log.arrived(100), Some((at(4), at(9))));
    }
}

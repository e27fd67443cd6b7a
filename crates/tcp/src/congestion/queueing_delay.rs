//! Queueing delay as LEDBAT measures it (RFC 6817 §3.1): the filtered delay of now over the least delay of the last minutes.

use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::{Duration, Time};
use std::collections::VecDeque;

/// Minutes of minima. RFC 6817 §2.5: BASE_HISTORY is 10.
pub(super) const BASE_HISTORY: ParamSpec = ParamSpec {
    name: "base_history",
    kind: Kind::Count { unit: "", min: 2, max: 20 },
    default: Some(Value::Count(10)),
    doc: "minutes whose least delay counts as that of an empty path",
};
/// Samples under the filter: RFC 6817 §2.5 leaves their number open (CURRENT_FILTER, one or more).
pub(super) const CURRENT_FILTER: ParamSpec = ParamSpec {
    name: "current_filter",
    kind: Kind::Count { unit: "samples", min: 1, max: 64 },
    default: Some(Value::Count(4)),
    doc: "delays whose least counts as that of now; none is older than a round trip",
};
/// Period of one minimum.
const MINUTE: Duration = Duration::from_secs(60);

/// The least delays of past minutes, and the delays of now. Delays are in ps, up to a constant.
#[derive(Clone, Debug)]
pub(super) struct QueueingDelay {
    history: usize,
    filter: usize,
    /// One minimum for each minute in which something was measured, the newest last.
    base: VecDeque<i64>,
    minute: Option<u64>,
    current: VecDeque<(Time, i64)>,
}

impl QueueingDelay {
    pub(super) fn new(history: u64, filter: u64) -> Self {
        let (history, filter) = (history as usize, filter as usize);
        QueueingDelay { history, filter, base: VecDeque::with_capacity(history), minute: None, current: VecDeque::with_capacity(filter) }
    }

    /// Takes in a delay measured at `now` by data sent a round trip of `rtt` before.
    pub(super) fn measure(&mut self, now: Time, delay: i64, rtt: Duration) {
        // RFC 6817 §2.4.2, update_base_delay: a new minimum begins with each minute.
        let minute = now.as_ps() / MINUTE.as_ps();
        match self.base.back_mut() {
            Some(least) if self.minute == Some(minute) => *least = delay.min(*least),
            _ => {
                if self.base.len() == self.history {
                    self.base.pop_front();
                }
                self.base.push_back(delay);
                self.minute = Some(minute);
            }
        }
        // RFC 6817 §2.5: as many samples as the filter takes, none of them older than a round trip.
        while self.current.len() == self.filter || self.current.front().is_some_and(|(at, _)| now.since(*at) > rtt) {
            self.current.pop_front();
        }
        self.current.push_back((now, delay));
    }

    /// The least delay of the history, in ps; `None` before the first.
    pub(super) fn base(&self) -> Option<i64> {
        self.base.iter().copied().min()
    }

    /// FILTER(current_delays) - MIN(base_delays), with the least as the filter: an ACK that the receiver held does not count, nor does
    /// one that a burst delayed.
    pub(super) fn get(&self) -> Option<Duration> {
        let current = self.current.iter().map(|(_, delay)| *delay).min()?;
        Some(Duration::from_ps((current - self.base()?).max(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: i64) -> i64 {
        n * 1_000_000_000
    }

    /// A delay of so many ms each, at these times in seconds: the queueing delay after each, in ms.
    fn delays(history: u64, filter: u64, samples: &[(u64, i64)]) -> Vec<u64> {
        let mut delay = QueueingDelay::new(history, filter);
        let mut after = |&(s, d): &(u64, i64)| {
            delay.measure(Time::ZERO + Duration::from_secs(s), ms(d), Duration::from_secs(3));
            delay.get().unwrap().as_ps() / 1_000_000_000
        };
        samples.iter().map(&mut after).collect()
    }

    #[test]
    fn the_least_of_the_last_samples_over_the_least_of_the_last_minutes() {
        // Clocks are not synchronized: delays may be negative.
        assert_eq!(delays(2, 1, &[(0, -40), (1, 10), (2, -20)]), [0, 50, 20]);
        assert_eq!(delays(2, 3, &[(0, -40), (1, 10), (2, 20), (3, 30), (4, 30)]), [0, 0, 0, 50, 60]);
        // A filter of many holds none older than a round trip of 3 s.
        assert_eq!(delays(2, 64, &[(0, 0), (3, 9), (4, 9)]), [0, 0, 9]);
    }

    #[test]
    fn a_minimum_is_forgotten_after_its_minutes() {
        let at = |minute: u64, d| (60 * minute + 5, d);
        assert_eq!(delays(2, 1, &[at(0, 10), at(0, 30), at(1, 40), at(2, 50), at(3, 55)]), [0, 20, 30, 10, 5]);
        // Minutes without a sample are none: a minimum stands until others came.
        assert_eq!(delays(2, 1, &[at(0, 10), at(7, 30), at(8, 30)]), [0, 20, 0]);
    }
}

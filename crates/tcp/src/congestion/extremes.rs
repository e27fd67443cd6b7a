//! The least value of the last time, where a control looks back a span that it chooses.

use longfat_core::time::{Duration, Time};
use std::collections::VecDeque;

/// Candidates for the least value of a sliding span: later ones are larger. Times are counted in steps of `grain`, so that no more than
/// span over grain of them are kept.
#[derive(Clone, Debug)]
pub(super) struct Least<T> {
    grain: Duration,
    kept: VecDeque<(u64, T)>,
}

impl<T: Copy + PartialOrd> Least<T> {
    /// Times count in steps of `grain`.
    pub(super) fn new(grain: Duration) -> Self {
        Least { grain, kept: VecDeque::new() }
    }

    /// Takes in `value` at `now`, and forgets what is older than `span`; returns the least.
    #[inline]
    pub(super) fn update(&mut self, now: Time, value: T, span: Duration) -> T {
        let grain = self.grain.as_ps();
        let oldest = now.as_ps().saturating_sub(span.as_ps()) / grain;
        while self.kept.front().is_some_and(|(at, _)| *at < oldest) {
            self.kept.pop_front();
        }
        while self.kept.back().is_some_and(|(_, kept)| *kept >= value) {
            self.kept.pop_back();
        }
        let at = now.as_ps() / grain;
        // A smaller one of the same step lasts as long.
        if self.kept.back().is_none_or(|(last, _)| *last < at) {
            self.kept.push_back((at, value));
        }
        self.kept.front().map_or(value, |(_, least)| *least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_a_span_is_forgotten_when_the_span_is_over() {
        let mut least = Least::new(Duration::from_millis(1));
        let mut at = |ms: u64, value: u64| least.update(Time::ZERO + Duration::from_millis(ms), value, Duration::from_millis(10));
        assert_eq!([at(0, 5), at(4, 7), at(5, 6), at(9, 9), at(11, 9), at(16, 8), at(40, 20)], [5, 5, 5, 5, 6, 8, 20]);
    }

    #[test]
    fn no_more_is_kept_than_steps_in_the_span() {
        let mut least = Least::new(Duration::from_millis(1));
        for us in 0..100_000 {
            least.update(Time::ZERO + Duration::from_micros(us), us, Duration::from_millis(10));
        }
        assert!(least.kept.len() <= 11, "{}", least.kept.len());
    }
}

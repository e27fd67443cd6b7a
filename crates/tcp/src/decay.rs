//! Congestion window validation as RFC 2861 had it first: a window that is not used decays, by half for each rto of idleness, and
//! once an rto halfway to what was used.

use crate::validation::Adjustment;
use longfat_core::time::{Duration, Time};

/// The variables of RFC 2861 §3.1.
#[derive(Clone, Debug)]
pub(super) struct Decay {
    initial_window: u64,
    /// T_prev: when the window was last full, or decayed; at first, when something was first sent.
    since: Option<Time>,
    /// W_used: the most in flight since.
    used: u64,
}

impl Decay {
    pub(crate) fn new(initial_window: u64) -> Self {
        Decay { initial_window, since: None, used: 0 }
    }

    /// Something goes after nothing did for `idle`: the window to take, of which `most` is the peer's largest.
    pub(crate) fn idle(&mut self, now: Time, idle: Duration, rto: Duration, window: Adjustment, most: u64) -> Option<Adjustment> {
        let times = idle.as_ps() / rto.as_ps().max(1);
        if times == 0 {
            return None;
        }
        self.full(now);
        // RFC 2861 §3.2. It ends at one segment; we end at the restart window of RFC 5681 §4.1, which a new connection has as well.
        let decayed = window.cwnd.min(most) >> times.min(63);
        Some(window.decayed(decayed.max(self.initial_window.min(window.cwnd))))
    }

    /// Something was sent, and as much is in flight as cwnd allows.
    pub(crate) fn full(&mut self, now: Time) {
        (self.since, self.used) = (Some(now), 0);
    }

    /// Something was sent, nothing more is there to send, and cwnd would allow it. The window to take, if it has been so for an rto.
    pub(crate) fn short(&mut self, now: Time, rto: Duration, in_flight: u64, window: Adjustment, most: u64) -> Option<Adjustment> {
        self.used = self.used.max(in_flight);
        if now.since(*self.since.get_or_insert(now)) < rto {
            return None;
        }
        let decayed = u64::midpoint(window.cwnd.min(most), self.used);
        self.full(now);
        Some(window.decayed(decayed))
    }
}

impl Adjustment {
    /// RFC 2861 §3.1: with three quarters of what cwnd was remembered in ssthresh, slow start leads back halfway at least.
    fn decayed(self, cwnd: u64) -> Self {
        Adjustment { cwnd, ssthresh: self.ssthresh.max(self.cwnd / 4 * 3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(200);
    const NO_BOUND: u64 = 1 << 30;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn window(cwnd: u64, ssthresh: u64) -> Adjustment {
        Adjustment { cwnd, ssthresh }
    }

    #[test]
    fn idleness_halves_it_for_each_rto_down_to_the_initial_window() {
        let after = |ms: u64, cwnd: u64, most: u64| {
            let idle = Duration::from_millis(ms);
            Decay::new(10_000).idle(at(ms), idle, RTO, window(cwnd, 50_000), most)
        };
        assert_eq!(after(199, 160_000, NO_BOUND), None);
        for (ms, cwnd) in [(200, 80_000), (399, 80_000), (400, 40_000), (800, 10_000), (100_000, 10_000)] {
            assert_eq!(after(ms, 160_000, NO_BOUND), Some(window(cwnd, 120_000)), "after {ms} ms");
        }
        // The peer would not have taken more than its window; a small window is not made larger; ssthresh does not fall.
        assert_eq!(after(200, 160_000, 60_000), Some(window(30_000, 120_000)));
        assert_eq!(after(200, 6_000, NO_BOUND), Some(window(6_000, 50_000)));
    }

    #[test]
    fn a_window_used_in_part_falls_halfway_to_that_every_rto() {
        let mut decay = Decay::new(10_000);
        // A connection that begins late has not been idle before.
        assert_eq!(decay.short(at(700), RTO, 3_000, window(10_000, 50_000), NO_BOUND), None);
        decay.full(at(1_000));
        let mut short = |ms, in_flight, cwnd| decay.short(at(ms), RTO, in_flight, window(cwnd, 50_000), NO_BOUND);
        assert_eq!(short(1_100, 20_000, 100_000), None);
        assert_eq!(short(1_199, 12_000, 100_000), None);
        assert_eq!(short(1_200, 4_000, 100_000), Some(window(60_000, 75_000)));
        // Earlier use does not count again.
        assert_eq!(short(1_399, 8_000, 60_000), None);
        assert_eq!(short(1_400, 8_000, 60_000), Some(window(34_000, 50_000)));
        // Filled in between: nothing is known to be unused.
        decay.full(at(1_500));
        assert_eq!(decay.short(at(1_699), RTO, 5_000, window(34_000, 50_000), NO_BOUND), None);
    }
}

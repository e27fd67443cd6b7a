//! The clocks a stack keeps: exact, or a free-running tick with a phase of its own, as BSD's timers.

use longfat_core::time::{Duration, Time};

/// A clock that ticks every `tick`, first at `tick - phase`; a tick of zero is an exact clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    tick: u64,
    phase: u64,
}

impl Clock {
    pub(crate) fn new(tick: Duration, phase: Duration) -> Self {
        Clock { tick: tick.as_ps(), phase: if tick.is_zero() { 0 } else { phase.as_ps() % tick.as_ps() } }
    }

    /// When a timer armed now for `span` fires. With a tick: at the n-th tick from now, n = span in ticks rounded up,
    /// so up to one tick early (TCP/IP Illustrated vol. 2 §25.3: a counter that each tick decrements).
    #[inline]
    pub(crate) fn deadline(self, now: Time, span: Duration) -> Time {
        if self.tick == 0 {
            return now.saturating_add(span);
        }
        let ticks = span.as_ps().div_ceil(self.tick).max(1);
        Time::from_ps((self.ticks(now) + ticks).saturating_mul(self.tick).saturating_sub(self.phase))
    }

    /// Ticks since the start.
    #[inline]
    pub(crate) fn ticks(self, now: Time) -> u64 {
        (now.as_ps() + self.phase) / self.tick
    }

    /// Returns the time since the last tick.
    #[inline]
    pub(crate) fn since_tick(self, now: Time) -> Duration {
        Duration::from_ps((now.as_ps() + self.phase) % self.tick)
    }

    /// Returns true if this clock is exact.
    #[inline]
    pub(crate) fn is_exact(self) -> bool {
        self.tick == 0
    }

    /// The span of `ticks` ticks.
    pub(crate) fn span(self, ticks: u64) -> Duration {
        Duration::from_ps(ticks.saturating_mul(self.tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_timer_fires_on_the_nth_tick() {
        let ms = |n| Time::ZERO + Duration::from_millis(n);
        let clock = Clock::new(Duration::from_millis(500), Duration::from_millis(100));
        // Ticks at 400, 900, 1400 ms.
        assert_eq!(clock.deadline(ms(0), Duration::from_secs(1)), ms(900));
        assert_eq!(clock.deadline(ms(399), Duration::from_secs(1)), ms(900));
        assert_eq!(clock.deadline(ms(400), Duration::from_secs(1)), ms(1400));
        assert_eq!(clock.deadline(ms(400), Duration::from_millis(1)), ms(900));
        let exact = Clock::new(Duration::ZERO, Duration::from_millis(100));
        assert_eq!(exact.deadline(ms(5), Duration::from_millis(7)), ms(12));
    }
}

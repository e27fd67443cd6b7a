//! The virtual clock: the picoseconds of an experiment, told by `CLOCK_MONOTONIC`.

use longfat_core::time::Time;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::sys;

/// Nanoseconds of the clock `id`.
pub fn nanoseconds(id: ClockId) -> u64 {
    let time = clock_gettime(id).expect("every Linux has this clock");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Time zero of a run on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero_ns: u64,
}

impl Clock {
    /// Time zero is `ahead` from now.
    pub fn starting_in(ahead: std::time::Duration) -> Self {
        Clock { zero_ns: nanoseconds(ClockId::CLOCK_MONOTONIC) + ahead.as_nanos() as u64 }
    }

    /// Virtual time now; zero before the start.
    #[inline]
    pub fn now(self) -> Time {
        self.at(nanoseconds(ClockId::CLOCK_MONOTONIC))
    }

    /// Returns the time at which `CLOCK_MONOTONIC` is `ns`.
    pub fn at(self, ns: u64) -> Time {
        Time::from_ps(ns.saturating_sub(self.zero_ns) * 1000)
    }

    /// Returns `time` on `CLOCK_MONOTONIC`, in nanoseconds; never early.
    pub fn nanoseconds_at(self, time: Time) -> u64 {
        self.zero_ns.saturating_add(time.as_ps().div_ceil(1000))
    }

    /// Sleeps until `time`, however often a signal comes.
    pub fn sleep_until(self, time: Time) {
        let ns = self.nanoseconds_at(time);
        let until = nix::sys::time::TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
        while clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &until).is_err() {}
    }
}

/// Errors of the wall clock against true time, as whoever synchronises it tells the kernel (RFC 1589; adjtimex(2), `esterror` and `maxerror`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronised {
    /// Estimated error: nanoseconds.
    pub estimated_ns: u64,
    /// Bound of the error: nanoseconds.
    pub most_ns: u64,
}

impl Synchronised {
    /// Returns the errors now; `None`: nobody synchronises the clock, or the system does not tell.
    pub fn now() -> Option<Self> {
        let (state, is_synchronised) = sys::clock_state().ok()?;
        let ns = |us: libc::c_long| u64::try_from(us).map_or(0, |us| 1000 * us);
        is_synchronised.then(|| Synchronised { estimated_ns: ns(state.esterror), most_ns: ns(state.maxerror) })
    }
}

/// Drift of the run's clock against the crystal, which nobody corrects.
#[derive(Clone, Copy, Debug)]
pub struct Drift {
    monotonic_ns: u64,
    raw_ns: u64,
}

impl Drift {
    /// Starts to measure the drift.
    pub fn start() -> Self {
        Drift { monotonic_ns: nanoseconds(ClockId::CLOCK_MONOTONIC), raw_ns: nanoseconds(ClockId::CLOCK_MONOTONIC_RAW) }
    }

    /// Returns the correction of the clock since then, forward or back, in nanoseconds.
    pub fn corrected_ns(&self) -> u64 {
        let monotonic = nanoseconds(ClockId::CLOCK_MONOTONIC) - self.monotonic_ns;
        let raw = nanoseconds(ClockId::CLOCK_MONOTONIC_RAW) - self.raw_ns;
        monotonic.abs_diff(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::time::Duration;

    #[test]
    fn virtual_time_is_picoseconds_since_zero() {
        let clock = Clock { zero_ns: 5_000_000_000 };
        assert_eq!(clock.at(4_999_999_999), Time::ZERO, "before the start");
        assert_eq!(clock.at(5_000_000_003), Time::from_ps(3000));
        assert_eq!(clock.nanoseconds_at(Time::from_ps(3001)), 5_000_000_004, "not before it has come");
    }

    #[test]
    fn the_state_of_the_wall_clock_needs_no_rights() {
        // A sandbox may forbid the question; then nothing is known.
        let Ok((state, is_synchronised)) = crate::sys::clock_state() else { return assert_eq!(Synchronised::now(), None) };
        assert!(state.maxerror >= 0 && state.esterror >= 0);
        assert!(is_synchronised || Synchronised::now().is_none(), "errors of a clock that nobody synchronises mean nothing");
    }

    #[test]
    fn sleeps_until_it_is_time() {
        let clock = Clock::starting_in(std::time::Duration::ZERO);
        let until = Time::ZERO + Duration::from_millis(5);
        clock.sleep_until(until);
        assert!(clock.now() >= until);
    }
}

//! Virtual time: an instant and a span, both whole picoseconds.
//!
//! A picosecond resolves a 40-byte packet at 400 Gb/s (800 ps); a `u64` of them lasts 213 days.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant, in picoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Time(u64);

/// A span of time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Time later than every event: 213 days.
    pub const MAX: Time = Time(u64::MAX);

    /// Returns the instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Time(ps)
    }
    /// Returns the picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns the seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Returns the span from `earlier` to here; zero when `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// Returns `self + span`, or [`Time::MAX`] if that passes it.
    pub const fn saturating_add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Duration {
    /// Zero duration.
    pub const ZERO: Duration = Duration(0);
    /// Longest span: 213 days.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Duration(ps)
    }
    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Duration(us * 1_000_000)
    }
    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms * 1_000_000_000)
    }
    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Duration(s * PS_PER_S)
    }
    /// `s` seconds, rounded to the nearest picosecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        // A cast of a float to an integer saturates, and makes NaN zero, on every platform.
        Duration((s * PS_PER_S as f64 + 0.5) as u64)
    }
    /// Returns whole picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Returns `self - other`, or zero.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// Returns `self * factor`, or [`Duration::MAX`].
    pub const fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
    /// Returns true if the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0 + span.0)
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0 * factor)
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.as_secs_f64())
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.as_secs_f64())
    }
}

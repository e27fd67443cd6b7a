//! A token bucket, in exact arithmetic: what `policer`, `tbf` and `htb` share.

use crate::time::{Duration, Time};
use crate::units::Rate;

/// A token lets a byte pass. It is counted in bits times picoseconds of a second, so that no time is too short to fill some.
const TOKEN: i128 = 8 * 1_000_000_000_000;

/// Tokens come at a rate, up to as many as the bucket holds.
#[derive(Debug)]
pub struct Bucket {
    rate: Rate,
    /// Capacity in [`TOKEN`]s, as `tokens`.
    size: i128,
    /// Less than nothing where more was taken than there was.
    tokens: i128,
    /// Until when `tokens` has been filled.
    filled: Time,
}

impl Bucket {
    /// A full one of `size` bytes.
    pub fn full(rate: Rate, size: u64) -> Self {
        let size = i128::from(size) * TOKEN;
        Bucket { rate, size, tokens: size, filled: Time::ZERO }
    }
    /// Adds the tokens that have come up to `now`.
    pub fn fill(&mut self, now: Time) {
        let since = i128::from(now.since(self.filled).as_ps());
        self.tokens = (self.tokens + since * i128::from(self.rate.as_bps())).min(self.size);
        self.filled = now;
    }
    /// Returns true if there are tokens for `len` bytes.
    pub fn has(&self, len: u32) -> bool {
        self.tokens >= i128::from(len) * TOKEN
    }
    /// Takes the tokens for `len` bytes, whether they are there or not.
    pub fn take(&mut self, len: u32) {
        self.tokens -= i128::from(len) * TOKEN;
    }
    /// The first time from `from` on at which there are tokens for `len` bytes, which the bucket can hold.
    pub fn opens(&self, from: Time, len: u32) -> Time {
        let missing = (i128::from(len) * TOKEN - self.tokens).max(0) as u128;
        if missing == 0 {
            return from.max(self.filled);
        }
        let wait = missing.div_ceil(self.rate.as_bps().into());
        from.max(self.filled.saturating_add(Duration::from_ps(wait.try_into().unwrap_or(u64::MAX))))
    }
}

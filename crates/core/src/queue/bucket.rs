//! A token bucket, in exact arithmetic, shared by `policer`, `tbf` and `htb`.

use crate::time::{Duration, Time};
use crate::units::Rate;

/// Tokens per byte. A token is counted in bits times picoseconds of a second, so that no time is too short to fill some.
const TOKEN: i128 = 8 * 1_000_000_000_000;

/// A bucket that fills at a rate, up to its size.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    /// Capacity in [`TOKEN`]s, as `tokens`.
    size: i128,
    /// Tokens in the bucket; negative if more was taken than there was.
    tokens: i128,
    /// Time up to which `tokens` has been filled.
    filled: Time,
}

impl Bucket {
    /// Returns a full bucket of `size` bytes.
    pub(super) fn full(rate: Rate, size: u64) -> Self {
        let size = i128::from(size) * TOKEN;
        Bucket { rate, size, tokens: size, filled: Time::ZERO }
    }
    /// Adds the tokens that have come up to `now`.
    pub(super) fn fill(&mut self, now: Time) {
        let since = i128::from(now.since(self.filled).as_ps());
        self.tokens = (self.tokens + since * i128::from(self.rate.as_bps())).min(self.size);
        self.filled = now;
    }
    /// Returns true if there are tokens for `len` bytes.
    pub(super) fn has(&self, len: u32) -> bool {
        self.tokens >= i128::from(len) * TOKEN
    }
    /// Takes the tokens for `len` bytes, whether they are there or not.
    pub(super) fn take(&mut self, len: u32) {
        self.tokens -= i128::from(len) * TOKEN;
    }
    /// Returns the first time from `from` on at which there are tokens for `len` bytes, which the bucket can hold.
    pub(super) fn opens(&self, from: Time, len: u32) -> Time {
        let missing = (i128::from(len) * TOKEN - self.tokens).max(0) as u128;
        if missing == 0 {
            return from.max(self.filled);
        }
        let wait = missing.div_ceil(self.rate.as_bps().into());
        from.max(self.filled.saturating_add(Duration::from_ps(wait.try_into().unwrap_or(u64::MAX))))
    }
}

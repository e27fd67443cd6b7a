//! How many bytes passed the bottleneck that were sent one behind the other, faster than it lets them go; and behind how many one was lost.

/// Bursts, in bytes of payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bursts {
    /// Of the burst that goes on.
    length: u64,
    /// The longest that passed whole.
    pub passed: u64,
    /// What stood before the first segment that was lost, when that was lost first.
    pub before_loss: Option<u64>,
    /// The least that stood before one.
    pub before_loss_min: Option<u64>,
}

impl Bursts {
    /// A segment of `len` bytes is sent `gap` ns behind the one before it, by a bottleneck of `rate` bytes a second: what stands
    /// before it in its burst.
    pub fn sent(&mut self, gap: i64, len: u64, rate: f64) -> u32 {
        // Faster than the bottleneck by half.
        let is_burst = rate > 0.0 && gap as f64 * rate < len as f64 / 1.5 * 1e9;
        let before = if is_burst { self.length } else { 0 };
        self.length = before + len;
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// A segment arrived that ended a burst of `length` or went on with one.
    pub fn passed(&mut self, length: u64) {
        self.passed = self.passed.max(length);
    }

    /// A segment was lost with so much before it in its burst.
    pub fn lost(&mut self, before: u64) {
        self.before_loss.get_or_insert(before);
        self.before_loss_min = Some(self.before_loss_min.map_or(before, |least| least.min(before)));
    }
}

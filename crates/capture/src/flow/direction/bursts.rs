//! Lead of a sender over the bottleneck, and its size at losses.
//!
//! Data sent faster than the bottleneck's rate must wait in front of it. How much waits follows from the times of sending and the
//! bottleneck's rate: a queue of its own, without a limit. A burst at line speed is all in it.

use super::ranks::Ranks;

/// Payload bytes that had not yet left a bottleneck of the rate that trains show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bursts {
    ahead: f64,
    /// Ranks of the lead of each segment.
    pub ranks: Ranks,
    /// Longest burst that passed whole before any loss.
    pub passed: u64,
    /// Bytes ahead of the first segment that was lost.
    pub at_first_loss: Option<u64>,
}

impl Bursts {
    /// Records a segment of `len` bytes sent `gap` ns behind the one before it, with a bottleneck of `rate` bytes per second, 0 if unknown.
    /// Returns the bytes that have not left before it, at most `flight`.
    pub(crate) fn sent(&mut self, gap: i64, len: u64, rate: f64, flight: u64) -> u32 {
        self.ahead = if rate > 0.0 { (self.ahead - rate * gap as f64 / 1e9).clamp(0.0, flight as f64) } else { 0.0 };
        let before = self.ahead as u32;
        self.ahead += len as f64;
        if rate > 0.0 {
            self.ranks.note(before);
        }
        before
    }

    /// Records a segment that arrived, with `ahead` bytes that had not left before its last byte.
    pub(crate) fn passed(&mut self, ahead: u64) {
        // Lost segments no longer wait. After a loss the count is therefore too high.
        if self.at_first_loss.is_none() {
            self.passed = self.passed.max(ahead);
        }
    }

    /// Records a lost segment, with `ahead` bytes before it.
    pub(crate) fn lost(&mut self, ahead: u64) {
        self.at_first_loss.get_or_insert(ahead);
    }
}

#[cfg(test)]
mod tests {
    use super::Bursts;

    #[test]
    fn slow_start_runs_ahead_by_half_of_what_it_sends() {
        // Two segments of 1000 bytes each millisecond, over a megabyte a second.
        let mut bursts = Bursts::default();
        let ahead: Vec<u32> = (0..20).map(|k| bursts.sent(if k % 2 == 0 { 1_000_000 } else { 0 }, 1000, 1e6, u64::MAX)).collect();
        assert_eq!((ahead[0], ahead[1], ahead[19]), (0, 1000, 10_000));
    }

    #[test]
    fn what_pauses_is_no_longer_ahead() {
        let mut bursts = Bursts::default();
        let _ = (0..10).map(|_| bursts.sent(0, 1000, 1e6, u64::MAX)).max();
        assert_eq!(bursts.sent(4_000_000, 1000, 1e6, u64::MAX), 6000);
        assert_eq!(bursts.sent(20_000_000, 1000, 1e6, u64::MAX), 0);
    }
}

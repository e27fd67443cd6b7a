//! Someone types: short writes at random times.

use crate::rng::Rng;
use crate::time::Duration;

/// The writes of one flow.
///
/// Their times are a Poisson process, which is what "at random times" (Romanow and Floyd 1995, appendix A) says and no more. Departs
/// from what people type: Danzig and Jamin 1991 (tcplib) and Paxson and Floyd 1995 found gaps with a heavy tail.
#[derive(Debug)]
pub struct Keystrokes {
    mean: f64,
    size: u64,
    rng: Rng,
}

impl Keystrokes {
    /// Writes of `size` bytes, `interval` apart on average, with the flow's own randomness.
    pub fn new(interval: Duration, size: u64, rng: Rng) -> Self {
        Keystrokes { mean: interval.as_secs_f64(), size, rng }
    }

    /// Bytes of each.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// From one to the next: at least a moment.
    pub fn gap(&mut self) -> Duration {
        Duration::from_secs_f64(self.rng.exponential(self.mean)).max(Duration::from_ps(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_exponential() {
        let mut keys = Keystrokes::new(Duration::from_millis(5), 1, Rng::named(1, "telnet"));
        let gaps: Vec<f64> = (0..200_000).map(|_| keys.gap().as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean / 0.005 - 1.0).abs() < 0.01, "{mean}");
        // P(X > 3 means) = e^-3.
        let beyond = gaps.iter().filter(|gap| **gap > 0.015).count() as f64 / gaps.len() as f64;
        assert!((beyond - 0.0498).abs() < 0.002, "{beyond}");
    }
}

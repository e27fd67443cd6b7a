//! `markov`: two values, each held for a random time.

use super::{CourseKind, Levels, time};
use crate::rng::Rng;
use crate::time::Duration;

/// The registry entry.
pub(super) const KIND: CourseKind = CourseKind {
    name: "markov",
    summary: "either low or high, each for a random time (exponentially distributed): a Markov chain of two states",
    source: "none: longfat's own",
    params: &[time("high_for", None, "how long it is high, on average"), time("low_for", None, "how long it is low, on average")],
    check: |_| Ok(()),
    mean: |params| share(params.duration("high_for"), params.duration("low_for")),
    build: |params, mut rng| {
        let [high, low] = ["high_for", "low_for"].map(|name| params.duration(name));
        // The course begins in its stationary state.
        let is_high = rng.chance(share(high, low));
        Box::new(Markov { high, low, is_high, rng })
    },
    of_rates_alone: false,
};

fn share(high: Duration, low: Duration) -> f64 {
    high.as_secs_f64() / (high.as_secs_f64() + low.as_secs_f64())
}

struct Markov {
    high: Duration,
    low: Duration,
    is_high: bool,
    rng: Rng,
}

impl Levels for Markov {
    fn next(&mut self) -> (Duration, f64) {
        let (mean, level) = if self.is_high { (self.high, 1.0) } else { (self.low, 0.0) };
        self.is_high = !self.is_high;
        let ps = self.rng.exponential(mean.as_ps() as f64).max(1.0);
        (Duration::from_ps(ps as u64), level)
    }
}

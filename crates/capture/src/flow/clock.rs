//! Precision of a capture's clock.

/// The steps of a clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    newest: Option<i64>,
    /// The least time between packets of which others stand at one instant, in ns.
    step: Option<i64>,
    has_equal: bool,
    /// Largest backward step, in ns.
    pub back: i64,
}

/// Least ratio of a meaningful time to the clock's uncertainty.
const CLEAR: i64 = 4;

impl Clock {
    /// A packet was captured at `time`.
    pub(crate) fn note(&mut self, time: i64) {
        let newest = *self.newest.get_or_insert(time);
        self.newest = Some(newest.max(time));
        match time - newest {
            0 => self.has_equal = true,
            step @ 1.. => self.step = Some(self.step.map_or(step, |least| least.min(step))),
            back => self.back = self.back.max(-back),
        }
    }

    /// Bound of a time's error, in ns.
    pub(crate) fn uncertainty(&self) -> i64 {
        self.step.filter(|_| self.has_equal).unwrap_or(0).max(self.back)
    }

    /// The least time that a rate may be known by, in ns.
    pub(crate) fn clear(&self) -> i64 {
        CLEAR.saturating_mul(self.uncertainty())
    }
}

/// A time in words.
pub(crate) fn time(ns: i64) -> String {
    if ns < 1_000_000_000 { format!("{:.3} ms", 1e3 * (ns as f64 / 1e9)) } else { format!("{:.3} s", ns as f64 / 1e9) }
}

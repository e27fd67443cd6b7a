//! Lateness of segments by the clock of their sender: the time that they waited in queues on the way here.

use super::ranks::Ranks;

/// Possible ticks of TSval, in ns: RFC 7323 section 5.4 has them between 1 ms and 1 s; Linux also has microseconds.
const TICKS: [f64; 5] = [1e3, 1e6, 2e6, 4e6, 1e7];
/// Time after which the tick is known, in ns.
const LONG: i64 = 1_000_000_000;
/// Largest difference between clocks: one part in this many.
const SKEW: i64 = 10_000;

/// Delays from the sender to here, less the least.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness {
    /// Lateness of each segment, in microseconds.
    pub ranks: Ranks,
    first: Option<(i64, u32)>,
    /// Tick in ns; 0 as long as it is unknown.
    tick: f64,
    /// Tick as it looks so far.
    longest: f64,
    last: i64,
    least: Option<i64>,
}

impl Lateness {
    /// Returns the tick of the sender's clock, in ns, at most: a growing queue makes it look longer. None without a tick.
    pub(crate) fn tick(&self) -> Option<f64> {
        let tick = if self.tick > 0.0 { self.tick } else { self.longest };
        (tick > 0.0).then_some(tick)
    }

    /// Takes in a segment that arrives at `time`, sent at `stamp` of its sender's clock. Returns by how many microseconds it is later than
    /// the quickest; none before the clock is known.
    pub(crate) fn came(&mut self, time: i64, stamp: u32) -> Option<u32> {
        let (began, zero) = *self.first.get_or_insert((time, stamp));
        let (elapsed, ticks) = (time - began, f64::from(stamp.wrapping_sub(zero) as i32));
        if self.tick == 0.0 {
            let tick = elapsed as f64 / ticks.max(1.0);
            self.longest = if ticks > 0.0 { tick } else { 0.0 };
            if elapsed < LONG {
                return None;
            }
            self.tick = TICKS.into_iter().find(|one| (tick / one - 1.0).abs() < 0.2)?;
        }
        let delay = elapsed - (ticks * self.tick) as i64;
        let drift = (time - self.last).max(0) / SKEW;
        let least = self.least.map_or(delay, |least| (least + drift).min(delay));
        (self.last, self.least) = (time, Some(least));
        let late = ((delay - least) / 1000).clamp(0, i64::from(u32::MAX)) as u32;
        self.ranks.note(late);
        Some(late)
    }
}

#[cfg(test)]
mod tests {
    use super::Lateness;

    #[test]
    fn what_waits_is_late() {
        let mut lateness = Lateness::default();
        // A segment each 10 ms, for 3 s; the one at 2 s waits for 7 ms. The clock here runs 50 parts in a million fast.
        let late: Vec<Option<u32>> = (0..300_i64)
            .map(|k| {
                let sent = k * 10_000_000;
                let came = sent + sent / 20_000 + 40_000_000 + if k == 200 { 7_000_000 } else { 0 };
                lateness.came(came, 1000 + (sent / 1_000_000) as u32)
            })
            .collect();
        assert_eq!(late[50], None);
        assert!(late[201..].iter().chain(&late[101..200]).all(|late| late.is_some_and(|late| late < 100)));
        assert!(late[200].is_some_and(|late| (6_900..7_100).contains(&late)), "{:?}", late[200]);
    }
}

//! The rate of the bottleneck, from how far apart it lets packets go: trains of acknowledgments, or of segments that have passed it.
//!
//! A train that was sent faster than the bottleneck leaves it at the bottleneck's rate (Jain and Routhier 1986; Dovrolis, Ramanathan and
//! Moore, INFOCOM 2001). Trains that were sent slower, or that something held up, show other rates; most show this one.

/// Intervals in a train.
const LENGTH: usize = 4;
/// Classes of rates: 16 of each doubling, from 1 byte/s to 2^44 byte/s.
const CLASSES: usize = 44 * 16;
/// Fewer trains than this say nothing.
const LEAST: u64 = 12;

/// Rate with the bounds between which most trains about it lie, in payload bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// Number of trains with each rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trains {
    last: [(i64, u64); LENGTH],
    seen: usize,
    classes: Vec<u32>,
    pub count: u64,
    /// Trains too short for the clock.
    blurred: u64,
    /// Bytes of all trains.
    bytes: u64,
    /// The rate, looked at now and then; 0 until it is known.
    pub rate: f64,
}

impl Trains {
    /// The stream was passed up to `at`. A train says something if it takes `clear` ns, and a little at least.
    pub(crate) fn passed(&mut self, time: i64, at: u64, clear: i64) {
        let place = self.seen % LENGTH;
        let (began, from) = self.last[place];
        let is_whole = self.seen >= LENGTH;
        self.last[place] = (time, at);
        self.seen += 1;
        if !is_whole || at <= from {
            return;
        }
        if time - began < clear.max(1) {
            self.blurred += 1;
            return;
        }
        self.bytes += at - from;
        let rate = (at - from) as f32 * 1e9 / (time - began) as f32;
        if self.classes.is_empty() {
            self.classes = vec![0; CLASSES];
        }
        let class = class(rate);
        self.classes[class] = self.classes[class].saturating_add(1);
        self.count += 1;
        if self.count.is_power_of_two() || self.count.is_multiple_of(256) {
            self.rate = self.estimate(0).map_or(0.0, |rate| rate.value);
        }
    }

    /// Ends a train: it may not span a recovery, in which acknowledgments jump.
    pub(crate) fn cut(&mut self) {
        self.seen = 0;
    }

    /// The rate that most trains have that are not slower than half of all; how far trains about it lie, and what a clock that is wrong by
    /// `uncertainty` ns makes of it. (Where most trains were too short for the clock, the others are the slow ones.)
    pub(crate) fn estimate(&self, uncertainty: i64) -> Option<Rate> {
        if self.count < LEAST || self.blurred > self.count {
            return None;
        }
        let about = |class: usize| -> u64 {
            self.classes[class.saturating_sub(1)..(class + 2).min(CLASSES)].iter().map(|count| u64::from(*count)).sum()
        };
        let most = (0..CLASSES).max_by_key(|class| (about(*class), *class))?;
        // A flow that does not fill the path has many trains with gaps in them. A fifth as many at a higher rate tell of the bottleneck.
        let mode = (most..CLASSES).filter(|class| 5 * about(*class) >= about(most) && self.is_peak(*class, &about)).max().unwrap_or(most);
        let near = mode.saturating_sub(4)..(mode + 5).min(CLASSES);
        let total: u64 = self.classes[near.clone()].iter().map(|count| u64::from(*count)).sum();
        let at = |share: f64| {
            let mut left = share * total as f64;
            for class in near.clone() {
                let count = f64::from(self.classes[class]);
                if left < count {
                    let (low, high) = (bound(class), bound(class + 1));
                    return low + left / count.max(1.0) * (high - low);
                }
                left -= count;
            }
            bound(near.end)
        };
        let value = at(0.5);
        let wrong = uncertainty as f64 / 1e9 * value * self.count as f64 / self.bytes as f64;
        Some(Rate { value, low: at(0.16).min(value / (1.0 + wrong)), high: at(0.84).max(value / (1.0 - wrong).max(0.5)) })
    }

    /// True if no class within a quarter of a doubling has more.
    fn is_peak(&self, class: usize, about: &dyn Fn(usize) -> u64) -> bool {
        (class.saturating_sub(4)..(class + 5).min(CLASSES)).all(|other| about(other) <= about(class))
    }
}

/// Exponent and the first four bits behind the point, of a rate of 1 byte/s and more.
fn class(rate: f32) -> usize {
    ((rate.max(1.0).to_bits() - 1.0_f32.to_bits()) >> 19).min(CLASSES as u32 - 1) as usize
}

/// The least rate of a class.
fn bound(class: usize) -> f64 {
    f32::from_bits(((class as u32) << 19) + 1.0_f32.to_bits()).into()
}

#[cfg(test)]
mod tests {
    use super::Trains;

    /// A window of 20 segments of 1000 bytes leaves at 10 MB/s each 20 ms.
    #[test]
    fn a_path_that_is_not_full_shows_its_rate() {
        let mut trains = Trains::default();
        for k in 0..1000_u64 {
            let time = (k / 20) * 20_000_000 + (k % 20) * 100_000;
            trains.passed(time as i64, 1000 * (k + 1), 0);
        }
        let rate = trains.estimate(0).unwrap();
        assert!((rate.value / 10e6 - 1.0).abs() < 0.03, "{rate:?}");
        assert!(rate.low <= rate.value && rate.value <= rate.high && rate.high < 1.06 * rate.low, "{rate:?}");
    }

    #[test]
    fn a_few_trains_say_nothing() {
        let mut trains = Trains::default();
        (0..15_u64).for_each(|k| trains.passed(k as i64 * 1000, k * 1000, 0));
        assert_eq!(trains.estimate(0), None);
    }

    /// One train in a hundred was compressed on its way; the others show the rate.
    #[test]
    fn what_was_compressed_is_not_the_rate() {
        let mut trains = Trains::default();
        let mut time = 0;
        for k in 0..2000_i64 {
            time += if k % 200 < 8 { 1_000 } else { 100_000 };
            trains.passed(time, 1000 * k as u64, 0);
        }
        assert!((trains.estimate(0).unwrap().value / 10e6 - 1.0).abs() < 0.03);
    }

    /// 100 Mb/s as a clock of 10 ms sees it, and one of 10 us.
    #[test]
    fn what_the_clock_cannot_tell_is_no_rate() {
        let seen = |step: i64| {
            let mut trains = Trains::default();
            for k in 1..2000_i64 {
                trains.passed(80_000 * k / step * step, 1000 * k as u64, 4 * step);
            }
            trains.estimate(step)
        };
        assert_eq!(seen(10_000_000), None);
        let rate = seen(10_000).unwrap();
        assert!((rate.value / 12.5e6 - 1.0).abs() < 0.03 && rate.low < 12.1e6 && rate.high > 12.6e6, "{rate:?}");
    }
}

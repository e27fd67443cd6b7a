//! Token bucket behind the losses: whether one explains which segments were lost and which were not.
//!
//! A bucket of B bytes that fills at a rate r accepts packets while it lacks fewer than B tokens. The tokens that it lacks are the length
//! of a queue that empties at r, which need not exist (Cruz, IEEE Transactions on Information Theory 37, 1991). In front of a droptail
//! queue it is that queue. With the right r, every segment lost therefore found a longer queue than those that passed. Random losses do not
//! depend on the queue. Many rates are tried at once.

/// Rates tried: three to each doubling, twelve doublings.
const RATES: usize = 36;
/// Classes of lengths: eight to each doubling, from 256 bytes on.
const CLASSES: usize = 16 * 8;
/// Segments that passed per one that is noted.
const ONE_IN: u32 = 8;
/// Times kept before the first loss, each for the same number of segments.
const TIMES: usize = 512;

/// Queues that need not exist, one for each rate, and their lengths as found by segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets {
    queues: Option<Box<Queues>>,
    /// Time and stream offset of segments sent up to the first loss, and the number of segments per entry.
    before: Vec<(i64, u64)>,
    each: u32,
    count: u32,
}

#[derive(Clone, Debug)]
struct Queues {
    /// Rates, in bytes per nanosecond.
    rates: [f32; RATES],
    /// Lengths of the queues, in bytes.
    length: [f32; RATES],
    last: i64,
    /// Round trips with losses, and the start of the last of them; the first, which ends slow start, is left out.
    losses: u32,
    last_loss: i64,
    /// Segments lost, by rate and class.
    lost: Vec<u16>,
    passed: Vec<u16>,
    /// Segments that passed with a known wait, and those of them that waited at least half as long as such a queue would take.
    waits: Vec<(u16, u16)>,
}

/// The bucket that explains losses best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    /// Share of pairs of a lost segment and one that passed in which the lost one found a longer queue: 0.5 by chance, 1 if a bucket
    /// decides.
    pub explains: f64,
    /// Payload bytes per second.
    pub rate: f64,
    /// Median queue that lost segments found, in bytes.
    pub depth: f64,
    /// Round trips with losses.
    pub losses: u32,
    /// Share of segments that waited at least half as long as a queue of that rate would take, among those that passed and found about as
    /// long a queue as the lost ones.
    pub waited: Option<f64>,
}

impl Buckets {
    /// Adds a segment of `len` bytes that ends at `end`, was sent first at `time`, and waited for `wait` ns, if that is known. Segments
    /// before it in the stream have been added. The first of the losses within a round trip of `trip` ns counts.
    pub(crate) fn add(&mut self, time: i64, end: u64, len: u64, is_lost: bool, wait: Option<i64>, trip: i64) {
        self.count = self.count.wrapping_add(1);
        if self.queues.is_none() {
            self.each = self.each.max(1);
            if self.count.is_multiple_of(self.each) {
                self.before.push((time, end));
            }
            if self.before.len() == TIMES {
                let mut place = 0;
                self.before.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.each *= 2;
            }
            let Some(&(began, from)) = self.before.first().filter(|(began, from)| is_lost && time >= *began && end > *from) else { return };
            // Segments so far may have passed a full bucket of a lower rate, or are a few segments of a flow that grows.
            let rate = (end - from) as f32 / (time - began).max(trip).max(1) as f32 / 32.0;
            let rates = std::array::from_fn(|place| rate * 2_f32.powf(place as f32 / 3.0));
            let mut length = [0.0; RATES];
            for pair in self.before.windows(2) {
                let gap = (pair[1].0 - pair[0].0).max(0) as f32;
                let sent = pair[1].1.saturating_sub(pair[0].1) as f32;
                length.iter_mut().zip(rates).for_each(|(length, rate): (&mut f32, f32)| *length = (*length - rate * gap).max(0.0) + sent);
            }
            self.before = Vec::new();
            self.queues = Some(Box::new(Queues {
                rates,
                length,
                last: time,
                losses: 0,
                last_loss: time,
                lost: vec![0; RATES * CLASSES],
                passed: vec![0; RATES * CLASSES],
                waits: vec![(0, 0); RATES * CLASSES],
            }));
        }
        let Some(queues) = &mut self.queues else { return };
        let gap = (time - queues.last).max(0) as f32;
        queues.last = queues.last.max(time);
        let more = if is_lost { 0.0 } else { len as f32 };
        // (Not each eighth: sending may have a rhythm.)
        let is_next = is_lost && time - queues.last_loss > trip;
        if is_lost {
            queues.last_loss = time;
        }
        let is_noted = is_next || !is_lost && mixed(self.count).is_multiple_of(ONE_IN);
        for (length, rate) in queues.length.iter_mut().zip(queues.rates) {
            *length = (*length - rate * gap).max(0.0);
        }
        if is_noted {
            queues.losses += u32::from(is_lost);
            let counts = if is_lost { &mut queues.lost } else { &mut queues.passed };
            let mut is_full = false;
            for (place, length) in queues.length.iter().enumerate() {
                let count = &mut counts[place * CLASSES + class(*length)];
                *count += 1;
                is_full |= *count == u16::MAX;
                if let (Some(wait), false) = (wait, is_lost) {
                    let (count, waited) = &mut queues.waits[place * CLASSES + class(*length)];
                    *count += 1;
                    *waited += u16::from(2.0 * wait as f32 * queues.rates[place] >= *length);
                }
            }
            if is_full {
                counts.iter_mut().for_each(|count| *count /= 2);
                if !is_lost {
                    queues.waits.iter_mut().for_each(|(count, waited)| (*count, *waited) = (*count / 2, *waited / 2));
                }
            }
        }
        queues.length.iter_mut().for_each(|length| *length += more);
    }

    /// Returns the rate at which lost segments and those that passed differ most.
    pub(crate) fn best(&self) -> Option<Bucket> {
        let queues = self.queues.as_ref()?;
        let all = (0..RATES).filter_map(|place| {
            let lost = &queues.lost[place * CLASSES..(place + 1) * CLASSES];
            let passed = &queues.passed[place * CLASSES..(place + 1) * CLASSES];
            let [of_lost, of_passed] = [lost, passed].map(|counts| counts.iter().map(|count| f64::from(*count)).sum::<f64>());
            let (mut below, mut pairs, mut so_far, mut depth) = (0.0, 0.0, 0.0, 0.0);
            for (place, (lost, passed)) in lost.iter().zip(passed).enumerate() {
                let [lost, passed] = [lost, passed].map(|count| f64::from(*count));
                pairs += lost * (below + passed / 2.0);
                below += passed;
                if so_far < of_lost / 2.0 {
                    depth = middle(place);
                }
                so_far += lost;
            }
            let waits = &queues.waits[place * CLASSES..(place + 1) * CLASSES];
            let about = waits.iter().enumerate().filter(|(place, _)| (0.6 * depth..1.5 * depth).contains(&middle(*place)));
            let (known, waited) =
                about.fold((0.0, 0.0), |(all, sum), (_, (count, waited))| (all + f64::from(*count), sum + f64::from(*waited)));
            (of_lost > 0.0 && of_passed > 0.0).then(|| Bucket {
                waited: (known >= 4.0).then(|| waited / known),
                explains: pairs / (of_lost * of_passed),
                rate: f64::from(queues.rates[place]) * 1e9,
                depth,
                losses: queues.losses,
            })
        });
        all.max_by(|one, other| one.explains.total_cmp(&other.explains))
    }
}

/// Bits that have nothing to do with each other in neighbours (a multiplication carries upwards, the shift down again).
fn mixed(count: u32) -> u32 {
    let upwards = count.wrapping_mul(0x9E37_79B1);
    (upwards ^ (upwards >> 15)).wrapping_mul(0xC2B2_AE35) >> 16
}

/// Exponent and the first three bits behind the point, from 256 on; below it, 0.
fn class(length: f32) -> usize {
    ((length.max(256.0).to_bits() - 256.0_f32.to_bits()) >> 20).min(CLASSES as u32 - 1) as usize
}

/// The middle of a class.
fn middle(class: usize) -> f64 {
    f32::from_bits(((class as u32) << 20) + (1 << 19) + 256.0_f32.to_bits()).into()
}

#[cfg(test)]
mod tests {
    use super::{Bucket, Buckets};

    /// Bursts of 2 to 30 segments of 1000 bytes, 10 us apart, 2 to 20 ms behind each other; `passes` says of each, in its turn, whether it does.
    fn bursts(mut passes: impl FnMut(i64) -> bool) -> Bucket {
        let mut buckets = Buckets::default();
        let mut end = 0;
        let mut began = 0;
        for burst in 0..600_i64 {
            began += 2_000_000 + burst * burst % 19 * 1_000_000;
            for segment in 0..2 + burst * 7 % 29 {
                let time = began + segment * 10_000;
                end += 1000;
                buckets.add(time, end, 1000, !passes(time), None, 5_000_000);
            }
        }
        buckets.best().unwrap()
    }

    #[test]
    fn a_token_bucket_is_found() {
        let (mut tokens, mut last) = (8000.0_f64, 0);
        let found = bursts(|time| {
            tokens = (tokens + (time - last) as f64 * 500e3 / 1e9).min(8000.0);
            last = time;
            let passes = tokens >= 1000.0;
            tokens -= if passes { 1000.0 } else { 0.0 };
            passes
        });
        assert!(found.explains > 0.9, "{found:?}");
        assert!((found.rate / 500e3).log2().abs() < 0.7, "{found:?}");
        assert!((6500.0..8500.0).contains(&found.depth), "{found:?}");
    }

    #[test]
    fn chance_is_no_bucket() {
        let mut state = 1_u32;
        let found = bursts(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24 > 12
        });
        assert!(found.losses > 100 && found.explains < 0.6, "{found:?}");
    }

    #[test]
    fn without_a_loss_nothing_is_said() {
        let mut buckets = Buckets::default();
        (0..100).for_each(|k| buckets.add(k * 1_000_000, 1000 * k as u64, 1000, false, None, 1));
        assert_eq!(buckets.best(), None);
    }
}

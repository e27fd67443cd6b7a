//! Distribution of durations: any quantile of all recorded values, to within 0.8 %, in little memory and by integers alone, so that it is
//! the same on every machine.

use crate::time::Duration;

/// Bins in each factor of two: a bin is at most 1/64 of its values wide, so its middle is within 1/128 of each.
const BINS: u64 = 1 << SHIFT;
const SHIFT: u32 = 6;

/// Durations, counted in bins that are equally wide within each factor of two (Tene's HdrHistogram has this shape). Only the bins from the
/// least to the greatest value are kept: between 100 and 200 ms that takes 256 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantiles {
    /// Bin of the last values, as [`bin_of`] has it, and how many of them are not yet in `counts`. Most values lie where the one before did.
    halved: u8,
    head: u8,
    pending: u32,
    /// Bin that `counts` begins with.
    first: u32,
    counts: Vec<u32>,
    sum_ps: u128,
    max: Duration,
}

/// Returns the bin of a value: how often it is halved until less than `2 * BINS` is left, and what is left.
fn bin_of(ps: u64) -> (u8, u8) {
    // The leading bit of the mantissa counts as one factor of two.
    let halved = (63 - (ps | (BINS - 1)).leading_zeros()).saturating_sub(SHIFT);
    (halved as u8, (ps >> halved) as u8)
}

/// Returns the number of a bin: the values below [`BINS`] have one each, and each factor of two from there on has as many.
fn number((halved, head): (u8, u8)) -> u32 {
    u32::from(halved) * BINS as u32 + u32::from(head)
}

/// Returns the middle of a bin.
fn middle(bin: u32) -> u64 {
    let halved = (bin / BINS as u32).saturating_sub(1);
    let least = u64::from(bin - halved * BINS as u32) << halved;
    least + (1 << halved >> 1)
}

impl Quantiles {
    /// Records one value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        if value.as_ps() >> self.halved != u64::from(self.head) {
            self.begin(value.as_ps());
        }
        self.pending += 1;
        self.sum_ps += u128::from(value.as_ps());
        self.max = self.max.max(value);
    }

    /// Returns the greatest value; zero if there is none.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// Returns the mean in seconds; NaN if there are no values.
    pub fn mean_s(&self) -> f64 {
        let count: u64 = self.counts.iter().map(|n| u64::from(*n)).sum::<u64>() + u64::from(self.pending);
        self.sum_ps as f64 / 1e12 / count as f64
    }

    /// The next values are in the bin of `ps`.
    #[cold]
    fn begin(&mut self, ps: u64) {
        self.settle();
        (self.halved, self.head) = bin_of(ps);
    }

    /// Puts pending values into their bin.
    fn settle(&mut self) {
        let (pending, last) = (std::mem::take(&mut self.pending), number((self.halved, self.head)));
        if pending == 0 {
            return;
        }
        if self.counts.is_empty() {
            self.first = last;
        }
        if last < self.first {
            let missing = (self.first - last) as usize;
            self.counts.splice(..0, std::iter::repeat_n(0, missing));
            self.first = last;
        }
        let place = (last - self.first) as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] = self.counts[place].saturating_add(pending);
    }

    /// Returns the values below which the shares `of` of all lie (each from 0 to 1, in rising order): those recorded, and `zeros` more that
    /// were zero. `None` if there are none.
    pub fn at<const N: usize>(&self, of: [f64; N], zeros: u64) -> Option<[Duration; N]> {
        let mut whole = self.clone();
        whole.settle();
        let total = zeros + whole.counts.iter().map(|n| u64::from(*n)).sum::<u64>();
        if total == 0 {
            return None;
        }
        let (mut seen, mut next) = (zeros, 0);
        let mut values = [Duration::ZERO; N];
        let mut bins = whole.counts.iter().zip(whole.first..);
        let mut value = Duration::ZERO;
        for (place, share) in of.into_iter().enumerate() {
            // The nearest rank: the least value that at least this share of all do not exceed.
            let rank = ((share * total as f64).ceil() as u64).clamp(1, total);
            debug_assert!(rank >= next, "shares rise");
            next = rank;
            while seen < rank {
                let (n, bin) = bins.next().expect("the ranks are those of what was counted");
                seen += u64::from(*n);
                value = Duration::from_ps(middle(bin));
            }
            values[place] = value;
        }
        Some(values)
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        *self = Quantiles::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OF: [f64; 5] = [0.0, 0.5, 0.95, 0.99, 1.0];

    fn bin(ps: u64) -> u32 {
        number(bin_of(ps))
    }

    #[test]
    fn bins_follow_each_other_and_are_narrow() {
        let edges = (0..58).flat_map(|k| (BINS..2 * BINS).map(move |m| m << k)).chain([u64::MAX]);
        for (one, next) in edges.clone().zip(edges.skip(1)) {
            assert_eq!(bin(next - 1), bin(one), "{one}");
            assert!(next == u64::MAX || bin(next) == bin(one) + 1, "{one}");
            assert!((one..next).contains(&middle(bin(one))) && (next - one) * BINS <= one + BINS, "{one}");
        }
        assert_eq!((0..BINS).map(|ps| middle(bin(ps))).collect::<Vec<_>>(), (0..BINS).collect::<Vec<_>>());
    }

    #[test]
    fn of_none_there_is_none() {
        assert_eq!(Quantiles::default().at(OF, 0), None);
        assert_eq!(Quantiles::default().at([0.5, 0.99], 7), Some([Duration::ZERO; 2]));
    }

    #[test]
    fn what_waited_for_nothing_counts() {
        let mut waits = Quantiles::default();
        waits.record(Duration::from_millis(10));
        let [half, most] = waits.at([0.5, 0.99], 2).unwrap();
        assert_eq!(half, Duration::ZERO);
        assert!((most.as_secs_f64() / 0.01 - 1.0).abs() < 1.0 / 128.0);
    }

    proptest! {
        /// The error of every quantile is at most 1/128, compared with the sorted values.
        #[test]
        fn quantiles_are_those_of_the_values(
            mut values in proptest::collection::vec((0u32..62, 1.0f64..2.0).prop_map(|(k, m)| (m * (1u64 << k) as f64) as u64), 1..300),
            zeros in 0u64..50,
        ) {
            let mut quantiles = Quantiles::default();
            values.iter().for_each(|ps| quantiles.record(Duration::from_ps(*ps)));
            values.extend((0..zeros).map(|_| 0));
            values.sort_unstable();
            let found = quantiles.at(OF, zeros).unwrap();
            prop_assert_eq!(Some(quantiles.max().as_ps()), values.last().copied());
            let mean = values.iter().map(|ps| *ps as f64).sum::<f64>() / 1e12 / (values.len() as u64 - zeros) as f64;
            prop_assert!((quantiles.mean_s() / mean - 1.0).abs() < 1e-9);
            for (share, found) in OF.into_iter().zip(found) {
                let rank = ((share * values.len() as f64).ceil() as usize).clamp(1, values.len());
                let exact = values[rank - 1];
                prop_assert!(found.as_ps().abs_diff(exact) * 128 <= exact, "{share}: {} for {exact}", found.as_ps());
            }
            quantiles.clear();
            prop_assert_eq!(quantiles, Quantiles::default());
        }
    }
}

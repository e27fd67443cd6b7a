//! Quantiles, ranks and the sign test.

/// The mean; 0 without a value.
pub(crate) fn average(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = of.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// The value below which the share `at` of `values` lies; none without a value.
pub(crate) fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(((sorted.len() as f64 - 1.0) * at).round().max(0.0) as usize).copied()
}

/// The share of `values` that are less, and half of those that are alike.
pub(crate) fn rank(values: &[f64], value: f64) -> f64 {
    let less = values.iter().filter(|other| **other < value).count() as f64;
    let alike = values.iter().filter(|other| **other == value).count() as f64;
    (less + alike / 2.0) / values.len().max(1) as f64
}

/// The median, and what four of five are above.
pub(crate) fn ranked(ranks: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ranks: Vec<f64> = ranks.collect();
    Some((quantile(&ranks, 0.5)?, quantile(&ranks, 0.2)?))
}

/// How unlikely it is that even odds make it so `of` times and more among `all`: one less the p-value of the sign test (Conover, Practical
/// Nonparametric Statistics, section 3.4).
pub(crate) fn no_chance(of: u32, all: u32) -> f64 {
    // Binomial coefficients, each from the one before; scaled where they grow too large.
    let (mut one, mut less, mut total) = (1.0, 0.0, 0.0);
    for count in 0..=all {
        less += if count < of { one } else { 0.0 };
        total += one;
        one *= f64::from(all - count) / f64::from(count + 1);
        if total > 1e200 {
            (one, less, total) = (one / total, less / total, 1.0);
        }
    }
    less / total
}

/// Chance that of `all` that are each so with the chance `each`, `of` and more are: the upper tail of a binomial distribution.
pub(crate) fn at_least(of: u32, all: u32, each: f64) -> f64 {
    let odds = (each / (1.0 - each)).ln();
    // Logarithms: the chance of none may be less than any number.
    let (mut log, mut sum) = (f64::from(all) * (1.0 - each).ln(), 0.0);
    for count in 0..=all {
        sum += if count >= of { log.exp() } else { 0.0 };
        log += (f64::from(all - count) / f64::from(count + 1)).ln() + odds;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{at_least, no_chance};

    #[test]
    fn a_tail_is_as_tables_have_it() {
        // Three and more of eleven, one in ten each: one less 0.9^11 + 11 * 0.1 * 0.9^10 + 55 * 0.01 * 0.9^9.
        assert!((at_least(3, 11, 0.1) - 0.089_562).abs() < 1e-6, "{}", at_least(3, 11, 0.1));
        assert!((at_least(0, 11, 0.1) - 1.0).abs() < 1e-12 && at_least(0, 0, 0.1) == 1.0);
        assert!(at_least(5000, 20_000, 0.1) < 1e-12 && at_least(1, 20_000, 0.1) > 0.999_999);
    }

    #[test]
    fn the_sign_test_has_its_values() {
        // Values by hand, for a fair coin: P(X >= 3) of 3, P(X >= 2) of 3, P(X >= 8) of 10 = (45 + 10 + 1) / 1024.
        for (of, all, p) in [(3, 3, 0.125), (2, 3, 0.5), (8, 10, 56.0 / 1024.0), (0, 9, 1.0), (0, 0, 1.0)] {
            assert!((no_chance(of, all) - (1.0 - p)).abs() < 1e-12, "{of} of {all}");
        }
        // Half of an even number is as likely as not, but for half of the middle: for many about 1 / sqrt(2 pi n).
        assert!((no_chance(2000, 4000) - 0.5).abs() < 0.01);
        assert!(no_chance(4000, 4000) > 0.999_999 && no_chance(1900, 4000) < 0.01);
    }
}

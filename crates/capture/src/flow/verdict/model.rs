//! The model that names a cause of losses: multinomial logistic regression over the features, fitted by `bench/fit_verdicts.py`.

use super::features::{Feature, Features};
use longfat_record::trace::Cause;
use std::sync::OnceLock;

/// Causes that the model tells apart, in the order of the columns of weights.
pub(crate) const CAUSES: [Cause; 5] = [Cause::ActiveQueue, Cause::SmallBuffer, Cause::CongestionLoss, Cause::Policer, Cause::RandomLoss];
/// Logarithms are of this and more.
const LEAST: f64 = 0.01;

type Weights = [f64; CAUSES.len()];

/// A term of the sum for each cause.
enum Term {
    Constant,
    /// Standardized: low, high, mean, scale. An unknown one counts nothing.
    Value(Feature, [f64; 4]),
    Logarithm(Feature, [f64; 4]),
    /// 1 where the feature is unknown.
    Unknown(Feature),
}

impl Term {
    fn of(&self, features: &Features) -> f64 {
        let standard = |value: f64, [low, high, mean, scale]: [f64; 4]| (value.clamp(low, high) - mean) / scale;
        match *self {
            Term::Constant => 1.0,
            Term::Value(feature, range) => features.known(feature).map_or(0.0, |value| standard(value, range)),
            Term::Logarithm(feature, range) => features.known(feature).map_or(0.0, |value| standard(value.max(LEAST).ln(), range)),
            Term::Unknown(feature) => f64::from(u8::from(features.known(feature).is_none())),
        }
    }
}

/// Returns the probability of each cause, if it is one of these.
pub(crate) fn probabilities(features: &Features) -> [(Cause, f64); CAUSES.len()] {
    static TERMS: OnceLock<Vec<(Term, Weights)>> = OnceLock::new();
    let terms = TERMS.get_or_init(|| parsed(include_str!("weights.csv")).expect("the fitted weights are a table"));
    let mut sums = [0.0; CAUSES.len()];
    for (term, weights) in terms {
        let value = term.of(features);
        sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight * value);
    }
    let most = sums.into_iter().fold(f64::MIN, f64::max);
    let shares = sums.map(|sum| (sum - most).exp());
    let total: f64 = shares.iter().sum();
    std::array::from_fn(|place| (CAUSES[place], shares[place] / total))
}

/// The table of weights. None where it is malformed, or has other causes.
fn parsed(text: &str) -> Option<Vec<(Term, Weights)>> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let head = lines.next()?;
    if !head.split(';').skip(7).eq(CAUSES.iter().map(|cause| cause.word())) {
        return None;
    }
    lines
        .map(|line| {
            let [name, _, form, rest @ ..] = &line.split(';').collect::<Vec<_>>()[..] else { return None };
            let numbers = |of: &[&str]| of.iter().map(|cell| cell.parse().ok()).collect::<Option<Vec<f64>>>();
            let weights: Weights = numbers(rest.get(4..)?)?.try_into().ok()?;
            let range = || numbers(&rest[..4])?.try_into().ok();
            let term = match *form {
                "constant" => Term::Constant,
                "value" => Term::Value(Feature::named(name)?, range()?),
                "logarithm" => Term::Logarithm(Feature::named(name)?, range()?),
                "unknown" => Term::Unknown(Feature::named(name)?),
                _ => return None,
            };
            Some((term, weights))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_of_one_cause_whatever_is_known() {
        let mut features = Features::default();
        for value in [f64::NAN, 0.0, 1.0, -1e300, 1e300, f64::INFINITY] {
            features.set([(Feature::RttRank, value), (Feature::LostShare, value), (Feature::BucketDepth, value)]);
            let found = probabilities(&features);
            assert!((found.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
            assert!(found.iter().all(|(_, share)| (0.0..=1.0).contains(share)), "{found:?}");
        }
    }

    #[test]
    fn a_table_with_other_causes_is_refused() {
        assert!(parsed("feature;unit;form;low;high;mean;scale;policer\n").is_none());
    }
}

//! Ranks of values among many, in memory that does not grow.

/// Classes: 8 per doubling up to 2^32, and one for zero.
const CLASSES: usize = 1 + 32 * 8;

/// Number of values in each class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranks(Vec<u32>);

impl Ranks {
    /// Adds a value.
    pub(crate) fn note(&mut self, value: u32) {
        if self.0.is_empty() {
            self.0 = vec![0; CLASSES];
        }
        self.0[class(value)] += 1;
    }

    /// Returns the share of smaller values, and half the share of equal ones; none without values.
    pub(crate) fn of(&self, value: u32) -> Option<f64> {
        let total: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        let less: u64 = self.0.iter().take(class(value)).map(|count| u64::from(*count)).sum();
        let alike = self.0.get(class(value)).map_or(0.0, |count| f64::from(*count));
        (total > 0).then(|| (less as f64 + alike / 2.0) / total as f64)
    }
}

/// Exponent and the first three bits behind the point.
fn class(value: u32) -> usize {
    if value == 0 { 0 } else { 1 + (((value as f32).to_bits() - 1.0_f32.to_bits()) >> 20).min(CLASSES as u32 - 2) as usize }
}

#[cfg(test)]
mod tests {
    use super::Ranks;

    #[test]
    fn where_a_value_stands() {
        let mut ranks = Ranks::default();
        assert_eq!(ranks.of(7), None);
        [0, 0, 1500, 3000].into_iter().for_each(|value| ranks.note(value));
        assert_eq!([0, 1, 1500, 3000, u32::MAX].map(|value| ranks.of(value)), [0.25, 0.5, 0.625, 0.875, 1.0].map(Some));
    }
}

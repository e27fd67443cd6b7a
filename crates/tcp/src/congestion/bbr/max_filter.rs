//! The greatest of the values of the last few units of a virtual time.

/// Keeps the maximum of each of the last `N` units of time: exact, and constant in cost per value. A value too old is forgotten when
/// another takes its place, and not before: time alone teaches nothing (draft-ietf-ccwg-bbr-06 §5.5.5 has time as an argument of
/// the filter's update).
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFilter<const N: usize> {
    now: u64,
    /// When the last value came.
    updated: u64,
    /// The maximum of time `t` is at `t % N`.
    maxima: [f64; N],
    max: f64,
}

impl<const N: usize> MaxFilter<N> {
    pub(super) fn new() -> Self {
        MaxFilter { now: 0, updated: 0, maxima: [0.0; N], max: 0.0 }
    }

    /// Time goes on to `now`.
    pub(super) fn advance(&mut self, now: u64) {
        self.now = now;
    }

    /// Forgets what is `N` units old or more.
    fn forget_old(&mut self) {
        for t in self.updated + 1..=self.now.min(self.updated + N as u64) {
            self.maxima[(t % N as u64) as usize] = 0.0;
        }
        self.updated = self.now;
        self.max = self.maxima.iter().fold(0.0, |a, b| a.max(*b));
    }

    /// A value of now; not negative.
    #[inline]
    pub(super) fn update(&mut self, value: f64) {
        if self.updated != self.now {
            self.forget_old();
        }
        let slot = &mut self.maxima[(self.now % N as u64) as usize];
        *slot = slot.max(value);
        self.max = self.max.max(value);
    }

    /// The greatest is `value` from now on, whatever there was.
    pub(super) fn set(&mut self, value: f64) {
        self.maxima = [0.0; N];
        self.maxima[(self.now % N as u64) as usize] = value;
        (self.updated, self.max) = (self.now, value);
    }

    /// Forgets all there was before now.
    pub(super) fn forget_past(&mut self) {
        self.forget_old();
        let now = self.maxima[(self.now % N as u64) as usize];
        self.maxima = [0.0; N];
        self.maxima[(self.now % N as u64) as usize] = now;
        self.max = now;
    }

    /// The greatest value of the window that ended with the last one; zero where there was none.
    #[inline]
    pub(super) fn max(&self) -> f64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn equals_the_model<const N: usize>(steps: &[(u64, u32)]) -> Result<(), TestCaseError> {
        let mut filter = MaxFilter::<N>::new();
        let mut seen: Vec<(u64, f64)> = Vec::new();
        let mut now = 0;
        for &(later, value) in steps {
            now += later;
            filter.advance(now);
            match value {
                0 => {
                    filter.forget_past();
                    seen.retain(|(at, _)| *at == now);
                }
                // Time goes on and no value comes.
                1..5 => {}
                _ => {
                    filter.update(f64::from(value));
                    seen.retain(|(at, _)| at + N as u64 > now);
                    seen.push((now, f64::from(value)));
                }
            }
            let expected = seen.iter().map(|(_, v)| *v).fold(0.0, f64::max);
            prop_assert_eq!(filter.max(), expected);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn equals_a_list_of_all_values(steps in prop::collection::vec((0u64..4, 0u32..30), 1..200)) {
            equals_the_model::<2>(&steps)?;
            equals_the_model::<10>(&steps)?;
        }

        #[test]
        fn time_may_jump(steps in prop::collection::vec((0u64..50, 1u32..30), 1..50)) {
            equals_the_model::<10>(&steps)?;
        }
    }
}

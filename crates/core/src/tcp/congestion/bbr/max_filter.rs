//! The greatest of the values of the last few units of a virtual time.

/// Keeps the maximum of each of the last `N` units of time: exact, and constant in cost per value.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFilter<const N: usize> {
    now: u64,
    /// The maximum of time `t` is at `t % N`.
    maxima: [f64; N],
    max: f64,
}

impl<const N: usize> MaxFilter<N> {
    pub fn new() -> Self {
        MaxFilter { now: 0, maxima: [0.0; N], max: 0.0 }
    }

    /// Time goes on to `now`; what is `N` units old or more is forgotten.
    pub fn advance(&mut self, now: u64) {
        if now == self.now {
            return;
        }
        for t in self.now + 1..=now.min(self.now + N as u64) {
            self.maxima[(t % N as u64) as usize] = 0.0;
        }
        self.now = now;
        self.max = self.maxima.iter().fold(0.0, |a, b| a.max(*b));
    }

    /// A value of now; not negative.
    #[inline]
    pub fn update(&mut self, value: f64) {
        let slot = &mut self.maxima[(self.now % N as u64) as usize];
        *slot = slot.max(value);
        self.max = self.max.max(value);
    }

    /// Forgets all there was before now.
    pub fn forget_past(&mut self) {
        let now = self.maxima[(self.now % N as u64) as usize];
        self.maxima = [0.0; N];
        self.maxima[(self.now % N as u64) as usize] = now;
        self.max = now;
    }

    /// The greatest value of the window; zero where there is none.
    #[inline]
    pub fn max(&self) -> f64 {
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
            if value > 0 {
                filter.update(f64::from(value));
                seen.push((now, f64::from(value)));
            } else {
                filter.forget_past();
                seen.retain(|(at, _)| *at == now);
            }
            let expected = seen.iter().filter(|(at, _)| at + N as u64 > now).map(|(_, v)| *v).fold(0.0, f64::max);
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

//! Fair choice between two cells for the last place.

use crate::rng::Rng;

/// Tosses of a fair coin.
pub(super) struct Coin {
    rng: Rng,
    /// Tosses to come, under a bit that marks how many there are.
    bits: u64,
}

impl Coin {
    pub(super) fn new(rng: Rng) -> Self {
        Coin { rng, bits: 1 }
    }

    #[inline]
    pub(super) fn toss(&mut self) -> bool {
        self.toss_all(1) == 1
    }

    /// Returns how many of the next `tosses` are heads.
    #[inline]
    pub(super) fn toss_all(&mut self, mut tosses: u64) -> u64 {
        let mut heads = 0;
        while tosses > 0 {
            if self.bits == 1 {
                self.bits = self.rng.next_u64() | 1 << 63;
            }
            let some = tosses.min(self.bits.ilog2().into());
            heads += u64::from((self.bits & ((1 << some) - 1)).count_ones());
            self.bits >>= some;
            tosses -= some;
        }
        heads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tosses_are_one_after_the_other() {
        let (mut one, mut all) = (Coin::new(Rng::named(1, "coin")), Coin::new(Rng::named(1, "coin")));
        for tosses in (0..200).chain([1, 1, 62, 63, 64, 1]) {
            let heads = (0..tosses).filter(|_| one.toss()).count() as u64;
            assert_eq!(all.toss_all(tosses), heads, "{tosses}");
        }
    }
}

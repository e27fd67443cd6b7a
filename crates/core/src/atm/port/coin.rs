//! Which of two cells gets the last place.

use crate::rng::Rng;

/// Tosses of a fair coin.
pub struct Coin {
    rng: Rng,
    /// The tosses to come, under a bit that says how many there are.
    bits: u64,
}

impl Coin {
    pub fn new(rng: Rng) -> Self {
        Coin { rng, bits: 1 }
    }

    #[inline]
    pub fn toss(&mut self) -> bool {
        if self.bits == 1 {
            self.bits = self.rng.next_u64() | 1 << 63;
        }
        let heads = self.bits & 1 == 1;
        self.bits >>= 1;
        heads
    }
}

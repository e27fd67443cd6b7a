//! Reproducible randomness: one seed per experiment, one independent stream per component.
//!
//! A component forks its stream by *name*, so that adding a flow or a link disturbs no other stream.
//! The generator is xoshiro256++ (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators",
//! ACM TOMS 47(4), 2021), seeded by SplitMix64, as its authors recommend.

/// A stream of random numbers. `Clone` repeats it.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// Returns the stream of `name` under the experiment's `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, then SplitMix64 over both: cheap, and equal on every platform.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut s = seed;
        let mut mixed = splitmix64(&mut s) ^ hash;
        let state = std::array::from_fn(|_| splitmix64(&mut mixed));
        Rng { state }
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Draws uniformly from [0, 1), with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Draws uniformly from 0..n, without bias that matters (n far under 2^64); 0 when n is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Draws from the exponential distribution with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Draws from the normal distribution with mean 0 and standard deviation 1 (Box and Muller, Annals of Mathematical Statistics 29,
    /// 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// Draws from the Pareto distribution of shape `alpha` (> 1) with the given mean.
    pub fn pareto(&mut self, alpha: f64, mean: f64) -> f64 {
        mean * (alpha - 1.0) / alpha * libm::pow(1.0 - self.uniform(), -1.0 / alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_independent_of_each_other() {
        let draw = |seed, name| {
            let mut r = Rng::named(seed, name);
            [r.next_u64(), r.next_u64(), r.next_u64()]
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn means_are_what_they_say() {
        let mut r = Rng::named(7, "means");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || r.uniform()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || r.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!((mean(&mut || r.pareto(2.5, 3.0)) - 3.0).abs() < 0.1);
        assert!((mean(&mut || r.below(10) as f64) - 4.5).abs() < 0.05);
    }
}

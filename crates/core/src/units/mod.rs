//! Quantities that carry a unit. [`text`] reads and writes them.

pub mod text;

use crate::time::Duration;

/// A rate in bits per second (k, M, G = 10^3, 10^6, 10^9). The field that holds it names the layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Highest rate in a file: 100 Tbit/s.
    pub const MOST: Rate = Rate(100_000_000_000_000);
    /// Returns a rate of `bps` bits per second; must be positive.
    pub const fn from_bps(bps: u64) -> Self {
        assert!(bps > 0, "a rate is positive");
        Rate(bps)
    }
    /// Returns the bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns the time that `bytes` take at this rate, rounded to the nearest picosecond.
    pub const fn transmit_time(self, bytes: u64) -> Duration {
        // 64 bits are mostly enough (2 MB), and then it is one instruction.
        if bytes <= 2_000_000 && self.0 <= 1 << 60 {
            return Duration::from_ps((bytes * 8_000_000_000_000 + self.0 / 2) / self.0);
        }
        let ps = (bytes as u128 * 8_000_000_000_000 + self.0 as u128 / 2) / self.0 as u128;
        Duration::from_ps(ps as u64)
    }
    /// Returns the bytes that pass in `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> u64 {
        if let Some(bit_ps) = self.0.checked_mul(span.as_ps()) {
            return bit_ps / 8_000_000_000_000;
        }
        (self.0 as u128 * span.as_ps() as u128 / 8_000_000_000_000) as u64
    }
}

/// Capacity of a queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Capacity {
    /// Bytes of IP packets.
    Bytes(u64),
    /// Whole packets, whatever their size.
    Packets(u64),
    /// A multiple of the path's bandwidth-delay product; the experiment model turns it into `Bytes`.
    Bdp(f64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_transmission_takes_the_nearest_picosecond(bps in 1_u64..u64::MAX, bytes in prop_oneof![0_u64..70_000, 1_999_990_u64..2_000_010]) {
            let exact = (u128::from(bytes) * 8_000_000_000_000 + u128::from(bps) / 2) / u128::from(bps);
            prop_assert_eq!(Rate::from_bps(bps).transmit_time(bytes).as_ps(), exact as u64);
            let slow = bps % 10_000_000_000 + 1;
            let exact = (u128::from(bytes) * 8_000_000_000_000 + u128::from(slow) / 2) / u128::from(slow);
            prop_assert_eq!(Rate::from_bps(slow).transmit_time(bytes).as_ps(), exact as u64);
        }
    }
}

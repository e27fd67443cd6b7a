//! Quantities that carry a unit. This file: what they are. Reading and writing them as text is [`text`].

pub mod text;

use crate::time::Duration;

/// A rate in bits per second (k, M, G = 10^3, 10^6, 10^9). The field that holds it says of which layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `bps` bits per second; must be positive.
    pub const fn from_bps(bps: u64) -> Self {
        assert!(bps > 0, "a rate is positive");
        Rate(bps)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// The time `bytes` take at this rate, rounded to the nearest picosecond.
    pub const fn transmit_time(self, bytes: u64) -> Duration {
        let ps = (bytes as u128 * 8_000_000_000_000 + self.0 as u128 / 2) / self.0 as u128;
        Duration::from_ps(ps as u64)
    }
    /// The bytes that pass in `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> u64 {
        (self.0 as u128 * span.as_ps() as u128 / 8_000_000_000_000) as u64
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Capacity {
    /// Bytes of IP packets.
    Bytes(u64),
    /// Whole packets, whatever their size.
    Packets(u64),
    /// A multiple of the path's bandwidth-delay product; the experiment model turns it into `Bytes`.
    Bdp(f64),
}

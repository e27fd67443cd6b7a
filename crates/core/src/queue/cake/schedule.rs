//! Deficit schedule of packets at a rate, in exact arithmetic: `cake` shapes with one, and compares its tins with others.

use crate::time::{Duration, Time};
use crate::units::Rate;

/// Bits of a byte, times the picoseconds of a second.
const BYTE: u64 = 8 * 1_000_000_000_000;

/// Schedule of packets one after the other, each as long as it takes at a rate.
#[derive(Debug)]
pub(super) struct Schedule {
    rate: u64,
    next: Time,
    /// Remainder of `next`: a part of a picosecond, in units of one over the rate.
    rest: u64,
    /// Size of the last packet, and its time: whole picoseconds and the remainder. The next packet mostly has the same size, and then
    /// nothing is divided.
    last: (u32, u64, u64),
}

impl Schedule {
    /// Returns a quiet schedule.
    pub(super) fn new(rate: Rate) -> Self {
        Schedule { rate: rate.as_bps(), next: Time::ZERO, rest: 0, last: (0, 0, 0) }
    }
    /// Returns when the next packet may go.
    #[inline]
    pub(super) const fn next(&self) -> Time {
        self.next
    }
    /// Lets the next packet go at `at`: all packets so far are through by then.
    #[inline]
    pub(super) fn start(&mut self, at: Time) {
        (self.next, self.rest) = (at, 0);
    }
    /// Adds a packet of `bytes` that goes when it may.
    #[inline]
    pub(super) fn advance(&mut self, bytes: u32) {
        if bytes != self.last.0 {
            // No packet has 64 KiB or more: the product is under 2^63.
            let time = u64::from(bytes) * BYTE;
            self.last = (bytes, time / self.rate, time % self.rate);
        }
        let (_, whole, part) = self.last;
        self.rest += part;
        let carry = self.rest >= self.rate;
        self.rest -= if carry { self.rate } else { 0 };
        self.next = self.next.saturating_add(Duration::from_ps(whole + u64::from(carry)));
    }
    /// Adds a packet of `bytes` that goes at `at`, late or early.
    #[inline]
    pub(super) fn note(&mut self, at: Time, bytes: u32) {
        if at > self.next {
            self.start(at);
        }
        self.advance(bytes);
    }
}

/// Framing on the line that the shaper is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// No framing.
    None,
    /// Cells of 53 bytes with 48 of payload.
    Atm,
    /// 64b/65b: 65 bytes for each 64.
    Ptm,
}

/// Framing on the line that the shaper accounts for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub overhead: u32,
    pub mpu: u32,
    pub framing: Framing,
}

impl Wire {
    /// Returns the bytes that an IP packet of `ip_len` takes. tc-cake(8): the overhead is added, then the minimum applies, then the packet
    /// is framed.
    #[inline]
    pub(super) fn bytes(&self, ip_len: u32) -> u32 {
        let bytes = (ip_len + self.overhead).max(self.mpu);
        match self.framing {
            Framing::None => bytes,
            Framing::Atm => bytes.div_ceil(48) * 53,
            Framing::Ptm => (bytes * 65).div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Packets of any sizes are through when all their bits are, in whole picoseconds.
        #[test]
        fn packets_take_what_their_bits_do(rate in 1u64..1_000_000_000_000, sizes in prop::collection::vec(prop_oneof![Just(40u32), Just(1500), 1u32..65_536], 1..50)) {
            let mut schedule = Schedule::new(Rate::from_bps(rate));
            let mut bits = 0u128;
            for bytes in sizes {
                schedule.advance(bytes);
                bits += 8 * u128::from(bytes);
                let exact = bits * 1_000_000_000_000 / u128::from(rate);
                prop_assert_eq!(schedule.next(), u64::try_from(exact).map_or(Time::MAX, Time::from_ps));
            }
        }
    }
}

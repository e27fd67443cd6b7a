//! `bit_errors`: each bit is wrong with the same probability, so that long packets suffer more than short ones.

use super::{Fate, Loss, LossKind};
use crate::packet::Packet;
use crate::params::{Kind, ParamSpec, Value};
use crate::rng::Rng;
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: LossKind = LossKind {
    name: "bit_errors",
    summary: "each bit of an IP packet is wrong with one probability, independently: of n bits all are right with (1 - rate)^n",
    source: "E. N. Gilbert, Capacity of a Burst-Noise Channel, BSTJ 39, 1960, section 1: the binary symmetric channel",
    params: &[
        ParamSpec {
            name: "rate",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: None,
            doc: "bit error rate: probability that a bit is wrong",
        },
        ParamSpec {
            name: "detected",
            kind: Kind::Bool,
            default: Some(Value::Bool(true)),
            doc: "whether the link finds the error by its own check and drops the packet, or the receiver's checksum does",
        },
    ],
    check: |_| Ok(()),
    build: |params, rng| {
        let fate = if params.boolean("detected") { Fate::Lose } else { Fate::Corrupt };
        Some(Box::new(BitErrors { rate: params.number("rate"), fate, rng, last: (0, 0.0) }))
    },
};

struct BitErrors {
    rate: f64,
    fate: Fate,
    rng: Rng,
    /// IP bytes of the last packet, and the probability that a packet of that length has an error.
    last: (u32, f64),
}

/// Returns the probability that a packet of so many bytes has an error, exact also where it is tiny.
fn probability(rate: f64, bytes: u32) -> f64 {
    -libm::expm1(f64::from(bytes * 8) * libm::log1p(-rate))
}

impl Loss for BitErrors {
    fn on_packet(&mut self, _now: Time, packet: &Packet) -> Fate {
        let len = packet.ip_len();
        if self.last.0 != len {
            self.last = (len, probability(self.rate, len));
        }
        if self.rng.chance(self.last.1) { self.fate } else { Fate::Deliver }
    }
}

#[cfg(test)]
mod tests {
    use super::probability;

    #[test]
    fn a_long_packet_is_lost_more_often() {
        // (1 - 10^-6)^12000 = 0.988072; of a bit that is always wrong nothing arrives; with two bits, 1 - 0.9 x 0.9.
        assert!((probability(1e-6, 1500) - 0.011_928_3).abs() < 1e-7, "{}", probability(1e-6, 1500));
        assert!((probability(1e-6, 40) - 0.000_319_95).abs() < 1e-8, "{}", probability(1e-6, 40));
        assert_eq!((probability(0.0, 1500), probability(1.0, 40)), (0.0, 1.0));
        // 10^-15 of 12,000 bits: 1 - 10^-15 is hardly a number of its own.
        assert!((probability(1e-15, 1500) / 1.2e-11 - 1.0).abs() < 1e-9);
    }
}

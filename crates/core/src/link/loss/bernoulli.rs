//! `bernoulli`: each packet is lost with the same probability, whatever became of the others.

use super::{CORRUPTION, Fate, Loss, LossKind, draw, probability};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::time::Time;

/// The registry entry.
pub const KIND: LossKind = LossKind {
    name: "bernoulli",
    summary: "each packet is lost with one probability, independently",
    source: "none: longfat's own",
    params: &[probability("probability", None, "probability that a packet is lost"), CORRUPTION],
    check: |_| Ok(()),
    build: |params, rng| {
        let (loss, corruption) = (params.number("probability"), params.number("corruption"));
        Some(Box::new(Bernoulli { loss, corruption, rng }))
    },
};

struct Bernoulli {
    loss: f64,
    corruption: f64,
    rng: Rng,
}

impl Loss for Bernoulli {
    fn on_packet(&mut self, _now: Time, _packet: &Packet) -> Fate {
        draw(&mut self.rng, self.loss, self.corruption)
    }
}

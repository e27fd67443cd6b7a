//! `bernoulli`: each packet is lost with the same probability, independently of the others.

use super::{CORRUPTION, Fate, Loss, LossKind, draw, probability};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: LossKind = LossKind {
    name: "bernoulli",
    summary: "each packet is lost with one probability, independently",
    source: "none: longfat's own",
    params: &[probability("probability", None, "probability that a packet is lost"), CORRUPTION],
    check: |_| Ok(()),
    build: |params, rng| {
        let (loss, corruption) = (params.number("probability"), params.number("corruption"));
        Some(Box::new(Bernoulli { loss, corruption, rng, drawn: None }))
    },
};

/// Most fates drawn at once: in a row they take a fraction of the time.
const AHEAD: u32 = 64;

struct Bernoulli {
    loss: f64,
    corruption: f64,
    rng: Rng,
    /// Fate of the next packet, if it has been drawn.
    drawn: Option<Fate>,
}

impl Loss for Bernoulli {
    fn on_packet(&mut self, _now: Time, _packet: &Packet) -> Fate {
        self.drawn.take().unwrap_or_else(|| draw(&mut self.rng, self.loss, self.corruption))
    }

    fn spared(&mut self) -> u32 {
        for n in 0..AHEAD {
            let fate = draw(&mut self.rng, self.loss, self.corruption);
            if fate != Fate::Deliver {
                self.drawn = Some(fate);
                return n;
            }
        }
        AHEAD
    }
}

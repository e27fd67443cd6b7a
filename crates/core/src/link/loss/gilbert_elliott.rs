//! `gilbert_elliott`: losses in bursts, from a line that is good or bad in turn.
//!
//! Gilbert and Elliott count bits; here a step is a packet.

use super::{CORRUPTION, Fate, Loss, LossKind, draw, probability};
use crate::packet::Packet;
use crate::params::Value;
use crate::rng::Rng;
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: LossKind = LossKind {
    name: "gilbert_elliott",
    summary: "losses in bursts: the line passes between a good and a bad state, packet by packet",
    source: "Gilbert, Capacity of a Burst-Noise Channel, BSTJ 39(5), 1960; Elliott, Estimates of Error Rates for Codes on Burst-Noise Channels, BSTJ 42(5), 1963",
    params: &[
        probability("p", None, "probability that a good line turns bad, after each packet"),
        probability("r", None, "probability that a bad line turns good, after each packet"),
        // Gilbert's model has no loss in the good state; Elliott's may.
        probability("loss_good", Some(Value::Number(0.0)), "probability that a packet is lost on a good line"),
        probability("loss_bad", Some(Value::Number(1.0)), "probability that a packet is lost on a bad line"),
        CORRUPTION,
    ],
    check: |params| {
        if params.number("p") > 0.0 && params.number("r") == 0.0 {
            return Err("r must be over 0 when p is: the line would turn bad and stay so".into());
        }
        Ok(())
    },
    build: |params, mut rng| {
        let (p, r) = (params.number("p"), params.number("r"));
        // The stationary distribution: bad a part p / (p + r) of the time. Without p the line starts, and stays, good.
        let bad = p > 0.0 && rng.chance(p / (p + r));
        Some(Box::new(GilbertElliott {
            bad,
            turn: [p, r],
            loss: [params.number("loss_good"), params.number("loss_bad")],
            corruption: params.number("corruption"),
            rng,
        }))
    },
};

/// Pairs are indexed by the state: good, bad.
struct GilbertElliott {
    bad: bool,
    /// Probability of leaving the state.
    turn: [f64; 2],
    loss: [f64; 2],
    corruption: f64,
    rng: Rng,
}

impl Loss for GilbertElliott {
    fn on_packet(&mut self, _now: Time, _packet: &Packet) -> Fate {
        let state = usize::from(self.bad);
        let fate = draw(&mut self.rng, self.loss[state], self.corruption);
        self.bad ^= self.rng.chance(self.turn[state]);
        fate
    }
}

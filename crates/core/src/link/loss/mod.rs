//! Losses, corruption and other impairments of packets on a line. One file per model, one line in [`REGISTRY`].

mod bernoulli;
mod bit_errors;
mod gilbert_elliott;
mod gilbert_elliott_time;
mod periodic;

use crate::by_name;
use crate::packet::Packet;
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::Time;

/// Fate of a packet on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives as it was sent.
    Deliver,
    /// It never arrives.
    Lose,
    /// It arrives damaged, and the receiver's checksum discards it.
    Corrupt,
}

/// A model of loss. Time never runs backwards between calls.
pub trait Loss {
    /// Returns the fate of `packet`, whose transmission ends at `now`.
    fn on_packet(&mut self, now: Time, packet: &Packet) -> Fate;

    /// Returns how many of the next packets certainly arrive unchanged. [`Loss::on_packet`] must not be called for them.
    fn spared(&mut self) -> u32 {
        0
    }
}

/// One model.
pub struct LossKind {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Parameters that users can set.
    pub params: &'static [ParamSpec],
    /// Checks what bounds on single parameters cannot say. `Err` is one sentence for the user.
    pub check: fn(&Params) -> Result<(), String>,
    /// Builds the model; `None` if nothing can happen to a packet, so that a perfect line costs nothing.
    pub build: fn(&Params, Rng) -> Option<Box<dyn Loss + Send>>,
}

/// Every model, in the order of listings.
pub const REGISTRY: &[LossKind] =
    &[NONE, bernoulli::KIND, bit_errors::KIND, gilbert_elliott::KIND, gilbert_elliott_time::KIND, periodic::KIND];
by_name!(LossKind, "loss model", with params);

/// Returns a perfect line.
pub const NONE: LossKind =
    LossKind { name: "none", summary: "a perfect line", source: "none: longfat's own", params: &[], check: |_| Ok(()), build: |_, _| None };

const fn probability(name: &'static str, default: Option<Value>, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Number { min: 0.0, max: 1.0 }, default, doc }
}

const CORRUPTION: ParamSpec =
    probability("corruption", Some(Value::Number(0.0)), "probability that a packet that is not lost arrives damaged");

/// Draws the fate of a packet lost with probability `loss`, and if it is not, damaged with probability `corruption`.
fn draw(rng: &mut Rng, loss: f64, corruption: f64) -> Fate {
    if loss > 0.0 && rng.chance(loss) {
        Fate::Lose
    } else if corruption > 0.0 && rng.chance(corruption) {
        Fate::Corrupt
    } else {
        Fate::Deliver
    }
}

#[cfg(test)]
mod tests;

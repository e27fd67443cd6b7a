//! Traffic that is not simply a volume or a stream without end: packets of UDP at a rate that follows a schedule, and
//! transfers as a reader of the web makes them, and
//! keystrokes. What is random comes from the flow's own stream of numbers.

mod departures;
mod telnet;
mod udp;
mod web;

pub use departures::Departures;
pub use telnet::Keystrokes;
pub use udp::{LEAST_SIZE, Udp};
pub use web::{Transfers, Web};

use crate::time::Duration;
use crate::units::Rate;

/// When the packets of a UDP flow leave. Rates are of IP packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Evenly spaced.
    Constant { rate: Rate },
    /// rate(t) = mean + amplitude sin(2 pi t / period), t from the start of the flow.
    Sinusoid { mean: Rate, amplitude: Rate, period: Duration },
    /// Evenly spaced while on; on and off times follow each other.
    OnOff { rate: Rate, on: Spell, off: Spell },
}

/// How long an on or an off time lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    pub mean: Duration,
    /// Of the Pareto distribution; `None`: always the mean.
    pub shape: Option<f64>,
}

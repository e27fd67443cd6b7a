//! When packets leave, or an application writes.

use crate::time::Duration;
use crate::units::Rate;

/// When the packets of a UDP flow leave, or an application writes. Rates are of IP packets, or of payload written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Evenly spaced.
    Constant {
        /// At this rate.
        rate: Rate,
    },
    /// rate(t) = mean + amplitude sin(2 pi t / period), t from the start of the flow.
    Sinusoid {
        /// The mean rate.
        mean: Rate,
        /// How far the rate goes above and below the mean.
        amplitude: Rate,
        /// From one crest to the next.
        period: Duration,
    },
    /// Evenly spaced while on; on and off times follow each other.
    OnOff {
        /// The rate while on.
        rate: Rate,
        /// How long an on time is.
        on: Spell,
        /// How long an off time is.
        off: Spell,
    },
    /// With independent gaps of this mean rate: Pareto of this shape, or exponential (Poisson arrivals).
    Random {
        /// The mean rate.
        rate: Rate,
        /// Shape of the Pareto distribution; `None`: gaps are exponential.
        shape: Option<f64>,
    },
}

/// How long an on or an off time lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    /// Its mean.
    pub mean: Duration,
    /// Shape of the Pareto distribution; `None`: always the mean.
    pub shape: Option<f64>,
}

impl Schedule {
    /// The rate over a long time, in bit/s.
    pub fn mean_bps(&self) -> f64 {
        match *self {
            Schedule::Constant { rate } | Schedule::Sinusoid { mean: rate, .. } | Schedule::Random { rate, .. } => rate.as_bps() as f64,
            Schedule::OnOff { rate, on, off } => {
                let (on, off) = (on.mean.as_secs_f64(), off.mean.as_secs_f64());
                rate.as_bps() as f64 * on / (on + off)
            }
        }
    }
}

//! Departure times of packets, or writes of an application.

use crate::time::Duration;
use crate::units::Rate;

/// Schedule of the packets of a UDP flow, or of an application's writes. Rates are of IP packets, or of payload written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Evenly spaced.
    Constant {
        /// Constant rate.
        rate: Rate,
    },
    /// rate(t) = mean + amplitude sin(2 pi t / period), t from the start of the flow.
    Sinusoid {
        /// The mean rate.
        mean: Rate,
        /// Distance of the rate's extremes from the mean.
        amplitude: Rate,
        /// Time from one crest to the next.
        period: Duration,
    },
    /// Evenly spaced while on; on and off times follow each other.
    OnOff {
        /// The rate while on.
        rate: Rate,
        /// Length of an on time.
        on: Spell,
        /// Length of an off time.
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

/// Length of an on or an off time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spell {
    /// Mean length.
    pub mean: Duration,
    /// Shape of the Pareto distribution; `None`: always the mean.
    pub shape: Option<f64>,
}

impl Schedule {
    /// Returns the greatest rate, in bit/s; infinite where gaps are random.
    pub fn peak_bps(&self) -> f64 {
        match *self {
            Schedule::Constant { rate } | Schedule::OnOff { rate, .. } => rate.as_bps() as f64,
            Schedule::Sinusoid { mean, amplitude, .. } => (mean.as_bps() + amplitude.as_bps()) as f64,
            Schedule::Random { .. } => f64::INFINITY,
        }
    }

    /// Returns the rate over a long time, in bit/s.
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

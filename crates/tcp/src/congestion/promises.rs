//! Claims of congestion controls: what one flow does alone, two flows do beside each other, and one does beside CUBIC.

use longfat_core::promise::Promise;
use std::fmt;

/// Claim about whole runs over a path with a buffer of one bandwidth-delay product. Shares are between 0 and 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Claim {
    /// One flow alone uses at least this share of the path.
    Uses(f64),
    /// One flow alone keeps a mean queue between `least` and `most`, in bandwidth-delay products.
    QueuesBdp {
        /// Least mean queue.
        least: f64,
        /// Most.
        most: f64,
    },
    /// One flow alone keeps a mean queue between `least` and `most`, in segments.
    QueuesSegments {
        /// Least mean queue.
        least: f64,
        /// Most.
        most: f64,
    },
    /// Two flows share the path with at least this fairness index (Jain, Chiu and Hawe 1984).
    Shares(f64),
    /// One flow beside one of CUBIC gets from `least` to `most` of what both get.
    BesideCubic {
        /// Least share.
        least: f64,
        /// Most.
        most: f64,
    },
}

/// Claim of every control, whether or not its entry says so: a control that leaves half of an empty path unused is of no use.
pub const EVERY: Claim = Claim::Uses(0.5);

impl Claim {
    /// Mean queue of a window that grows linearly with the rounds and loses the share `decrease`, at most a half, when the buffer overflows.
    /// The window goes from 2 (1 - b) to 2 products. A round takes as long as the window is large, so the mean over time is that of W^2 over
    /// that of W, and one product of it is on the wire. The margin is 0.15 products.
    pub const fn sawtooth(decrease: f64) -> Self {
        let (low, high) = (2.0 * (1.0 - decrease), 2.0);
        let mean = 2.0 / 3.0 * (high * high * high - low * low * low) / (high * high - low * low) - 1.0;
        Claim::QueuesBdp { least: mean - 0.15, most: mean + 0.15 }
    }

    /// Returns true if both are of one kind, whatever their numbers.
    pub fn is_like(&self, other: &Claim) -> bool {
        let kind = |claim: &Claim| match claim {
            Claim::Uses(_) => 0,
            Claim::QueuesBdp { .. } | Claim::QueuesSegments { .. } => 1,
            Claim::Shares(_) => 2,
            Claim::BesideCubic { .. } => 3,
        };
        kind(self) == kind(other)
    }
}

/// Claim in words, after the name of the entry: "uses at least 90 % of an empty path".
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        match *self {
            Claim::Uses(least) => write!(f, "uses at least {:.0} % of an empty path", percent(least)),
            Claim::QueuesBdp { least, most } => write!(f, "alone keeps a mean queue of {least:.2} to {most:.2} BDP"),
            Claim::QueuesSegments { least, most } => write!(f, "alone keeps a mean queue of {least} to {most} segments"),
            Claim::Shares(least) => write!(f, "shares with itself at a Jain index of at least {least:.2}"),
            Claim::BesideCubic { least, most } if least > 0.0 => {
                write!(f, "beside CUBIC gets {:.0} to {:.0} % of what both get", percent(least), percent(most))
            }
            Claim::BesideCubic { most, .. } => write!(f, "beside CUBIC gets at most {:.0} % of what both get", percent(most)),
        }
    }
}

/// A window that falls to one product or more when the buffer of one overflows keeps the link busy; the rest is what delayed ACKs and timers cost.
pub(super) const FULL: Promise<Claim> = Promise::new(
    Claim::Uses(0.97),
    "a buffer of one BDP: Appenzeller, Keslassy and McKeown, Sizing Router Buffers, SIGCOMM 2004, section 2",
);
/// Additive increase and multiplicative decrease.
pub(super) const CONVERGES: Promise<Claim> =
    Promise::new(Claim::Shares(0.9), "Chiu and Jain 1989: additive increase and multiplicative decrease converge to equal shares");
/// Growth as Reno's.
pub(super) const AS_RENO_BESIDE_CUBIC: Promise<Claim> =
    beside_cubic(0.3, 0.6, "RFC 9438 section 4.3: CUBIC takes what Reno takes, and more where its curve is above Reno's window");

pub(in crate::congestion) const fn uses(least: f64, source: &'static str) -> Promise<Claim> {
    Promise::new(Claim::Uses(least), source)
}

pub(in crate::congestion) const fn sawtooth(decrease: f64, source: &'static str) -> Promise<Claim> {
    Promise::new(Claim::sawtooth(decrease), source)
}

pub(in crate::congestion) const fn queues_bdp(least: f64, most: f64, source: &'static str) -> Promise<Claim> {
    Promise::new(Claim::QueuesBdp { least, most }, source)
}

pub(in crate::congestion) const fn queues_segments(least: f64, most: f64, source: &'static str) -> Promise<Claim> {
    Promise::new(Claim::QueuesSegments { least, most }, source)
}

pub(in crate::congestion) const fn shares(least: f64, source: &'static str) -> Promise<Claim> {
    Promise::new(Claim::Shares(least), source)
}

pub(in crate::congestion) const fn beside_cubic(least: f64, most: f64, source: &'static str) -> Promise<Claim> {
    Promise::new(Claim::BesideCubic { least, most }, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reno goes from one product to two: (8 - 1) / 3 over (4 - 1) / 2, less one, is 5/9.
    #[test]
    fn the_queue_of_a_sawtooth() {
        let Claim::QueuesBdp { least, most } = Claim::sawtooth(0.5) else { panic!("it is of another kind") };
        assert!(((least + most) / 2.0 - 5.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn claims_are_said_in_words() {
        let said = [
            EVERY,
            Claim::sawtooth(0.5),
            Claim::QueuesSegments { least: 2.0, most: 5.0 },
            Claim::Shares(0.95),
            Claim::BesideCubic { least: 0.3, most: 0.6 },
            Claim::BesideCubic { least: 0.0, most: 0.1 },
        ]
        .map(|claim| claim.to_string());
        assert_eq!(
            said,
            [
                "uses at least 50 % of an empty path",
                "alone keeps a mean queue of 0.41 to 0.71 BDP",
                "alone keeps a mean queue of 2 to 5 segments",
                "shares with itself at a Jain index of at least 0.95",
                "beside CUBIC gets 30 to 60 % of what both get",
                "beside CUBIC gets at most 10 % of what both get",
            ]
        );
    }
}

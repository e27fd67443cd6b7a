//! Slow start: how fast the window grows below ssthresh, and when it stops by itself. One file a variant, one line in
//! [`REGISTRY`]; every control that grows by [`Window::slow_start`](super::Window::slow_start) has them all.

mod careful_resume;
mod hystart;
mod hystart_plus_plus;
mod limited;
mod search;
mod suss;

use super::AckSample;
use crate::TcpConfig;
use careful_resume::CarefulResume;
use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;
use limited::Limited;
use longfat_core::by_name;
use longfat_core::units::Rate;
use search::Search;
use suss::Suss;

/// A variant of slow start.
pub struct Kind {
    /// Name, as the parameter `slow_start` spells it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source of the definition.
    pub source: &'static str,
    /// Builds its state.
    pub build: fn(&TcpConfig) -> Variant,
}

/// Every variant, in the order of listings.
pub const REGISTRY: &[Kind] = &[
    Kind {
        name: "standard",
        summary: "doubles each round trip, up to ssthresh or a loss",
        source: "RFC 5681 section 3.1; RFC 3465",
        build: |_| Variant::Standard,
    },
    Kind {
        name: "limited",
        summary: "over max_ssthresh, grows by at most half of that each round trip",
        source: "RFC 3742",
        build: |c| Variant::Limited(Limited::new(c)),
    },
    Kind {
        name: "hystart",
        summary: "ends at a train of ACKs of half a round trip, or a round trip that rose",
        source: "Ha and Rhee, Hybrid Slow Start for High-Bandwidth and Long-Distance Networks, PFLDnet 2008; Taming the Elephants: New TCP Slow Start, Computer Networks 55, 2011",
        build: |c| Variant::HyStart(HyStart::new(c)),
    },
    Kind {
        name: "hystart++",
        summary: "at a round trip that rose, grows by a quarter each round for up to five rounds, and ends",
        source: "RFC 9406",
        build: |c| Variant::HyStartPlusPlus(HyStartPlusPlus::new(c)),
    },
    Kind {
        name: "careful_resume",
        summary: "after a round trip, jumps to half of saved_cwnd, paced; a loss before that is validated leaves half of what arrived",
        source: "draft-ietf-tsvwg-careful-resume-24 (RFC 9959)",
        build: |c| Variant::CarefulResume(CarefulResume::new(c)),
    },
    Kind {
        name: "suss",
        summary: "quadruples where HyStart would not end slow start in the next round either, and paces the second half",
        source: "Arghavani, Zhang, Eyers and Arghavani, SUSS: Improving TCP Performance by Speeding Up Slow-Start, SIGCOMM 2024",
        build: |c| Variant::Suss(Suss::new(c)),
    },
    Kind {
        name: "search",
        summary: "ends where the bytes delivered no longer double in a round trip, and takes back what came since",
        source: "Chung, Kachooei, Li and Claypool, SEARCH -- a New Slow Start Algorithm for TCP and QUIC, Internet-Draft, version 3.0, 2024",
        build: |_| Variant::Search(Box::default()),
    },
];

by_name!(Kind, "slow start");

/// The state of a variant.
#[derive(Clone, Debug)]
pub enum Variant {
    /// RFC 5681 §3.1: has no state.
    Standard,
    /// RFC 3742.
    Limited(Limited),
    /// HyStart, as published in 2008 and 2011.
    HyStart(HyStart),
    /// RFC 9406.
    HyStartPlusPlus(HyStartPlusPlus),
    /// Careful Resume.
    CarefulResume(CarefulResume),
    /// SUSS.
    Suss(Suss),
    /// SEARCH.
    Search(Box<Search>),
}

/// Response of slow start to an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Bytes by which cwnd grows.
    pub growth: u64,
    /// Bytes by which cwnd grows beside that, up to ssthresh, and which the variant paces.
    pub paced: u64,
    /// Window to have instead of what grew.
    pub set: Option<u64>,
    /// True if slow start is over: ssthresh becomes cwnd, after this growth.
    pub leave: bool,
}

/// Slow start (RFC 5681 §3.1) with appropriate byte counting (RFC 3465), in one of the variants.
#[derive(Clone, Debug)]
pub struct SlowStart {
    mss: u64,
    /// RFC 3465's L in segments; 0 counts ACKs, not bytes.
    abc_limit: u64,
    variant: Variant,
}

impl SlowStart {
    /// Creates the variant that `config` asks for.
    pub fn new(config: &TcpConfig) -> Self {
        let variant = (named(config.growth.slow_start).build)(config);
        SlowStart { mss: u64::from(config.mss), abc_limit: u64::from(config.sending.abc_limit), variant }
    }

    /// Returns the response to an ACK at `cwnd`. `initial`: this is the first slow start, whose end nobody knows yet.
    #[inline]
    pub fn step(&mut self, ack: &AckSample, cwnd: u64, initial: bool) -> Step {
        let growth = self.growth(ack);
        match &mut self.variant {
            Variant::Limited(v) => Step { growth: v.growth(cwnd, growth), ..Step::default() },
            // Linux leaves before it grows, measured (docs/stacks/linux.md).
            Variant::HyStart(v) => {
                let leave = v.found(ack, cwnd);
                Step { growth: if leave { 0 } else { growth }, leave, ..Step::default() }
            }
            Variant::HyStartPlusPlus(v) if initial && ack.cwnd_limited => v.step(ack),
            Variant::CarefulResume(v) => v.step(ack, cwnd, growth),
            Variant::Suss(v) if initial => v.step(ack, cwnd, growth),
            Variant::Search(v) if initial => v.step(ack, cwnd, growth),
            Variant::Standard | Variant::HyStartPlusPlus(_) | Variant::Suss(_) | Variant::Search(_) => Step { growth, ..Step::default() },
        }
    }

    /// Returns the bytes by which standard slow start grows.
    #[inline]
    fn growth(&self, ack: &AckSample) -> u64 {
        // RFC 5681 Eq. 2: cwnd += min(N, SMSS); RFC 3465 §2.2 raises the bound to L segments, and §2.3 lowers it to one after a timeout.
        match self.abc_limit {
            0 => self.mss,
            _ if ack.after_timeout => ack.acked.min(self.mss),
            limit => ack.acked.min(limit.saturating_mul(self.mss)),
        }
    }

    /// Returns the state of Careful Resume, if it is that.
    #[inline]
    pub fn careful_resume(&mut self) -> Option<&mut CarefulResume> {
        match &mut self.variant {
            Variant::CarefulResume(v) => Some(v),
            _ => None,
        }
    }

    /// Returns the pacing rate that the variant wants, if any.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        match &self.variant {
            Variant::CarefulResume(v) => v.pacing_rate(),
            Variant::Suss(v) => v.pacing_rate(),
            _ => None,
        }
    }

    /// Returns true while Careful Resume has ACKs to count outside slow start, too.
    #[inline]
    pub fn is_resuming(&self) -> bool {
        matches!(&self.variant, Variant::CarefulResume(v) if v.is_resuming())
    }

    /// Returns true if proportional rate reduction must not steer the window.
    #[inline]
    pub fn is_retreating(&self) -> bool {
        matches!(&self.variant, Variant::CarefulResume(v) if v.is_retreating())
    }

    /// Discards all measurements: they belong to a slow start that is over.
    pub fn reset(&mut self) {
        match &mut self.variant {
            Variant::Standard | Variant::Limited(_) => {}
            Variant::HyStart(v) => v.reset(),
            Variant::HyStartPlusPlus(v) => v.reset(),
            Variant::CarefulResume(v) => v.reset(),
            Variant::Suss(v) => v.reset(),
            Variant::Search(v) => v.reset(),
        }
    }
}

#[cfg(test)]
mod tests;

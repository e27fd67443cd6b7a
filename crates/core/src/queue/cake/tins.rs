//! Tins: their codepoints, their thresholds as shares of the rate, and their weights under and over the threshold.

use super::schedule::Schedule;
use crate::packet::Dscp;
use crate::units::Rate;

/// Words of tc-cake(8).
pub(super) const WORDS: &[&str] = &["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"];

/// Denominator of shares of the rate, and of the MTU in a turn: sixteenths.
pub(super) const WHOLE: u32 = 16;

/// One kind of tin.
#[derive(Debug)]
pub(super) struct TinKind {
    /// Threshold: its share of the rate.
    pub threshold: u32,
    /// Weights: while it is under its threshold, and otherwise.
    pub weights: [u32; 2],
}

const BULK: TinKind = TinKind { threshold: 1, weights: [1, 1] };
const BEST_EFFORT: TinKind = TinKind { threshold: WHOLE, weights: [WHOLE, WHOLE] };
const VIDEO: TinKind = TinKind { threshold: 8, weights: [32, 8] };
const VOICE: TinKind = TinKind { threshold: 4, weights: [64, 4] };

const BULK_DSCPS: &[u8] = &[8, 1];
/// TOS4 and TOS1 are taken as the codepoints 4 (low delay, of the old type of service) and 1; the second has since become LE, which is bulk.
const VIDEO_DSCPS: &[u8] = &[34, 36, 38, 26, 28, 30, 24, 18, 20, 22, 16, 4];
const VOICE_DSCPS: &[u8] = &[56, 48, 46, 44];
const VOICE_DSCPS_4: &[u8] = &[56, 48, 46, 44, 40, 32];
/// Codepoints of the tins over best effort in `diffserv8`: the tins of `diffserv4`, split by the service classes of RFC 4594 (its figure
/// 3): AF1x; AF2x, CS2, 4; AF3x, CS3; AF4x; EF, VOICE-ADMIT, CS5, CS4; CS6, CS7.
const CLASSES: [&[u8]; 6] = [&[10, 12, 14], &[18, 20, 22, 16, 4], &[26, 28, 30, 24], &[34, 36, 38], &[46, 44, 40, 32], &[48, 56]];

/// Number of the tin per codepoint.
type Tins = [u8; Dscp::COUNT as usize];

/// Returns the tins in order of priority, the last first, and the tin of each codepoint.
pub(super) fn named(word: &str) -> (&'static [TinKind], Tins) {
    match word {
        "besteffort" => (&[BEST_EFFORT], [0; _]),
        // RFC 791 section 3.1: precedence is the first three bits.
        "precedence" => (&[BEST_EFFORT, VIDEO, VIDEO, VIDEO, VOICE, VOICE, VOICE, VOICE], std::array::from_fn(|dscp| dscp as u8 >> 3)),
        "diffserv3" => (&[BULK, BEST_EFFORT, VOICE], tins(&[VOICE_DSCPS, &[4]].map(|dscps| (2, dscps)))),
        "diffserv4" => (&[BULK, BEST_EFFORT, VIDEO, VOICE], tins(&[(2, VIDEO_DSCPS), (3, VOICE_DSCPS_4)])),
        _ => {
            let classes: Vec<_> = (2..).zip(CLASSES).collect();
            (&[BULK, BEST_EFFORT, BEST_EFFORT, VIDEO, VIDEO, VIDEO, VOICE, VOICE], tins(&classes))
        }
    }
}

/// Returns the tin of each codepoint: `those` in their tins, bulk in the first, and all others in the second.
fn tins(those: &[(u8, &[u8])]) -> Tins {
    let mut tins = [1; _];
    for &(tin, dscps) in those.iter().chain(&[(0, BULK_DSCPS)]) {
        dscps.iter().for_each(|&dscp| tins[usize::from(dscp)] = tin);
    }
    tins
}

impl TinKind {
    /// Returns the rate of its threshold, of `rate`.
    pub(super) fn rate(&self, rate: Rate) -> Rate {
        Rate::from_bps((rate.as_bps() / u64::from(WHOLE) * u64::from(self.threshold)).max(1))
    }
    /// Returns the schedule that tells if the tin exceeds its rate.
    pub(super) fn schedule(&self, rate: Rate) -> Schedule {
        Schedule::new(self.rate(rate))
    }
}

#[cfg(test)]
mod tests;

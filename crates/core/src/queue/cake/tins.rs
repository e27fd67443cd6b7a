//! Tins: which codepoints go into which, the share of the rate that each is meant for, and how much of a turn it has under that and over it.

use super::schedule::Schedule;
use crate::packet::Dscp;
use crate::units::Rate;

/// The words, as tc-cake(8) has them.
pub const WORDS: &[&str] = &["besteffort", "diffserv3", "diffserv4"];

/// Parts of the rate, and of the MTU in a turn: sixteenths.
pub const WHOLE: u32 = 16;

/// One kind of tin.
#[derive(Debug)]
pub struct TinKind {
    /// The part of the rate that it is meant for.
    pub threshold: u32,
    /// Its weight as long as it takes less than that, and else.
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

/// Tins in order of priority, the last first, and for each codepoint the number of its tin.
pub fn named(word: &str) -> (&'static [TinKind], [u8; Dscp::COUNT as usize]) {
    let mut of = [0; Dscp::COUNT as usize];
    let mut set = |tin: u8, dscps: &[u8]| dscps.iter().for_each(|&dscp| of[usize::from(dscp)] = tin);
    match word {
        "besteffort" => (&[BEST_EFFORT], of),
        "diffserv3" => {
            set(1, &std::array::from_fn::<u8, 64, _>(|n| n as u8));
            set(0, BULK_DSCPS);
            set(2, VOICE_DSCPS);
            set(2, &[4]);
            (&[BULK, BEST_EFFORT, VOICE], of)
        }
        _ => {
            set(1, &std::array::from_fn::<u8, 64, _>(|n| n as u8));
            set(0, BULK_DSCPS);
            set(2, VIDEO_DSCPS);
            set(3, VOICE_DSCPS_4);
            (&[BULK, BEST_EFFORT, VIDEO, VOICE], of)
        }
    }
}

impl TinKind {
    /// The rate that it is meant for, of `rate`.
    pub fn rate(&self, rate: Rate) -> Rate {
        Rate::from_bps((rate.as_bps() / u64::from(WHOLE) * u64::from(self.threshold)).max(1))
    }
    /// Whether it keeps to that is for its schedule to say.
    pub fn schedule(&self, rate: Rate) -> Schedule {
        Schedule::new(self.rate(rate))
    }
}

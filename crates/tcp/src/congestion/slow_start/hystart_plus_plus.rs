//! HyStart++ (RFC 9406): a round trip that rises ends slow start not at once but by way of a few rounds of slower growth, which
//! find out whether the rise was real.

use super::Step;
use crate::TcpConfig;
use crate::congestion::AckSample;
use longfat_core::time::Duration;

// RFC 9406 §4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// L in segments, of a sender that does not pace. Departs from §4.3 for one that does, which would have no bound: ACKs clock the
/// controls that use this.
const L: u64 = 8;

const INFINITE: Duration = Duration::from_ps(u64::MAX);

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// cssBaselineMinRtt.
    baseline: Duration,
    /// Rounds begun in it; the one it was entered in is the first (§4.2).
    rounds: u32,
}

/// The variables of RFC 9406 §4.2.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    mss: u64,
    round: Option<u64>,
    last_round_min: Duration,
    current_round_min: Duration,
    samples: u32,
    css: Option<Css>,
}

impl HyStartPlusPlus {
    pub fn new(config: &TcpConfig) -> Self {
        HyStartPlusPlus {
            mss: u64::from(config.mss),
            round: None,
            last_round_min: INFINITE,
            current_round_min: INFINITE,
            samples: 0,
            css: None,
        }
    }

    /// RFC 9406 §4.2, for an ACK of the first slow start.
    #[inline]
    pub fn step(&mut self, ack: &AckSample) -> Step {
        // Rounds are counted by the sender, by sequence numbers as §4.2 has it.
        if self.round != Some(ack.round) {
            self.round = Some(ack.round);
            self.last_round_min = self.current_round_min;
            self.current_round_min = INFINITE;
            self.samples = 0;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
            }
        }
        let growth = ack.acked.min(L * self.mss) / if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1 };
        if let Some(rtt) = ack.rtt {
            self.current_round_min = self.current_round_min.min(rtt);
            self.samples += 1;
        }
        match self.css {
            Some(css) if css.rounds > CSS_ROUNDS => {
                self.css = None;
                return Step { growth, leave: true, ..Step::default() };
            }
            // The rise has gone: it was not the queue of this flow.
            Some(css) if self.samples >= N_RTT_SAMPLE && self.current_round_min < css.baseline => self.css = None,
            None if self.samples >= N_RTT_SAMPLE && self.rtt_rises() => {
                self.css = Some(Css { baseline: self.current_round_min, rounds: 1 });
            }
            _ => {}
        }
        Step { growth, ..Step::default() }
    }

    /// Returns true if the least round trip of this round exceeds that of the last round by RttThresh.
    #[inline]
    fn rtt_rises(&self) -> bool {
        let (last, current) = (self.last_round_min, self.current_round_min);
        if last == INFINITE || current == INFINITE {
            return false;
        }
        current >= last + (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
    }

    pub fn reset(&mut self) {
        *self = HyStartPlusPlus { round: None, last_round_min: INFINITE, current_round_min: INFINITE, samples: 0, css: None, ..*self };
    }
}

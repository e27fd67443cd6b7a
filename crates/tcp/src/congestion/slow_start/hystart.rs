//! HyStart (Ha and Rhee, Hybrid Slow Start for High-Bandwidth and Long-Distance Networks, PFLDnet 2008; Taming the Elephants: New
//! TCP Slow Start, Computer Networks 55, 2011): slow start ends where a train of ACKs is as long as the way there, or where the
//! round trip rises.

use crate::congestion::AckSample;
use crate::{Pacing, TcpConfig};
use longfat_core::time::{Duration, Time};

/// Least window, in segments, in which HyStart looks for the end (Ha and Rhee, Algorithm 1; Linux's `hystart_low_window`).
const LOW_WINDOW: u64 = 16;
/// ACKs no further apart than this belong to one train (Algorithm 1; Linux's `hystart_ack_delta_us`).
pub(super) const ACK_DELTA: Duration = Duration::from_millis(2);
/// Round trips measured in a round before their least decides. Algorithm 1 has eight, and decides at the eighth; Linux decides at the
/// ninth (measured: docs/stacks/linux.md).
const SAMPLES: u32 = 9;
/// Bounds of the rise that ends slow start. Ha and Rhee had 2 ms at least; Linux made it less sensitive (the change "make the delay threshold
/// of HyStart less sensitive" says why).
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);

/// One round of measuring.
#[derive(Clone, Copy, Debug)]
struct Round {
    number: u64,
    start: Time,
    /// The last ACK of the train that began with the round.
    train: Time,
    samples: u32,
    least: Duration,
}

#[derive(Clone, Debug)]
pub struct HyStart {
    low_window: u64,
    /// The train is so many parts of the least round trip.
    train_divisor: u64,
    /// The rise is so many parts of it: 16 in Ha and Rhee and in Linux before 5.6, 8 since (the change "refine Hystart delay threshold": 12.5 %
    /// for 6.25 %).
    rise_divisor: u64,
    /// The least round trip of data. Linux leaves the handshake's out (measured: docs/stacks/linux.md).
    least: Duration,
    round: Option<Round>,
}

/// No round trip was measured.
const INFINITE: Duration = Duration::from_ps(u64::MAX);

impl HyStart {
    pub fn new(config: &TcpConfig) -> Self {
        // Pacing may itself spread a window over half a round trip, and must not be taken for the bottleneck (Linux's change "make Hystart
        // aware of pacing"): then the train is to be as much longer.
        let train_divisor = if config.sending.pacing == Pacing::On { 1 } else { 2 };
        let rise_divisor = config.growth.hystart_divisor.into();
        HyStart { low_window: LOW_WINDOW * u64::from(config.mss), train_divisor, rise_divisor, least: INFINITE, round: None }
    }

    /// Returns true if this ACK shows that the window is as large as the path.
    #[inline]
    pub fn found(&mut self, ack: &AckSample, cwnd: u64) -> bool {
        let mut round = match self.round {
            Some(round) if round.number == ack.round => round,
            _ => Round { number: ack.round, start: ack.now, train: ack.now, samples: 0, least: INFINITE },
        };
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt);
            round.least = round.least.min(rtt);
            round.samples += 1;
        }
        // Algorithm 1, ACK train: the bottleneck spaces the ACKs, so that a train of the length of the forward delay, half the
        // least round trip, means a window that fills the way there.
        let mut found = false;
        if ack.now.since(round.train) <= ACK_DELTA {
            round.train = ack.now;
            found = self.least != INFINITE && ack.now.since(round.start) >= self.least / self.train_divisor;
        }
        // Algorithm 1, delay increase: the first samples of a round, before its own burst is in the queue.
        // Departs from it as Linux does: against the least of the connection, not of the round before.
        let rise = (self.least / self.rise_divisor).clamp(DELAY_MIN, DELAY_MAX);
        found |= round.samples >= SAMPLES && round.least >= self.least + rise;
        self.round = Some(round);
        found && cwnd >= self.low_window
    }

    pub fn reset(&mut self) {
        self.round = None;
    }
}

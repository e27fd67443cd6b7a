//! COBALT: CoDel, and BLUE for flows that do not answer it. Both are asked as packets leave.

use super::super::codel::{Codel, CodelConfig, Waiting};
use super::super::{DropReason, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// Denominator of BLUE's probability.
const UNIT: u16 = 4096;
/// Steps of BLUE's probability: up by 1/256, down by 1/4096 (see docs/queues/cake.md).
const UP: u16 = UNIT / 256;
const DOWN: u16 = 1;

/// BLUE (Feng, Shin, Kandlur and Saha 2002): a drop probability that rises when the queue overflows and falls when it runs empty.
#[derive(Clone, Debug)]
pub(super) struct Blue {
    /// Probability in units of 1 / [`UNIT`].
    probability: u16,
    /// Time until which the probability stays as it is.
    frozen: Time,
}

impl Blue {
    pub(super) const fn new() -> Self {
        Blue { probability: 0, frozen: Time::ZERO }
    }
    /// Raises the probability: a packet was lost to overflow.
    pub(super) fn full(&mut self, now: Time, freeze: Duration) {
        if now >= self.frozen {
            self.probability = (self.probability + UP).min(UNIT);
            self.frozen = now.saturating_add(freeze);
        }
    }
    /// Lowers the probability: the queue is empty.
    #[inline]
    pub(super) fn empty(&mut self, now: Time, freeze: Duration) {
        if self.probability > 0 && now >= self.frozen {
            self.probability -= DOWN;
            self.frozen = now.saturating_add(freeze);
        }
    }
    /// Returns true if this packet is dropped.
    #[inline]
    fn hits(&self, rng: &mut Rng) -> bool {
        self.probability > 0 && rng.below(UNIT.into()) < self.probability.into()
    }
    #[cfg(test)]
    pub(super) const fn probability(&self) -> (u16, u16) {
        (self.probability, UNIT)
    }
}

/// State of one flow queue.
#[derive(Clone, Debug)]
pub(super) struct Cobalt {
    codel: Codel,
    pub blue: Blue,
}

impl Cobalt {
    /// Returns the state of an empty flow queue.
    pub(super) const fn new() -> Self {
        Cobalt { codel: Codel::new(), blue: Blue::new() }
    }
    /// Returns the next packet of the flow queue at `now`, dropping those before it. `None` if the flow queue is empty or becomes empty.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        (config, freeze): (&CodelConfig, Duration),
        now: Time,
        waiting: &mut Waiting<'_>,
        packets: &mut Packets,
        (log, rng): (&mut dyn QueueLog, &mut Rng),
    ) -> Option<PacketId> {
        while let Some(id) = self.codel.dequeue(config, now, waiting, packets, log) {
            if !self.blue.hits(rng) {
                return Some(id);
            }
            discard(now, id, DropReason::Early, packets, log);
        }
        self.blue.empty(now, freeze);
        None
    }
    /// Updates CoDel and BLUE when an empty flow queue is asked for a packet.
    #[inline]
    pub(super) fn rest(&mut self, now: Time, freeze: Duration) {
        self.codel.rest();
        self.blue.empty(now, freeze);
    }
}

//! Passage from the transmitter to the far end that differs from packet to packet: a delay that changes, jitter, packets held back or
//! carried twice.

use std::collections::BTreeMap;

use super::course::{Course, Current};
use super::jitter::Jitter;
use crate::packet::PacketId;
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// Impairments of a packet on its passage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passage {
    /// Propagation delay over time: a packet has the delay of the time at which it leaves the transmitter. `None`: the delay of the link.
    pub delay: Option<Course>,
    /// Random extra delay.
    pub jitter: Option<Jitter>,
    /// Reordering: some packets are held back, and others overtake them.
    pub reorder: Option<Reorder>,
    /// Probability that a packet comes twice.
    pub duplicate: f64,
    /// Hybrid ARQ: blocks of time are repeated if they failed.
    pub harq: Option<Harq>,
}

/// Hybrid ARQ below a layer that delivers in order, as of LTE: packets sent within a block of time arrive at its end, all or nothing. A
/// block that failed is retransmitted one round trip later, while others go on; packets that arrived meanwhile wait for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Harq {
    /// Probability that a block fails, each time that it is sent.
    pub probability: f64,
    /// Time from a block to its retransmission.
    pub round_trip: Duration,
    /// Length of a block.
    pub block: Duration,
    /// Most retransmissions of a block; after these it has arrived.
    pub most: u64,
}

/// Reordering: some packets are held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Probability per packet.
    pub probability: f64,
    /// Time for which a packet is held back.
    pub by: Duration,
}

impl Passage {
    /// Returns true if nothing happens to packets on the passage.
    pub fn is_plain(&self) -> bool {
        *self == Passage::default()
    }
}

/// Packets on such a passage.
pub(super) struct Travel {
    /// Least delay.
    least: Duration,
    delay: Option<Current>,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    duplicate: f64,
    harq: Option<Blocks>,
    rng: Rng,
    /// Jitter of the last packet.
    last_jitter: Duration,
    /// Time at which the last packet that was not held back arrives.
    last: Time,
    /// Packets so far.
    number: u64,
    /// Packets in the order in which they arrive; at one instant, in the order in which they were sent.
    under_way: BTreeMap<(Time, u64), OnWay>,
}

/// A packet on its passage.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnWay {
    pub id: PacketId,
    /// True if it never arrives.
    pub is_lost: bool,
    pub comes_twice: bool,
}

impl Travel {
    /// Returns an empty passage with at least the delay `least`; random values are drawn from `rng`.
    pub(super) fn new(passage: &Passage, least: Duration, course: Rng, rng: Rng) -> Self {
        Travel {
            least,
            delay: passage.delay.as_ref().map(|delay| Current::new(delay.pieces(course))),
            jitter: passage.jitter,
            reorder: passage.reorder,
            duplicate: passage.duplicate,
            harq: passage.harq.map(Blocks::new),
            rng,
            last_jitter: Duration::ZERO,
            last: Time::ZERO,
            number: 0,
            under_way: BTreeMap::new(),
        }
    }

    /// Puts the packet `id`, which the transmitter took at `began` and sent at `sent`, on its passage. Returns when it arrives.
    pub(super) fn take(&mut self, began: Time, sent: Time, id: PacketId, is_lost: bool) -> Time {
        let delay = self.delay.as_mut().map_or(self.least, |delay| Duration::from_ps(delay.at(sent).value));
        let through = self.harq.as_mut().map_or(sent, |harq| harq.through(began, sent, &mut self.rng));
        let mut at = through + delay.max(self.least);
        let mut keeps_order = true;
        if let Some(Jitter { spread, correlation, in_order }) = self.jitter {
            if self.number == 0 || !self.rng.chance(correlation) {
                self.last_jitter = spread.draw(&mut self.rng);
            }
            at += self.last_jitter;
            keeps_order = in_order;
        }
        if self.reorder.is_some_and(|reorder| self.rng.chance(reorder.probability)) {
            // The others do not wait for a packet that is held back.
            at += self.reorder.map_or(Duration::ZERO, |reorder| reorder.by);
        } else {
            if keeps_order {
                at = at.max(self.last);
            }
            self.last = at;
        }
        let comes_twice = self.duplicate > 0.0 && self.rng.chance(self.duplicate) && !is_lost;
        self.number += 1;
        self.under_way.insert((at, self.number), OnWay { id, is_lost, comes_twice });
        at
    }

    /// Returns the next packet that arrives, or would, at or before `until`, and when that is.
    pub(super) fn next(&mut self, until: Time) -> Option<(Time, OnWay)> {
        let first = self.under_way.first_entry().filter(|first| first.key().0 <= until)?;
        let ((at, _), packet) = first.remove_entry();
        Some((at, packet))
    }

    /// Returns when the next packet arrives.
    pub(super) fn first(&self) -> Time {
        self.under_way.first_key_value().map_or(Time::MAX, |((at, _), _)| *at)
    }

    /// Returns how many packets are under way.
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }
}

/// Blocks of time, one after the other.
struct Blocks {
    harq: Harq,
    /// First block whose fate is not known, and the time when all before have arrived.
    next: u64,
    through: Time,
}

impl Blocks {
    fn new(harq: Harq) -> Self {
        Blocks { harq, next: 0, through: Time::ZERO }
    }

    /// Returns when a packet that was sent from `began` up to `sent` has arrived, and all before it.
    fn through(&mut self, began: Time, sent: Time, rng: &mut Rng) -> Time {
        let Harq { probability, round_trip, block, most } = self.harq;
        let number = |at: Time| at.as_ps() / block.as_ps();
        // A packet sent up to the very end of a block is in that block.
        let last = number(Time::from_ps(sent.as_ps().saturating_sub(1)));
        // Blocks so far back that they have arrived, however often they failed, matter no more.
        let before = (round_trip.as_ps() * most).div_ceil(block.as_ps());
        for one in self.next.max(number(began)).max(last.saturating_sub(before))..=last {
            let failures = (0..most).take_while(|_| rng.chance(probability)).count() as u64;
            self.through = self.through.max(Time::from_ps((one + 1) * block.as_ps()) + round_trip * failures);
        }
        self.next = self.next.max(last + 1);
        self.through
    }
}

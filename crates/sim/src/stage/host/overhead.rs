//! Overhead of a host: it holds each packet that it sends for a random time, so that flows do not fall into step with each other.
//!
//! Floyd and Jacobson 1992 (*On Traffic Phase Effects in Packet-Switched Gateways*) show that in a network in which everything
//! takes the same time each time, who loses packets is decided by phases; a random time for each packet, about as long as the
//! bottleneck needs for one, does away with that. Packets do not overtake each other.

use std::collections::VecDeque;

use longfat_core::packet::PacketId;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};

/// The packets that one host holds.
#[derive(Debug)]
pub(super) struct Overhead {
    most: Duration,
    rng: Rng,
    /// Packets held, each with its departure and the number of its link.
    held: VecDeque<(Time, PacketId, usize)>,
    last: Time,
}

impl Overhead {
    /// Returns an overhead of up to `most` per packet.
    pub(super) fn new(most: Duration, rng: Rng) -> Self {
        Overhead { most, rng, held: VecDeque::new(), last: Time::ZERO }
    }

    /// Holds the packet `id`, which goes to `link`.
    pub(super) fn hold(&mut self, now: Time, id: PacketId, link: usize) {
        let leaves = now.saturating_add(Duration::from_ps(self.rng.below(self.most.as_ps() + 1)));
        self.last = self.last.max(leaves);
        self.held.push_back((self.last, id, link));
    }

    /// Returns the departure of the next packet; [`Time::MAX`] when it holds none.
    pub(super) fn next(&self) -> Time {
        self.held.front().map_or(Time::MAX, |held| held.0)
    }

    /// The next one to leave now, and its link.
    pub(super) fn take(&mut self, now: Time) -> Option<(PacketId, usize)> {
        if self.next() > now {
            return None;
        }
        self.held.pop_front().map(|(_, id, link)| (id, link))
    }

    /// Returns every packet it holds.
    pub(super) fn holds(&self) -> impl Iterator<Item = PacketId> {
        self.held.iter().map(|held| held.1)
    }
}

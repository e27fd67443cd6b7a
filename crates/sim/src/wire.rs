//! A wire: the packets between a transmitter and the far end, in order, each stamped with its arrival there.

use std::collections::VecDeque;

use longfat_core::packet::Packet;
use longfat_core::time::Time;

/// Packets on their way. The delay is constant, so that first in is first out, and only the head can be the next event.
#[derive(Debug)]
pub struct Wire {
    ring: VecDeque<Packet>,
    head_arrives: Time,
}

impl Wire {
    /// An empty wire.
    pub fn new() -> Self {
        Wire { ring: VecDeque::new(), head_arrives: Time::MAX }
    }

    /// `packet` will arrive at `arrival`, not before the one sent ahead of it, and come in there by `port`.
    #[inline]
    pub fn push(&mut self, packet: &Packet, arrival: Time, port: u16) {
        if self.ring.is_empty() {
            self.head_arrives = arrival;
        }
        if self.ring.len() == self.ring.capacity() {
            self.grow();
        }
        self.ring.push_back(*packet);
        // What changes on the way changes here, after the copy: a copy has to wait for words written just before it.
        if let Some(last) = self.ring.back_mut() {
            last.stamp = arrival;
            last.route += 1;
            last.ingress = port;
        }
    }

    /// Grows by an eighth: a packet in flight costs at most 72 bytes for its 64.
    #[cold]
    fn grow(&mut self) {
        self.ring.reserve_exact((self.ring.len() / 8).max(8));
    }

    /// When the packet at the head arrives; [`Time::MAX`] when the wire is empty.
    #[inline]
    pub fn head_arrives(&self) -> Time {
        self.head_arrives
    }

    /// The packet at the head, which is there.
    pub fn head(&self) -> &Packet {
        &self.ring[0]
    }

    /// Damages the packet at the head.
    pub fn corrupt_head(&mut self) {
        self.ring[0].corrupted = true;
    }

    /// Takes the packet at the head, which is there.
    #[inline]
    pub fn pop(&mut self) -> Packet {
        // By a copy, not as an `Option` that is taken apart again: that costs a nanosecond or two.
        let packet = self.ring[0];
        self.ring.pop_front();
        self.head_arrives = self.ring.front().map_or(Time::MAX, |next| next.stamp);
        packet
    }

    /// The packets on it, first to arrive first.
    pub fn packets(&self) -> &VecDeque<Packet> {
        &self.ring
    }
}

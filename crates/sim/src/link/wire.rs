//! A wire: the packets between a transmitter and the far end, in order, each stamped with its arrival there.

use longfat_core::packet::{Line, PacketId, Packets};
use longfat_core::time::Time;

/// Packets on their way. The delay is constant, so that first in is first out, and only the head can be the next event.
#[derive(Debug)]
pub struct Wire {
    line: Line,
    head_arrives: Time,
}

impl Wire {
    /// An empty wire.
    pub fn new() -> Self {
        Wire { line: Line::new(), head_arrives: Time::MAX }
    }

    /// The packet `id` will arrive when its stamp says, not before the one sent ahead of it, and come in there by `port`.
    #[inline]
    pub fn push(&mut self, id: PacketId, port: u16, packets: &mut Packets) {
        let packet = &mut packets[id];
        if self.line.is_empty() {
            self.head_arrives = packet.stamp;
        }
        packet.route += 1;
        packet.ingress = port;
        self.line.push(id, packets);
    }

    /// When the packet at the head arrives; [`Time::MAX`] when the wire is empty.
    #[inline]
    pub fn head_arrives(&self) -> Time {
        self.head_arrives
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let id = self.line.pop(packets)?;
        self.head_arrives = self.line.first().map_or(Time::MAX, |next| packets[next].stamp);
        Some(id)
    }

    /// The packets on it, first to arrive first.
    pub fn line(&self) -> &Line {
        &self.line
    }
}

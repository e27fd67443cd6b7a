//! Interface of the host, as it tells a connection of itself: whether there is room for another segment.

use super::{Connection, Sending};
use crate::Offload;
use crate::sender::Room;
use longfat_core::time::Time;

impl Connection {
    /// Tells the connection whether the host's interface takes another segment. While it does not, `poll_transmit` gives none with data.
    /// Pure ACKs and window probes go in any case.
    pub fn set_room(&mut self, room: bool) {
        let room = if room { Room::Yes } else { Room::No };
        match &mut self.sending {
            Sending::Active(sender) => sender.host.room = room,
            Sending::Silent(silent) => silent.room = room,
        }
    }

    /// Tells the connection of an interface that takes bursts and has `queued` IP bytes of this connection in its transmit queue.
    /// `poll_transmit` then keeps new data until a burst is complete, and begins none while the queue is not small.
    pub fn set_room_for_bursts(&mut self, offload: &Offload, room: bool, queued: u64) {
        match &mut self.sending {
            Sending::Active(sender) => sender.host.set_room_for_bursts(offload, room, queued),
            Sending::Silent(silent) => silent.room = if room { Room::Yes } else { Room::No },
        }
    }

    /// Returns true if `poll_transmit` has kept back a segment for lack of room.
    pub fn wants_room(&self) -> bool {
        self.sending.sender().is_some_and(|sender| sender.host.room == Room::Refused)
    }

    /// The interface has refused a segment, and this stack takes that as congestion: counts a send stall, and reduces the
    /// window, once a round trip.
    pub fn local_congestion(&mut self, now: Time) {
        if let Some(sender) = self.sending.sender_mut() {
            sender.local_congestion(now);
        }
    }
}

//! Tails: links to hosts that one other link feeds, and those that feed them.
//!
//! Whatever comes to a tail comes by one link, in the order in which it left that one's transmitter. So when a packet leaves
//! there, it is known when it will come to the tail and, if the tail is idle by then, when it will come to the host: it goes
//! onto the tail's wire at once, and the link that feeds has one event for all it sends in the time of its delay instead of
//! one for each packet. A packet that would have to wait at the tail comes there by an event, as anywhere, and so do those
//! after it until it is there.
//!
//! What the tail has done is counted when it has: a packet on its wire that has not yet come to it is *ahead*, and is the
//! feeding link's to count as in flight.

use longfat_core::packet::{Line, PacketId, Packets};
use longfat_core::time::Time;

use super::Link;

/// What a link knows as one that feeds tails.
#[derive(Debug, Default)]
pub struct Feeder {
    pub feeds: bool,
    /// Packets that have left its transmitter just now, each stamped with its arrival at the far end.
    pub leaving: Line,
    /// Packets on the wires of its tails of which these have not said yet that they have come.
    pub ahead: u64,
}

/// What a link knows as a tail.
#[derive(Debug, Default)]
pub struct Tail {
    is_tail: bool,
    /// Packets on their way to it that come by an event.
    expected: u32,
    /// Packets on its wire that had not come to it when it last looked, and the first of them.
    ahead: u32,
    first_ahead: Option<PacketId>,
    /// When the last transmission ends that has been counted, if one is ahead.
    counted_until: Time,
    /// Packets that have come since the link that feeds was last told.
    came: u64,
}

impl Tail {
    /// Whether packets are to come by an event.
    #[inline]
    pub const fn is_expecting(&self) -> bool {
        self.expected > 0
    }
}

impl Link {
    /// Makes it a tail from here on, if it is fit for one. Whether it is.
    pub fn make_tail(&mut self) -> bool {
        self.tail.is_tail = self.passes > 0;
        self.tail.is_tail
    }

    pub fn is_tail(&self) -> bool {
        self.tail.is_tail
    }

    /// Of a tail: the packet `id` has left the link that feeds, and will come at the time it is stamped with. Whether it is on the
    /// wire already; else it has to come by an event.
    #[inline]
    pub fn foresee(&mut self, id: PacketId, packets: &mut Packets) -> bool {
        let packet = &mut packets[id];
        let (comes, len) = (packet.stamp, packet.ip_len());
        if self.tail.expected > 0 || self.busy_until > comes || self.count.backlog > 0 || len > self.passes {
            self.tail.expected += 1;
            return false;
        }
        // As at the end of the wire it does not come by.
        packet.route += 1;
        if self.tail.ahead == 0 {
            (self.tail.first_ahead, self.tail.counted_until) = (Some(id), self.busy_until);
        }
        self.tail.ahead += 1;
        self.begin(comes, id, len, packets);
        true
    }

    /// Of a tail: a packet that had to come by an event does so now, as all before it have.
    #[cold]
    pub(super) fn meet(&mut self, now: Time, packets: &Packets) {
        self.tail.expected -= 1;
        self.count_ahead(now, packets);
        assert!(self.tail.ahead == 0, "link {}: a packet came by an event before one that left earlier", self.number);
    }

    /// Of a tail: counts what has come to it up to and including `now`.
    pub fn count_ahead(&mut self, now: Time, packets: &Packets) {
        while let Some(id) = self.tail.first_ahead {
            let packet = &packets[id];
            self.frame(packet.ip_len());
            if packet.stamp > now + self.last.lead + self.delay {
                return;
            }
            self.count_first_ahead(id, packets);
        }
    }

    /// Of a tail: counts the packet `id`, the first ahead.
    #[inline]
    pub(super) fn count_first_ahead(&mut self, id: PacketId, packets: &Packets) {
        let packet = &packets[id];
        self.frame(packet.ip_len());
        self.count.packets_in += 1;
        self.book();
        self.tail.counted_until = Time::from_ps((packet.stamp + self.last.time).as_ps() - (self.last.lead + self.delay).as_ps());
        self.tail.ahead -= 1;
        self.tail.came += 1;
        self.tail.first_ahead = self.wire.line().after(id, packets);
    }

    /// Whether the packet `id` has not been counted yet.
    #[inline]
    pub(super) fn is_first_ahead(&self, id: PacketId) -> bool {
        self.tail.first_ahead == Some(id)
    }

    /// The end of the last transmission that has been counted.
    pub(super) fn counted_until(&self) -> Time {
        if self.tail.ahead > 0 { self.tail.counted_until } else { self.busy_until }
    }

    /// Of a tail: how many packets have come since this was last asked.
    pub fn take_came(&mut self) -> u64 {
        std::mem::take(&mut self.tail.came)
    }

    /// The packets on the wire, the one in transmission included. Those ahead are on the wire of the link that feeds, if it has been
    /// told what came.
    pub fn in_flight(&self) -> u64 {
        self.wire.line().len() as u64 - u64::from(self.tail.ahead) + self.feeder.ahead
    }
}

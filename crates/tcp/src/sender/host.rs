//! The host's own interface: whether it takes another segment, and whether a burst is complete ([`Offload`]).

use super::{Limit, Sender};
use crate::offload::{Bursts, Offload};
use longfat_core::time::Time;
use longfat_core::units::Rate;

/// Room for another segment on the interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    Yes,
    No,
    /// No, and a segment would have gone.
    Refused,
    /// Yes, and it is to have new data in bursts.
    ForBursts,
}

#[derive(Debug)]
pub(crate) struct Host {
    pub room: Room,
    /// Bursts, where the interface takes them.
    pub bursts: Option<Box<Bursts>>,
}

impl Host {
    /// Returns true if the segment that would go now may. If not, the driver is told, and it was not sent.
    #[inline]
    pub(crate) fn takes(&mut self) -> bool {
        if self.room == Room::No {
            self.room = Room::Refused;
        }
        matches!(self.room, Room::Yes | Room::ForBursts)
    }

    /// The interface takes another segment, or not; it takes bursts, and has `queued` IP bytes of this connection.
    pub(crate) fn set_room_for_bursts(&mut self, offload: &Offload, room: bool, queued: u64) {
        self.room = if room { Room::ForBursts } else { Room::No };
        self.bursts.get_or_insert_with(|| Box::new(Bursts::new(*offload))).queued = queued;
    }
}

impl Sender {
    /// Returns true if the host lets new data of `len` octets go, which the `window` permits beside what is in the `pipe`.
    #[cold]
    pub(super) fn may_go_on_host(&mut self, now: Time, pipe: u64, window: u64, len: u64) -> bool {
        if self.host.room != Room::ForBursts {
            self.host.room = Room::Refused;
            // The host is the limit: cwnd must not grow for it.
            self.usage.limited_by(Limit::Host);
            return false;
        }
        let Some(bursts) = &mut self.host.bursts else { return true };
        if bursts.goes_on(now, len) {
            return true;
        }
        let Bursts { offload, queued, .. } = **bursts;
        let rate = self.burst_rate();
        let size = offload.burst(rate, self.trips.least(), self.mss);
        if offload.small_queue(rate, size).is_some_and(|limit| queued >= limit) {
            self.host.room = Room::Refused;
            self.usage.limited_by(Limit::Host);
            return false;
        }
        // Lost data goes as it may, and so does what goes meanwhile.
        if offload.gso_max_size.is_some() && self.repair.is_open() {
            // ip-sysctl, `tcp_tso_win_divisor`: a part of the congestion window. What the receiver takes goes as soon as it may.
            let part = window / offload.tso_win_divisor.max(1);
            let wanted = size.min(part).min(self.end_of_buffered().saturating_sub(self.board.max()));
            // Never with nothing in flight: then all of the window is free. So an ACK will come.
            if window.saturating_sub(pipe) < wanted {
                self.usage.limited_by(Limit::Cwnd);
                return false;
            }
        }
        if let Some(bursts) = &mut self.host.bursts {
            bursts.begins(now, size, len);
        }
        true
    }

    /// The pacing rate, or what it would be: bursts are sized by it.
    fn burst_rate(&self) -> Rate {
        self.pacing_rate().unwrap_or_else(|| self.pacer.would_be(self.paced()))
    }
}

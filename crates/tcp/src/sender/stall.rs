//! Local congestion: the transmit queue of the host's own interface is full, and a segment cannot be handed to it.

use crate::congestion::{Congestion, CongestionEvent};
use crate::sender::Sender;
use longfat_core::time::Time;

/// Whether the interface takes another segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    Yes,
    No,
    /// No, and a segment would have gone.
    Refused,
    /// Yes, and it is to have new data in bursts.
    ForBursts,
}

impl Sender {
    /// Whether the segment that would go now may. If not, the driver is told, and it was not sent.
    #[inline]
    pub(super) fn may_transmit(&mut self) -> bool {
        if self.room == Room::No {
            self.room = Room::Refused;
        }
        matches!(self.room, Room::Yes | Room::ForBursts)
    }

    /// The interface refused a segment: Web100's SendStall. Linux 2.4 takes that as congestion (Bulot et al. 2004 §4.3; the state
    /// it calls CWR): one reduction a window, as for an ECN echo (RFC 3168 §6.1.2), and none while a loss is being repaired.
    pub(crate) fn local_congestion(&mut self, now: Time) {
        self.stats.send_stalls += 1;
        let heeded = self.reductions.heeds_stalls(self.board.una(), self.repair.point());
        if heeded && self.repair.is_open() && self.board.outstanding() > 0 {
            self.reductions.stalled(self.board.max());
            let flight_size = self.flight_size();
            self.control.on_congestion(&CongestionEvent { now, kind: Congestion::Local, flight_size });
            self.reduced();
            self.ease(self.board.pipe());
            self.repair.undo.forget();
        }
    }
}

//! What packets take on the line of a link.

use super::{Link, LinkConfig};
use crate::atm::aal5;
use crate::link::count::Count;
use crate::link::framing::wire_len;
use crate::time::{Duration, Time};

/// A packet on the line.
#[derive(Debug, Default)]
pub(super) struct Framed {
    pub ip_len: u32,
    pub bytes: u32,
    pub time: Duration,
    /// Until the far end has what it waits for: the whole packet, or its first cell.
    pub lead: Duration,
}

impl Link {
    /// What a packet of `ip_len` bytes takes that begins at `start`.
    #[cold]
    pub(super) fn frame(&mut self, start: Time, ip_len: u32) -> Framed {
        let framed = self.framed(ip_len);
        let in_queue = self.framed_in_queue();
        let Some(transmitter) = &mut self.transmitter else { return framed };
        let time = transmitter.sends(start, framed.bytes, in_queue).since(start);
        // The next one may take another time, though it be as long: no packet has no length.
        Framed { ip_len: 0, time, lead: time, ..framed }
    }

    /// The queue has changed at `now`, and the transmitter is told.
    #[cold]
    pub(super) fn note_queue(&mut self, now: Time) {
        let in_queue = self.framed_in_queue();
        if let Some(transmitter) = &mut self.transmitter {
            transmitter.note(now, in_queue);
        }
    }

    /// What the packets in the queue are on the line, in bytes: that much, or a little less where some are padded and some not.
    fn framed_in_queue(&self) -> u64 {
        let LinkConfig { overhead, min_frame, .. } = self.config;
        let Count { backlog, backlog_bytes, .. } = self.count;
        (backlog_bytes + backlog * u64::from(overhead)).max(backlog * u64::from(min_frame))
    }

    /// What a packet of `ip_len` bytes takes at the rate of the link.
    pub(super) fn framed(&self, ip_len: u32) -> Framed {
        let LinkConfig { rate, overhead, min_frame, cells, to_switch, .. } = self.config;
        let bytes = wire_len(ip_len, overhead, min_frame, cells);
        let whole = rate.transmit_time(u64::from(bytes));
        let cell = self.cell_time;
        // So many times the time of a cell, to the picosecond, which that of all their bytes need not be.
        let time = if cells { cell * u64::from(bytes / aal5::CELL) } else { whole };
        Framed { ip_len, bytes, time, lead: if to_switch { cell } else { time } }
    }

    /// The cells of a packet of `ip_len` bytes.
    pub fn cells_of(&self, ip_len: u32) -> u32 {
        aal5::cells(ip_len + self.config.overhead)
    }

    /// How long after its first cell the last one of a packet of `ip_len` bytes follows.
    #[inline]
    pub fn last_cell_after(&self, ip_len: u32) -> Duration {
        self.cell_time * u64::from(self.cells_of(ip_len) - 1)
    }
}

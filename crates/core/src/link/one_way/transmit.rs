//! The transmitter of a link: the time of a packet on the line, and its arrival at the far end.

use super::{Link, LinkConfig};
use crate::atm::aal5;
use crate::link::count::Count;
use crate::link::framing::wire_len;
use crate::packet::{PacketId, Packets};
use crate::time::{Duration, Time};

/// A packet on the line.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::link) struct Framed {
    pub ip_len: u32,
    pub bytes: u32,
    pub time: Duration,
    /// Time until the far end has what it waits for: the whole packet, or its first cell.
    pub lead: Duration,
}

impl LinkConfig {
    /// Returns the transmission of a packet of `ip_len` bytes at the rate of the link.
    #[cold]
    pub(super) fn framed(&self, ip_len: u32) -> Framed {
        let LinkConfig { rate, overhead, min_frame, cells, to_switch, .. } = *self;
        let bytes = wire_len(ip_len, overhead, min_frame, cells);
        let whole = rate.transmit_time(u64::from(bytes));
        let cell = rate.transmit_time(aal5::CELL.into());
        // Cells take a whole number of cell times, to the picosecond. The time of all their bytes need not be that.
        let time = if cells { cell * u64::from(bytes / aal5::CELL) } else { whole };
        Framed { ip_len, bytes, time, lead: if to_switch { cell } else { time } }
    }
}

impl Link {
    /// Transmits the packet `id`, of `len` bytes, from `start` on.
    #[inline(always)]
    pub(super) fn transmit(&mut self, start: Time, id: PacketId, len: u32, packets: &mut Packets) {
        if len != self.last.ip_len {
            self.last = self.frame(start, len);
        }
        self.busy_until = start + self.last.time;
        self.count.carried.transmits(&Framed { ip_len: len, ..self.last });
        self.launch(id, start + self.last.lead + self.config.delay, packets);
    }

    /// Returns the transmission of a packet of `ip_len` bytes that begins at `start`.
    #[cold]
    fn frame(&mut self, start: Time, ip_len: u32) -> Framed {
        let framed = self.config.framed(ip_len);
        let in_queue = self.framed_in_queue();
        let Some(transmitter) = &mut self.transmitter else { return framed };
        let time = transmitter.sends(start, framed.bytes, in_queue).since(start);
        // The next packet of this length may take another time. No packet has length zero.
        Framed { ip_len: 0, time, lead: time, ..framed }
    }

    /// Tells the transmitter that the queue has changed at `now`.
    #[cold]
    pub(super) fn note_queue(&mut self, now: Time) {
        let in_queue = self.framed_in_queue();
        if let Some(transmitter) = &mut self.transmitter {
            transmitter.note(now, in_queue);
        }
    }

    /// Returns the framed bytes of the packets in the queue: exactly, or a little less where some are padded and some not.
    fn framed_in_queue(&self) -> u64 {
        let LinkConfig { overhead, min_frame, .. } = self.config;
        let Count { backlog, backlog_bytes, .. } = self.count;
        (backlog_bytes + backlog * u64::from(overhead)).max(backlog * u64::from(min_frame))
    }

    /// Returns the least time from the arrival of a packet at the queue until the far end sees anything of it: a packet of one byte, or one
    /// cell, on an idle line.
    pub fn lag(&self) -> Duration {
        let lead = self.transmitter.as_ref().map_or_else(|| self.config.framed(1).lead, |transmitter| transmitter.least());
        lead + self.config.delay
    }

    /// Returns the time that `packets` packets of the MTU take one after the other, without framing.
    pub fn time_of(&self, packets: u64) -> Duration {
        self.config.rate.transmit_time(packets * u64::from(self.config.mtu))
    }

    /// Returns the cells of a packet of `ip_len` bytes.
    pub fn cells_of(&self, ip_len: u32) -> u32 {
        aal5::cells(ip_len + self.config.overhead)
    }

    /// Returns the time from the first cell of a packet of `ip_len` bytes to its last.
    #[inline]
    pub fn last_cell_after(&self, ip_len: u32) -> Duration {
        self.cell_time * u64::from(self.cells_of(ip_len) - 1)
    }

    /// Sends the packet `id` on, for the link behind an output port. Its `len` bytes have left whole by `end`.
    pub fn carry(&mut self, id: PacketId, len: u32, end: Time, packets: &mut Packets) {
        self.count.carried.transmitted += 1;
        self.count.carried.ip_bytes += u64::from(len);
        self.launch(id, end + self.config.delay, packets);
    }

    /// Counts a packet of `len` bytes before another switch, to which its cells have gone by themselves.
    pub fn pass_on(&mut self, len: u32) {
        self.count.carried.transmitted += 1;
        self.count.delivered += 1;
        self.count.carried.ip_bytes += u64::from(len);
    }
}

//! A plain FIFO before a line that nothing holds back, as most links have: what [`Link`] does with any queue, in straight code.

use super::Link;
use crate::link::count::Counted;
use crate::packet::{PacketId, Packets};
use crate::queue::{DropReason, QueueLog, discard};
use crate::time::Time;

impl Link {
    /// Takes a packet of `len` bytes into the FIFO, or sends it if the line is free, or drops it.
    #[inline(always)]
    pub(super) fn take_into_fifo(&mut self, now: Time, id: PacketId, len: u32, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.send_from_fifo(self.before(now), packets);
        self.count.packets_in += 1;
        let Some(fifo) = &mut self.fifo else { return };
        if len > self.config.mtu || !fifo.fits(&packets[id]) {
            let reason = if len > self.config.mtu { DropReason::TooBig } else { DropReason::Overflow };
            self.count.enter(now, len);
            discard(now, id, reason, packets, &mut Counted { count: &mut self.count, log });
        } else if self.count.backlog == 0 && self.busy_until <= now {
            self.transmit(now, id, len, packets);
        } else {
            packets[id].stamp = now;
            fifo.push(id, packets);
            self.count.enter(now, len);
            self.count.note_backlog();
        }
    }

    /// Sends the packets of the FIFO whose turn comes by `until`.
    #[inline(always)]
    pub(super) fn send_from_fifo(&mut self, until: Time, packets: &mut Packets) {
        while self.busy_until <= until
            && let Some(id) = self.fifo.as_mut().and_then(|fifo| fifo.pop(packets))
        {
            let (start, len) = (self.busy_until, packets[id].ip_len());
            self.count.leave(start, len);
            if let Some(waits) = &mut self.waits {
                waits.record(start.since(packets[id].stamp));
            }
            self.transmit(start, id, len, packets);
        }
    }
}

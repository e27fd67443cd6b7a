//! The account of a link: its packets, wherever they are, and its time.

use super::Link;
use crate::packet::Packets;
use crate::queue::{DropReason, Measure, QueueLog, discard};
use crate::time::{Duration, Time};

impl Link {
    /// Returns the port by which its packets enter the next node.
    pub fn port(&self) -> u16 {
        self.config.port
    }

    /// Returns the time from the departure of a cell until it is at the far end.
    pub fn delay(&self) -> Duration {
        self.config.delay
    }

    /// Returns when the transmitter may begin another packet, or might have.
    pub fn next_start(&self) -> Time {
        self.opens(self.busy_until)
    }

    /// Returns the time spent transmitting up to `now`.
    pub fn busy(&self, now: Time) -> Duration {
        Duration::from_ps(self.count.busy_ps).saturating_sub(self.busy_until.since(now))
    }

    /// Returns the packets on the wire, the one in transmission included.
    pub fn in_flight(&self) -> u64 {
        self.count.transmitted + self.count.duplicated - self.count.delivered - self.count.lost
    }

    /// Returns the packets on the wire that the driver has not taken: those sent since it last asked, and those that will be lost.
    pub fn keeps(&self) -> u64 {
        let under_way = self.travel.as_ref().map_or(0, |travel| travel.len());
        (self.sent.len() + self.doomed.len() + under_way) as u64
    }

    /// Empties the link at the end of a run: `log` is told of every packet that it still has, as of one dropped at `now`.
    pub fn empty(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        let mut travel = self.travel.take();
        let mut under_way = || Some(travel.as_mut()?.next(Time::MAX)?.1.id);
        while let Some(id) = self
            .sent
            .pop(packets)
            .or_else(|| self.doomed.pop(packets))
            .or_else(&mut under_way)
            .or_else(|| self.fifo.as_mut().and_then(|fifo| fifo.pop(packets)))
            .or_else(|| self.queue.dequeue(now, packets, log))
        {
            discard(now, id, DropReason::Loss, packets, log);
        }
    }

    /// Returns the packets and bytes held, as the queue itself counts them.
    pub fn queue_holds(&self) -> (u64, u64) {
        let held = |measure| self.fifo.as_ref().map_or_else(|| self.queue.held(measure), |fifo| fifo.held(measure));
        (held(Measure::Packets), held(Measure::Bytes))
    }
}

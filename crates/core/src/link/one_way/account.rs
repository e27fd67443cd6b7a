//! The account of a link: its packets, wherever they are, and its time.

use super::Link;
use crate::link::count::Carried;
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
        match self.timetable.as_ref().and_then(|timetable| timetable.starts(&self.count)) {
            Some(starts) => starts,
            None => self.opens(self.busy_until),
        }
    }

    /// Returns what the line has carried, up to where the link has been advanced to.
    pub fn carried(&self) -> Carried {
        self.timetable.as_ref().map_or(self.count.carried, |timetable| self.count.carried.without(&timetable.ahead()))
    }

    /// Returns the packets and bytes of the timetable that have yet to begin.
    pub fn ahead(&self) -> (u64, u64) {
        self.timetable.as_ref().map_or((0, 0), |timetable| {
            let ahead = timetable.ahead();
            (ahead.transmitted, ahead.ip_bytes)
        })
    }

    /// Returns the time spent transmitting up to `now`.
    pub fn busy(&self, now: Time) -> Duration {
        // The last packet that has begun ends when the next one begins.
        let ends = self.timetable.as_ref().and_then(|timetable| timetable.starts(&self.count)).unwrap_or(self.busy_until);
        Duration::from_ps(self.carried().busy_ps).saturating_sub(ends.since(now))
    }

    /// Returns the integrals over time, up to `now`, of the packets and of the bytes queued, in packet ps and byte ps.
    pub fn waited(&self, now: Time) -> (u128, u128) {
        let (now, Carried { waited, waited_bytes, .. }) = (u128::from(now.as_ps()), self.carried());
        let still = |count: u64| now * u128::from(count);
        (waited.wrapping_add(still(self.count.backlog)), waited_bytes.wrapping_add(still(self.count.backlog_bytes)))
    }

    /// Returns the packets on the wire, the one in transmission included.
    pub fn in_flight(&self) -> u64 {
        self.carried().transmitted + self.count.duplicated - self.count.delivered - self.count.lost
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
            .or_else(|| self.queue.dequeue(now, packets, log))
        {
            discard(now, id, DropReason::Loss, packets, log);
        }
    }

    /// Returns the packets and bytes held, as the queue itself counts them.
    pub fn queue_holds(&self) -> (u64, u64) {
        let ahead = self.ahead();
        (self.queue.held(Measure::Packets) + ahead.0, self.queue.held(Measure::Bytes) + ahead.1)
    }
}

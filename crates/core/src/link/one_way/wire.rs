//! The wire of a link: losses, and the order of arrivals.

use super::Link;
use crate::link::count::Counted;
use crate::link::loss::Fate;
use crate::link::travel::OnWay;
use crate::packet::{PacketId, Packets};
use crate::queue::{DropReason, QueueLog, discard};
use crate::time::Time;

impl Link {
    /// Puts the packet `id`, which is due at `arrival`, onto the wire.
    #[inline(always)]
    pub(super) fn launch(&mut self, id: PacketId, arrival: Time, packets: &mut Packets) {
        packets[id].goes_on(arrival, self.config.port);
        if self.is_perfect || self.goes_straight(arrival, id, packets) {
            self.sent.push(id, packets);
        }
    }

    /// Returns true if the packet `id` is simply due at `arrival`. If not, puts it where it belongs.
    #[inline]
    fn goes_straight(&mut self, arrival: Time, id: PacketId, packets: &mut Packets) -> bool {
        let survives = self.survives(arrival, id, packets);
        let mut leaves = arrival;
        match &mut self.travel {
            Some(travel) => {
                let sent = arrival.as_ps() - self.config.delay.as_ps();
                let began = Time::from_ps(sent.saturating_sub(self.last.lead.as_ps()));
                leaves = travel.take(began, Time::from_ps(sent), id, !survives);
            }
            None if survives => {}
            None => self.doomed.push(id, packets),
        }
        if let Some(held) = &mut self.held {
            held.launched(leaves);
        }
        survives && self.travel.is_none()
    }

    /// Returns true if the packet `id` survives the way to the far end, where it is due at `arrival`.
    #[inline]
    fn survives(&mut self, arrival: Time, id: PacketId, packets: &mut Packets) -> bool {
        let Some(loss) = &mut self.loss else { return true };
        if self.spared > 0 {
            self.spared -= 1;
            return true;
        }
        let sent = Time::from_ps(arrival.as_ps() - self.config.delay.as_ps());
        let fate = loss.on_packet(sent, &packets[id]);
        self.spared = loss.spared();
        match fate {
            Fate::Deliver => true,
            Fate::Corrupt => {
                packets[id].corrupted = true;
                true
            }
            Fate::Lose => false,
        }
    }

    /// Does everything on the wire by `now`, after everything at the queue: packets are lost that would have arrived.
    #[inline]
    pub fn settle(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        if self.travel.is_some() {
            self.order(now, packets, log);
        }
        while let Some(id) = self.doomed.first()
            && packets[id].stamp <= now
        {
            self.doomed.pop(packets);
            self.count.lost += 1;
            let at = packets[id].stamp;
            discard(at, id, DropReason::Loss, packets, &mut Counted { count: &mut self.count, log });
        }
    }

    /// Sends on the packets under way that will arrive before any that is still to be sent.
    #[cold]
    fn order(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        let Some(mut travel) = self.travel.take() else { return };
        let certain = now.saturating_add(self.lag());
        while let Some((at, OnWay { id, is_lost, comes_twice })) = travel.next(certain) {
            packets[id].stamp = at;
            if is_lost {
                self.doomed.push(id, packets);
                continue;
            }
            self.sent.push(id, packets);
            if comes_twice {
                let copy = packets.copy(id);
                self.count.duplicated += 1;
                log.duplicated(at, copy, packets);
                self.sent.push(copy, packets);
            }
        }
        self.travel = Some(travel);
    }

    /// Returns the time from when on the packet that arrives at `arrival` is certainly the next: packets sent later arrive later.
    pub(super) fn is_certain_at(&self, arrival: Time) -> Time {
        if arrival == Time::MAX { arrival } else { Time::from_ps(arrival.as_ps().saturating_sub(self.lag().as_ps())) }
    }
}

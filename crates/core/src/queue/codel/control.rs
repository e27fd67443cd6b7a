//! CoDel's control law (RFC 8289): which packets signal a standing queue. It is asked as packets leave, and holds none: any queue can have
//! one.

use super::super::fifo::Backlog;
use super::super::{DropReason, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::time::{Duration, Time};

/// Configuration that all flow queues of a queue share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodelConfig {
    /// Target: the acceptable standing delay.
    pub target: Duration,
    /// Interval in which the delay must have been under the target once; of the order of the longest round trip.
    pub interval: Duration,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Wait over which ECN-capable packets are marked, whatever the control law says.
    pub ce_threshold: Option<Duration>,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
}

/// A flow queue, and the bytes that wait for the same link beside it.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    pub line: &'a mut Backlog,
    /// IP bytes in other flow queues.
    pub elsewhere: u64,
}

impl Waiting<'_> {
    /// Returns the IP bytes that wait for the link. RFC 8289 §4.4: where flow queues share a link, all that they hold keeps it busy.
    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.line.bytes() + self.elsewhere
    }
}

/// State of one flow queue.
#[derive(Clone, Debug)]
pub(crate) struct Codel {
    /// Time until which the delay may stay over the target; [`Time::MAX`] while it is under the target.
    first_above: Time,
    /// Time of the next drop or mark in the dropping state. Out of that state, the time at which it would have been.
    drop_next: Time,
    /// Drops and marks that the control law counts, and their count when the dropping state began.
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// Returns the state of an empty flow queue.
    pub(crate) const fn new() -> Self {
        Codel { first_above: Time::MAX, drop_next: Time::ZERO, count: 0, last_count: 0, dropping: false }
    }

    /// Ends the dropping state: the flow queue was asked for a packet and is empty.
    #[inline]
    pub(crate) fn rest(&mut self) {
        (self.first_above, self.dropping) = (Time::MAX, false);
    }

    /// Returns the next packet of the flow queue at `now`, dropping those before it. `None` if the flow queue is empty or becomes empty:
    /// then the link takes from another.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        config: &CodelConfig,
        now: Time,
        waiting: &mut Waiting<'_>,
        packets: &mut Packets,
        log: &mut dyn QueueLog,
    ) -> Option<PacketId> {
        let (mut taken, stands) = self.take(config, now, waiting, packets);
        let mut marked = false;
        if stands | self.dropping {
            (taken, marked) = self.control(config, now, (taken, stands), waiting, packets, log);
        }
        let id = taken?;
        if let Some(threshold) = config.ce_threshold
            && !marked
            && now.since(packets[id].stamp) > threshold
        {
            mark(now, id, packets, log);
        }
        Some(id)
    }

    /// Returns the first packet of the flow queue, and whether the delay has been over the target for an interval, as of that packet (RFC
    /// 8289 §5.6).
    #[inline]
    fn take(&mut self, config: &CodelConfig, now: Time, waiting: &mut Waiting<'_>, packets: &Packets) -> (Option<PacketId>, bool) {
        let taken = waiting.line.pop(packets);
        // An empty queue is not over the target. §4.1: one packet left for the link is no standing queue: it must hold more than the
        // largest packet.
        let over = taken.is_some_and(|id| now.since(packets[id].stamp) >= config.target) && waiting.bytes() > u64::from(config.mtu);
        if !over {
            self.first_above = Time::MAX;
        } else if self.first_above == Time::MAX {
            self.first_above = now.saturating_add(config.interval);
        }
        (taken, over && now >= self.first_above)
    }

    /// Returns the packet to send, and whether it is marked, where the queue stands or has stood (RFC 8289 §5.5). The packet is the first
    /// one, with whether the queue stands, or one behind it.
    fn control(
        &mut self,
        config: &CodelConfig,
        now: Time,
        (mut taken, mut stands): (Option<PacketId>, bool),
        waiting: &mut Waiting<'_>,
        packets: &mut Packets,
        log: &mut dyn QueueLog,
    ) -> (Option<PacketId>, bool) {
        if self.dropping {
            self.dropping = stands;
            while self.dropping
                && now >= self.drop_next
                && let Some(id) = taken
            {
                self.count = self.count.saturating_add(1);
                let marked = config.ecn && mark(now, id, packets, log);
                if !marked {
                    discard(now, id, DropReason::Early, packets, log);
                    (taken, stands) = self.take(config, now, waiting, packets);
                    self.dropping = stands;
                }
                if self.dropping {
                    self.drop_next = config.after(self.drop_next, self.count);
                }
                if marked {
                    return (taken, true);
                }
            }
            return (taken, false);
        }
        let id = taken.expect("an empty line does not stand");
        let marked = config.ecn && mark(now, id, packets, log);
        if !marked {
            discard(now, id, DropReason::Early, packets, log);
            (taken, _) = self.take(config, now, waiting, packets);
        }
        self.dropping = true;
        // RFC 8289 §5.5: if it was in this state a short time ago, it begins with the rate that it ended with then.
        let last_drops = self.count - self.last_count;
        let recent = now.since(self.drop_next) < config.interval.saturating_mul(16);
        self.count = if last_drops > 1 && recent { last_drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = config.after(now, self.count);
        (taken, marked)
    }
}

impl CodelConfig {
    /// Returns the time of the drop or mark after the one at `time`, which was the `count`th (RFC 8289 §5.6, the control law).
    #[inline]
    fn after(&self, time: Time, count: u32) -> Time {
        let wait = self.interval.as_ps() as f64 / f64::from(count).sqrt();
        time.saturating_add(Duration::from_ps(wait as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::Ledger;
    use super::*;

    /// `rest` is the same as asking an empty queue.
    #[test]
    fn a_line_rests_as_if_it_were_asked() {
        let config = CodelConfig {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            ce_threshold: None,
            mtu: 1500,
        };
        let now = Time::from_ps(5_000_000_000_000);
        for (first_above, dropping) in [(Time::MAX, false), (now, false), (Time::ZERO, true), (Time::MAX, true)] {
            let fresh = Codel { first_above, drop_next: now, count: 7, last_count: 3, dropping };
            let (mut rests, mut asked) = (fresh.clone(), fresh);
            rests.rest();
            let (mut line, mut packets, mut log) = (Backlog::default(), Packets::new(), Ledger::default());
            let mut waiting = Waiting { line: &mut line, elsewhere: 9000 };
            assert!(asked.dequeue(&config, now, &mut waiting, &mut packets, &mut log).is_none());
            assert_eq!(format!("{rests:?}"), format!("{asked:?}"));
        }
    }
}

//! CoDel's control law (RFC 8289): which packets are to carry the news that the queue stands. It is asked as packets leave, and holds
//! none: any line can have one.

use super::super::fifo::Backlog;
use super::super::{DropReason, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::time::{Duration, Time};

/// Configuration that all flow queues of a queue share.
#[derive(Clone, Copy, Debug)]
pub struct CodelConfig {
    /// The delay that may stand.
    pub target: Duration,
    /// The time in which the delay must have been under the target once; of the order of the longest round trip.
    pub interval: Duration,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// ECN-capable packets that waited longer than this are marked, whatever the control law says.
    pub ce_threshold: Option<Duration>,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
}

/// A line, and what waits for the same link beside it.
#[derive(Debug)]
pub struct Waiting<'a> {
    pub line: &'a mut Backlog,
    /// IP bytes in other lines.
    pub elsewhere: u64,
}

impl Waiting<'_> {
    /// IP bytes that wait for the link. RFC 8289 §4.4: where lines share a link, what all of them hold keeps it busy.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.line.bytes() + self.elsewhere
    }
}

/// The state of one line.
#[derive(Clone, Debug)]
pub struct Codel {
    /// Until when the delay may stay over the target; [`Time::MAX`] while it is under it.
    first_above: Time,
    /// When the next packet is dropped or marked, in the dropping state. Out of it, when it would have been.
    drop_next: Time,
    /// Drops and marks that the control law goes by, and what that was when the dropping state began.
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// A line that is empty.
    pub const fn new() -> Self {
        Codel { first_above: Time::MAX, drop_next: Time::ZERO, count: 0, last_count: 0, dropping: false }
    }

    /// Ends the dropping state: the flow queue was asked for a packet and is empty.
    #[inline]
    pub fn rest(&mut self) {
        (self.first_above, self.dropping) = (Time::MAX, false);
    }

    /// The next packet of the line at `now`; what is dropped before it is. `None` if the line is empty, or becomes it: then the link takes from another.
    #[inline]
    pub fn dequeue(
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

    /// RFC 8289 §5.6: the first packet of the line, and whether the delay has been over the target for an interval, as of that packet.
    #[inline]
    fn take(&mut self, config: &CodelConfig, now: Time, waiting: &mut Waiting<'_>, packets: &Packets) -> (Option<PacketId>, bool) {
        let taken = waiting.line.pop(packets);
        // An empty line is not over the target. Nor, §4.1, does one packet left for the link stand: it must be more than the largest packet.
        let over = taken.is_some_and(|id| now.since(packets[id].stamp) >= config.target) && waiting.bytes() > u64::from(config.mtu);
        if !over {
            self.first_above = Time::MAX;
        } else if self.first_above == Time::MAX {
            self.first_above = now.saturating_add(config.interval);
        }
        (taken, over && now >= self.first_above)
    }

    /// RFC 8289 §5.5, where something stands or has stood: the packet to send, which is the first, with whether it stands, or one behind it; and whether it
    /// is marked.
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
        // RFC 8289 §5.5: where it was in this state a short time ago, it begins with the rate that it ended with then.
        let last_drops = self.count - self.last_count;
        let recent = now.since(self.drop_next) < config.interval.saturating_mul(16);
        self.count = if last_drops > 1 && recent { last_drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = config.after(now, self.count);
        (taken, marked)
    }
}

impl CodelConfig {
    /// RFC 8289 §5.6, the control law: the drop or mark after the one at `time`, which was the `count`th.
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

    /// To rest is to be asked while empty.
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

//! A droptail queue above segmentation offload: it holds bursts that the interface cuts into segments, as a qdisc of Linux does.

use std::collections::VecDeque;

use super::super::fifo::{Backlog, Limit, Measure};
use super::super::{DropReason, Queue, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::time::Time;

/// Segments that were one packet when they came to the queue.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Segments held.
    segments: u64,
    /// IP bytes of these segments.
    bytes: u64,
}

/// The burst that the last arrival belongs to, and what continues it.
#[derive(Debug)]
struct Last {
    at: Time,
    route: u32,
    /// Sequence number that continues it.
    next: u32,
    /// Payload bytes so far.
    payload: u64,
    taken: bool,
}

/// The queue. Its limit holds for whole bursts that wait: the interface takes all segments of a burst when it takes the first.
#[derive(Debug)]
pub(super) struct Bursts {
    held: Backlog,
    limit: Limit,
    gso_max_size: u64,
    waiting: VecDeque<Burst>,
    /// IP bytes of the bursts that wait.
    waiting_bytes: u64,
    /// Segments held of the burst that the interface has taken.
    at_interface: u64,
    last: Option<Last>,
}

impl Bursts {
    pub(super) fn new(limit: Limit, gso_max_size: u64) -> Self {
        let (held, waiting) = (Backlog::default(), VecDeque::new());
        Bursts { held, limit, gso_max_size, waiting, waiting_bytes: 0, at_interface: 0, last: None }
    }

    /// Returns true if the segment `id` continues the last burst, which it then belongs to; else it begins one.
    fn continues(&mut self, now: Time, id: PacketId, packets: &Packets) -> bool {
        let (packet, seq) = (&packets[id], packets.segment(id).seq);
        let (len, next) = (u64::from(packet.len), seq.wrapping_add(u32::from(packet.len)));
        if let Some(last) = &mut self.last
            && (last.at, last.route, last.next) == (now, packet.route, seq)
            && len > 0
            && last.payload + len <= self.gso_max_size
        {
            (last.next, last.payload) = (next, last.payload + len);
            return true;
        }
        // A segment without payload begins a burst that nothing continues.
        let taken = self.limit.has_room(self.limit.measure.of(self.waiting.len() as u64, self.waiting_bytes), packet.ip_len());
        let payload = if len > 0 { len } else { self.gso_max_size };
        self.last = Some(Last { at: now, route: packet.route, next, payload, taken });
        false
    }
}

impl Queue for Bursts {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let continues = self.continues(now, id, packets);
        if !self.last.as_ref().is_some_and(|last| last.taken) {
            return discard(now, id, DropReason::Overflow, packets, log);
        }
        packets[id].stamp = now;
        let bytes = u64::from(packets[id].ip_len());
        self.held.push(id, packets);
        match self.waiting.back_mut() {
            Some(burst) if continues => *burst = Burst { segments: burst.segments + 1, bytes: burst.bytes + bytes },
            // Its first segment is with the interface already.
            None if continues => {
                self.at_interface += 1;
                return;
            }
            _ => self.waiting.push_back(Burst { segments: 1, bytes }),
        }
        self.waiting_bytes += bytes;
    }
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        if self.at_interface == 0
            && let Some(burst) = self.waiting.pop_front()
        {
            self.at_interface = burst.segments;
            self.waiting_bytes -= burst.bytes;
        }
        let id = self.held.pop(packets)?;
        self.at_interface -= 1;
        Some(id)
    }
    fn first(&self) -> Option<PacketId> {
        self.held.first()
    }
    fn held(&self, measure: Measure) -> u64 {
        measure.of(self.held.packets(), self.held.bytes())
    }
}

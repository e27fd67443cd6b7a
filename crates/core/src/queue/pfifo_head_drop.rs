//! `pfifo_head_drop`: one queue; an arrival that does not fit makes room by dropping the oldest packets.

use super::fifo::{Fifo, LIMIT, Measure, limit_of};
use super::{Claim, DropReason, Queue, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::Value;
use crate::promise::Promise;
use crate::time::Time;
use crate::units::Capacity;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "pfifo_head_drop",
    summary: "one FIFO line with a limit; an arrival that does not fit pushes out the oldest packets, so that senders hear of it a queue sooner",
    source: "Lakshman, Neidhardt and Ott, The Drop from Front Strategy in TCP and in TCP over ATM, INFOCOM 1996; tc-pfifo(8)",
    params: &[LIMIT],
    promises: &[Promise::with(
        &[("limit", Value::Capacity(Capacity::Packets(40)))],
        Claim::Fills(40),
        "the definition: it drops what does not fit into `limit`, and nothing else",
    )],
    check: |params, context| limit_of(params, context).check_holds_a_packet(LIMIT.name, context),
    build: |params, context| Box::new(HeadDrop { fifo: Fifo::new(limit_of(params, &context)) }),
};

struct HeadDrop {
    fifo: Fifo,
}

impl Queue for HeadDrop {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        while !self.fifo.fits(&packets[id]) {
            // `check` made sure that a packet of the MTU fits into an empty queue.
            let Some(oldest) = self.fifo.pop(packets) else { break };
            discard(now, oldest, DropReason::Overflow, packets, log);
        }
        packets[id].stamp = now;
        self.fifo.push(id, packets);
    }
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.fifo.pop(packets)
    }
    fn passes(&self) -> u32 {
        self.fifo.largest()
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ledger, context, packet};
    use super::*;
    use crate::packet::Direction;
    use crate::params::{Params, Value};
    use crate::units::Capacity;

    /// A large packet drops as many of the oldest as it needs, and no more: the limit is 4000 bytes.
    #[test]
    fn the_oldest_make_room() {
        let mut params = Params::defaults(KIND.params);
        params.set("limit", Value::Capacity(Capacity::Bytes(4000)));
        let mut queue = (KIND.build)(&params, context(10_000_000, 20, 1500));
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for (n, size) in [500, 1500, 500, 1500, 1500, 500].into_iter().enumerate() {
            let (packet, segment) = packet(n as u32, size - 40, 0);
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        // The fifth needs 1500: 500 of the first and 1500 of the second; 3500 are held, and the sixth fits.
        assert_eq!(log.dropped.iter().map(|d| d.0).collect::<Vec<_>>(), [0, 1]);
        assert!(log.dropped.iter().all(|d| d.2 == DropReason::Overflow));
        let mut next = || queue.dequeue(Time::ZERO, &mut packets, &mut log).map(|id| packets.segment(id).seq);
        let left: Vec<u32> = std::iter::from_fn(&mut next).collect();
        assert_eq!(left, [2, 3, 4, 5]);
    }
}

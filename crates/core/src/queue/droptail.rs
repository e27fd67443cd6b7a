//! `droptail`: one queue that drops arrivals that do not fit.

mod offload;
#[cfg(test)]
mod tests;

use super::fifo::{Fifo, LIMIT, Limit, Measure, limit_of};
use super::{Claim, DropReason, Queue, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Value};
use crate::promise::Promise;
use crate::time::Time;
use crate::units::Capacity;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "droptail",
    summary: "one FIFO line with a limit in bytes or packets; an arrival that does not fit is dropped",
    source: "none for the queue; its default limit: Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, section 3",
    params: &[
        LIMIT,
        ParamSpec {
            name: GSO_MAX_SIZE,
            kind: Kind::Bytes { min: 1, max: 524_280 },
            default: Some(Value::Auto),
            doc: "for a link on which a host sends: consecutive segments of one flow that come at one instant count as one packet of at most so many bytes of payload, as before segmentation offload cuts them. When not given: each segment counts",
        },
    ],
    promises: &[Promise::with(
        &[("limit", Value::Capacity(Capacity::Packets(40)))],
        Claim::Fills(40),
        "the definition: it drops what does not fit into `limit`, and nothing else",
    )],
    check: |params, context| limit_of(params, context).check_holds_a_packet(LIMIT.name, context),
    build: |params, context| {
        let limit = limit_of(params, &context);
        if params.is_auto(GSO_MAX_SIZE) {
            Box::new(DropTail { fifo: Fifo::new(limit) })
        } else {
            Box::new(offload::Bursts::new(limit, params.integer(GSO_MAX_SIZE)))
        }
    },
};

const GSO_MAX_SIZE: &str = "gso_max_size";

struct DropTail {
    fifo: Fifo,
}

impl Queue for DropTail {
    #[inline]
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.fifo.enqueue(now, id, packets, log);
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.fifo.pop(packets)
    }
    #[inline]
    fn pass(&mut self, _idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        let fits = self.fifo.fits(&packets[id]);
        if !fits {
            discard(now, id, DropReason::Overflow, packets, log);
        }
        fits
    }
    fn passes(&self) -> u32 {
        self.fifo.largest()
    }
    fn fifo_limit(&self) -> Option<Limit> {
        Some(self.fifo.limit())
    }
    fn first(&self) -> Option<PacketId> {
        self.fifo.first()
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

//! `buffer_pool`: the RS/960 interface card of ANSNET (Villamizar and Song 1994, section 4.2 and Table 1).
//!
//! Readings that the paper leaves open are set by parameters: `docs/queues/buffer_pool.md`.

use super::pool::{self, Place, Pool, Shape};
use super::{Claim, DropReason, Measure, Queue, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Params, Value};
use crate::promise::Promise;
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "buffer_pool",
    summary: "fixed buffers on the receive and the transmit side of a router's cards (ANSNET's RS/960)",
    source: "Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, section 4.2 and Table 1",
    params: &[
        // Build 224 of Table 1.
        pool::buffers("buffers", Value::Count(224), "buffers that packets from one peer card may take, receive and transmit side together"),
        pool::BUFFER_SIZE,
        pool::TRANSMIT_PER_PEER,
        pool::buffers(
            "transmit_buffers",
            Value::Auto,
            "transmit-side buffers of all peer cards together; when not given, as many as `buffers`",
        ),
        pool::RESERVED_PER_PEER,
        pool::PEERS,
    ],
    promises: &[Promise::with(
        &[("buffers", Value::Count(40)), ("transmit_per_peer", Value::Count(40))],
        Claim::Fills(40),
        "Villamizar and Song 1994, section 4.2: a packet is dropped when no buffer is free",
    )],
    check: |params, context| {
        let (buffers, shape) = (params.integer("buffers"), shape(params));
        if shape.per_peer > buffers {
            return Err(format!("transmit_per_peer is {} buffers, more than the {buffers} `buffers` there are", shape.per_peer));
        }
        shape.check(context)
    },
    build: |params, _| Box::new(BufferPool { pool: Pool::new(shape(params)) }),
};

/// Table 1: the designation counts both sides, so what the transmit side does not grant a peer is its receive side.
fn shape(params: &Params) -> Shape {
    let buffers = params.integer("buffers");
    let transmit = pool::given(params, "transmit_buffers").unwrap_or(buffers);
    Shape::new(params, transmit, buffers.min(transmit), |per_peer| buffers.saturating_sub(per_peer))
}

struct BufferPool {
    pool: Pool,
}

impl Queue for BufferPool {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        packets[id].stamp = now;
        if self.pool.take(id, packets) == Place::Nowhere {
            discard(now, id, DropReason::Overflow, packets, log);
        }
    }
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.pool.pop(packets)?;
        while let Some(moved) = self.pool.take_waiting(packets) {
            self.pool.push_transmit(moved, packets);
        }
        Some(id)
    }
    fn pass(&mut self, _idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        if self.pool.passes(&packets[id]) {
            return true;
        }
        self.enqueue(now, id, packets, log);
        self.dequeue(now, packets, log).is_some()
    }
    fn held(&self, measure: Measure) -> u64 {
        measure.of(self.pool.packets(), self.pool.bytes())
    }
}

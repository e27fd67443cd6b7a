//! `red_ansnet`: the variation of RED of ANSNET's builds r60 and r200 (Villamizar and Song 1994, sections 4.2, 5.4 and
//! 5.5), over the buffers of a card.
//!
//! Its own description (their reference 29) was never published. Their paper says: RED watches the average use of the transmit side
//! alone, begins to drop when the transmit side approaches full, and aims at link utilization rather than delay. Each point that is left
//! open has a parameter: `docs/queues/red_ansnet.md`.

use super::early::{Marking, Red, RedConfig};
use super::pool::{self, Place, Pool, Shape};
use super::red::{MAX_P, SCALE_BY_SIZE, SMALL_PACKET, WAIT, WQ, check_wq, wq};
use super::{Claim, DropReason, Measure, Queue, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::Time;

const FRACTION: Kind = Kind::Number { min: 0.0, max: 1.0 };

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "red_ansnet",
    summary: "RED on the transmit side of a card's buffers, dropping as it approaches full (ANSNET's builds r60 and r200)",
    source: "Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, sections 4.2, 5.4 and 5.5; Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993",
    params: &[
        // Build r200 of Table 1.
        pool::buffers("buffers", Value::Count(200), "buffers of the transmit side"),
        pool::BUFFER_SIZE,
        // Table 1: the buffers on the input side serve the bus transfer, so no packets queue there.
        pool::buffers("receive_buffers", Value::Count(0), "buffers on each peer card's receive side, which RED does not see"),
        pool::TRANSMIT_PER_PEER,
        pool::RESERVED_PER_PEER,
        pool::PEERS,
        ParamSpec {
            name: "min_threshold",
            kind: FRACTION,
            default: Some(Value::Number(0.75)),
            doc: "average use of the transmit side at which drops begin, as a part of its buffers",
        },
        ParamSpec {
            name: "max_threshold",
            kind: FRACTION,
            default: Some(Value::Number(1.0)),
            doc: "average use at which the probability reaches max_p, and beyond which every arrival is dropped",
        },
        // FJ93 §6: the value of the paper that ANSNET's authors worked from.
        ParamSpec { default: Some(Value::Number(0.02)), ..MAX_P },
        WQ,
        SCALE_BY_SIZE,
        WAIT,
        SMALL_PACKET,
    ],
    promises: &[Promise::with(
        &[("buffers", Value::Count(40))],
        Claim::Holds { least: 20, most: 40 },
        "Villamizar and Song 1994, section 5.4: drops begin at three quarters of the buffers; some flows then halve",
    )],
    check: |params, context| {
        let (min, max) = (params.number("min_threshold"), params.number("max_threshold"));
        if min >= max {
            return Err(format!("min_threshold ({min}) must be under max_threshold ({max})"));
        }
        check_wq(params)?;
        shape(params).check(context)
    },
    build: |params, context| {
        let shape = shape(params);
        let config = RedConfig {
            min_threshold: params.number("min_threshold") * shape.transmit as f64,
            max_threshold: params.number("max_threshold") * shape.transmit as f64,
            max_p: params.number("max_p"),
            wq: wq(params, &context, false),
            gentle: false,
            adaptive: false,
            scale_by_size: params.boolean("byte_mode").then_some(context.mtu),
            wait: params.boolean("wait"),
            small_packet: params.integer("small_packet") as u32,
            rate: context.rate,
        };
        Box::new(RedAnsnet { pool: Pool::new(shape), red: Red::new(config, context.rng) })
    },
};

fn shape(params: &Params) -> Shape {
    let buffers = params.integer("buffers");
    Shape::new(params, buffers, buffers, |_| params.integer("receive_buffers"))
}

struct RedAnsnet {
    pool: Pool,
    red: Red,
}

impl RedAnsnet {
    /// Asks RED about a packet, for which there is room, as it comes to the transmit side.
    fn transmit(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let verdict = self.red.arrival(now, self.pool.transmit_used(), packets[id].ip_len());
        // RED of 1994 knew no ECN.
        if verdict.apply(now, id, Marking::default(), packets, log) {
            self.pool.push_transmit(id, packets);
        }
    }
}

impl Queue for RedAnsnet {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        packets[id].stamp = now;
        match self.pool.place(&packets[id]) {
            Place::Transmit => self.transmit(now, id, packets, log),
            Place::Receive => self.pool.push_receive(id, packets),
            Place::Nowhere => {
                // The packet came to the full transmit side if there is no receive side: the average sees it (FJ93 Fig. 2).
                if self.pool.shape().receive == 0 {
                    self.red.arrival(now, self.pool.transmit_used(), packets[id].ip_len());
                }
                discard(now, id, DropReason::Overflow, packets, log);
            }
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.pool.pop(packets)?;
        if self.pool.transmit_used() == 0 {
            self.red.emptied(now, packets[id].ip_len());
        }
        while let Some(moved) = self.pool.take_waiting(packets) {
            self.transmit(now, moved, packets, log);
        }
        Some(id)
    }
    fn held(&self, measure: Measure) -> u64 {
        measure.of(self.pool.packets(), self.pool.bytes())
    }
}

#[cfg(test)]
mod tests;

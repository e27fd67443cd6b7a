//! `sfq`: flows hashed to queues that take turns; the longest queue makes room (McKenney 1990), with the additions of tc-sfq(8).

use std::collections::VecDeque;

use super::fifo::{Limit, Measure};
use super::flows::{self, Classifier, Quanta};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Capacity;

const DIVISOR: ParamSpec = ParamSpec {
    name: "divisor",
    kind: Kind::Count { unit: "", min: 1, max: 65_536 },
    // tc-sfq(8).
    default: Some(Value::Count(1024)),
    doc: "lines that flows are hashed to: a power of two",
};
const LIMIT: ParamSpec = ParamSpec {
    name: "limit",
    kind: Kind::Capacity,
    // tc-sfq(8).
    default: Some(Value::Capacity(Capacity::Packets(127))),
    doc: "the most it holds, of all lines",
};

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "sfq",
    summary: "stochastic fairness queueing (McKenney 1990): flows hashed to lines that take turns; a full queue drops from the longest line",
    source: "McKenney, Stochastic Fairness Queueing, IEEE INFOCOM 1990; tc-sfq(8)",
    params: &[
        LIMIT,
        ParamSpec {
            name: "depth",
            kind: Kind::Count { unit: "packets", min: 1, max: 65_535 },
            // tc-sfq(8).
            default: Some(Value::Count(127)),
            doc: "the most packets of one line",
        },
        DIVISOR,
        ParamSpec {
            name: "perturb",
            kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(100_000) },
            // tc-sfq(8).
            default: Some(Value::Duration(Duration::ZERO)),
            doc: "after so long flows are hashed anew, so that two do not share a line for ever; 0: never",
        },
        flows::QUANTUM,
        ParamSpec {
            name: "headdrop",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether a line that has to give way loses its oldest packet, not its newest",
        },
    ],
    promises: &[Promise::new(Claim::Isolates, "McKenney 1990: lines in turn, and a full queue drops from the longest")],
    check,
    build: |params, context| Box::new(Sfq::new(params, context)),
};

fn limit(params: &Params, context: &QueueContext) -> Limit {
    Limit::new(params.capacity(LIMIT.name), context)
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    limit(params, context).check_holds_a_packet(LIMIT.name, context)?;
    let divisor = params.integer(DIVISOR.name);
    if !divisor.is_power_of_two() {
        return Err(format!("divisor is {divisor}, not a power of two"));
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Line {
    held: VecDeque<PacketId>,
    /// IP bytes that it may still send in its turn; a negative rest is made up for in the next.
    allotment: i64,
}

struct Sfq {
    classifier: Classifier,
    lines: Vec<Line>,
    /// Flow queues that hold packets, in order of turns.
    active: VecDeque<u32>,
    packets: u64,
    bytes: u64,
    limit: Limit,
    depth: u64,
    divisor: u32,
    quantum: i64,
    headdrop: bool,
    perturb: Duration,
    perturb_at: Time,
    rng: Rng,
}

impl Sfq {
    fn new(params: &Params, mut context: QueueContext) -> Self {
        let (divisor, perturb) = (params.integer(DIVISOR.name) as u32, params.duration("perturb"));
        Sfq {
            classifier: Classifier::hash(divisor, &mut context.rng),
            lines: Vec::new(),
            active: VecDeque::new(),
            packets: 0,
            bytes: 0,
            limit: limit(params, &context),
            depth: params.integer("depth"),
            divisor,
            quantum: Quanta::new(params, &context).each as i64,
            headdrop: params.boolean("headdrop"),
            perturb,
            perturb_at: if perturb.is_zero() { Time::MAX } else { Time::ZERO + perturb },
            rng: context.rng,
        }
    }

    /// Returns the flow queue of the packet `id`.
    fn line_of(&mut self, id: PacketId, packets: &Packets) -> usize {
        let number = self.classifier.line(packets[id].route);
        if number >= self.lines.len() {
            self.lines.resize_with(number + 1, Line::default);
        }
        number
    }

    /// Appends the packet `id` to the flow queue `number`.
    fn push(&mut self, number: usize, id: PacketId, packets: &Packets) {
        let line = &mut self.lines[number];
        if line.held.is_empty() {
            // It waits for its turn, with a quantum.
            line.allotment = self.quantum;
            self.active.push_back(number as u32);
        }
        self.packets += 1;
        self.bytes += u64::from(packets[id].ip_len());
        line.held.push_back(id);
    }

    /// Takes the first packet of a flow queue, or the last.
    fn take(&mut self, number: u32, newest: bool, packets: &Packets) -> Option<PacketId> {
        let line = &mut self.lines[number as usize];
        let id = if newest { line.held.pop_back() } else { line.held.pop_front() }?;
        self.packets -= 1;
        self.bytes -= u64::from(packets[id].ip_len());
        if line.held.is_empty() {
            self.active.retain(|other| *other != number);
        }
        Some(id)
    }

    /// Returns the flow queue with the most packets; of several, the one whose turn comes first.
    fn longest(&self) -> Option<u32> {
        self.active.iter().rev().copied().max_by_key(|number| self.lines[*number as usize].held.len())
    }

    /// Hashes flows anew, if it is time. Waiting packets move with their flow: a flow was in one queue, so its order stays.
    fn rehash(&mut self, now: Time, packets: &Packets) {
        if now < self.perturb_at {
            return;
        }
        while self.perturb_at <= now {
            self.perturb_at += self.perturb;
        }
        self.classifier = Classifier::hash(self.divisor, &mut self.rng);
        let before = std::mem::take(&mut self.active);
        let mut lines = std::mem::take(&mut self.lines);
        (self.packets, self.bytes) = (0, 0);
        for number in before {
            for id in lines[number as usize].held.drain(..) {
                let number = self.line_of(id, packets);
                self.push(number, id, packets);
            }
        }
    }
}

impl Queue for Sfq {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.rehash(now, packets);
        packets[id].stamp = now;
        let number = self.line_of(id, packets);
        self.push(number, id, packets);
        // A packet hashed anew may be in a flow queue that exceeds its depth by more than one.
        while self.lines[number].held.len() as u64 > self.depth {
            let Some(dropped) = self.take(number as u32, !self.headdrop, packets) else { break };
            discard(now, dropped, DropReason::Overflow, packets, log);
        }
        // McKenney 1990, on buffer stealing: the longest queue makes room.
        while self.held(self.limit.measure) > self.limit.max {
            let Some(dropped) = self.longest().and_then(|number| self.take(number, !self.headdrop, packets)) else { break };
            discard(now, dropped, DropReason::Overflow, packets, log);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.rehash(now, packets);
        loop {
            let number = *self.active.front()?;
            let line = &mut self.lines[number as usize];
            if line.allotment <= 0 {
                // Its turn is over; the excess of bytes is missing in its next turn.
                line.allotment += self.quantum;
                self.active.rotate_left(1);
                continue;
            }
            line.allotment -= i64::from(packets[*line.held.front()?].ip_len());
            return self.take(number, false, packets);
        }
    }
    fn held(&self, measure: Measure) -> u64 {
        measure.of(self.packets, self.bytes)
    }
}

#[cfg(test)]
mod tests;

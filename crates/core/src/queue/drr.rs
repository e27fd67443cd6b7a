//! `drr`: a queue per flow, served by deficit round robin (Shreedhar and Varghese 1996), without any control of the delay.

use std::collections::VecDeque;

use super::fifo::{Backlog, LIMIT, Limit, Measure, limit_of};
use super::flows::{self, Classifier, Quanta};
use super::{Claim, DropReason, Queue, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::promise::Promise;
use crate::time::Time;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "drr",
    summary: "deficit round robin (Shreedhar and Varghese 1996): a line for each flow, in turn by bytes; a full queue drops from the longest line",
    source: "Shreedhar and Varghese, Efficient Fair Queuing Using Deficit Round-Robin, IEEE/ACM ToN 4(3), 1996",
    params: &[LIMIT, flows::FLOWS, flows::COLLISIONS, flows::QUANTUM],
    promises: &[Promise::new(
        Claim::Isolates,
        "Shreedhar and Varghese 1996: lines in turn by bytes, and a full queue drops from the longest",
    )],
    check: |params, context| limit_of(params, context).check_holds_a_packet(LIMIT.name, context),
    build: |params, mut context| {
        Box::new(Drr {
            classifier: Classifier::new(params, &mut context.rng),
            limit: limit_of(params, &context),
            quantum: Quanta::new(params, &context).each,
            lines: Vec::new(),
            active: VecDeque::new(),
            packets: 0,
            bytes: 0,
        })
    },
};

#[derive(Debug, Default)]
struct Line {
    held: Backlog,
    /// IP bytes that it may still send in its turn.
    deficit: u64,
    /// True if its turn has begun.
    has_turn: bool,
}

struct Drr {
    classifier: Classifier,
    limit: Limit,
    quantum: u64,
    lines: Vec<Line>,
    /// Flow queues that hold packets, in order of turns.
    active: VecDeque<u32>,
    packets: u64,
    bytes: u64,
}

impl Drr {
    /// Takes the first packet of a flow queue.
    fn pop(&mut self, number: u32, packets: &Packets) -> Option<PacketId> {
        let line = &mut self.lines[number as usize];
        let id = line.held.pop(packets)?;
        self.packets -= 1;
        self.bytes -= u64::from(packets[id].ip_len());
        if line.held.is_empty() {
            // The rest of its deficit is lost: a flow queue does not save up while it has nothing to send.
            (line.deficit, line.has_turn) = (0, false);
            if self.active.front() == Some(&number) {
                self.active.pop_front();
            } else {
                self.active.retain(|other| *other != number);
            }
        }
        Some(id)
    }

    /// Returns the flow queue that holds the most bytes, the first of such queues.
    fn longest(&self) -> Option<u32> {
        self.active.iter().rev().copied().max_by_key(|number| self.lines[*number as usize].held.bytes())
    }
}

impl Queue for Drr {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let number = self.classifier.line(packets[id].route);
        if number >= self.lines.len() {
            self.lines.resize_with(number + 1, Line::default);
        }
        let line = &mut self.lines[number];
        if line.held.is_empty() {
            self.active.push_back(number as u32);
        }
        packets[id].stamp = now;
        self.packets += 1;
        self.bytes += u64::from(packets[id].ip_len());
        line.held.push(id, packets);
        // Section III: an arrival without room makes the longest flow queue drop.
        while self.held(self.limit.measure) > self.limit.max {
            let Some(dropped) = self.longest().and_then(|number| self.pop(number, packets)) else { break };
            discard(now, dropped, DropReason::Overflow, packets, log);
        }
    }
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        loop {
            let number = *self.active.front()?;
            let line = &mut self.lines[number as usize];
            if !line.has_turn {
                line.has_turn = true;
                line.deficit += self.quantum;
            }
            let len = u64::from(packets[line.held.first()?].ip_len());
            if len <= line.deficit {
                line.deficit -= len;
                return self.pop(number, packets);
            }
            // Its first packet is larger than its deficit, which it keeps for its next turn.
            line.has_turn = false;
            self.active.rotate_left(1);
        }
    }
    fn held(&self, measure: Measure) -> u64 {
        measure.of(self.packets, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ledger, context, packet};
    use super::*;
    use crate::packet::Direction;
    use crate::params::{Params, Value};
    use crate::units::Capacity;

    struct Rig {
        queue: Box<dyn Queue + Send>,
        packets: Packets,
        log: Ledger,
    }

    impl Rig {
        fn new(given: &[(&'static str, Value)]) -> Self {
            let mut params = Params::defaults(KIND.params);
            params.set("collisions", Value::Bool(false));
            given.iter().for_each(|&(name, value)| params.set(name, value));
            let queue = (KIND.build)(&params, context(10_000_000, 1000, 1500));
            Rig { queue, packets: Packets::new(), log: Ledger::default() }
        }
        fn arrive(&mut self, flow: u32, numbers: std::ops::Range<u32>, size: u16) {
            for n in numbers {
                let (mut packet, segment) = packet(100 * flow + n, size - 40, 0);
                packet.route = flow;
                let id = self.packets.insert(Direction::There, packet, segment);
                self.queue.enqueue(Time::ZERO, id, &mut self.packets, &mut self.log);
            }
        }
        fn depart(&mut self, count: usize) -> Vec<u32> {
            let take = |_| {
                let id = self.queue.dequeue(Time::ZERO, &mut self.packets, &mut self.log)?;
                let seq = self.packets.segment(id).seq;
                self.packets.remove(id);
                Some(seq)
            };
            (0..count).map_while(take).collect()
        }
    }

    #[test]
    fn a_packet_waits_until_its_deficit_is_enough() {
        let mut rig = Rig::new(&[("quantum", Value::Bytes(500))]);
        for (n, size) in [200, 750, 100].into_iter().enumerate() {
            rig.arrive(1, n as u32..n as u32 + 1, size);
        }
        for (n, size) in [500, 500].into_iter().enumerate() {
            rig.arrive(2, n as u32..n as u32 + 1, size);
        }
        // 500 - 200 = 300 are not enough for 750, and kept. 500 of the second line. Then 800 - 750 = 50 are not enough for 100.
        assert_eq!(rig.depart(3), [100, 200, 101]);
        // The second line again; then 550 - 100.
        assert_eq!(rig.depart(9), [201, 102]);
    }

    /// A flow queue that becomes empty loses the rest of its deficit.
    #[test]
    fn nothing_is_saved_up_by_an_empty_line() {
        let mut rig = Rig::new(&[("quantum", Value::Bytes(1000))]);
        rig.arrive(1, 0..1, 100);
        rig.arrive(2, 0..9, 1000);
        assert_eq!(rig.depart(2), [100, 200]);
        rig.arrive(1, 1..2, 1500);
        // 1000 are not enough in its first turn; with the 900 left over they would be.
        assert_eq!(rig.depart(4), [201, 101, 202, 203]);
    }

    #[test]
    fn the_longest_line_gives_way() {
        let mut rig = Rig::new(&[("limit", Value::Capacity(Capacity::Bytes(6000)))]);
        rig.arrive(1, 0..3, 1500);
        rig.arrive(2, 0..4, 500);
        assert_eq!(rig.log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(100, DropReason::Overflow)]);
        assert_eq!((rig.queue.held(Measure::Packets), rig.queue.held(Measure::Bytes)), (6, 5000));
    }
}

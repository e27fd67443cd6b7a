//! `hhf`: heavy-hitter filter: flows that sent much wait in a class of their own, with a smaller share of the link (tc-hhf(8); Estan and
//! Varghese 2002 for the filter).
//!
//! Both texts were not at hand: algorithm and defaults are from memory of them.

use std::collections::BTreeMap;

use super::fifo::{Backlog, Limit, Measure};
use super::flows::{self, Quanta, mix};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::{Duration, Time};
use crate::units::Capacity;

const LIMIT: ParamSpec = ParamSpec {
    name: "limit",
    kind: Kind::Capacity,
    default: Some(Value::Capacity(Capacity::Packets(1000))),
    doc: "the most it holds, of both classes",
};

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "hhf",
    summary: "flows that sent much wait in a class of their own",
    source: "tc-hhf(8); Estan and Varghese, SIGCOMM 2002",
    params: &[
        LIMIT,
        flows::QUANTUM,
        ParamSpec {
            name: "admit",
            kind: Kind::Bytes { min: 1, max: 1 << 40 },
            default: Some(Value::Bytes(128 << 10)),
            doc: "IP bytes in a reset time beyond which a flow is a heavy hitter",
        },
        ParamSpec {
            name: "reset",
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(1000) },
            default: Some(Value::Duration(Duration::from_millis(40))),
            doc: "time after which the filter counts anew",
        },
        ParamSpec {
            name: "evict",
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(1000) },
            default: Some(Value::Duration(Duration::from_secs(1))),
            doc: "time without a packet after which a flow is no heavy hitter any more",
        },
        ParamSpec {
            name: "heavy_flows",
            kind: Kind::Count { unit: "", min: 1, max: 1 << 20 },
            default: Some(Value::Count(2048)),
            doc: "heavy hitters that are known at once; others wait with the rest",
        },
        ParamSpec {
            name: "light_weight",
            kind: Kind::Count { unit: "", min: 1, max: 1000 },
            default: Some(Value::Count(2)),
            doc: "quanta of the light class for each of the heavy one",
        },
    ],
    promises: &[Promise::with(
        &[("limit", Value::Capacity(Capacity::Packets(100)))],
        Claim::Fills(100),
        "tc-hhf(8): its classes are FIFOs with one limit, without an active queue",
    )],
    check: |params, context| Limit::new(params.capacity(LIMIT.name), context).check_holds_a_packet(LIMIT.name, context),
    build: |params, context| Box::new(Hhf::new(params, context)),
};

/// Stages of the filter, and counters of each.
const STAGES: usize = 4;
const COUNTERS: usize = 1024;

/// The multistage filter of Estan and Varghese, section 3.2: a flow is counted once in each stage, by different hashes, and only where its
/// least counter has to grow (conservative update).
#[derive(Clone, Debug)]
struct Filter {
    keys: [u64; STAGES],
    counters: Vec<[u64; COUNTERS]>,
}

impl Filter {
    /// Returns true if the flow has sent more than `admit`, these `bytes` included. Those of a heavy hitter are not counted: they would
    /// bring others down with it.
    fn admits(&mut self, route: u32, bytes: u64, admit: u64) -> bool {
        let at: [usize; STAGES] = self.keys.map(|key| (mix(route, key) >> 54) as usize);
        let least = self.counters.iter().zip(at).map(|(stage, at)| stage[at]).min().unwrap_or(0);
        if least + bytes > admit {
            return true;
        }
        for (stage, at) in self.counters.iter_mut().zip(at) {
            stage[at] = stage[at].max(least + bytes);
        }
        false
    }
}

/// A class: its packets, its share, and how much of its turn is left.
#[derive(Debug, Default)]
struct Class {
    held: Backlog,
    quantum: i64,
    allotment: i64,
}

struct Hhf {
    filter: Filter,
    admit: u64,
    reset: Duration,
    reset_at: Time,
    evict: Duration,
    heavy_flows: usize,
    /// Heavy hitters, and when each sent last.
    heavy: BTreeMap<u32, Time>,
    /// Light and heavy.
    classes: [Class; 2],
    /// The class whose turn it is.
    turn: usize,
    limit: Limit,
}

const LIGHT: usize = 0;
const HEAVY: usize = 1;

impl Hhf {
    fn new(params: &Params, mut context: QueueContext) -> Self {
        let quantum = Quanta::new(params, &context).each as i64;
        let class = |weight: i64| Class { quantum: weight * quantum, allotment: weight * quantum, ..Class::default() };
        let reset = params.duration("reset");
        Hhf {
            filter: Filter { keys: std::array::from_fn(|_| context.rng.next_u64()), counters: vec![[0; COUNTERS]; STAGES] },
            admit: params.integer("admit"),
            reset,
            reset_at: Time::ZERO + reset,
            evict: params.duration("evict"),
            heavy_flows: params.integer("heavy_flows") as usize,
            heavy: BTreeMap::new(),
            classes: [class(params.integer("light_weight") as i64), class(1)],
            turn: LIGHT,
            limit: Limit::new(params.capacity(LIMIT.name), &context),
        }
    }

    /// Returns the class of a packet of this flow.
    fn class_of(&mut self, now: Time, route: u32, bytes: u64) -> usize {
        if now >= self.reset_at {
            self.filter.counters.iter_mut().for_each(|stage| stage.fill(0));
            self.reset_at = now + self.reset;
        }
        if let Some(last) = self.heavy.get_mut(&route) {
            if now.since(*last) <= self.evict {
                *last = now;
                return HEAVY;
            }
            self.heavy.remove(&route);
        }
        if !self.filter.admits(route, bytes, self.admit) {
            return LIGHT;
        }
        if self.heavy.len() >= self.heavy_flows {
            let evict = self.evict;
            self.heavy.retain(|_, last| now.since(*last) <= evict);
        }
        if self.heavy.len() < self.heavy_flows {
            self.heavy.insert(route, now);
            return HEAVY;
        }
        LIGHT
    }
}

impl Queue for Hhf {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let class = self.class_of(now, packets[id].route, u64::from(packets[id].ip_len()));
        packets[id].stamp = now;
        let class = &mut self.classes[class];
        if class.held.is_empty() {
            class.allotment = class.quantum;
        }
        class.held.push(id, packets);
        // The heavy class makes room, from its head; the light one only where the heavy one is empty.
        while self.held(self.limit.measure) > self.limit.max {
            let from = if self.classes[HEAVY].held.is_empty() { LIGHT } else { HEAVY };
            let Some(dropped) = self.classes[from].held.pop(packets) else { break };
            discard(now, dropped, DropReason::Overflow, packets, log);
        }
    }
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        if self.classes.iter().all(|class| class.held.is_empty()) {
            return None;
        }
        loop {
            let class = &mut self.classes[self.turn];
            if class.held.is_empty() {
                self.turn = 1 - self.turn;
            } else if class.allotment <= 0 {
                // Its turn is over; an excess of bytes is missing in its next turn.
                class.allotment += class.quantum;
                self.turn = 1 - self.turn;
            } else {
                let id = class.held.pop(packets)?;
                class.allotment -= i64::from(packets[id].ip_len());
                return Some(id);
            }
        }
    }
    fn held(&self, measure: Measure) -> u64 {
        let [light, heavy] = &self.classes;
        measure.of(light.held.packets() + heavy.held.packets(), light.held.bytes() + heavy.held.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ledger, context, packet};
    use super::*;
    use crate::packet::Direction;

    struct Rig {
        queue: Hhf,
        packets: Packets,
        log: Ledger,
    }

    impl Rig {
        fn new(given: &[(&'static str, Value)]) -> Self {
            let mut params = Params::defaults(KIND.params);
            given.iter().for_each(|&(name, value)| params.set(name, value));
            Rig { queue: Hhf::new(&params, context(10_000_000, 20, 1500)), packets: Packets::new(), log: Ledger::default() }
        }
        fn arrive(&mut self, ms: u64, flow: u32, numbers: std::ops::Range<u32>) {
            for n in numbers {
                let (mut packet, segment) = packet(1000 * flow + n, 1460, 0);
                packet.route = flow;
                let id = self.packets.insert(Direction::There, packet, segment);
                self.queue.enqueue(at(ms), id, &mut self.packets, &mut self.log);
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
        fn in_classes(&self) -> [u64; 2] {
            [self.queue.classes[LIGHT].held.packets(), self.queue.classes[HEAVY].held.packets()]
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_flow_that_sends_more_than_admitted_in_a_reset_time_is_heavy() {
        let mut rig = Rig::new(&[("admit", Value::Bytes(4500))]);
        // Three packets of 1500 bytes are admitted; the fourth and what follows are heavy.
        rig.arrive(0, 1, 0..6);
        rig.arrive(0, 2, 0..3);
        assert_eq!(rig.in_classes(), [6, 3]);
        // Three in each reset time of 40 ms are few.
        rig.arrive(41, 2, 3..6);
        assert_eq!(rig.in_classes(), [9, 3]);
    }

    #[test]
    fn a_heavy_hitter_is_forgotten_after_a_second_of_silence() {
        let mut rig = Rig::new(&[("admit", Value::Bytes(1500))]);
        rig.arrive(0, 1, 0..2);
        rig.arrive(900, 1, 2..3);
        assert_eq!(rig.in_classes(), [1, 2]);
        rig.arrive(1901, 1, 3..4);
        assert_eq!(rig.in_classes(), [2, 2]);
    }

    #[test]
    fn the_table_of_heavy_hitters_is_bounded() {
        let mut rig = Rig::new(&[("admit", Value::Bytes(1500)), ("heavy_flows", Value::Count(1))]);
        rig.arrive(0, 1, 0..2);
        rig.arrive(0, 2, 0..2);
        assert_eq!(rig.in_classes(), [3, 1]);
    }

    #[test]
    fn light_flows_send_twice_as_much_and_heavy_ones_drop() {
        let mut rig = Rig::new(&[("admit", Value::Bytes(1500)), ("limit", Value::Capacity(Capacity::Packets(7)))]);
        rig.arrive(0, 1, 0..6);
        [2, 3, 4].iter().for_each(|flow| rig.arrive(0, *flow, 0..1));
        // Nine came: the oldest two of the heavy class made room.
        assert_eq!(rig.log.dropped.iter().map(|d| d.0).collect::<Vec<_>>(), [1001, 1002]);
        assert_eq!(rig.depart(9), [1000, 2000, 1003, 3000, 4000, 1004, 1005]);
    }

    /// Conservative update: a flow beside a heavy hitter in one stage is judged by its least counter.
    #[test]
    fn a_light_flow_is_not_heavy_for_sharing_a_counter() {
        let mut filter = Filter { keys: [1, 2, 3, 4], counters: vec![[0; COUNTERS]; STAGES] };
        let at = (mix(7, 1) >> 54) as usize;
        filter.counters[0][at] = 1 << 30;
        assert!(!filter.admits(7, 1500, 3000));
        assert_eq!(filter.counters[0][at], 1 << 30);
        assert!(!filter.admits(7, 1500, 3000));
        assert!(filter.admits(7, 1500, 3000));
    }
}

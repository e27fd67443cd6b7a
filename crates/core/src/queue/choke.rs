//! `choke`: RED that compares each arrival with packets drawn from the queue, and drops both where they are of one flow (Pan, Prabhakar
//! and Psounis 2000).

use super::early::{Marking, Red, RedConfig};
use super::fifo::{Fifo, LIMIT, Measure, limit_of};
use super::red::{MAX_P, MAX_THRESHOLD, MIN_THRESHOLD, SMALL_PACKET, TARGET_DELAY, WQ, check_thresholds, check_wq, thresholds, wq};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::Time;
use crate::units::Capacity;

/// The registry entry. PPP00 below is its source.
pub(super) const KIND: QueueKind = QueueKind {
    name: "choke",
    summary: "RED that drops pairs of one flow",
    source: "Pan, Prabhakar and Psounis, CHOKe, IEEE INFOCOM 2000",
    params: &[
        LIMIT,
        MIN_THRESHOLD,
        MAX_THRESHOLD,
        MAX_P,
        ParamSpec { doc: "weight of a new sample in the average; 1 is no averaging. When not given: 0.002", ..WQ },
        TARGET_DELAY,
        ParamSpec {
            name: "candidates",
            kind: Kind::Count { unit: "packets", min: 1, max: 1000 },
            // PPP00 §III: one; §III-B has more.
            default: Some(Value::Count(1)),
            doc: "packets drawn from the queue for each arrival",
        },
        SMALL_PACKET,
    ],
    promises: &[Promise::with(
        &[
            ("min_threshold", Value::Capacity(Capacity::Packets(40))),
            ("max_threshold", Value::Capacity(Capacity::Packets(120))),
            ("limit", Value::Capacity(Capacity::Packets(400))),
        ],
        Claim::Holds { least: 10, most: 120 },
        "Pan, Prabhakar and Psounis 2000, section III: no drop under the lower threshold, and every arrival over the upper one; the average is no more than that",
    )],
    check: |params, context| {
        check_thresholds(params, context)?;
        check_wq(params)
    },
    build: |params, context| Box::new(Choke::new(params, context)),
};

struct Choke {
    fifo: Fifo,
    /// Unit of the average.
    measure: Measure,
    min_threshold: f64,
    candidates: u64,
    red: Red,
    rng: Rng,
}

impl Choke {
    fn new(params: &Params, mut context: QueueContext) -> Self {
        let (limit, thresholds) = (limit_of(params, &context), thresholds(params, &context));
        let config = RedConfig {
            min_threshold: thresholds.min.max as f64,
            max_threshold: thresholds.max.max as f64,
            max_p: params.number(MAX_P.name),
            wq: wq(params, &context, false),
            // PPP00 §III: over the upper threshold every arrival is dropped.
            gentle: false,
            adaptive: false,
            scale_by_size: None,
            wait: false,
            small_packet: params.integer(SMALL_PACKET.name) as u32,
            rate: context.rate,
        };
        let rng = Rng::named(context.rng.next_u64(), "candidates");
        Choke {
            fifo: Fifo::new(limit),
            measure: thresholds.min.measure,
            min_threshold: config.min_threshold,
            candidates: params.integer("candidates"),
            red: Red::new(config, context.rng),
            rng,
        }
    }

    /// Draws a packet, and drops it if it is of the flow `route`. Whether it did.
    fn strikes(&mut self, now: Time, route: u32, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        let held = self.fifo.held(Measure::Packets);
        if held == 0 {
            return false;
        }
        let drawn = self.rng.below(held) as usize;
        let line = self.fifo.backlog();
        let (mut before, mut found) = (None, None);
        for (n, id) in line.iter(packets).enumerate().take(drawn + 1) {
            if n + 1 == drawn {
                before = Some(id);
            }
            found = Some(id);
        }
        if found.is_none_or(|id| packets[id].route != route) {
            return false;
        }
        let Some(id) = self.fifo.backlog().take_after(before, packets) else { return false };
        discard(now, id, DropReason::Early, packets, log);
        true
    }
}

impl Queue for Choke {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let (route, ip_len) = (packets[id].route, packets[id].ip_len());
        packets[id].stamp = now;
        self.red.sample(now, self.fifo.held(self.measure) as f64);
        let average = self.red.average();
        if average >= self.min_threshold {
            // PPP00 §III: a flow with many packets in the queue is hit often, twice over: its arrivals and what they find.
            let mut struck = false;
            for _ in 0..self.candidates {
                struck |= self.strikes(now, route, packets, log);
            }
            if struck {
                discard(now, id, DropReason::Early, packets, log);
                return;
            }
        }
        let verdict = self.red.judge(average, ip_len);
        if !self.fifo.fits(&packets[id]) {
            discard(now, id, DropReason::Overflow, packets, log);
        } else if verdict.apply(now, id, Marking::default(), packets, log) {
            self.fifo.push(id, packets);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.fifo.pop(packets)?;
        if self.fifo.held(Measure::Packets) == 0 {
            self.red.emptied(now, packets[id].ip_len());
        }
        Some(id)
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

    /// Thresholds of 5 and 1000 packets on the queue itself, no drops by RED.
    fn choke(candidates: u64) -> Choke {
        let mut params = Params::defaults(KIND.params);
        let packets = |n| Value::Capacity(Capacity::Packets(n));
        for (name, value) in [
            ("limit", packets(2000)),
            ("min_threshold", packets(5)),
            ("max_threshold", packets(1000)),
            ("wq", Value::Number(1.0)),
            ("max_p", Value::Number(0.0)),
            ("candidates", Value::Count(candidates)),
        ] {
            params.set(name, value);
        }
        Choke::new(&params, context(10_000_000, 20, 1500))
    }

    fn arrive(queue: &mut Choke, route: u32, seq: u32, packets: &mut Packets, log: &mut Ledger) {
        let (mut packet, segment) = packet(seq, 1460, 0);
        packet.route = route;
        let id = packets.insert(Direction::There, packet, segment);
        queue.enqueue(Time::ZERO, id, packets, log);
    }

    #[test]
    fn an_arrival_and_what_it_finds_of_its_flow_go_together() {
        let (mut queue, mut packets, mut log) = (choke(1), Packets::new(), Ledger::default());
        // Under the lower threshold nothing is drawn. Then the queue is all of one flow: each arrival takes one with it.
        (0..5).for_each(|seq| arrive(&mut queue, 1, seq, &mut packets, &mut log));
        assert!(log.dropped.is_empty());
        arrive(&mut queue, 1, 5, &mut packets, &mut log);
        assert_eq!((queue.held(Measure::Packets), log.dropped.len()), (4, 2));
        assert!(log.dropped.iter().any(|drop| drop.0 == 5) && log.dropped.iter().all(|drop| drop.2 == DropReason::Early));
        // Other flows, of which the queue has nothing, are not hit.
        (6..9).for_each(|seq| arrive(&mut queue, seq, seq, &mut packets, &mut log));
        assert_eq!(log.dropped.len(), 2);
        // The rest leaves in order.
        let order: Vec<u32> = std::iter::from_fn(|| {
            let id = queue.dequeue(Time::ZERO, &mut packets, &mut log)?;
            Some(packets.segment(id).seq)
        })
        .collect();
        assert!(order.is_sorted() && order.len() == 7, "{order:?}");
    }

    /// The queue holds 75 packets of one flow and 25 of another: an arrival is hit in proportion.
    #[test]
    fn a_flow_is_hit_in_proportion_to_its_share_of_the_queue() {
        let hits = |route: u32, candidates: u64| {
            let mut hits = 0;
            let mut queue = choke(candidates);
            for _ in 0..1000 {
                let (mut packets, mut log) = (Packets::new(), Ledger::default());
                queue.fifo = Fifo::new(super::super::fifo::Limit { measure: Measure::Packets, max: 2000 });
                for n in 0..100_u32 {
                    let (mut packet, segment) = packet(n, 1460, 0);
                    packet.route = u32::from(n % 4 == 0);
                    let id = packets.insert(Direction::There, packet, segment);
                    queue.fifo.push(id, &mut packets);
                }
                arrive(&mut queue, route, 100, &mut packets, &mut log);
                hits += usize::from(!log.dropped.is_empty());
            }
            hits as f64 / 1000.0
        };
        // Four standard deviations of 1000 draws: 0.055. With two candidates 1 - (3/4)^2.
        for (route, candidates, p) in [(0, 1, 0.75), (1, 1, 0.25), (1, 2, 0.4375), (2, 1, 0.0)] {
            let got = hits(route, candidates);
            assert!((got - p).abs() <= 0.063, "flow {route}, {candidates} drawn: {got}, {p} expected");
        }
    }
}

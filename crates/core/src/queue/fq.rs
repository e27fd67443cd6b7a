//! `fq`: the fair queue of a sending host: a queue per flow, served in turn by bytes, and no flow faster than its rate.

use super::fifo::{Limit, Measure, roomy_limit, roomy_limit_of};
use super::flows::{Classifier, FlowQueues, Quanta};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::Time;
use crate::units::Rate;

/// Least default limit in packets: the default of tc-fq(8), as all other defaults.
const LIMIT_PACKETS: u64 = 10_000;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "fq",
    summary: "fair queue of a sending host: a line for each flow, in turn by bytes, new flows first; with `maxrate` no flow is faster than that",
    source: "tc-fq(8)",
    params: &[
        roomy_limit("the most it holds, of all flows. When not given: 10000 packets, or what the link sends in 250 ms if that is more"),
        ParamSpec {
            name: "flow_limit",
            kind: Kind::Count { unit: "packets", min: 1, max: 1 << 24 },
            default: Some(Value::Count(100)),
            doc: "the most it holds of one flow",
        },
        ParamSpec {
            name: "quantum",
            kind: Kind::Bytes { min: 64, max: 1 << 20 },
            default: Some(Value::Auto),
            doc: "IP bytes that a flow may send in its turn. When not given: two packets of the MTU",
        },
        ParamSpec {
            name: "initial_quantum",
            kind: Kind::Bytes { min: 64, max: 1 << 24 },
            default: Some(Value::Auto),
            doc: "IP bytes that a flow may send in its first turn of all. When not given: ten packets of the MTU",
        },
        ParamSpec {
            name: "maxrate",
            kind: Kind::Rate,
            default: Some(Value::Auto),
            doc: "most per flow (IP packets): a packet leaves at least its bytes over this rate after the one before. When not given: no such bound",
        },
    ],
    promises: &[Promise::new(Claim::Isolates, "tc-fq(8): lines in turn")],
    check: |params, context| limit(params, context).check_holds_a_packet("limit", context),
    build: |params, context| {
        let bytes = |name, packets| if params.is_auto(name) { packets * u64::from(context.mtu) } else { params.integer(name) };
        let quanta = Quanta { first: bytes("initial_quantum", 10), each: bytes("quantum", 2) };
        Box::new(Fq {
            limit: limit(params, &context),
            flow_limit: params.integer("flow_limit"),
            maxrate: (!params.is_auto("maxrate")).then(|| params.rate("maxrate")),
            flows: FlowQueues::new(Classifier::each(), quanta, ()),
        })
    },
};

fn limit(params: &Params, context: &QueueContext) -> Limit {
    roomy_limit_of(params, context, LIMIT_PACKETS)
}

struct Fq {
    limit: Limit,
    flow_limit: u64,
    maxrate: Option<Rate>,
    flows: FlowQueues<()>,
}

impl Queue for Fq {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let fits = self.limit.has_room(self.flows.held(self.limit.measure), packets[id].ip_len());
        if fits && self.flows.line_of(packets[id].route).1.packets() < self.flow_limit {
            packets[id].stamp = now;
            self.flows.push(id, packets);
        } else {
            discard(now, id, DropReason::Overflow, packets, log);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        if self.flows.held(Measure::Packets) == 0 {
            return None;
        }
        let now = self.flows.opens(now);
        self.flows.release(now);
        let id = self.flows.next(packets, |(), line, packets| line.pop(packets))?;
        if let Some(rate) = self.maxrate {
            self.flows.park(now.saturating_add(rate.transmit_time(packets[id].ip_len().into())));
        }
        Some(id)
    }
    fn pass(&mut self, _idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        self.flows.idle();
        self.enqueue(now, id, packets, log);
        self.dequeue(now, packets, log).is_some()
    }
    fn shapes(&self) -> bool {
        self.maxrate.is_some()
    }
    fn opens(&self, from: Time) -> Time {
        self.flows.opens(from)
    }
    fn held(&self, measure: Measure) -> u64 {
        self.flows.held(measure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ledger, context, packet};
    use super::*;
    use crate::packet::Direction;
    use crate::time::Duration;

    /// Returns when each packet leaves, in microseconds. All come at zero, `(flow, packets, size)`, to a link of 120 Mb/s. The number of a
    /// packet is `100 flow + n`.
    fn departures(given: &[(&'static str, Value)], flows: &[(u32, u32, u16)]) -> (Vec<(u32, u64)>, Ledger) {
        let mut params = Params::defaults(KIND.params);
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(120_000_000, 100, 1500);
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        let mut queue = (KIND.build)(&params, context.clone());
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for &(flow, count, size) in flows {
            for n in 0..count {
                let (mut packet, segment) = packet(100 * flow + n, size - 40, 0);
                packet.route = flow;
                let id = packets.insert(Direction::There, packet, segment);
                queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
            }
        }
        let (mut free, mut left) = (Time::ZERO, vec![]);
        while queue.held(Measure::Packets) > 0 {
            let at = queue.opens(free);
            let id = queue.dequeue(at, &mut packets, &mut log).unwrap();
            left.push((packets.segment(id).seq, at.as_ps() / 1_000_000));
            free = at + context.rate.transmit_time(packets[id].ip_len().into());
            packets.remove(id);
        }
        (left, log)
    }

    const QUANTA: [(&str, Value); 2] = [("initial_quantum", Value::Bytes(3000)), ("quantum", Value::Bytes(1500))];

    /// 12 Mb/s is a packet of 1500 bytes each millisecond; the link takes 100 us for one, so that others go between.
    #[test]
    fn no_flow_is_faster_than_its_rate() {
        let maxrate = ("maxrate", Value::Rate(Rate::from_bps(12_000_000)));
        let (left, _) = departures(&[maxrate], &[(1, 3, 1500), (2, 2, 1500), (3, 3, 750)]);
        let expected = [(100, 0), (200, 100), (300, 200), (301, 700), (101, 1000), (201, 1100), (302, 1200), (102, 2000)];
        assert_eq!(left, expected);
    }

    /// Two packets in its first turn, and then one.
    #[test]
    fn the_first_turn_is_longer() {
        let (left, _) = departures(&QUANTA, &[(1, 4, 1500), (2, 4, 1500)]);
        assert_eq!(left.iter().map(|l| l.0).collect::<Vec<_>>(), [100, 101, 200, 201, 102, 202, 103, 203]);
        assert!(left.iter().enumerate().all(|(n, l)| l.1 == 100 * n as u64), "the link is never idle");
    }

    #[test]
    fn a_flow_has_a_limit_of_its_own() {
        let (left, log) = departures(&[("flow_limit", Value::Count(2))], &[(1, 4, 1500), (2, 1, 1500)]);
        assert_eq!(log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(102, DropReason::Overflow), (103, DropReason::Overflow)]);
        assert_eq!(left.len(), 3);
    }

    /// A new flow may go at once while all others wait for their time; and the queue tells when the first may.
    #[test]
    fn it_says_when_the_next_may_go() {
        let mut params = Params::defaults(KIND.params);
        params.set("maxrate", Value::Rate(Rate::from_bps(12_000_000)));
        let mut queue = (KIND.build)(&params, context(120_000_000, 100, 1500));
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        let at = |us| Time::ZERO + Duration::from_micros(us);
        let arrive = |queue: &mut dyn Queue, packets: &mut Packets, us, seq, flow| {
            let (mut packet, segment) = packet(seq, 1460, 0);
            packet.route = flow;
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(at(us), id, packets, &mut Ledger::default());
        };
        (0..3).for_each(|seq| arrive(&mut *queue, &mut packets, 0, seq, 1));
        assert!(queue.shapes() && queue.opens(at(5)) == at(5));
        queue.dequeue(at(5), &mut packets, &mut log).unwrap();
        assert_eq!((queue.opens(at(5)), queue.opens(at(2000))), (at(1005), at(2000)));
        arrive(&mut *queue, &mut packets, 300, 7, 2);
        assert_eq!(queue.opens(at(300)), at(300));
        let id = queue.dequeue(at(300), &mut packets, &mut log).unwrap();
        assert_eq!((packets.segment(id).seq, queue.opens(at(300))), (7, at(1005)));
        // The queue of flow 2 is empty; a packet that comes now waits for its time as well.
        arrive(&mut *queue, &mut packets, 400, 8, 2);
        queue.dequeue(at(1005), &mut packets, &mut log).unwrap();
        assert_eq!(queue.opens(at(1005)), at(1300));
    }
}

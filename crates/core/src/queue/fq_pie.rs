//! `fq_pie`: a queue per flow, each under `pie`, served in turn, new ones first.

use super::fifo::{Limit, Measure, roomy_limit, roomy_limit_of};
use super::flows::{self, Classifier, FlowQueues, Quanta};
use super::pie::{self, Pie, PieConfig};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// Least default limit in packets: the default of tc-fq_pie(8).
const LIMIT_PACKETS: u64 = 10_240;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "fq_pie",
    summary: "flow queue PIE: a line for each flow, each under pie, in turn by bytes, new flows first",
    source: "tc-fq_pie(8); RFC 8290 for the lines, RFC 8033 for what becomes of a packet",
    params: &[
        roomy_limit("the most it holds, of all flows. When not given: 10240 packets, or what the link sends in 250 ms if that is more"),
        flows::FLOWS,
        flows::COLLISIONS,
        flows::QUANTUM,
        pie::TARGET,
        pie::TUPDATE,
        pie::ALPHA,
        pie::BETA,
        pie::MAX_BURST,
        pie::ECN,
        pie::ECN_THRESHOLD,
        pie::DERANDOMIZE,
        pie::CAP_DROP,
        pie::DQ_RATE_ESTIMATOR,
    ],
    promises: &[
        Promise::new(
            Claim::Waits { least: Duration::from_millis(5), most: Duration::from_millis(20) },
            "RFC 8033 section 4.2 for each line: 15 ms",
        ),
        Promise::with(
            &[("ecn", Value::Bool(true))],
            Claim::Marks,
            "RFC 8033 section 5.1: marks in place of drops while the probability is under 0.1",
        ),
        Promise::new(Claim::Isolates, "tc-fq_pie(8): lines in turn"),
    ],
    check: |params, context| limit(params, context).check_holds_a_packet("limit", context),
    build: |params, mut context| {
        let (limit, config) = (limit(params, &context), pie::config_of(params, &context));
        let (classifier, quanta) = (Classifier::new(params, &mut context.rng), Quanta::new(params, &context));
        let flows = FlowQueues::new(classifier, quanta, Pie::new(&config, Time::ZERO));
        Box::new(FqPie { limit, config, flows, rng: context.rng })
    },
};

fn limit(params: &Params, context: &QueueContext) -> Limit {
    roomy_limit_of(params, context, LIMIT_PACKETS)
}

struct FqPie {
    limit: Limit,
    config: PieConfig,
    flows: FlowQueues<Pie>,
    rng: Rng,
}

impl Queue for FqPie {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let fits = self.limit.has_room(self.flows.held(self.limit.measure), packets[id].ip_len());
        let (pie, line) = self.flows.line_of(packets[id].route);
        if !fits {
            pie.overflowed(&self.config, now, line);
            discard(now, id, DropReason::Overflow, packets, log);
        } else if !pie.hits(&self.config, now, line, &mut self.rng) || pie.mark(&self.config, now, id, packets, log) {
            packets[id].stamp = now;
            self.flows.push(id, packets);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        let config = &self.config;
        self.flows.next(packets, |pie, line, packets| pie.dequeue(config, now, line, packets))
    }
    fn pass(&mut self, _idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        self.flows.idle();
        self.enqueue(now, id, packets, log);
        self.dequeue(now, packets, log).is_some()
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
    use crate::params::Value;
    use crate::time::Duration;
    use crate::units::Capacity;

    /// One packet leaves per ms. Flow 1 sends 1.25 in that time, and has a drop probability of its own; flow 2 sends one each 20 ms, and
    /// all of them leave at once.
    #[test]
    fn each_line_has_a_probability_of_its_own() {
        let mut params = Params::defaults(KIND.params);
        params.set("collisions", Value::Bool(false));
        params.set("limit", Value::Capacity(Capacity::Packets(2000)));
        let mut queue = (KIND.build)(&params, context(12_000_000, 20, 1500));
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for ms in 0..4000_u64 {
            let now = Time::ZERO + Duration::from_millis(ms);
            let mut arrive = |flow: u32| {
                let (mut packet, segment) = packet(flow, 1460, 0);
                packet.route = flow;
                let id = packets.insert(Direction::There, packet, segment);
                queue.enqueue(now, id, &mut packets, &mut log);
            };
            let sparse = ms % 20 == 7;
            (0..1 + u32::from(ms % 4 == 0)).for_each(|_| arrive(1));
            if sparse {
                arrive(2);
            }
            if let Some(id) = queue.dequeue(now, &mut packets, &mut log) {
                assert!(!sparse || packets.segment(id).seq == 2);
                packets.remove(id);
            }
        }
        assert!(log.dropped.len() > 50 && log.dropped.iter().all(|d| d.0 == 1 && d.2 == DropReason::Early));
    }

    #[test]
    fn the_limit_is_of_all_flows() {
        let mut params = Params::defaults(KIND.params);
        params.set("limit", Value::Capacity(Capacity::Packets(3)));
        let mut queue = (KIND.build)(&params, context(12_000_000, 20, 1500));
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for seq in 0..5 {
            let (mut packet, segment) = packet(seq, 1460, 0);
            packet.route = seq;
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        assert_eq!(log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(3, DropReason::Overflow), (4, DropReason::Overflow)]);
    }
}

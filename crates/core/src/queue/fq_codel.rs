//! `fq_codel`: a queue per flow, each under `codel`, served in turn, new ones first (RFC 8290).

use super::codel::{self, Codel, CodelConfig, Waiting};
use super::fifo::{Limit, Measure, roomy_limit, roomy_limit_of};
use super::flows::{self, Classifier, FlowQueues, Quanta};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::Params;
use crate::promise::Promise;
use crate::time::{Duration, Time};

/// Least default limit in packets (RFC 8290 §5.2.3).
const LIMIT_PACKETS: u64 = 10_240;
/// Most packets that are dropped at once (RFC 8290 §4.1).
const BATCH: u64 = 64;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "fq_codel",
    summary: "flow queue CoDel (RFC 8290): a line for each flow, each under codel, in turn by bytes, new flows first",
    source: "RFC 8290",
    params: &[
        roomy_limit("the most it holds, of all flows. When not given: 10240 packets, or what the link sends in 250 ms if that is more"),
        flows::FLOWS,
        flows::COLLISIONS,
        flows::QUANTUM,
        codel::TARGET,
        codel::INTERVAL,
        codel::ecn(true),
        codel::CE_THRESHOLD,
    ],
    promises: &[
        Promise::new(
            Claim::Waits { least: Duration::from_millis(1), most: Duration::from_millis(12) },
            "RFC 8290 section 5.2.2: a target of 5 ms for each line",
        ),
        Promise::new(Claim::Marks, "RFC 8290 section 5.2.6: marks in place of drops"),
        Promise::new(Claim::Isolates, "RFC 8290 section 1.3: lines in turn"),
    ],
    check: |params, context| {
        limit(params, context).check_holds_a_packet("limit", context)?;
        codel::check_times(params)
    },
    build: |params, mut context| {
        let (limit, config) = (limit(params, &context), codel::config_of(params, &context));
        Box::new(FqCodel {
            limit,
            config,
            flows: FlowQueues::new(Classifier::new(params, &mut context.rng), Quanta::new(params, &context), Codel::new()),
        })
    },
};

fn limit(params: &Params, context: &QueueContext) -> Limit {
    roomy_limit_of(params, context, LIMIT_PACKETS)
}

struct FqCodel {
    limit: Limit,
    config: CodelConfig,
    flows: FlowQueues<Codel>,
}

impl Queue for FqCodel {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        packets[id].stamp = now;
        self.flows.push(id, packets);
        // RFC 8290 §4.1: the arrival itself may be in the flow queue that is shortened.
        while self.flows.held(self.limit.measure) > self.limit.max {
            self.flows.shorten_fattest(BATCH, packets, |id, packets| discard(now, id, DropReason::Overflow, packets, log));
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let config = &self.config;
        let mut held = self.flows.held(Measure::Bytes);
        self.flows.next(packets, |codel, line, packets| {
            let mut waiting = Waiting { elsewhere: held - line.bytes(), line };
            let taken = codel.dequeue(config, now, &mut waiting, packets, log);
            held = waiting.bytes();
            taken
        })
    }
    fn pass(&mut self, idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        // Every flow queue was empty, and each one's control takes note (RFC 8289 §5.6).
        let none = self.dequeue(idle, packets, log);
        debug_assert!(none.is_none(), "a packet passes where nothing is held");
        self.enqueue(now, id, packets, log);
        self.dequeue(now, packets, log).is_some()
    }
    fn held(&self, measure: Measure) -> u64 {
        self.flows.held(measure)
    }
}

#[cfg(test)]
mod tests;

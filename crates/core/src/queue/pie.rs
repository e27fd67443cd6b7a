//! `pie`: one queue that drops or marks arrivals at random, with a probability that keeps the delay at a target (RFC 8033).

mod control;

use super::fifo::{Fifo, Limit, Measure, roomy_limit, roomy_limit_of};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
pub(super) use control::{Pie, PieConfig};

/// Least default limit in packets: the default of tc-pie(8).
const LIMIT_PACKETS: u64 = 1000;

const fn flag(name: &'static str, default: bool, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Bool, default: Some(Value::Bool(default)), doc }
}
const fn time(name: &'static str, min: Duration, default: Duration, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Duration { min, max: Duration::from_secs(10) }, default: Some(Value::Duration(default)), doc }
}
const fn number(name: &'static str, max: f64, default: f64, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Number { min: 0.0, max }, default: Some(Value::Number(default)), doc }
}

// The defaults of RFC 8033 appendices A and B.
pub(super) const TARGET: ParamSpec =
    time("target", Duration::from_micros(1), Duration::from_millis(15), "the time that packets wait on average (QDELAY_REF)");
pub(super) const TUPDATE: ParamSpec =
    time("tupdate", Duration::from_micros(10), Duration::from_millis(15), "from one change of the probability to the next (T_UPDATE)");
pub(super) const ALPHA: ParamSpec = number("alpha", 100.0, 0.125, "probability that each second over the target adds, in Hz");
pub(super) const BETA: ParamSpec = number("beta", 100.0, 1.25, "probability that each second more than at the last change adds, in Hz");
pub(super) const MAX_BURST: ParamSpec =
    time("max_burst", Duration::ZERO, Duration::from_millis(150), "time after a quiet period in which nothing is dropped");
pub(super) const ECN: ParamSpec = flag("ecn", false, "whether ECN-capable packets are marked instead of dropped, under `ecn_threshold`");
pub(super) const ECN_THRESHOLD: ParamSpec =
    number("ecn_threshold", 1.0, 0.1, "from this probability on ECN-capable packets are dropped, too (mark_ecnth)");
pub(super) const DERANDOMIZE: ParamSpec =
    flag("derandomize", true, "whether drops keep apart: none before the probabilities since the last one add up to 0.85, and one at 8.5");
pub(super) const CAP_DROP: ParamSpec = flag("cap_drop", true, "whether a probability from 0.1 on grows by 0.02 at most at a time");
pub(super) const DQ_RATE_ESTIMATOR: ParamSpec = flag(
    "dq_rate_estimator",
    false,
    "whether the wait is what is held over the rate at which packets leave; if not, packets say how long they waited",
);

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "pie",
    summary: "proportional integral controller enhanced (RFC 8033): drops or marks arrivals at random so that packets wait for a target",
    source: "RFC 8033; Pan et al., PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem, HPSR 2013",
    params: &[
        roomy_limit(
            "the most it holds, the packet in transmission not counted. When not given: 1000 packets, or what the link sends in 250 ms if that is more",
        ),
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        MAX_BURST,
        ECN,
        ECN_THRESHOLD,
        DERANDOMIZE,
        CAP_DROP,
        DQ_RATE_ESTIMATOR,
    ],
    promises: &[
        Promise::new(
            Claim::Waits { least: Duration::from_millis(10), most: Duration::from_millis(20) },
            "RFC 8033 section 4.2: the probability keeps the wait at QDELAY_REF, 15 ms",
        ),
        Promise::with(
            &[("ecn", Value::Bool(true))],
            Claim::Marks,
            "RFC 8033 section 5.1: marks in place of drops while the probability is under 0.1",
        ),
    ],
    check: |params, context| limit(params, context).check_holds_a_packet("limit", context),
    build: |params, context| {
        let (config, fifo) = (config_of(params, &context), Fifo::new(limit(params, &context)));
        Box::new(PieQueue { fifo, control: Pie::new(&config, Time::ZERO), config, rng: context.rng })
    },
};

fn limit(params: &Params, context: &QueueContext) -> Limit {
    roomy_limit_of(params, context, LIMIT_PACKETS)
}

/// Returns the configuration of the control from the parameters.
pub(super) fn config_of(params: &Params, context: &QueueContext) -> PieConfig {
    PieConfig {
        target: params.duration(TARGET.name),
        tupdate: params.duration(TUPDATE.name),
        alpha: params.number(ALPHA.name),
        beta: params.number(BETA.name),
        max_burst: params.duration(MAX_BURST.name),
        mark_under: params.boolean(ECN.name).then(|| params.number(ECN_THRESHOLD.name)),
        derandomize: params.boolean(DERANDOMIZE.name),
        cap_drop: params.boolean(CAP_DROP.name),
        dq_rate_estimator: params.boolean(DQ_RATE_ESTIMATOR.name),
        mtu: context.mtu,
    }
}

struct PieQueue {
    fifo: Fifo,
    config: PieConfig,
    control: Pie,
    rng: Rng,
}

impl Queue for PieQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let fits = self.fifo.fits(&packets[id]);
        let line = self.fifo.backlog();
        if !fits {
            self.control.overflowed(&self.config, now, line);
            discard(now, id, DropReason::Overflow, packets, log);
        } else if !self.control.hits(&self.config, now, line, &mut self.rng) || self.control.mark(&self.config, now, id, packets, log) {
            packets[id].stamp = now;
            self.fifo.push(id, packets);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.control.dequeue(&self.config, now, self.fifo.backlog(), packets)
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

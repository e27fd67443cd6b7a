//! `codel`: one queue that drops or marks departing packets, once the delay has stayed over a target (RFC 8289).

mod control;

use super::fifo::{Fifo, Limit, Measure, roomy_limit, roomy_limit_of};
use super::{Claim, Queue, QueueContext, QueueKind, QueueLog};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::{Duration, Time};
pub(super) use control::{Codel, CodelConfig, Waiting};

/// Least default limit in packets: the default of tc-codel(8).
const LIMIT_PACKETS: u64 = 1000;

pub(super) const TARGET: ParamSpec = ParamSpec {
    name: "target",
    kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(10) },
    // RFC 8289 §4.3.
    default: Some(Value::Duration(Duration::from_millis(5))),
    doc: "the time that packets may wait for good",
};
pub(super) const INTERVAL: ParamSpec = ParamSpec {
    name: "interval",
    kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(10) },
    // RFC 8289 §4.2.
    default: Some(Value::Duration(Duration::from_millis(100))),
    doc: "the wait must have been under the target once in this time; about the longest round trip of what passes",
};
pub(super) const CE_THRESHOLD: ParamSpec = ParamSpec {
    name: "ce_threshold",
    kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(10) },
    // RFC 8290 §5.2.7.
    default: Some(Value::Auto),
    doc: "ECN-capable packets that waited longer than this are all marked, with `ecn` or without. When not given: none is for that",
};

/// Parameter that marks ECN-capable packets; `default` is that of `tc`, and for `fq_codel` also that of RFC 8290 §5.2.6.
pub(super) const fn ecn(default: bool) -> ParamSpec {
    ParamSpec {
        name: "ecn",
        kind: Kind::Bool,
        default: Some(Value::Bool(default)),
        doc: "whether ECN-capable packets are marked instead of dropped",
    }
}

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "codel",
    summary: "controlled delay (RFC 8289): drops or marks at its head once packets have waited over a target for an interval",
    source: "RFC 8289; Nichols and Jacobson, Controlling Queue Delay, ACM Queue 10(5), 2012",
    params: &[
        roomy_limit(
            "the most it holds, the packet in transmission not counted. When not given: 1000 packets, or what the link sends in 250 ms if that is more",
        ),
        TARGET,
        INTERVAL,
        ecn(false),
        CE_THRESHOLD,
    ],
    promises: &[
        Promise::new(
            Claim::Waits { least: Duration::from_millis(1), most: Duration::from_millis(10) },
            "RFC 8289 section 4.3: the wait comes under the target of 5 ms in each interval",
        ),
        Promise::with(&[("ecn", Value::Bool(true))], Claim::Marks, "RFC 8289 section 1: marks in place of drops"),
    ],
    check: |params, context| {
        limit(params, context).check_holds_a_packet("limit", context)?;
        check_times(params)
    },
    build: |params, context| {
        let fifo = Fifo::new(limit(params, &context));
        Box::new(CodelQueue { fifo, config: config_of(params, &context), control: Codel::new() })
    },
};

fn limit(params: &Params, context: &QueueContext) -> Limit {
    roomy_limit_of(params, context, LIMIT_PACKETS)
}

/// Returns the configuration from [`TARGET`], [`INTERVAL`], [`ecn`] and [`CE_THRESHOLD`].
pub(super) fn config_of(params: &Params, context: &QueueContext) -> CodelConfig {
    CodelConfig {
        target: params.duration(TARGET.name),
        interval: params.duration(INTERVAL.name),
        ecn: params.boolean("ecn"),
        ce_threshold: (!params.is_auto(CE_THRESHOLD.name)).then(|| params.duration(CE_THRESHOLD.name)),
        mtu: context.mtu,
    }
}

/// Checks RFC 8289 §4.5: the target is a part of the interval, a twentieth to a tenth. It is our choice to refuse only a target of a whole
/// interval or more.
pub(super) fn check_times(params: &Params) -> Result<(), String> {
    let ms = |name| params.duration(name).as_secs_f64() * 1e3;
    let (target, interval) = (ms(TARGET.name), ms(INTERVAL.name));
    if target < interval {
        return Ok(());
    }
    Err(format!("target ({target} ms) must be under interval ({interval} ms): a twentieth to a tenth of it is usual"))
}

struct CodelQueue {
    fifo: Fifo,
    config: CodelConfig,
    control: Codel,
}

impl Queue for CodelQueue {
    #[inline]
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.fifo.enqueue(now, id, packets, log);
    }
    #[inline]
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let mut waiting = Waiting { line: self.fifo.backlog(), elsewhere: 0 };
        self.control.dequeue(&self.config, now, &mut waiting, packets, log)
    }
    // A packet that left the queue empty has ended the dropping state, and one packet alone begins none. It has not waited either.
    fn passes(&self) -> u32 {
        self.fifo.largest()
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

#[cfg(test)]
mod tests;

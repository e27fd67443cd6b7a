//! `red`: random early detection over one queue (Floyd and Jacobson 1993), with gentle, adaptive and ECN.

use super::early::{Marking, Red, RedConfig};
use super::fifo::{Fifo, LIMIT, Limit, Measure, limit_of};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Capacity;

const ZERO_TO_ONE: Kind = Kind::Number { min: 0.0, max: 1.0 };

pub(super) const MAX_P: ParamSpec = ParamSpec {
    name: "max_p",
    kind: ZERO_TO_ONE,
    // Floyd, "RED: Discussions of Setting Parameters", 1997.
    default: Some(Value::Number(0.1)),
    doc: "probability of a signal as the average reaches max_threshold",
};
pub(super) const WQ: ParamSpec = ParamSpec {
    name: "wq",
    kind: ZERO_TO_ONE,
    default: Some(Value::Auto),
    doc: "weight of a new sample in the average; 1 is no averaging. When not given: 0.002, or with `adaptive` what averages over one second's packets",
};
pub(super) const SCALE_BY_SIZE: ParamSpec = ParamSpec {
    name: "byte_mode",
    kind: Kind::Bool,
    default: Some(Value::Bool(false)),
    doc: "whether a packet's probability is proportional to its size, an MTU's being the whole (RFC 7141 advises against it)",
};
pub(super) const WAIT: ParamSpec = ParamSpec {
    name: "wait",
    kind: Kind::Bool,
    default: Some(Value::Bool(false)),
    doc: "whether signals keep apart: their distance is then even between 1/pb and 2/pb arrivals instead of 1 and 1/pb",
};
pub(super) const SMALL_PACKET: ParamSpec = ParamSpec {
    name: "small_packet",
    kind: Kind::Bytes { min: 1, max: 65_535 },
    // The smallest packet TCP sends: an ACK without options.
    default: Some(Value::Bytes(40)),
    doc: "the packet by which idle time is counted as samples of an empty queue",
};
pub(super) const MIN_THRESHOLD: ParamSpec = ParamSpec {
    name: "min_threshold",
    kind: Kind::Capacity,
    default: Some(Value::Auto),
    doc: "average queue at which signals begin. When not given: 5 packets of the MTU or half of target_delay, whichever is more",
};
pub(super) const MAX_THRESHOLD: ParamSpec = ParamSpec {
    name: "max_threshold",
    kind: Kind::Capacity,
    default: Some(Value::Auto),
    doc: "average queue at which the probability reaches max_p. When not given: 3 times min_threshold, at most the limit",
};

pub(super) const TARGET_DELAY: ParamSpec = ParamSpec {
    name: "target_delay",
    kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(10) },
    // FGS01, on setting the thresholds.
    default: Some(Value::Duration(Duration::from_millis(5))),
    doc: "average queueing delay that thresholds not given aim at",
};

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "red",
    summary: "random early detection (Floyd and Jacobson 1993): drops or marks at random as the average queue grows",
    source: "Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993; Floyd, Recommendation on using the gentle_ variant of RED, 2000; Floyd, Gummadi and Shenker, Adaptive RED, 2001",
    params: &[
        LIMIT,
        MIN_THRESHOLD,
        MAX_THRESHOLD,
        MAX_P,
        WQ,
        ParamSpec {
            name: "gentle",
            kind: Kind::Bool,
            default: Some(Value::Bool(true)),
            doc: "whether the probability rises from max_p to 1 between max_threshold and its double, instead of jumping to 1",
        },
        ParamSpec {
            name: "adaptive",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether max_p adapts to keep the average midway between the thresholds (Floyd, Gummadi and Shenker 2001)",
        },
        TARGET_DELAY,
        ParamSpec {
            name: "ecn",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether ECN-capable packets are marked instead of dropped while the average is under max_threshold",
        },
        ParamSpec {
            name: "harddrop",
            kind: Kind::Bool,
            // RFC 3168 §7: under persistent congestion, when the average is over its upper threshold, drop rather than mark.
            default: Some(Value::Bool(true)),
            doc: "whether with `ecn` packets are dropped, not marked, once the average is over max_threshold",
        },
        ParamSpec {
            name: "nodrop",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether with `ecn` packets that would be marked, and are not ECN-capable, are let in instead of dropped",
        },
        SCALE_BY_SIZE,
        WAIT,
        SMALL_PACKET,
    ],
    promises: &[
        Promise::with(
            &[
                ("adaptive", Value::Bool(true)),
                ("min_threshold", Value::Capacity(Capacity::Packets(10))),
                ("max_threshold", Value::Capacity(Capacity::Packets(30))),
                ("limit", Value::Capacity(Capacity::Packets(200))),
            ],
            Claim::Holds { least: 14, most: 26 },
            "Floyd, Gummadi and Shenker 2001: max_p adapts until the average is midway between the thresholds, 18 to 22; a fifth either way",
        ),
        Promise::with(
            &[
                ("ecn", Value::Bool(true)),
                ("min_threshold", Value::Capacity(Capacity::Packets(10))),
                ("max_threshold", Value::Capacity(Capacity::Packets(30))),
                ("limit", Value::Capacity(Capacity::Packets(200))),
            ],
            Claim::Marks,
            "RFC 3168 section 5: marked instead of dropped",
        ),
    ],
    check,
    build: |params, context| {
        let (limit, thresholds) = (limit_of(params, &context), thresholds(params, &context));
        let config = RedConfig {
            min_threshold: thresholds.min.max as f64,
            max_threshold: thresholds.max.max as f64,
            max_p: params.number("max_p"),
            wq: wq(params, &context, params.boolean("adaptive")),
            gentle: params.boolean("gentle"),
            adaptive: params.boolean("adaptive"),
            scale_by_size: params.boolean("byte_mode").then_some(context.mtu),
            wait: params.boolean("wait"),
            small_packet: params.integer("small_packet") as u32,
            rate: context.rate,
        };
        Box::new(RedQueue::new(limit, thresholds.min.measure, config, marking(params), context.rng))
    },
};

fn marking(params: &Params) -> Marking {
    Marking { ecn: params.boolean("ecn"), harddrop: params.boolean("harddrop"), nodrop: params.boolean("nodrop") }
}

/// Returns the weight given, or FJ93 §6's 0.002, or with `adaptive` FGS01's 1 - e^(-1/C), C in packets of the MTU per second.
pub(super) fn wq(params: &Params, context: &QueueContext, adaptive: bool) -> f64 {
    if !params.is_auto("wq") {
        return params.number("wq");
    }
    if !adaptive {
        return 0.002;
    }
    1.0 - libm::exp(-8.0 * f64::from(context.mtu) / context.rate.as_bps() as f64)
}

/// Both thresholds, in one unit.
pub(super) struct Thresholds {
    pub min: Limit,
    pub max: Limit,
}

/// Returns the thresholds that [`MIN_THRESHOLD`], [`MAX_THRESHOLD`] and [`TARGET_DELAY`] describe.
pub(super) fn thresholds(params: &Params, context: &QueueContext) -> Thresholds {
    let limit = limit_of(params, context);
    let given = |name| (!params.is_auto(name)).then(|| Limit::new(params.capacity(name), context));
    let (min, max) = (given("min_threshold"), given("max_threshold"));
    let measure = min.or(max).unwrap_or(limit).measure;
    let packet = measure.cost(context.mtu);
    // FGS01: at least 5 packets, and half of what passes in the target delay; the other threshold is three times it.
    let in_half_target = context.rate.bytes_in(params.duration("target_delay")) / 2;
    let aim = match measure {
        Measure::Bytes => in_half_target,
        Measure::Packets => in_half_target / u64::from(context.mtu),
    };
    let most = if measure == limit.measure { limit.max } else { u64::MAX };
    let min = min.unwrap_or(match max {
        Some(max) => Limit { measure, max: max.max / 3 },
        None => Limit { measure, max: aim.max(5 * packet).min(most / 3) },
    });
    Thresholds { min, max: max.unwrap_or(Limit { measure, max: min.max.saturating_mul(3).clamp(1, most) }) }
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    check_thresholds(params, context)?;
    let Marking { ecn, harddrop, nodrop } = marking(params);
    if !ecn && (nodrop || !harddrop) {
        let given = if nodrop { "nodrop" } else { "harddrop = false" };
        return Err(format!("{given} says what to do instead of marking, and without ecn = true nothing is marked"));
    }
    check_wq(params)
}

/// Checks the limit, and that the thresholds are in order and under it.
pub(super) fn check_thresholds(params: &Params, context: &QueueContext) -> Result<(), String> {
    let limit = limit_of(params, context);
    limit.check_holds_a_packet(LIMIT.name, context)?;
    let Thresholds { min, max } = thresholds(params, context);
    let (min_unit, max_unit) = (min.measure.unit(), max.measure.unit());
    if min.measure != max.measure {
        return Err(format!("min_threshold is in {min_unit} and max_threshold in {max_unit}; give both in the same unit"));
    }
    if min.max >= max.max {
        return Err(format!("min_threshold ({} {min_unit}) must be under max_threshold ({} {max_unit})", min.max, max.max));
    }
    if max.measure == limit.measure && max.max > limit.max {
        return Err(format!("max_threshold ({} {max_unit}) must not be over the limit ({} {max_unit})", max.max, limit.max));
    }
    Ok(())
}

/// Checks the weight: with 0 the average would never see the queue.
pub(super) fn check_wq(params: &Params) -> Result<(), String> {
    if !params.is_auto("wq") && params.number("wq") <= 0.0 {
        return Err("wq must be over 0: with 0 the average never moves".into());
    }
    Ok(())
}

struct RedQueue {
    fifo: Fifo,
    /// Unit of the average.
    measure: Measure,
    red: Red,
    marking: Marking,
}

impl RedQueue {
    fn new(limit: Limit, measure: Measure, config: RedConfig, marking: Marking, rng: Rng) -> Self {
        RedQueue { fifo: Fifo::new(limit), measure, red: Red::new(config, rng), marking }
    }
}

impl Queue for RedQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let packet = &mut packets[id];
        packet.stamp = now;
        let verdict = self.red.arrival(now, self.fifo.held(self.measure), packet.ip_len());
        if !self.fifo.fits(packet) {
            discard(now, id, DropReason::Overflow, packets, log);
        } else if verdict.apply(now, id, self.marking, packets, log) {
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
mod tests;

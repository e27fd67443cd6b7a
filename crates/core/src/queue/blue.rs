//! `blue`: one queue that drops or marks arrivals at random, with a probability that losses raise and an idle link lowers (Feng, Shin,
//! Kandlur and Saha 2002).

use super::fifo::{Fifo, LIMIT, Limit, Measure, limit_of};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Capacity;

/// The registry entry. FSKS02 below is its source.
pub(super) const KIND: QueueKind = QueueKind {
    name: "blue",
    summary: "losses raise the drop probability, idleness lowers it",
    source: "Feng and others, BLUE, IEEE/ACM ToN 10(4), 2002",
    params: &[
        LIMIT,
        ParamSpec {
            name: "length",
            kind: Kind::Capacity,
            default: Some(Value::Auto),
            doc: "a queue longer than this raises the probability as well (L). When not given: losses alone do",
        },
        ParamSpec {
            name: "d1",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            // FSKS02 §III: one of the settings of its simulations; d1 is an order of magnitude over d2.
            default: Some(Value::Number(0.0025)),
            doc: "step up of the probability",
        },
        ParamSpec {
            name: "d2",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.00025)),
            doc: "step down of the probability",
        },
        ParamSpec {
            name: "freeze_time",
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100) },
            default: Some(Value::Duration(Duration::from_millis(100))),
            doc: "least time between two steps",
        },
        ParamSpec {
            name: "ecn",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether ECN-capable packets are marked instead of dropped",
        },
    ],
    promises: &[Promise::with(
        &[("limit", Value::Capacity(Capacity::Packets(100)))],
        Claim::Fills(100),
        "the definition: without `length` only a full queue raises the probability",
    )],
    check,
    build: |params, context| Box::new(Blue::new(params, context)),
};

fn length(params: &Params, context: &QueueContext) -> Option<Limit> {
    (!params.is_auto("length")).then(|| Limit::new(params.capacity("length"), context))
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    let limit = limit_of(params, context);
    limit.check_holds_a_packet(LIMIT.name, context)?;
    if let Some(length) = length(params, context)
        && length.measure == limit.measure
        && length.max >= limit.max
    {
        let unit = limit.measure.unit();
        return Err(format!("length ({} {unit}) must be under the limit ({} {unit}), or it never matters", length.max, limit.max));
    }
    Ok(())
}

struct Blue {
    fifo: Fifo,
    length: Option<Limit>,
    d1: f64,
    d2: f64,
    freeze: Duration,
    ecn: bool,
    p: f64,
    /// Time of the last step.
    updated: Time,
    /// Time since which the link has been idle, if it is.
    idle_from: Option<Time>,
    rng: Rng,
}

impl Blue {
    fn new(params: &Params, context: QueueContext) -> Self {
        Blue {
            fifo: Fifo::new(limit_of(params, &context)),
            length: length(params, &context),
            d1: params.number("d1"),
            d2: params.number("d2"),
            freeze: params.duration("freeze_time"),
            ecn: params.boolean("ecn"),
            p: 0.0,
            updated: Time::ZERO,
            idle_from: None,
            rng: context.rng,
        }
    }

    /// FSKS02 Fig. 4, upon a packet loss or a queue over L.
    fn congested(&mut self, now: Time) {
        if now.since(self.updated) > self.freeze {
            self.p = (self.p + self.d1).min(1.0);
            self.updated = now;
        }
    }

    /// FSKS02 Fig. 4, upon an idle link: it was idle up to `now`. An idle link is such an event for as long as it is idle.
    fn idle(&mut self, from: Time, now: Time) {
        let first = from.max(self.updated + self.freeze);
        if first <= now {
            let more = now.since(first).as_ps() / self.freeze.as_ps();
            self.p = (self.p - self.d2 * (more + 1) as f64).max(0.0);
            self.updated = first + self.freeze * more;
        }
    }
}

impl Queue for Blue {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        if let Some(from) = self.idle_from.take() {
            self.idle(from, now);
        }
        if self.length.is_some_and(|length| self.fifo.held(length.measure) > length.max) {
            self.congested(now);
        }
        if !self.fifo.fits(&packets[id]) {
            self.congested(now);
            discard(now, id, DropReason::Overflow, packets, log);
        } else if self.rng.chance(self.p) && !(self.ecn && mark(now, id, packets, log)) {
            discard(now, id, DropReason::Early, packets, log);
        } else {
            packets[id].stamp = now;
            self.fifo.push(id, packets);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.fifo.pop(packets);
        if id.is_none() {
            self.idle_from = self.idle_from.or(Some(now));
        }
        id
    }
    fn pass(&mut self, idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        self.idle_from = Some(idle);
        self.enqueue(now, id, packets, log);
        self.dequeue(now, packets, log).is_some()
    }
    fn first(&self) -> Option<PacketId> {
        self.fifo.first()
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::super::tests::rig::{self, Rig};
    use super::*;
    use crate::packet::Ecn;

    fn rig(given: &[(&'static str, Value)]) -> Rig<Blue> {
        let mut params = Params::defaults(KIND.params);
        for &(name, value) in [("d1", Value::Number(0.02)), ("d2", Value::Number(0.002))].iter().chain(given) {
            params.set(name, value);
        }
        params.set("limit", Value::Capacity(Capacity::Packets(10)));
        let context = context(10_000_000, 20, 1500);
        assert_eq!(check(&params, &context), Ok(()));
        Rig::new(Blue::new(&params, context))
    }

    fn arrive(rig: &mut Rig<Blue>, ms: u64, count: u32, ecn: Ecn) {
        (0..count).for_each(|seq| rig.arrive(at(ms), seq, 1500, |packet| packet.ecn = ecn));
    }

    fn drain(rig: &mut Rig<Blue>, ms: u64) {
        while rig.depart(at(ms)).is_some() {}
    }

    fn at(ms: u64) -> Time {
        rig::at(1000 * ms)
    }

    #[test]
    fn losses_raise_the_probability_once_per_freeze_time() {
        let mut rig = rig(&[]);
        // Not in the first 100 ms; then once, and again after more than 100 ms.
        for (ms, p) in [(50, 0.0), (150, 0.02), (200, 0.02), (250, 0.02), (251, 0.04), (400, 0.06)] {
            arrive(&mut rig, ms, 20, Ecn::NotEct);
            assert!((rig.queue.p - p).abs() < 1e-12, "{ms} ms: {}", rig.queue.p);
        }
    }

    #[test]
    fn a_queue_over_the_length_raises_it_as_well() {
        let mut rig = rig(&[("length", Value::Capacity(Capacity::Packets(5)))]);
        arrive(&mut rig, 150, 6, Ecn::NotEct);
        assert_eq!(rig.queue.p, 0.0);
        arrive(&mut rig, 150, 1, Ecn::NotEct);
        assert_eq!((rig.queue.p, rig.log.dropped.len()), (0.02, 0));
    }

    #[test]
    fn an_idle_link_lowers_it() {
        let mut rig = rig(&[]);
        rig.queue.p = 0.5;
        arrive(&mut rig, 0, 3, Ecn::NotEct);
        drain(&mut rig, 50);
        // Idle from 50 ms on: steps at 100, 200 and 300 ms.
        arrive(&mut rig, 350, 1, Ecn::NotEct);
        assert!((rig.queue.p - 0.494).abs() < 1e-12, "{}", rig.queue.p);
        // Long after, it is zero, and steps up again.
        drain(&mut rig, 351);
        arrive(&mut rig, 1_000_000, 1, Ecn::NotEct);
        assert_eq!(rig.queue.p, 0.0);
    }

    #[test]
    fn it_marks_what_can_be_marked() {
        let mut rig = rig(&[("ecn", Value::Bool(true))]);
        rig.queue.p = 1.0;
        arrive(&mut rig, 0, 2, Ecn::Ect0);
        arrive(&mut rig, 0, 1, Ecn::NotEct);
        assert_eq!((rig.log.marked, rig.log.dropped), (vec![0, 1], vec![(0, at(0), DropReason::Early)]));
    }
}

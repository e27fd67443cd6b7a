//! `pi`: one queue that drops or marks arrivals at random, with a probability from a proportional-integral controller of its length
//! (Hollot and others 2001).

use super::fifo::{Fifo, LIMIT, Limit, Measure, roomy_limit, roomy_limit_of};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Capacity;

/// The registry entry. HMTG01 below is its source.
pub(super) const KIND: QueueKind = QueueKind {
    name: "pi",
    summary: "a proportional-integral controller keeps a length",
    source: "Hollot and others, INFOCOM 2001, on PI for AQM",
    params: &[
        // HMTG01 §V: a buffer of 800 packets.
        roomy_limit("the most it holds. When not given: 800 packets, or what the link sends in 250 ms if that is more"),
        ParamSpec {
            name: "q_ref",
            kind: Kind::Capacity,
            // HMTG01 §V.
            default: Some(Value::Capacity(Capacity::Packets(200))),
            doc: "the length that it keeps",
        },
        ParamSpec {
            name: "a",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            // HMTG01 §IV-B: designed for 60 flows or more, 246 ms or less, and 3750 packets per second.
            default: Some(Value::Number(1.822e-5)),
            doc: "probability that each packet over q_ref adds at a sample",
        },
        ParamSpec {
            name: "b",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(1.816e-5)),
            doc: "probability that each packet over q_ref at the sample before takes away: a little less than a",
        },
        ParamSpec {
            name: "sampling",
            kind: Kind::Duration { min: Duration::from_micros(10), max: Duration::from_secs(10) },
            // HMTG01 §IV-B: 160 Hz.
            default: Some(Value::Duration(Duration::from_micros(6250))),
            doc: "time from one sample of the length to the next",
        },
        ParamSpec {
            name: "ecn",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether ECN-capable packets are marked instead of dropped",
        },
    ],
    promises: &[
        Promise::with(
            &[("q_ref", Value::Capacity(Capacity::Packets(50)))],
            Claim::Holds { least: 35, most: 65 },
            "Hollot and others 2001, section IV-A: the integrator leaves no error, so the queue keeps q_ref, here 50 packets; three tenths either way",
        ),
        Promise::with(
            &[("ecn", Value::Bool(true)), ("q_ref", Value::Capacity(Capacity::Packets(50)))],
            Claim::Marks,
            "RFC 3168 section 5: marked instead of dropped",
        ),
    ],
    check,
    build: |params, context| Box::new(Pi::new(params, context)),
};

/// Least default limit.
const LIMIT_PACKETS: u64 = 800;

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    let limit = roomy_limit_of(params, context, LIMIT_PACKETS);
    limit.check_holds_a_packet(LIMIT.name, context)?;
    let q_ref = Limit::new(params.capacity("q_ref"), context);
    if q_ref.measure == limit.measure && q_ref.max >= limit.max {
        let unit = limit.measure.unit();
        return Err(format!(
            "q_ref ({} {unit}) must be under the limit ({} {unit}), or the queue never gets over it",
            q_ref.max, limit.max
        ));
    }
    let (a, b) = (params.number("a"), params.number("b"));
    if a <= b {
        return Err(format!("a ({a}) must be over b ({b}): their difference is what integrates"));
    }
    Ok(())
}

struct Pi {
    fifo: Fifo,
    q_ref: Limit,
    a: f64,
    b: f64,
    sampling: Duration,
    sample_at: Time,
    /// The error at the last sample, in the unit of `q_ref`.
    last: f64,
    p: f64,
    ecn: bool,
    rng: Rng,
}

impl Pi {
    fn new(params: &Params, context: QueueContext) -> Self {
        let q_ref = Limit::new(params.capacity("q_ref"), &context);
        // Gains are for packets; a length in bytes counts in packets of the MTU.
        let unit = q_ref.measure.cost(context.mtu) as f64;
        let sampling = params.duration("sampling");
        Pi {
            fifo: Fifo::new(roomy_limit_of(params, &context, LIMIT_PACKETS)),
            q_ref,
            a: params.number("a") / unit,
            b: params.number("b") / unit,
            sampling,
            sample_at: Time::ZERO + sampling,
            last: 0.0 - q_ref.max as f64,
            p: 0.0,
            ecn: params.boolean("ecn"),
            rng: context.rng,
        }
    }

    /// Takes the samples up to `now`. The length changes at arrivals and departures alone, so this is the same as on time.
    fn catch_up(&mut self, now: Time) {
        let error = self.fifo.held(self.q_ref.measure) as f64 - self.q_ref.max as f64;
        while self.sample_at <= now {
            // HMTG01 §IV-B: p = a (q - q_ref) - b (q_old - q_ref) + p_old.
            let p = (self.a * error - self.b * self.last + self.p).clamp(0.0, 1.0);
            if p == self.p && error == self.last {
                // It stays at a bound for as long as the length stays: skip those samples.
                let left = now.since(self.sample_at).as_ps() / self.sampling.as_ps();
                self.sample_at += self.sampling * (left + 1);
                break;
            }
            (self.p, self.last) = (p, error);
            self.sample_at += self.sampling;
        }
    }
}

impl Queue for Pi {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.catch_up(now);
        if !self.fifo.fits(&packets[id]) {
            discard(now, id, DropReason::Overflow, packets, log);
        } else if self.rng.chance(self.p) && !(self.ecn && mark(now, id, packets, log)) {
            discard(now, id, DropReason::Early, packets, log);
        } else {
            packets[id].stamp = now;
            self.fifo.push(id, packets);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.catch_up(now);
        self.fifo.pop(packets)
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
    use super::super::tests::{Ledger, context, packet_with};
    use super::*;
    use crate::packet::{Direction, Ecn};

    fn pi(given: &[(&'static str, Value)]) -> Pi {
        let mut params = Params::defaults(KIND.params);
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(12_000_000, 100, 1500);
        assert_eq!(check(&params, &context), Ok(()));
        Pi::new(&params, context)
    }

    /// HMTG01 §IV-B: C(s) = 9.64e-6 (s / 0.53 + 1) / s by the bilinear transform at 160 Hz.
    #[test]
    fn the_default_gains_are_those_of_the_design() {
        let (k, z, half) = (9.64e-6, 0.53, 1.0 / 320.0);
        let q = pi(&[]);
        assert!((q.a - k * (1.0 / z + half)).abs() < 1e-8 && (q.b - k * (1.0 / z - half)).abs() < 1e-8);
        assert_eq!(q.sampling.as_secs_f64(), 1.0 / 160.0);
    }

    #[test]
    fn the_probability_integrates_the_error() {
        let mut q = pi(&[("q_ref", Value::Capacity(Capacity::Packets(10))), ("a", Value::Number(0.01)), ("b", Value::Number(0.009))]);
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for seq in 0..30 {
            let (packet, segment) = packet_with(Ecn::NotEct, seq, 1460);
            let id = packets.insert(Direction::There, packet, segment);
            q.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        let at = |n: u64| Time::ZERO + Duration::from_micros(6250 * n);
        // An error of 20 where it was -10: 0.2 + 0.09. Then 0.2 - 0.18 more at each sample, and it ends at 1.
        for (n, p) in [(1, 0.29), (2, 0.31), (3, 0.33), (10, 0.47), (1000, 1.0)] {
            q.catch_up(at(n));
            assert!((q.p - p).abs() < 1e-9, "{n}: {}", q.p);
        }
        // An empty queue: 0.1 - 0.2 - ... less 0.01 at each sample, to 0.
        while q.dequeue(at(1000), &mut packets, &mut log).is_some() {}
        q.catch_up(at(1001));
        assert!((q.p - (1.0 - 0.1 - 0.18)).abs() < 1e-9);
        q.catch_up(at(1_000_000));
        assert_eq!((q.p, q.sample_at), (0.0, at(1_000_001)));
    }

    #[test]
    fn it_marks_what_can_be_marked() {
        let mut q = pi(&[("ecn", Value::Bool(true))]);
        q.p = 1.0;
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for (seq, ecn) in [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1].into_iter().enumerate() {
            let (packet, segment) = packet_with(ecn, seq as u32, 1460);
            let id = packets.insert(Direction::There, packet, segment);
            q.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        assert_eq!((log.marked, log.dropped), (vec![0, 2], vec![(1, Time::ZERO, DropReason::Early)]));
    }
}

//! `sfb`: stochastic fair BLUE (Feng, Kandlur, Saha and Shin 2001): BLUE for each bin of a Bloom filter of flows; a flow whose bins all
//! have the probability one does not slow down, and is held to a rate.
//!
//! The paper's text was not at hand: algorithm from its abstract and memory, defaults as tc-sfb(8) has them, from memory too.

use super::fifo::{Fifo, LIMIT, Measure, limit_of};
use super::flows::mix;
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Capacity;

const TARGET: ParamSpec = ParamSpec {
    name: "target",
    kind: Kind::Count { unit: "packets", min: 1, max: 1 << 20 },
    default: Some(Value::Count(20)),
    doc: "packets of a bin from which its probability rises with each arrival",
};
const MAX: ParamSpec = ParamSpec {
    name: "max",
    kind: Kind::Count { unit: "packets", min: 1, max: 1 << 20 },
    default: Some(Value::Count(25)),
    doc: "the most packets of a bin: an arrival whose bins all hold as many is dropped",
};
const REHASH: ParamSpec = ParamSpec {
    name: "rehash",
    kind: Kind::Duration { min: Duration::from_millis(1), max: Duration::from_secs(100_000) },
    default: Some(Value::Duration(Duration::from_secs(600))),
    doc: "time after which flows are hashed anew",
};
const WARM_UP: ParamSpec = ParamSpec {
    name: "warm_up",
    kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(100_000) },
    default: Some(Value::Duration(Duration::from_secs(60))),
    doc: "time before that in which the next bins learn beside those in use",
};
/// Levels of bins that a packet is counted in, and bins of a level.
const LEVELS: usize = 8;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "sfb",
    summary: "BLUE for each bin of a Bloom filter of flows",
    source: "Feng and others, INFOCOM 2001; tc-sfb(8)",
    params: &[
        LIMIT,
        TARGET,
        MAX,
        ParamSpec {
            name: "bins",
            kind: Kind::Count { unit: "", min: 2, max: 65_536 },
            default: Some(Value::Count(16)),
            doc: "bins of each of the eight levels",
        },
        ParamSpec {
            name: "increment",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.0005)),
            doc: "step up of a bin's probability",
        },
        ParamSpec {
            name: "decrement",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            default: Some(Value::Number(0.00005)),
            doc: "step down, at each arrival that finds the bin empty",
        },
        REHASH,
        WARM_UP,
        ParamSpec {
            name: "penalty_rate",
            kind: Kind::Number { min: 0.0, max: 1e9 },
            default: Some(Value::Number(10.0)),
            doc: "packets per second that pass of all flows whose bins have the probability one",
        },
        ParamSpec {
            name: "penalty_burst",
            kind: Kind::Count { unit: "packets", min: 1, max: 1 << 20 },
            default: Some(Value::Count(20)),
            doc: "packets of such flows that pass at once",
        },
        ParamSpec {
            name: "ecn",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether ECN-capable packets are marked instead of dropped, but for those of flows held to a rate",
        },
    ],
    promises: &[Promise::with(
        &[("limit", Value::Capacity(Capacity::Packets(100))), (TARGET.name, Value::Count(1000)), (MAX.name, Value::Count(1000))],
        Claim::Fills(100),
        "the definition: while no bin holds `target` packets no probability rises, and the queue is a FIFO",
    )],
    check,
    build: |params, context| Box::new(Sfb::new(params, context)),
};

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    limit_of(params, context).check_holds_a_packet(LIMIT.name, context)?;
    let [target, max] = [TARGET.name, MAX.name].map(|name| params.integer(name));
    if target > max {
        return Err(format!("target ({target} packets) must be no more than max ({max} packets), or no probability ever rises"));
    }
    let [warm_up, rehash] = [WARM_UP.name, REHASH.name].map(|name| params.duration(name));
    if warm_up >= rehash {
        return Err(format!("warm_up ({warm_up:?}) must be under rehash ({rehash:?})"));
    }
    Ok(())
}

/// Packets and probability of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    held: u64,
    p: f64,
}

/// A set of bins with its hashes.
#[derive(Clone, Debug)]
struct Bins {
    keys: [u64; LEVELS],
    levels: Vec<Bin>,
    per_level: u64,
    /// Packets that were there before this set: they leave first, and are in none of its bins.
    before: u64,
}

impl Bins {
    fn new(per_level: u64, before: u64, rng: &mut Rng) -> Self {
        Bins { keys: std::array::from_fn(|_| rng.next_u64()), levels: vec![Bin::default(); LEVELS * per_level as usize], per_level, before }
    }

    fn of(&mut self, route: u32) -> impl Iterator<Item = &mut Bin> {
        let per_level = self.per_level;
        let keys = self.keys;
        self.levels.chunks_mut(per_level as usize).zip(keys).map(move |(level, key)| {
            let number = ((mix(route, key) >> 32) * per_level) >> 32;
            &mut level[number as usize]
        })
    }

    /// An arrival moves the probability of each of its bins; returns the least probability and the fewest packets.
    fn learn(&mut self, route: u32, target: u64, steps: (f64, f64)) -> (f64, u64) {
        let (mut p, mut held) = (1.0, u64::MAX);
        for bin in self.of(route) {
            if bin.held == 0 {
                bin.p = (bin.p - steps.1).max(0.0);
            } else if bin.held >= target {
                bin.p = (bin.p + steps.0).min(1.0);
            }
            (p, held) = (bin.p.min(p), bin.held.min(held));
        }
        (p, held)
    }

    fn push(&mut self, route: u32) {
        self.of(route).for_each(|bin| bin.held += 1);
    }

    fn pop(&mut self, route: u32) {
        if self.before > 0 {
            self.before -= 1;
        } else {
            self.of(route).for_each(|bin| bin.held -= 1);
        }
    }
}

struct Sfb {
    fifo: Fifo,
    target: u64,
    max: u64,
    steps: (f64, f64),
    rehash: Duration,
    warm_up: Duration,
    penalty_rate: f64,
    penalty_burst: f64,
    ecn: bool,
    bins: Bins,
    /// Set that learns before it is used.
    next: Option<Bins>,
    rehash_at: Time,
    /// Packets that flows held to a rate may send now, and when that was counted.
    tokens: f64,
    counted: Time,
    rng: Rng,
}

impl Sfb {
    fn new(params: &Params, mut context: QueueContext) -> Self {
        let burst = params.integer("penalty_burst") as f64;
        let rehash = params.duration(REHASH.name);
        Sfb {
            fifo: Fifo::new(limit_of(params, &context)),
            target: params.integer(TARGET.name),
            max: params.integer(MAX.name),
            steps: (params.number("increment"), params.number("decrement")),
            rehash,
            warm_up: params.duration(WARM_UP.name),
            penalty_rate: params.number("penalty_rate"),
            penalty_burst: burst,
            ecn: params.boolean("ecn"),
            bins: Bins::new(params.integer("bins"), 0, &mut context.rng),
            next: None,
            rehash_at: Time::ZERO + rehash,
            tokens: burst,
            counted: Time::ZERO,
            rng: context.rng,
        }
    }

    /// Moving hash functions: two flows that share all bins do so for a time only.
    fn move_hashes(&mut self, now: Time) {
        if self.next.is_none() && now + self.warm_up >= self.rehash_at {
            let held = self.fifo.held(Measure::Packets);
            self.next = Some(Bins::new(self.bins.per_level, held, &mut self.rng));
        }
        if now >= self.rehash_at
            && let Some(next) = self.next.take()
        {
            self.bins = next;
            while self.rehash_at <= now {
                self.rehash_at += self.rehash;
            }
        }
    }

    /// Returns true if a packet of a flow that does not slow down may pass.
    fn passes(&mut self, now: Time) -> bool {
        self.tokens = (self.tokens + now.since(self.counted).as_secs_f64() * self.penalty_rate).min(self.penalty_burst);
        self.counted = now;
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }

    /// Returns the reason for which the packet is dropped, or `None` if it is to be held.
    fn refuses(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<DropReason> {
        let route = packets[id].route;
        let (p, held) = self.bins.learn(route, self.target, self.steps);
        if let Some(next) = &mut self.next {
            next.learn(route, self.target, self.steps);
        }
        if held >= self.max || !self.fifo.fits(&packets[id]) {
            return Some(DropReason::Overflow);
        }
        if p >= 1.0 {
            return if self.passes(now) { None } else { Some(DropReason::Early) };
        }
        (self.rng.chance(p) && !(self.ecn && mark(now, id, packets, log))).then_some(DropReason::Early)
    }
}

impl Queue for Sfb {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.move_hashes(now);
        if let Some(reason) = self.refuses(now, id, packets, log) {
            discard(now, id, reason, packets, log);
            return;
        }
        let route = packets[id].route;
        packets[id].stamp = now;
        self.fifo.push(id, packets);
        self.bins.push(route);
        if let Some(next) = &mut self.next {
            next.push(route);
        }
    }
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.fifo.pop(packets)?;
        let route = packets[id].route;
        self.bins.pop(route);
        if let Some(next) = &mut self.next {
            next.pop(route);
        }
        Some(id)
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

    fn rig(given: &[(&'static str, Value)]) -> Rig<Sfb> {
        let mut params = Params::defaults(KIND.params);
        params.set("limit", Value::Capacity(Capacity::Packets(1000)));
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(10_000_000, 20, 1500);
        assert_eq!(check(&params, &context), Ok(()));
        Rig::new(Sfb::new(&params, context))
    }

    fn arrive(rig: &mut Rig<Sfb>, ms: u64, route: u32, count: u32, ecn: Ecn) {
        (0..count).for_each(|seq| rig.arrive(at(ms), seq, 1500, |packet| (packet.route, packet.ecn) = (route, ecn)));
    }

    fn depart(rig: &mut Rig<Sfb>, ms: u64, count: usize) {
        (0..count).for_each(|_| assert!(rig.depart(at(ms)).is_some()));
    }

    impl Rig<Sfb> {
        fn p(&mut self, route: u32) -> f64 {
            self.queue.bins.of(route).map(|bin| bin.p).fold(1.0, f64::min)
        }
        fn held(&mut self, route: u32) -> u64 {
            self.queue.bins.of(route).map(|bin| bin.held).min().unwrap()
        }
    }

    fn at(ms: u64) -> Time {
        rig::at(1000 * ms)
    }

    #[test]
    fn a_bin_over_the_target_raises_its_probability_and_an_empty_one_lowers_it() {
        let mut rig = rig(&[("increment", Value::Number(0.01)), ("decrement", Value::Number(0.004))]);
        arrive(&mut rig, 0, 1, 20, Ecn::NotEct);
        assert_eq!((rig.p(1), rig.held(1)), (0.0, 20));
        arrive(&mut rig, 0, 1, 1, Ecn::NotEct);
        assert!((rig.p(1) - 0.01).abs() < 1e-12);
        assert_eq!(rig.p(2), 0.0, "another flow has bins of its own");
        let held = rig.held(1) as usize;
        depart(&mut rig, 0, held);
        arrive(&mut rig, 0, 1, 1, Ecn::NotEct);
        assert!((rig.p(1) - 0.006).abs() < 1e-12);
    }

    #[test]
    fn a_flow_has_no_more_than_max_packets() {
        let mut rig = rig(&[("increment", Value::Number(0.0))]);
        arrive(&mut rig, 0, 1, 40, Ecn::NotEct);
        assert_eq!((rig.held(1), rig.log.dropped.len()), (25, 15));
        arrive(&mut rig, 0, 2, 10, Ecn::NotEct);
        assert_eq!((rig.held(2), rig.log.dropped.len()), (10, 15));
    }

    #[test]
    fn a_flow_that_does_not_slow_down_is_held_to_the_penalty_rate() {
        let mut rig = rig(&[("increment", Value::Number(0.5)), ("max", Value::Count(1000)), ("target", Value::Count(20))]);
        arrive(&mut rig, 0, 1, 22, Ecn::NotEct);
        assert_eq!(rig.p(1), 1.0);
        let before = rig.log.dropped.len();
        arrive(&mut rig, 0, 1, 100, Ecn::Ect0);
        let passed = 100 - (rig.log.dropped.len() - before);
        // The burst; packets over the penalty are not marked but dropped.
        assert!((18..=20).contains(&passed), "{passed}");
        assert!(rig.log.marked.is_empty());
        let before = rig.log.dropped.len();
        // A second brings ten more.
        arrive(&mut rig, 1000, 1, 100, Ecn::NotEct);
        assert_eq!(100 - (rig.log.dropped.len() - before), 10);
    }

    #[test]
    fn hashes_move_and_the_next_bins_know_what_came_in_the_warm_up() {
        let quick = [("rehash", Value::Duration(Duration::from_secs(10))), ("warm_up", Value::Duration(Duration::from_secs(2)))];
        let mut rig = rig(&quick);
        arrive(&mut rig, 0, 1, 5, Ecn::NotEct);
        let keys = rig.queue.bins.keys;
        arrive(&mut rig, 8_000, 1, 3, Ecn::NotEct);
        assert!(rig.queue.next.is_some());
        arrive(&mut rig, 10_000, 1, 1, Ecn::NotEct);
        assert_ne!(rig.queue.bins.keys, keys);
        // Five were there before; three and one came since.
        assert_eq!(rig.held(1), 4);
        depart(&mut rig, 10_000, 5);
        assert_eq!(rig.held(1), 4);
        depart(&mut rig, 10_000, 4);
        assert_eq!(rig.held(1), 0);
    }
}

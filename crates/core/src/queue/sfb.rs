//! `sfb`: stochastic fair BLUE (Feng, Kandlur, Saha and Shin 2001): a probability for each bin of a Bloom filter, so that flows that do not
//! slow down are told from those that do, without a state per flow.

use super::fifo::{Fifo, LIMIT, Measure, roomy_limit, roomy_limit_of};
use super::flows::Classifier;
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};

const fn count(name: &'static str, unit: &'static str, max: u64, default: u64, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Count { unit, min: 1, max }, default: Some(Value::Count(default)), doc }
}
const fn step(name: &'static str, default: f64, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Number { min: 0.0, max: 1.0 }, default: Some(Value::Number(default)), doc }
}
const fn time(name: &'static str, default: u64, doc: &'static str) -> ParamSpec {
    let kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(100_000) };
    ParamSpec { name, kind, default: Some(Value::Duration(Duration::from_secs(default))), doc }
}

/// The registry entry. FKSS01 below is its source.
pub(super) const KIND: QueueKind = QueueKind {
    name: "sfb",
    summary: "stochastic fair BLUE (Feng and others 2001): a probability per bin of a Bloom filter; flows that reach 1 are limited to a low rate",
    source: "Feng, Kandlur, Saha and Shin, Stochastic Fair BLUE: A Queue Management Algorithm for Enforcing Fairness, IEEE INFOCOM 2001; tc-sfb(8)",
    params: &[
        roomy_limit("the most it holds. When not given: 1000 packets, or what the link sends in 250 ms if that is more"),
        // FKSS01 §III: two levels of 23 bins in its experiments.
        count("levels", "", 16, 2, "hash functions, each over bins of its own"),
        count("bins", "", 65_536, 23, "bins of each level"),
        // The rest: tc-sfb(8). The paper gives no one value.
        count("bin_size", "packets", 1_000_000, 20, "a bin with more than this raises its probability (target of tc-sfb)"),
        count("bin_max", "packets", 1_000_000, 25, "a bin with this many takes no more (max of tc-sfb)"),
        step("increment", 0.0005, "step up of a bin's probability, at an arrival that finds it over bin_size"),
        step("decrement", 0.00005, "step down, at an arrival that finds the bin empty"),
        ParamSpec {
            name: "penalty_rate",
            kind: Kind::Count { unit: "", min: 0, max: 1_000_000 },
            default: Some(Value::Count(10)),
            doc: "packets per second that all flows whose probability is 1 have together",
        },
        count("penalty_burst", "packets", 1_000_000, 20, "packets of those flows that may come at once"),
        time("rehash", 600, "time after which other hash functions take over, so that flows do not share bins for ever; 0: never"),
        time("warmup", 60, "time before that in which the next functions learn their probabilities (db of tc-sfb)"),
        ParamSpec {
            name: "ecn",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether ECN-capable packets are marked instead of dropped while their probability is under 1",
        },
    ],
    promises: &[Promise::new(
        Claim::Isolates,
        "Feng and others 2001, section III: a flow that does not slow down drives all its bins to 1 and is limited, and one that does keeps a bin under 1",
    )],
    check,
    build: |params, context| Box::new(Sfb::new(params, context)),
};

/// Least default limit in packets: that of pie.
const LIMIT_PACKETS: u64 = 1000;

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    roomy_limit_of(params, context, LIMIT_PACKETS).check_holds_a_packet(LIMIT.name, context)?;
    let (size, max) = (params.integer("bin_size"), params.integer("bin_max"));
    if size >= max {
        return Err(format!("bin_size ({size}) must be under bin_max ({max}), or no bin is ever over it"));
    }
    let (rehash, warmup) = (params.duration("rehash"), params.duration("warmup"));
    if !rehash.is_zero() && warmup >= rehash {
        return Err("warmup must be shorter than rehash".into());
    }
    Ok(())
}

#[derive(Clone, Debug, Default)]
struct Bin {
    packets: u64,
    p: f64,
}

/// Bins of all levels under one set of hash functions.
#[derive(Debug)]
struct Bins {
    levels: Vec<(Classifier, Vec<Bin>)>,
}

impl Bins {
    fn new(levels: u64, bins: u64, rng: &mut Rng) -> Self {
        let level = |_| (Classifier::hash(bins as u32, rng), vec![Bin::default(); bins as usize]);
        Bins { levels: (0..levels).map(level).collect() }
    }

    /// The bins of a flow, one of each level.
    fn of(&mut self, route: u32) -> impl Iterator<Item = &mut Bin> {
        self.levels.iter_mut().map(move |(hash, bins)| &mut bins[hash.line(route)])
    }

    fn add(&mut self, route: u32) {
        self.of(route).for_each(|bin| bin.packets += 1);
    }

    fn take(&mut self, route: u32) {
        self.of(route).for_each(|bin| bin.packets -= 1);
    }
}

struct Sfb {
    fifo: Fifo,
    levels: u64,
    bins: u64,
    size: u64,
    max: u64,
    increment: f64,
    decrement: f64,
    penalty_rate: f64,
    penalty_burst: f64,
    /// Packets that limited flows may send now, as of `tokens_at`.
    tokens: f64,
    tokens_at: Time,
    rehash: Duration,
    warmup: Duration,
    rehash_at: Time,
    now: Bins,
    /// The bins that take over next, while they warm up.
    next: Option<Bins>,
    ecn: bool,
    rng: Rng,
}

impl Sfb {
    fn new(params: &Params, mut context: QueueContext) -> Self {
        let (levels, bins) = (params.integer("levels"), params.integer("bins"));
        let rehash = params.duration("rehash");
        let penalty_burst = params.integer("penalty_burst") as f64;
        Sfb {
            fifo: Fifo::new(roomy_limit_of(params, &context, LIMIT_PACKETS)),
            levels,
            bins,
            size: params.integer("bin_size"),
            max: params.integer("bin_max"),
            increment: params.number("increment"),
            decrement: params.number("decrement"),
            penalty_rate: params.integer("penalty_rate") as f64,
            penalty_burst,
            tokens: penalty_burst,
            tokens_at: Time::ZERO,
            rehash,
            warmup: params.duration("warmup"),
            rehash_at: if rehash.is_zero() { Time::MAX } else { Time::ZERO + rehash },
            now: Bins::new(levels, bins, &mut context.rng),
            next: None,
            ecn: params.boolean("ecn"),
            rng: context.rng,
        }
    }

    /// Other hash functions, with the packets that are held.
    fn fresh(&mut self, packets: &Packets) -> Bins {
        let mut bins = Bins::new(self.levels, self.bins, &mut self.rng);
        self.fifo.backlog().iter(packets).for_each(|id| bins.add(packets[id].route));
        bins
    }

    /// FKSS01 §III-B, moving hash functions: the next ones learn for a while, and take over.
    fn rehash(&mut self, now: Time, packets: &Packets) {
        if now >= self.rehash_at {
            self.now = match self.next.take() {
                Some(next) => next,
                None => self.fresh(packets),
            };
            let periods = now.since(self.rehash_at).as_ps() / self.rehash.as_ps() + 1;
            self.rehash_at += self.rehash * periods;
        }
        // Their time to learn is over when the flows change, so a warmup of zero makes none.
        if self.next.is_none() && now + self.warmup >= self.rehash_at && !self.warmup.is_zero() {
            self.next = Some(self.fresh(packets));
        }
    }

    /// FKSS01 Fig. 2: an arrival moves the probabilities of its bins. Returns the least of them, and whether a bin is full.
    fn update(bins: &mut Bins, route: u32, (size, max): (u64, u64), (increment, decrement): (f64, f64)) -> (f64, bool) {
        let (mut least, mut full) = (1.0_f64, false);
        for bin in bins.of(route) {
            if bin.packets == 0 {
                bin.p = (bin.p - decrement).max(0.0);
            } else if bin.packets > size {
                bin.p = (bin.p + increment).min(1.0);
            }
            full |= bin.packets >= max;
            least = least.min(bin.p);
        }
        (least, full)
    }

    /// Whether a packet of a limited flow may pass.
    fn allows(&mut self, now: Time) -> bool {
        self.tokens = (self.tokens + self.penalty_rate * now.since(self.tokens_at).as_secs_f64()).min(self.penalty_burst);
        self.tokens_at = now;
        let allowed = self.tokens >= 1.0;
        if allowed {
            self.tokens -= 1.0;
        }
        allowed
    }
}

impl Queue for Sfb {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.rehash(now, packets);
        let route = packets[id].route;
        let (sizes, steps) = ((self.size, self.max), (self.increment, self.decrement));
        let (p, full) = Self::update(&mut self.now, route, sizes, steps);
        if let Some(next) = &mut self.next {
            Self::update(next, route, sizes, steps);
        }
        // FKSS01 §III: all bins of a flow are at 1 if it does not slow down.
        let limited = p >= 1.0;
        if full || !self.fifo.fits(&packets[id]) {
            discard(now, id, DropReason::Overflow, packets, log);
        } else if (limited && !self.allows(now)) || (!limited && self.rng.chance(p) && !(self.ecn && mark(now, id, packets, log))) {
            discard(now, id, DropReason::Early, packets, log);
        } else {
            packets[id].stamp = now;
            self.now.add(route);
            if let Some(next) = &mut self.next {
                next.add(route);
            }
            self.fifo.push(id, packets);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.rehash(now, packets);
        let id = self.fifo.pop(packets)?;
        self.now.take(packets[id].route);
        if let Some(next) = &mut self.next {
            next.take(packets[id].route);
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
    use super::super::tests::{Ledger, context, packet_with};
    use super::*;
    use crate::packet::{Direction, Ecn};

    struct Rig {
        queue: Sfb,
        packets: Packets,
        log: Ledger,
        seq: u32,
    }

    impl Rig {
        fn new(given: &[(&'static str, Value)]) -> Self {
            let mut params = Params::defaults(KIND.params);
            given.iter().for_each(|&(name, value)| params.set(name, value));
            let context = context(10_000_000, 20, 1500);
            assert_eq!(check(&params, &context), Ok(()));
            Rig { queue: Sfb::new(&params, context), packets: Packets::new(), log: Ledger::default(), seq: 0 }
        }
        fn arrive(&mut self, ms: u64, route: u32, count: u32, ecn: Ecn) {
            for _ in 0..count {
                let (mut packet, segment) = packet_with(ecn, self.seq, 1460);
                packet.route = route;
                self.seq += 1;
                let id = self.packets.insert(Direction::There, packet, segment);
                self.queue.enqueue(at(ms), id, &mut self.packets, &mut self.log);
            }
        }
        fn drain(&mut self, ms: u64) {
            while let Some(id) = self.queue.dequeue(at(ms), &mut self.packets, &mut self.log) {
                self.packets.remove(id);
            }
        }
        /// The probabilities of a flow's bins.
        fn p(&mut self, route: u32) -> Vec<f64> {
            self.queue.now.of(route).map(|bin| bin.p).collect()
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    const COARSE: &[(&str, Value)] = &[
        ("bins", Value::Count(4096)),
        ("bin_size", Value::Count(5)),
        ("bin_max", Value::Count(8)),
        ("increment", Value::Number(0.5)),
        ("decrement", Value::Number(0.25)),
    ];

    #[test]
    fn a_long_bin_raises_its_probability_and_an_empty_one_lowers_it() {
        let mut rig = Rig::new(COARSE);
        // Six are held before an arrival finds more than five; eight fill the bin.
        rig.arrive(0, 1, 6, Ecn::Ect0);
        assert_eq!(rig.p(1), [0.0, 0.0]);
        rig.arrive(0, 1, 1, Ecn::Ect0);
        assert_eq!(rig.p(1), [0.5, 0.5]);
        rig.drain(1);
        rig.arrive(1, 1, 1, Ecn::Ect0);
        assert_eq!(rig.p(1), [0.25, 0.25]);
        // Another flow has bins of its own, of which it may share one.
        assert!(rig.p(2).contains(&0.0));
    }

    #[test]
    fn a_flow_at_one_has_the_penalty_rate_and_others_are_let_be() {
        let mut rig = Rig::new(
            &[COARSE, &[("decrement", Value::Number(0.0)), ("penalty_burst", Value::Count(2)), ("penalty_rate", Value::Count(10))]]
                .concat(),
        );
        rig.queue.now.of(1).for_each(|bin| bin.p = 1.0);
        rig.arrive(0, 1, 4, Ecn::Ect0);
        assert_eq!((rig.queue.held(Measure::Packets), rig.log.dropped.len(), rig.log.marked.len()), (2, 2, 0));
        rig.arrive(0, 2, 3, Ecn::NotEct);
        assert_eq!(rig.queue.held(Measure::Packets), 5);
        // 10 packets per second: one more after 100 ms.
        rig.arrive(100, 1, 2, Ecn::Ect0);
        assert_eq!((rig.queue.held(Measure::Packets), rig.log.dropped.len()), (6, 3));
    }

    /// One of two bins shared with a flow at 1 does not harm: the least counts.
    #[test]
    fn the_least_probability_of_the_levels_counts() {
        let mut rig = Rig::new(COARSE);
        rig.queue.now.of(1).next().unwrap().p = 1.0;
        rig.arrive(0, 1, 5, Ecn::NotEct);
        assert_eq!((rig.queue.held(Measure::Packets), rig.log.dropped.len()), (5, 0));
    }

    #[test]
    fn a_full_bin_takes_no_more() {
        let mut rig = Rig::new(&[COARSE, &[("increment", Value::Number(0.0))]].concat());
        rig.arrive(0, 1, 10, Ecn::NotEct);
        assert_eq!(rig.log.dropped.iter().map(|drop| (drop.0, drop.2)).collect::<Vec<_>>(), [8, 9].map(|seq| (seq, DropReason::Overflow)));
    }

    #[test]
    fn the_next_hash_functions_know_what_is_held_and_have_learnt() {
        let secs = |n| Value::Duration(Duration::from_secs(n));
        let mut rig = Rig::new(&[COARSE, &[("rehash", secs(10)), ("warmup", secs(2)), ("ecn", Value::Bool(true))]].concat());
        rig.arrive(7000, 1, 7, Ecn::Ect0);
        assert!(rig.queue.next.is_none());
        // They start with what is held, and learn beside the old ones.
        rig.arrive(8000, 1, 1, Ecn::Ect0);
        assert_eq!(rig.queue.next.as_mut().unwrap().of(1).map(|bin| (bin.packets, bin.p)).collect::<Vec<_>>(), [(8, 0.5); 2]);
        rig.arrive(10_000, 2, 1, Ecn::Ect0);
        assert_eq!(rig.p(1), [0.5, 0.5]);
        assert!(rig.queue.next.is_none());
        rig.drain(10_001);
        assert!(rig.queue.now.of(1).all(|bin| bin.packets == 0));
    }
}

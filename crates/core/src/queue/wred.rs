//! `wred`: one queue and one average, with a RED curve per class.

use super::classes::{self, CLASS, Classifier, DSCP, ECN, GROUP, HASH, HOST};
use super::early::{Marking, Red, RedConfig};
use super::fifo::{Fifo, LIMIT, Limit, Measure, limit_of};
use super::red::{MAX_P, SMALL_PACKET, WQ, check_wq, wq};
use super::{Claim, DropReason, Party, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{Dscps, PacketId, Packets};
use crate::params::{Keys, Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::Time;
use crate::units::Capacity;

const MIN_THRESHOLD: ParamSpec =
    ParamSpec { name: "min_threshold", kind: Kind::Capacity, default: None, doc: "average queue at which signals to the class begin" };
const MAX_THRESHOLD: ParamSpec = ParamSpec {
    name: "max_threshold",
    kind: Kind::Capacity,
    default: None,
    doc: "average queue at which the probability reaches max_p; over it all of the class is dropped",
};

/// Parameters of a class.
static CLASSES: [ParamSpec; 8] = [DSCP, ECN, HASH, GROUP, HOST, MIN_THRESHOLD, MAX_THRESHOLD, MAX_P];

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "wred",
    summary: "weighted random early detection: RED over one line, with thresholds and a probability for each class or drop precedence",
    source: "RFC 2597 sections 2 and 4; Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993",
    params: &[
        LIMIT,
        ParamSpec {
            name: CLASS,
            kind: Kind::Tables(Keys(&CLASSES)),
            default: Some(Value::Auto),
            doc: "the classes, each with its curve. When not given: drop precedences 1, 2 and 3 of AF; and all others as 1",
        },
        ParamSpec { doc: "weight of a new sample in the average; 1 is no averaging. When not given: 0.002", ..WQ },
        ParamSpec {
            name: "gentle",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether the probability of a class rises from max_p to 1 between its max_threshold and the double, instead of jumping to 1",
        },
        ParamSpec {
            name: "ecn",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "whether ECN-capable packets are marked instead of dropped while the average is under the max_threshold of their class",
        },
        SMALL_PACKET,
    ],
    promises: &[Promise::new(Claim::Protects, "RFC 2597 section 2: a packet of lower drop precedence is no less likely to be forwarded")],
    check,
    build: |params, context| {
        let classes = classes_of(params, &context);
        let rng = |name: &str| Rng::named(context.rng.clone().next_u64(), name);
        let config = |curve: &Curve| RedConfig {
            min_threshold: curve.min.max as f64,
            max_threshold: curve.max.max as f64,
            max_p: curve.max_p,
            wq: wq(params, &context, false),
            gentle: params.boolean("gentle"),
            adaptive: false,
            scale_by_size: None,
            wait: false,
            small_packet: params.integer(SMALL_PACKET.name) as u32,
            rate: context.rate,
        };
        let curves: Vec<Curve> = classes.iter().map(|class| Curve::new(class, &context)).collect();
        Box::new(Wred {
            classifier: Classifier::new(&classes, &context),
            fifo: Fifo::new(limit_of(params, &context)),
            measure: curves[0].min.measure,
            marking: Marking { ecn: params.boolean("ecn"), harddrop: true, nodrop: false },
            curves: curves.iter().zip(1..).map(|(curve, number)| Red::new(config(curve), rng(&format!("class {number}")))).collect(),
        })
    },
};

/// Returns the curve of one class.
struct Curve {
    min: Limit,
    max: Limit,
    max_p: f64,
}

impl Curve {
    fn new(class: &Params, context: &QueueContext) -> Self {
        let limit = |name| Limit::new(class.capacity(name), context);
        Curve { min: limit(MIN_THRESHOLD.name), max: limit(MAX_THRESHOLD.name), max_p: class.number(MAX_P.name) }
    }
}

/// Returns the classes. The default: RFC 2597 section 2 asks that a higher drop precedence is dropped no less often than a lower one. Here
/// the curves stand side by side: the next precedence is not touched before all of the one above it is dropped.
fn classes_of(params: &Params, context: &QueueContext) -> Vec<Params> {
    let given = params.tables(CLASS);
    if !given.is_empty() {
        return given.to_vec();
    }
    let limit = limit_of(params, context);
    let eighths = |n: u64| {
        let of_limit = (limit.max.saturating_mul(n) / 8).max(n);
        Value::Capacity(match limit.measure {
            Measure::Bytes => Capacity::Bytes(of_limit),
            Measure::Packets => Capacity::Packets(of_limit),
        })
    };
    let class = |(names, from, to): (&str, u64, u64)| {
        let mut class = Params::defaults(&CLASSES);
        class.set(DSCP.name, Dscps::parse(names).ok().filter(|set| !set.is_empty()).map_or(Value::Auto, Value::Dscps));
        class.set(MIN_THRESHOLD.name, eighths(from));
        class.set(MAX_THRESHOLD.name, eighths(to));
        class
    };
    let precedences = [("AF13 AF23 AF33 AF43", 1, 2), ("AF12 AF22 AF32 AF42", 2, 4), ("", 4, 8)];
    precedences.map(class).to_vec()
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    let limit = limit_of(params, context);
    limit.check_holds_a_packet(LIMIT.name, context)?;
    check_wq(params)?;
    let classes = classes_of(params, context);
    classes::check(&classes)?;
    let first = Curve::new(&classes[0], context).min.measure.unit();
    for (class, number) in classes.iter().zip(1..) {
        let Curve { min, max, .. } = Curve::new(class, context);
        for (name, of) in [(MIN_THRESHOLD.name, min), (MAX_THRESHOLD.name, max)] {
            let unit = of.measure.unit();
            if unit != first {
                return Err(format!("class {number}: {name} is in {unit} and that of class 1 in {first}; give all in the same unit"));
            }
        }
        if min.max >= max.max {
            return Err(format!("class {number}: min_threshold ({} {first}) must be under max_threshold ({} {first})", min.max, max.max));
        }
        if max.measure == limit.measure && max.max > limit.max {
            return Err(format!("class {number}: max_threshold ({} {first}) must not be over the limit ({} {first})", max.max, limit.max));
        }
    }
    Ok(())
}

struct Wred {
    classifier: Classifier,
    fifo: Fifo,
    /// Unit of the average.
    measure: Measure,
    marking: Marking,
    /// RED of each class. The first one's average is that of all.
    curves: Vec<Red>,
}

impl Queue for Wred {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let class = self.classifier.class(&packets[id]);
        let packet = &mut packets[id];
        packet.stamp = now;
        self.curves[0].sample(now, self.fifo.held(self.measure) as f64);
        let average = self.curves[0].average();
        let verdict = self.curves[class].judge(average, packet.ip_len());
        if !self.fifo.fits(packet) {
            discard(now, id, DropReason::Overflow, packets, log);
        } else if verdict.apply(now, id, self.marking, packets, log) {
            self.fifo.push(id, packets);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.fifo.pop(packets)?;
        if self.fifo.held(Measure::Packets) == 0 {
            self.curves[0].emptied(now, packets[id].ip_len());
        }
        Some(id)
    }
    fn tell(&mut self, route: u32, party: &Party<'_>) {
        self.classifier.tell(route, party);
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
    use super::super::tests::{Ledger, context, packet};
    use super::super::{build, check, choice};
    use super::*;
    use crate::packet::{Direction, Dscp, Ecn};
    use crate::params::Kept;

    /// Returns what happens to packets of 1500 bytes with these codepoints that all come at zero.
    fn fates(given: &[(&'static str, Value)], arrivals: impl Iterator<Item = &'static str>) -> Ledger {
        let (choice, context) = (choice("wred").with(given), context(10_000_000, 100, 1500));
        assert_eq!(check(&choice, &context), Ok(()));
        let mut queue = build(&choice, context);
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for (seq, dscp) in arrivals.enumerate() {
            let (mut packet, segment) = packet(seq as u32, 1460, 0);
            (packet.dscp, packet.ecn) = (Dscp::parse(dscp).unwrap(), Ecn::Ect0);
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        log
    }

    fn packets(n: u64) -> Value {
        Value::Capacity(Capacity::Packets(n))
    }

    /// Packets of the host with low thresholds are dropped, in either direction; those of other hosts are not.
    #[test]
    fn a_host_has_its_curve() {
        let mut low = class("EF", 1, 2, 1.0);
        low.set("dscp", Value::Auto);
        low.set("host", Value::Names(Kept::from(vec!["a".to_owned()])));
        let mut rest = class("EF", 900, 1000, 1.0);
        rest.set("dscp", Value::Auto);
        let given = [("limit", packets(1000)), ("wq", Value::Number(1.0)), ("class", Value::Tables(Kept::from(vec![low, rest])))];
        let (choice, context) = (choice("wred").with(&given), context(10_000_000, 100, 1500));
        assert_eq!(check(&choice, &context), Ok(()));
        let mut queue = build(&choice, context);
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for (hosts, route) in [["a", "x"], ["x", "a"], ["y", "x"]].into_iter().zip(0..) {
            queue.tell(route, &Party { group: "", hosts });
        }
        for seq in 0..30 {
            let (mut packet, segment) = packet(seq, 1460, 0);
            packet.route = seq % 3;
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        let dropped = |of: u32| log.dropped.iter().filter(|(seq, ..)| seq % 3 == of).count();
        assert!(dropped(0) >= 9 && dropped(1) >= 9 && dropped(2) == 0, "{:?}", log.dropped);
    }

    fn class(dscp: &str, min: u64, max: u64, max_p: f64) -> Params {
        let mut class = Params::defaults(&CLASSES);
        let all = [("min_threshold", packets(min)), ("max_threshold", packets(max)), ("max_p", Value::Number(max_p))];
        all.into_iter().for_each(|(name, value)| class.set(name, value));
        if !dscp.is_empty() {
            class.set("dscp", Value::Dscps(Dscps::parse(dscp).unwrap()));
        }
        class
    }

    fn classes(all: Vec<Params>) -> (&'static str, Value) {
        ("class", Value::Tables(Kept::from(all)))
    }

    /// Each class is dropped from its upper threshold on: without averaging (`wq` is 1) the queue itself decides.
    #[test]
    fn each_class_has_its_thresholds() {
        let curves = classes(vec![class("AF13", 4, 5, 0.0), class("AF12", 9, 10, 0.0), class("", 14, 15, 0.0)]);
        let given = [("limit", packets(100)), ("wq", Value::Number(1.0)), curves];
        let log = fates(&given, ["AF13", "AF12", "AF11"].into_iter().cycle().take(60));
        let dropped: Vec<u32> = log.dropped.iter().map(|d| d.0).collect();
        assert!(log.dropped.iter().all(|d| d.2 == DropReason::Early));
        // Five of all; then AF12 and AF11 alone up to ten; then AF11 up to fifteen; then nothing.
        let held = |of: u32| (0..60).filter(|seq| seq % 3 == of && !dropped.contains(seq)).collect::<Vec<_>>();
        assert_eq!(held(0), [0, 3]);
        assert_eq!(held(1), [1, 4, 7, 10]);
        assert_eq!(held(2), [2, 5, 8, 11, 14, 17, 20, 23, 26]);
    }

    /// A class that takes all is RED: the first packet over a certain probability is a signal, and ECN marks it.
    #[test]
    fn a_signal_is_a_mark_under_the_upper_threshold() {
        let given = [("limit", packets(100)), ("wq", Value::Number(1.0)), ("ecn", Value::Bool(true)), classes(vec![class("", 1, 11, 1.0)])];
        let log = fates(&given, std::iter::repeat_n("CS0", 40));
        // At 11 and more all are dropped, ECN-capable or not; under that what is signalled is marked.
        assert_eq!(log.dropped.iter().map(|d| d.0).collect::<Vec<_>>(), (11..40).collect::<Vec<_>>());
        assert!(!log.marked.is_empty() && log.marked.iter().all(|seq| (2..11).contains(seq)), "{:?}", log.marked);
    }

    /// The average goes by all arrivals: with a weight of 1/2 and n held before each, a(n) = (a(n-1) + n) / 2, which is n - 1 + 1/2^n.
    #[test]
    fn the_average_is_that_of_the_whole_line() {
        // AF13 is dropped from 6 on: when 7 are held, as 6 + 1/128 shows, and not when 6 are, as 5 + 1/64.
        let given = [("limit", packets(100)), ("wq", Value::Number(0.5)), classes(vec![class("AF13", 5, 6, 0.0), class("", 98, 99, 0.0)])];
        let arrivals = |count| std::iter::repeat_n("CS0", count).chain(["AF13"]);
        assert_eq!(fates(&given, arrivals(6)).dropped, []);
        assert_eq!(fates(&given, arrivals(7)).dropped.iter().map(|d| d.0).collect::<Vec<_>>(), [7]);
    }
}

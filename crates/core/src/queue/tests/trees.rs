//! Queues inside queues, at random.

use super::*;
use crate::params::{Choice, Kept};
use crate::queue::classes;

/// Parameters for `specs` that can work where the rate is `rate`, with queues up to so deep inside.
fn params(specs: &[ParamSpec], rate: u64, depth: u32, rng: &mut Rng) -> Params {
    let mut params = Params::defaults(specs);
    let has = |name: &str| specs.iter().any(|spec| spec.name == name);
    let mut inside = rate;
    if has("rate") {
        inside = 1 + rate / 2 + rng.below(rate / 2);
        params.set("rate", Value::Rate(Rate::from_bps(inside)));
    }
    for spec in specs {
        match spec.kind {
            Kind::Queue if depth > 0 && rng.chance(0.7) => {
                params.set(spec.name, Value::Queue(Kept::from(tree(inside, depth - 1, rng))));
            }
            Kind::Tables(of) if depth > 0 => {
                let tables = tables(of.0, inside, depth - 1, rng);
                params.set(spec.name, Value::Tables(Kept::from(tables)));
                if has("queue") {
                    params.set("queue", Value::Auto);
                }
            }
            _ => {}
        }
    }
    params
}

/// Returns classes, one of which takes the packets that the others do not.
fn tables(specs: &[ParamSpec], rate: u64, depth: u32, rng: &mut Rng) -> Vec<Params> {
    let count = 1 + rng.below(4);
    let rest = rng.below(count);
    let mut each = |number: u64| {
        // Classes in a class, now and then.
        let depth = if rng.chance(0.5) { depth } else { 0 };
        let mut class = params(specs, rate / count, depth, rng);
        let has = |name: &str| specs.iter().any(|spec| spec.name == name);
        if has("min_threshold") {
            let min = 1 + rng.below(5);
            class.set("min_threshold", Value::Capacity(Capacity::Packets(min)));
            class.set("max_threshold", Value::Capacity(Capacity::Packets(min + 1 + rng.below(5))));
        }
        if has("quantum") && number > 0 {
            class.set("quantum", Value::Bytes(64 + rng.below(5_000)));
        }
        if has("ceil") && rng.chance(0.7) {
            class.set("ceil", Value::Rate(Rate::from_bps(rate)));
            class.set("prio", Value::Count(rng.below(3)));
        }
        if number != rest {
            match rng.below(5) {
                0 => class.set("dscp", Value::Dscps([46, 8, 10, 0].map(|n| Dscp::new(n).unwrap())[number as usize].into())),
                1 => class.set("ecn", Value::Choice(["not_ect", "ect0", "l4s", "ce"][number as usize])),
                2 => class.set("group", names(rng)),
                3 => class.set("host", names(rng)),
                _ => class.set("hash", Value::Number(0.1 + 0.8 * rng.uniform())),
            }
        }
        class
    };
    (0..count).map(&mut each).collect()
}

/// Returns one or two of the names in `run`, and one that is nobody's.
fn names(rng: &mut Rng) -> Value {
    let all = ["a", "b", "c", "d"];
    Value::Names(Kept::from((0..1 + rng.below(2)).map(|_| all[rng.below(4) as usize].to_owned()).collect::<Vec<_>>()))
}

/// Returns a queue, with queues up to so deep inside.
fn tree(rate: u64, depth: u32, rng: &mut Rng) -> Choice {
    let around = ["prio", "htb", "tbf", "wred", "ets"];
    let name = if depth > 0 && rng.chance(0.8) { around[rng.below(5) as usize] } else { NAMES[rng.below(NAMES.len() as u64) as usize] };
    let params = params(named(name).params, rate, depth, rng);
    Choice { kind: named(name).name, params }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn trees_of_queues_conserve_packets(
        seed: u64,
        steps in prop::collection::vec(step(), 1..250),
        bps in select(vec![10_000_000_u64, 44_209_694, 10_000_000_000]),
    ) {
        let context = context(bps, 100, MTU);
        let around = named(["prio", "htb", "tbf", "wred", "ets"][(seed % 5) as usize]);
        let params = params(around.params, bps, 3, &mut Rng::named(seed, "tree"));
        let choice = Choice { kind: around.name, params };
        prop_assert_eq!(check(&choice, &context), Ok(()), "{:?}", choice);
        let first = run(around, &choice.params, &context, &steps);
        let second = run(around, &choice.params, &context, &steps);
        prop_assert_eq!(first, second, "{}: equal seeds, equal runs", around.name);
    }
}

fn class(specs: &[ParamSpec], given: &[(&'static str, Value)]) -> Params {
    let mut params = Params::defaults(specs);
    given.iter().for_each(|&(name, value)| params.set(name, value));
    params
}

fn classes_in(kind: &str) -> &'static [ParamSpec] {
    match named(kind).params.iter().find(|spec| spec.name == classes::CLASS).map(|spec| spec.kind) {
        Some(Kind::Tables(keys)) => keys.0,
        _ => panic!("{kind} has no classes"),
    }
}

fn bps(rate: u64) -> Value {
    Value::Rate(Rate::from_bps(rate))
}

/// Queues inside, and a queue on a shared memory, know the parties that the outer queue was told of.
#[test]
fn whose_packets_they_are_is_known_inside() {
    let tables = |tables: Vec<Params>| Value::Tables(Kept::from(tables));
    let host = |name: &str| ("host", Value::Names(Kept::from(vec![name.to_owned()])));
    let first = choice("prio").with(&[("class", tables(vec![class(classes_in("prio"), &[host("a")]), class(classes_in("prio"), &[])]))]);
    let inside = ("queue", Value::Queue(Kept::from(first.clone())));
    let rate = ("rate", bps(10_000_000));
    let leaf = class(classes_in("htb"), &[rate, inside]);
    let around = [
        first,
        choice("tbf").with(&[inside]),
        choice("prio").with(&[("class", tables(vec![class(classes_in("prio"), &[inside])]))]),
        choice("htb").with(&[("class", tables(vec![leaf.clone()]))]),
        choice("htb").with(&[("class", tables(vec![class(classes_in("htb"), &[rate, ("class", tables(vec![leaf]))])]))]),
        choice("htb").with(&[(
            "class",
            tables(vec![
                class(classes_in("htb"), &[("rate", bps(5_000_000)), host("a")]),
                class(classes_in("htb"), &[("rate", bps(5_000_000)), ("prio", Value::Count(1))]),
            ]),
        )]),
    ];
    for choice in around {
        let context = context(10_000_000, 100, MTU);
        assert_eq!(check(&choice, &context), Ok(()), "{choice:?}");
        for shared in [false, true] {
            let mut queue = build(&choice, context.clone());
            if shared {
                let sharing = (crate::queue::shared::named("complete").build)(&Params::default());
                queue =
                    Box::new(crate::queue::shared::SharedPort::new(queue, crate::queue::shared::SharedBuffer::new(1 << 20, 1, sharing)));
            }
            let (mut packets, mut log) = (Packets::new(), Ledger::default());
            for (route, hosts) in [["x", "y"], ["x", "a"]].into_iter().enumerate() {
                queue.tell(route as u32, &Party { group: "", hosts });
            }
            for route in [0, 0, 1] {
                let (mut packet, segment) = packet(route, 1460, 0);
                packet.route = route;
                let id = packets.insert(Direction::There, packet, segment);
                queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
            }
            let mut out = || queue.dequeue(Time::ZERO, &mut packets, &mut log).map(|id| packets[id].route);
            assert_eq!([out(), out(), out(), out()], [Some(1), Some(0), Some(0), None], "{choice:?}");
        }
    }
}

/// Sentences for users: where, and what.
#[test]
fn what_cannot_work_inside_is_one_sentence() {
    let packets = |n| Value::Capacity(Capacity::Packets(n));
    let tables = |tables: Vec<Params>| Value::Tables(Kept::from(tables));
    let inside = |choice: Choice| Value::Queue(Kept::from(choice));
    let ef = ("dscp", Value::Dscps(crate::packet::Dscps::parse("EF").unwrap()));
    let (of_htb, of_prio, of_wred) = (classes_in("htb"), classes_in("prio"), classes_in("wred"));
    let htb = |all: Vec<Params>| choice("htb").with(&[("rate", bps(10_000_000)), ("class", tables(all))]);
    let small = choice("droptail").with(&[("limit", packets(0))]);
    let cases = [
        htb(vec![class(of_htb, &[("rate", bps(8_000_000)), ef]), class(of_htb, &[("rate", bps(3_000_000))])]),
        htb(vec![class(of_htb, &[("rate", bps(8_000_000)), ("ceil", bps(11_000_000))])]),
        htb(vec![class(of_htb, &[("rate", bps(8_000_000)), ("ceil", bps(7_000_000))])]),
        htb(vec![class(of_htb, &[("rate", bps(8_000_000)), ("burst", Value::Capacity(Capacity::Bytes(1000)))])]),
        htb(vec![class(
            of_htb,
            &[("rate", bps(8_000_000)), ("class", tables(vec![class(of_htb, &[("rate", bps(9_000_000)), ("ceil", bps(9_000_000))])]))],
        )]),
        htb(vec![class(
            of_htb,
            &[
                ("rate", bps(8_000_000)),
                ("class", tables(vec![class(of_htb, &[("rate", bps(1_000_000))])])),
                ("queue", inside(choice("codel"))),
            ],
        )]),
        choice("htb").with(&[("rate", bps(50_000_000))]),
        choice("prio").with(&[("class", tables(vec![class(of_prio, &[ef])]))]),
        choice("prio").with(&[("class", tables(vec![class(of_prio, &[ef, ("queue", inside(small.clone()))]), class(of_prio, &[])]))]),
        choice("tbf").with(&[("rate", bps(1_000_000)), ("queue", inside(choice("tbf").with(&[("rate", bps(2_000_000))])))]),
        choice("tbf").with(&[("rate", bps(1_000_000)), ("queue", inside(small)), ("limit", packets(9))]),
        choice("wred").with(&[("class", tables(vec![class(of_wred, &[("min_threshold", packets(9)), ("max_threshold", packets(9))])]))]),
        choice("wred").with(&[
            ("limit", packets(20)),
            ("class", tables(vec![class(of_wred, &[("min_threshold", packets(9)), ("max_threshold", packets(21))])])),
        ]),
        choice("wred").with(&[(
            "class",
            tables(vec![
                class(of_wred, &[ef, ("min_threshold", packets(9)), ("max_threshold", packets(12))]),
                class(of_wred, &[("min_threshold", packets(9)), ("max_threshold", Value::Capacity(Capacity::Bytes(90_000)))]),
            ]),
        )]),
    ];
    let sentences: Vec<String> =
        cases.iter().map(|choice| format!("{}: {}", choice.kind, check(choice, &context(44_209_694, 68, 4352)).unwrap_err())).collect();
    insta::assert_snapshot!(sentences.join("\n"), @r"
    htb: the rates of the classes (11000000 bit/s) add up to more than that of what is around them (10000000 bit/s)
    htb: class 1: ceil (11000000 bit/s) is more than what is around it may have (10000000 bit/s)
    htb: class 1: ceil (7000000 bit/s) is under its rate (8000000 bit/s)
    htb: class 1: burst is 1000 bytes, less than one packet of the MTU (4352 bytes)
    htb: class 1: class 1: ceil (9000000 bit/s) is more than what is around it may have (8000000 bit/s)
    htb: class 1: it has classes in it, and so no `queue` of its own: give one to these
    htb: rate (50000000 bit/s) is more than that of the link (44209694 bit/s), so that it shapes nothing
    prio: no class takes what the others do not: leave `dscp`, `ecn`, `hash`, `group` and `host` out of one
    prio: class 1: the droptail inside: limit is 0 packets, less than one packet of the MTU (4352 bytes)
    tbf: the tbf inside: rate (2000000 bit/s) is more than that of the link (1000000 bit/s), so that it shapes nothing
    tbf: limit is that of the line which it has without a `queue`: give the queue inside its own
    wred: class 1: min_threshold (9 packets) must be under max_threshold (9 packets)
    wred: class 1: max_threshold (21 packets) must not be over the limit (20 packets)
    wred: class 2: max_threshold is in bytes and that of class 1 in packets; give all in the same unit
    ");
}

//! Tails, trunks and crowds save events, and nothing else: with an event for each packet at each link, every number is the same.

use std::sync::Arc;

use longfat_core::experiment::{Cpu, Cycles, Experiment, Flow, Host, Link, Memory, Nic, Node, NodeKind, OnFull};
use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::queue;
use longfat_core::tcp::{TcpConfig, congestion};
use longfat_core::time::{Duration, Time};
use longfat_core::trace::Trace;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use proptest::prelude::*;

use crate::drive;
use crate::dumbbell::{Dumbbell, droptail, tcp};
use crate::world::World;

fn run(experiment: &Experiment, batches: bool) -> Trace {
    drive(World::with(experiment, batches).unwrap(), experiment, &mut |_| true).unwrap()
}

/// All of a trace but how many events it took, and when drops were found out.
fn numbers(trace: Trace) -> String {
    format!("{:#?}", Trace { steps: 0, packets_in_network_max: 0, ..trace })
}

/// Two pairs against each other: every second flow goes from right to left.
fn both_ways(dumbbell: &Dumbbell) -> Experiment {
    let mut experiment = dumbbell.experiment();
    for flow in experiment.flows.iter_mut().skip(1).step_by(2) {
        (flow.from, flow.to) = (flow.to, flow.from);
    }
    experiment
}

#[test]
fn a_packet_costs_two_events_for_five() {
    let experiment = Dumbbell { rate: Rate::from_bps(100_000_000), ..Dumbbell::default() }.experiment();
    let (plain, batched) = (run(&experiment, false), run(&experiment, true));
    assert!(2 * plain.steps > 5 * batched.steps, "{} {}", plain.steps, batched.steps);
    assert_eq!(numbers(plain), numbers(batched));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn batches_change_no_number(
        (pairs, streams) in (1..4_usize, 1..3_usize),
        (rate, edge_rate) in (2..30_u64, 2..60_u64),
        (rtt, edge_delay) in (1..40_u64, 0..8_u64),
        limit in 1..40_u64,
        kind in prop::option::of(0..queue::REGISTRY.len()),
        (probability, corruption) in (prop::sample::select(vec![0.0, 0.01]), prop::sample::select(vec![0.0, 0.01])),
        stack in prop::sample::select(vec!["rfc", "linux", "linux-2.4", "reno-2001"]),
        volume in prop::option::of(10_000..400_000_u64),
        (departures_last, interval, stagger) in (any::<bool>(), 1..90_u64, 0..40_u64),
    ) {
        let traffic = volume.map_or(Traffic::bulk(), Traffic::ttcp);
        let queue = kind.map_or(droptail(Capacity::Packets(limit)), |kind| queue::choice(queue::REGISTRY[kind].name));
        let dumbbell = Dumbbell {
            pairs,
            streams,
            stagger: Duration::from_micros(stagger * 1000),
            rate: Rate::from_bps(rate * 1_000_000),
            rtt: Duration::from_millis(rtt),
            edge_rate: Rate::from_bps(edge_rate * 1_000_000),
            edge_delay: Duration::from_millis(edge_delay),
            queue,
            loss: loss::choice("bernoulli").with(&[("probability", Value::Number(probability)), ("corruption", Value::Number(corruption))]),
            tcp: tcp(stack),
            traffic,
            duration: Duration::from_secs(3),
        };
        let mut experiment = both_ways(&dumbbell);
        experiment.departures_last = departures_last;
        experiment.measure.interval = Some(Duration::from_millis(interval));
        experiment.measure.events = true;
        experiment.measure.warmup = Duration::from_millis(500);
        let (plain, batched) = (numbers(run(&experiment, false)), numbers(run(&experiment, true)));
        let differs = plain.lines().zip(batched.lines()).enumerate().find(|(_, (a, b))| a != b);
        prop_assert!(plain == batched, "{differs:?}");
    }
}

/// What flows other than TCP streams without end may carry.
fn others() -> [Traffic; 6] {
    let (rate, ms) = (Rate::from_bps(500_000), |ms| Value::Duration(Duration::from_millis(ms)));
    let (at_rate, size) = (("rate", Value::Rate(rate)), |bytes| ("size", Value::Bytes(bytes)));
    [
        Traffic::ping(Duration::from_millis(50), 84),
        Traffic::udp(rate, 1500),
        Traffic::of("on_off", &[at_rate, size(600), ("on", ms(30)), ("off", ms(30))]),
        Traffic::of("web", &[size(20_000), ("think", ms(40))]),
        Traffic::of("writes", &[at_rate, size(900), ("gaps", Value::Choice("poisson"))]),
        Traffic::of("writes", &[at_rate, size(5000)]),
    ]
}

/// A third router behind the right one, with a host, to which the first sender sends as well.
fn prolong(experiment: &mut Experiment, rate: Rate) {
    let (router, host) = (experiment.network.nodes.len(), experiment.network.nodes.len() + 1);
    for (name, kind) in [("far", NodeKind::Router), ("last", NodeKind::Host)] {
        experiment.network.nodes.push(Node { name: name.into(), kind });
    }
    for (name, from, to) in [("far>", 1, router), ("far<", router, 1), ("last>", router, host), ("last<", host, router)] {
        let link = Link { name: name.into(), from, to, rate, bottleneck: false, ..experiment.network.links[0].clone() };
        experiment.network.links.push(link);
    }
    let flow = experiment.flows[0].clone();
    experiment.flows.push(Flow { to: host, ..flow });
}

const EQUIPMENT: u32 = 6;

/// One end of the flow number `flow` gets something that all on its host share, or the flow a reader that takes its time.
fn equip(experiment: &mut Experiment, flow: usize, kind: u32) {
    let flow = flow % experiment.flows.len();
    let node = if flow.is_multiple_of(2) { experiment.flows[flow].from } else { experiment.flows[flow].to };
    if experiment.hosts.iter().any(|host| host.node == node) {
        return;
    }
    let plain = Host { node, nic: None, cpu: None, overhead: None, memory: None };
    let cycles = Cycles { packet: 10_000, byte: 1.0 };
    let cpu = Some(Cpu { mhz: 100, send: cycles, receive: cycles });
    let nic = |on_full| Some(Nic { txqueuelen: 5, on_full });
    experiment.hosts.push(match kind {
        0 => Host { nic: nic(OnFull::Stall), ..plain },
        1 => Host { nic: nic(OnFull::Wait), cpu, ..plain },
        2 => Host { cpu, ..plain },
        3 => Host { overhead: Some(Duration::from_micros(300)), ..plain },
        4 => Host { memory: Some(Memory { bytes: 1 << 20, least: None }), ..plain },
        _ => return experiment.flows[flow].read_rate = Some(Rate::from_bps(2_000_000)),
    });
    if kind < 2 {
        for link in experiment.network.links.iter_mut().filter(|link| link.from == node) {
            link.queue = droptail(Capacity::Packets(5));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Flows of all kinds that share hosts and start at once, paced and not, and hosts with something that they share.
    #[test]
    fn crowds_change_no_number(
        (pairs, streams) in (1..4_usize, 1..6_usize),
        (rate, edge_rate) in (2..30_u64, 2..60_u64),
        (rtt, edge_delay) in (1..40_u64, 0..8_u64),
        limit in 1..60_u64,
        probability in prop::sample::select(vec![0.0, 0.01]),
        controls in prop::collection::vec(prop::sample::select(congestion::NAMES.to_vec()), 1..4),
        carried in prop::collection::vec(prop::sample::select(others().to_vec()), 0..6),
        (equipped, far) in (prop::collection::vec(0..EQUIPMENT, 0..4), prop::option::of(1..50_u64)),
        interval in prop::option::of(1..400_u64),
    ) {
        let dumbbell = Dumbbell {
            pairs,
            streams,
            rate: Rate::from_bps(rate * 1_000_000),
            rtt: Duration::from_millis(rtt),
            edge_rate: Rate::from_bps(edge_rate * 1_000_000),
            edge_delay: Duration::from_millis(edge_delay),
            queue: droptail(Capacity::Packets(limit)),
            loss: loss::choice("bernoulli").with(&[("probability", Value::Number(probability))]),
            duration: Duration::from_secs(3),
            ..Dumbbell::default()
        };
        let mut experiment = both_ways(&dumbbell);
        for (flow, control) in experiment.flows.iter_mut().zip(controls.iter().cycle()) {
            let config = TcpConfig { congestion_control: congestion::choice(control), ..tcp("rfc") };
            let config = Arc::new(TcpConfig { ecn: congestion::ecn_use(&config).default, ..config });
            (flow.sender, flow.receiver) = (config.clone(), config);
        }
        for (i, traffic) in carried.into_iter().enumerate() {
            let flow = experiment.flows[i % experiment.flows.len()].clone();
            experiment.flows.push(Flow { traffic, group: format!("other{i}").into(), stop: Some(Duration::from_millis(2500)), ..flow });
        }
        if let Some(rate) = far {
            prolong(&mut experiment, Rate::from_bps(rate * 1_000_000));
        }
        for (i, kind) in equipped.into_iter().enumerate() {
            equip(&mut experiment, i, kind);
        }
        experiment.measure.interval = interval.map(Duration::from_millis);
        experiment.measure.events = true;
        experiment.measure.warmup = Duration::from_millis(500);
        let (plain, batched) = (numbers(run(&experiment, false)), numbers(run(&experiment, true)));
        let differs = plain.lines().zip(batched.lines()).enumerate().find(|(_, (a, b))| a != b);
        prop_assert!(plain == batched, "{differs:?}");
    }
}

/// A tree of routers with hosts on it, some on two routers and some on each other: each node but the first hangs on one before it, and a
/// few have a second line. Lines are of (rate in Mb/s, delay in us, packets of queue).
fn tree(routers: usize, hosts: usize, hangs: &[usize], seconds: &[usize], lines: &[(u64, u64, u64)]) -> Experiment {
    let mut experiment = Dumbbell { duration: Duration::from_secs(2), ..Dumbbell::default() }.experiment();
    let template = experiment.network.links[0].clone();
    let kind = |i| if i < routers { NodeKind::Router } else { NodeKind::Host };
    experiment.network.nodes = (0..routers + hosts).map(|i| Node { name: format!("n{i}"), kind: kind(i) }).collect();
    experiment.network.links.clear();
    let mut join = |a: usize, b: usize, line: (u64, u64, u64)| {
        for (from, to) in [(a, b), (b, a)] {
            experiment.network.links.push(Link {
                name: format!("n{from}>n{to}"),
                from,
                to,
                rate: Rate::from_bps(line.0 * 1_000_000),
                delay: Duration::from_micros(line.1),
                queue: droptail(Capacity::Packets(line.2)),
                ..template.clone()
            });
        }
    };
    for i in 1..routers + hosts {
        // Most hosts hang on a router.
        let before = if i >= routers && !hangs[i].is_multiple_of(5) { routers } else { i };
        join(i, hangs[i] % before, lines[i]);
    }
    for (i, &node) in seconds.iter().enumerate() {
        let (node, router) = (1 + node % (routers + hosts - 1), i % routers);
        if router < node && hangs[node] % node != router {
            join(node, router, lines[i]);
        }
    }
    experiment
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Over networks of any shape.
    #[test]
    fn no_shape_of_network_changes_a_number(
        (routers, hosts) in (1..6_usize, 2..7_usize),
        hangs in prop::collection::vec(0..60_usize, 12),
        seconds in prop::collection::vec(0..60_usize, 0..3),
        lines in prop::collection::vec((1..40_u64, prop::sample::select(vec![0, 1, 500, 1000, 7000]), 1..30_u64), 12),
        ends in prop::collection::vec((0..60_usize, 0..60_usize, 0..9_usize, 0..3_u64), 1..9),
        equipped in prop::collection::vec(0..EQUIPMENT, 0..3),
        interval in prop::option::of(1..400_u64),
    ) {
        let mut experiment = tree(routers, hosts, &hangs, &seconds, &lines);
        let flow = experiment.flows.remove(0);
        let links = experiment.network.links.len();
        for (i, (from, to, traffic, start)) in ends.into_iter().enumerate() {
            let (from, to) = (routers + from % hosts, routers + to % hosts);
            let traffic = others().get(traffic).cloned().unwrap_or(Traffic::bulk());
            let group = format!("flow{i}").into();
            experiment.flows.push(Flow { from, to, traffic, group, start: Duration::from_millis(100 * start), ..flow.clone() });
        }
        // Routes are over routers only: flows without one are none.
        let routes = longfat_core::experiment::route::Routes::new(&experiment.network);
        let has_route = |a, b| routes.path(a, b).is_some_and(|path| !path.is_empty());
        let kept: Vec<Flow> = experiment.flows.iter().filter(|f| has_route(f.from, f.to) && has_route(f.to, f.from)).cloned().collect();
        prop_assume!(!kept.is_empty() && links > 0);
        experiment.flows = kept;
        for (i, kind) in equipped.into_iter().enumerate() {
            equip(&mut experiment, i, kind);
        }
        experiment.measure.interval = interval.map(Duration::from_millis);
        experiment.measure.events = true;
        let (plain, batched) = (numbers(run(&experiment, false)), numbers(run(&experiment, true)));
        let differs = plain.lines().zip(batched.lines()).enumerate().find(|(_, (a, b))| a != b);
        prop_assert!(plain == batched, "{differs:?}");
    }
}

/// Also in the middle of a run, at any instant.
#[test]
fn a_look_at_any_time_sees_the_same() {
    let loss = loss::choice("bernoulli").with(&[("probability", Value::Number(0.01))]);
    let dumbbell = Dumbbell { pairs: 3, loss, queue: droptail(Capacity::Packets(10)), ..Dumbbell::default() };
    let experiment = both_ways(&dumbbell);
    let (mut plain, mut batched) = (World::with(&experiment, false).unwrap(), World::with(&experiment, true).unwrap());
    for at in (0..5_000_000_000_000).step_by(1_234_567_891) {
        for world in [&mut plain, &mut batched] {
            world.run(Time::from_ps(at), u64::MAX);
            world.advance_links();
        }
        for (a, b) in plain.links.iter().zip(&batched.links) {
            assert_eq!(format!("{:?}", a.count), format!("{:?}", b.count));
            assert_eq!((a.in_flight(), a.busy(plain.now), a.queue_holds()), (b.in_flight(), b.busy(batched.now), b.queue_holds()));
        }
    }
}

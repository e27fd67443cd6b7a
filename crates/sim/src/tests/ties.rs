//! Packets that arrive at a router at the same instant.

use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Flow, Link, Node, Ties};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

/// Packets of three sources that each fill the bottleneck by themselves arrive together, each 120 us, at a queue that one departure
/// each 120 us keeps full: what arrived of each source.
fn shares(ties: Ties, seed: u64) -> Vec<u64> {
    let rate = Rate::from_bps(100_000_000);
    let dumbbell = Dumbbell {
        pairs: 3,
        rate,
        edge_rate: rate,
        queue: droptail(Capacity::Packets(2)),
        traffic: Traffic::udp(rate, 1500),
        duration: Duration::from_secs(1),
        ..Dumbbell::default()
    };
    let experiment = longfat_model::Experiment { ties, seed, ..dumbbell.experiment() };
    run(&experiment).unwrap().flows.iter().map(|flow| flow.packets_delivered).collect()
}

/// Weigle and Feng 2001, section IV-D: what comes by the lowest link has the advantage; here, all but what found the queue empty.
#[test]
fn the_lowest_link_goes_first() {
    let shares = shares(Ties::LinkOrder, 1);
    assert!(shares[0] > 8000 && shares[1] <= 2 && shares[2] <= 2, "{shares:?}");
}

#[test]
fn at_random_none_has_an_advantage() {
    let of_one = shares(Ties::Random, 1);
    assert!(of_one.iter().all(|n| (2500..3100).contains(n)), "{of_one:?}");
    assert_eq!(of_one, shares(Ties::Random, 1));
    assert_ne!(of_one, shares(Ties::Random, 2));
}

/// A pair of hosts with a link of their own has nothing to do with a dumbbell.
#[test]
fn at_random_an_unrelated_pair_changes_nothing() {
    let rate = Rate::from_bps(100_000_000);
    let dumbbell = Dumbbell { pairs: 3, rate, edge_rate: rate, queue: droptail(Capacity::Packets(20)), ..Dumbbell::default() };
    let one = longfat_model::Experiment { ties: Ties::Random, ..dumbbell.experiment() };
    let mut two = one.clone();
    let network = &mut two.network;
    let (a, b) = (network.nodes.len(), network.nodes.len() + 1);
    let host = network.nodes[one.flows[0].from].clone();
    network.nodes.extend(["one", "other"].map(|name| Node { name: name.to_owned(), ..host.clone() }));
    let line = network.links[0].clone();
    network.links.push(Link { name: "apart>".to_owned(), from: a, to: b, bottleneck: false, ..line.clone() });
    network.links.push(Link { name: "apart<".to_owned(), from: b, to: a, bottleneck: false, ..line });
    two.flows.push(Flow { from: a, to: b, group: "apart".into(), stream_of: 3, ..one.flows[0].clone() });
    let (one, two) = (run(&one).unwrap(), run(&two).unwrap());
    assert!(one.flows.iter().any(|flow| flow.total.packets_dropped > 0), "there is nothing to tie for");
    // NaN is as good as NaN.
    assert_eq!(format!("{:?}", one.flows), format!("{:?}", &two.flows[..3]));
}

/// A source fills the bottleneck by itself, and with each of its packets that comes another leaves. A second one's packets come
/// between: what arrived of each, and what was dropped.
fn in_between(departures_last: bool) -> Vec<(u64, u64)> {
    let rate = Rate::from_bps(100_000_000);
    let of = |rate| Traffic::udp(rate, 1500);
    let dumbbell = Dumbbell {
        pairs: 2,
        rate,
        edge_rate: rate,
        queue: droptail(Capacity::Packets(2)),
        traffic: of(rate),
        duration: Duration::from_secs(1),
        ..Dumbbell::default()
    };
    let mut experiment = dumbbell.experiment();
    experiment.departures_last = departures_last;
    experiment.flows[1].traffic = of(Rate::from_bps(10_000_000));
    experiment.flows[1].start = Duration::from_micros(50);
    run(&experiment).unwrap().flows.iter().map(|flow| (flow.packets_delivered, flow.total.packets_dropped)).collect()
}

/// The first source loses nothing where departures come first, since the place is free for the packet that comes at that instant. It is
/// never free for one between, so the second source loses all but the packets that found the queue empty. Where departures come last, the
/// first source finds the queue full, once for each packet of the second.
#[test]
fn who_finds_the_place_of_a_packet_that_leaves() {
    let [first, second] = in_between(false)[..] else { panic!("two flows") };
    assert!(first.1 == 0 && second.0 <= 3 && second.1 > 800, "{first:?} {second:?}");
    let [first, second] = in_between(true)[..] else { panic!("two flows") };
    assert!((800..834).contains(&first.1) && second.1 == 0, "{first:?} {second:?}");
}

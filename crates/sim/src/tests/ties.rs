//! Packets that arrive at a router at the same instant.

use longfat_core::experiment::{Ties, Traffic};
use longfat_core::time::Duration;
use longfat_core::traffic::Schedule;
use longfat_core::units::{Capacity, Rate};

use crate::dumbbell::{Dumbbell, droptail};
use crate::run;

/// Packets of three sources that each fill the bottleneck by themselves arrive together, each 120 us, at a queue that one departure
/// each 120 us keeps full: what arrived of each source.
fn shares(ties: Ties, seed: u64) -> Vec<u64> {
    let rate = Rate::from_bps(100_000_000);
    let dumbbell = Dumbbell {
        pairs: 3,
        rate,
        edge_rate: rate,
        queue: droptail(Capacity::Packets(2)),
        traffic: Traffic::Udp { schedule: Schedule::Constant { rate }, size: 1500 },
        duration: Duration::from_secs(1),
        ..Dumbbell::default()
    };
    let experiment = longfat_core::experiment::Experiment { ties, seed, ..dumbbell.experiment() };
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

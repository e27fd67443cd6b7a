//! Links that change, in whole runs.

use longfat_core::link::course::{Course, Outages, Step, Steps};
use longfat_core::link::{Passage, Service, Unsteady};
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_record::trace::{LinkSample, Trace};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

fn steps(steps: &[(u64, u64)]) -> Course {
    let step = |&(at, value): &(u64, u64)| Step { at: Duration::from_millis(at), value };
    Course::Steps(Steps { steps: steps.iter().map(step).collect(), repeat: None })
}

/// Runs one flow for 10 s with both directions of the bottleneck unsteady; sampled every 100 ms.
fn with(unsteady: Unsteady, traffic: Traffic) -> Trace {
    let dumbbell = Dumbbell { rtt: Duration::from_millis(20), queue: droptail(Capacity::Bdp(2.0)), traffic, ..Dumbbell::default() };
    let mut experiment = dumbbell.experiment();
    for link in &mut experiment.network.links[..2] {
        link.unsteady = unsteady.clone();
    }
    experiment.measure.interval = Some(Duration::from_millis(100));
    run(&experiment).unwrap()
}

/// IP bytes that the bottleneck carried from one time to another, in ms.
fn carried(trace: &Trace, from: u64, to: u64) -> u64 {
    let is_at = |row: &LinkSample, ms: u64| row.link == 0 && row.time == Time::from_ps(ms * 1_000_000_000);
    let at = |ms| trace.link_series.iter().find(|row| is_at(row, ms)).unwrap().wire_bytes;
    at(to) - at(from)
}

/// 20 Mb/s of datagrams fill a link of 10 Mb/s, and of 2 Mb/s from 4 s on; from 7 to 8 s it is down.
#[test]
fn a_link_carries_what_its_rate_allows() {
    let service = Some(Service::Rate(steps(&[(0, 10_000_000), (4000, 2_000_000)])));
    let outages = Outages::once([(Duration::from_secs(7), Duration::from_secs(8))]);
    let trace = with(Unsteady { service, outages, ..Unsteady::default() }, Traffic::udp(Rate::from_bps(20_000_000), 1500));
    // Transmissions that began: up to one packet more or less.
    for (from, to, bits) in [(1000, 4000, 30_000_000), (4100, 7000, 5_800_000), (7000, 7900, 0), (8100, 9900, 3_600_000)] {
        let carried = carried(&trace, from, to) * 8;
        assert!(carried.abs_diff(bits) <= 12_000, "{from} to {to} ms: {carried} of {bits} bits");
    }
}

/// A probe sees the delay of the instant at which it leaves: 8 ms each way and the edges' 4, then 30 and 4.
#[test]
fn a_probe_sees_the_delay_of_the_instant() {
    let delay = Some(steps(&[(0, 8_000_000_000), (5000, 30_000_000_000)]));
    let unsteady = Unsteady { passage: Passage { delay, ..Passage::default() }, ..Unsteady::default() };
    let trace = with(unsteady, Traffic::ping(Duration::from_millis(100), 84));
    let [p50, _, p99] = trace.flows[0].rtt.quantiles_s;
    assert!((0.020..0.0205).contains(&p50) || (0.064..0.0645).contains(&p50), "{p50}");
    assert!((0.0635..0.0650).contains(&p99), "{p99}");
}

//! Traffic other than TCP streams, in whole runs.

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use proptest::prelude::*;

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

/// Returns transfers of `size` bytes with `think` milliseconds between them, on average.
fn web(size: u64, think: u64) -> Traffic {
    Traffic::of("web", &[("size", Value::Bytes(size)), ("shape", Value::Number(1.5)), ("think", ms(think))])
}

/// Writes of `size` bytes: evenly spaced, or at random with Pareto gaps of a shape.
fn writes(rate: Rate, size: u64, random: Option<Option<f64>>) -> Traffic {
    let (gaps, shape) = random.map_or(("even", None), |shape| (if shape.is_some() { "pareto" } else { "poisson" }, shape));
    let shape = shape.map_or(Value::Auto, Value::Number);
    Traffic::of("writes", &[("rate", Value::Rate(rate)), ("size", Value::Bytes(size)), ("gaps", Value::Choice(gaps)), ("shape", shape)])
}

fn sinusoid(mean: Rate, amplitude: Rate, period: u64) -> Traffic {
    Traffic::of("sinusoid", &[("mean", Value::Rate(mean)), ("amplitude", Value::Rate(amplitude)), ("period", ms(period))])
}

fn ms(n: u64) -> Value {
    Value::Duration(Duration::from_millis(n))
}

fn mbps(n: u64) -> Rate {
    Rate::from_bps(n * 1_000_000)
}

#[test]
fn udp_counts_what_is_sent_delivered_and_dropped() {
    // 12 Mb/s into 10 Mb/s, with room for 10 packets, for 5 s: 5000 packets, 1 ms apart, of which the link takes one each 1.2 ms.
    let traffic = Traffic::udp(mbps(12), 1500);
    let mut experiment = Dumbbell { traffic, queue: droptail(Capacity::Packets(10)), ..Dumbbell::default() }.experiment();
    experiment.flows[0].stop = Some(Duration::from_secs(5));
    experiment.measure.events = true;
    let trace = run(&experiment).unwrap();
    let flow = &trace.flows[0];
    assert_eq!((flow.total.segments_sent, flow.total.sent), (5000, 5000 * 1472));
    assert_eq!(flow.packets_delivered + flow.total.packets_dropped, 5000);
    assert_eq!(flow.total.delivered, flow.packets_delivered * 1472);
    let expected = 5000.0 / 1.2 + 11.0;
    assert!((flow.packets_delivered as f64 - expected).abs() < 3.0, "{} of {expected}", flow.packets_delivered);
    // Events name the packet: the first is dropped once ten are in the queue, and no number is beyond the last.
    let seqs: Vec<u64> = trace.events.iter().map(|event| event.seq).collect();
    assert!(seqs.is_sorted() && (50..80).contains(&seqs[0]) && *seqs.last().unwrap() < 5000, "{} to {:?}", seqs[0], seqs.last());
}

#[test]
fn tcp_gives_way_to_a_sinusoid_and_takes_what_it_leaves() {
    let mut experiment = Dumbbell { pairs: 2, duration: Duration::from_secs(120), ..Dumbbell::default() }.experiment();
    experiment.flows[1].traffic = sinusoid(mbps(3), mbps(2), 20_000);
    experiment.measure.interval = Some(Duration::from_secs(5));
    let trace = run(&experiment).unwrap();
    // The mean of the wave is 3 + 4 / pi in the first half of each period, two intervals, and 3 - 4 / pi in the second.
    let sum = |flow: usize, half: usize| -> f64 {
        let total = |i: usize| trace.flow_series.iter().nth(2 * i + flow).unwrap().bytes_delivered;
        (1..6).map(|n| (total(4 * n + 2 * half + 2) - total(4 * n + 2 * half)) as f64 * 8.0 / 10e6).sum::<f64>() / 5.0
    };
    let wave = |half| sum(1, half);
    assert!((wave(0) - (3.0 + 4.0 / std::f64::consts::PI) * 1472.0 / 1500.0).abs() < 0.1, "{}", wave(0));
    assert!((wave(1) - (3.0 - 4.0 / std::f64::consts::PI) * 1472.0 / 1500.0).abs() < 0.1, "{}", wave(1));
    assert!(sum(0, 1) - sum(0, 0) > 1.5, "TCP has {} and {} Mb/s", sum(0, 0), sum(0, 1));
    assert!(trace.links[0].busy_s > 0.95 * 120.0);
}

#[test]
fn an_application_with_a_rate_of_its_own_has_that_rate_or_what_tcp_gives() {
    // 1 kB a millisecond over a link of 10 Mb/s that takes it: after 5 s it closes, and all has come. At twice the link's rate it is
    // as if it never waited.
    let run_of = |rate: u64, random: Option<Option<f64>>| {
        let traffic = writes(mbps(rate), 1000, random);
        let mut experiment = Dumbbell { traffic, duration: Duration::from_secs(20), ..Dumbbell::default() }.experiment();
        experiment.flows[0].stop = Some(Duration::from_secs(5));
        run(&experiment).unwrap().flows[0].clone()
    };
    let even = run_of(8, None);
    assert_eq!((even.total.delivered, even.delivered_all.is_some()), (5_000_000, true));
    for shape in [None, Some(2.5)] {
        let random = run_of(8, Some(shape));
        assert!((random.total.delivered as f64 / 5e6 - 1.0).abs() < 0.06, "{}", random.total.delivered);
        assert_ne!(random.total.delivered, 5_000_000);
    }
    let mut bulk = Dumbbell::default().experiment();
    let backlog = writes(mbps(20), 1000, None);
    let delivered = |experiment: &_| run(experiment).unwrap().flows[0].total.delivered;
    let without_end = delivered(&bulk);
    bulk.flows[0].traffic = backlog;
    assert!((delivered(&bulk) as f64 / without_end as f64 - 1.0).abs() < 0.01);
}

#[test]
fn readers_of_the_web_think_and_fetch() {
    // Ten readers on an idle path: a transfer of 50 kB takes some round trips of 20 ms, so that each fetches some 3 or 4 a second.
    let dumbbell =
        Dumbbell { pairs: 10, rate: mbps(100), traffic: web(50_000, 100), duration: Duration::from_secs(100), ..Dumbbell::default() };
    let mut experiment = dumbbell.experiment();
    experiment.flows[9].stop = Some(Duration::from_secs(50));
    let trace = run(&experiment).unwrap();
    for (i, flow) in trace.flows.iter().enumerate() {
        let seconds = if i == 9 { 50.0 } else { 100.0 };
        let most = 50_000.0 * 8.0 / 0.1;
        let rate = flow.total.delivered as f64 * 8.0 / seconds;
        assert!(rate > 0.2 * most && rate < most, "flow {i}: {rate} bit/s");
        assert_eq!(flow.delivered_all.is_some(), i == 9, "flow {i} has closed");
    }
    let rates: Vec<u64> = trace.flows.iter().map(|flow| flow.total.delivered).collect();
    assert!(rates.windows(2).all(|pair| pair[0] != pair[1]), "each has its own randomness");
    assert_eq!(trace.end, Time::from_ps(100_000_000_000_000));
}

#[test]
fn telnet_writes_now_and_then_and_finishes_what_was_typed() {
    // The flow writes 7 bytes 20 times per second.
    let traffic = Traffic::of("telnet", &[("interval", ms(50)), ("size", Value::Bytes(7))]);
    let mut experiment = Dumbbell { pairs: 2, traffic, duration: Duration::from_secs(100), ..Dumbbell::default() }.experiment();
    experiment.flows[1].stop = Some(Duration::from_secs(50));
    let trace = run(&experiment).unwrap();
    for (flow, seconds) in trace.flows.iter().zip([100.0, 50.0]) {
        // Each write is a segment of its own: 50 ms are longer than the round trip, mostly, and Nagle's rule joins the others.
        let writes = flow.total.delivered / 7;
        assert_eq!(flow.total.delivered % 7, 0);
        assert!((writes as f64 / (seconds * 20.0) - 1.0).abs() < 0.1, "{writes} writes");
        assert!(flow.total.segments_sent < writes && flow.total.segments_sent > writes / 2, "{} segments", flow.total.segments_sent);
    }
    assert!(trace.flows[1].delivered_all.is_some() && trace.flows[0].delivered_all.is_none());
}

#[test]
fn adding_a_flow_changes_no_others_randomness() {
    // Apart, with capacity for all: the times at which the first flow's packets leave depend on nothing but its name.
    let traffic = Traffic::of("on_off", &[("rate", Value::Rate(mbps(1))), ("on", ms(50)), ("off", ms(50))]);
    let sent = |pairs| {
        let dumbbell = Dumbbell { pairs, rate: mbps(1000), traffic: traffic.clone(), ..Dumbbell::default() };
        run(&dumbbell.experiment()).unwrap().flows[0].clone()
    };
    let (alone, beside) = (sent(1), sent(3));
    assert!(alone.total.segments_sent > 100);
    assert_eq!(format!("{alone:?}"), format!("{beside:?}"));
}

fn any_traffic() -> impl Strategy<Value = Traffic> {
    let shape = || 1.1_f64..3.0;
    prop_oneof![
        Just(Traffic::bulk()),
        (10_000_u64..10_000_000, 1_u64..3_000, prop::option::of(prop::option::of(shape()))).prop_map(|(bps, size, random)| writes(
            Rate::from_bps(bps),
            size,
            random
        )),
        (1_u64..500_000).prop_map(Traffic::ttcp),
        (1_u64..100).prop_map(|ms| Traffic::ping(Duration::from_millis(ms), 84)),
        (40_u32..1500, 1_u64..20).prop_map(|(size, rate)| Traffic::udp(mbps(rate), size)),
        (1_u64..10, 10_u64..2000).prop_map(|(rate, period)| sinusoid(mbps(rate), mbps(rate), period)),
        (1_u64..20, 20_u64..200, 20_u64..200)
            .prop_map(|(rate, on, off)| { Traffic::of("udp", &[("rate", Value::Rate(mbps(rate))), ("on", ms(on)), ("off", ms(off))]) }),
        (1_u64..20, (20_u64..200, shape()), (20_u64..200, shape())).prop_map(|(rate, on, off)| {
            let (on_shape, off_shape) = (Value::Number(on.1), Value::Number(off.1));
            let times = [("rate", Value::Rate(mbps(rate))), ("on", ms(on.0)), ("off", ms(off.0))];
            Traffic::of("on_off", &[&times[..], &[("on_shape", on_shape), ("off_shape", off_shape)]].concat())
        }),
        (1_u64..200_000, 1_u64..500).prop_map(|(size, think)| web(size, think)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// The audit at the end of every run checks the books; whatever the traffic, lost packets and stops in the middle.
    #[test]
    fn every_traffic_keeps_its_books(
        kinds in prop::collection::vec((any_traffic(), prop::option::of(500_u64..2500)), 1..6),
        seed in 0_u64..1000,
    ) {
        let loss = loss::choice("bernoulli").with(&[("probability", Value::Number(0.01)), ("corruption", Value::Number(0.01))]);
        let dumbbell =
            Dumbbell { pairs: kinds.len(), loss, queue: droptail(Capacity::Packets(20)), duration: Duration::from_secs(3), ..Dumbbell::default() };
        let mut experiment = dumbbell.experiment();
        experiment.seed = seed;
        experiment.measure.events = true;
        for (flow, (traffic, stop)) in experiment.flows.iter_mut().zip(kinds) {
            flow.stop = stop.filter(|_| traffic.volume().is_none()).map(Duration::from_millis);
            flow.traffic = traffic;
        }
        let trace = run(&experiment).unwrap();
        // Text compares NaN as equal to NaN.
        prop_assert!(format!("{trace:?}") == format!("{:?}", run(&experiment).unwrap()), "two runs differ");
    }
}

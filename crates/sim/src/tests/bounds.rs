//! Tests of bounds: no metric has an impossible value, whatever the network, and no counter contradicts another.

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;
use longfat_model::Experiment;
use longfat_model::route::Routes;
use longfat_record::metric::{REGISTRY, Scope, impossible};
use longfat_record::trace::{FlowSample, Trace};
use longfat_tcp::{TcpConfig, congestion};
use proptest::prelude::*;

use super::random;
use crate::run;
use longfat_model::dumbbell::{Dumbbell, tcp};

/// The metric `name` of a whole run.
fn of_run(name: &str, experiment: &Experiment, trace: &Trace) -> f64 {
    let metric = REGISTRY.iter().find(|metric| metric.name == name).unwrap();
    (metric.compute)(experiment, trace).into_iter().find(|(scope, _)| *scope == Scope::Run).unwrap().1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn no_metric_says_what_cannot_be(seed in any::<u64>()) {
        let experiment = random::experiment(seed);
        prop_assume!(experiment.is_some());
        let mut experiment = experiment.unwrap();
        // The slowest link of the first flow is its bottleneck: a mark for metrics, which changes no run.
        let network = &mut experiment.network;
        let path = Routes::new(network).path(experiment.flows[0].from, experiment.flows[0].to).unwrap().to_vec();
        let slowest = path.into_iter().min_by_key(|link| network.links[*link].rate.as_bps()).unwrap();
        network.links[slowest].bottleneck = true;
        prop_assert_eq!(impossible(&experiment, &run(&experiment).unwrap()), Vec::<String>::new(), "{}", seed);
    }
}

/// The slowest link carries datagrams twice: the receiver counts each payload once, and the copies apart.
#[test]
fn datagrams_that_come_twice_count_once() {
    let experiment = random::experiment(13_688_956_788_350_386_856).unwrap();
    assert_eq!(impossible(&experiment, &run(&experiment).unwrap()), Vec::<String>::new());

    let rate = Rate::from_bps(10_000_000);
    let dumbbell = Dumbbell { rate: Rate::from_bps(100_000_000), traffic: Traffic::udp(rate, 1500), ..Dumbbell::default() };
    let mut experiment = Dumbbell { duration: Duration::from_secs(5), ..dumbbell }.experiment();
    let bottleneck = experiment.network.links.iter_mut().find(|link| link.bottleneck).unwrap();
    bottleneck.unsteady.passage.duplicate = 0.5;
    let trace = run(&experiment).unwrap();
    let flow = &trace.flows[0];
    let goodput = of_run("goodput_total_bps", &experiment, &trace);
    // 1472 of 1500 bytes are payload.
    assert!((9.7e6..=9.82e6).contains(&goodput), "{goodput}");
    assert_eq!(flow.total.duplicate, 1472 * flow.duplicates_received);
    assert!((0.45..0.55).contains(&(flow.duplicates_received as f64 / flow.total.segments_sent as f64)), "{flow:?}");
    assert_eq!(impossible(&experiment, &trace), Vec::<String>::new());
}

/// The warmup ends while 17 MB wait behind a gap: they arrived before, and do not count when the gap closes. Counted where they were delivered,
/// goodput was 160.9 Mb/s.
#[test]
fn what_waited_behind_a_gap_is_no_goodput_of_the_span() {
    let rate = Rate::from_bps(100_000_000);
    let tcp = TcpConfig { congestion_control: congestion::choice("cubic"), ..tcp("rfc") };
    let rtt = Duration::from_millis(100);
    let mut experiment = Dumbbell { rate, rtt, tcp, duration: Duration::from_millis(2400), ..Dumbbell::default() }.experiment();
    let mut most = 0.0_f64;
    for warmup in (200..2300).step_by(50) {
        experiment.measure.warmup = Duration::from_millis(warmup);
        let trace = run(&experiment).unwrap();
        let delivered = trace.flows[0].measured().delivered as f64 * 8.0 / (2.4 - warmup as f64 / 1e3);
        most = most.max(delivered);
        assert_eq!(impossible(&experiment, &trace), Vec::<String>::new(), "{warmup} ms");
    }
    assert!(most > 100e6, "there is no gap to close: {most}");
}

/// Whatever happened before the span is none of it: a metric that hears of it says so in its summary.
#[test]
fn metrics_of_the_span_do_not_know_what_was_before() {
    let mut experiment = Dumbbell { pairs: 3, duration: Duration::from_secs(8), ..Dumbbell::default() }.experiment();
    experiment.flows[2].traffic = Traffic::ping(Duration::from_millis(100), 84);
    experiment.measure.warmup = Duration::from_secs(4);
    experiment.measure.interval = Some(Duration::from_millis(500));
    let trace = run(&experiment).unwrap();
    let mut other = trace.clone();
    for flow in &mut other.flows {
        let (more, before) = (1_000_000, &mut flow.at_warmup);
        for (all, early) in [
            (&mut flow.total.delivered, &mut before.delivered),
            (&mut flow.total.arrived, &mut before.arrived),
            (&mut flow.total.duplicate, &mut before.duplicate),
            (&mut flow.total.sent, &mut before.sent),
            (&mut flow.total.retransmitted, &mut before.retransmitted),
            (&mut flow.total.segments_sent, &mut before.segments_sent),
            (&mut flow.total.segments_retransmitted, &mut before.segments_retransmitted),
            (&mut flow.total.packets_dropped, &mut before.packets_dropped),
        ] {
            (*all, *early) = (*all + more, *early + more);
        }
        for (all, early) in flow.total.limited_s.iter_mut().zip(&mut before.limited_s) {
            (*all, *early) = (*all + 1.0, *early + 1.0);
        }
        flow.rtt.min_s /= 2.0;
        (flow.acks_sent, flow.acks_received, flow.packets_delivered) = (flow.acks_sent + more, flow.acks_received + more, more);
        (flow.timeouts, flow.fast_retransmits, flow.in_flight_max) = (flow.timeouts + 1, flow.fast_retransmits + 1, flow.in_flight_max * 2);
    }
    for link in &mut other.links {
        link.drops.push((DropReason::Overflow, 1_000_000));
        for count in
            [&mut link.packets_in, &mut link.packets_transmitted, &mut link.wire_bytes, &mut link.ip_bytes, &mut link.queue_max_bytes]
        {
            *count += 1_000_000;
        }
    }
    let from = Time::ZERO + experiment.measure.warmup;
    let early = |mut sample: FlowSample| {
        if sample.time < from {
            (sample.bytes_arrived, sample.bytes_delivered, sample.cwnd) = (0, 0, 1);
        }
        sample
    };
    other.flow_series = trace.flow_series.iter().map(early).collect::<Vec<_>>().into();
    for metric in REGISTRY {
        let (one, two) = ((metric.compute)(&experiment, &trace), (metric.compute)(&experiment, &other));
        let same = |((_, a), (_, b)): (&(Scope, f64), &(Scope, f64))| a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * (1.0 + a.abs());
        let is_same = one.len() == two.len() && one.iter().zip(&two).all(same);
        assert!(is_same || metric.summary.contains("whole run"), "{}: {one:?} became {two:?}", metric.name);
    }
}

/// A short flow of `rack` whose segments overtook each other, and which sends again later: its reordering timer was for a time in the past.
#[test]
fn no_endpoint_wants_to_be_woken_in_the_past() {
    let experiment = random::experiment(9_606_690_771_192_910_517).unwrap();
    assert_eq!(impossible(&experiment, &run(&experiment).unwrap()), Vec::<String>::new());
}

/// Rates over different times add up to more than any link carries: 163.8 Mb/s of 100 here.
#[test]
fn total_goodput_is_over_one_span() {
    let (stagger, rate, duration) = (Duration::from_millis(290), Rate::from_bps(100_000_000), Duration::from_secs(30));
    let experiment = Dumbbell { pairs: 100, stagger, rate, duration, ..Dumbbell::default() }.experiment();
    let trace = run(&experiment).unwrap();
    let bytes: u64 = trace.flows.iter().map(|flow| flow.total.arrived).sum();
    assert_eq!(of_run("goodput_total_bps", &experiment, &trace), bytes as f64 * 8.0 / 30.0);
    assert_eq!(impossible(&experiment, &trace), Vec::<String>::new());
}

/// A FIN that goes again holds no data: it is neither a segment sent nor one retransmitted.
#[test]
fn short_flows_with_losses_have_a_retransmission_rate() {
    let loss = loss::choice("bernoulli").with(&[("probability", Value::Number(0.2))]);
    let mut again = 0;
    for stop in [30, 100, 300] {
        let mut experiment = Dumbbell { loss: loss.clone(), pairs: 20, ..Dumbbell::default() }.experiment();
        experiment.flows.iter_mut().for_each(|flow| flow.stop = Some(Duration::from_millis(stop)));
        let trace = run(&experiment).unwrap();
        assert_eq!(impossible(&experiment, &trace), Vec::<String>::new());
        again += trace.flows.iter().map(|flow| flow.total.segments_retransmitted).sum::<u64>();
    }
    assert!(again > 50, "{again}");
}

/// Routes move from a full link to one beside it: both carry for a while, and more is delivered than one of them could have carried.
#[test]
fn a_link_that_routes_have_left_still_delivers() {
    let experiment = random::experiment(5_857_488_873_345_535_672).unwrap();
    assert!(!experiment.network.moves.is_empty());
    assert_eq!(impossible(&experiment, &run(&experiment).unwrap()), Vec::<String>::new());
}

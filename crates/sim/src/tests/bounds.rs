//! No metric says what cannot be, whatever the network: each of the registry has its bounds, and no counter contradicts another.

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::units::Rate;
use longfat_experiment::Experiment;
use longfat_experiment::metric::{REGISTRY, Scope, impossible};
use longfat_experiment::route::Routes;
use longfat_experiment::trace::Trace;
use proptest::prelude::*;

use super::random;
use crate::run;
use longfat_experiment::dumbbell::Dumbbell;

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

/// The slowest link carries datagrams twice: more is delivered than crossed its transmitter.
#[test]
fn datagrams_that_come_twice_are_no_contradiction() {
    let experiment = random::experiment(13_688_956_788_350_386_856).unwrap();
    assert_eq!(impossible(&experiment, &run(&experiment).unwrap()), Vec::<String>::new());
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
    let bytes: u64 = trace.flows.iter().map(|flow| flow.bytes_delivered).sum();
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
        again += trace.flows.iter().map(|flow| flow.segments_retransmitted).sum::<u64>();
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

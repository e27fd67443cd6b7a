//! TCP Fast Open (RFC 7413) on whole paths: completion times against round trips.

use std::sync::Arc;

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::rng::Rng;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;
use longfat_model::Experiment;
use longfat_model::dumbbell::{Dumbbell, tcp};
use longfat_tcp::{FastOpen, TcpConfig};
use proptest::prelude::*;

use super::random;
use crate::run;

const RTT_S: f64 = 0.1;

/// One flow of `traffic` over 1 Gbit/s and 100 ms.
fn path(traffic: Traffic, fast_open: FastOpen) -> Experiment {
    let mut experiment = Dumbbell {
        rate: Rate::from_bps(1_000_000_000),
        rtt: Duration::from_millis(100),
        edge_rate: Rate::from_bps(10_000_000_000),
        tcp: TcpConfig { fast_open, ..tcp("rfc") },
        duration: Duration::from_secs(20),
        ..Dumbbell::default()
    }
    .experiment();
    experiment.flows[0].traffic = traffic;
    experiment
}

/// Round trips from the start until the receiver has all, whole but for the time of the packets themselves.
fn round_trips(experiment: &Experiment) -> f64 {
    let trace = run(experiment).unwrap();
    let flow = &trace.flows[0];
    assert!(flow.acked_all.is_some(), "the sender knows that all arrived");
    flow.delivered_all.unwrap().since(flow.start).as_secs_f64() / RTT_S
}

/// A request takes the handshake and two ways without a cookie, and two ways with one. A cookie that is not taken costs nothing.
#[test]
fn a_cookie_spares_a_request_one_round_trip() {
    for volume in [1_000, 10_000, 14_000, 100_000] {
        let off = round_trips(&path(Traffic::fetch(volume), FastOpen::Off));
        let expected = if volume < 100_000 { 2.0 } else { 4.0 };
        assert!((expected..expected + 0.02).contains(&off), "{volume} bytes: {off} round trips");
        for (fast_open, spared) in [(FastOpen::Request, 0.0), (FastOpen::Cached, 1.0), (FastOpen::Stale, 0.0), (FastOpen::Full, 0.0)] {
            let took = round_trips(&path(Traffic::fetch(volume), fast_open));
            assert!((off - took - spared).abs() < 0.01, "{volume} bytes, {fast_open:?}: {took} and {off} round trips");
        }
    }
}

/// Where the client sends, a segment with the SYN spares a round trip where it is what the window lacks: the initial window has ten segments.
/// The end of the stream goes after the handshake, so one segment alone is no earlier complete.
#[test]
fn sending_one_segment_earlier_spares_a_round_trip_now_and_then() {
    for (volume, off, cached) in [(1_000, 1.5, 1.5), (10_000, 1.5, 1.5), (15_500, 2.5, 1.5)] {
        let took = [FastOpen::Off, FastOpen::Cached].map(|fast_open| round_trips(&path(Traffic::ttcp(volume), fast_open)));
        assert!((off..off + 0.02).contains(&took[0]) && (cached..cached + 0.02).contains(&took[1]), "{volume} bytes: {took:?}");
    }
}

/// The ends may differ: `off` at one of them is `off`.
#[test]
fn both_ends_must_want_it() {
    for server in [true, false] {
        let mut experiment = path(Traffic::fetch(10_000), FastOpen::Cached);
        let flow = &mut experiment.flows[0];
        Arc::make_mut(if server { &mut flow.sender } else { &mut flow.receiver }).fast_open = FastOpen::Off;
        assert!((2.0..2.02).contains(&round_trips(&experiment)));
    }
}

/// Links that lose a tenth of their packets, both ways: whatever is lost of an opening, all is delivered, and the ledger is whole.
#[test]
fn openings_survive_heavy_loss() {
    for fast_open in [FastOpen::Off, FastOpen::Request, FastOpen::Cached, FastOpen::Stale, FastOpen::Full] {
        for seed in 0..12 {
            for traffic in [Traffic::fetch(3_000), Traffic::ttcp(3_000)] {
                let mut experiment = path(traffic, fast_open);
                experiment.seed = seed;
                experiment.measure.duration = Duration::from_secs(2_000);
                experiment.measure.events = true;
                for link in &mut experiment.network.links {
                    link.loss = loss::choice("bernoulli").with(&[("probability", Value::Number(0.1))]);
                }
                let trace = run(&experiment).unwrap();
                let flow = &trace.flows[0];
                assert!(flow.delivered_all.is_some(), "{fast_open:?}, seed {seed}");
                assert_eq!(flow.total.delivered, 3_000);
            }
        }
    }
}

proptest! {
    /// Random networks in which flows open so, and some ask: the audit of each run holds, and two runs are equal.
    #[test]
    fn openings_in_random_networks_are_accounted_for(seed in any::<u64>()) {
        let experiment = random::experiment(seed);
        prop_assume!(experiment.is_some());
        let mut experiment = experiment.unwrap();
        experiment.measure.events = true;
        let mut rng = Rng::named(seed, "openings");
        let all = [FastOpen::Off, FastOpen::Request, FastOpen::Cached, FastOpen::Stale, FastOpen::Full];
        for flow in experiment.flows.iter_mut().filter(|flow| flow.traffic.is_tcp()) {
            Arc::make_mut(&mut flow.sender).fast_open = all[rng.below(5) as usize];
            Arc::make_mut(&mut flow.receiver).fast_open = all[rng.below(5) as usize];
            if flow.traffic.volume().is_some() && flow.read_rate.is_none() {
                flow.traffic = Traffic::fetch(60_000);
            }
        }
        let trace = run(&experiment).unwrap();
        prop_assert_eq!(format!("{trace:?}"), format!("{:?}", run(&experiment).unwrap()), "{}", seed);
    }
}

//! Stepping: a run in steps gives the results of the run in one go, and a steered run obeys.

use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_record::trace::Trace;
use proptest::prelude::*;

use crate::{Simulation, run};
use longfat_model::dumbbell::{Dumbbell, droptail};

fn small(traffic: Traffic) -> Dumbbell {
    Dumbbell { pairs: 3, traffic, queue: droptail(Capacity::Packets(20)), stagger: Duration::from_millis(100), ..Dumbbell::default() }
}

/// Returns all of a trace but its cost: a stop is no event, but may part the work of one event, and packets wait between stages meanwhile.
fn told(trace: &Trace) -> String {
    format!("{:?}", Trace { steps: 0, packets_in_network_max: 0, ..trace.clone() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn however_it_is_stepped_it_gives_the_same(steps in prop::collection::vec(0..3_000_000_000_000_u64, 0..30), volume in any::<bool>()) {
        let traffic = if volume { Traffic::ttcp(3_000_000) } else { Traffic::bulk() };
        let mut experiment = small(traffic).experiment();
        experiment.measure.interval = Some(Duration::from_millis(300));
        experiment.measure.events = true;
        let mut simulation = Simulation::new(experiment.clone(), None).unwrap();
        let mut until = Time::ZERO;
        for step in steps {
            until += Duration::from_ps(step);
            simulation.advance(until, &mut |_| true).unwrap();
            prop_assert!(simulation.is_over() || simulation.now() == until);
            // Looking changes nothing.
            let (_, links) = (simulation.flow(1), simulation.links());
            prop_assert_eq!(links.len(), experiment.network.links.len());
        }
        let stepped = simulation.finish(&mut |_| true).unwrap();
        prop_assert_eq!(told(&stepped), told(&run(&experiment).unwrap()));
    }
}

#[test]
fn a_window_that_is_held_holds_until_it_is_let_go() {
    let mut simulation = Simulation::new(small(Traffic::bulk()).experiment(), None).unwrap();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    simulation.advance(at(1000), &mut |_| true).unwrap();
    simulation.hold(0).unwrap().set_cwnd(Some(4 * 1448));
    for ms in (1500..5000).step_by(50) {
        simulation.advance(at(ms), &mut |_| true).unwrap();
        let flow = simulation.flow(0);
        assert_eq!(flow.info.cwnd, 4 * 1448);
        assert!(flow.info.in_flight <= 4 * 1448, "{} at {ms} ms", flow.info.in_flight);
    }
    // Four segments a round trip, of 20 ms and what the queue adds.
    let (before, then) = (simulation.flow(0).sample.bytes_delivered, simulation.now());
    simulation.advance(at(7000), &mut |_| true).unwrap();
    let rate = (simulation.flow(0).sample.bytes_delivered - before) as f64 / simulation.now().since(then).as_secs_f64();
    assert!((20_000.0..=4.0 * 1448.0 / 0.02).contains(&rate), "{rate} bytes a second");
    simulation.hold(0).unwrap().set_cwnd(None);
    simulation.advance(at(9000), &mut |_| true).unwrap();
    assert!(simulation.flow(0).info.cwnd > 4 * 1448);
    assert!(simulation.was_steered());
    simulation.finish(&mut |_| true).unwrap();
}

#[test]
fn a_pacing_rate_that_is_held_is_the_rate() {
    let mut simulation = Simulation::new(Dumbbell { pairs: 1, ..small(Traffic::bulk()) }.experiment(), None).unwrap();
    let at = |s| Time::ZERO + Duration::from_secs(s);
    simulation.advance(at(2), &mut |_| true).unwrap();
    simulation.hold(0).unwrap().set_pacing_rate(Some(Rate::from_bps(1_000_000)));
    simulation.advance(at(4), &mut |_| true).unwrap();
    let before = simulation.flow(0).sample.bytes_delivered;
    simulation.advance(at(8), &mut |_| true).unwrap();
    let bps = (simulation.flow(0).sample.bytes_delivered - before) as f64 * 8.0 / 4.0;
    assert!((0.97e6..1.03e6).contains(&bps), "{bps} bit/s");
    assert_eq!(simulation.flow(0).pacing_rate, Some(Rate::from_bps(1_000_000)));
}

#[test]
fn what_is_not_tcp_is_not_steered() {
    let ping = Traffic::ping(Duration::from_millis(10), 100);
    let mut simulation = Simulation::new(small(ping).experiment(), None).unwrap();
    assert!(simulation.hold(0).is_none() && !simulation.was_steered());
}

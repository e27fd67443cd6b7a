//! How far stages live by themselves changes no number: all in sweeps, or one instant after the other.

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;
use longfat_model::{Experiment, Watched};
use longfat_record::trace::Trace;
use proptest::prelude::*;

use super::random;
use crate::drive;
use crate::engine::world::World;
use longfat_model::dumbbell::Dumbbell;

/// Runs in sweeps as planned, or one instant after the other from the start.
fn run(experiment: &Experiment, is_single: bool) -> Trace {
    let mut world = World::new(experiment).unwrap();
    if is_single {
        world.be_single();
    }
    drive(world, experiment, None, &mut |_| true).unwrap()
}

/// Returns all of a trace but its steps, and the packets that seemed to be there at once.
fn numbers(trace: Trace) -> String {
    format!("{:#?}", Trace { steps: 0, packets_in_network_max: 0, ..trace })
}

/// The first line in which the numbers of two traces differ, with its number.
fn first_difference(a: Trace, b: Trace) -> Option<(usize, String, String)> {
    let (a, b) = (numbers(a), numbers(b));
    let (mut of_a, mut of_b) = (a.lines(), b.lines());
    (0..)
        .map(|line| (line, of_a.next(), of_b.next()))
        .take_while(|(_, a, b)| a.is_some() || b.is_some())
        .find(|(_, a, b)| a != b)
        .map(|(line, a, b)| (line, a.unwrap_or_default().to_owned(), b.unwrap_or_default().to_owned()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn sweeps_and_instants_give_the_same_numbers(seed in any::<u64>()) {
        let experiment = random::experiment(seed);
        prop_assume!(experiment.is_some());
        let mut experiment = experiment.unwrap();
        experiment.measure.packets = Some(Watched::All);
        let (single, sweeps) = (run(&experiment, true), run(&experiment, false));
        prop_assert_eq!(first_difference(single, sweeps), None, "{}", seed);
    }

    /// Ties between links are broken by streams of random numbers of their own, which do not depend on how much is done at once either.
    #[test]
    fn random_ties_do_not_depend_on_sweeps(seed in any::<u64>()) {
        let experiment = random::experiment(seed);
        prop_assume!(experiment.is_some());
        let experiment = Experiment { ties: longfat_model::Ties::Random, ..experiment.unwrap() };
        let (single, sweeps) = (run(&experiment, true), run(&experiment, false));
        prop_assert_eq!(first_difference(single, sweeps), None, "{}", seed);
    }
}

/// Events at time zero itself had not happened when the first sweep assumed so: two packets that come to one link at one instant changed
/// places.
#[test]
fn the_first_sweep_ends_one_instant_early() {
    let experiment = random::experiment(16_451_960_956_894_710_072).unwrap();
    let experiment = Experiment { ties: longfat_model::Ties::Random, ..experiment };
    assert_eq!(first_difference(run(&experiment, true), run(&experiment, false)), None);
}

/// An endpoint came after its link in the order of a sweep. What it sent at the last instant of the run did not come to the link, and the
/// audit missed it.
#[test]
fn what_is_sent_at_the_last_instant_comes_to_its_link() {
    let experiment = random::experiment(10_854_178_227_854_355_956).unwrap();
    let experiment = Experiment { ties: longfat_model::Ties::Random, ..experiment };
    assert_eq!(first_difference(run(&experiment, true), run(&experiment, false)), None);
}

/// Two receivers on one host got their packets at one instant by one link, which keeps their order and so lets them come together, and
/// answered at once. Whose answer was first depended on how far the stages had lived.
#[test]
fn answers_of_one_instant_are_in_the_order_of_their_endpoints() {
    let mut experiment = random::experiment(9_792_983_952_532_144_995).unwrap();
    experiment.measure.packets = Some(Watched::All);
    assert_eq!(first_difference(run(&experiment, true), run(&experiment, false)), None);
    let experiment = random::experiment(14_095_878_543_118_230_375).unwrap();
    let mut world = World::new(&experiment).unwrap();
    (world.context.turns.sweep, world.context.turns.stage) = (0, 6);
    let turns = drive(world, &experiment, None, &mut |_| true).unwrap();
    assert_eq!(first_difference(turns, run(&experiment, false)), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    /// A stage that has had its turn leaves the rest for the next sweep.
    #[test]
    fn turns_change_no_number(seed in any::<u64>(), sweep in 0..300_u64, stage in 1..20_u64) {
        let experiment = random::experiment(seed);
        prop_assume!(experiment.is_some());
        let experiment = experiment.unwrap();
        let mut world = World::new(&experiment).unwrap();
        (world.context.turns.sweep, world.context.turns.stage) = (sweep, stage);
        let (turns, sweeps) = (drive(world, &experiment, None, &mut |_| true).unwrap(), run(&experiment, false));
        prop_assert_eq!(first_difference(turns, sweeps), None, "{}", seed);
    }
}

/// A flow a million times as fast as the link it crosses sends many packets in a period. The run can be stopped all the same.
#[test]
fn a_run_can_be_stopped_however_fast_a_flow_is() {
    let edge_rate = Rate::from_bps(100_000_000_000_000);
    let traffic = Traffic::of("udp", &[("rate", Value::Rate(edge_rate))]);
    let mut experiment = Dumbbell { traffic, edge_rate, ..Dumbbell::default() }.experiment();
    experiment.measure.interval = None;
    let mut world = World::new(&experiment).unwrap();
    (world.context.turns.sweep, world.context.turns.stage) = (10_000, 1000);
    let mut before = 0;
    for _ in 0..20 {
        let pause = world.run(Time::MAX, 20_000);
        assert_eq!(pause, crate::engine::world::Pause::Steps);
        assert!(world.context.steps - before < 100_000, "{} steps in one go", world.context.steps - before);
        before = world.context.steps;
    }
}

/// Stops may also be in the middle of a run, at any instant.
#[test]
fn a_look_at_any_time_sees_the_same() {
    for seed in 0..12 {
        let Some(mut experiment) = random::experiment(seed) else { continue };
        for flow in &mut experiment.flows {
            if flow.traffic.volume().is_some() {
                flow.traffic = Traffic::bulk();
            }
        }
        let (mut single, mut sweeps) = (World::new(&experiment).unwrap(), World::new(&experiment).unwrap());
        single.be_single();
        for at in (0..1_500_000_000_000).step_by(12_345_678_901) {
            for world in [&mut single, &mut sweeps] {
                world.run(Time::from_ps(at), u64::MAX);
                world.advance_links();
            }
            for (a, b) in single.links().zip(sweeps.links()) {
                assert_eq!(format!("{:?}", a.count), format!("{:?}", b.count));
                assert_eq!((a.in_flight(), a.busy(single.now()), a.queue_holds()), (b.in_flight(), b.busy(sweeps.now()), b.queue_holds()));
            }
        }
    }
}

/// A volume is not known to be delivered before its last byte has been sent: until then a run that ends with it goes in sweeps.
#[test]
fn a_run_with_a_volume_goes_in_sweeps_to_near_its_end() {
    let traffic = Traffic::ttcp(8_000_000);
    let experiment = Dumbbell { traffic, duration: Duration::from_secs(60), ..Dumbbell::default() }.experiment();
    let (single, sweeps) = (run(&experiment, true), run(&experiment, false));
    assert!(2 * sweeps.steps < single.steps, "{} {}", single.steps, sweeps.steps);
    assert_eq!(numbers(single), numbers(sweeps));
}

/// Packets lost on a link are released as the run goes on, not only when the link is looked at.
#[test]
fn lost_packets_are_not_kept() {
    let loss = loss::choice("bernoulli").with(&[("probability", Value::Number(0.05))]);
    let experiment = Dumbbell { loss, traffic: Traffic::udp(Rate::from_bps(8_000_000), 1500), ..Dumbbell::default() }.experiment();
    let mut world = World::new(&experiment).unwrap();
    world.run(Time::from_ps(9_000_000_000_000), u64::MAX);
    let lost: u64 = world.links().map(|link| link.count.lost).sum();
    // 6000 packets in 9 s; some seven are under way at a time.
    assert!(lost > 200 && world.context.packets.len() < 30, "{lost} lost, {} kept", world.context.packets.len());
}

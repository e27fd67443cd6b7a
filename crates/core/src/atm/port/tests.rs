//! Promises of every policy of the registry at a port, whatever its parameters, and a comparison of a port with a plain reference that
//! keeps every cell.

mod at_inputs;
mod reference;

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::atm::discard::{self, DiscardContext, DiscardKind, REGISTRY, Verdict, find};
use crate::packet::{Direction, Ecn, Packet, Packets, Segment};
use crate::params::Params;
use crate::params::testing::any_params;
use crate::rng::Rng;
use crate::units::Rate;
use reference::{Cell, Reference};

/// 53 bytes in 3 microseconds.
const CELL_TIME: Duration = Duration::from_micros(3);
const CHANNELS: usize = 6;
/// Cells of the largest packet.
const FRAME: u32 = 12;

/// A packet that comes to a port: its channel, cells, whether it is ECN-capable, and the time since the packet before it on the same line
/// was through.
#[derive(Clone, Copy, Debug)]
struct Given {
    channel: usize,
    cells: u32,
    is_ect: bool,
    gap: Duration,
}

fn packets_given() -> impl Strategy<Value = Vec<Given>> {
    let gap = prop_oneof![4 => Just(0), 1 => 0..20_000_000_u64].prop_map(Duration::from_ps);
    let one = (0..CHANNELS, 1..=FRAME, any::<bool>(), gap).prop_map(|(channel, cells, is_ect, gap)| Given { channel, cells, is_ect, gap });
    prop::collection::vec(one, 1..120)
}

/// Returns a policy with parameters that it accepts.
fn policy() -> impl Strategy<Value = (&'static DiscardKind, Params)> {
    (0..REGISTRY.len())
        .prop_flat_map(|i| any_params(REGISTRY[i].params).prop_map(move |params| (&REGISTRY[i], params)))
        .prop_filter("the policy refuses its parameters", |(kind, params)| (kind.check)(params, &context()).is_ok())
}

fn context() -> DiscardContext {
    DiscardContext { rate: Rate::from_bps(141_333_333), frame: FRAME, rng: Rng::named(1, "discard") }
}

fn with_buffer(name: &str, cells: u64) -> (&'static DiscardKind, Params) {
    let kind = find(name).unwrap();
    let mut params = Params::defaults(kind.params);
    params.set("buffer", crate::params::Value::Count(cells));
    (kind, params)
}

/// Returns the cell times of the lines into a port: as fast as it, slower, faster. Three lines that are as fast are served in rounds.
fn spacing(input: usize) -> Duration {
    [CELL_TIME, CELL_TIME, CELL_TIME, Duration::from_ps(4_100_000), Duration::from_ps(1_900_000)][input % 5]
}

fn port(kind: &DiscardKind, params: &Params, inputs: Vec<Duration>, is_before_switch: bool) -> Port {
    slower_port(kind, params, inputs, is_before_switch, CELL_TIME)
}

/// Returns a port with a line that need not be as fast as the switch.
fn slower_port(kind: &DiscardKind, params: &Params, inputs: Vec<Duration>, is_before_switch: bool, cell_time: Duration) -> Port {
    let config = PortConfig {
        slot_time: CELL_TIME,
        cell_time,
        buffer: discard::buffer(params),
        at_inputs: false,
        inputs,
        channels: CHANNELS,
        is_before_switch,
        after_loss: (kind.after_loss)(params),
        accounts: kind.accounts,
        rng: Rng::named(1, "fabric"),
    };
    Port::new(config, vec![(kind.build)(params, context())])
}

/// Returns the runs that `given` makes on `lines` lines, in order of time, and the line of each. A channel is on one line.
fn runs(given: &[Given], lines: usize) -> Vec<(usize, Run)> {
    let mut packets = Packets::new();
    let mut free = vec![Time::ZERO; lines];
    let mut runs: Vec<(usize, Run)> = given
        .iter()
        .enumerate()
        .map(|(i, &Given { channel, cells, is_ect, gap })| {
            let line = channel % lines;
            let segment = Segment::default();
            let arrives = free[line] + gap + spacing(line);
            free[line] = free[line] + gap + spacing(line) * u64::from(cells);
            let run = Run {
                packet: packets.insert(Direction::There, Packet::new(Time::ZERO, 0, Ecn::NotEct, &segment), segment),
                route: i as u32,
                channel: channel as u32,
                cells,
                of: cells,
                arrives,
                is_end: true,
                is_final: true,
                is_lost: false,
                is_marked: false,
                is_ect,
            };
            (line, run)
        })
        .collect();
    runs.sort_by_key(|(_, run)| run.arrives);
    runs
}

/// Observable state of a port.
#[derive(Debug, PartialEq)]
struct Seen {
    outcomes: Vec<Outcome>,
    count: Count,
    /// State at each look: cells in the buffer, transmitted, busy, and the integral of the first.
    looks: Vec<(u64, u64, Duration, u128)>,
}

/// Sends `runs` through a new port, which is told of each when its first cell comes, and looked at after each.
fn through(mut port: Port, runs: &[(usize, Run)]) -> Seen {
    let mut seen = Seen { outcomes: Vec::new(), count: Count::default(), looks: Vec::new() };
    let mut look = |port: &mut Port, now: Time| {
        let news = port.next_news();
        let (due, lag) = (port.may_wait(news, PATIENCE), port.lag());
        assert!(news <= due && due <= news.saturating_add(PATIENCE));
        port.advance(now);
        for outcome in port.outcomes() {
            if let Outcome::Whole { leaves, .. } = outcome {
                assert!(now >= news, "a frame was seen to leave at {leaves:?} by {now:?}, before there was news at {news:?}");
                assert!(leaves >= due + lag, "a frame left at {leaves:?}, and the port was thought to have time until {due:?}");
            }
            seen.outcomes.push(outcome);
        }
        seen.looks.push((port.backlog(now), port.transmitted(now), port.busy(now), port.waited(now)));
    };
    for (line, run) in runs {
        look(&mut port, run.arrives);
        port.arrive(*line, *run);
    }
    look(&mut port, END);
    assert_eq!(port.next_news(), Time::MAX);
    assert_eq!(port.unfinished().count(), 0);
    seen.count = port.count;
    seen
}

/// Time longer than some queues, and shorter than others.
const PATIENCE: Duration = Duration::from_micros(100);
/// Time long after everything.
const END: Time = Time::from_ps(1_000_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The port that keeps no cell and skips idle times does the same as the one that keeps all cells.
    #[test]
    fn a_port_is_its_reference((kind, params) in policy(), given in packets_given(), lines in 1..6_usize, slower_ps in prop_oneof![Just(0), 0..5_000_000_u64]) {
        let cell_time = CELL_TIME + Duration::from_ps(slower_ps);
        let runs = runs(&given, lines);
        let seen = through(slower_port(kind, &params, (0..lines).map(spacing).collect(), false, cell_time), &runs);
        let mut reference = Reference::new(kind, &params, lines, cell_time);
        let mut pending = runs.iter().peekable();
        let mut looks = seen.looks.iter();
        let total: u64 = given.iter().map(|g| u64::from(g.cells)).sum();
        let end = runs.last().unwrap().1.arrives.as_ps() / CELL_TIME.as_ps() + 3 * total + 10;
        for slot in 0..end {
            let begins = Time::from_ps(slot * CELL_TIME.as_ps());
            while let Some((line, run)) = pending.next_if(|(_, run)| run.arrives <= begins) {
                reference.announce(*line, *run);
                // Between slots the cells of the slots before are there.
                let (queued, ..) = looks.next().unwrap();
                prop_assert_eq!(*queued, reference.backlog(run.arrives), "at {:?}", run.arrives);
            }
            reference.slot(slot);
        }
        let whole: Vec<(u32, Time)> = seen.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Whole { route, leaves, is_marked, .. } => {
                assert_eq!(*is_marked, reference.marked.contains(route));
                Some((*route, *leaves))
            }
            _ => None,
        }).collect();
        prop_assert_eq!(whole, reference.whole());
        prop_assert_eq!(seen.count.passed, reference.sent.len() as u64);
        for why in [CellDrop::Overflow, CellDrop::Rest, CellDrop::Early] {
            let of = reference.dropped.iter().filter(|(_, other)| *other == why).count() as u64;
            prop_assert_eq!(seen.count.dropped[why as usize], of, "{:?}", why);
        }
        let (backlog, transmitted, busy, waited) = *seen.looks.last().unwrap();
        prop_assert_eq!((backlog, transmitted), (0, reference.sent.len() as u64));
        prop_assert_eq!(busy, cell_time * transmitted);
        prop_assert_eq!(waited, reference.integral);
        // RF95 §4: only a full buffer, or a frame dropped whole, loses the end of a frame; policies that do not look for it may lose it.
        let of_rest = |(cell, why): &&(Cell, CellDrop)| cell.is_end() && *why == CellDrop::Rest;
        let is_blind = matches!((kind.after_loss)(&params), AfterLoss::Cells(_));
        prop_assert!(is_blind || reference.dropped.iter().filter(of_rest).count() == 0);
    }

    /// Several slots done at once give the same as slot by slot. Before another switch a port goes slot by slot, because that switch must
    /// know the order of the cells.
    #[test]
    fn rounds_are_slots((kind, params) in policy(), given in packets_given(), lines in 1..6_usize) {
        let of = |is_before_switch| {
            let mut port = port(kind, &params, (0..lines).map(spacing).collect(), is_before_switch);
            runs(&given, lines).into_iter().for_each(|(line, run)| port.arrive(line, run));
            port.advance(END);
            let whole: Vec<(u32, Time)> = port
                .outcomes()
                .filter_map(|outcome| if let Outcome::Whole { route, leaves, .. } = outcome { Some((route, leaves)) } else { None })
                .collect();
            (whole, port.count, port.turn)
        };
        let ((whole, count, turn), (of_slots, count_of_slots, turn_of_slots)) = (of(false), of(true));
        prop_assert_eq!((count, turn), (count_of_slots, turn_of_slots));
        // Some packets are taken for whole before a switch that are not.
        prop_assert!(whole.iter().all(|one| of_slots.contains(one)));
    }

    /// Cells and frames are conserved; frames are whole if the buffer did not overflow; and a second run is equal.
    #[test]
    fn nothing_is_lost_from_the_books((kind, params) in policy(), given in packets_given(), lines in 1..6_usize) {
        let runs = runs(&given, lines);
        let new = || port(kind, &params, (0..lines).map(spacing).collect(), false);
        let seen = through(new(), &runs);
        let Count { passed, whole, dead, packets_whole, packets_partial, packets_dropped, packets_merged, packets_marked, .. } = seen.count;
        prop_assert_eq!(seen.count.cells_in(), given.iter().map(|g| u64::from(g.cells)).sum::<u64>());
        prop_assert_eq!(passed, whole + dead);
        prop_assert_eq!(packets_whole + packets_partial + packets_dropped + packets_merged, given.len() as u64);
        let ended = |outcome: &&Outcome| matches!(outcome, Outcome::Whole { .. } | Outcome::Lost { is_gone: true, .. });
        prop_assert_eq!(seen.outcomes.iter().filter(ended).count(), given.len());
        prop_assert!(seen.count.queue_max <= discard::buffer(&params));
        let [overflow, rest, early] = seen.count.dropped;
        if overflow == 0 {
            prop_assert_eq!((rest, dead, packets_partial, packets_merged), (0, 0, 0, 0), "{}: only a full buffer breaks a frame", kind.name);
        }
        prop_assert!((kind.after_loss)(&params) != AfterLoss::Nothing || rest == 0);
        prop_assert!(kind.name.starts_with("epd") || early == 0);
        prop_assert!(kind.name == "epd_ecn" || packets_marked == 0);
        prop_assert_eq!(seen, through(new(), &runs));
    }

    /// Cells that go on to a second switch arrive there one by one, in whatever runs they are announced.
    #[test]
    fn a_second_switch_sees_cells((kind, params) in policy(), (kind2, params2) in policy(), given in packets_given()) {
        let runs = runs(&given, 4);
        let mut first = port(kind, &params, (0..4).map(spacing).collect(), true);
        let mut second = port(kind2, &params2, vec![CELL_TIME], false);
        let (delay, first_lag) = (Duration::from_micros(7), first.lag());
        let (mut lost, mut gone, mut whole) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut known = Vec::new();
        let mut announced = Vec::new();
        let step = |first: &mut Port, second: &mut Port, now: Time, announced: &mut Vec<Run>, known: &mut Vec<Outcome>| {
            let news = first.next_news();
            let due = first.may_wait(news, PATIENCE);
            first.advance(now);
            known.extend(first.outcomes().filter(|outcome| !matches!(outcome, Outcome::Whole { .. })));
            for run in first.onward() {
                assert!(run.cells == 0 || run.arrives >= due + first_lag, "{run:?} was due at {due:?}");
                let run = Run { arrives: run.arrives + delay, ..run };
                announced.push(run);
                second.arrive(0, run);
            }
            second.advance(now);
            known.extend(second.outcomes());
        };
        for (line, run) in &runs {
            step(&mut first, &mut second, run.arrives, &mut announced, &mut known);
            first.arrive(*line, *run);
        }
        step(&mut first, &mut second, END, &mut announced, &mut known);
        for outcome in known {
            match outcome {
                Outcome::Whole { route, leaves, .. } => whole.push((route, leaves)),
                Outcome::Lost { route, is_gone, packet, .. } => {
                    prop_assert!(lost.insert(route), "told twice");
                    let twice = is_gone && !gone.insert(format!("{packet:?}"));
                    prop_assert!(!twice);
                }
                Outcome::Gone { packet } => {
                    let first = gone.insert(format!("{packet:?}"));
                    prop_assert!(first, "let go of twice");
                }
                Outcome::Marked { .. } => {}
            }
        }
        prop_assert_eq!(lost.len() + whole.len(), given.len(), "each packet is whole or lost, once");
        prop_assert_eq!(gone.len(), lost.len(), "what is lost is let go of");
        prop_assert_eq!(first.unfinished().chain(second.unfinished()).count(), 0);
        prop_assert_eq!(second.count.cells_in(), first.count.passed);

        let mut reference = Reference::new(kind, &params, 4, CELL_TIME);
        let mut reference2 = Reference::new(kind2, &params2, 1, CELL_TIME);
        let mut pending = runs.iter().peekable();
        let total: u64 = given.iter().map(|g| u64::from(g.cells)).sum();
        let end = runs.last().unwrap().1.arrives.as_ps() / CELL_TIME.as_ps() + 3 * total + 20;
        for slot in 0..end {
            while let Some((line, run)) = pending.next_if(|(_, run)| run.arrives.as_ps() <= slot * CELL_TIME.as_ps()) {
                reference.announce(*line, *run);
            }
            let sent = reference.sent.len();
            reference.slot(slot);
            reference2.inputs[0].extend(reference.sent[sent..].iter().map(|(time, cell)| (*time + delay, *cell)));
            reference2.slot(slot);
        }
        prop_assert_eq!(second.count.passed, reference2.sent.len() as u64);
        prop_assert_eq!(whole, reference2.whole());
    }
}

/// RF95 §2: two cells for one place have equal chances.
#[test]
fn contenders_have_equal_chances() {
    let (kind, params) = with_buffer("plain", 1);
    let given: Vec<Given> = (0..2).map(|channel| Given { channel, cells: 40_000, is_ect: false, gap: Duration::ZERO }).collect();
    let runs = runs(&given, 2);
    let mut port = port(kind, &params, vec![CELL_TIME; 2], true);
    for (line, run) in &runs {
        port.arrive(*line, *run);
    }
    port.advance(END);
    let mut passed = [0_u64; 2];
    for run in port.onward() {
        passed[run.channel as usize] += u64::from(run.cells);
    }
    // One place is free in each slot: 40,000 fair tosses, whose standard deviation is 100.
    assert_eq!(passed.iter().sum::<u64>(), 40_000);
    assert!(passed.iter().all(|n| n.abs_diff(20_000) < 400), "{passed:?}");
}

/// Three inputs in turn: each sends two cells in three slots.
#[test]
fn inputs_are_served_in_turn() {
    let (kind, params) = with_buffer("plain", 1000);
    let given: Vec<Given> = (0..3).map(|channel| Given { channel, cells: 12, is_ect: false, gap: Duration::ZERO }).collect();
    let mut port = port(kind, &params, vec![CELL_TIME; 3], true);
    for (line, run) in runs(&given, 3) {
        port.arrive(line, Run { arrives: Time::from_ps(3_000_000), ..run });
    }
    port.advance(END);
    let order: Vec<u32> = port.onward().flat_map(|run| std::iter::repeat_n(run.channel, run.cells as usize)).collect();
    assert_eq!(order[..9], [1, 2, 0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(port.count.queue_max, 19, "36 cells come in 18 slots, and one leaves in each but the first");
}

/// Turns go on after rounds in which an input that was served before them has no cell: input 3, the last to be served, falls silent, and 0,
/// 1 and 2 go on in turn. When 3 has a cell again, 2 was served last, so 3 is next, not 0.
#[test]
fn after_rounds_it_is_the_turn_of_whoever_was_silent() {
    let (kind, params) = with_buffer("plain", 1000);
    let frame = |channel, cells, gap_us| Given { channel, cells, is_ect: false, gap: Duration::from_micros(gap_us) };
    let long = |channel| frame(channel, 60, 0);
    let of = |first_us, silent_us, is_before_switch| {
        let given = [long(0), long(1), long(2), frame(3, 1, first_us), frame(3, 12, silent_us)];
        let mut port = port(kind, &params, vec![CELL_TIME; 4], is_before_switch);
        for (line, run) in runs(&given, 4) {
            port.arrive(line, run);
        }
        port.advance(END);
        let left = port
            .outcomes()
            .filter_map(|outcome| if let Outcome::Whole { route, leaves, .. } = outcome { Some((route, leaves)) } else { None });
        (left.collect::<Vec<_>>(), port.turn)
    };
    for (first_us, silent_us) in (0..9).flat_map(|first_us| (0..90).map(move |silent_us| (first_us, silent_us))) {
        let (rounds, slots) = (of(first_us, silent_us, false), of(first_us, silent_us, true));
        assert_eq!(rounds, slots, "3 comes after {first_us} us, and is silent for {silent_us} us");
    }
}

/// A frame alone: its first cell is there at 3 us, crosses in the slot from then on, and leaves in the next.
#[test]
fn a_frame_alone_takes_its_cells_and_two_slots() {
    let (kind, params) = with_buffer("epd", 100);
    let runs = runs(&[Given { channel: 0, cells: 10, is_ect: false, gap: Duration::ZERO }], 1);
    let seen = through(port(kind, &params, vec![CELL_TIME], false), &runs);
    let Outcome::Whole { leaves, .. } = seen.outcomes[0] else { panic!("{:?}", seen.outcomes) };
    // The last cell comes at 30 us, and has left at 36 us.
    assert_eq!(leaves, Time::from_ps(36_000_000));
    assert_eq!(seen.looks.last().unwrap().2, Duration::from_micros(30));
    assert_eq!(seen.count.queue_max, 1);
}

//! Hosts with bounded memory, and applications that take their time to read.

use std::sync::Arc;

use longfat_core::link::loss;
use longfat_core::queue::DropReason;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Experiment, Host, Memory};
use longfat_record::trace::{MemoryRecord, Trace};
use longfat_tcp::{TcpConfig, window_sizing};
use proptest::prelude::*;

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn mbps(n: u64) -> Rate {
    Rate::from_bps(n * 1_000_000)
}

fn sized(kind: &str, buffer: u64) -> TcpConfig {
    TcpConfig { window_sizing: window_sizing::choice(kind), send_buffer: buffer, receive_buffer: buffer, ..Dumbbell::default().tcp }
}

/// Returns the experiment with `bytes` of memory on the host of all receivers (`at` 1) or senders (0).
fn with_memory(mut experiment: Experiment, at: usize, bytes: u64) -> Experiment {
    let node = if at == 0 { experiment.flows[0].from } else { experiment.flows[0].to };
    experiment.hosts = vec![Host { memory: Some(Memory { bytes, least: None }), ..Host::new(node) }];
    experiment
}

/// Twenty connections into one host, whose applications read 1 Mb/s each, over a path that could carry 5 Mb/s of each.
fn readers(kind: &str) -> Experiment {
    let dumbbell = Dumbbell {
        streams: 20,
        rate: mbps(100),
        rtt: Duration::from_millis(50),
        stagger: Duration::from_millis(20),
        tcp: sized(kind, 256 * KIB),
        duration: Duration::from_secs(20),
        ..Dumbbell::default()
    };
    let mut experiment = with_memory(dumbbell.experiment(), 1, MIB);
    for flow in &mut experiment.flows {
        flow.read_rate = Some(mbps(1));
    }
    experiment
}

fn memory(trace: &Trace) -> MemoryRecord {
    trace.hosts[0].memory.unwrap()
}

fn drops_for_memory(trace: &Trace) -> u64 {
    trace.links.iter().flat_map(|link| &link.drops).filter(|(reason, _)| *reason == DropReason::NoMemory).map(|(_, n)| n).sum()
}

/// Weigle and Feng 2001, section V: the sum of the advertised windows, 5 MiB, is more than the memory, 1 MiB; packets are dropped that
/// were advertised to be handled.
#[test]
fn promises_beyond_the_memory_end_in_drops() {
    let trace = run(&readers("auto-psc")).unwrap();
    let of = memory(&trace);
    assert!(of.promised.peak > 4 * MIB, "{of:?}");
    assert!(of.buffered.peak <= MIB && of.buffered.peak > MIB - 60_000, "{of:?}");
    assert!(of.drops > 100 && drops_for_memory(&trace) == of.drops, "{of:?}");
    assert!(trace.flows.iter().map(|flow| flow.total.packets_dropped).sum::<u64>() >= of.drops);
}

/// Right-sizing makes no promise that there is no memory for, drops no packet, and the applications read as fast as they can.
#[test]
fn right_sizing_promises_what_there_is() {
    let trace = run(&readers("drs")).unwrap();
    let of = memory(&trace);
    assert_eq!((of.drops, drops_for_memory(&trace)), (0, 0));
    assert!(of.promised.peak <= MIB && of.buffered.peak <= MIB, "{of:?}");
    for flow in &trace.flows {
        let mbps = flow.total.delivered as f64 * 8.0 / 19.5e6;
        assert!((0.9..1.03).contains(&mbps), "{mbps}");
    }
}

#[test]
fn an_application_reads_at_its_rate_and_the_volume_ends_when_it_is_read() {
    let dumbbell = Dumbbell { traffic: Traffic::ttcp(MIB), duration: Duration::from_secs(60), ..Dumbbell::default() };
    let mut experiment = dumbbell.experiment();
    let at_once = run(&experiment).unwrap().flows[0].delivered_all.unwrap().as_secs_f64();
    experiment.flows[0].read_rate = Some(mbps(2));
    let trace = run(&experiment).unwrap();
    let slowly = trace.flows[0].delivered_all.unwrap().as_secs_f64();
    assert_eq!(trace.flows[0].total.delivered, MIB);
    // 8.39 Mbit at 2 Mb/s, from when the first segment has come; at once it is the 10 Mb/s of the link.
    assert!(at_once < 1.2 && (4.19..4.26).contains(&slowly), "{at_once} {slowly}");
}

/// Three senders, of 4, 12 and 64 segments of window, on a host with memory for 32 segments, of which each has 2 for what comes the other
/// way: max-min is 4, 11 and 11, where an even split would be 8 and two thirds.
#[test]
fn what_one_leaves_the_others_share() {
    let mss = u64::from(Dumbbell::default().tcp.mss);
    let dumbbell = Dumbbell { streams: 3, rate: mbps(1000), rtt: Duration::from_millis(100), ..Dumbbell::default() };
    let mut experiment = dumbbell.experiment();
    for (flow, segments) in experiment.flows.iter_mut().zip([4, 12, 64]) {
        Arc::make_mut(&mut flow.sender).send_buffer = segments * mss;
        Arc::make_mut(&mut flow.sender).receive_buffer = 4 * mss;
    }
    let experiment = with_memory(experiment, 0, 32 * mss);
    let trace = run(&experiment).unwrap();
    let segments: Vec<f64> = trace.flows.iter().map(|flow| flow.total.delivered as f64 / mss as f64 / 100.0).collect();
    assert!((3.7..4.1).contains(&segments[0]), "{segments:?}");
    assert!((segments[1] / segments[2] - 1.0).abs() < 0.1 && segments[1] > 10.5, "{segments:?}");
    assert_eq!(memory(&trace).drops, 0);
}

/// A host with enough memory gives the same results as none.
#[test]
fn memory_enough_changes_nothing() {
    for kind in ["static", "drs", "linux"] {
        let dumbbell = Dumbbell { streams: 3, tcp: sized(kind, 512 * KIB), ..Dumbbell::default() };
        let free = run(&dumbbell.experiment()).unwrap();
        for at in [0, 1] {
            let bounded = run(&with_memory(dumbbell.experiment(), at, 100 * MIB)).unwrap();
            assert_eq!(format!("{:?}", free.flows), format!("{:?}", bounded.flows), "{kind}, {at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// Whatever the sizing, the memory at either end, the losses and the readers: the books balance (the audit of every run), promises
    /// that are kept to never end in a drop, every stream is delivered whole, and a run repeats.
    #[test]
    fn streams_arrive_whole_through_little_memory(
        kinds in prop::collection::vec(prop::sample::select(window_sizing::NAMES), 1..6),
        at in 0..2_usize,
        spare in 0_u64..200,
        lossy in any::<bool>(),
        read_kbps in prop::option::of(200_u64..20_000),
    ) {
        let loss = if lossy { loss::choice("bernoulli").with(&[("probability", longfat_core::params::Value::Number(0.01))]) } else { loss::choice("none") };
        let dumbbell = Dumbbell {
            streams: kinds.len(),
            loss,
            queue: droptail(Capacity::Packets(30)),
            stagger: Duration::from_millis(7),
            traffic: Traffic::ttcp(300_000),
            duration: Duration::from_secs(3000),
            ..Dumbbell::default()
        };
        let mut experiment = dumbbell.experiment();
        for (flow, kind) in experiment.flows.iter_mut().zip(&kinds) {
            flow.sender = sized(kind, 128 * KIB).into();
            flow.receiver = sized(kind, 128 * KIB).into();
            flow.read_rate = read_kbps.map(|kbps| Rate::from_bps(kbps * 1000));
        }
        let mss = u64::from(experiment.flows[0].sender.mss);
        let experiment = with_memory(experiment, at, (4 * kinds.len() as u64 + spare) * mss);
        let trace = run(&experiment).unwrap();
        prop_assert!(trace.flows.iter().all(|flow| flow.total.delivered == 300_000), "{:?}", trace.flows);
        if at == 0 || kinds.iter().all(|kind| *kind == "drs") {
            prop_assert_eq!(memory(&trace).drops, 0);
        }
        prop_assert_eq!(format!("{:?}", run(&experiment).unwrap()), format!("{trace:?}"));
    }
}

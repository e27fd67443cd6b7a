//! Cost per data packet with each queue, against droptail: in a run, and in the queue alone.
//!
//! The run has ten flows with windows a little larger than the path holds, so that the queue holds 2 ms, too little for any queue to drop
//! or mark: all runs are equal but for the queue. In the queue alone a packet comes for each that leaves, from each of a number of flows in
//! turn. The CPU time is the least of [`ROUNDS`] runs, taken in turn.

use std::hint::black_box;
use std::io;

use longfat_core::packet::{Direction, Ecn, Packet, PacketId, Packets, Segment};
use longfat_core::params::Value;
use longfat_core::queue::{self, DropReason, Queue, QueueContext, QueueLog};
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::units::{Capacity, Rate};
use longfat_model::dumbbell::Dumbbell;
use longfat_tcp::TcpConfig;

use super::{Cost, dumbbell, run_child};

const ROUNDS: usize = 5;
/// Prefix of a queue's name on the command line, where a case may stand.
pub(crate) const PREFIX: &str = "queue:";
/// 622 Mb/s times 72 ms for ten flows, in bytes.
const SHARE: u64 = 559_800;
/// Prefix of a queue alone and a number of flows on the command line, where a case may stand.
pub(crate) const ALONE: &str = "alone:";
/// Flows through the queue alone.
const FLOWS: [u32; 2] = [10, 10_000];

/// Returns the dumbbell of one queue.
pub(crate) fn of(name: &str) -> Dumbbell {
    let base = dumbbell(10, 622, 70, 1, 30);
    let queue = queue::choice(name);
    let tcp = TcpConfig { receive_buffer: SHARE, initial_ssthresh: SHARE / 2, ..base.tcp };
    Dumbbell { queue, tcp, ..base }
}

/// Returns how much more than droptail a queue may cost.
fn limit(name: &str) -> Option<f64> {
    match name {
        // The link keeps droptail itself, in straight code.
        "codel" | "pie" => Some(1.3),
        "fq_codel" | "dualpi2" | "cake" => Some(1.8),
        _ => None,
    }
}

struct Silent;

impl QueueLog for Silent {
    fn dropped(&mut self, _: Time, _: PacketId, _: &Packets, _: DropReason) {}
    fn marked(&mut self, _: Time, _: PacketId, _: &Packets) {}
}

/// Returns the nanoseconds per packet through the queue alone, at 10 Gb/s, with `flows` flows of which each has two packets waiting.
fn alone(name: &str, flows: u32, cpu_ns: impl Fn() -> io::Result<u64>) -> io::Result<f64> {
    let rate = Rate::from_bps(10_000_000_000);
    let context = QueueContext { rate, rtt: Duration::from_millis(50), mtu: 1500, rng: Rng::named(1, name) };
    let kind = queue::named(name);
    let mut choice = queue::choice(name);
    if kind.params.iter().any(|param| param.name == "limit") {
        choice.params.set("limit", Value::Capacity(Capacity::Packets(1_000_000)));
    }
    if kind.params.iter().any(|param| param.name == "target") {
        // A target at which 24 ms are no standing queue.
        choice.params.set("target", Value::Duration(Duration::from_millis(90)));
    }
    if kind.params.iter().any(|param| param.name == "rtt") {
        // Cake's target follows its `rtt`: this gives the target above.
        choice.params.set("rtt", Value::Duration(Duration::from_millis(1800)));
    }
    let mut queue = (kind.build)(&choice.params, context);
    let (mut packets, mut log, step) = (Packets::new(), Silent, rate.transmit_time(1500));
    let arrive = |queue: &mut dyn Queue, packets: &mut Packets, now: Time, flow: u32| {
        let segment = Segment::new(0, 0, 1460);
        let id = packets.insert(Direction::There, Packet::new(now, 2 * flow, Ecn::NotEct, &segment), segment);
        queue.enqueue(now, id, packets, &mut Silent);
    };
    for flow in (0..flows).chain(0..flows) {
        arrive(&mut *queue, &mut packets, Time::ZERO, flow);
    }
    let (mut now, count) = (Time::ZERO, 2_000_000);
    let before = cpu_ns()?;
    for n in 0..count {
        now += step;
        if let Some(id) = queue.dequeue(now, &mut packets, &mut log) {
            packets.remove(black_box(id));
        }
        arrive(&mut *queue, &mut packets, now, n % flows);
    }
    Ok((cpu_ns()? - before) as f64 / f64::from(count))
}

/// Prints, in the child for `alone:NAME:FLOWS`, the nanoseconds per packet through the queue alone. (To count instructions or cache
/// misses.)
pub(crate) fn child(name: &str, cpu_ns: impl Fn() -> io::Result<u64>) -> io::Result<()> {
    let (queue, flows) = name.split_once(':').ok_or_else(|| io::Error::other(format!("no row {name:?}")))?;
    println!("{}", alone(queue, flows.parse().map_err(io::Error::other)?, cpu_ns)?);
    Ok(())
}

/// Prints the table, and returns its rows for `bench.json`.
pub(crate) fn table(cpu_ns: impl Fn() -> io::Result<u64>) -> io::Result<Vec<String>> {
    let names: Vec<&str> = queue::NAMES.iter().copied().filter(|name| *name == "droptail" || limit(name).is_some()).collect();
    let run = |name: &str| run_child(&format!("{PREFIX}{name}"), "whole");
    let mut best: Vec<(Cost, [f64; 2])> = Vec::new();
    for name in &names {
        best.push((run(name)?, [alone(name, FLOWS[0], &cpu_ns)?, alone(name, FLOWS[1], &cpu_ns)?]));
    }
    for _ in 1..ROUNDS {
        for ((cost, ns), name) in best.iter_mut().zip(&names) {
            cost.cpu_ns = cost.cpu_ns.min(run(name)?.cpu_ns);
            for (ns, flows) in ns.iter_mut().zip(FLOWS) {
                *ns = ns.min(alone(name, flows, &cpu_ns)?);
            }
        }
    }
    let per_packet = |cost: &Cost| cost.cpu_ns as f64 / cost.data_packets as f64;
    println!(
        "\n10 flows, 622 Mb/s, 70 ms, 30 s, 2 ms of queue; a data packet, and a packet through the queue alone; least of {ROUNDS} runs"
    );
    println!("queue      CPU ns  x droptail  promise  resent  alone, 10 flows  alone, 10,000 flows  x 10 flows");
    let mut rows = Vec::new();
    for (name, (cost, alone)) in names.iter().zip(&best) {
        let (ratio, growth) = (per_packet(cost) / per_packet(&best[0].0), alone[1] / alone[0]);
        let promise = limit(name).map_or("-".into(), |limit| format!("{limit:.2}"));
        println!(
            "{name:9} {:7.0}  {ratio:10.2}  {promise:>7}  {:6}  {:12.1} ns  {:16.1} ns  {growth:10.2}",
            per_packet(cost),
            cost.retransmitted,
            alone[0],
            alone[1],
        );
        rows.push(format!(
            "  {{\"queue\": \"{name}\", \"cpu_ns_per_data_packet\": {:.1}, \"over_droptail\": {ratio:.3}, \"alone_ns\": {:.1}, \"alone_10000_flows_ns\": {:.1}}}",
            per_packet(cost),
            alone[0],
            alone[1],
        ));
    }
    Ok(rows)
}

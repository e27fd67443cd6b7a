//! Cost per data packet and per connection with many connections: 100, 1000 and 10,000 between four pairs of hosts.
//!
//! The bottleneck grows with them, so that each has 4 Mb/s and the same losses, whatever their number: a window of 17 packets over 50 ms, a
//! queue of one BDP, and a slow start that ends at the share. They start one after the other within a second.
//!
//! Memory per connection is the difference between 1000 and 100 connections over the same bottleneck: both have as many packets in flight.
//!
//! A second table has 10 and 10,000 connections behind `droptail` and behind `fq_codel`, in which each has a flow queue and room for 250
//! ms.

use std::io;

use longfat_core::params::Value;
use longfat_core::queue;
use longfat_core::time::Duration;
use longfat_core::units::Rate;
use longfat_model::dumbbell::Dumbbell;
use longfat_tcp::TcpConfig;

use super::{Cost, run_child};

/// Prefix on the command line, where a case may stand: before the number of connections, or before the name of a queue, a colon and the
/// number.
pub(crate) const PREFIX: &str = "scale:";

const NUMBERS: [usize; 3] = [100, 1000, 10_000];
const PAIRS: usize = 4;
/// Queues whose cost with many flow queues is measured, and the numbers of connections.
const QUEUES: [&str; 2] = ["droptail", "fq_codel"];
const LINES: [usize; 2] = [10, 10_000];
const SHARE_MBPS: u64 = 4;
/// 1 Mb/s times 50 ms, in bytes.
const MBPS: u64 = 6250;
/// Data packets of a run, so that the shortest is long enough to be timed.
const PACKETS: u64 = 6_000_000;
const ROUNDS: usize = 3;

/// Returns the dumbbell of a row: `1000`, `fq_codel:1000`, or `100x40` for another share of the bottleneck per connection, in Mb/s.
pub(crate) fn of(name: &str) -> io::Result<Dumbbell> {
    let (kind, connections) = name.split_once(':').unwrap_or((QUEUES[0], name));
    let (connections, share_mbps) = match connections.split_once('x') {
        Some((connections, share)) => (connections, share.parse().map_err(io::Error::other)?),
        None => (connections, SHARE_MBPS),
    };
    let connections: usize = connections.parse().map_err(io::Error::other)?;
    // 10 connections use two pairs.
    let pairs = if connections.is_multiple_of(PAIRS) { PAIRS } else { PAIRS / 2 };
    let rate_mbps = share_mbps * connections as u64;
    let base = super::dumbbell(pairs, rate_mbps, 50, 2 * rate_mbps.div_ceil(1000), 1);
    let queue = match kind {
        "droptail" => base.queue,
        "fq_codel" => queue::choice(kind).with(&[("collisions", Value::Bool(false))]),
        _ => return Err(io::Error::other(format!("no row {name:?}"))),
    };
    Ok(Dumbbell {
        streams: connections / pairs,
        stagger: Duration::from_secs(1) / connections as u64,
        rate: Rate::from_bps(rate_mbps * 1_000_000),
        queue,
        tcp: TcpConfig { initial_ssthresh: share_mbps * MBPS, ..base.tcp },
        duration: Duration::from_secs((PACKETS * 12_000 / (rate_mbps * 1_000_000)).max(4)),
        ..base
    })
}

/// Runs each of `names` [`ROUNDS`] times, in turn. Returns the least of each.
fn least(names: &[String]) -> io::Result<Vec<Cost>> {
    let run = |name: &String| run_child(&format!("{PREFIX}{name}"), "whole");
    let mut best: Vec<Cost> = names.iter().map(run).collect::<io::Result<_>>()?;
    for _ in 1..ROUNDS {
        for (best, name) in best.iter_mut().zip(names) {
            best.cpu_ns = best.cpu_ns.min(run(name)?.cpu_ns);
        }
    }
    Ok(best)
}

fn per_packet(of: &Cost) -> f64 {
    of.cpu_ns as f64 / of.data_packets as f64
}

/// Prints the cost per data packet with 10,000 connections behind a queue, divided by that with 10. Returns the rows.
fn lines() -> io::Result<Vec<String>> {
    let names: Vec<String> = QUEUES.iter().flat_map(|kind| LINES.map(|n| format!("{kind}:{n}"))).collect();
    let best = least(&names)?;
    println!("\nthe same, 10 and 10,000 connections behind two queues; a data packet, least of {ROUNDS} runs");
    println!("queue     CPU ns, 10  CPU ns, 10,000  x 10  promise  resent, 10  resent, 10,000");
    let mut rows = Vec::new();
    for (kind, of) in QUEUES.iter().zip(best.chunks(LINES.len())) {
        let (few, many) = (per_packet(&of[0]), per_packet(&of[1]));
        let promise = if *kind == QUEUES[0] { "-" } else { "2.00" };
        let resent = |of: &Cost| 100.0 * of.retransmitted as f64 / of.data_packets as f64;
        println!(
            "{kind:8}  {few:10.0}  {many:14.0}  {:4.2}  {promise:>7}  {:8.2} %  {:12.2} %",
            many / few,
            resent(&of[0]),
            resent(&of[1])
        );
        rows.push(format!(
            "  {{\"lines\": \"{kind}\", \"cpu_ns_per_data_packet\": {few:.1}, \"cpu_ns_per_data_packet_10000\": {many:.1}, \"over_10\": {:.3}}}",
            many / few
        ));
    }
    Ok(rows)
}

/// Prints the table, and returns its rows for `bench.json`.
pub(crate) fn table() -> io::Result<Vec<String>> {
    let best = least(&NUMBERS.map(|n| n.to_string()))?;
    println!(
        "\nconnections of {SHARE_MBPS} Mb/s, 50 ms, over {PAIRS} pairs of hosts; a data packet, least of {ROUNDS} runs; memory: 1000 over 100 by the same bottleneck"
    );
    println!("connections  CPU ns  x 100  events  resent  timeouts  in flight  bytes per connection");
    let mut rows = Vec::new();
    for (n, of) in NUMBERS.into_iter().zip(&best) {
        let ratio = per_packet(of) / per_packet(&best[0]);
        let bytes = if n == NUMBERS[1] {
            let few = run_child(&format!("{PREFIX}{}x{}", NUMBERS[0], SHARE_MBPS * (n / NUMBERS[0]) as u64), "whole")?;
            of.peak_rss_bytes.saturating_sub(few.peak_rss_bytes) as f64 / (n - NUMBERS[0]) as f64
        } else {
            f64::NAN
        };
        let shown = if bytes.is_nan() { "-".into() } else { format!("{bytes:.0}") };
        println!(
            "{n:11}  {:6.0}  {ratio:5.2}  {:6.2}  {:5.2} %  {:7}  {:9}  {shown:>20}",
            per_packet(of),
            of.events as f64 / of.data_packets as f64,
            100.0 * of.retransmitted as f64 / of.data_packets as f64,
            of.timeouts,
            of.packets_in_network_max,
        );
        let bytes = if bytes.is_nan() { "null".into() } else { format!("{bytes:.0}") };
        rows.push(format!(
            "  {{\"connections\": {n}, \"cpu_ns_per_data_packet\": {:.1}, \"over_100\": {ratio:.3}, \"bytes_per_connection\": {bytes}}}",
            per_packet(of),
        ));
    }
    rows.extend(lines()?);
    Ok(rows)
}

//! What a data packet and a connection cost where there are many: 100, 1000 and 10,000 connections between four pairs of hosts.
//!
//! The bottleneck grows with them, so that each has 4 Mb/s of it, whatever their number, and loses as much: a window of 17 packets over
//! 50 ms, a queue of one BDP, and a slow start that ends at the share. They start one after the other within a second.

use std::io;

use longfat_core::time::Duration;
use longfat_core::units::Rate;
use longfat_experiment::dumbbell::Dumbbell;
use longfat_tcp::TcpConfig;

use super::{Cost, run_child};

/// Before the number of connections, where a case may stand.
pub const PREFIX: &str = "scale:";

const NUMBERS: [usize; 3] = [100, 1000, 10_000];
const PAIRS: usize = 4;
const SHARE_MBPS: u64 = 4;
/// 4 Mb/s times 50 ms, in bytes.
const SHARE: u64 = 25_000;
/// Data packets of a run, so that the shortest is long enough to be timed.
const PACKETS: u64 = 6_000_000;
/// A packet in the network: itself and its segment.
const PACKET_BYTES: u64 = 72;
const ROUNDS: usize = 3;

/// The dumbbell of so many connections.
pub fn of(connections: usize) -> Dumbbell {
    let rate_mbps = SHARE_MBPS * connections as u64;
    let base = super::dumbbell(PAIRS, rate_mbps, 50, 2 * rate_mbps.div_ceil(1000), 1);
    Dumbbell {
        streams: connections / PAIRS,
        stagger: Duration::from_secs(1) / connections as u64,
        rate: Rate::from_bps(rate_mbps * 1_000_000),
        tcp: TcpConfig { initial_ssthresh: SHARE, ..base.tcp },
        duration: Duration::from_secs((PACKETS * 12_000 / (rate_mbps * 1_000_000)).max(4)),
        ..base
    }
}

/// Prints the table, and returns its rows for `bench.json`.
pub fn table() -> io::Result<Vec<String>> {
    let name = |n: usize| format!("{PREFIX}{n}");
    let mut best: Vec<Cost> = NUMBERS.iter().map(|n| run_child(&name(*n), "whole")).collect::<io::Result<_>>()?;
    for _ in 1..ROUNDS {
        for (best, n) in best.iter_mut().zip(NUMBERS) {
            let again = run_child(&name(n), "whole")?;
            best.cpu_ns = best.cpu_ns.min(again.cpu_ns);
        }
    }
    let per_packet = |of: &Cost| of.cpu_ns as f64 / of.data_packets as f64;
    let own = |of: &Cost| of.peak_rss_bytes.saturating_sub(of.packets_in_network_max * PACKET_BYTES);
    println!(
        "\nconnections of 4 Mb/s, 50 ms, over {PAIRS} pairs of hosts; a data packet, least of {ROUNDS} runs; memory beside packets in flight"
    );
    println!("connections  CPU ns  x 100  events  resent  timeouts  in flight  bytes a connection");
    let mut rows = Vec::new();
    for (n, of) in NUMBERS.into_iter().zip(&best) {
        let ratio = per_packet(of) / per_packet(&best[0]);
        // What each of the connections beyond the first hundred added.
        let bytes = if n > NUMBERS[0] { own(of).saturating_sub(own(&best[0])) as f64 / (n - NUMBERS[0]) as f64 } else { f64::NAN };
        println!(
            "{n:11}  {:6.0}  {ratio:5.2}  {:6.2}  {:5.2} %  {:7}  {:9}  {bytes:18.0}",
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
    Ok(rows)
}

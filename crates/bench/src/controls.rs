//! Cost per data packet with each congestion control, against Reno, on one dumbbell in one run.
//!
//! The path is that of case b, ten flows on 622 Mb/s. Losses are alike for all controls: four BDP of buffer and a slow start that ends at
//! the share of each flow, so that no control overflows the queue much, and one packet in 10,000 lost on the line. The table shows where a
//! control loses more all the same: repairing a loss costs more than any control. The CPU time is the least of [`ROUNDS`] runs, taken in
//! turn, so that other load on the machine falls on all; instructions are counted where `perf` can.

use std::{env, io};

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::units::Capacity;
use longfat_model::dumbbell::{Dumbbell, droptail};
use longfat_tcp::{TcpConfig, congestion};

use super::{Cost, dumbbell, parse};

const ROUNDS: usize = 3;
/// A tenth of 622 Mb/s times 70 ms, in bytes.
const SHARE: u64 = 544_250;
/// Prefix of a control's name on the command line, where a case may stand.
pub(crate) const PREFIX: &str = "control:";

/// Returns the dumbbell of one control.
pub(crate) fn of(control: &str) -> Dumbbell {
    let base = dumbbell(10, 622, 70, 1, 30);
    let tcp = TcpConfig { congestion_control: congestion::choice(control), initial_ssthresh: SHARE, ..base.tcp };
    Dumbbell {
        queue: droptail(Capacity::Bdp(4.0)),
        loss: loss::choice("bernoulli").with(&[("probability", Value::Number(1e-4))]),
        // Prague gets the feedback that it needs.
        tcp: TcpConfig { ecn: congestion::ecn_use(&tcp).default, ..tcp },
        ..base
    }
}

/// Returns how much more than Reno a control may cost.
fn limit(control: &str) -> f64 {
    // Pacing gives each segment a timer of its own, marks are read one by one, and BBR wants a record of each transmission: none of
    // these goes by the path of plain segments, which Reno has.
    if ["bbr", "bbr3", "fast", "dctcp", "prague"].contains(&control) { 2.2 } else { 1.3 }
}

/// Cost per data packet of one run.
#[derive(Clone, Copy)]
struct PerPacket {
    cpu_ns: f64,
    instructions: Option<f64>,
    events: f64,
    cost: Cost,
}

fn run(control: &str) -> io::Result<PerPacket> {
    let child = [env::current_exe()?.into_os_string(), "--child".into(), format!("{PREFIX}{control}").into(), "whole".into()];
    let (stdout, count) = super::counted(&child)?;
    let cost = parse(control, &stdout)?;
    let packets = cost.data_packets as f64;
    Ok(PerPacket {
        cpu_ns: cost.cpu_ns as f64 / packets,
        instructions: count.map(|n| n / packets),
        events: cost.events as f64 / packets,
        cost,
    })
}

/// Prints the table, and returns its rows for `bench.json`.
pub(crate) fn table() -> io::Result<Vec<String>> {
    let mut best: Vec<PerPacket> = congestion::NAMES.iter().map(|name| run(name)).collect::<io::Result<_>>()?;
    for _ in 1..ROUNDS {
        for (best, name) in best.iter_mut().zip(congestion::NAMES) {
            let again = run(name)?;
            best.cpu_ns = best.cpu_ns.min(again.cpu_ns);
        }
    }
    let reno = best[congestion::NAMES.iter().position(|name| *name == "reno").expect("reno is registered")];
    println!("\n10 flows, 622 Mb/s, 70 ms, 30 s, 1e-4 random loss; a data packet, least of {ROUNDS} runs");
    println!("control     CPU ns  x reno  promise  instructions  x reno  events  resent  data packets  timeouts");
    let mut rows = Vec::new();
    for (name, of) in congestion::NAMES.iter().zip(&best) {
        let ratio = of.cpu_ns / reno.cpu_ns;
        let instructions = of.instructions.zip(reno.instructions);
        println!(
            "{name:10} {:7.0}  {ratio:6.2}  {:7.1}  {:>12}  {:>6}  {:6.2}  {:5.2} %  {:10.2} M  {:8}",
            of.cpu_ns,
            limit(name),
            instructions.map_or("not counted".into(), |(own, _)| format!("{own:.0}")),
            instructions.map_or("-".into(), |(own, reno)| format!("{:.2}", own / reno)),
            of.events,
            100.0 * of.cost.retransmitted as f64 / of.cost.data_packets as f64,
            of.cost.data_packets as f64 / 1e6,
            of.cost.timeouts,
        );
        rows.push(format!(
            "  {{\"control\": \"{name}\", \"cpu_ns_per_data_packet\": {:.1}, \"over_reno\": {ratio:.3}, \"promise\": {:.1}}}",
            of.cpu_ns,
            limit(name),
        ));
    }
    Ok(rows)
}

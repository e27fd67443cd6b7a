//! Cost per cell: ten connections into one output port of a switch, as in Figure 1 of Romanow and Floyd 1995.
//!
//! Only cells across the bottleneck are counted. The cost includes dropped cells, cells of ACKs, and TCP at both ends. The CPU time is the
//! least of [`ROUNDS`] runs, taken in turn.

use std::{env, io};

use longfat_experiment::Document;
use longfat_model::Experiment;

const ROUNDS: usize = 3;
/// Prefix of a case's name: `cells:epd-1500`.
pub(crate) const PREFIX: &str = "cells:";

/// Policy, and bytes of the IP packets.
const CASES: [(&str, u32); 6] = [("plain", 512), ("plain", 1500), ("plain", 9180), ("epd", 512), ("epd", 1500), ("epd", 9180)];

/// Returns the experiment of the case `name`.
pub(crate) fn of(name: &str) -> io::Result<Experiment> {
    let (policy, size) = name.split_once('-').ok_or_else(|| io::Error::other(format!("no case {name:?}")))?;
    let text = format!(
        "[path]\npreset = \"atm\"\nsenders = 10\ndiscard = {{ kind = \"{policy}\", buffer = \"1000 cells\" }}\n\
         bottleneck = {{ type = \"atm\", delay = \"3 us\", mtu = \"{size} bytes\" }}\n\
         edge = {{ type = \"atm\", delay = \"3 us\", mtu = \"{size} bytes\" }}\n\
         [[flow]]\ncount = 10\nstagger = \"5 ms\"\nstack = \"rfc\"\nwindow = \"64 KiB\"\nrto_min = \"1 ms\"\n\
         [measure]\nduration = \"15 s\"\n"
    );
    let run = Document::parse(&text, name).and_then(|document| document.run(0)).map_err(io::Error::other)?;
    Ok(run.experiment)
}

/// Cost per cell of one run.
#[derive(Clone, Copy)]
struct PerCell {
    cells: f64,
    cpu_ns: f64,
    instructions: Option<f64>,
    events: f64,
}

/// Prints, in the child, cells across the bottleneck, events, CPU time.
pub(crate) fn child(name: &str, cpu_ns: impl Fn() -> io::Result<u64>) -> io::Result<()> {
    let experiment = of(name)?;
    let before = cpu_ns()?;
    let trace = longfat_sim::run(&experiment).map_err(io::Error::other)?;
    let spent = cpu_ns()? - before;
    let cells: u64 = trace
        .links
        .iter()
        .zip(&experiment.network.links)
        .filter(|(_, link)| link.bottleneck)
        .filter_map(|(record, _)| record.cells.as_ref())
        .map(|cells| cells.transmitted)
        .sum();
    println!("{cells} {} {spent}", trace.steps);
    Ok(())
}

fn run(name: &str) -> io::Result<PerCell> {
    let child = [env::current_exe()?.into_os_string(), "--child".into(), format!("{PREFIX}{name}").into(), "whole".into()];
    let (stdout, count) = super::counted(&child)?;
    let numbers: Vec<f64> = stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [cells, events, cpu_ns] = numbers[..] else { return Err(io::Error::other(format!("{name} printed {stdout:?}"))) };
    Ok(PerCell { cells, cpu_ns: cpu_ns / cells, instructions: count.map(|n| n / cells), events: events / cells })
}

/// Prints the table, and returns its rows for `bench.json`.
pub(crate) fn table() -> io::Result<Vec<String>> {
    let names: Vec<String> = CASES.iter().map(|(policy, size)| format!("{policy}-{size}")).collect();
    let mut best: Vec<PerCell> = names.iter().map(|name| run(name)).collect::<io::Result<_>>()?;
    for _ in 1..ROUNDS {
        for (best, name) in best.iter_mut().zip(&names) {
            best.cpu_ns = best.cpu_ns.min(run(name)?.cpu_ns);
        }
    }
    println!(
        "\n10 flows over a cell switch, 141.333 Mb/s, buffer of 1000 cells, 15 s; cells across the bottleneck, least of {ROUNDS} runs"
    );
    println!("policy-packet  cells/CPU s  CPU ns  instructions  events  cells");
    let mut rows = Vec::new();
    for (name, of) in names.iter().zip(&best) {
        let instructions = of.instructions.map_or("not counted".into(), |n| format!("{n:.0}"));
        println!("{name:13} {:9.1} M  {:6.1}  {instructions:>12}  {:6.3}  {:.2} M", 1e3 / of.cpu_ns, of.cpu_ns, of.events, of.cells / 1e6);
        rows.push(format!(
            "  {{\"cells\": \"{name}\", \"cells_per_cpu_second\": {:.0}, \"cpu_ns_per_cell\": {:.2}}}",
            1e9 / of.cpu_ns,
            of.cpu_ns
        ));
    }
    Ok(rows)
}

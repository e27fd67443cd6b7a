//! Cost per data packet with a modern queue or link, against droptail and a link that never changes, in one run.
//!
//! Ten flows have windows a little larger than the path holds, as for the queues: no packet is dropped. A link that "changes" changes to
//! what it was. So all runs send the same packets, and differ by their machinery alone.

use std::ffi::OsString;
use std::{env, io};

use longfat_experiment::Document;
use longfat_model::Experiment;

use super::{Cost, counted, parse};

const ROUNDS: usize = 3;
/// Prefix of a row's name on the command line, where a case may stand.
pub(crate) const PREFIX: &str = "beside:";
/// Name of the row that all others are compared with.
const PLAIN: &str = "droptail";

struct Row {
    name: &'static str,
    /// Keys of the bottleneck's table.
    bottleneck: &'static str,
    /// Other tables of the file.
    more: &'static str,
}

const fn queue(name: &'static str, bottleneck: &'static str) -> Row {
    Row { name, bottleneck, more: "" }
}

const ROWS: &[Row] = &[
    queue(PLAIN, DROPTAIL),
    queue("drr", r#"queue = { kind = "drr", limit = "10000 packets" }"#),
    queue("sfq", r#"queue = { kind = "sfq", limit = "10000 packets", depth = "10000 packets" }"#),
    queue(
        "wred",
        r#"
queue = { kind = "wred", limit = "10000 packets", class = [
    { dscp = "AF12", min_threshold = "4000 packets", max_threshold = "8000 packets" },
    { min_threshold = "6000 packets", max_threshold = "9000 packets" },
] }"#,
    ),
    queue(
        "prio",
        r#"
queue = { kind = "prio", class = [
    { dscp = "EF", queue = "droptail" },
    { queue = { kind = "droptail", limit = "10000 packets" } },
] }"#,
    ),
    queue(
        "htb",
        r#"
queue = { kind = "htb", rate = "622 Mbit/s", class = [
    { dscp = "EF", rate = "100 Mbit/s", ceil = "622 Mbit/s", queue = "droptail" },
    { rate = "522 Mbit/s", ceil = "622 Mbit/s", queue = { kind = "droptail", limit = "10000 packets" } },
] }"#,
    ),
    queue(
        "rate trace",
        r#"
queue = { kind = "droptail", limit = "10000 packets" }
rate_trace = { kind = "steps", period = "100 ms", values = [
    { at = "0 s", rate = "622 Mbit/s" },
    { at = "50 ms", rate = "622 Mbit/s" },
] }"#,
    ),
    queue(
        "delay trace",
        r#"
queue = { kind = "droptail", limit = "10000 packets" }
delay_trace = { kind = "steps", period = "100 ms", values = [
    { at = "0 s", delay = "34 ms" },
    { at = "50 ms", delay = "34 ms" },
] }"#,
    ),
    Row { name: "shared memory", bottleneck: DROPTAIL, more: SHARED },
];
const DROPTAIL: &str = r#"queue = { kind = "droptail", limit = "10000 packets" }"#;
const SHARED: &str = "[[router]]\nname = \"router1\"\nshared_buffer = \"100 MB\"\n";

/// Returns the experiment of the row `name`.
pub(crate) fn of(name: &str) -> io::Result<Experiment> {
    let row = ROWS.iter().find(|row| row.name == name).ok_or_else(|| io::Error::other(format!("no row {name:?}")))?;
    // A trace sets the delay itself.
    let delay = if row.bottleneck.contains("delay_trace") { "" } else { "delay = \"34 ms\"" };
    let text = format!(
        r#"
[path]
preset = "dumbbell"
edge = {{ rate = "1 Gbit/s", delay = "500 us" }}
[path.bottleneck]
rate = "622 Mbit/s"
{delay}
{}
{}
[[flow]]
count = 10
window = "559800 bytes"
initial_ssthresh = "279900 bytes"
traffic = "bulk"
[measure]
duration = "10 s"
"#,
        row.bottleneck, row.more
    );
    let run = Document::parse(&text, name).and_then(|document| document.run(0)).map_err(io::Error::other)?;
    Ok(run.experiment)
}

/// Returns the cost of a run of the row, and its instructions where they can be counted.
fn run(row: &Row) -> io::Result<(Cost, Option<f64>)> {
    let name = format!("{PREFIX}{}", row.name);
    let child: Vec<OsString> = vec![env::current_exe()?.into(), "--child".into(), name.clone().into(), "whole".into()];
    let (text, instructions) = counted(&child)?;
    Ok((parse(&name, &text)?, instructions))
}

/// Prints the table, and returns its rows for `bench.json`.
pub(crate) fn table() -> io::Result<Vec<String>> {
    let mut best: Vec<(Cost, Option<f64>)> = ROWS.iter().map(run).collect::<io::Result<_>>()?;
    for _ in 1..ROUNDS {
        for ((cost, _), row) in best.iter_mut().zip(ROWS) {
            cost.cpu_ns = cost.cpu_ns.min(run(row)?.0.cpu_ns);
        }
    }
    let time = |cost: &Cost| cost.cpu_ns as f64 / cost.data_packets as f64;
    println!("\nqueues and links of today beside droptail: 10 flows, 622 Mb/s, 70 ms, 10 s; a data packet, least of {ROUNDS} runs");
    println!("row            CPU ns  x droptail  instructions  x droptail  resent");
    let mut rows = Vec::new();
    for (row, (cost, instructions)) in ROWS.iter().zip(&best) {
        let over = time(cost) / time(&best[0].0);
        let work = instructions.map(|count| count / cost.data_packets as f64);
        let more = instructions.zip(best[0].1).map(|(count, plain)| count / plain);
        let shown = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        println!(
            "{:13}  {:6.0}  {over:10.2}  {:>12}  {:>10}  {:6}",
            row.name,
            time(cost),
            shown(work, 0),
            shown(more, 2),
            cost.retransmitted
        );
        rows.push(format!(
            "  {{\"beside\": \"{}\", \"cpu_ns_per_data_packet\": {:.1}, \"over_droptail\": {over:.3}, \"instructions_over_droptail\": {}}}",
            row.name,
            time(cost),
            more.map_or("null".into(), |more| format!("{more:.3}"))
        ));
    }
    Ok(rows)
}

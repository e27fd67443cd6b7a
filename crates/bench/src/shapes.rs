//! Cost per data packet on networks that users run: the shapes of the papers, chains and several bottlenecks, most of them with a volume at
//! whose delivery the run ends. (The dumbbells of the first table run for a fixed time, and have one bottleneck.)

use std::io;

use longfat_experiment::Document;
use longfat_model::Experiment;

use super::{Cost, run_child};

/// Prefix of a shape's name on the command line, where a case may stand.
pub(crate) const PREFIX: &str = "shape:";
const ROUNDS: usize = 3;

struct Shape {
    name: &'static str,
    summary: &'static str,
    text: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "ansnet",
        summary: "4 flows of 128 MiB and one back over 8 hops, 44 Mb/s, 68 ms",
        text: r#"
[path]
preset = "chain"
rtt = "68 ms"
queue = { kind = "buffer_pool", buffers = "224 buffers", transmit_per_peer = "128 buffers" }
hops = [
    { type = "fddi", delay = "20 us" }, { type = "ds3", bottleneck = true }, { type = "fddi", delay = "20 us" }, { type = "ds3" },
    { type = "ds3" }, { type = "fddi", delay = "20 us" }, { type = "ds3" }, { type = "fddi", delay = "20 us" },
]
[[flow]]
name = "forward"
count = 4
stack = "bsd-reno-1994"
mss = "4096 bytes"
window = "128 KiB"
traffic = { kind = "ttcp", volume = "128 MiB" }
[[flow]]
name = "reverse"
from = "right"
to = "left"
stack = "bsd-reno-1994"
mss = "4096 bytes"
window = "256 KiB"
[measure]
duration = "2 h"
"#,
    },
    Shape {
        name: "drs",
        summary: "10 static flows and one right-sized, 100 Mb/s, 60 ms, 200 s",
        text: r#"
departures = "last"
[path]
preset = "dumbbell"
pairs = 11
edge = { rate = "100 Mbit/s", delay = "10 ms" }
bottleneck = { rate = "100 Mbit/s", delay = "10 ms", queue = { kind = "droptail", limit = "500 packets" } }
[[flow]]
name = "static"
count = 10
from = ["left1", "left2", "left3", "left4", "left5", "left6", "left7", "left8", "left9", "left10"]
to = ["right1", "right2", "right3", "right4", "right5", "right6", "right7", "right8", "right9", "right10"]
stack = "reno-2001"
window = "64 KiB"
[[flow]]
name = "dynamic"
from = "left11"
to = "right11"
stack = "reno-2001"
window_sizing = { kind = "ideal", maxwnd = "500 segments" }
[measure]
duration = "200 s"
"#,
    },
    Shape {
        name: "chain5",
        summary: "8 flows of 256 MiB over 5 routers, 622 Mb/s, 80 ms",
        text: r#"
[path]
preset = "chain"
rtt = "80 ms"
hops = [
    { type = "ethernet-1g", delay = "50 us" }, { rate = "1 Gbit/s" }, { rate = "622 Mbit/s", bottleneck = true },
    { rate = "2.4 Gbit/s" }, { rate = "1 Gbit/s" }, { type = "ethernet-1g", delay = "50 us" },
]
[[flow]]
count = 8
traffic = { kind = "ttcp", volume = "256 MiB" }
[measure]
duration = "1 h"
"#,
    },
    Shape {
        name: "parking_lot",
        summary: "4 bottlenecks in a row, 5 flows of 256 MiB over one each and one over all, 622 Mb/s",
        text: r#"
[path]
preset = "parking_lot"
rtt = "80 ms"
bottlenecks = 4
bottleneck = { rate = "622 Mbit/s" }
edge = { rate = "1 Gbit/s", delay = "100 us" }
[[flow]]
name = "long"
from = "left"
to = "right"
traffic = { kind = "ttcp", volume = "256 MiB" }
[[flow]]
name = "cross"
count = 4
from = ["in1", "in2", "in3", "in4"]
to = ["out1", "out2", "out3", "out4"]
traffic = { kind = "ttcp", volume = "256 MiB" }
[measure]
duration = "1 h"
"#,
    },
];

/// Returns the experiment of the shape `name`.
pub(crate) fn of(name: &str) -> io::Result<Experiment> {
    let shape = SHAPES.iter().find(|shape| shape.name == name).ok_or_else(|| io::Error::other(format!("no shape {name:?}")))?;
    let run = Document::parse(shape.text, name).and_then(|document| document.run(0)).map_err(io::Error::other)?;
    Ok(run.experiment)
}

/// Prints the table, and returns its rows for `bench.json`.
pub(crate) fn table() -> io::Result<Vec<String>> {
    let run = |shape: &Shape| run_child(&format!("{PREFIX}{}", shape.name), "whole");
    let mut best: Vec<Cost> = SHAPES.iter().map(run).collect::<io::Result<_>>()?;
    for _ in 1..ROUNDS {
        for (best, shape) in best.iter_mut().zip(SHAPES) {
            best.cpu_ns = best.cpu_ns.min(run(shape)?.cpu_ns);
        }
    }
    println!("\nwhat users run; a data packet, least of {ROUNDS} runs");
    println!("shape        CPU ns  steps  resent  data packets");
    let mut rows = Vec::new();
    for (shape, of) in SHAPES.iter().zip(&best) {
        let packets = of.data_packets as f64;
        println!(
            "{:11}  {:6.0}  {:5.1}  {:4.2} %  {:9.2} M  {}",
            shape.name,
            of.cpu_ns as f64 / packets,
            of.events as f64 / packets,
            100.0 * of.retransmitted as f64 / packets,
            packets / 1e6,
            shape.summary
        );
        rows.push(format!("  {{\"shape\": \"{}\", \"cpu_ns_per_data_packet\": {:.1}}}", shape.name, of.cpu_ns as f64 / packets));
    }
    Ok(rows)
}

//! Runs over cell switches.

use longfat_core::experiment::{Document, Experiment};
use longfat_core::trace::Trace;

use crate::run;

/// RF95 Figure 1: ten connections into one output.
fn figure1(changes: &[(&str, &str)]) -> Experiment {
    let text = r#"
[path]
preset = "atm"
senders = 10
bottleneck = { type = "atm", delay = "3 us" }
edge = { type = "atm", delay = "3 us" }
discard = { kind = "plain", buffer = "1000 cells" }
[[flow]]
count = 10
stagger = "5 ms"
mss = "1448 bytes"
window = "64 KiB"
rto_min = "10 ms"
[measure]
duration = "2 s"
warmup = "0.5 s"
"#;
    let mut document = Document::parse(text, "figure1.toml").unwrap_or_else(|e| panic!("{e}"));
    for (path, value) in changes {
        document.set(path, value).unwrap_or_else(|e| panic!("{e}"));
    }
    document.run(0).unwrap_or_else(|e| panic!("{e}")).experiment
}

#[test]
fn ten_connections() {
    for policy in ["plain", "ppd", "epd", "epd_red", "epd_fair", "epd_ecn"] {
        let experiment = figure1(&[("path.discard.kind", policy)]);
        let trace: Trace = run(&experiment).unwrap();
        let link = trace.links.iter().find(|l| l.name == "bottleneck>").unwrap();
        let cells = link.cells.as_ref().unwrap();
        let good: u64 = trace.flows.iter().map(|f| f.bytes_delivered - f.bytes_delivered_at_warmup).sum();
        println!("{policy}: {good} {:?} {} busy {}", cells.in_span, cells.transmitted_in_span, link.busy_s);
        println!("{:?} steps {}", trace.flows.iter().map(|f| f.bytes_delivered).collect::<Vec<_>>(), trace.steps);
    }
}

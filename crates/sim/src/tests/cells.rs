//! Runs over cell switches.

use std::fmt::Write;

use longfat_experiment::Document;
use longfat_model::Experiment;
use longfat_record::trace::{CellRecord, LinkRecord, Trace};

use crate::run;

fn resolve(text: &str, changes: &[(&str, &str)]) -> Experiment {
    let mut document = Document::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
    for (path, value) in changes {
        document.set(path, value).unwrap_or_else(|e| panic!("{e}"));
    }
    document.run(0).unwrap_or_else(|e| panic!("{e}")).experiment
}

/// RF95 Figure 1: ten connections into one output.
const FIGURE_1: &str = r#"
[path]
preset = "atm"
senders = 10
bottleneck = { type = "atm", delay = "3 us" }
edge = { type = "atm", delay = "3 us" }
discard = { kind = "plain", buffer = "1000 cells" }
[[flow]]
count = 10
stagger = "5 ms"
mss = "4312 bytes"
timestamps = false
window = "64 KiB"
rto_min = "10 ms"
[measure]
duration = "2 s"
warmup = "0.5 s"
"#;

/// One packet there and one back, all alone.
const PING: &str = r#"
[path]
preset = "atm"
bottleneck = { type = "atm", delay = "3 us" }
edge = { type = "atm", delay = "3 us" }
[[flow]]
traffic = { kind = "ping", interval = "9 ms", size = "84 bytes" }
[measure]
duration = "1 s"
"#;

fn link<'a>(trace: &'a Trace, name: &str) -> &'a LinkRecord {
    trace.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

fn cells<'a>(trace: &'a Trace, name: &str) -> &'a CellRecord {
    link(trace, name).cells.as_ref().unwrap_or_else(|| panic!("no switch before {name}"))
}

/// One line a policy: what a person can judge.
#[test]
fn policies() {
    let mut out =
        String::from("policy    goodput  busy   whole    dead  overflow   rest   early  packets: whole partial dropped merged marked\n");
    let kinds: Vec<&str> = longfat_core::atm::discard::REGISTRY.iter().map(|kind| kind.name).collect();
    for (kind, ecn) in kinds.into_iter().map(|kind| (kind, "off")).chain([("epd_ecn", "classic")]) {
        let trace = run(&resolve(FIGURE_1, &[("path.discard.kind", kind), ("flow[0].ecn", ecn)])).unwrap();
        let cells = cells(&trace, "bottleneck>");
        let n = &cells.in_span;
        let [overflow, rest, early] = n.dropped;
        let delivered: u64 = trace.flows.iter().map(|f| f.total.delivered - f.at_warmup.delivered).sum();
        // 4352 bytes of IP, 4312 of payload, take 91 cells of 3 us.
        let most = 1.5 / (91.0 * 3e-6) * 4312.0;
        writeln!(
            out,
            "{:9} {:6.1}% {:5.1}% {:7} {:7} {overflow:9} {rest:6} {early:7}  {:14} {:7} {:7} {:6} {:6}",
            if ecn == "off" { kind.to_owned() } else { format!("{kind}*") },
            100.0 * delivered as f64 / most,
            100.0 * link(&trace, "bottleneck>").busy_s / 1.5,
            n.whole,
            n.dead,
            n.packets_whole,
            n.packets_partial,
            n.packets_dropped,
            n.packets_merged,
            n.packets_marked,
        )
        .unwrap();
        let busy = cells.transmitted_in_span as f64 * 3e-6;
        assert!((link(&trace, "bottleneck>").busy_s - busy).abs() <= 3e-6, "{kind}: so many cells of 3 us");
    }
    insta::assert_snapshot!(out);
}

/// 84 bytes, LLC/SNAP and the trailer are 3 cells. The last one comes to the switch 3 x 3 + 3 us after the start, crosses it in
/// the slot from then on, leaves in the next, and has 3 us to go: 21 us. Each further switch adds two slots and its link.
#[test]
fn a_ping_takes_its_cells_and_two_slots_a_switch() {
    for (switches, rtt_us) in [(1, 42.0), (2, 60.0), (3, 78.0)] {
        let trace = run(&resolve(PING, &[("path.switches", &switches.to_string())])).unwrap();
        let flow = &trace.flows[0];
        for rtt_s in [flow.rtt.min_s, flow.rtt.mean_s, flow.rtt.max_s] {
            assert!((rtt_s * 1e6 - rtt_us).abs() < 1e-6, "{switches}: {rtt_s}");
        }
        assert_eq!(flow.packets_delivered, 112);
        // Each link and port has a turn or two, and so have the probes; but not one per cell.
        assert!(trace.steps < 112 * (4 * (switches + 1) + 6), "{}", trace.steps);
    }
}

/// RF95 §2: buffers at the inputs. The audit at the end of each run accounts for every packet; ten inputs have ten buffers, so fewer cells are
/// lost; and a network in which nobody waits for another does not see the difference.
#[test]
fn buffers_at_the_inputs() {
    for kind in ["plain", "ppd", "epd"] {
        let at = |buffers| run(&resolve(FIGURE_1, &[("path.discard.kind", kind), ("path.buffers", buffers)])).unwrap();
        let dropped = |trace: &Trace| cells(trace, "bottleneck>").in_span.dropped.iter().sum::<u64>();
        let (output, input) = (at("output"), at("input"));
        assert!(dropped(&input) > 0 && dropped(&input) < dropped(&output), "{kind}");
        assert!(cells(&input, "bottleneck>").in_span.queue_max <= 1000, "{kind}");
    }
    let ping = |buffers| run(&resolve(PING, &[("path.buffers", buffers)])).unwrap().flows[0].rtt.mean_s;
    assert_eq!(ping("input").to_bits(), ping("output").to_bits());
}

/// Several switches in a row, 100 channels, cells of many packets between the switches at once: the audit at the end of each
/// run accounts for every packet.
#[test]
fn a_row_of_switches() {
    for kind in ["plain", "ppd", "epd"] {
        let changes = [
            ("path.switches", "3"),
            ("path.receivers", "8"),
            ("path.senders", "8"),
            ("flow[0].count", "100"),
            ("flow[0].stagger", "0.5 ms"),
        ];
        let mut experiment = resolve(FIGURE_1, &[&changes[..], &[("path.discard.kind", kind), ("measure.warmup", "0 s")]].concat());
        // The last of the bottlenecks is slower than the others: cells are lost in several places.
        for link in &mut experiment.network.links {
            if link.name == "bottleneck2>" {
                link.rate = longfat_core::units::Rate::from_bps(130_000_000);
            }
        }
        let trace = run(&experiment).unwrap();
        assert_eq!(format!("{trace:?}"), format!("{:?}", run(&experiment).unwrap()), "{kind}: twice the same");
        let (first, second) = (cells(&trace, "bottleneck1>"), cells(&trace, "bottleneck2>"));
        assert!(first.total.dropped.iter().sum::<u64>() > 0 && second.total.dropped.iter().sum::<u64>() > 0, "{kind}");
        assert!(second.total.cells_in() <= first.transmitted && second.total.cells_in() + 2000 > first.total.passed);
        if kind == "plain" {
            assert!(second.total.packets_partial > 0 && second.total.dead > 0);
        } else if kind == "epd" {
            assert_eq!((second.total.dead, second.total.packets_partial), (0, 0), "EPD before leaves nothing to break");
        }
        assert!(trace.flows.iter().map(|f| f.total.delivered).sum::<u64>() > 20_000_000);
    }
}

/// Routers at the edges of the cells: a packet is put together again, waits in a queue of packets, and is cut again.
#[test]
fn routers_at_the_edges() {
    let text = r#"
[path]
hosts = ["a", "b"]
routers = ["r", "q"]
switches = ["s"]
link = [
  { from = "a", to = "r", type = "ethernet-1g", delay = "10 us", loss = { kind = "bernoulli", probability = 0.0, corruption = 0.001 } },
  { from = "r", to = "s", type = "atm-oc-3c", delay = "10 us" },
  { from = "s", to = "q", type = "atm-ds3", delay = "1 ms", discard = { kind = "epd", buffer = "500 cells" } },
  { from = "q", to = "b", type = "ethernet-100m", delay = "10 us" },
]
[[flow]]
from = "a"
to = "b"
traffic = { kind = "ttcp", volume = "4 MiB" }
[measure]
duration = "20 s"
"#;
    let trace = run(&resolve(text, &[])).unwrap();
    assert_eq!(trace.flows[0].total.delivered, 4 << 20);
    let port = cells(&trace, "s-q>");
    assert!(port.total.packets_dropped > 0 && port.total.packets_partial == 0, "{port:?}");
    // Packets damaged on the link went through the switch whole: the checksum of TCP finds them.
    let corrupted: u64 = trace
        .links
        .iter()
        .flat_map(|l| &l.drops)
        .filter(|(why, _)| *why == longfat_core::queue::DropReason::Corrupted)
        .map(|(_, n)| n)
        .sum();
    assert!(corrupted > 0);
    let goodput_bps = (4 << 20) as f64 * 8.0 / trace.flows[0].delivered_all.unwrap().as_secs_f64();
    // 1448 bytes of payload in 32 cells of 424 bits, at 40.704 Mb/s.
    assert!(goodput_bps < 40.704e6 * 1448.0 * 8.0 / (32.0 * 424.0));
}

/// A mark on cells becomes CE, and TCP slows down for it.
#[test]
fn marks_become_ce() {
    let changes = [("path.discard.kind", "epd_ecn"), ("path.discard.threshold", "800 cells"), ("flow[0].mss", "472 bytes")];
    let drops = |ecn: &str| {
        let trace = run(&resolve(FIGURE_1, &[&changes[..], &[("flow[0].ecn", ecn)]].concat())).unwrap();
        let n = cells(&trace, "bottleneck>").total;
        assert_eq!(n.packets_marked, link(&trace, "bottleneck>").marks);
        (n.packets_dropped, n.packets_marked)
    };
    let ((off, none), (on, marked)) = (drops("off"), drops("classic"));
    assert_eq!(none, 0);
    assert!(marked > 100 && on < off / 2, "{on} of {off} drops, {marked} marks");
}

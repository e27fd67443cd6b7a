//! Networks of presets as resolved, judged by eye: one line per link and flow.

use super::super::Document;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::units::Capacity;
use longfat_core::units::text::{RATE, TIME};
use longfat_model::route::Routes;
use longfat_model::{Cpu, Cycles, Experiment, Intake, Link};
use proptest::prelude::*;

/// Returns the first run of `text`. The run as it is written back reads as the same.
fn resolve(text: &str) -> Experiment {
    let run = Document::parse(text, "network.toml").and_then(|d| d.run(0)).unwrap_or_else(|e| panic!("{e}"));
    let again = Document::parse(&run.to_toml(), "again.toml").and_then(|d| d.run(0)).unwrap_or_else(|e| panic!("{e}\n{}", run.to_toml()));
    assert_eq!(again.experiment, run.experiment, "{}", run.to_toml());
    run.experiment
}

fn draw(experiment: &Experiment) -> String {
    let nodes = &experiment.network.nodes;
    let link = |l: &Link| {
        let front = l.discard.as_ref().unwrap_or(&l.queue);
        let given = front.params.0.iter().filter(|(_, value)| *value != Value::Auto);
        let params: Vec<String> = given.map(|(name, value)| format!("{name} {value:?}")).collect();
        format!(
            "{:16} {:8} -> {:8} {:>14} {:>14} mtu {} +{} {} {}{}\n",
            l.name,
            nodes[l.from].name,
            nodes[l.to].name,
            RATE.format(l.rate.as_bps()),
            TIME.format(l.delay.as_ps()),
            l.mtu,
            l.overhead,
            front.kind,
            params.join(", "),
            if l.bottleneck { "  BOTTLENECK" } else { "" },
        )
    };
    let mut out: String = experiment.network.links.iter().map(link).collect();
    for flow in &experiment.flows {
        let (from, to) = (&nodes[flow.from].name, &nodes[flow.to].name);
        out.push_str(&format!(
            "flow {} {from} -> {to} at {} mss {} {:?}\n",
            flow.group,
            TIME.format(flow.start.as_ps()),
            flow.sender.mss,
            flow.traffic
        ));
    }
    out
}

#[test]
fn dumbbell() {
    insta::assert_snapshot!(draw(&resolve(
        r#"
[path]
preset = "dumbbell"
rtt = ["20 ms", "68 ms"]
bottleneck = { type = "ds3", reverse = { queue = { kind = "droptail", limit = "50 packets" } } }
edge = { type = "fddi", delay = "1 ms" }
[[flow]]
name = "forward"
count = 3
stagger = "10 ms"
[[flow]]
name = "back"
from = "right2"
to = "left"
traffic = { kind = "ttcp", volume = "1 MiB" }
mss = "512 bytes"
[measure]
duration = "10 s"
"#
    )));
}

/// A shared memory limits the queues, and the default queue of a bottleneck does not. The settings of the memory come back ([`resolve`]).
#[test]
fn star_with_a_shared_memory() {
    let sharing = ["", "sharing = \"static\"", "sharing = { kind = \"dynamic\", alpha = 0.5 }"];
    let of = |sharing: &str| {
        resolve(&format!(
            r#"
[path]
preset = "star"
senders = 2
receivers = 2
bottleneck = {{ type = "ethernet-1g", delay = "5 us" }}
edge = {{ type = "ethernet-1g", delay = "5 us" }}
[[router]]
name = "switch"
shared_buffer = "512 KiB"
{sharing}
[[flow]]
count = 2
[measure]
duration = "10 s"
"#
        ))
    };
    let drawn = sharing.map(of).map(|experiment| format!("{:?}\n{}", experiment.routers, draw(&experiment)));
    assert!(drawn.iter().all(|other| other.lines().skip(1).eq(drawn[0].lines().skip(1))));
    let [first, rest @ ..] = drawn;
    insta::assert_snapshot!(format!("{first}{}", rest.map(|text| text.lines().take(1).collect::<String>()).join("\n")));
}

#[test]
fn chain() {
    insta::assert_snapshot!(draw(&resolve(
        r#"
[path]
preset = "chain"
rtt = "20 ms"
hops = [
  { type = "fddi", delay = "50 us" }, { type = "ds3" },
  { type = "fddi", delay = "50 us" }, { type = "ds3", queue = { kind = "droptail", limit = "10 packets" } },
  { type = "fddi", delay = "50 us" }, { type = "ds3" },
  { type = "fddi", delay = "50 us" },
]
queue = { kind = "droptail", limit = "300 KiB" }
[[flow]]
stack = "bsd-reno-1994"
mss = "4096 bytes"
window = "512 KiB"
[measure]
duration = "10 s"
"#
    )));
}

#[test]
fn parking_lot() {
    insta::assert_snapshot!(draw(&resolve(
        r#"
[path]
preset = "parking_lot"
rtt = "50 ms"
bottlenecks = 3
bottleneck = { rate = "100 Mbit/s" }
edge = { type = "ethernet-1g", delay = "1 ms" }
[[flow]]
name = "long"
[[flow]]
name = "cross"
from = "in"
to = "out"
count = 3
[measure]
duration = "10 s"
"#
    )));
}

/// Edges are ten times as fast as the bottleneck ever is, with its framing and mtu, and without its changes.
#[test]
fn edges_that_nothing_is_said_of_never_limit() {
    let path = |path: &str| resolve(&format!("[path]\n{path}\n[[flow]]\n[measure]\nduration = \"10 s\"\n"));
    let down = r#"loss = { kind = "bernoulli", probability = 0.01 }, jitter = { most = "1 ms" }, pause = { on = "40 kB" }, queue = { kind = "droptail", limit = "20 packets" }"#;
    insta::assert_snapshot!(
        [
            format!("preset = \"dumbbell\"\nrtt = \"70 ms\"\nbottleneck = {{ type = \"ds3\", {down}, reverse = {{ rate = \"100 Mbit/s\" }} }}"),
            "preset = \"dumbbell\"\nrtt = [\"20 ms\", \"68 ms\"]\nbottleneck = { rate_trace = { kind = \"steps\", values = [{ at = \"0 s\", rate = \"10 Mbit/s\" }, { at = \"1 s\", rate = \"50 Mbit/s\" }] } }".to_owned(),
            "preset = \"dumbbell\"\nbottleneck = { rate_trace = { kind = \"mahimahi\", at = [1, 1, 1, 7] }, delay = \"10 ms\" }".to_owned(),
            "preset = \"parking_lot\"\nbottlenecks = 1\nbottleneck = { rate = \"20 Tbit/s\", delay = \"1 ms\" }".to_owned(),
        ]
        .map(|text| draw(&path(&text)))
        .join("\n")
    );
}

/// RF95 Figure 1; then two switches, with a policy of one link's own, and ways that differ.
#[test]
fn atm() {
    let mut out = String::new();
    for path in [
        "senders = 3\nbottleneck = { type = \"atm\" }\nedge = { type = \"atm\" }\ndiscard = { kind = \"epd\", buffer = \"2000 cells\", threshold = \"1000 cells\" }",
        "senders = 2\nreceivers = 2\nswitches = 2\nports = 4\nbottleneck = { type = \"atm-ds3\", discard = \"ppd\", reverse = { rate = \"30 Mbit/s\", discard = \"epd\" } }\n\
         edge = { type = \"atm-oc-3c\", overhead = \"0 bytes\", queue = { kind = \"droptail\", limit = \"100 packets\" } }",
    ] {
        let text = format!("[path]\npreset = \"atm\"\n{path}\n[[flow]]\ncount = 2\n[measure]\nduration = \"1 s\"\n");
        out += &draw(&resolve(&text));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn the_longest_round_trip_across_a_link_is_its_bdp() {
    let experiment = resolve(
        r#"
[path]
preset = "dumbbell"
rtt = ["20 ms", "70 ms"]
bottleneck = { rate = "80 Mbit/s", queue = { kind = "droptail", limit = "0.5 bdp" } }
edge = { rate = "1 Gbit/s", delay = "1 ms" }
[[flow]]
count = 2
[measure]
duration = "10 s"
"#,
    );
    // 80 Mb/s x 70 ms = 700 kB.
    assert!(format!("{:?}", experiment.network.links[0].queue.params).contains("Bytes(350000)"));
}

#[test]
fn a_receiver_is_like_the_sender_but_for_what_it_says() {
    let experiment = resolve(
        r#"
[path]
preset = "dumbbell"
rtt = "20 ms"
bottleneck = { type = "ds3" }
edge = { type = "ethernet-100m" }
[[flow]]
stack = "linux"
window = "1 MiB"
receiver = { window = "64 KiB", delayed_ack = "off" }
[measure]
duration = "10 s"
"#,
    );
    let flow = &experiment.flows[0];
    assert_eq!((flow.sender.send_buffer, flow.receiver.receive_buffer), (1 << 20, 64 << 10));
    assert_eq!((flow.sender.quick_acks, flow.receiver.quick_acks), (16, 16));
    // The Ethernet is the smallest MTU of the route: 1500 less 52.
    assert_eq!((flow.sender.mss, flow.receiver.mss), (1448, 1448));
}

#[test]
fn what_is_automatic_at_one_end_alone_is_written_back() {
    let text = |flow: &str| {
        format!(
            "[path]\nhosts = [\"a\", \"b\", \"c\"]\nrouters = [\"r\"]\nlink = [\n\
             {{ from = \"a\", to = \"r\", type = \"fddi\", delay = \"1 ms\" }},\n\
             {{ from = \"r\", to = \"b\", type = \"fddi\", delay = \"1 ms\" }},\n\
             {{ from = \"r\", to = \"c\", type = \"ethernet-100m\", delay = \"1 ms\" }},\n]\n\
             [[flow]]\nfrom = \"a\"\nto = [\"b\", \"c\"]\ncount = 2\n{flow}\n[measure]\nduration = \"1 s\"\n"
        )
    };
    for flow in [
        "",
        "mss = \"512 bytes\"\nreceiver = { mss = \"auto\" }",
        "timestamps = false\nreceiver = { timestamps = true }",
        "initial_ssthresh = \"64 KiB\"\nreceiver = { initial_ssthresh = \"auto\" }",
        "delayed_ack = \"off\"\nreceiver = { delayed_ack = \"heartbeat\", delayed_ack_time = \"200 ms\" }",
    ] {
        resolve(&text(flow));
    }
}

#[test]
fn streams_are_connections_of_one_sender() {
    let text = r#"
[path]
preset = "dumbbell"
pairs = 2
rtt = "70 ms"
bottleneck = { rate = "467 Mbit/s" }
edge = { rate = "1 Gbit/s" }
[[flow]]
name = "p-tcp"
count = 2
streams = 3
stagger = "1 s"
stop = "6 s"
[[flow]]
name = "one"
[measure]
duration = "10 s"
"#;
    let experiment = resolve(text);
    let seen: Vec<_> = experiment.flows.iter().map(|f| (f.stream_of, f.from, f.start.as_secs_f64(), f.stop.is_some())).collect();
    // Both ends alternate by sender: all streams of one go between the same hosts, and start together.
    let (a, b) = (seen[0].1, seen[3].1);
    assert_ne!(a, b);
    let expected = [
        (0, a, 0.0, true),
        (0, a, 0.0, true),
        (0, a, 0.0, true),
        (1, b, 1.0, true),
        (1, b, 1.0, true),
        (1, b, 1.0, true),
        (2, a, 0.0, false),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn hosts_have_a_queue_at_each_of_their_links() {
    let text = r#"
[path]
preset = "dumbbell"
pairs = 2
rtt = "70 ms"
bottleneck = { rate = "467 Mbit/s" }
edge = { rate = "1 Gbit/s" }
[[host]]
name = ["right", "left2"]
txqueuelen = "100 packets"
on_full = "wait"
[[host]]
name = "left1"
cpu = "3060 MHz"
send_packet = "10773 cycles"
receive_byte = 0.5
[[flow]]
[measure]
duration = "10 s"
"#;
    let experiment = resolve(text);
    let network = &experiment.network;
    let limit = |from: &str| {
        let link = network.links.iter().find(|link| network.nodes[link.from].name == from).unwrap();
        link.queue.params.capacity("limit")
    };
    let packets = Capacity::Packets(100);
    assert_eq!((limit("left2"), limit("right1"), limit("right2")), (packets, packets, packets));
    assert_ne!(limit("left1"), packets);
    let hosts: Vec<_> =
        experiment.hosts.iter().map(|host| (network.nodes[host.node].name.as_str(), host.nic.is_some(), host.cpu)).collect();
    let (receive, send) = (Cycles { packet: 0, byte: 0.5 }, Cycles { packet: 10_773, byte: 0.0 });
    let cpu = Cpu { mhz: 3060, send, receive, intake: Intake::default() };
    assert_eq!(hosts, [("left1", false, Some(cpu)), ("right1", true, None), ("left2", true, None), ("right2", true, None)]);
}

#[test]
fn every_traffic_is_written_back() {
    for traffic in [
        "\"bulk\"",
        "{ kind = \"ping\", interval = \"70 ms\" }",
        "{ kind = \"udp\", rate = \"100 Mbit/s\" }",
        "{ kind = \"udp\", rate = \"100 Mbit/s\", size = \"100 bytes\", on = \"1 s\", off = \"2 s\" }",
        "{ kind = \"sinusoid\", mean = \"60 Mbit/s\", amplitude = \"60 Mbit/s\", period = \"30 s\" }",
        "{ kind = \"on_off\", rate = \"1 Mbit/s\", on = \"1 s\", off = \"2 s\", on_shape = 1.2, off_shape = 1.9 }",
        "{ kind = \"web\", size = \"12 KiB\", think = \"2 s\" }",
        "{ kind = \"web\", size = \"12 KiB\", shape = 1.1, think = \"2 s\", think_shape = 1.5 }",
    ] {
        let text = format!(
            "[path]\npreset = \"dumbbell\"\nrtt = \"70 ms\"\nbottleneck = {{ rate = \"467 Mbit/s\" }}\nedge = {{ rate = \"1 Gbit/s\" }}\n\
             [[flow]]\ntraffic = {traffic}\n[measure]\nduration = \"1 s\"\n"
        );
        resolve(&text);
    }
}

#[test]
fn the_slowest_link_of_the_first_flow_is_the_bottleneck_where_none_is_marked() {
    let experiment = resolve(
        r#"
[path]
hosts = ["a", "b"]
routers = ["r", "s"]
link = [
  { from = "a", to = "r", rate = "1 Gbit/s", delay = "2 ms" },
  { from = "r", to = "s", rate = "100 Mbit/s", delay = "2 ms" },
  { from = "s", to = "b", rate = "100 Mbit/s", delay = "2 ms" },
]
[[flow]]
from = "b"
to = "a"
[measure]
duration = "10 s"
"#,
    );
    let bottlenecks: Vec<&str> = experiment.network.links.iter().filter(|l| l.bottleneck).map(|l| l.name.as_str()).collect();
    assert_eq!(bottlenecks, ["s-b<"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever the numbers, a preset's base round trip is exact to the picosecond.
    #[test]
    fn base_round_trips_are_exact(rtt_ps in 10_000_000_000_u64..200_000_000_000, more_ps in 0_u64..100_000_000_000, n in 1_u64..7, edge_ns in 0_u64..1_000_000) {
        let text = |path: String| format!("[path]\n{path}\n[[flow]]\ncount = 2\n[measure]\nduration = \"10 s\"\n");
        let edge = format!("edge = {{ rate = \"1 Gbit/s\", delay = \"{edge_ns} ns\" }}");
        let rtts = [rtt_ps, rtt_ps + more_ps];
        let hops: Vec<&str> = (0..n).map(|_| "{ type = \"ds3\" }").collect();
        let paths = [
            (format!("preset = \"dumbbell\"\nrtt = [\"{} ps\", \"{} ps\"]\nbottleneck = {{ rate = \"45 Mbit/s\" }}\n{edge}", rtts[0], rtts[1]), rtts),
            (format!("preset = \"parking_lot\"\nrtt = \"{rtt_ps} ps\"\nbottlenecks = {n}\nbottleneck = {{ rate = \"1 Gbit/s\" }}\n{edge}"), [rtt_ps; 2]),
            (format!("preset = \"chain\"\nrtt = \"{rtt_ps} ps\"\nhops = [{}, {{ type = \"fddi\", delay = \"{edge_ns} ns\" }}]", hops.join(", ")), [rtt_ps; 2]),
        ];
        for (path, rtts) in paths {
            let experiment = resolve(&text(path));
            for (flow, rtt) in experiment.flows.iter().zip(rtts) {
                let routes = Routes::new(&experiment.network);
                let way = |from, to| {
                    let path = routes.path(from, to).unwrap();
                    path.into_iter().fold(Duration::ZERO, |sum, l| sum + experiment.network.links[l].delay)
                };
                prop_assert_eq!(way(flow.from, flow.to) + way(flow.to, flow.from), Duration::from_ps(rtt));
            }
        }
    }
}

/// Quadratic validation takes minutes of this.
#[test]
fn thirty_thousand_hosts_at_one_router() {
    let n = 30_000;
    let names = |range: std::ops::Range<usize>| range.map(|i| format!("\"h{i}\"")).collect::<Vec<_>>().join(", ");
    let links: String =
        (0..n).map(|i| format!("[[path.link]]\nfrom = \"h{i}\"\nto = \"r\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n")).collect();
    let hosts: String = (0..n).map(|i| format!("[[host]]\nname = \"h{i}\"\nmemory = \"8 MiB\"\n")).collect();
    let text = format!(
        "[path]\nhosts = [{}]\nrouters = [\"r\"]\n{links}{hosts}[[flow]]\ncount = {}\nfrom = [{}]\nto = [{}]\n[measure]\nduration = \"1 s\"\n",
        names(0..n),
        n / 2,
        names(0..n / 2),
        names(n / 2..n)
    );
    let experiment = Document::parse(&text, "many.toml").unwrap_or_else(|e| panic!("{e}")).run(0).unwrap().experiment;
    assert_eq!((experiment.network.nodes.len(), experiment.network.links.len(), experiment.flows.len()), (n + 1, 2 * n, n / 2));
    assert_eq!((experiment.flows[7].from, experiment.flows[7].to), (7, n / 2 + 7));
}

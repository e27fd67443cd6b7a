//! Each warning on a case that it is for, and on one beside it that it is not for.

use crate::Document;
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};
use longfat_model::Experiment;
use longfat_record::trace::{FlowCounts, FlowRecord, LinkRecord, RealTime, Seen, Trace};
use longfat_record::warning::{Check, REGISTRY, before, of};

/// Experiment with its trace.
struct Case {
    repeats: u64,
    experiment: Experiment,
    trace: Trace,
}

/// A dumbbell of 10 Mbit/s and 20 ms, with these keys of its bottleneck and its edge, these flows, and this duration; one flow got 1 MB, and
/// nothing was in the way.
fn dumbbell(bottleneck: &str, edge: &str, flows: &str, measure: &str) -> Case {
    let text = format!(
        "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ rate = \"10 Mbit/s\"{bottleneck} }}\n\
         edge = {{ rate = \"100 Mbit/s\", delay = \"1 ms\"{edge} }}\n[[flow]]\n{flows}\n[measure]\nduration = \"10 s\"\n{measure}\n"
    );
    let document = Document::parse(&text, "case.toml").unwrap_or_else(|error| panic!("{error}"));
    let experiment = document.run(0).unwrap().experiment;
    let flow = FlowRecord {
        established: Some(at(0)),
        fast_retransmits: 5,
        in_flight_max: 50_000,
        cwnd_end: Some(40_000),
        ssthresh_end: Some(30_000),
        gave_up_ecn: Some(0),
        total: FlowCounts { sent: 1_000_000, segments_sent: 700, delivered: 1_000_000, arrived: 1_000_000, ..FlowCounts::default() },
        ..FlowRecord::default()
    };
    let trace = Trace {
        flows: vec![flow; experiment.flows.len()],
        links: vec![LinkRecord::default(); experiment.network.links.len()],
        end: at(10),
        span: (at(0), at(10)),
        ..Trace::default()
    };
    Case { repeats: 1, experiment, trace }
}

fn plain() -> Case {
    dumbbell("", "", "", "")
}

/// A run between real hosts, whose file has this as well.
fn live(more: &str) -> Case {
    let text = format!(
        "backend = \"live\"\n[[live.host]]\nname = \"a\"\nat = \"local\"\n[[live.host]]\nname = \"b\"\nat = \"b.example.org\"\n[[flow]]\n\
         [measure]\nduration = \"10 s\"\n{more}"
    );
    let document = Document::parse(&text, "live.toml").unwrap_or_else(|error| panic!("{error}"));
    let experiment = document.run(0).unwrap().experiment;
    Case { experiment, trace: Trace { links: Vec::new(), ..plain().trace }, ..plain() }
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

impl Case {
    /// Returns the case with a changed trace.
    fn with(mut self, change: impl FnOnce(&mut Trace)) -> Self {
        change(&mut self.trace);
        self
    }

    fn repeated(self, repeats: u64) -> Self {
        Case { repeats, ..self }
    }

    fn link(&mut self, name: &str) -> &mut LinkRecord {
        let i = self.experiment.network.links.iter().position(|link| link.name == name).unwrap();
        &mut self.trace.links[i]
    }

    /// Returns the messages of warning `name`.
    fn told(&self, name: &str) -> Vec<String> {
        let mut given = of(&self.experiment, &self.trace);
        given.retain(|given| !matches!(given.warning.check, Check::Before(_)));
        given.extend(before(&self.experiment, self.repeats));
        given.into_iter().filter(|given| given.warning.name == name).map(|given| given.text).collect()
    }
}

/// The host's queue held 100 packets for 12 ms each; the bottleneck's none.
fn held_at_the_host(there: f64) -> Case {
    let mut case = plain();
    *case.link("left1-router1>") = LinkRecord { queue_mean_bytes: 150_000.0, queue_max_bytes: 200_000, ..LinkRecord::default() };
    case.link("bottleneck>").queue_mean_bytes = there;
    case
}

fn dropped_at_the_host(n: u64) -> Case {
    let mut case = plain();
    case.link("left1-router1>").drops = vec![(DropReason::Overflow, n)];
    case.link("bottleneck>").drops = vec![(DropReason::Overflow, 7)];
    case
}

fn two(flows: &str, first: u64, second: u64) -> Case {
    let mut case = dumbbell("", "", flows, "").with(|trace| {
        trace.flows[0].total.arrived = first;
        trace.flows[1].total.arrived = second;
    });
    case.link("bottleneck>").drops = vec![(DropReason::Overflow, 7)];
    case
}

fn volume(delivered: Option<Time>) -> Case {
    dumbbell("", "", "traffic = { kind = \"ttcp\", volume = \"2 MB\" }", "").with(|trace| trace.flows[0].delivered_all = delivered)
}

/// Returns, for each warning, the case in which it is given, with a part of its message, and the case in which it is not.
fn cases() -> Vec<(&'static str, Case, &'static str, Case)> {
    let fast = |window: &str| dumbbell("", "", window, "");
    vec![
        (
            "edge_not_faster",
            plain().rated("left1-router1", 10_000_000),
            "flows over bottleneck> leave their hosts by left1-router1>, which carry 9.7 Mbit/s of payload, and bottleneck> carries 9.7 Mbit/s: it never fills",
            plain().rated("left1-router1", 10_000_001),
        ),
        (
            "edge_not_faster",
            // Two hosts can fill it together, and each alone sends as fast as it does.
            two_hosts().rated("left1-router1", 10_000_000),
            "left1-router1> is as fast as bottleneck>",
            two_hosts().rated("left1-router1", 5_000_000),
        ),
        (
            "mixed_mtu",
            dumbbell(", mtu = \"9000 bytes\"", "", "", ""),
            "packets of 9000 bytes fit bottleneck> and only 1500 fit left1-router1>, so its mss is 1448",
            dumbbell(", mtu = \"9000 bytes\"", "", "mss = \"1000 bytes\"", ""),
        ),
        (
            "window_below_path",
            // 8 KiB in 20 ms are 3.3 Mbit/s.
            fast("window = \"8 KiB\""),
            "a window of 8 KiB per 20 ms allows 3.3 Mbit/s; bottleneck> carries 9.7 Mbit/s of payload, with 24.1 kB in flight",
            // Three of them are enough.
            fast("window = \"8 KiB\"\ncount = 3"),
        ),
        (
            "window_over_1_gib",
            dumbbell("", "", "", "").stretched(100_000_000_000, 100),
            "this path needs 3 streams",
            dumbbell("", "", "streams = 3", "").stretched(100_000_000_000, 100),
        ),
        (
            "window_below_a_segment",
            fast("window = \"1000 bytes\""),
            "its window of 1000 bytes is less than one segment of 1448",
            fast("window = \"1448 bytes\""),
        ),
        (
            "window_not_scaled",
            fast("window = \"64 KiB\"\nwindow_scale = false"),
            "at most 65535 bytes, not the 65536 of its receive buffer",
            fast("window = \"65535 bytes\"\nwindow_scale = false"),
        ),
        (
            "not_captured",
            in_real_time(RealTime {
                captures: [Seen { outcome: Seen::NO_RIGHT, ..Seen::default() }, Seen::default()],
                ..RealTime::default()
            }),
            "this host captured nothing: longfat lacks CAP_NET_RAW",
            in_real_time(RealTime { captures: [Seen { outcome: Seen::CAPTURED, ..Seen::default() }; 2], ..RealTime::default() }),
        ),
        (
            "not_controlled",
            live(
                "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = { rate = \"10 Mbit/s\" }\n[[host]]\nname = \"left1\"\ncpu = \"800 MHz\"\n",
            ),
            "the run is between real hosts, and does not control `path`, `host`",
            live(""),
        ),
        ("repeats_alike", plain().repeated(5), "5 repeats, and nothing", dumbbell(", queue = \"red\"", "", "", "").repeated(5)),
        (
            "many_rows",
            // Ten million samples of a flow and six links.
            dumbbell("", "", "", "interval = \"4 us\""),
            "2500001 samples of 1 flows and 6 links are 17500007 rows",
            dumbbell("", "", "", "interval = \"1 ms\""),
        ),
        (
            "ended_before_measured",
            dumbbell("", "", "", "warmup = \"5 s\"").with(|trace| trace.end = at(4)),
            "ended at 4 s, before the measured span began at 5 s",
            dumbbell("", "", "", "warmup = \"5 s\"").with(|trace| trace.end = at(6)),
        ),
        ("ecn_given_up", plain().with(|trace| trace.flows[0].gave_up_ecn = Some(1)), "flow1 has given up ECN", plain()),
        (
            "gave_up",
            plain().with(|trace| trace.flows[0].gave_up = Some(at(3))),
            "flow1 was given up at 3 s: nothing answered its retransmissions",
            plain(),
        ),
        (
            "unfinished",
            volume(None),
            "did not finish: 1000000 of 2000000 bytes were delivered when the run ended at 10 s",
            volume(Some(at(9))),
        ),
        (
            "sent_nothing",
            plain().with(|trace| trace.flows[0].total.segments_sent = 0),
            "flow1 sent nothing from its start at 0 s to the end of the run at 10 s",
            plain().with(|trace| (trace.flows[0].total.segments_sent, trace.flows[0].start) = (0, at(10))),
        ),
        (
            "netem_limit",
            netem("1000 packets", ""),
            "1000 packets, and 1667 more on the wire; netem with `limit 1000` counts both, and would carry 600.0 Mbit/s at most",
            netem("1000 packets", ", limit_in_delay = \"1000 packets\""),
        ),
        (
            "openings_at_one_instant",
            openings("1500, 1500, 1500"),
            "all 3 openings of its trace are at 1500 ms: it stands still for 1500 ms, and then sends 4 kB at once",
            openings("1500, 1500, 1501"),
        ),
        ("netem_limit", netem("1000 packets", ""), "on the wire", netem("1001 packets", "")),
        (
            "marked_by_one_packet",
            l4s("", 2, "prague"),
            "bottleneck> takes 1.2 ms for a packet at 10.0 Mbit/s, and its L4S queue marks from 800 us on: of 2 L4S flows",
            l4s(", min_th = \"1200 us\"", 2, "prague"),
        ),
        ("marked_by_one_packet", l4s("", 2, "prague"), "of 2 L4S flows", l4s("", 1, "prague")),
        ("marked_by_one_packet", l4s("", 2, "prague"), "of 2 L4S flows", l4s("", 2, "dctcp")),
        (
            "queue_elsewhere",
            held_at_the_host(0.0),
            "packets waited 12.000 ms in front of left1-router1> on average, where up to 200.0 kB queued, and 0.000 ms at the bottleneck bottleneck>",
            held_at_the_host(20_000.0),
        ),
        ("queue_elsewhere", dropped_at_the_host(8), "dropped 8 packets; the bottleneck bottleneck> dropped 7", dropped_at_the_host(7)),
        (
            "short_run",
            plain().with(|trace| {
                trace.flows[0] = FlowRecord { fast_retransmits: 0, cwnd_end: Some(50_000), ssthresh_end: None, ..trace.flows[0].clone() }
            }),
            "still in slow start when the run ended at 10 s",
            plain().with(|trace| trace.flows[0].fast_retransmits = 2),
        ),
        (
            "short_run",
            plain().with(|trace| trace.flows[0].fast_retransmits = 1),
            "(reno) saw one loss in 10 s, too few",
            // A flow that its window holds back loses nothing, and is not short of time.
            fast("window = \"50000 bytes\"").with(|trace| trace.flows[0].fast_retransmits = 1),
        ),
        (
            "blind_recovery",
            dumbbell("", "", "congestion_control = \"bbr\"", "").with(|trace| trace.flows[0].timeouts = 5),
            "flow1: bbr had 5 timeouts",
            dumbbell("", "", "congestion_control = \"bbr\"\nstack = \"linux\"", "").with(|trace| trace.flows[0].timeouts = 5),
        ),
        (
            "unequal_streams",
            two("streams = 2", 1_000_000, 499_999),
            "of its 2 streams the fastest got 800.0 kbit/s and the slowest 400.0 kbit/s",
            two("streams = 2", 1_000_000, 500_000),
        ),
        (
            "phase_locked",
            two("count = 2", 3_000_000, 900_000),
            "flow1 1 got 2.4 Mbit/s, and flow1 2, which is set up alike, 720.0 kbit/s: nothing on the path is random",
            two("count = 2", 3_000_000, 1_000_000),
        ),
        (
            "suspect",
            in_real_time(RealTime { late: [Time::ZERO, Time::from_ps(201_000_000), Time::ZERO], ..RealTime::default() }),
            "were handed over late by 0.201 ms or more, 1.0 % of the shortest round trip",
            in_real_time(RealTime { late: [Time::ZERO, Time::from_ps(199_000_000), Time::ZERO], ..RealTime::default() }),
        ),
        (
            "suspect",
            stalled(5_100),
            "a packet was handed over 5.100 ms late: what comes at once after that is 26 % of what the queue of bottleneck> holds",
            stalled(4_900),
        ),
        (
            "invalid",
            in_real_time(RealTime { lost_at_device: 2, ..RealTime::default() }),
            "2 packets were lost between a host and the emulated network",
            in_real_time(RealTime { lost_at_device: 1, ..RealTime::default() }),
        ),
        (
            "suspect",
            in_real_time(RealTime { tcp_memory_max: 760_000_000, tcp_memory_pressure: 1_000_000_000, ..RealTime::default() }),
            "TCP had 760 MB of memory on this machine, 76 % of that from which on the kernel lets no window grow",
            in_real_time(RealTime { tcp_memory_max: 740_000_000, tcp_memory_pressure: 1_000_000_000, ..RealTime::default() }),
        ),
        ("invalid", window(200_001), "had 200001 bytes in flight, and its window is 100000 bytes", window(100_000)),
    ]
}

/// A bottleneck that sends at these milliseconds.
fn openings(at: &str) -> Case {
    dumbbell(&format!(", rate_trace = {{ kind = \"mahimahi\", at = [{at}] }}, reverse = {{ rate = \"10 Mbit/s\" }}"), "", "", "")
}

/// 1 Gbit/s and 20 ms, behind a droptail of this length.
fn netem(limit: &str, keys: &str) -> Case {
    let queue = format!(", queue = {{ kind = \"droptail\", limit = \"{limit}\" }}{keys}");
    dumbbell(&queue, "", "", "").stretched(1_000_000_000, 20)
}

/// Returns `count` flows through a `dualpi2` of 10 Mb/s, where a packet takes 1.2 ms.
fn l4s(keys: &str, count: u32, control: &str) -> Case {
    let queue = format!(", queue = {{ kind = \"dualpi2\"{keys} }}");
    dumbbell(&queue, "", &format!("count = {count}\ncongestion_control = \"{control}\""), "")
}

/// Returns a case with a stall of `us` microseconds, in front of a queue of 20 ms.
fn stalled(us: u64) -> Case {
    in_real_time(RealTime { late_max: Time::ZERO + Duration::from_micros(us), ..RealTime::default() })
}

/// Returns a case in real time with 10,000 packets.
fn in_real_time(real: RealTime) -> Case {
    plain().with(|trace| trace.real_time = Some(RealTime { handed_over: 10_000, ..real }))
}

/// Returns a case with `in_flight` bytes in flight.
fn window(in_flight: u64) -> Case {
    dumbbell("", "", "window = \"100000 bytes\"", "").with(|trace| {
        trace.real_time = Some(RealTime { handed_over: 10_000, ..RealTime::default() });
        trace.flows[0].in_flight_max = in_flight;
    })
}

fn two_hosts() -> Case {
    let text = "[path]\npreset = \"dumbbell\"\npairs = 2\nrtt = \"20 ms\"\nbottleneck = { rate = \"10 Mbit/s\" }\n\
                edge = { rate = \"100 Mbit/s\" }\n[[flow]]\ncount = 2\n[measure]\nduration = \"10 s\"\n";
    Case { experiment: Document::parse(text, "case.toml").unwrap().run(0).unwrap().experiment, ..plain() }
}

impl Case {
    /// Returns the case with another rate of the links called `name`.
    fn rated(mut self, name: &str, bps: u64) -> Self {
        for link in self.experiment.network.links.iter_mut().filter(|link| link.name.starts_with(name)) {
            link.rate = longfat_core::units::Rate::from_bps(bps);
        }
        self
    }

    /// Returns the case with a bottleneck of this rate and this delay.
    fn stretched(mut self, bps: u64, milliseconds: u64) -> Self {
        for link in &mut self.experiment.network.links {
            link.rate = longfat_core::units::Rate::from_bps(bps);
            if link.name.starts_with("bottleneck") {
                link.delay = Duration::from_millis(milliseconds);
            }
        }
        self
    }
}

#[test]
fn each_is_given_where_it_should_be_and_nowhere_else() {
    let cases = cases();
    for (name, fires, says, quiet) in &cases {
        let told = fires.told(name);
        assert!(told.len() == 1 && told[0].contains(says), "{name}: {told:?} does not say {says:?}");
        assert_eq!(quiet.told(name), Vec::<String>::new(), "{name}");
    }
    for warning in REGISTRY {
        // `not_as_expected` is about a whole sweep, and no single run gives it.
        let in_runs = warning.name != "not_as_expected";
        assert_eq!(cases.iter().any(|(name, ..)| *name == warning.name), in_runs, "{}: whether it has a case", warning.name);
        for line in [warning.summary, warning.advice] {
            assert!(!line.is_empty() && !line.contains('\n') && !line.ends_with('.'), "{}: {line:?}", warning.name);
        }
    }
    // Nothing ordinary gives a warning.
    let all: Vec<&str> = of(&plain().experiment, &plain().trace).iter().map(|given| given.warning.name).collect();
    assert_eq!(all, Vec::<&str>::new());
}

/// The page has a heading for each, in the order of the registry.
#[test]
fn each_has_its_place_in_the_documentation() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/warnings.md")).unwrap();
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')).collect();
    assert_eq!(headings, REGISTRY.iter().map(|warning| warning.name).collect::<Vec<_>>());
}

#[test]
fn sixteen_thousand_that_differ_in_numbers_are_one() {
    let case = dumbbell("", "", "count = 16000\ntraffic = { kind = \"ttcp\", volume = \"2 MB\" }", "");
    let given = of(&case.experiment, &case.trace);
    let unfinished: Vec<usize> = given.iter().filter(|given| given.warning.name == "unfinished").map(|given| given.count).collect();
    assert_eq!(unfinished, [16_000]);
}

/// Flows that are not alike may well have different rates, and so may those to whose packets something random happens.
#[test]
fn only_flows_that_are_alike_are_compared() {
    let mut case = two("count = 2", 3_000_000, 900_000);
    case.experiment.hosts = vec![longfat_model::Host { overhead: Some(Duration::from_micros(10)), ..longfat_model::Host::new(0) }];
    assert_eq!(case.told("phase_locked"), Vec::<String>::new());
    let mut case = two("count = 2", 3_000_000, 900_000);
    std::sync::Arc::make_mut(&mut case.experiment.flows[0].sender).congestion_control = longfat_tcp::congestion::choice("cubic");
    assert_eq!(case.told("phase_locked"), Vec::<String>::new());
    // Connections that come by a load: of one size, and over one path.
    let sizes = "traffic = { kind = \"flows\", sizes = \"listed\", points = [{ size = \"1 MB\", share = 1.0 }], load = 0.5 }\ncount = 2";
    assert_eq!(two(sizes, 3_000_000, 900_000).told("phase_locked"), Vec::<String>::new());
}

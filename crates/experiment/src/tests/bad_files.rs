//! Messages about bad files. The snapshot is for reading: each message must say what is wrong, where, and what would be right.

use super::super::Document;

/// A good file; each case changes some lines of it.
const GOOD: &str = r#"title = "good"

[path]
preset = "dumbbell"
rtt = "70 ms"
bottleneck = { rate = "100 Mbit/s", queue = { kind = "droptail", limit = "1 bdp" } }
edge = { type = "ethernet-1g", delay = "1 ms" }

[[flow]]
name = "a"
stack = "linux"
window = { sweep = ["64 KiB", "1 MiB"] }

[measure]
duration = "60 s"
warmup = "5 s"
"#;

/// Name, what stands in the good file, what stands there instead.
const CASES: &[(&str, &str, &str)] = &[
    ("not TOML: an open string", "rtt = \"70 ms\"", "rtt = \"70 ms"),
    ("not TOML: a key twice", "stack = \"linux\"", "name = \"linux\""),
    ("not TOML: a number too large", "warmup = \"5 s\"", "warmup = 99999999999999999999"),
    ("unknown key", "window =", "windwo ="),
    ("unknown key at the top", "title =", "titel ="),
    ("unknown table", "[measure]", "[measurement]\n[measure]"),
    ("missing unit", "\"60 s\"", "\"60\""),
    ("a number for a quantity", "\"60 s\"", "60"),
    ("wrong unit", "\"100 Mbit/s\"", "\"100 Mbps\""),
    ("ambiguous unit", "\"64 KiB\"", "\"64 KB\""),
    ("unit of another dimension", "\"70 ms\"", "\"70 KiB\""),
    ("a rate as tc says it", "\"100 Mbit/s\"", "\"100mbit\""),
    ("a limit as netem says it", "limit = \"1 bdp\"", "limit = \"100p\""),
    ("a loss in per cent", "rate = \"100 Mbit/s\",", "rate = \"100 Mbit/s\", loss = \"1%\","),
    ("a value for a table", "rate = \"100 Mbit/s\",", "rate = \"100 Mbit/s\", jitter = \"5 ms\","),
    ("the ends of other tools", "name = \"a\"", "src = \"left\"\ndst = \"right\"\nprotocol = \"udp\""),
    ("a path of other tools", "\"dumbbell\"", "\"p2p\""),
    ("the table of other tools", "[path]", "[topology]"),
    ("negative", "\"70 ms\"", "\"-70 ms\""),
    ("too fine", "\"70 ms\"", "\"0.0000000000001 s\""),
    ("window of 0", "\"64 KiB\"", "\"0 bytes\""),
    ("out of range", "warmup = \"5 s\"", "interval = \"1 ns\""),
    ("a name of two lines", "name = \"a\"", "name = \"a\\nb\""),
    ("wrong type", "name = \"a\"", "name = 1"),
    ("unknown preset", "\"dumbbell\"", "\"dumbell\""),
    ("unknown queue", "\"droptail\"", "\"drop_tail\""),
    ("queue without kind", "kind = \"droptail\", ", ""),
    ("unknown queue parameter", "limit =", "limt ="),
    ("unknown link type", "ethernet-1g", "ethernet1g"),
    ("unknown stack", "\"linux\"", "\"linus\""),
    ("link without rate", "rate = \"100 Mbit/s\", ", ""),
    ("queue smaller than a packet", "\"1 bdp\"", "\"1000 bytes\""),
    ("rtt shorter than the edges", "\"70 ms\"", "\"3 ms\""),
    ("rtt and delay of the bottleneck", "rate = \"100 Mbit/s\",", "rate = \"100 Mbit/s\", delay = \"10 ms\","),
    ("rtts and pairs differ", "rtt = \"70 ms\"", "rtt = [\"70 ms\", \"20 ms\"]\npairs = 3"),
    ("warmup as long as the run", "\"5 s\"", "\"60 s\""),
    ("mss above the MTU", "stack = \"linux\"", "mss = \"9000 bytes\""),
    ("window and buffer", "stack = \"linux\"", "send_buffer = \"1 MiB\""),
    ("SACK recovery without SACK", "stack = \"linux\"", "sack = false"),
    ("a control that must count marks, without that", "stack = \"linux\"", "congestion_control = \"dctcp\"\necn = \"classic\""),
    ("kernel of a stack without versions", "stack = \"linux\"", "stack = \"rfc\"\nkernel = \"5.15\""),
    ("unknown kernel", "stack = \"linux\"", "stack = \"linux\"\nkernel = \"5.4\""),
    ("unknown window sizing", "stack = \"linux\"", "window_sizing = \"dsr\""),
    ("parameter of another window sizing", "stack = \"linux\"", "window_sizing = { kind = \"ideal\", leeway = \"4 segments\" }"),
    ("maxwnd under one segment", "stack = \"linux\"", "window_sizing = { kind = \"drs\", maxwnd = \"1000 bytes\" }"),
    (
        "maxwnd under one segment at the receiver",
        "stack = \"linux\"",
        "window_sizing = \"drs\"\nreceiver = { window_sizing = { kind = \"drs\", maxwnd = \"1000 bytes\" } }",
    ),
    ("maxwnd of no segments", "stack = \"linux\"", "window_sizing = { kind = \"drs\", maxwnd = \"0 segments\" }"),
    ("maxwnd without unit", "stack = \"linux\"", "window_sizing = { kind = \"drs\", maxwnd = 700 }"),
    ("bounds the wrong way round", "stack = \"linux\"", "window_sizing = { kind = \"auto-psc\", least = 8 }"),
    ("rto_min above rto_max", "stack = \"linux\"", "rto_min = \"100 s\""),
    ("no such host", "stack = \"linux\"", "from = \"lift\""),
    ("a router as host", "stack = \"linux\"", "to = \"router2\""),
    ("to itself", "stack = \"linux\"", "to = \"left\""),
    ("two flows of a name", "[[flow]]", "[[flow]]\nname = \"a\"\n[[flow]]"),
    ("no flow", "stack = \"linux\"", "count = 0"),
    ("no flow table", "[[flow]]\nname = \"a\"\nstack = \"linux\"\nwindow = { sweep = [\"64 KiB\", \"1 MiB\"] }\n", ""),
    ("flow as a table", "[[flow]]", "[flow]"),
    ("starts after the end", "stack = \"linux\"", "start = \"2 min\""),
    ("stops before it starts", "stack = \"linux\"", "start = \"10 s\"\nstop = \"10 s\""),
    ("hosts without a connection", "stack = \"linux\"", "from = [\"left1\", \"left2\"]"),
    ("ttcp that stops", "stack = \"linux\"", "stop = \"10 s\"\ntraffic = { kind = \"ttcp\", volume = \"1 MiB\" }"),
    ("streams of a probe", "stack = \"linux\"", "streams = 16\ntraffic = \"ping\""),
    ("streams apart", "stack = \"linux\"", "streams = 4\nstagger = \"1 s\""),
    ("too many connections", "stack = \"linux\"", "count = 1000\nstreams = 1000"),
    (
        "a sine below nothing",
        "stack = \"linux\"",
        "traffic = { kind = \"sinusoid\", mean = \"1 Mbit/s\", amplitude = \"2 Mbit/s\", period = \"30 s\" }",
    ),
    ("on without off", "stack = \"linux\"", "traffic = { kind = \"udp\", rate = \"1 Mbit/s\", on = \"1 s\" }"),
    (
        "on for less than a packet",
        "stack = \"linux\"",
        "traffic = { kind = \"on_off\", rate = \"1 Mbit/s\", on = \"1 ms\", off = \"1 s\" }",
    ),
    ("a packet above the MTU", "stack = \"linux\"", "traffic = { kind = \"udp\", rate = \"1 Mbit/s\", size = \"9000 bytes\" }"),
    ("a shape without a mean", "stack = \"linux\"", "traffic = { kind = \"web\", size = \"10 KiB\", think = \"1 s\", shape = 1 }"),
    ("no such host to describe", "[[flow]]", "[[host]]\nname = \"lift\"\ntxqueuelen = \"100 packets\"\n[[flow]]"),
    ("a transmit queue of nothing", "[[flow]]", "[[host]]\nname = \"left\"\ntxqueuelen = \"0 packets\"\n[[flow]]"),
    ("a host of which nothing is said", "[[flow]]", "[[host]]\nname = \"left\"\n[[flow]]"),
    (
        "a host twice",
        "[[flow]]",
        "[[host]]\nname = \"left\"\ntxqueuelen = \"1 packet\"\n[[host]]\nname = \"left1\"\ntxqueuelen = \"2 packets\"\n[[flow]]",
    ),
    (
        "an overhead beside a processor",
        "[[flow]]",
        "[[host]]\nname = \"left\"\noverhead = \"29 us\"\ncpu = \"3060 MHz\"\nsend_packet = \"1 cycle\"\n[[flow]]",
    ),
    ("telnet that never types", "[[flow]]", "[[flow]]\ntraffic = { kind = \"telnet\", interval = \"0 s\" }"),
    (
        "on_full without a queue",
        "[[flow]]",
        "[[host]]\nname = \"left\"\non_full = \"wait\"\ncpu = \"3060 MHz\"\nsend_packet = \"1 cycle\"\n[[flow]]",
    ),
    ("cycles without a processor", "[[flow]]", "[[host]]\nname = \"left\"\nsend_byte = 1.5\ntxqueuelen = \"1 packet\"\n[[flow]]"),
    ("a processor with nothing to do", "[[flow]]", "[[host]]\nname = \"left\"\ncpu = \"3060 MHz\"\n[[flow]]"),
    ("memory smaller than the minima", "[[flow]]", "[[host]]\nname = \"left\"\nmemory = \"100 KiB\"\n[[flow]]\ncount = 20\n"),
    ("a minimum below a segment", "[[flow]]", "[[host]]\nname = \"left\"\nmemory = \"100 KiB\"\nmemory_min = \"1000 bytes\"\n[[flow]]"),
    ("a minimum without memory", "[[flow]]", "[[host]]\nname = \"left\"\nmemory_min = \"4 KiB\"\n[[flow]]"),
    ("a probe that is read", "stack = \"linux\"", "read_rate = \"1 Mbit/s\"\ntraffic = \"ping\""),
    ("a clock in GHz", "[[flow]]", "[[host]]\nname = \"left\"\ncpu = \"3.06 GHz\"\n[[flow]]"),
    (
        "two queues of one interface",
        "edge = { type = \"ethernet-1g\", delay = \"1 ms\" }",
        "edge = { type = \"ethernet-1g\", delay = \"1 ms\", queue = { kind = \"droptail\", limit = \"1 MiB\" } }\n[[host]]\nname = \"left\"\ntxqueuelen = \"100 packets\"",
    ),
    ("flow control that does not say when", "limit = \"1 bdp\" } }", "limit = \"1 bdp\" }, pause = { off = \"1 kB\" } }"),
    ("flow control that stops nobody", "limit = \"1 bdp\" } }", "limit = \"1 bdp\" }, pause = { on = \"1 kB\", off = \"1 kB\" } }"),
    ("flow control behind the overflow", "limit = \"1 bdp\" } }", "limit = \"1 bdp\" }, pause = { on = \"900 MB\" } }"),
    (
        "flow control of a host",
        "edge = { type = \"ethernet-1g\", delay = \"1 ms\" }",
        "edge = { type = \"ethernet-1g\", delay = \"1 ms\", pause = { on = \"9 kB\" } }",
    ),
    ("a router of which nothing is said", "[[flow]]", "[[router]]\nname = \"router1\"\n[[flow]]"),
    ("a memory of a router that is not there", "[[flow]]", "[[router]]\nname = \"router3\"\nshared_buffer = \"1 MB\"\n[[flow]]"),
    ("a memory of a host's", "[[flow]]", "[[router]]\nname = \"left1\"\nshared_buffer = \"1 MB\"\n[[flow]]"),
    (
        "two memories of a router",
        "[[flow]]",
        "[[router]]\nname = [\"router1\", \"router2\"]\nshared_buffer = \"1 MB\"\n[[router]]\nname = \"router2\"\nshared_buffer = \"1 MB\"\n[[flow]]",
    ),
    ("a memory smaller than a packet", "[[flow]]", "[[router]]\nname = \"router1\"\nshared_buffer = \"1000 bytes\"\n[[flow]]"),
    ("parts smaller than a packet", "[[flow]]", "[[router]]\nname = \"router1\"\nshared_buffer = \"2 kB\"\nsharing = \"static\"\n[[flow]]"),
    (
        "a threshold of nothing",
        "[[flow]]",
        "[[router]]\nname = \"router1\"\nshared_buffer = \"1 MB\"\nsharing = { kind = \"dynamic\", alpha = 0 }\n[[flow]]",
    ),
    (
        "an alpha for nothing",
        "[[flow]]",
        "[[router]]\nname = \"router1\"\nshared_buffer = \"1 MB\"\nsharing = { kind = \"complete\", alpha = 2 }\n[[flow]]",
    ),
    ("a bucket without a rate", "[[flow]]", "[[host]]\nname = \"left\"\nshape_burst = \"9 kB\"\n[[flow]]"),
    ("empty sweep", "[\"64 KiB\", \"1 MiB\"]", "[]"),
    ("sweep of no array", "[\"64 KiB\", \"1 MiB\"]", "\"64 KiB\""),
    ("sweep in a sweep", "[\"64 KiB\", \"1 MiB\"]", "[{ sweep = [\"1 KiB\"] }]"),
    ("sweep with an unknown key", "] }\n\n[measure]", "], nam = \"w\" }\n\n[measure]"),
    ("sweep of the repeats", "title = \"good\"", "repeats = { sweep = [1, 2] }"),
    ("a value twice", "\"1 MiB\"]", "\"64 KiB\"]"),
    ("a bad value in a sweep", "\"1 MiB\"]", "\"1 Mib\"]"),
    ("a contradiction in one run only", "\"5 s\"", "{ sweep = [\"61 s\", \"1 s\"] }"),
    ("zip of different lengths", "\"1 MiB\"] }", "\"1 MiB\"], zip = \"z\" }\ncount = { sweep = [1, 2, 3], zip = \"z\" }"),
    ("skip of no axis", "title = \"good\"", "skip = [{ windows = \"64 KiB\" }]"),
    ("skip of no value", "title = \"good\"", "skip = [{ window = \"64 kB\" }]"),
    ("everything skipped", "title = \"good\"", "skip = [{ window = [\"64 KiB\", \"1 MiB\"] }]"),
    ("a series larger than memory", "duration = \"60 s\"", "duration = \"100000 s\"\ninterval = \"1 us\""),
    ("packets without their name", "duration = \"60 s\"", "duration = \"60 s\"\npackets = true"),
    ("a loss by its number alone", "limit = \"1 bdp\" } }", "limit = \"1 bdp\" }, loss = 0.0001 }"),
    ("packets of nobody", "duration = \"60 s\"", "duration = \"60 s\"\npackets = \"botleneck>\""),
    ("packets larger than memory", "duration = \"60 s\"", "duration = \"6000 s\"\npackets = \"all\""),
    ("too many runs", "title = \"good\"", "seed = { sweep = [1, 2] }\nrepeats = 1_000_001"),
    (
        "segmentation offload beside a processor",
        "[[flow]]",
        "[[host]]\nname = \"left\"\ncpu = \"1000 MHz\"\nsend_packet = \"10 cycles\"\ngso_max_size = \"64 KiB\"\n[[flow]]",
    ),
    ("a profile beside an overhead", "[[flow]]", "[[host]]\nname = \"left\"\noverhead = \"10 us\"\nprofile = \"linux-10g\"\n[[flow]]"),
    ("small queues without a transmit queue", "[[flow]]", "[[host]]\nname = \"left\"\nlimit_output_bytes = \"1 MiB\"\n[[flow]]"),
    (
        "small queues in a queue before which nobody waits",
        "[[flow]]",
        "[[host]]\nname = \"left\"\nprofile = \"linux-10g\"\non_full = \"drop\"\n[[flow]]",
    ),
    ("receive offload without an interrupt", "[[flow]]", "[[host]]\nname = \"left\"\ngro_max_size = \"64 KiB\"\n[[flow]]"),
    ("a size of bursts without bursts", "[[flow]]", "[[host]]\nname = \"left\"\nmin_tso_segs = 4\n[[flow]]"),
    ("no such profile", "[[flow]]", "[[host]]\nname = \"left\"\nprofile = \"linux-1t\"\n[[flow]]"),
];

#[test]
fn messages() {
    Document::parse(GOOD, "good.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut out = String::new();
    for (name, from, to) in CASES {
        assert_eq!(GOOD.matches(from).count(), 1, "{name}: {from}");
        let error = Document::parse(&GOOD.replace(from, to), "bad.toml").expect_err(name);
        out.push_str(&format!("## {name}\n{error}\n\n"));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn messages_for_explicit_paths() {
    let good = r#"[path]
hosts = ["a", "b"]
routers = ["r"]
[[path.link]]
from = "a"
to = "r"
delay = "10 ms"
rate = "1 Gbit/s"
[[path.link]]
from = "r"
to = "b"
type = "fddi"
[[flow]]
from = "a"
to = "b"
[measure]
duration = "1 s"
"#;
    Document::parse(good, "good.toml").unwrap_or_else(|e| panic!("{e}"));
    let cases = [
        ("unconnected", "routers = [\"r\"]", "routers = [\"r\", \"s\"]", "from = \"r\"\n", "from = \"s\"\n"),
        ("unknown node", "from = \"r\"\n", "from = \"rr\"\n", "", ""),
        ("a link twice", "from = \"r\"\nto = \"b\"", "from = \"a\"\nto = \"r\"", "", ""),
        ("a link to itself", "to = \"r\"", "to = \"a\"", "", ""),
        ("a node twice", "routers = [\"r\"]", "routers = [\"a\"]", "", ""),
        ("without delay, the default queue of a bottleneck holds nothing", "delay = \"10 ms\"\n", "", "", ""),
        ("default ends that are not there", "from = \"a\"\nto = \"b\"\n", "count = 2\n", "", ""),
        ("a move of no link", "[[flow]]\n", "[[path.move]]\nat = \"1 s\"\nlink = \"r-c\"\nby = \"r-b\"\n[[flow]]\n", "", ""),
        ("a move to a link of other ends", "[[flow]]\n", "[[path.move]]\nat = \"1 s\"\nlink = \"a-r\"\nby = \"r-b\"\n[[flow]]\n", "", ""),
        ("a move of a host's link", "[[flow]]\n", "[[path.move]]\nat = \"1 s\"\nlink = \"a-r\"\nby = \"a-r\"\n[[flow]]\n", "", ""),
        ("a move without a time", "[[flow]]\n", "[[path.move]]\nlink = \"a-r\"\nby = \"a-r\"\n[[flow]]\n", "", ""),
        ("keys of another preset", "[path]\n", "[path]\npreset = \"chain\"\n", "", ""),
    ];
    let mut out = String::new();
    for (name, from, to, from2, to2) in cases {
        let text = good.replacen(from, to, usize::from(!from.is_empty())).replacen(from2, to2, usize::from(!from2.is_empty()));
        let error = Document::parse(&text, "bad.toml").expect_err(name);
        out.push_str(&format!("## {name}\n{error}\n\n"));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_move_of_a_link_that_nobody_uses() {
    let file = |link, by| {
        let lines = ["fibre", "radio", "spare"]
            .map(|name| format!("[[path.link]]\nname = \"{name}\"\nfrom = \"r\"\nto = \"s\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n"));
        let edge = |from, to| format!("[[path.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n");
        let moves = format!(
            "[[path.move]]\nat = \"1 s\"\nlink = \"fibre\"\nby = \"radio\"\n[[path.move]]\nat = \"2 s\"\nlink = \"{link}\"\nby = \"{by}\"\n"
        );
        let ends = "[[flow]]\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"3 s\"\n";
        let nodes = "[path]\nhosts = [\"a\", \"b\"]\nrouters = [\"r\", \"s\"]\n";
        Document::parse(&[nodes, &lines.concat(), &edge("a", "r"), &edge("s", "b"), &moves, ends].concat(), "bad.toml")
    };
    file("fibre", "fibre").unwrap_or_else(|e| panic!("{e}"));
    file("fibre", "spare").unwrap_or_else(|e| panic!("{e}"));
    let error = file("radio", "fibre").expect_err("the route is over fibre").to_string();
    assert!(error.contains("no flow's route goes by link `radio`, so this would move nothing"), "{error}");
    assert!(error.contains("write link = \"fibre\", by = \"fibre\""), "{error}");
}

#[test]
fn messages_for_switches() {
    let good = r#"[path]
preset = "atm"
senders = 3
bottleneck = { type = "atm" }
edge = { type = "atm" }
discard = { kind = "epd", buffer = "1000 cells", threshold = "500 cells" }
[[flow]]
count = 3
[measure]
duration = "1 s"
"#;
    let explicit = r#"[path]
hosts = ["a", "b"]
routers = ["r"]
switches = ["s", "t"]
[[path.link]]
from = "a"
to = "r"
rate = "1 Gbit/s"
[[path.link]]
from = "r"
to = "s"
type = "atm"
[[path.link]]
from = "s"
to = "t"
type = "atm"
discard = "epd"
[[path.link]]
from = "t"
to = "b"
type = "atm"
[[flow]]
from = "a"
to = "b"
[measure]
duration = "1 s"
"#;
    let cases = [
        (
            good,
            "a packet that no AAL5 frame holds",
            "bottleneck = { type = \"atm\" }",
            "bottleneck = { type = \"atm\", mtu = \"65535 bytes\" }",
        ),
        (good, "EPD with less than a packet", "1000 cells", "191 cells"),
        (good, "a threshold above the buffer", "500 cells", "1001 cells"),
        (good, "a threshold that is no fraction", "\"500 cells\"", "1.5"),
        (good, "a buffer in bytes", "1000 cells", "1000 bytes"),
        (good, "RED above EPD", "kind = \"epd\"", "kind = \"epd_red\", min_threshold = 0.4, max_threshold = 0.6"),
        (good, "RED upside down", "kind = \"epd\"", "kind = \"epd_red\", min_threshold = 0.4"),
        (good, "an unknown policy", "kind = \"epd\"", "kind = \"edp\""),
        (good, "a threshold of a policy without one", "kind = \"epd\"", "kind = \"ppd\""),
        (good, "more links than ports", "senders = 3", "senders = 16"),
        (good, "several receivers behind one switch", "senders = 3", "receivers = 2"),
        (good, "frames of a least size in cells", "edge = { type = \"atm\" }", "edge = { type = \"atm\", min_frame = \"64 bytes\" }"),
        (good, "no cells on the way to a switch", "edge = { type = \"atm\" }", "edge = { type = \"fddi\" }"),
        (explicit, "a channel with no route", "from = \"t\"\nto = \"b\"", "from = \"t\"\nto = \"r\""),
        (explicit, "a policy without a switch", "rate = \"1 Gbit/s\"", "rate = \"1 Gbit/s\"\ndiscard = \"epd\""),
        (explicit, "a queue between switches", "discard = \"epd\"", "queue = { kind = \"droptail\", limit = \"1 MiB\" }"),
        (explicit, "losses between switches", "discard = \"epd\"", "loss = { kind = \"bernoulli\", probability = 0.1 }"),
        (explicit, "buffers at the inputs before another switch", "switches = [", "buffers = \"input\"\nswitches = ["),
        (explicit, "a flow that ends at a switch", "from = \"a\"\nto = \"b\"\n[m", "from = \"a\"\nto = \"t\"\n[m"),
    ];
    let mut out = String::new();
    for (good, name, from, to) in cases {
        Document::parse(good, "good.toml").unwrap_or_else(|e| panic!("{e}"));
        assert!(good.contains(from), "{name}: {from}");
        let error = Document::parse(&good.replacen(from, to, 1), "bad.toml").expect_err(name);
        out.push_str(&format!("## {name}\n{error}\n\n"));
    }
    out.push_str(&format!("## ports in a ring\n{}\n", Document::parse(&ring(5), "ring.toml").expect_err("a ring")));
    insta::assert_snapshot!(out);
}

/// Writes a ring of `n` switches, a host at each, and flows from each to the one after the next.
fn ring(n: usize) -> String {
    let names = |name: &str| (0..n).map(|i| format!("\"{name}{i}\"")).collect::<Vec<_>>().join(", ");
    let mut out = format!("[path]\nhosts = [{}]\nswitches = [{}]\n", names("h"), names("s"));
    for i in 0..n {
        let next = (i + 1) % n;
        out += &format!("[[path.link]]\nfrom = \"h{i}\"\nto = \"s{i}\"\ntype = \"atm\"\n");
        out += &format!("[[path.link]]\nfrom = \"s{i}\"\nto = \"s{next}\"\ntype = \"atm\"\n");
    }
    for i in 0..n {
        out += &format!("[[flow]]\nfrom = \"h{i}\"\nto = \"h{}\"\n", (i + 2) % n);
    }
    out + "[measure]\nduration = \"1 s\"\n"
}

#[test]
fn a_ring_in_which_no_cells_go_round_is_none() {
    // With three switches, each reaches each over one link.
    Document::parse(&ring(3), "ring.toml").unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn several_errors_are_told_at_once() {
    let text = GOOD.replace("window =", "windwo =").replace("\"5 s\"", "5").replace("title =", "titel =");
    let error = Document::parse(&text, "bad.toml").unwrap_err();
    assert_eq!(error.others.iter().map(|e| e.line).collect::<Vec<_>>(), [12, 16]);
    insta::assert_snapshot!(error);
}

#[test]
fn what_an_error_holds() {
    let text = GOOD.replace("window =", "windwo =");
    let error = Document::parse(&text, "bad.toml").unwrap_err();
    assert_eq!((error.file.as_str(), error.line, error.column, error.width), ("bad.toml", 12, 1, 6));
    assert_eq!(error.key, "flow[0].windwo");
    assert_eq!(error.help.as_deref(), Some("did you mean `window`?"));
}

#[test]
fn a_line_that_nobody_reads_to_its_end_is_not_shown_whole() {
    let long = "x".repeat(10_000_000);
    for text in [format!("title = \"{long}\"\n{long} = 1\n"), format!("seed = \"{long}\""), format!("a = 1 {long}"), long.clone()] {
        let error = Document::parse(&text, "long.toml").unwrap_err().to_string();
        assert!(error.chars().count() < 5000, "{} characters", error.chars().count());
        let mut lines = error.lines().skip_while(|line| !line.ends_with('|'));
        let (shown, carets) = (lines.nth(1).unwrap(), lines.next().unwrap());
        assert!(carets.contains('^') && carets.chars().count() <= shown.chars().count() + 1, "{error}");
    }
}

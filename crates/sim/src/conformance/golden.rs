//! Small runs that use every name of every registry and every word and switch of TCP. Their hashes stand in `tests/golden.txt`; equal hashes
//! mean equal results on every machine, and in a browser.

use longfat_core::atm::discard;
use longfat_core::link::{framing, loss};
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::queue;
use longfat_core::traffic;
use longfat_tcp::congestion::slow_start;
use longfat_tcp::{congestion, options, stack, window_sizing};

/// Returns the runs: what each is about, and its experiment file.
pub fn experiments() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |about: &str, name: &str, text: String| all.push((format!("{about} {name}"), text));
    for kind in queue::REGISTRY {
        add("queue", kind.name, dumbbell(&format!("queue = {}", table(kind.name, kind.params)), "", ""));
    }
    for kind in queue::shared::REGISTRY {
        let sharing = table(kind.name, kind.params);
        let router = format!("[[router]]\nname = [\"router1\", \"router2\"]\nshared_buffer = \"13 kB\"\nsharing = {sharing}");
        add("sharing", kind.name, dumbbell("", "", &router));
    }
    for kind in loss::REGISTRY {
        add("loss", kind.name, dumbbell(&format!("loss = {}", table(kind.name, kind.params)), "", ""));
    }
    for kind in congestion::REGISTRY {
        add("congestion_control", kind.name, dumbbell("", &format!("congestion_control = {}", table(kind.name, kind.params)), ""));
    }
    for kind in window_sizing::REGISTRY {
        add("window_sizing", kind.name, dumbbell("", &format!("window_sizing = {}", table(kind.name, kind.params)), ""));
    }
    for kind in stack::REGISTRY {
        add("stack", kind.name, dumbbell("", &format!("stack = \"{}\"", kind.name), ""));
    }
    for kind in slow_start::REGISTRY {
        // A path that is long enough for a slow start to be left.
        let text = dumbbell("", &format!("slow_start = \"{}\"", kind.name), "").replace("\"20 ms\"", "\"200 ms\"");
        add("slow_start", kind.name, text.replace("\"10 Mbit/s\"", "\"50 Mbit/s\"").replace("15 packets", "600 packets"));
    }
    for kind in traffic::REGISTRY {
        add("traffic", kind.name, dumbbell("", &format!("traffic = {}", table(kind.name, kind.params)), ""));
    }
    for kind in discard::REGISTRY {
        add("discard", kind.name, atm(&format!("discard = {}", table(kind.name, kind.params))));
    }
    for kind in framing::REGISTRY {
        let text = if kind.name.starts_with("atm") {
            atm("").replace("type = \"atm\"", &format!("type = \"{}\"", kind.name))
        } else {
            dumbbell(&format!("type = \"{}\"", kind.name), "", "")
        };
        add("type", kind.name, text.replace("duration = \"4 s\"", "duration = \"300 ms\"").replace("500 ms", "100 ms"));
    }
    for spec in options::PARAMS {
        match spec.kind {
            Kind::Choice(words) if !["congestion_control", "window_sizing", "slow_start", "send", "receive"].contains(&spec.name) => {
                for word in words {
                    add(spec.name, word, dumbbell("", &format!("{} = \"{word}\"{}", spec.name, beside(spec.name, word)), ""));
                }
            }
            Kind::Bool => {
                let other = spec.default != Some(Value::Bool(true));
                add(spec.name, &other.to_string(), dumbbell("", &format!("{} = {other}{}", spec.name, beside(spec.name, "")), ""));
            }
            _ => {}
        }
    }
    for (name, changes) in CHANGES {
        add("link that changes", name, dumbbell(changes, "", ""));
    }
    for (name, path) in PATHS {
        add("path", name, format!("{path}\n[[flow]]\ncount = 2\n[measure]\nduration = \"4 s\"\n"));
    }
    let two = ["5 ms", "20 ms"]
        .map(|delay| format!("[[path.link]]\nname = \"{delay}\"\nfrom = \"r\"\nto = \"s\"\nrate = \"10 Mbit/s\"\ndelay = \"{delay}\"\n"));
    let ends = ["from = \"a\"\nto = \"r\"", "from = \"s\"\nto = \"b\""].map(|ends| format!("[[path.link]]\n{ends}\nrate = \"1 Gbit/s\"\n"));
    let [there, back] =
        [("1 s", "20 ms"), ("2 s", "5 ms")].map(|(at, by)| format!("[[path.move]]\nat = \"{at}\"\nlink = \"5 ms\"\nby = \"{by}\"\n"));
    let head = "[path]\nhosts = [\"a\", \"b\"]\nrouters = [\"r\", \"s\"]\n";
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"4 s\"\n";
    add("path", "move", format!("{head}{}{}{there}{back}{flow}", two.concat(), ends.concat()));
    for (name, host) in HOSTS {
        add(
            "host",
            name,
            dumbbell("", "send_buffer = \"256 KiB\"", &format!("[[host]]\nname = \"left\"\n{host}\n[[host]]\nname = \"right\"\n{host}")),
        );
    }
    add("link", "pause", dumbbell("queue = \"droptail\", pause = { on = \"15 kB\", off = \"5 kB\", quanta = \"1000 quanta\" }", "", ""));
    for (key, word) in [("ties", "random"), ("departures", "last")] {
        add(key, word, format!("{key} = \"{word}\"\n{}", dumbbell("", "", "")));
    }
    // Lines of one rate and delay, and packets of one size: much comes at one instant.
    let at_once = "[path]\npreset = \"dumbbell\"\npairs = 3\nedge = { rate = \"10 Mbit/s\", delay = \"1 ms\" }\n\
         bottleneck = { rate = \"10 Mbit/s\", delay = \"3 ms\", queue = { kind = \"droptail\", limit = \"5 packets\" } }\n\
         [[flow]]\ncount = 3\n[measure]\nduration = \"4 s\"\n";
    for (key, word) in [("ties", "link_order"), ("ties", "random"), ("departures", "last")] {
        add("at once", &format!("{key} {word}"), format!("{key} = \"{word}\"\n{at_once}"));
    }
    all
}

const PATHS: [(&str, &str); 5] = [
    (
        "chain",
        "[path]\npreset = \"chain\"\nrtt = \"20 ms\"\nhops = [{ rate = \"100 Mbit/s\" }, { rate = \"10 Mbit/s\" }, { rate = \"100 Mbit/s\" }]",
    ),
    (
        "parking_lot",
        "[path]\npreset = \"parking_lot\"\nrtt = \"20 ms\"\nbottleneck = { rate = \"10 Mbit/s\" }\nedge = { rate = \"100 Mbit/s\" }",
    ),
    (
        "atm",
        "[path]\npreset = \"atm\"\nsenders = 2\nswitches = 2\nreceivers = 2\nbottleneck = { type = \"atm\", rate = \"10 Mbit/s\", delay = \"2 ms\" }\nedge = { type = \"atm\", rate = \"50 Mbit/s\", delay = \"1 ms\" }",
    ),
    (
        "explicit",
        "[path]\nhosts = [\"left\", \"right\"]\nrouters = [\"r\"]\nlink = [{ from = \"left\", to = \"r\", rate = \"100 Mbit/s\", delay = \"1 ms\" }, { from = \"r\", to = \"right\", rate = \"10 Mbit/s\", delay = \"5 ms\", reverse = { rate = \"1 Mbit/s\" } }]",
    ),
    (
        "ack_filter",
        "[path]\nhosts = [\"left\", \"right\"]\nrouters = [\"r\"]\nlink = [{ from = \"left\", to = \"r\", rate = \"100 Mbit/s\", delay = \"1 ms\" }, { from = \"r\", to = \"right\", rate = \"10 Mbit/s\", delay = \"5 ms\", reverse = { rate = \"100 kbit/s\", queue = { kind = \"cake\", ack_filter = \"on\", diffserv = \"precedence\", wash = true } } }]",
    ),
];

const HOSTS: [(&str, &str); 7] = [
    ("txqueuelen", "txqueuelen = \"20 packets\""),
    ("cpu", "cpu = \"100 MHz\"\nsend_packet = \"20000 cycles\"\nreceive_packet = \"20000 cycles\"\nsend_byte = 2.0"),
    (
        "ring",
        "cpu = \"100 MHz\"\nreceive_packet = \"100000 cycles\"\nrx_ring = \"5 packets\"\nrx_usecs = \"2 ms\"\nrx_frames = \"3 packets\"",
    ),
    (
        "backlog",
        "cpu = \"100 MHz\"\nreceive_packet = \"100000 cycles\"\nnetdev_max_backlog = \"5 packets\"\non_backlog_full = \"throttle\"",
    ),
    ("overhead", "overhead = \"1 ms\""),
    ("memory", "memory = \"64 KiB\""),
    ("shaper", "shape_rate = \"8 Mbit/s\"\nshape_burst = \"6 kB\""),
];

/// Returns the keys that a word of TCP needs beside it.
fn beside(name: &str, word: &str) -> &'static str {
    match (name, word) {
        ("sack", _) => "\nrecovery = \"newreno\"",
        ("ecn", "dctcp") => "\ncongestion_control = \"dctcp\"",
        ("prr_on_marks", _) => "\necn = \"classic\"",
        _ => "",
    }
}

/// Two flows, one after the other, and beside them one that pauses between short transfers; over a short queue and a line that loses some
/// packets, unless something else is said of the bottleneck. What is said of the flows is said of all.
fn dumbbell(bottleneck: &str, flow: &str, rest: &str) -> String {
    let rate = if bottleneck.starts_with("type") && !bottleneck.contains("plain") { "" } else { "rate = \"10 Mbit/s\", " };
    let rough = "queue = { kind = \"droptail\", limit = \"15 packets\" }, loss = { kind = \"bernoulli\", probability = 0.003 }";
    let marks = "queue = { kind = \"red\", limit = \"40 packets\", ecn = true }";
    let bottleneck = match bottleneck {
        "" if flow.contains("ecn") => marks,
        "" => rough,
        said => said,
    };
    let web = if flow.contains("traffic") { "" } else { "[[flow]]\ntraffic = { kind = \"web\", size = \"30 kB\", think = \"300 ms\" }\n" };
    let web = if web.is_empty() { String::new() } else { format!("{web}{flow}\n") };
    format!(
        "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ {rate}{bottleneck} }}\nedge = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         [[flow]]\ncount = 2\nstagger = \"130 ms\"\n{flow}\n{web}{rest}\n[measure]\nduration = \"4 s\"\ninterval = \"500 ms\"\nevents = true\n"
    )
}

fn atm(discard: &str) -> String {
    format!(
        "[path]\npreset = \"atm\"\nsenders = 2\nbottleneck = {{ type = \"atm\", rate = \"10 Mbit/s\", delay = \"5 ms\" }}\nedge = {{ type = \"atm\", rate = \"50 Mbit/s\", delay = \"1 ms\" }}\n{discard}\n\
         [[flow]]\ncount = 2\n[measure]\nduration = \"4 s\"\ninterval = \"500 ms\"\nevents = true\n"
    )
}

/// An entry of a registry with a value for each parameter that needs one.
fn table(name: &str, params: &[ParamSpec]) -> String {
    let needed = params.iter().filter(|spec| spec.default.is_none());
    let given: String = needed.map(|spec| format!(", {} = {}", spec.name, sample(name, spec))).collect();
    format!("{{ kind = \"{name}\"{given} }}")
}

fn sample(entry: &str, spec: &ParamSpec) -> String {
    match (entry, spec.name, spec.kind) {
        (_, "threshold", _) => "\"5 packets\"".to_owned(),
        (_, _, Kind::Capacity) => "\"20 packets\"".to_owned(),
        (_, _, Kind::Duration { .. }) => "\"200 ms\"".to_owned(),
        (_, _, Kind::Rate) => "\"2 Mbit/s\"".to_owned(),
        (_, "size", Kind::Bytes { .. }) => "\"1000 bytes\"".to_owned(),
        (_, _, Kind::Bytes { .. }) => "\"1 MB\"".to_owned(),
        (_, _, Kind::Count { unit: "", .. }) => "20".to_owned(),
        (_, _, Kind::Count { unit, .. }) => format!("\"20 {unit}\""),
        ("bit_errors", "rate", _) => "0.000002".to_owned(),
        (_, "shape", Kind::Number { .. }) => "1.5".to_owned(),
        (_, _, Kind::Number { .. }) => "0.02".to_owned(),
        (_, _, Kind::Choice(words) | Kind::ChoiceOrCsv(words)) => format!("\"{}\"", words[0]),
        _ => panic!("{entry}: say what {} shall be here", spec.name),
    }
}

/// Links that change: keys of the bottleneck.
const CHANGES: &[(&str, &str)] = &[
    (
        "steps",
        "rate_trace = { kind = \"steps\", values = [{ at = \"0 s\", rate = \"10 Mbit/s\" }, { at = \"1 s\", rate = \"3 Mbit/s\" }] }",
    ),
    ("sine", "rate_trace = { kind = \"sine\", low = \"3 Mbit/s\", high = \"17 Mbit/s\", period = \"700 ms\" }"),
    ("random_walk", "rate_trace = { kind = \"random_walk\", low = \"3 Mbit/s\", high = \"17 Mbit/s\" }"),
    ("markov", "rate_trace = { kind = \"markov\", low = \"3 Mbit/s\", high = \"17 Mbit/s\", high_for = \"300 ms\", low_for = \"100 ms\" }"),
    ("leo", "rate_trace = { kind = \"leo\", low = \"3 Mbit/s\", high = \"17 Mbit/s\", interval = \"1 s\" }"),
    ("lte", "rate_trace = { kind = \"lte\", low = \"10 kbit/s\", high = \"17 Mbit/s\" }"),
    ("docsis", "rate_trace = { kind = \"docsis\", rate = \"40 Mbit/s\", sustained = \"10 Mbit/s\" }"),
    ("harq", "harq = {}"),
    ("mahimahi", "rate_trace = { kind = \"mahimahi\", at = [1, 2, 2, 10] }"),
    ("down", "down = [{ from = \"1 s\", to = \"1.5 s\" }]"),
    ("jitter", "jitter = { most = \"3 ms\", correlation = 0.3, in_order = false }"),
    ("reorder", "reorder = { probability = 0.01, by = \"4 ms\" }"),
    ("duplicate", "duplicate = 0.01"),
];

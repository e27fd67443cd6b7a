//! Golden results: when results change, `RESULTS_VERSION` must be raised, and this test says so.
//!
//! It runs a small experiment for each name of each registry and for each word and switch of TCP, hashes what comes out, and compares
//! that with `golden.txt` beside it. The defaults of experiment files stand there as well, since they decide what a run is that
//! says nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use longfat_core::atm::discard;
use longfat_core::link::{framing, loss};
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::queue;
use longfat_core::traffic;
use longfat_experiment::{Document, RESULTS_VERSION, defaults};
use longfat_record::trace::Trace;
use longfat_record::trace::columns::{self, Column};
use longfat_tcp::congestion::slow_start;
use longfat_tcp::{congestion, options, stack, window_sizing};
use sha2::{Digest, Sha256};

const WHAT_TO_DO: &str = "If the change is meant, raise RESULTS_VERSION in crates/experiment/src/identity.rs by one; \
     add a line to the CHANGELOG under \"Results\" with the numbers before and after, and write the new ones down: UPDATE_GOLDEN=1 cargo test -p longfat-sim golden. \
     If it is not meant, it is a mistake: find it.";

fn file() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "src", "tests", "golden.txt"].iter().collect()
}

/// The runs: what each is about, and its experiment file.
pub(super) fn experiments() -> Vec<(String, String)> {
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
            Kind::Choice(words) if !["congestion_control", "window_sizing", "slow_start"].contains(&spec.name) => {
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

/// Columns of a run's cost, in work and in memory, which are no result.
const COSTS: [&str; 2] = ["steps", "packets_in_network_max"];

/// Names of the columns that are always hashed: all that are stored, but for what a run cost, and for those that a run without what they count knows nothing of:
/// they are hashed where they are not zero, so that a new one leaves other runs as they are.
fn columns_of_today() -> Vec<String> {
    let mut names = Vec::new();
    fn add<R: 'static>(names: &mut Vec<String>, table: &str, columns: &[Column<R>]) {
        let stored = columns.iter().filter(|column| column.is_stored() && !column.was_zero && !COSTS.contains(&column.name));
        names.extend(stored.map(|column| format!("{table}.{}", column.name)));
    }
    add(&mut names, "run", columns::run());
    add(&mut names, "flows", columns::flows());
    add(&mut names, "links", columns::links());
    add(&mut names, "hosts", columns::hosts());
    add(&mut names, "flow_series", columns::flow_series());
    add(&mut names, "link_series", columns::link_series());
    add(&mut names, "events", columns::events());
    names
}

/// A hash of those columns of a trace that are in `hashed`, or that count something new.
fn hash(trace: &Trace, hashed: &[String]) -> String {
    let mut hasher = Sha256::new();
    let mut seen = 0;
    let mut add = |name: String, was_zero: bool, cells: &[u64]| {
        let is_always = hashed.contains(&name);
        seen += usize::from(is_always);
        if is_always || was_zero && cells.iter().any(|&cell| cell != 0) {
            hasher.update(name.as_bytes());
            cells.iter().for_each(|cell| hasher.update(cell.to_le_bytes()));
        }
    };
    fn table<R: Clone + 'static>(name: &str, columns: &[Column<R>], rows: &[R], add: &mut dyn FnMut(String, bool, &[u64])) {
        for column in columns {
            let cells: Vec<u64> = rows.iter().map(|row| column.get(row)).collect();
            add(format!("{name}.{}", column.name), column.was_zero && column.is_stored(), &cells);
        }
    }
    table("run", columns::run(), std::slice::from_ref(trace), &mut add);
    table("flows", columns::flows(), &trace.flows, &mut add);
    table("links", columns::links(), &trace.links, &mut add);
    table("hosts", columns::hosts(), &trace.hosts, &mut add);
    table("flow_series", columns::flow_series(), &trace.flow_series.iter().collect::<Vec<_>>(), &mut add);
    table("link_series", columns::link_series(), &trace.link_series.iter().collect::<Vec<_>>(), &mut add);
    table("events", columns::events(), &trace.events, &mut add);
    assert_eq!(seen, hashed.len(), "a column of golden.txt is no more. {WHAT_TO_DO}");
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Content of golden.txt: the version, the columns, and a value for each `default` and `run`.
struct Golden {
    version: u32,
    columns: Vec<String>,
    lines: BTreeMap<String, String>,
}

impl Golden {
    fn read(text: &str) -> Option<Self> {
        let mut rest = text.lines().filter(|line| !line.starts_with('#'));
        let version = rest.next()?.strip_prefix("version ")?.parse().ok()?;
        let columns = rest.next()?.strip_prefix("columns ")?.split(' ').map(str::to_owned).collect();
        let lines = rest.map(|line| line.split_once(" = ").map(|(name, value)| (name.to_owned(), value.to_owned())));
        Some(Golden { version, columns, lines: lines.collect::<Option<_>>()? })
    }

    /// Computes the current values of the columns `columns`.
    fn now(columns: Vec<String>) -> Self {
        let mut lines: BTreeMap<String, String> = defaults().into_iter().map(|(path, value)| (format!("default {path}"), value)).collect();
        for (name, text) in experiments() {
            let run = Document::parse(&text, &name).and_then(|document| document.run(0)).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
            let trace = crate::run(&run.experiment).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(trace.flows.iter().any(|flow| flow.packets_delivered > 0), "{name}: nothing happens");
            assert!(lines.insert(format!("run {name}"), hash(&trace, &columns)).is_none(), "two runs are called {name}");
        }
        Golden { version: RESULTS_VERSION, columns, lines }
    }

    fn write(&self) -> String {
        let mut text =
            "# Written by the golden test (golden.rs): hashes of what small runs give, and the defaults of experiment files.\n".to_owned();
        writeln!(text, "version {}\ncolumns {}", self.version, self.columns.join(" ")).unwrap();
        for (name, value) in &self.lines {
            writeln!(text, "{name} = {value}").unwrap();
        }
        text
    }
}

#[test]
fn results_are_what_they_were_or_their_version_is_raised() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let stored = Golden::read(&std::fs::read_to_string(file()).unwrap_or_default());
    let before = match stored {
        Some(golden) if golden.version == RESULTS_VERSION => golden,
        _ if update => return std::fs::write(file(), Golden::now(columns_of_today()).write()).unwrap(),
        _ => panic!(
            "golden.txt is not of results version {RESULTS_VERSION}: write it anew with UPDATE_GOLDEN=1 cargo test -p longfat-sim golden"
        ),
    };
    let now = Golden::now(before.columns.clone());
    let moved: Vec<String> = before
        .lines
        .iter()
        .filter(|(name, value)| now.lines.get(*name) != Some(value))
        .map(|(name, value)| format!("  {name}: {value} became {}", now.lines.get(name).map_or("nothing", String::as_str)))
        .collect();
    assert!(moved.is_empty(), "the same experiments give other results than before:\n{}\n{WHAT_TO_DO}", moved.join("\n"));
    let new: Vec<&str> = now.lines.keys().filter(|name| !before.lines.contains_key(*name)).map(String::as_str).collect();
    let more: Vec<String> = columns_of_today().into_iter().filter(|column| !before.columns.contains(column)).collect();
    if update {
        let columns = before.columns.iter().cloned().chain(more).collect();
        return std::fs::write(file(), Golden::now(columns).write()).unwrap();
    }
    assert!(
        new.is_empty() && more.is_empty(),
        "golden.txt lacks {new:?} or the columns {more:?}: add them with UPDATE_GOLDEN=1 cargo test -p longfat-sim golden"
    );
}

/// The test above sees a number that moves, in any column it hashes.
#[test]
fn a_hash_follows_every_column() {
    let (_, text) = experiments().into_iter().find(|(name, _)| name == "queue red").unwrap();
    let trace = crate::run(&Document::parse(&text, "").unwrap().run(0).unwrap().experiment).unwrap();
    let columns = columns_of_today();
    let before = hash(&trace, &columns);
    let mut other = trace.clone();
    other.flows[1].timeouts += 1;
    assert_ne!(hash(&other, &columns), before);
    let mut other = trace.clone();
    let mut rows: Vec<_> = other.link_series.iter().collect();
    rows.last_mut().unwrap().marks += 1;
    other.link_series = rows.into();
    assert_ne!(hash(&other, &columns), before);
    let mut other = trace;
    other.steps += 1;
    other.packets_in_network_max += 1;
    assert_eq!(hash(&other, &columns), before);
}

//! Golden results: when results change, `RESULTS_VERSION` must be raised, and this test says so.
//!
//! It runs a small experiment for each name of each registry and for each word and switch of TCP, hashes what comes out, and compares
//! that with `golden.txt` beside it. The defaults of experiment files stand there as well, since they decide what a run is that
//! says nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use longfat_experiment::{Document, RESULTS_VERSION, defaults, fingerprint};
use longfat_record::trace::Trace;
use longfat_record::trace::columns::{self, Column};

use crate::conformance::golden::experiments;

const WHAT_TO_DO: &str = "If the change is meant, raise RESULTS_VERSION in crates/experiment/src/identity.rs by one; \
     add a line to the CHANGELOG under \"Results\" with the numbers before and after, and write the new ones down: UPDATE_GOLDEN=1 cargo test -p longfat-sim golden. \
     If it is not meant, it is a mistake: find it.";

fn file() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "src", "tests", "golden.txt"].iter().collect()
}

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
    fingerprint(trace, hashed).unwrap_or_else(|column| panic!("the column {column} of golden.txt is no more. {WHAT_TO_DO}"))
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

//! Dependencies between modules and crates: the modules of the core depend in one direction only, and so do the crates of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates, each with our crates that it may name.
const CRATES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("tcp", &["core"]),
    ("model", &["core", "tcp"]),
    ("record", &["core", "model", "tcp"]),
    ("experiment", &["core", "model", "record", "tcp"]),
    ("sim", &["core", "model", "record", "tcp"]),
    ("gym", &["core", "model", "sim", "tcp"]),
    ("bpf", &["core", "tcp"]),
    ("script", &["core", "tcp"]),
    ("capture", &["core", "model", "record"]),
    ("disk", &["core", "experiment", "record", "script"]),
    ("host", &["core", "record", "tcp"]),
    ("live", &["capture", "core", "host", "model", "record", "tcp"]),
    ("testbed", &["bpf", "core", "experiment", "host", "model", "record", "tcp"]),
    ("bench", &["core", "experiment", "model", "record", "sim", "tcp"]),
    ("web", &["core", "experiment", "model", "record", "sim", "tcp"]),
    ("py", &["bpf", "capture", "core", "disk", "experiment", "gym", "live", "model", "record", "script", "sim", "tcp", "testbed"]),
];

/// Crates that run anywhere, in a browser as well: they have no access to files, processes or the network.
const PURE: &[&str] = &["core", "tcp", "model", "record", "experiment", "sim", "gym"];

/// Names that none of [`PURE`] may have outside of its tests. (`std::path` is about names alone, but some of its functions ask the system.)
const SYSTEM: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::path",
    "std::process",
    "std::thread",
    "std::time",
    "tempfile",
    "zstd",
    "getrandom",
];

/// Modules of the record, each with those it may name.
const RECORD: &[(&str, &[&str])] = &[("trace", &[]), ("recorder", &["trace"]), ("metric", &["trace"]), ("warning", &["metric", "trace"])];

/// Modules of the core, each with those it may name.
const CORE: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("quantiles", &["time"]),
    ("rng", &[]),
    ("units", &["time"]),
    ("params", &["by_name", "packet", "time", "units"]),
    ("packet", &["time"]),
    ("promise", &["params"]),
    ("traffic", &["by_name", "packet", "params", "quantiles", "rng", "time", "units"]),
    ("queue", &["by_name", "packet", "params", "promise", "rng", "time", "units"]),
    ("link", &["atm", "by_name", "packet", "params", "quantiles", "queue", "rng", "time", "units"]),
    ("atm", &["by_name", "packet", "params", "queue", "rng", "time", "units"]),
];

/// Modules of the core that TCP may name: nothing that is on its path.
const CORE_FOR_TCP: &[&str] = &["by_name", "packet", "params", "promise", "quantiles", "rng", "time", "units"];

fn files(path: &Path, into: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            files(&entry.unwrap().path(), into);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        into.push(path.to_owned());
    }
}

/// Returns what follows each `crate::` (or `longfat_sim::`, ...) in the sources at `path`.
fn named(path: &Path, prefix: &str) -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    files(path, &mut sources);
    let mut found = Vec::new();
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        for (at, _) in text.match_indices(prefix) {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if text[..at].ends_with(word) {
                continue;
            }
            found.push((source.clone(), text[at + prefix.len()..].chars().take_while(|c| word(*c)).collect()));
        }
    }
    found
}

/// Returns true for a file compiled for tests alone. Tests may use crates of higher layers.
fn is_test(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests") || file.ends_with("tests.rs")
}

fn source(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(of).join("src")
}

#[test]
fn crates_look_down_only() {
    let members = fs::read_dir(source("core").join("../..")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let without: Vec<String> = members.filter(|name| CRATES.iter().all(|(of, _)| of != name)).collect();
    assert!(without.is_empty(), "crates without a row in CRATES of layers.rs: {without:?}");
    for (of, allowed) in CRATES {
        let manifest = fs::read_to_string(source(of).join("../Cargo.toml")).unwrap();
        let shipped = manifest.split("[dev-dependencies]").next().unwrap();
        for (other, _) in CRATES.iter().filter(|(other, _)| other != of) {
            let named = named(&source(of), &format!("longfat_{other}::")).iter().any(|(file, _)| !is_test(file));
            assert!(!named || allowed.contains(other), "{of} names {other}");
            let depends = shipped.contains(&format!("\nlongfat-{other}.workspace"));
            assert_eq!(depends, allowed.contains(other), "{of} depends on {other}: {depends}");
        }
        assert!(*of == "py" || !manifest.contains("pyo3"), "{of} knows Python");
    }
}

#[test]
fn pure_crates_know_no_system() {
    for of in PURE {
        let manifest = fs::read_to_string(source(of).join("../Cargo.toml")).unwrap();
        let mut sources = Vec::new();
        files(&source(of), &mut sources);
        let mut texts = vec![(source(of).join("../Cargo.toml"), manifest.split("[dev-dependencies]").next().unwrap().to_owned())];
        for path in sources.into_iter().filter(|path| !is_test(path)) {
            let text = fs::read_to_string(&path).unwrap();
            texts.push((path, without_tests(&text).to_owned()));
        }
        for (path, text) in texts {
            let names = names_after("std::", &text).into_iter().map(|name| format!("std::{name}"));
            let named: Vec<String> =
                names.chain(SYSTEM.iter().filter(|name| text.contains(*name)).map(|name| (*name).to_owned())).collect();
            let of_system = named.iter().find(|name| SYSTEM.contains(&name.as_str()));
            assert!(of_system.is_none(), "{} names {}", path.display(), of_system.unwrap());
        }
    }
}

#[test]
fn modules_of_the_core_look_down_only() {
    let src = source("core");
    for (module, allowed) in CORE {
        let paths = [src.join(module), src.join(format!("{module}.rs"))];
        assert!(paths.iter().any(|path| path.exists()), "no module {module}");
        for path in paths.iter().filter(|path| path.exists()) {
            for (file, name) in named(path, "crate::") {
                assert!(name == *module || allowed.contains(&name.as_str()), "{} names crate::{name}", file.display());
            }
        }
    }
    let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let without: Vec<&str> = modules.filter(|module| CORE.iter().all(|(of, _)| of != module)).collect();
    assert!(without.is_empty(), "modules without a row in CORE of layers.rs: {without:?}");
}

#[test]
fn tcp_knows_nothing_of_its_path() {
    for (file, name) in named(&source("tcp"), "longfat_core::") {
        assert!(CORE_FOR_TCP.contains(&name.as_str()), "{} names longfat_core::{name}", file.display());
    }
}

#[test]
fn modules_of_the_record_look_down_only() {
    for (module, allowed) in RECORD {
        for (file, name) in named(&source("record").join(module), "crate::") {
            assert!(name == *module || allowed.contains(&name.as_str()), "{} names crate::{name}", file.display());
        }
    }
}

/// Returns the part of a source that is not its inline tests.
fn without_tests(text: &str) -> &str {
    text.split("mod tests {\n").next().unwrap()
}

/// Returns the names after each `crate::` in `text`, also within braces.
fn names_of_crate(text: &str) -> BTreeSet<String> {
    names_after("crate::", text)
}

fn names_after(start: &str, text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    for (at, found) in text.match_indices(start) {
        let rest = &text[at + found.len()..];
        let mut depth = 0;
        let mut starts = !rest.starts_with('{');
        for (i, c) in rest.char_indices() {
            if starts {
                names.insert(rest[i..].chars().take_while(|c| word(*c)).collect());
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            // A comma within the outermost braces begins another path.
            starts = depth == 1 && (c == '{' || (c == ' ' && rest[..i].trim_end().ends_with(',')));
            if depth == 0 && (i > 0 || !rest.starts_with('{')) {
                break;
            }
        }
    }
    names
}

/// Returns the modules at the top of a crate, each with those of its siblings that it names outside of tests.
fn siblings(of: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (root, mut sources) = (source(of), Vec::new());
    files(&root, &mut sources);
    let mut named = BTreeMap::<String, BTreeSet<String>>::new();
    for path in sources {
        let parts: Vec<String> =
            path.strip_prefix(&root).unwrap().with_extension("").iter().map(|part| part.to_str().unwrap().into()).collect();
        if parts.iter().any(|part| ["tests", "testing", "bin", "lib"].contains(&part.as_str())) {
            continue;
        }
        // A link in a comment is no use of its target.
        let text: String =
            fs::read_to_string(&path).unwrap().split_inclusive('\n').filter(|line| !line.trim_start().starts_with("//")).collect();
        let names = named.entry(parts[0].clone()).or_default();
        names.extend(names_of_crate(without_tests(&text)));
        // The file of a module at the top may call its siblings by way of their parent.
        if parts.len() == 1 || parts[1..] == ["mod"] {
            names.extend(names_after("super::", without_tests(&text)));
        }
    }
    let modules: BTreeSet<String> = named.keys().cloned().collect();
    for (module, names) in &mut named {
        names.retain(|name| modules.contains(name) && name != module);
    }
    named
}

#[test]
fn names_in_braces_are_found() {
    let text = "use crate::a::b;\nuse crate::{c, d::{e, f}, g};\nfn h() { crate::i::j() }";
    assert_eq!(names_of_crate(text).into_iter().collect::<Vec<_>>(), ["a", "c", "d", "g", "i"]);
}

#[test]
fn siblings_do_not_go_in_circles() {
    for (of, _) in CRATES {
        let mut left = siblings(of);
        // A module that names none of the rest is in no circle.
        while let Some(free) =
            left.iter().find(|(_, names)| names.iter().all(|name| !left.contains_key(name))).map(|(module, _)| module.clone())
        {
            left.remove(&free);
        }
        assert!(left.is_empty(), "crates/{of}: modules that name each other in a circle are among these: {left:?}");
    }
}

//! Who may see whom: the modules of the core look in one direction only, and the crates of the workspace likewise.

use std::fs;
use std::path::{Path, PathBuf};

/// Each crate with those of ours that it may name.
const CRATES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("tcp", &["core"]),
    ("experiment", &["core", "tcp"]),
    ("sim", &["core", "experiment", "tcp"]),
    ("script", &["core", "tcp"]),
    ("py", &["core", "experiment", "script", "sim", "tcp"]),
];

/// Each module of the core with those it may name.
const CORE: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("rng", &[]),
    ("units", &["time"]),
    ("params", &["by_name", "time", "units"]),
    ("packet", &["time"]),
    ("traffic", &["by_name", "packet", "params", "rng", "time", "units"]),
    ("queue", &["by_name", "packet", "params", "rng", "time", "units"]),
    ("link", &["atm", "by_name", "packet", "params", "queue", "rng", "time", "units"]),
    ("atm", &["by_name", "packet", "params", "queue", "rng", "time", "units"]),
];

/// What TCP may name of the core: nothing that is on its path.
const CORE_FOR_TCP: &[&str] = &["by_name", "packet", "params", "rng", "time", "units"];

fn files(path: &Path, into: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            files(&entry.unwrap().path(), into);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        into.push(path.to_owned());
    }
}

/// What follows each `crate::` (or `longfat_sim::`, ...) in the sources at `path`.
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

fn source(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(of).join("src")
}

#[test]
fn crates_look_down_only() {
    let members = fs::read_dir(source("core").join("../..")).unwrap().count();
    assert_eq!(members, CRATES.len(), "a crate without a layer");
    for (of, allowed) in CRATES {
        let manifest = fs::read_to_string(source(of).join("../Cargo.toml")).unwrap();
        for (other, _) in CRATES.iter().filter(|(other, _)| other != of) {
            let named = !named(&source(of), &format!("longfat_{other}::")).is_empty();
            assert!(!named || allowed.contains(other), "{of} names {other}");
            let depends = manifest.contains(&format!("\nlongfat-{other}.workspace"));
            assert_eq!(depends, allowed.contains(other), "{of} depends on {other}: {depends}");
        }
        assert!(*of == "py" || !manifest.contains("pyo3"), "{of} knows Python");
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
    assert_eq!(lib.matches("pub mod ").count(), CORE.len(), "a module without a layer");
}

#[test]
fn tcp_knows_nothing_of_its_path() {
    for (file, name) in named(&source("tcp"), "longfat_core::") {
        assert!(CORE_FOR_TCP.contains(&name.as_str()), "{} names longfat_core::{name}", file.display());
    }
}

#[test]
fn what_is_asked_does_not_depend_on_what_came_of_it() {
    for (file, name) in named(&source("experiment"), "crate::") {
        let inside = |module: &str| file.starts_with(source("experiment").join(module));
        match name.as_str() {
            "metric" => assert!(inside("metric"), "{} names metrics", file.display()),
            "trace" => assert!(inside("metric") || inside("trace"), "{} names the trace", file.display()),
            _ => {}
        }
    }
}

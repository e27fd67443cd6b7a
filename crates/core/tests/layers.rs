//! Who may see whom: the modules of the core look in one direction only, and the crates of the workspace likewise.

use std::fs;
use std::path::{Path, PathBuf};

/// Each module with those it may name.
const LAYERS: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("rng", &[]),
    ("units", &["time"]),
    ("params", &["time", "units"]),
    ("packet", &["time"]),
    ("traffic", &["packet", "params", "rng", "time", "units"]),
    ("tcp", &["packet", "params", "rng", "time", "units"]),
    ("queue", &["packet", "params", "rng", "time", "units"]),
    ("link", &["atm", "packet", "params", "rng", "time", "units"]),
    ("atm", &["packet", "params", "queue", "rng", "time", "units"]),
    ("experiment", &["atm", "link", "packet", "params", "queue", "rng", "tcp", "time", "traffic", "units"]),
    ("trace", &["atm", "experiment", "queue", "time"]),
    ("metric", &["atm", "experiment", "link", "params", "queue", "tcp", "time", "trace", "traffic", "units"]),
];

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

#[test]
fn modules_of_the_core_look_down_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for (module, allowed) in LAYERS {
        let paths = [src.join(module), src.join(format!("{module}.rs"))];
        seen += usize::from(paths.iter().any(|path| path.exists()));
        for path in paths.iter().filter(|path| path.exists()) {
            for (file, name) in named(path, "crate::") {
                assert!(name == *module || allowed.contains(&name.as_str()), "{} names crate::{name}", file.display());
            }
        }
    }
    assert_eq!(seen, LAYERS.len(), "every module named here is there");
    let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
    assert_eq!(lib.matches("pub mod ").count(), LAYERS.len(), "a module without a layer");
}

#[test]
fn the_core_knows_no_backend_and_backends_neither_face_nor_each_other() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (of, forbidden) in [
        ("core", &["longfat_sim", "longfat_script", "longfat_py", "pyo3"][..]),
        ("sim", &["longfat_script", "longfat_py", "pyo3"][..]),
        ("script", &["longfat_sim", "longfat_py", "pyo3"][..]),
    ] {
        let manifest = fs::read_to_string(crates.join(of).join("Cargo.toml")).unwrap();
        for name in forbidden {
            assert!(named(&crates.join(of).join("src"), &format!("{name}::")).is_empty(), "{of} names {name}");
            assert!(!manifest.contains(&name.replace('_', "-")), "{of} depends on {name}");
        }
    }
}

//! Fingerprints what decides a run's outcome, so that results of other code are never taken for this one's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let mut files = Vec::new();
    for folder in ["crates/core/src", "crates/tcp/src", "crates/experiment/src", "crates/sim/src"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut hash = FNV_OFFSET;
    for file in &files {
        hash = fnv1a(hash, file.strip_prefix(&root).unwrap().as_os_str().as_encoded_bytes());
        hash = fnv1a(hash, &fs::read(file).unwrap());
    }
    println!("cargo::rustc-env=LONGFAT_CODE={hash:016x}");
    println!("cargo::rustc-env=LONGFAT_COMMIT={}", commit(&root));
}

/// Rust files under `folder`, tests left out.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_owned();
        if path.is_dir() && name != "tests" {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
}

// FNV-1a, 64 bits: draft-eastlake-fnv, §2. Not the standard library's hasher, which may change with the compiler.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The commit, with `+` where tracked files have changed since; empty without git.
fn commit(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok().filter(|o| o.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    if let Some(logs) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={}", root.join(logs).display());
    }
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    if changed { head + "+" } else { head }
}

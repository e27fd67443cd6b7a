//! Fingerprints the sources that decide what a run gives, for its provenance; and those of the metrics and warnings, so that tables made by others
//! are made anew.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let mut files = Vec::new();
    for krate in fs::read_dir(root.join("crates")).unwrap() {
        let krate = krate.unwrap().path();
        // The bridge to Python, the packet scripts and the programs for the kernel decide no result.
        if !["py", "script", "bpf", "bench"].iter().any(|name| krate.ends_with(name)) {
            println!("cargo::rerun-if-changed={}", krate.join("src").display());
            collect(&krate.join("src"), &mut files);
        }
    }
    files.sort();
    let fingerprint = |files: &mut dyn Iterator<Item = &PathBuf>| {
        files.fold(FNV_OFFSET, |hash, file| {
            let name = file.strip_prefix(&root).unwrap().as_os_str();
            fnv1a(fnv1a(hash, name.as_encoded_bytes()), &fs::read(file).unwrap())
        })
    };
    println!("cargo::rustc-env=LONGFAT_CODE={:016x}", fingerprint(&mut files.iter()));
    let of_metrics = |file: &&PathBuf| {
        file.components().any(|part| ["metric", "warning"].iter().any(|name| part.as_os_str() == *name)) || file.ends_with("chance.rs")
    };
    println!("cargo::rustc-env=LONGFAT_METRICS={:016x}", fingerprint(&mut files.iter().filter(of_metrics)));
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

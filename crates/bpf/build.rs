//! Compiles each twin for the kernel, where the feature `bpf` asks for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo gives it"));
    // libbpf's own headers, as its crate says where they are.
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    for entry in fs::read_dir("bpf").expect("the twins are in bpf/") {
        let source = entry.expect("a readable folder").path();
        let name = source.file_name().expect("a file").to_string_lossy().into_owned();
        if let Some(twin) = name.strip_suffix(".bpf.c") {
            compile(&clang, &headers, &source, &out.join(format!("{twin}.bpf.o")));
        }
    }
}

fn compile(clang: &str, headers: &str, source: &Path, object: &Path) {
    let status = Command::new(clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-Wno-unused-function", "-I", headers, "-c"])
        .args([source, Path::new("-o"), object])
        .status()
        .unwrap_or_else(|error| panic!("the feature `bpf` needs clang (make system-packages): {clang}: {error}"));
    assert!(status.success(), "clang could not compile {}", source.display());
}

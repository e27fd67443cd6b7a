//! The scripts of tests/scripts: what our stacks promise, packet by packet.

use longfat_script::Options;
use std::fs;
use std::path::Path;

#[test]
fn every_script_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "pkt"));
    files.sort();
    let count = files.len();
    let mut bad = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let report = longfat_script::run(&fs::read_to_string(&path).unwrap(), &name, &Options::default());
        // A second run is the same run.
        assert_eq!(report, longfat_script::run(&fs::read_to_string(&path).unwrap(), &name, &Options::default()));
        if report.verdict != longfat_script::Verdict::Pass {
            bad.push(report.to_string());
        }
    }
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
    assert!(count > 20, "there are scripts");
}

//! The experiments that come with longfat.

use super::super::{Document, write};

pub const FILES: &[(&str, &str)] = &[
    ("lfn", include_str!("../../../../../experiments/lfn.toml")),
    ("parking-lot", include_str!("../../../../../experiments/parking-lot.toml")),
    ("two-way", include_str!("../../../../../experiments/two-way.toml")),
    ("rtt-fairness", include_str!("../../../../../experiments/rtt-fairness.toml")),
    ("asymmetric", include_str!("../../../../../experiments/asymmetric.toml")),
    ("chain", include_str!("../../../../../experiments/chain.toml")),
];

#[test]
fn every_run_resolves_and_reads_back_as_itself() {
    for (name, text) in FILES {
        let document = Document::parse(text, name).unwrap_or_else(|e| panic!("{e}"));
        let mut hashes = std::collections::BTreeSet::new();
        for index in 0..document.run_count() {
            let run = document.run(index).unwrap_or_else(|e| panic!("{e}"));
            let written = write::toml(&run.resolved);
            let again = Document::parse(&written, "resolved").unwrap_or_else(|e| panic!("{e}\n{written}"));
            assert_eq!(again.run_count(), 1);
            let again = again.run(0).unwrap();
            assert_eq!(again.experiment, run.experiment, "{written}");
            assert_eq!(again.hash, run.hash, "{name} {index}");
            assert!(hashes.insert(run.hash), "two runs of {name} are the same");
        }
    }
}

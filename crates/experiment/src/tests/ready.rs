//! The experiments that come with longfat.

use super::super::identity::hexadecimal;
use super::super::{Document, Files};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const FILES: &[(&str, &str)] = &[
    ("lfn", include_str!("../../../../experiments/lfn.toml")),
    ("parking-lot", include_str!("../../../../experiments/parking-lot.toml")),
    ("two-way", include_str!("../../../../experiments/two-way.toml")),
    ("rtt-fairness", include_str!("../../../../experiments/rtt-fairness.toml")),
    ("asymmetric", include_str!("../../../../experiments/asymmetric.toml")),
    ("chain", include_str!("../../../../experiments/chain.toml")),
];

/// The files of the repository.
#[derive(Debug)]
struct Repository;

impl Files for Repository {
    fn text(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(name).map_err(|e| e.to_string())
    }
    fn trace(&self, name: &str) -> Result<Vec<u8>, String> {
        std::fs::read(name).map_err(|e| e.to_string())
    }
}

/// Finds every experiment file below `folder` of the repository.
fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn every_run_resolves_and_reads_back_as_itself() {
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect();
    let mut files = Vec::new();
    files_below(&root.join("experiments"), &mut files);
    files_below(&root.join("papers"), &mut files);
    assert!(files.len() >= FILES.len());
    for file in files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let document = Document::parse_with(&text, &name, Arc::new(Repository)).unwrap_or_else(|e| panic!("{e}"));
        let mut hashes = BTreeSet::new();
        let plan = document.plan(0..document.run_count()).unwrap_or_else(|e| panic!("{e}"));
        for index in 0..document.run_count() {
            let run = document.run(index).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(hexadecimal(&plan.hashes[index as usize]), run.hash, "{name} {index}");
            assert!(hashes.insert(run.hash.clone()), "two runs of {name} are the same: {:?}", run.labels);
            // Reading back a sample of a large sweep is enough.
            if index % (document.run_count() / 32 + 1) != 0 {
                continue;
            }
            let written = run.to_toml();
            let again = Document::parse_with(&written, "resolved", Arc::new(Repository))
                .and_then(|d| d.run(0))
                .unwrap_or_else(|e| panic!("{e}\n{written}"));
            assert_eq!(again.experiment, run.experiment, "{written}");
            assert_eq!(again.hash, run.hash, "{name} {index}");
        }
    }
}

/// The whole experiments among the TOML blocks of a document.
fn examples(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n```toml")
        .skip(1)
        .filter_map(|rest| rest.split_once('\n')?.1.split_once("\n```"))
        .map(|(body, _)| body)
        .filter(|body| body.starts_with("title"))
}

#[test]
fn every_example_of_a_page_can_be_run() {
    let docs: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs"].iter().collect();
    let mut found = 0;
    for folder in ["congestion", "queues", "stacks"] {
        for page in std::fs::read_dir(docs.join(folder)).unwrap() {
            let page = page.unwrap().path();
            let (name, text) = (page.display().to_string(), std::fs::read_to_string(&page).unwrap());
            for example in examples(&text) {
                let document = Document::parse(example, &name).unwrap_or_else(|e| panic!("{e}"));
                for index in 0..document.run_count() {
                    document.run(index).unwrap_or_else(|e| panic!("{e}"));
                }
                found += 1;
            }
        }
    }
    assert!(found > 9);
}

//! The reference in the documentation, made from the tables of validation (`make docs-reference` writes it anew), and the schema.

use super::super::{listing, reference, schema};
use longfat_core::params::{ParamSpec, check_entry};
use longfat_core::promise::Promise;
use longfat_core::queue;
use longfat_tcp::congestion;
use serde_json::Value as Json;
use std::path::PathBuf;

fn docs(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", name].iter().collect()
}

/// Fails unless the file holds `expected`; writes it when asked to.
fn same(name: &str, expected: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(docs(name), expected).unwrap();
    }
    let found = std::fs::read_to_string(docs(name)).unwrap_or_default();
    assert!(found == expected, "docs/{name} is out of date: make docs-reference");
}

#[test]
fn the_reference_is_up_to_date() {
    let pages = reference();
    for (name, text) in &pages {
        same(&format!("experiment/{name}.md"), text);
    }
    let kept = std::fs::read_dir(docs("experiment")).unwrap().count();
    assert_eq!(kept, pages.len(), "docs/experiment holds a page of a table that is no more");
    let overview = std::fs::read_to_string(docs("experiment-file.md")).unwrap();
    let missing: Vec<_> = pages.iter().filter(|(name, _)| !overview.contains(&format!("(experiment/{name}.md)"))).collect();
    assert!(missing.is_empty(), "docs/experiment-file.md links to no page of {missing:?}");
}

/// Lists the promises of `entries`: names with their claims in words and the sources of these.
fn promises(title: &str, folder: &str, entries: &[(&str, Vec<(String, &str)>)]) -> String {
    let mut page = format!("\n## {title}\n\n| | claim | source |\n|---|---|---|\n");
    for (name, claims) in entries {
        for (i, (claim, source)) in claims.iter().enumerate() {
            let name = if i == 0 { format!("[{name}]({folder}/{name}.md)") } else { String::new() };
            page += &format!("| {name} | {claim} | {source} |\n");
        }
    }
    page
}

#[test]
fn the_promises_are_up_to_date() {
    const MARK: &str = "<!-- Below this line the page is generated: see crates/experiment/src/tests/reference.rs -->\n";
    let page = std::fs::read_to_string(docs("promises.md")).unwrap();
    let (written, _) = page.split_once(MARK).expect("the page has the mark");
    fn said<Claim: std::fmt::Display>(params: &[ParamSpec], promises: &[Promise<Claim>]) -> Vec<(String, &'static str)> {
        promises.iter().map(|promise| (promise.said(params), promise.source)).collect()
    }
    let controls: Vec<_> = congestion::REGISTRY.iter().map(|kind| (kind.name, said(kind.params, kind.promises))).collect();
    let queues: Vec<_> = queue::REGISTRY.iter().map(|kind| (kind.name, said(kind.params, kind.promises))).collect();
    let tables = promises("Congestion controls", "congestion", &controls) + &promises("Queues", "queues", &queues);
    same("promises.md", &format!("{written}{MARK}{tables}"));
}

#[test]
fn every_reference_of_the_schema_leads_somewhere() {
    fn walk(json: &Json, schema: &Json, seen: &mut usize) {
        match json {
            Json::Object(map) => {
                if let Some(target) = map.get("$ref").and_then(Json::as_str) {
                    assert!(schema.pointer(target.trim_start_matches('#')).is_some(), "{target}");
                    *seen += 1;
                }
                map.values().for_each(|v| walk(v, schema, seen));
            }
            Json::Array(items) => items.iter().for_each(|v| walk(v, schema, seen)),
            _ => {}
        }
    }
    let schema = schema();
    let mut seen = 0;
    walk(&schema, &schema, &mut seen);
    assert!(seen > 10);
}

#[test]
fn every_preset_has_a_summary_and_a_source() {
    for entry in listing::paths() {
        check_entry(entry.name, entry.summary, entry.source);
    }
}

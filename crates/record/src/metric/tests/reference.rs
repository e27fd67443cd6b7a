//! The page of results has every column and every metric. `UPDATE_DOCS=1 cargo test -p longfat-core reference` writes the columns anew.

use super::super::REGISTRY;
use crate::trace::columns::{self, Column};
use crate::trace::{EventKind, PacketKind};
use std::path::PathBuf;

fn page_of_results() -> PathBuf {
    page("results.md")
}

fn page(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", name].iter().collect()
}

/// `page` with what stands between `<!-- mark -->` and the next `<!-- end -->` replaced.
fn filled(page: &str, mark: &str, text: &str) -> String {
    let mark = format!("<!-- {mark} -->\n");
    let (before, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("the page has no {mark}"));
    let (_, after) = rest.split_once("<!-- end -->").expect("the mark has an end");
    format!("{before}{mark}{text}<!-- end -->{after}")
}

fn rows<R: 'static>(columns: &[Column<R>]) -> String {
    let row = |column: &Column<R>| format!("| `{}` | {} |\n", column.name, column.doc);
    let shown = columns.iter().filter(|column| column.is_shown).map(row);
    format!("| column | |\n|---|---|\n{}", shown.collect::<String>())
}

#[test]
fn the_columns_of_results_are_up_to_date() {
    let mut page = std::fs::read_to_string(page_of_results()).unwrap();
    page = filled(&page, "columns flows", &rows(columns::flows()));
    page = filled(&page, "columns links", &rows(columns::links()));
    page = filled(&page, "columns flow_series", &rows(columns::flow_series()));
    page = filled(&page, "columns link_series", &rows(columns::link_series()));
    page = filled(&page, "columns events", &rows(columns::events()));
    page = filled(&page, "columns packets", &rows(columns::packets()));
    page = filled(&page, "columns acks", &rows(columns::acks()));
    let packet_kinds: String = PacketKind::all().take(4).map(|kind| format!("| `{}` | {} |\n", kind.word(), kind.summary())).collect();
    page = filled(&page, "packet kinds", &format!("| event | |\n|---|---|\n{packet_kinds}"));
    let kinds: String = EventKind::all().map(|kind| format!("| `{}` | {} |\n", kind.word(), kind.summary())).collect();
    page = filled(&page, "kinds", &format!("| kind | |\n|---|---|\n{kinds}"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page_of_results(), &page).unwrap();
    }
    let found = std::fs::read_to_string(page_of_results()).unwrap();
    assert!(found == page, "docs/results.md is out of date: UPDATE_DOCS=1 cargo test -p longfat-core reference");
}

#[test]
fn the_columns_of_results_between_hosts_are_up_to_date() {
    let file = page("results-live.md");
    let found = std::fs::read_to_string(&file).unwrap();
    let text = filled(&found, "columns tcp_info", &rows(columns::tcp_info()));
    let text = filled(&text, "columns probes", &rows(columns::probes()));
    let text = filled(&text, "columns datagrams", &rows(columns::datagrams()));
    let text = filled(&text, "columns hops", &rows(columns::hops()));
    let text = filled(&text, "columns host_series", &rows(columns::host_series()));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &text).unwrap();
    } else {
        assert!(found == text, "docs/results-live.md is out of date: UPDATE_DOCS=1 cargo test -p longfat-record reference");
    }
}

#[test]
fn every_metric_is_on_the_page_of_results() {
    let page = std::fs::read_to_string(page_of_results()).unwrap();
    for metric in REGISTRY {
        let group = metric.name.starts_with("memory_") && page.contains("`memory_promised_*`");
        assert!(group || page.contains(&format!("`{}`", metric.name)), "docs/results.md says nothing of {}", metric.name);
    }
}

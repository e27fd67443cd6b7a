//! Files based on files.

use super::super::{Document, Files};
use super::Memory;
use longfat_core::time::Duration;
use std::sync::Arc;

const PATHS: &str = r#"title = "paths"
[path]
preset = "dumbbell"
rtt = { sweep = ["10 ms", "70 ms"] }
bottleneck = { rate = "100 Mbit/s", queue = { kind = "droptail", limit = "1 bdp" } }
edge = { rate = "1 Gbit/s" }
[[flow]]
name = "ping"
traffic = "ping"
[[flow]]
name = "background"
window = "64 KiB"
[measure]
duration = "60 s"
interval = "500 ms"
[quick]
"measure.duration" = "1 s"
[[skip]]
rtt = "10 ms"
"#;

fn load(files: &[(&str, &str)], name: &str) -> Result<Document, String> {
    let files = Memory::of(files);
    let text = files.text(name).expect("it is one of them");
    Document::parse_with(&text, name, Arc::new(files)).map_err(|e| e.to_string())
}

#[test]
fn a_file_changes_its_base_key_by_key_and_row_by_row() {
    let file = r#"base = "../paths.toml"
title = "more"
[path]
rtt = "20 ms"
bottleneck = { rate = "50 Mbit/s", queue = { kind = "red" } }
[[flow]]
name = "test"
window = "1 MiB"
[[flow]]
name = "background"
window = { sweep = ["32 KiB", "8 KiB"] }
[[flow]]
name = "last"
window = "16 KiB"
[measure]
duration = "2 s"
"#;
    let document = load(&[("a/paths.toml", PATHS), ("a/b/more.toml", file)], "a/b/more.toml").unwrap_or_else(|e| panic!("{e}"));
    // The rule to skip 10 ms has no axis left to speak of.
    assert_eq!((document.title(), document.run_count()), ("more", 2));
    let run = document.run(1).unwrap();
    let experiment = &run.experiment;
    let names: Vec<(&str, u64)> = experiment.flows.iter().map(|f| (&*f.group, f.sender.send_buffer)).collect();
    // A new flow stands first, or after the one before it in the file.
    assert_eq!(names.iter().map(|f| f.0).collect::<Vec<_>>(), ["test", "ping", "background", "last"]);
    assert_eq!((names[0].1, names[2].1), (1 << 20, 8 << 10));
    let bottleneck = experiment.network.links.iter().find(|l| l.bottleneck).unwrap();
    assert_eq!((bottleneck.rate.as_bps(), bottleneck.queue.kind), (50_000_000, "red"));
    assert_eq!(experiment.measure.duration.as_secs_f64(), 2.0);
    assert_eq!(experiment.measure.interval, Some(Duration::from_millis(500)), "not named, not changed");
    assert_eq!(document.quick().unwrap().unwrap().run(0).unwrap().experiment.measure.duration.as_secs_f64(), 1.0);
    // The document equals the one file that it amounts to.
    let alone = Document::parse(&document.text(), "alone").unwrap_or_else(|e| panic!("{e}\n{}", document.text()));
    assert_eq!(alone.run(1).unwrap().hash, run.hash);
    assert_eq!(alone.run(1).unwrap().labels, run.labels);
}

/// A file that says another control of the one flow has meant that flow, with all that the base says of it.
#[test]
fn the_one_flow_is_the_one_of_the_base_unless_both_have_names() {
    let base = PATHS.replace("[[flow]]\nname = \"ping\"\ntraffic = \"ping\"\n", "").replace("name = \"background\"\n", "");
    let named = base.replace("[[flow]]\n", "[[flow]]\nname = \"theirs\"\n");
    let flows = |base: &str, file: &str| {
        let document = load(&[("p.toml", base), ("f.toml", file)], "f.toml").unwrap_or_else(|e| panic!("{e}"));
        let flows = document.run(0).unwrap().experiment.flows;
        flows.iter().map(|f| (f.group.to_string(), f.sender.congestion_control.kind, f.sender.send_buffer == 64 << 10)).collect::<Vec<_>>()
    };
    let one = "base = \"p.toml\"\n[[flow]]\ncongestion_control = \"bic\"\n";
    let mine = format!("{one}name = \"mine\"\n");
    let is = |name: &str, is_of_base: bool| vec![(name.to_owned(), "bic", is_of_base)];
    assert_eq!(flows(&base, one), is("flow1", true));
    assert_eq!(flows(&base, &mine), is("mine", true));
    assert_eq!(flows(&named, one), is("theirs", true));
    // Nobody can tell which of several is meant, so the flows are those of the file.
    let default = flows(&base, &format!("{one}[[flow]]\n"));
    assert_eq!(default.iter().map(|flow| flow.2).collect::<Vec<_>>(), [false, false]);
    // Two names are two flows.
    assert_eq!(flows(&named, &mine).iter().map(|flow| flow.2).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn what_has_a_kind_or_a_sweep_is_replaced() {
    let file = "base = \"paths.toml\"\n[path]\npreset = \"dumbbell\"\nrtt = \"5 ms\"\nbottleneck = { rate = \"1 Gbit/s\" }\nedge = { rate = \"10 Gbit/s\" }\n";
    let document = load(&[("paths.toml", PATHS), ("f.toml", file)], "f.toml").unwrap();
    let links = document.run(0).unwrap().experiment.network.links;
    assert!(links.iter().any(|l| l.bottleneck && l.queue.kind == "droptail"));
    assert_eq!(document.run_count(), 1);
}

#[test]
fn what_is_wrong_is_shown_in_the_file_that_says_it() {
    let chain: Vec<(String, String)> = (0..9).map(|i| (format!("{i}"), format!("base = \"{}\"\n", i + 1))).collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let mut out = String::new();
    for (what, files, name) in [
        ("a base that is not there", &[("x/f.toml", "base = \"g.toml\"\n")][..], "x/f.toml"),
        ("a base of no text", &[("f.toml", "base = 1\n")], "f.toml"),
        ("a base of itself", &[("f.toml", "base = \"./g.toml\"\n"), ("g.toml", "base = \"f.toml\"\n")], "f.toml"),
        ("a base that is not TOML", &[("f.toml", "base = \"g.toml\"\n"), ("g.toml", "[path\n")], "f.toml"),
        ("an error in the base", &[("f.toml", "base = \"g.toml\"\n"), ("g.toml", &PATHS.replace("70 ms", "70 km"))], "f.toml"),
        (
            "an error on top of the base",
            &[("f.toml", "base = \"g.toml\"\n\n[measure]\nduration = \"1 km\"\n"), ("g.toml", PATHS)],
            "f.toml",
        ),
        ("too many", &chain, "0"),
    ] {
        let error = load(files, name).map(|_| ()).unwrap_err();
        out.push_str(&format!("# {what}\n{error}\n\n"));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_text_alone_has_no_base() {
    let error = Document::parse("base = \"f.toml\"\n", "<string>").unwrap_err();
    assert!(error.message.contains("there is only this text"), "{error}");
}

//! What tells two runs apart, and what does not.

use super::super::{Document, Run, defaults, restore};
use longfat_core::params::Value;
use serde_json::Value as Json;
use std::collections::BTreeSet;

fn run(sender: &str, path: &str) -> Run {
    let text = format!(
        "[path]\npreset = \"dumbbell\"\nrtt = \"10 ms\"\nbottleneck = {{ rate = \"10 Mbit/s\"{path} }}\nedge = {{ rate = \"1 Gbit/s\" }}\n\
         [[flow]]\n{sender}\n[measure]\nduration = \"1 s\"\n"
    );
    Document::parse(&text, "identity.toml").unwrap_or_else(|e| panic!("{e}\n{text}")).run(0).unwrap_or_else(|e| panic!("{e}"))
}

/// A resolved run without these keys, wherever they are: as a longfat stored it that did not know them.
fn without(json: &Json, keys: &[&str]) -> Json {
    match json {
        Json::Object(entries) => {
            let kept = entries.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), without(value, keys))).collect::<serde_json::Map<_, _>>().into()
        }
        Json::Array(items) => items.iter().map(|item| without(item, keys)).collect(),
        other => other.clone(),
    }
}

/// Parameters come and runs stay: what was stored before there were these is still found, and is read as it was meant.
#[test]
fn a_key_that_came_later_leaves_the_runs_before_it_alone() {
    let now = run("congestion_control = \"cubic\"\nreceiver = { sack = false }", "");
    for later in [&["user_timeout", "syn_retries"][..], &["abe"], &["ties", "backend"], &["pacing", "fast_convergence"]] {
        let before = without(&now.resolved, later);
        let again = restore(&before).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.hash, now.hash, "{later:?}");
        assert_eq!(again.experiment, now.experiment, "{later:?}");
    }
}

#[test]
fn a_default_that_is_said_is_the_run_that_says_nothing() {
    let plain = run("", "").hash;
    for said in ["user_timeout = \"auto\"", "sack = true", "receiver = { sack = true }", "congestion_control = \"DEFAULT\""] {
        let control = longfat_tcp::options::PARAMS.iter().find(|spec| spec.name == "congestion_control").unwrap().default.unwrap();
        let Value::Choice(control) = control else { panic!("{control:?}") };
        assert_eq!(run(&said.replace("DEFAULT", control), "").hash, plain, "{said}");
    }
    let cubic = |params: &str| run(&format!("congestion_control = {{ kind = \"cubic\"{params} }}"), "").hash;
    assert_eq!(cubic(", abe = false"), cubic(""));
}

#[test]
fn what_is_said_at_either_end_or_way_is_another_run() {
    let ends = [
        "",
        "sack = false\nrecovery = \"newreno\"",
        "sack = false\nrecovery = \"newreno\"\nreceiver = { sack = true }",
        "receiver = { sack = false }",
        "receiver = { user_timeout = \"10 s\" }",
        "user_timeout = \"10 s\"",
        "user_timeout = \"10 s\"\nreceiver = { user_timeout = \"auto\" }",
        "congestion_control = { kind = \"reno\", abe = true }",
    ];
    let ways = [
        ", loss = { kind = \"bernoulli\", probability = 0.1 }",
        ", loss = { kind = \"bernoulli\", probability = 0.1 }, reverse = { loss = \"none\" }",
        ", reverse = { loss = { kind = \"bernoulli\", probability = 0.1 } }",
    ];
    let runs: Vec<Run> = ends.iter().map(|end| run(end, "")).chain(ways.iter().map(|way| run("", way))).collect();
    let hashes: BTreeSet<&str> = runs.iter().map(|run| run.hash.as_str()).collect();
    assert_eq!(hashes.len(), runs.len());
    for run in &runs {
        let again = restore(&run.resolved).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((&again.experiment, &again.hash, &again.resolved), (&run.experiment, &run.hash, &run.resolved));
    }
}

#[test]
fn every_default_is_listed_once() {
    let all = defaults();
    let paths: BTreeSet<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths.len(), all.len());
    for path in ["seed", "flow.initial_window", "flow.congestion_control", "flow.congestion_control(cubic).abe", "measure.events"] {
        assert!(paths.contains(path), "{path}");
    }
}

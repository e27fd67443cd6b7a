//! Tests of identity: differences that make two runs distinct, and those that do not.

use super::super::identity::hexadecimal;
use super::super::{Document, Run, defaults};
use super::restore;
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

/// New parameters leave runs alone: runs stored before these parameters existed are still found, and read as they were meant.
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

/// The two zeros are the same number. Planning compares numbers, and the written values where they differ.
#[test]
fn zero_has_no_sign() {
    let loss = |probability: &str| run("", &format!(", loss = {{ kind = \"bernoulli\", probability = {probability} }}")).hash;
    assert_eq!(loss("-0.0"), loss("0.0"));
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

/// Every field of a host or of a link's queue is part of a run's identity, and reads back.
#[test]
fn every_word_on_hosts_and_pauses_is_another_run() {
    // Two values for each key. The left ones are all set together; `overhead` goes with none of them.
    let host = [
        ("name", "\"left\"", "\"right\""),
        ("txqueuelen", "\"100 packets\"", "\"101 packets\""),
        ("on_full", "\"stall\"", "\"wait\""),
        ("cpu", "\"3000 MHz\"", "\"3001 MHz\""),
        ("send_packet", "\"1000 cycles\"", "\"1001 cycles\""),
        ("send_byte", "1.5", "1.6"),
        ("receive_packet", "\"2000 cycles\"", "\"2001 cycles\""),
        ("receive_byte", "2.5", "2.6"),
        ("rx_ring", "\"64 packets\"", "\"65 packets\""),
        ("rx_usecs", "\"10 us\"", "\"11 us\""),
        ("rx_frames", "\"8 packets\"", "\"9 packets\""),
        ("netdev_max_backlog", "\"300 packets\"", "\"301 packets\""),
        ("on_backlog_full", "\"drop\"", "\"throttle\""),
        ("shape_rate", "\"600 Mbit/s\"", "\"601 Mbit/s\""),
        ("shape_burst", "\"64 KiB\"", "\"65 KiB\""),
        ("memory", "\"256 MiB\"", "\"257 MiB\""),
        ("memory_min", "\"64 KiB\"", "\"65 KiB\""),
    ];
    // Keys that go with no processor. The values of a profile are the written values.
    let today = [
        ("name", "\"left\"", "\"right\""),
        ("txqueuelen", "\"100 packets\"", "\"101 packets\""),
        ("on_full", "\"wait\"", "\"wait\""),
        ("gso_max_size", "\"64 KiB\"", "\"185000 bytes\""),
        ("min_tso_segs", "2", "4"),
        ("tso_win_divisor", "3", "8"),
        ("tso_rtt_log", "9", "0"),
        ("limit_output_bytes", "\"1 MiB\"", "\"4 MiB\""),
        ("rx_ring", "\"64 packets\"", "\"65 packets\""),
        ("rx_usecs", "\"84 us\"", "\"0 us\""),
        ("rx_frames", "\"8 packets\"", "\"9 packets\""),
        ("gro_max_size", "\"64 KiB\"", "\"32 KiB\""),
    ];
    let said: BTreeSet<&str> = host.iter().chain(&today).map(|(key, ..)| *key).chain(["overhead", "profile"]).collect();
    assert_eq!(said, crate::fields::host().iter().map(|field| field.name).collect());
    let pause = [("on", "\"9 kB\"", "\"8 kB\""), ("off", "\"3 kB\"", "\"4 kB\""), ("quanta", "\"100 quanta\"", "\"101 quanta\"")];
    let said: BTreeSet<&str> = pause.iter().map(|(key, ..)| *key).collect();
    assert_eq!(said, crate::fields::pause().iter().map(|field| field.name).collect());

    let table = |keys: &[(&str, &str, &str)], other: Option<usize>, between: &str| {
        let line = |(i, (key, one, two)): (usize, &(&str, &str, &str))| format!("{key} = {}", if other == Some(i) { two } else { one });
        keys.iter().enumerate().map(line).collect::<Vec<_>>().join(between)
    };
    let pauses = |other| format!(", pause = {{ {} }}", table(&pause, other, ", "));
    let hosts = |other| format!("[[host]]\n{}", table(&host, other, "\n"));
    let mut runs = vec![run("", ""), run("[[host]]\nname = \"left\"\noverhead = \"10 us\"", "")];
    runs.push(run("[[host]]\nname = \"left\"\noverhead = \"11 us\"", ""));
    runs.extend((0..=host.len()).map(|other| run(&hosts(Some(other)), "")));
    let of_today = |other| format!("[[host]]\n{}", table(&today, other, "\n"));
    runs.extend((0..=today.len()).filter(|other| *other != 2).map(|other| run(&of_today(Some(other)), "")));
    let profile = |more: &str| run(&format!("[[host]]\nname = \"left\"\nprofile = {more}"), "");
    runs.extend(["\"linux-10g\"", "\"linux-100g\"", "\"linux-10g\"\nrx_usecs = \"62 us\""].map(profile));
    let written = "txqueuelen = \"1000 packets\"\non_full = \"wait\"\ngso_max_size = \"64 KiB\"\nlimit_output_bytes = \"1 MiB\"\nrx_usecs = \"84 us\"\ngro_max_size = \"64 KiB\"";
    assert_eq!(run(&format!("[[host]]\nname = \"left\"\n{written}"), "").hash, profile("\"linux-10g\"").hash);
    runs.extend((0..=pause.len()).map(|other| run("", &pauses(Some(other)))));
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

/// A sweep hashes its runs one after the other, and writes only what differs from the run before.
#[test]
fn a_run_of_a_sweep_has_the_identity_it_has_alone() {
    let text = "backend = { sweep = [\"sim\", \"testbed\"] }\n[path]\npreset = \"dumbbell\"\nrtt = \"10 ms\"\nbottleneck = { rate = \"10 Mbit/s\", mtu = \"1500 bytes\" }\nedge = { rate = \"1 Gbit/s\" }\n[[flow]]\n\
                stack = \"linux\"\ncongestion_control = \"bbr\"\n[measure]\nduration = \"1 s\"\n";
    let document = Document::parse(text, "backends.toml").unwrap_or_else(|e| panic!("{e}"));
    let hashes = document.plan(0..2).unwrap().hashes;
    for (number, hash) in hashes.iter().enumerate() {
        assert_eq!(hexadecimal(hash), document.run(number as u64).unwrap().hash);
    }
}

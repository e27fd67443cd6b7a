//! Changing a document before it is run.

use super::super::Document;
use super::ready::FILES;

fn lfn() -> Document {
    Document::parse(FILES[0].1, "lfn.toml").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_change_is_like_having_written_it() {
    let mut document = lfn();
    document.set("flow[0].window", "64 KiB").unwrap();
    document.set("flow[0].recovery", "reno").unwrap();
    document.set("path.bottleneck.queue", "{ kind = \"droptail\", limit = \"100 packets\" }").unwrap();
    document.set("path.bottleneck.reverse.mtu", "\"4000 bytes\"").unwrap();
    document.set("measure.events", "true").unwrap();
    document.set("seed", "7").unwrap();
    assert_eq!(document.run_count(), 1);
    let experiment = document.run(0).unwrap().experiment;
    assert_eq!(experiment.flows[0].sender.send_buffer, 65_536);
    assert_eq!((experiment.seed, experiment.measure.events), (7, true));
    assert_eq!(experiment.network.links[1].mtu, 4000);
}

#[test]
fn a_change_can_be_a_sweep_or_undo_one() {
    let mut document = lfn();
    assert_eq!(document.run_count(), 4);
    document.set("flow[0].window", "{ sweep = [\"1 MiB\", \"8 MiB\"] }").unwrap();
    assert_eq!(document.run_count(), 8);
    document.set("flow[0].recovery", "sack").unwrap();
    assert_eq!(document.run_count(), 2);
}

#[test]
fn a_rule_to_skip_runs_outlives_the_axis_it_names() {
    let (_, chain) = FILES.iter().find(|(name, _)| *name == "chain").unwrap();
    let mut document = Document::parse(chain, "chain.toml").unwrap_or_else(|e| panic!("{e}"));
    // Two paths, one or four flows, five windows; four flows skip the largest window.
    assert_eq!(document.run_count(), 18);
    document.set("flow[0].window", "{ sweep = [\"1 KiB\", \"512 KiB\"] }").unwrap();
    assert_eq!(document.run_count(), 6);
    document.set("flow[0].window", "512 KiB").unwrap();
    assert_eq!(document.run_count(), 4);
    let error = document.set("skip", "[{ window = \"512 KiB\" }]").unwrap_err();
    assert_eq!(error.message, "there is no axis `window`");
    // With no axis left there is one run, and no rule that could skip it.
    document.set("flow[0].count", "1").unwrap();
    document.set("path.hops", "[{ type = \"fddi\" }, { type = \"ds3\" }]").unwrap();
    document.set("path.rtt", "20 ms").unwrap();
    assert_eq!(document.run_count(), 1);
}

#[test]
fn a_rule_to_skip_runs_may_name_the_backend_of_all() {
    let mut document = lfn();
    assert_eq!(document.run_count(), 4);
    document.set("backend", "testbed").unwrap();
    let labels: Vec<_> = (0..document.run_count()).map(|combination| document.labels(combination)[0].1.clone()).collect();
    assert_eq!(labels, ["newreno", "sack"]);
    (0..2).for_each(|run| drop(document.run(run).unwrap()));
    // The file that it comes to says the same.
    assert_eq!(Document::parse(&document.text(), "again.toml").unwrap().run_count(), 2);
    document.set("backend", "{ sweep = [\"sim\", \"testbed\"] }").unwrap();
    assert_eq!(document.run_count(), 6);
    document.set("backend", "{ sweep = [\"sim\", \"testbed\"], name = \"by\" }").unwrap();
    assert_eq!(document.run_count(), 8, "the axis has another name, and the rule is older");
    let error = document.set("skip", "[{ backend = \"testbet\" }]").unwrap_err();
    assert_eq!(error.message, "there is no axis `backend`");
    document.set("backend", "sim").unwrap();
    let error = document.set("skip", "[{ backend = \"testbet\" }]").unwrap_err();
    assert_eq!((&*error.message, error.help.as_deref()), ("there is no backend \"testbet\"", Some("did you mean `testbed`?")));
    assert_eq!(document.set("skip", "[{ backend = \"sim\" }]").unwrap_err().message, "every run is skipped");
}

#[test]
fn a_bad_change_changes_nothing_and_says_where_it_is() {
    let mut document = lfn();
    let before = document.run(3).unwrap().hash;
    let mut out = String::new();
    for (path, value) in [
        ("flow[0].window", "64 KB"),
        ("flow[0].windwo", "64 KiB"),
        ("flow[3].window", "64 KiB"),
        ("title[0]", "x"),
        ("measure.duration.s", "1"),
        ("measure.warmup", "1 h"),
        ("measure..warmup", "1 s"),
        ("seed", "[1, 2"),
        ("", "1"),
    ] {
        let error = document.set(path, value).expect_err(path);
        out.push_str(&format!("## {path} {value}\n{error}\n\n"));
        assert_eq!(document.run(3).unwrap().hash, before);
    }
    insta::assert_snapshot!(out);
}

/// `flow.window` is `flow[0].window` where there is one flow. Otherwise, the error names the possible paths.
#[test]
fn of_one_flow_no_number_is_needed() {
    let mut document = lfn();
    document.set("flow.window", "64 KiB").unwrap();
    let mut numbered = lfn();
    numbered.set("flow[0].window", "64 KiB").unwrap();
    assert_eq!(document.run(0).unwrap().hash, numbered.run(0).unwrap().hash);
    let two = format!("{}\n[[flow]]\nname = \"second\"\n", document.text());
    let error = Document::parse(&two, "two.toml").unwrap().set("flow.window", "64 KiB").unwrap_err().to_string();
    assert!(error.contains("there are 2 of `flow`, and this does not say which"), "{error}");
    assert!(error.contains("expected: flow[0].window to flow[1].window"), "{error}");
}

/// Names of other tools get a hint.
#[test]
fn names_of_other_tools_are_known() {
    for (path, value, says) in [
        ("path.bottleneck.queue", "pfifo", "it is called `droptail` here"),
        ("flow.traffic", "iperf3", "for a volume `ttcp`"),
        ("flow.congestion_control", "bbrv3", "it is called `bbr3` here"),
        ("path.bottleneck.bandwidth", "1 Gbit/s", "it is called `rate` here"),
        ("flow.parallel", "8", "`streams` are parallel connections"),
        ("flow.window", "[\"64 KiB\", \"1 MiB\"]", "is a sweep: window = { sweep = [...] }"),
        ("flow.window", "true", "`window` must be a size from 1 byte to"),
    ] {
        let error = lfn().set(path, value).expect_err(path).to_string();
        assert!(error.contains(says), "{path} {value}: {error}");
        assert!(!error.contains("did you mean"), "{error}");
    }
}

#[test]
fn the_quick_form_changes_what_it_names_and_is_checked_with_the_rest() {
    let text = format!("{}\n[quick]\n\"measure.duration\" = \"2 s\"\n\"flow[0].window\" = \"64 KiB\"\n", FILES[0].1);
    let document = Document::parse(&text, "lfn.toml").unwrap_or_else(|e| panic!("{e}"));
    let quick = document.quick().unwrap().expect("it has a quick form");
    let (long, short) = (document.run(0).unwrap(), quick.run(0).unwrap());
    assert!(short.experiment.measure.duration < long.experiment.measure.duration);
    assert_eq!(short.experiment.flows[0].sender.send_buffer, 65_536);
    assert!(quick.quick().unwrap().is_none());
    assert!(lfn().quick().unwrap().is_none());

    // A sweep of the quick form is one of that form alone; zipped axes may have fewer values there.
    let swept = text.replace(
        "\"64 KiB\"",
        "{ sweep = [\"64 KiB\", \"1 MiB\"], zip = \"z\" }\n\"path.rtt\" = { sweep = [\"1 s\", \"2 s\"], zip = \"z\" }",
    );
    let swept = Document::parse(&swept, "lfn.toml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(swept.axes().count(), document.axes().count());
    assert_eq!(swept.quick().unwrap().unwrap().axes().count(), document.axes().count() + 2);

    let wrong = text.replace("\"2 s\"", "\"2 parsecs\"");
    let error = Document::parse(&wrong, "lfn.toml").unwrap_err().to_string();
    assert!(error.contains("2 parsecs") && error.contains("lfn.toml:"), "{error}");
    let nowhere = text.replace("measure.duration", "measures.duration");
    assert!(Document::parse(&nowhere, "lfn.toml").is_err());
}

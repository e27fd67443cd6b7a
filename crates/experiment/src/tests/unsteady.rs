//! Links that change: valid and invalid keys of a file.

use super::super::{Document, Run};
use super::Memory;
use longfat_core::link::course::Course;
use longfat_core::link::{Harq, Jitter, Passage, Service, Spread, Unsteady};
use longfat_core::time::Duration;
use longfat_core::units::Rate;
use std::sync::Arc;

fn text(bottleneck: &str) -> String {
    format!(
        "[path]\npreset = \"dumbbell\"\nedge = {{ rate = \"1 Gbit/s\" }}\n\
         bottleneck = {{ queue = {{ kind = \"droptail\", limit = \"100 packets\" }}, {bottleneck} }}\n\
         [[flow]]\nname = \"a\"\n[measure]\nduration = \"1 s\"\n"
    )
}

fn document(bottleneck: &str) -> Result<Run, String> {
    let document = Document::parse(&text(bottleneck), "unsteady.toml");
    document.and_then(|document| document.run(0)).map_err(|error| error.to_string())
}

/// Returns both directions of the bottleneck. The run as it is written back reads as the same.
fn ways(bottleneck: &str) -> [(Rate, Duration, Unsteady); 2] {
    let run = document(bottleneck).unwrap_or_else(|error| panic!("{error}"));
    let again = Document::parse(&run.to_toml(), "again.toml").and_then(|d| d.run(0)).unwrap_or_else(|e| panic!("{e}\n{}", run.to_toml()));
    assert_eq!((&again.experiment, &again.hash), (&run.experiment, &run.hash), "{}", run.to_toml());
    [0, 1].map(|i| &run.experiment.network.links[i]).map(|link| (link.rate, link.delay, link.unsteady.clone()))
}

const LEO: &str = r#"{ kind = "leo", low = "40 Mbit/s", high = "160 Mbit/s" }"#;

#[test]
fn the_rate_is_the_mean_and_the_delay_the_least() {
    let delay = r#"{ kind = "steps", values = [{ at = "0 s", delay = "30 ms" }, { at = "2 s", delay = "20 ms" }], period = "5 s" }"#;
    let [there, back] = ways(&format!("rate_trace = {LEO}, delay_trace = {delay}, down = [{{ from = \"3 s\", to = \"4 s\" }}]"));
    assert_eq!((there.0, there.1), (Rate::from_bps(100_000_000), Duration::from_millis(20)));
    assert_eq!(there, back, "both ways are alike where nothing else is said");
    let [there, _] = ways(&format!("rate = \"200 Mbit/s\", rate_trace = {LEO}, delay = \"5 ms\", delay_trace = {delay}"));
    assert_eq!((there.0, there.1), (Rate::from_bps(200_000_000), Duration::from_millis(5)));
    let [mahimahi, _] = ways(r#"rate_trace = { kind = "mahimahi", at = [1, 2, 2, 10] }"#);
    assert_eq!(mahimahi.0, Rate::from_bps(4_800_000));
}

#[test]
fn a_radio_and_a_modem_are_read_and_written_back() {
    let [there, back] = ways(r#"rate_trace = { kind = "docsis", rate = "100 Mbit/s", sustained = "20 Mbit/s" }"#);
    assert_eq!(there.0, Rate::from_bps(20_000_000), "capacities go by what it has over a long time");
    assert_eq!(there, back);
    let [there, _] = ways(r#"rate_trace = { kind = "lte", low = "1 bit/s", high = "44 Mbit/s" }, harq = {}"#);
    // 15 dB: the mean of the truncated bound under Rayleigh fading, 2.6 bit/s per Hz of 4.4.
    assert!((25_000_000..27_000_000).contains(&there.0.as_bps()), "{:?}", there.0);
    let harq = Harq { probability: 0.1, round_trip: Duration::from_millis(8), block: Duration::from_millis(1), most: 3 };
    assert_eq!(there.2.passage, Passage { harq: Some(harq), ..Passage::default() });
}

#[test]
fn what_the_way_back_says_of_this_is_all_there_is() {
    let jitter = r#"jitter = { most = "2 ms", in_order = false }, duplicate = 0.01"#;
    let [there, back] = ways(&format!("rate_trace = {LEO}, {jitter}, reverse = {{ rate = \"10 Mbit/s\" }}"));
    assert!(there.2.service.is_some());
    let jittered = Jitter { spread: Spread::Uniform(Duration::from_millis(2)), correlation: 0.0, in_order: false };
    let passage = Passage { jitter: Some(jittered), duplicate: 0.01, ..Passage::default() };
    assert_eq!(back, (Rate::from_bps(10_000_000), Duration::ZERO, Unsteady { passage, ..Unsteady::default() }), "with a rate of its own");
    let [there, back] = ways(&format!("rate = \"1 Gbit/s\", {jitter}, reverse = {{ rate_trace = {LEO}, loss = \"none\" }}"));
    assert_eq!(there.2.passage, passage_of(jittered));
    assert_eq!(back.2.passage, Passage::default());
    assert!(matches!(back.2.service, Some(Service::Rate(Course::Drawn { .. }))));
    let [there, back] = ways(&format!("rate_trace = {LEO}, reverse = {{ rate = \"10 Mbit/s\", duplicate = 0.0 }}"));
    assert!(there.2.service.is_some() && back.2.is_steady());
}

#[test]
fn a_limit_in_delay_and_a_distribution_are_read_and_written() {
    let keys = r#"rate = "1 Gbit/s", jitter = { deviation = "2 ms", distribution = "pareto" }, limit_in_delay = "34 packets""#;
    let [there, back] = ways(keys);
    let jitter = Jitter { spread: Spread::Pareto(Duration::from_millis(2)), correlation: 0.0, in_order: true };
    let passage = Passage { jitter: Some(jitter), ..Passage::default() };
    assert_eq!(there.2, Unsteady { passage, limit_in_delay: Some(34), ..Unsteady::default() });
    assert_eq!(back.2, there.2);
}

fn passage_of(jitter: Jitter) -> Passage {
    Passage { jitter: Some(jitter), duplicate: 0.01, ..Passage::default() }
}

#[test]
fn what_says_nothing_is_the_run_it_was() {
    let plain = document("rate = \"1 Gbit/s\"").unwrap().hash;
    assert_eq!(document("rate = \"1 Gbit/s\", duplicate = 0.0").unwrap().hash, plain);
    assert_ne!(document("rate = \"1 Gbit/s\", duplicate = 0.1").unwrap().hash, plain);
}

/// The sentences a user reads, to be judged by eye.
#[test]
fn what_cannot_be_is_one_error() {
    let rate = |trace: &str| format!("rate_trace = {trace}");
    let steps = |steps: &str| rate(&format!("{{ kind = \"steps\", values = [{steps}] }}"));
    let (first, later) = (r#"{ at = "0 s", rate = "1 Mbit/s" }"#, r#"{ at = "5 s", rate = "2 Mbit/s" }"#);
    let plain = "rate = \"1 Gbit/s\"";
    let cases = [
        steps(""),
        steps(later),
        steps(&format!("{first}, {later}, {}", r#"{ at = "3 s", rate = "2 Mbit/s" }"#)),
        steps(r#"{ at = "0 s", rate = "0 bit/s" }"#),
        rate(&format!("{{ kind = \"steps\", values = [{first}, {later}], period = \"4 s\" }}")),
        rate(r#"{ kind = "leo", low = "2 Mbit/s", high = "1 Mbit/s" }"#),
        rate(r#"{ kind = "leo", low = "2 Mbit/s" }"#),
        rate(r#"{ kind = "square", low = "2 Mbit/s", high = "3 Mbit/s" }"#),
        rate(r#"{ kind = "mahimahi", at = [] }"#),
        rate(r#"{ kind = "mahimahi", at = [0, 0] }"#),
        rate(r#"{ kind = "mahimahi", at = [3, 2] }"#),
        format!("{plain}, delay = \"9 ms\", delay_trace = {{ kind = \"sine\", low = \"5 ms\", high = \"20 ms\", period = \"1 s\" }}"),
        format!("{plain}, down = [{{ from = \"2 s\", to = \"1 s\" }}]"),
        format!("{plain}, down = [{{ from = \"2 s\", to = \"4 s\" }}, {{ from = \"3 s\", to = \"5 s\" }}]"),
        format!("{plain}, down = [{{ from = \"2 s\", to = \"4 s\", every = \"2 s\" }}]"),
        format!("{plain}, jitter = {{ most = \"2 ms\", correlation = 1.0 }}"),
        format!("{plain}, jitter = {{ correlation = 0.5 }}"),
        format!("{plain}, jitter = {{ most = \"2 ms\", distribution = \"normal\" }}"),
        format!("{plain}, jitter = {{ deviation = \"2 ms\" }}"),
        format!("{plain}, jitter = {{ deviation = \"2 ms\", distribution = \"paretonormal\" }}"),
        format!("{plain}, limit_in_delay = \"1 MB\""),
        format!("{plain}, limit_in_delay = \"0 packets\""),
        format!("{plain}, reorder = {{ probability = 0.1 }}"),
        format!("{plain}, duplicate = 2.0"),
        rate(r#"{ kind = "lte", low = "2 Mbit/s", high = "1 Mbit/s" }"#),
        rate(r#"{ kind = "lte", low = "1 bit/s", high = "44 Mbit/s", doppler = 300.0 }"#),
        rate(r#"{ kind = "lte", low = "1 bit/s", high = "44 Mbit/s", fading = 5 }"#),
        format!("{plain}, delay_trace = {{ kind = \"lte\", low = \"5 ms\", high = \"20 ms\" }}"),
        rate(r#"{ kind = "docsis" }"#),
        rate(r#"{ kind = "docsis", rate = "20 Mbit/s", sustained = "40 Mbit/s" }"#),
        rate(r#"{ kind = "docsis", rate = "20 Mbit/s", map_interval = "10 us", request_to_grant = "2 s" }"#),
        format!("{plain}, harq = {{ probability = 1.0 }}"),
        format!("{plain}, harq = {{ round_trip = \"500 us\" }}"),
        format!("type = \"atm\", rate_trace = {LEO}"),
    ];
    let mut out = String::new();
    for case in cases {
        let error = document(&case).expect_err(&case);
        out.push_str(&format!("## {case}\n{error}\n\n"));
    }
    insta::assert_snapshot!(out);
}

/// A trace in a file is found from the experiment's folder, is known by its content, and need not exist for its run to be read.
#[test]
fn traces_come_from_files() {
    let files = Arc::new(Memory::default());
    let write = |name: &str, text: &str| files.write(&format!("FOLDER/{name}"), text);
    let parse = |text: &str, name: &str| Document::parse_with(text, name, files.clone()).and_then(|document| document.run(0));
    let read = |bottleneck: &str| parse(&text(bottleneck), "FOLDER/experiment.toml").map_err(|error| error.to_string());
    let link = |run: &Run| run.experiment.network.links[0].clone();
    write("cell.trace", "1\n2\n2\n10\n");
    write("same.trace", "1\n2\n2\n10\n");
    let cell = read(r#"rate_trace = { kind = "mahimahi", file = "cell.trace" }"#).unwrap();
    let listed = read(r#"rate_trace = { kind = "mahimahi", at = [1, 2, 2, 10] }"#).unwrap();
    assert_eq!((&link(&cell).unsteady, link(&cell).rate), (&link(&listed).unsteady, link(&listed).rate));
    assert_eq!(read(r#"rate_trace = { kind = "mahimahi", file = "same.trace" }"#).unwrap().hash, cell.hash, "whatever it is called");
    write("rate.csv", "time_s,rate_mbps\n0,10\n2.5,0\n\n3, 40\n");
    write("delay.csv", "time_ms,delay_ms\n0,25\n100,12.5\n");
    let csv = r#"rate_trace = { kind = "csv", file = "rate.csv", period = "5 s" }, delay_trace = { kind = "csv", file = "delay.csv" }"#;
    let run = read(csv).unwrap();
    // (2.5 x 10 + 2 x 40) / 5 = 21 Mb/s.
    assert_eq!((link(&run).rate, link(&run).delay), (Rate::from_bps(21_000_000), Duration::from_micros(12_500)));
    let again = parse(&run.to_toml(), "elsewhere.toml").unwrap();
    assert_eq!((&again.experiment, &again.hash), (&run.experiment, &run.hash));
    write("rate.csv", "time_s,rate_mbps\n0,11\n");
    assert_ne!(read(csv).unwrap().hash, run.hash, "it holds something else now");
    let gone = super::super::restore(&run.resolved, files.clone()).unwrap();
    assert_eq!((&gone.hash, link(&gone).rate), (&run.hash, link(&run).rate), "results outlive their traces");
    assert!(!link(&gone).rate_file.unwrap().is_there && link(&gone).delay_file.unwrap().is_there);
    write("delays.txt", "25\n\n12.5\n30\n");
    let lines = r#"rate = "10 Mbit/s", delay_trace = { kind = "lines", file = "delays.txt", value = "delay_ms", interval = "100 ms", period = "300 ms" }"#;
    let (listed, said) = (
        read(lines).unwrap(),
        r#"[{ at = "0 s", delay = "25 ms" }, { at = "100 ms", delay = "12.5 ms" }, { at = "200 ms", delay = "30 ms" }]"#,
    );
    let steps = read(&format!("rate = \"10 Mbit/s\", delay_trace = {{ kind = \"steps\", values = {said}, period = \"300 ms\" }}")).unwrap();
    assert_eq!((&link(&listed).unsteady, link(&listed).delay), (&link(&steps).unsteady, link(&steps).delay));
    let again = parse(&listed.to_toml(), "elsewhere.toml").unwrap();
    assert_eq!((&again.experiment, &again.hash), (&listed.experiment, &listed.hash));
    assert_ne!(read(&lines.replace("100 ms", "50 ms")).unwrap().hash, listed.hash);
    let mut out = String::new();
    for (name, text) in [
        ("lines:a word", "1\nx\n"),
        ("lines:a header", "delay_ms\n1\n"),
        ("lines:nothing", "\n"),
        ("csv:one value a line", "0.5\n1\n"),
        ("csv:iperf3", "{\n\"start\": {}}"),
        ("empty", ""),
        ("words", "1\ntwo\n"),
        ("backwards", "3\n2\n"),
        ("at once", "0\n"),
        ("csv:no header", "0,1\n"),
        ("csv:three columns", "time_s,rate_bps,more\n0,1,2\n"),
        ("csv:only a header", "time_s,rate_bps\n"),
        ("csv:a line short", "time_s,rate_bps\n0,1\n2\n"),
        ("csv:negative", "time_s,rate_bps\n0,-1\n"),
        ("csv:backwards", "time_s,rate_bps\n0,1\n2,1\n1,1\n"),
        ("csv:zeros for ever", "time_s,rate_bps\n0,1\n2,0\n"),
        ("csv:late", "time_s,rate_bps\n1,1\n"),
    ] {
        let (kind, name) = name.split_once(':').unwrap_or(("mahimahi", name));
        write("bad", text);
        let more = if kind == "lines" { ", value = \"rate_mbps\", interval = \"1 s\"" } else { "" };
        let error = read(&format!("rate_trace = {{ kind = \"{kind}\", file = \"bad\"{more} }}")).expect_err(name);
        out.push_str(&format!("{kind}, {name}: {}\n", error.lines().next().unwrap()));
    }
    for both in [", file = \"nowhere\"", "", ", at = [1], file = \"cell.trace\""] {
        out.push_str(read(&format!("rate_trace = {{ kind = \"mahimahi\"{both} }}")).expect_err(both).lines().next().unwrap());
        out.push('\n');
    }
    insta::assert_snapshot!(out);
}

//! Connections that start by a load: their number and times, which are the same when the run is read back.

use super::super::Document;
use super::restore;

fn document(flow: &str) -> String {
    format!(
        "repeats = 3\n[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ rate = \"100 Mbit/s\" }}\nedge = {{ rate = \"1 Gbit/s\" }}\n\
         [[flow]]\nname = \"f\"\n{flow}\n[measure]\nduration = \"100 s\"\n"
    )
}

/// Start in seconds and size in bytes of each connection in repeat `repeat`.
fn flows(flow: &str, repeat: u64) -> Vec<(f64, u64)> {
    let run = Document::parse(&document(flow), "flows.toml").unwrap_or_else(|error| panic!("{error}")).run(repeat).unwrap();
    let again = restore(&run.resolved).unwrap();
    assert_eq!((&again.experiment, &again.hash), (&run.experiment, &run.hash));
    run.experiment.flows.iter().map(|flow| (flow.start.as_secs_f64(), flow.traffic.volume().unwrap())).collect()
}

fn exponential(load: &str, rest: &str) -> String {
    format!("traffic = {{ kind = \"flows\", sizes = \"exponential\", size = \"100 kB\"{load} }}\n{rest}")
}

#[test]
fn a_load_says_how_many_come_and_when() {
    // Half of 100 Mb/s are 62.5 connections of 100 kB per second: 5,000 in 80 s, give or take four times their root.
    let half = flows(&exponential(", load = 0.5", "stop = \"80 s\""), 0);
    assert!((half.len() as f64 - 5000.0).abs() < 283.0, "{}", half.len());
    assert!(half.iter().all(|(start, _)| *start < 80.0));
    let bytes: u64 = half.iter().map(|(_, size)| size).sum();
    assert!((bytes as f64 / (0.5 * 100e6 / 8.0 * 80.0) - 1.0).abs() < 0.09, "{bytes}");
    // None comes after the end of the run.
    assert_eq!(flows(&exponential(", load = 0.5", "stop = \"200 s\""), 0).last().unwrap().0.ceil(), 100.0);
    // Another seed, other connections; another load, the same ones closer together.
    assert_ne!(flows(&exponential(", load = 0.5", "stop = \"80 s\""), 1), half);
    let quarter = flows(&exponential(", load = 0.25", "stop = \"80 s\""), 0);
    for ((start, size), (later, same)) in half.iter().zip(&quarter) {
        assert!(size == same && (later - 2.0 * start).abs() < 1e-6, "{start} {later}");
    }
}

#[test]
fn a_count_says_how_many_whatever_the_load() {
    let some = flows(&exponential(", load = 0.5", "count = 10\nstart = \"1 s\""), 0);
    assert!(some.len() == 10 && some[0].0 == 1.0);
    assert_eq!(flows(&exponential(", load = 0.5", "stop = \"80 s\"\nstart = \"1 s\""), 0)[..10], some);
    // Connections without a load start as other flows do, each with a size of its own.
    let together = flows(&exponential("", "count = 10"), 0);
    assert!(together.iter().all(|(start, _)| *start == 0.0));
    assert_eq!(together.iter().map(|flow| flow.1).collect::<Vec<_>>(), some.iter().map(|flow| flow.1).collect::<Vec<_>>());
}

#[test]
fn a_list_of_sizes_is_read_back() {
    let listed = "traffic = { kind = \"flows\", sizes = \"listed\", points = [{ size = \"1 kB\", share = 0.5 }, { size = \"2 kB\", share = 1.0 }] }\ncount = 50";
    let sizes = flows(listed, 0);
    assert!(sizes.iter().all(|(_, size)| (1000..=2000).contains(size)) && sizes.iter().any(|(_, size)| *size > 1000));
}

#[test]
fn what_cannot_come_is_refused() {
    for (flow, message) in [
        (exponential(", load = 0.5", ""), "nothing says how long connections of `f` come"),
        (exponential(", load = 0.5", "stop = \"9 s\"\nstagger = \"1 s\""), "`load` says how far apart connections come"),
        (exponential(", load = 10", "stop = \"90 s\"").replace("100 kB", "1 kB"), "more than 100000 connections of `f` come"),
        (exponential("", "stop = \"9 s\""), "flows stops when its volume is written"),
        ("traffic = { kind = \"flows\", sizes = \"pareto\" }".to_owned(), "`pareto` needs a mean"),
    ] {
        let error = Document::parse(&document(&flow), "flows.toml").unwrap_err();
        assert!(error.message.contains(message), "{flow}: {}", error.message);
        assert!(error.line > 6, "{error}");
    }
}

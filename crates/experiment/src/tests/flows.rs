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

/// Files of one text.
#[derive(Debug)]
struct OneFile(&'static str);

impl crate::Files for OneFile {
    fn text(&self, _: &str) -> Result<String, String> {
        Err("there is none".to_owned())
    }
    fn trace(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }
}

fn of_file(text: &'static str, rest: &str) -> Result<crate::Run, crate::Error> {
    let flow = format!("traffic = {{ kind = \"flows\", sizes = \"cdf.csv\"{rest} }}\ncount = 50");
    Document::parse_with(&document(&flow), "flows.toml", std::sync::Arc::new(OneFile(text)))?.run(0)
}

#[test]
fn a_file_of_sizes_is_the_list_it_holds() {
    const FILE: &str = "size_bytes, share\n1000,0.5\n2000,1\n";
    let run = of_file(FILE, "").unwrap();
    let listed = "traffic = { kind = \"flows\", sizes = \"listed\", points = [{ size = \"1000 bytes\", share = 0.5 }, { size = \"2 kB\", share = 1.0 }] }\ncount = 50";
    let same = Document::parse(&document(listed), "flows.toml").unwrap().run(0).unwrap();
    assert_eq!((&run.experiment, &run.hash), (&same.experiment, &same.hash));
    // The run needs no file, and another content is another run.
    assert_eq!(restore(&run.resolved).unwrap().hash, run.hash);
    assert_ne!(of_file("size_bytes,share\n1000,0.5\n2001,1\n", "").unwrap().hash, run.hash);
    assert_eq!(of_file(FILE, ", interpolation = \"linear\"").unwrap().hash, run.hash);
    let steps = of_file(FILE, ", interpolation = \"step\"").unwrap();
    assert_eq!(restore(&steps.resolved).unwrap().hash, steps.hash);
    let sizes: std::collections::BTreeSet<u64> = steps.experiment.flows.iter().map(|flow| flow.traffic.volume().unwrap()).collect();
    assert_eq!(sizes, [1000, 2000].into());
}

#[test]
fn a_file_that_is_no_distribution_is_refused_with_its_line() {
    for (text, message) in [
        ("", "cdf.csv: it is empty"),
        ("size_bytes,share\n", "cdf.csv: it has no size"),
        ("0,0\n1000,1\n", "its first line is `0,0`, and must be the header size_bytes,share"),
        ("size_bytes,share\n1000;1\n", "line 2 is `1000;1`, and not two numbers"),
        ("size_bytes,share\n1000,0.5\n\nx,1\n", "line 4 is `x,1`, and not two numbers"),
        ("size_bytes,share\n1000,50\n", "line 2 is `1000,50`: a size is 0 bytes to 1 PiB, and a share 0 to 1"),
        ("size_bytes,share\n1000,nan\n", "line 2 is `1000,nan`: a size is 0 bytes"),
        ("size_bytes,share\n1000,0.5\n900,1\n", "line 3 is `900,1`, less than 1000,0.5 before it"),
        ("size_bytes,share\n1000,0.5\n", "its last share is 0.5, and must be 1"),
        ("size_bytes,share\n0,1\n", "its largest size is 0"),
    ] {
        let error = of_file(text, "").unwrap_err();
        assert!(error.message.contains(message) && error.line == 9, "{text}: {error}");
    }
    let twice = of_file("size_bytes,share\n9,1\n", ", points = [{ size = \"1 kB\", share = 1.0 }]").unwrap_err();
    assert!(twice.message.contains("a file of sizes has its own points"), "{twice}");
    let unknown = Document::parse(&document("traffic = { kind = \"flows\", sizes = \"web\" }"), "flows.toml").unwrap_err();
    assert!(unknown.to_string().contains("or a file such as \"sizes.csv\""), "{unknown}");
}

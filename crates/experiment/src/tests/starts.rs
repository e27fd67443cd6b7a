//! Starts that are drawn: from the seed, each sender's own, and the same when the run is read back.

use super::super::Document;
use super::restore;
use longfat_core::time::Duration;

fn document(flow: &str) -> String {
    format!(
        "repeats = 3\n[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ rate = \"10 Mbit/s\" }}\nedge = {{ rate = \"100 Mbit/s\" }}\n\
         [[flow]]\nname = \"f\"\n{flow}\n[measure]\nduration = \"30 s\"\n"
    )
}

/// Returns the start of each flow in repeat `repeat`, in seconds.
fn starts(flow: &str, repeat: u64) -> Vec<f64> {
    let run = Document::parse(&document(flow), "starts.toml").unwrap_or_else(|error| panic!("{error}")).run(repeat).unwrap();
    let again = restore(&run.resolved).unwrap();
    assert_eq!((&again.experiment, &again.hash), (&run.experiment, &run.hash));
    run.experiment.flows.iter().map(|flow| flow.start.as_secs_f64()).collect()
}

const UNIFORM: &str = "start = { random = \"uniform 1 s..2 s\" }";

#[test]
fn each_sender_and_each_repeat_draws_its_own() {
    let first = starts(&format!("count = 4\n{UNIFORM}"), 0);
    assert!(first.iter().all(|start| (1.0..2.0).contains(start)), "{first:?}");
    let mut all = [first.clone(), starts(&format!("count = 4\n{UNIFORM}"), 1)].concat();
    all.sort_by(f64::total_cmp);
    all.dedup();
    assert_eq!(all.len(), 8, "no two are the same");
    // Another sender, other streams, or another flow move none of them.
    assert_eq!(starts(&format!("count = 6\n{UNIFORM}"), 0)[..4], first);
    let streams = starts(&format!("count = 4\nstreams = 2\n{UNIFORM}"), 0);
    assert_eq!(streams.iter().step_by(2).copied().collect::<Vec<_>>(), first);
    assert_eq!(streams.iter().skip(1).step_by(2).copied().collect::<Vec<_>>(), first, "the streams of a sender start together");
    assert_eq!(starts(&format!("count = 4\n{UNIFORM}\n[[flow]]\nname = \"g\""), 0)[..4], first);
}

#[test]
fn gaps_are_drawn_as_well() {
    let gaps = starts("count = 5\nstart = \"1 s\"\nstagger = { random = \"exponential 500 ms\" }", 0);
    assert_eq!(gaps[0], 1.0);
    let between: Vec<f64> = gaps.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(between.iter().all(|gap| *gap > 0.0), "{between:?}");
    assert!(between[1..].iter().all(|gap| *gap != between[0]), "{between:?}");
    // A fixed gap is added to each draw.
    let both = starts(&format!("count = 3\nstagger = \"10 s\"\n{UNIFORM}"), 0);
    let alone = starts(&format!("count = 3\n{UNIFORM}"), 0);
    for (i, (both, alone)) in both.iter().zip(alone).enumerate() {
        assert!((both - alone - 10.0 * i as f64).abs() < 1e-9);
    }
}

/// A key that is not there changes no identity, and one that is does.
#[test]
fn times_that_are_given_are_as_they_were() {
    let hash = |flow: &str| Document::parse(&document(flow), "").unwrap().run(0).unwrap().hash;
    assert_eq!(hash("start = \"0 s\""), hash(""));
    assert_ne!(hash(UNIFORM), hash(""));
    let run = Document::parse(&document("count = 2\nstagger = \"3 s\""), "").unwrap().run(0).unwrap();
    assert!(run.experiment.flows.iter().all(|flow| flow.drawn.is_none()));
    assert_eq!(run.experiment.flows[1].start, Duration::from_secs(3));
    assert_eq!(run.resolved["flow"][0]["start"], "0 s");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    for (flow, message) in [
        ("start = { random = \"normal 1 s\" }", "there is no distribution `normal`"),
        ("start = { random = 3 }", "this is no random time"),
        ("start = { random = \"uniform 0 s..1 s\", seed = 3 }", "says how, and nothing else"),
        ("start = { uniform = \"1 s\" }", "says how, and nothing else"),
        // The start may be in time with this seed.
        ("start = { random = \"uniform 0 s..40 s\" }", "the last connection of `f` could start at 40 s"),
        ("count = 40\nstagger = { random = \"exponential 10 s\" }", "was drawn, with seed 1, to start at"),
    ] {
        let error = Document::parse(&document(flow), "starts.toml").unwrap_err();
        assert!(error.message.contains(message), "{flow}: {}", error.message);
        assert!(error.line > 6, "{error}");
    }
}

#[test]
fn a_sweep_calls_them_as_they_are_written() {
    let sweep = "start = { sweep = [\"0 s\", { random = \"uniform 0 s..1 s\" }], name = \"start\" }";
    let document = Document::parse(&document(sweep).replace("name = \"start\"", "name = \"starts\""), "").unwrap();
    assert_eq!(document.axes().next().unwrap().labels, ["0 s", "uniform 0 s..1 s"]);
}

//! Runs of a sweep, and their order.

use super::super::Document;
use proptest::prelude::*;

fn with(top: &str, flow: &str) -> String {
    format!(
        "{top}\n[path]\npreset = \"dumbbell\"\nrtt = \"70 ms\"\nbottleneck = {{ type = \"ds3\" }}\nedge = {{ type = \"fddi\" }}\n\
         [[flow]]\n{flow}\n[measure]\nduration = \"60 s\"\n"
    )
}

fn document(top: &str, flow: &str) -> Document {
    Document::parse(&with(top, flow), "sweep.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn labels(document: &Document) -> Vec<String> {
    let row = |i| document.run(i).unwrap().labels.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ");
    (0..document.run_count()).map(row).collect()
}

#[test]
fn axes_multiply_and_the_last_is_fastest() {
    let d = document("", "count = { sweep = [1, 4] }\nwindow = { sweep = [\"8 KiB\", \"1 MB\"], name = \"w\" }");
    assert_eq!(d.axes().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["count", "w"]);
    assert_eq!(labels(&d), ["1 8 KiB", "1 1 MB", "4 8 KiB", "4 1 MB"]);
    let run = d.run(2).unwrap();
    assert_eq!((run.experiment.flows.len(), run.experiment.flows[0].sender.send_buffer), (4, 8192));
}

#[test]
fn zipped_axes_of_one_name_are_one_axis() {
    let flow = |second: &str| {
        with(
            "",
            &format!(
                "count = {{ sweep = [1, 4, 4], zip = \"z\", name = \"test\" }}\nmss = {{ sweep = [\"512 bytes\", \"auto\"] }}\n{second}"
            ),
        )
    };
    // The first axis must have different values, the second need not.
    assert!(Document::parse(&flow(""), "f").unwrap_err().to_string().contains("called \"4\""));
    let text =
        flow("window = { sweep = [\"8 KiB\", \"8 KiB\", \"1 MB\"], zip = \"z\", name = \"test\" }").replace("[1, 4, 4]", "[1, 4, 5]");
    let d = Document::parse(&text, "f").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(d.run_count(), 6);
    assert_eq!(d.axes().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["test", "mss"]);
    let run = d.run(5).unwrap();
    assert_eq!(run.labels[0], ("test".to_owned(), "5".to_owned()));
    assert_eq!((run.experiment.flows.len(), run.experiment.flows[0].sender.send_buffer), (5, 1_000_000));
}

#[test]
fn zipped_axes_advance_together() {
    let d = document(
        "",
        "count = { sweep = [1, 4], zip = \"z\" }\nmss = { sweep = [\"512 bytes\", \"auto\"] }\nwindow = { sweep = [\"8 KiB\", \"1 MB\"], zip = \"z\" }",
    );
    assert_eq!(labels(&d), ["1 512 bytes 8 KiB", "1 auto 8 KiB", "4 512 bytes 1 MB", "4 auto 1 MB"]);
}

#[test]
fn rules_leave_runs_out() {
    let d = document(
        "skip = [{ count = [4, 8], window = \"1 MB\" }, { count = 8, window = \"8 KiB\" }]",
        "count = { sweep = [1, 4, 8] }\nwindow = { sweep = [\"8 KiB\", \"64 KiB\", \"1 MB\"] }",
    );
    assert_eq!(labels(&d), ["1 8 KiB", "1 64 KiB", "1 1 MB", "4 8 KiB", "4 64 KiB", "8 64 KiB"]);
}

#[test]
fn values_that_are_tables_have_labels() {
    let d = document(
        "",
        "receiver = { sweep = [{ label = \"old\", stack = \"bsd-reno-1994\" }, { stack = \"linux\" }, { label = 3, value = { sack = true } }] }",
    );
    assert_eq!(labels(&d), ["old", "#2", "3"]);
    assert_eq!(d.run(0).unwrap().experiment.flows[0].receiver.initial_window, 1);
}

#[test]
fn axes_of_one_key_have_their_path_for_a_name() {
    let d = document("", "window = { sweep = [\"8 KiB\"] }\nreceiver = { window = { sweep = [\"9 KiB\"] } }");
    assert_eq!(d.axes().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["flow[0].window", "flow[0].receiver.window"]);
}

#[test]
fn repeats_differ_in_the_seed_alone() {
    let d = document("seed = 7\nrepeats = 3", "count = { sweep = [1, 2] }");
    assert_eq!(d.run_count(), 6);
    let runs: Vec<_> = (0..6).map(|i| d.run(i).unwrap()).collect();
    assert_eq!(runs.iter().map(|r| r.experiment.seed).collect::<Vec<_>>(), [7, 8, 9, 7, 8, 9]);
    assert_eq!(runs.iter().map(|r| r.repeat).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    let mut second = runs[1].experiment.clone();
    second.seed = 7;
    assert_eq!(second, runs[0].experiment);
    // More repeats keep the identities of the earlier runs.
    let more = document("seed = 7\nrepeats = 4", "count = { sweep = [1, 2] }");
    assert_eq!(more.run(4).unwrap().hash, runs[3].hash);
}

#[test]
fn the_hash_covers_results_and_nothing_else() {
    let hash = |top: &str, flow: &str| document(top, flow).run(0).unwrap().hash;
    let base = hash("", "window = \"64 KiB\"");
    assert_eq!(base.len(), 64);
    assert_eq!(base, hash("title = \"x\"\ndescription = \"y\" # z", "window = \"0.0625 MiB\"\ncount = 1"));
    assert_eq!(base, hash("", "window = { sweep = [\"64 KiB\", \"1 MiB\"] }"));
    assert_ne!(base, hash("seed = 2", "window = \"64 KiB\""));
    assert_ne!(base, hash("", "window = \"64 kB\""));
    assert_ne!(base, hash("", "window = \"64 KiB\"\nreceiver = { sack = false }"));
    assert_ne!(base, hash("", "window = \"64 KiB\"\nstart = \"1 ps\""));
}

#[test]
fn a_thousand_million_runs_are_counted_and_not_made() {
    let axis =
        |key: &str| format!("{key} = {{ sweep = [{}] }}\n", (1..=1000).map(|n| format!("\"{n} ms\"")).collect::<Vec<_>>().join(", "));
    let flow = axis("rto_min") + &axis("start") + &axis("stagger") + "rto_initial = { sweep = [\"1 s\", \"2 s\"] }";
    let d = document("repeats = 1000", &flow);
    assert_eq!(d.run_count(), 2_000_000_000_000);
    let last = d.run(d.run_count() - 1).unwrap();
    assert_eq!(last.labels.iter().map(|(_, l)| l.as_str()).collect::<Vec<_>>(), ["1000 ms", "1000 ms", "1000 ms", "2 s"]);
    let skipping = document("skip = [{ start = \"5 ms\", stagger = \"7 ms\" }, { start = \"5 ms\" }]", &flow);
    assert_eq!(skipping.run_count(), 999 * 2_000_000);
}

#[test]
fn more_runs_than_64_bits_count_is_an_error() {
    let keys = ["rto_min", "rto_max", "rto_initial", "delayed_ack_time", "slow_timer", "timestamp_tick", "start", "stagger"];
    let axis =
        |key: &&str| format!("{key} = {{ sweep = [{}] }}\n", (1..=1000).map(|n| format!("\"{n} ms\"")).collect::<Vec<_>>().join(", "));
    let flow: String = keys.iter().map(axis).collect();
    let error = Document::parse(&with("", &flow), "sweep.toml").unwrap_err();
    assert_eq!(error.message, "the sweep has more than 2^64 runs");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Numbered runs are the product of the axes less the skipped, in order.
    #[test]
    fn numbering_agrees_with_listing(sizes in prop::array::uniform3(1_usize..4), rules in prop::collection::vec(prop::array::uniform3(0_u8..16), 0..4)) {
        let keys = ["count", "ack_every", "quick_acks"];
        let value = |axis: usize, v: usize| if axis == 0 { format!("{}", v + 1) } else { format!("\"{} segments\"", v + 1) };
        let flow: String = (0..3).map(|a| format!("{} = {{ sweep = [{}] }}\n", keys[a], (0..sizes[a]).map(|v| value(a, v)).collect::<Vec<_>>().join(", "))).collect();
        // A rule is a set of values for each axis, as bits; an axis with none is not named.
        let sets: Vec<Vec<Vec<usize>>> = rules.iter().map(|r| (0..3).map(|a| (0..sizes[a]).filter(|v| r[a] >> v & 1 == 1).collect()).collect()).collect();
        let sets: Vec<_> = sets.into_iter().filter(|s: &Vec<Vec<usize>>| s.iter().any(|v| !v.is_empty())).collect();
        let texts: Vec<String> = sets.iter().map(|set| {
            let named = (0..3).filter(|&a| !set[a].is_empty());
            let entries: Vec<String> = named.map(|a| format!("{} = [{}]", keys[a], set[a].iter().map(|&v| value(a, v)).collect::<Vec<_>>().join(", "))).collect();
            format!("{{ {} }}", entries.join(", "))
        }).collect();
        let skip = if texts.is_empty() { String::new() } else { format!("skip = [{}]", texts.join(", ")) };

        let mut expected = Vec::new();
        for i in 0..sizes[0] { for j in 0..sizes[1] { for k in 0..sizes[2] {
            let met = |set: &Vec<Vec<usize>>| [i, j, k].iter().enumerate().all(|(a, v)| set[a].is_empty() || set[a].contains(v));
            if !sets.iter().any(met) {
                expected.push(format!("{} {} segments {} segments", i + 1, j + 1, k + 1));
            }
        }}}
        match Document::parse(&with(&skip, &flow), "sweep.toml") {
            Ok(document) => prop_assert_eq!(labels(&document), expected),
            Err(error) => prop_assert!(expected.is_empty() && error.message == "every run is skipped", "{}", error),
        }
    }
}

/// Collects every name that a key of the file can give an axis.
fn keys(schema: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(entries) => {
            if let Some(serde_json::Value::Object(properties)) = entries.get("properties") {
                found.extend(properties.keys().cloned());
            }
            entries.values().for_each(|value| keys(value, found));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn no_axis_is_called_as_a_column_of_results() {
    let called = |name: &str| Document::parse(&with("", &format!("window = {{ sweep = [\"8 KiB\", \"1 MB\"], name = \"{name}\" }}")), "f");
    let taken = ["run", "repeat", "steps", "end_s", "flow", "link", "host", "jain_index", "bytes_sent", "busy_s", "run_seed", "link_queue"];
    for name in taken {
        let error = called(name).unwrap_err().to_string();
        assert!(error.contains(&format!("an axis cannot be called \"{name}\"")), "{error}");
        assert!(error.contains("give the sweep another `name`"), "{error}");
    }
    for name in ["seed", "queue", "from", "run_", "link_delay", "Run", "time_s"] {
        called(name).unwrap();
    }
    let mut names = std::collections::BTreeSet::new();
    keys(&crate::schema(), &mut names);
    let refused: Vec<&String> = names.iter().filter(|name| called(name).is_err()).collect();
    // Whole arrays of tables, and what cannot be swept. All single values can be axes as they are.
    assert_eq!(refused, ["flow", "host", "link", "repeats"]);
}

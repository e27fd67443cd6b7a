//! Tests that an experiment is refused for what its backend cannot do, with the line that asks for it.

use super::super::backend::{self, Backend, Limit};
use super::super::{Document, Error};

/// A backend that does not exist, which can do little.
static BENCH: Backend = Backend {
    is_real_time: false,
    name: "bench",
    summary: "a test's own",
    source: "none",
    uncontrolled: &[],
    runs_policies: true,
    cannot: &[&[
        Limit { what: "cell switches", key: "path.switches", only: &[], with: None, written: &["path.switches", "path.preset=atm"] },
        Limit { what: "this congestion control", key: "flow.congestion_control", only: &["cubic", "reno"], with: None, written: &[] },
        Limit { what: "bounded memory of hosts", key: "host.memory", only: &[], with: None, written: &[] },
        Limit { what: "this queue", key: "path.link.queue", only: &["droptail", "red"], with: None, written: &[] },
        Limit { what: "a departure after the arrivals of its instant", key: "departures", only: &[], with: None, written: &[] },
    ]],
};
fn file(top: &str, bottleneck: &str, rest: &str) -> String {
    format!(
        "{top}\n[path]\npreset = \"dumbbell\"\nrtt = \"70 ms\"\nbottleneck = {{ type = \"ds3\"{bottleneck} }}\nedge = {{ type = \"fddi\" }}\n\
         [measure]\nduration = \"60 s\"\n{rest}\n"
    )
}

fn refused(text: &str, index: u64) -> Error {
    let document = Document::parse(text, "file.toml").unwrap_or_else(|e| panic!("{e}"));
    document.run_by(index, Some(&BENCH)).expect_err("it is refused")
}

#[test]
fn what_it_can_do_is_run() {
    let text = file("", ", queue = { kind = \"red\", limit = \"60 packets\" }", "[[flow]]\ncongestion_control = \"reno\"\n[[flow]]");
    let document = Document::parse(&text, "file.toml").unwrap_or_else(|e| panic!("{e}"));
    let run = document.run_by(0, Some(&BENCH)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(run.backend.name, "bench");
    // The backend is part of a run's identity.
    assert_ne!(run.hash, document.run(0).unwrap().hash);
}

#[test]
fn a_refusal_points_at_the_line_that_asks_for_it() {
    let atm = "[path]\npreset = \"atm\"\nsenders = 2\nbottleneck = { type = \"atm-oc-3c\", delay = \"1 ms\" }\nedge = { type = \"atm-oc-3c\" }\n\
               [[flow]]\ncount = 2\n[measure]\nduration = \"1 s\"\n";
    let refused = [
        // A word of a table in a list.
        refused(&file("", "", "[[flow]]\n[[flow]]\ncongestion_control = { kind = \"bbr\" }"), 0),
        refused(&file("", ", queue = { kind = \"step\", limit = \"60 packets\", threshold = \"5 packets\" }", "[[flow]]"), 0),
        // A key that is there.
        refused(&file("departures = \"last\"", "", "[[flow]]\n[[host]]\nname = \"left1\"\nmemory = \"1 MiB\""), 0),
        refused(&file("departures = \"last\"", "", "[[flow]]"), 0),
        // A preset, at the line that names it.
        refused(atm, 0),
        // One value of a sweep.
        refused(&file("", "", "[[flow]]\ncongestion_control = { sweep = [\"cubic\", \"reno\", \"vegas\"] }"), 2),
    ];
    let text: Vec<String> = refused.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(text.join("\n\n"));
}

/// HyStart goes with CUBIC, as in Linux. The stack brings no other control to a kernel that would then do otherwise.
#[test]
fn the_testbed_has_the_slow_start_of_each_control_and_no_other() {
    let testbed = backend::named("testbed");
    let controls = testbed.limits().find(|limit| limit.key == "flow.congestion_control").expect("it has some").only;
    let run = |lines: &str| {
        let text = file("", "", &format!("[[flow]]\n{lines}"));
        Document::parse(&text, "file.toml").and_then(|document| document.run_by(0, Some(testbed)))
    };
    for control in controls {
        let linux = format!("stack = \"linux\"\ncongestion_control = \"{control}\"\n");
        let standard = run(&linux).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(standard.experiment.flows[0].sender.growth.slow_start == "hystart", *control == "cubic");
        let hystart = run(&format!("{linux}slow_start = \"hystart\"\n"));
        assert_eq!(hystart.is_ok(), *control == "cubic", "{control}");
    }
    let asked = "stack = \"linux\"\nslow_start = \"hystart\"\ncongestion_control = { sweep = [\"cubic\", \"htcp\"] }";
    let document = Document::parse(&file("", "", &format!("[[flow]]\n{asked}")), "file.toml").unwrap();
    insta::assert_snapshot!(document.run_by(1, Some(testbed)).unwrap_err().to_string());
}

#[test]
fn a_backend_that_does_not_exist_is_refused_with_those_that_do() {
    let mut document = Document::parse(&file("", "", "[[flow]]"), "file.toml").unwrap();
    insta::assert_snapshot!(document.set("backend", "bench").unwrap_err().to_string());
    document.set("backend", backend::DEFAULT).unwrap();
}

/// The keys of a traffic of each kind, beside `kind`.
fn traffic(kind: &str) -> &'static str {
    match kind {
        "bulk" | "ping" | "udpmon" => "",
        "ttcp" | "fetch" => ", volume = \"1 MB\"",
        "flows" => ", sizes = \"web-search\"",
        "udp" => ", rate = \"1 Mbit/s\"",
        "sinusoid" => ", mean = \"1 Mbit/s\", amplitude = \"500 kbit/s\", period = \"1 s\"",
        "on_off" => ", rate = \"1 Mbit/s\", on = \"100 ms\", off = \"100 ms\"",
        "writes" => ", rate = \"1 Mbit/s\", size = \"10 kB\"",
        "telnet" => ", interval = \"100 ms\", size = \"100 bytes\"",
        "web" => ", size = \"100 kB\", think = \"100 ms\"",
        other => panic!("{other}: write an example"),
    }
}

/// Each backend runs each kind of traffic, or refuses it and says why.
#[test]
fn each_kind_of_traffic_is_run_or_refused_with_a_reason() {
    let hosts = "[live]\n[[live.host]]\nname = \"left1\"\nat = \"local\"\n[[live.host]]\nname = \"right1\"\nat = \"192.0.2.1\"\n";
    let mut refused = Vec::new();
    for backend in backend::REGISTRY {
        for kind in longfat_core::traffic::REGISTRY {
            let flow = format!("[[flow]]\nstack = \"linux\"\ntraffic = {{ kind = \"{}\"{} }}\n{hosts}", kind.name, traffic(kind.name));
            let document = Document::parse(&file("", "", &flow), "file.toml").unwrap_or_else(|e| panic!("{}: {e}", kind.name));
            match document.run_by(0, Some(backend)) {
                // Some kinds are other words for a more general one.
                Ok(run) => assert!(!run.experiment.flows.is_empty()),
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains(&format!("the backend `{}` cannot do ", backend.name)), "{said}");
                    assert!(said.contains("\"bulk\""), "it says which it does: {said}");
                    refused.push((backend.name, kind.name));
                }
            }
        }
    }
    refused.sort_unstable();
    // A session has probes in place of `ping`; sockets connect before they write, so nobody asks by them.
    assert_eq!(refused, [("live", "fetch"), ("live", "ping"), ("testbed", "fetch")]);
}

//! What a flow is told by its stack, beside what its file says.

use super::super::{Document, Run};
use longfat_tcp::congestion;

/// The runs of a file that says `lines` of its one flow.
fn runs(lines: &str) -> Vec<Run> {
    let text = format!(
        "[path]\npreset = \"dumbbell\"\nrtt = \"60 ms\"\nbottleneck = {{ rate = \"100 Mbit/s\" }}\nedge = {{ rate = \"100 Mbit/s\" }}\n\
         [[flow]]\n{lines}\n[measure]\nduration = \"10 s\"\n"
    );
    let document = Document::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    (0..document.run_count()).map(|index| document.run(index).unwrap_or_else(|error| panic!("{lines}\n{error}"))).collect()
}

/// The slow starts of both ends of the one run of such a file.
fn slow_starts(lines: &str) -> (&'static str, &'static str) {
    let runs = runs(lines);
    assert_eq!(runs.len(), 1);
    let flow = &runs[0].experiment.flows[0];
    (flow.sender.slow_start, flow.receiver.slow_start)
}

/// A control as a file says it, with the parameters that it needs.
fn said(control: &str) -> String {
    let kind = congestion::named(control);
    let needed = kind.params.iter().filter(|spec| spec.default.is_none());
    let needed: String = needed.map(|spec| format!(", {} = 0.5", spec.name)).collect();
    format!("congestion_control = {{ kind = \"{control}\"{needed} }}")
}

/// A stack of Linux has Linux's variant of a control, whether the control is a word or a table, in a sweep, at the receiver, and in the
/// resolved file; a parameter that is written holds.
#[test]
fn controls_are_in_the_variant_of_the_stack() {
    let bic = |lines: &str| {
        let run = &runs(lines)[0];
        let again = Document::parse(&run.to_toml(), "again.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.run(0).unwrap().hash, run.hash, "{lines}");
        let flow = &run.experiment.flows[0];
        [&flow.sender, &flow.receiver].map(|end| ["smax", "beta"].map(|name| end.congestion_control.params.number(name)))
    };
    let (paper, linux) = ([32.0, 0.125], [16.0, 205.0 / 1024.0]);
    assert_eq!(bic("congestion_control = \"bic\""), [paper; 2]);
    assert_eq!(bic("stack = \"linux\"\ncongestion_control = \"bic\""), [linux; 2]);
    assert_eq!(bic("stack = \"linux\"\ncongestion_control = { sweep = [\"bic\"] }"), [linux; 2]);
    assert_eq!(bic("stack = \"linux\"\ncongestion_control = { kind = \"bic\", beta = 0.3 }"), [[16.0, 0.3]; 2]);
    assert_eq!(bic("stack = \"linux\"\ncongestion_control = { kind = \"bic\", smax = 32 }"), [[32.0, 205.0 / 1024.0]; 2]);
    assert_eq!(bic("congestion_control = \"bic\"\nreceiver = { stack = \"linux\", congestion_control = \"bic\" }"), [paper, linux]);
}

#[test]
fn hystart_comes_with_linux_to_cubic_alone() {
    for control in congestion::NAMES {
        let expected = if *control == "cubic" { "hystart" } else { "standard" };
        let lines = format!("stack = \"linux\"\n{}", said(control));
        assert_eq!(slow_starts(&lines), (expected, expected), "{control}");
        // Who says otherwise has it otherwise, and that is another run only if it is otherwise.
        for slow_start in congestion::slow_start::NAMES {
            let explicit = format!("{lines}\nslow_start = \"{slow_start}\"");
            assert_eq!(slow_starts(&explicit), (*slow_start, *slow_start), "{control}");
            let same = runs(&explicit)[0].hash == runs(&lines)[0].hash;
            assert_eq!(same, *slow_start == expected, "{control} with {slow_start}");
        }
        assert_eq!(slow_starts(&said(control)), ("standard", "standard"), "{control} in the plain stack");
    }
    assert_eq!(slow_starts("stack = \"linux\""), ("hystart", "hystart"));
}

#[test]
fn each_run_of_a_sweep_has_what_its_control_brings() {
    let found = runs("stack = \"linux\"\ncongestion_control = { sweep = [\"reno\", \"cubic\", \"hybla\", \"bbr\"] }");
    let found: Vec<_> = found.iter().map(|run| run.experiment.flows[0].sender.slow_start).collect();
    assert_eq!(found, ["standard", "hystart", "standard", "standard"]);
    // Also where the stack is what is swept.
    let found = runs("stack = { sweep = [\"rfc\", \"linux\"] }\ncongestion_control = \"cubic\"");
    let found: Vec<_> = found.iter().map(|run| run.experiment.flows[0].sender.slow_start).collect();
    assert_eq!(found, ["standard", "hystart"]);
}

#[test]
fn each_end_has_what_its_own_control_brings() {
    assert_eq!(slow_starts("stack = \"linux\"\nreceiver = { congestion_control = \"reno\" }"), ("hystart", "standard"));
    assert_eq!(slow_starts("stack = \"linux\"\ncongestion_control = \"reno\"\nreceiver = { stack = \"linux\" }"), ("standard", "hystart"));
    // What is said of the sender holds for the receiver.
    let said = "stack = \"linux\"\nslow_start = \"limited\"\nreceiver = { congestion_control = \"reno\" }";
    assert_eq!(slow_starts(said), ("limited", "limited"));
}

#[test]
fn what_it_comes_to_is_written_and_read_back() {
    for lines in ["congestion_control = \"reno\"", "", "receiver = { congestion_control = \"reno\" }"] {
        let run = runs(&format!("stack = \"linux\"\n{lines}")).remove(0);
        let again = Document::parse(&run.to_toml(), "again.toml").and_then(|document| document.run(0)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((&run.experiment.flows, &run.hash), (&again.experiment.flows, &again.hash), "{}", run.to_toml());
    }
}

//! Parameters that a stack gives a flow, beside those its file sets.

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
    (flow.sender.growth.slow_start, flow.receiver.growth.slow_start)
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
        // An explicit value overrides the stack's, and makes another run only if it differs.
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
    let found: Vec<_> = found.iter().map(|run| run.experiment.flows[0].sender.growth.slow_start).collect();
    assert_eq!(found, ["standard", "hystart", "standard", "standard"]);
    // The stack itself may be swept.
    let found = runs("stack = { sweep = [\"rfc\", \"linux\"] }\ncongestion_control = \"cubic\"");
    let found: Vec<_> = found.iter().map(|run| run.experiment.flows[0].sender.growth.slow_start).collect();
    assert_eq!(found, ["standard", "hystart"]);
}

#[test]
fn each_end_has_what_its_own_control_brings() {
    assert_eq!(slow_starts("stack = \"linux\"\nreceiver = { congestion_control = \"reno\" }"), ("hystart", "standard"));
    assert_eq!(slow_starts("stack = \"linux\"\ncongestion_control = \"reno\"\nreceiver = { stack = \"linux\" }"), ("standard", "hystart"));
    // Parameters of the sender hold for the receiver.
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

/// The sender of the one flow of such a file.
fn flow(lines: &str) -> longfat_tcp::TcpConfig {
    (*runs(lines)[0].experiment.flows[0].sender).clone()
}

/// The share of a receive buffer that is data, if it does not follow the mss; and the buffer at first and at the most.
fn receive(tcp: &longfat_tcp::TcpConfig) -> (Option<f64>, u64, u64) {
    let params = &tcp.window_sizing.params;
    let share = (!params.is_auto("rmem_data")).then(|| params.number("rmem_data"));
    (share, params.integer("rmem_default"), params.integer("rmem_max"))
}

#[test]
fn a_kernel_has_its_documented_rules_and_the_last_is_the_default() {
    let sized = |kernel: &str| receive(&flow(&format!("stack = \"linux\"\nkernel = \"{kernel}\"\nwindow_sizing = \"linux\"")));
    assert_eq!(sized("4.19"), (Some(0.5), 87_380, 6 << 20));
    assert_eq!(sized("5.15"), (Some(0.5), 131_072, 6 << 20));
    assert_eq!(sized("6.1"), (Some(0.5), 131_072, 6 << 20));
    assert_eq!(sized("6.6"), (None, 131_072, 6 << 20));
    assert_eq!(sized("6.18"), (None, 131_072, 32 << 20));
    let bbr = |kernel: &str| {
        let tcp = flow(&format!("stack = \"linux\"\nkernel = \"{kernel}\"\ncongestion_control = \"bbr\""));
        (tcp.congestion_control.params.boolean("extra_acked"), tcp.timers.syn_linear_timeouts)
    };
    assert_eq!([bbr("4.19"), bbr("5.15"), bbr("6.6")], [(false, 0), (true, 0), (true, 4)]);
    let divisor = |lines: &str| flow(&format!("stack = \"linux\"\nkernel = \"4.19\"\n{lines}")).growth.hystart_divisor;
    assert_eq!([divisor(""), divisor("congestion_control = \"reno\""), divisor("hystart_divisor = 8")], [16, 8, 8]);
    // The run is the same as one that says nothing.
    for lines in ["", "window_sizing = \"linux\"", "congestion_control = \"bbr\""] {
        let plain = format!("stack = \"linux\"\n{lines}");
        assert_eq!(runs(&format!("kernel = \"6.18\"\n{plain}"))[0].hash, runs(&plain)[0].hash, "{lines}");
    }
}

#[test]
fn what_is_written_holds_whatever_the_kernel() {
    let lines = "stack = \"linux\"\nkernel = \"4.19\"\nwindow_sizing = { kind = \"linux\", rmem_max = \"64 MiB\", rmem_data = \"auto\" }";
    assert_eq!(receive(&flow(lines)), (None, 87_380, 64 << 20));
    // The value may be the default of another stack.
    let bbr = flow("stack = \"linux\"\nkernel = \"4.19\"\ncongestion_control = { kind = \"bbr\", extra_acked = true }");
    assert!(bbr.congestion_control.params.boolean("extra_acked"));
    // The receiver may have another one, and keeps what the sender is told.
    let both = runs(&format!("{}\nreceiver = {{ kernel = \"6.6\" }}", lines.replace(", rmem_data = \"auto\"", "")));
    let flow = &both[0].experiment.flows[0];
    assert_eq!((receive(&flow.sender), receive(&flow.receiver)), ((Some(0.5), 87_380, 64 << 20), (None, 131_072, 64 << 20)));
}

#[test]
fn a_kernel_is_an_axis_and_what_a_run_came_to_reads_back() {
    let found = runs("stack = \"linux\"\nwindow_sizing = \"linux\"\nkernel = { sweep = [\"4.19\", \"6.6\", \"6.18\"] }");
    assert_eq!(found.len(), 3);
    for run in &found {
        let again = super::restore(&run.resolved).unwrap().experiment;
        assert_eq!(again.flows[0].sender, run.experiment.flows[0].sender);
    }
}

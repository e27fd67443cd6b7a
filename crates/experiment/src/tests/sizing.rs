//! Window sizing in experiment files.

use super::super::Document;
use longfat_core::params::Value;
use longfat_core::units::Capacity;
use longfat_model::Flow;
use longfat_tcp::window_sizing;

/// The one flow of a file that says `lines` of it.
fn flow(lines: &str) -> Flow {
    let text = format!(
        "[path]\npreset = \"dumbbell\"\nrtt = \"60 ms\"\nbottleneck = {{ rate = \"100 Mbit/s\" }}\nedge = {{ rate = \"100 Mbit/s\" }}\n\
         [[flow]]\n{lines}\n[measure]\nduration = \"10 s\"\n"
    );
    let run = Document::parse(&text, "test.toml").and_then(|document| document.run(0)).unwrap_or_else(|error| panic!("{error}"));
    let again =
        Document::parse(&run.to_toml(), "again.toml").and_then(|document| document.run(0)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((&run.experiment.flows, &run.hash), (&again.experiment.flows, &again.hash), "{}", run.to_toml());
    run.experiment.flows[0].clone()
}

#[test]
fn a_window_is_static_unless_something_else_is_said() {
    let flow = flow("window = \"64 KiB\"");
    assert_eq!((flow.sender.window_sizing.kind, window_sizing::bounds(&flow.receiver)), ("static", (65_536, 65_536)));
}

#[test]
fn the_largest_window_is_in_segments_of_the_path() {
    // 1500 bytes less the headers and timestamps.
    let flow = flow("window_sizing = { kind = \"ideal\", maxwnd = \"700 segments\" }");
    assert_eq!(flow.sender.window_sizing.params.get("maxwnd"), Value::Capacity(Capacity::Packets(700)));
    assert_eq!(window_sizing::bounds(&flow.sender), (700 * 1448, 700 * 1448));
    let bytes = self::flow("window = \"1 MiB\"\nwindow_sizing = { kind = \"drs\", maxwnd = \"64 KiB\" }");
    assert_eq!(window_sizing::bounds(&bytes.sender), (65_536, 65_536));
}

#[test]
fn each_end_has_its_own() {
    let flow = flow("window_sizing = \"search\"\nreceiver = { window_sizing = { kind = \"drs\", shrink_after = 2 } }");
    assert_eq!((flow.sender.window_sizing.kind, flow.receiver.window_sizing.kind), ("search", "drs"));
    assert_eq!(flow.receiver.window_sizing.params.integer("shrink_after"), 2);
}

#[test]
fn an_automatic_window_is_right_sized() {
    let unbounded = (1 << 30, 1 << 30);
    // A stack's own bounds are gone as well.
    let flow = flow("stack = \"bsd-reno-1994\"\nwindow = \"auto\"");
    assert_eq!((flow.sender.window_sizing.kind, window_sizing::bounds(&flow.sender)), ("drs", unbounded));
    assert_eq!((flow.receiver.window_sizing.kind, window_sizing::bounds(&flow.receiver)), ("drs", unbounded));
    // Its tcp_rmem[2], of which 1448 of 2304 bytes are data.
    let linux = self::flow("stack = \"bsd-reno-1994\"\nwindow = \"auto\"\nwindow_sizing = \"linux\"\nsend_buffer = \"1 MiB\"");
    assert_eq!((linux.sender.window_sizing.kind, window_sizing::bounds(&linux.sender)), ("linux", (1 << 20, (6 << 20) * 1448 / 2304)));
}

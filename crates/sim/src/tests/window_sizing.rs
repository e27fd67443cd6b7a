//! Window sizing over whole runs, on the path of Weigle and Feng 2001: 100 Mb/s, 60 ms.

use std::fmt::Write;
use std::sync::Arc;

use longfat_core::params::{Choice, Value};
use longfat_core::time::Duration;
use longfat_core::units::{Capacity, Rate};
use longfat_record::trace::{FlowSample, Trace};
use longfat_tcp::{CwndValidation, RecoveryKind, TcpConfig, congestion, window_sizing};

use longfat_model::dumbbell::{Dumbbell, droptail, tcp};

/// The kind called `name` with `changes` to its defaults.
fn sizing(name: &str, changes: &[(&'static str, Value)]) -> Choice {
    window_sizing::choice(name).with(changes)
}

/// Returns `control` with a bottleneck queue of `queue` packets, for 20 s.
fn path(control: &str, window_sizing: Choice, queue: u64) -> Dumbbell {
    Dumbbell {
        rate: Rate::from_bps(100_000_000),
        rtt: Duration::from_millis(60),
        edge_rate: Rate::from_bps(1_000_000_000),
        queue: droptail(Capacity::Packets(queue)),
        tcp: TcpConfig { congestion_control: congestion::choice(control), window_sizing, ..tcp("rfc") },
        duration: Duration::from_secs(20),
        ..Dumbbell::default()
    }
}

/// Sampled every half round trip.
fn run(dumbbell: &Dumbbell) -> Trace {
    let mut experiment = dumbbell.experiment();
    experiment.measure.interval = Some(Duration::from_millis(30));
    crate::run(&experiment).expect("it has routes")
}

fn mbps(trace: &Trace) -> f64 {
    trace.flows[0].total.delivered as f64 * 8e-6 / trace.end.as_secs_f64()
}

/// Mean over the series, in segments.
fn mean(trace: &Trace, of: fn(&FlowSample) -> u64) -> f64 {
    trace.flow_series.iter().map(|s| of(&s) as f64).sum::<f64>() / trace.flow_series.len() as f64 / 1448.0
}

/// Table of the goodput of each kind and the memory it takes, for a person to judge. A static window has no bound here.
#[test]
fn kinds_side_by_side() {
    let mut table =
        String::from("control   recovery  queue  timestamps  sizing    payload Mb/s  cwnd  promised  send buffer (means, in segments)\n");
    let (sack, rack) = (RecoveryKind::Sack, RecoveryKind::Rack);
    for (control, recovery, queue, timestamps) in [
        ("reno", sack, 100, true),
        ("reno", sack, 500, true),
        ("reno", sack, 500, false),
        ("cubic", sack, 500, true),
        ("scalable", sack, 100, true),
        // In its first second it loses a quarter of what it sends, and in front of 0.4 BDP some of that again: without RACK a lost
        // retransmission waits for the timer, and only a large buffer lets new data go on meanwhile.
        ("bbr", sack, 200, true),
        ("bbr", rack, 200, true),
    ] {
        for name in window_sizing::NAMES {
            let mut dumbbell = path(control, sizing(name, &[]), queue);
            (dumbbell.tcp.timestamps, dumbbell.tcp.recovery) = (timestamps, recovery);
            let trace = run(&dumbbell);
            let (cwnd, promised, buffer) =
                (mean(&trace, |s| s.cwnd), mean(&trace, |s| s.promised), mean(&trace, |s| s.send_buffer.min(1 << 30)));
            let rate = mbps(&trace);
            let recovery = format!("{recovery:?}").to_lowercase();
            writeln!(
                table,
                "{control:9} {recovery:8} {queue:6}  {timestamps:10}  {name:9} {rate:12.2}  {cwnd:4.0}  {promised:8.0}  {buffer:11.0}"
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn right_sizing_of_reno_costs_no_packet() {
    for queue in [100, 500] {
        let runs = ["static", "ideal", "drs"].map(|name| run(&path("reno", sizing(name, &[]), queue)));
        let what = |trace: &Trace| {
            let series: Vec<_> = trace.flow_series.iter().map(|s| (s.cwnd, s.in_flight, s.bytes_delivered)).collect();
            (trace.steps, trace.flows[0].total.segments_sent, trace.flows[0].total.packets_dropped, series)
        };
        assert!(what(&runs[0]) == what(&runs[1]), "ideal, queue {queue}");
        let (without, with) = (runs[0].flows[0].total.delivered, runs[2].flows[0].total.delivered);
        assert!(without.abs_diff(with) * 10_000 < without, "drs, queue {queue}: {with} of {without}");
    }
}

/// A queue that others fill makes the round trip longer. Without timestamps the receiver learns of it late, and takes what comes in the
/// shorter one for a smaller cwnd: but nothing was lost, so the window stays, and it is not left with a third of the link.
#[test]
fn right_sizing_holds_its_own_beside_a_static_window() {
    for timestamps in [true, false] {
        let tcp = TcpConfig { timestamps, ..path("reno", sizing("static", &[("maxwnd", Value::Capacity(Capacity::Packets(700)))]), 0).tcp };
        let (queue, duration) = (droptail(Capacity::Packets(5000)), Duration::from_secs(40));
        let dumbbell = Dumbbell { pairs: 2, tcp, queue, duration, ..path("reno", sizing("static", &[]), 0) };
        let mut experiment = dumbbell.experiment();
        Arc::make_mut(&mut experiment.flows[1].receiver).window_sizing =
            sizing("drs", &[("maxwnd", Value::Capacity(Capacity::Packets(700)))]);
        let flows = crate::run(&experiment).expect("it has routes").flows;
        let (other, sized) = (flows[0].total.delivered, flows[1].total.delivered);
        assert!(sized * 10 >= other * 9, "timestamps {timestamps}: {sized} beside {other}");
    }
}

#[test]
fn maxwnd_is_the_window_that_counts() {
    for name in ["static", "ideal", "drs"] {
        let trace = run(&path("reno", sizing(name, &[("maxwnd", Value::Capacity(Capacity::Packets(44)))]), 500));
        // 44 segments every 60 ms and what 1500 bytes take on three links: 8.5 Mb/s of payload, the static flow of the paper.
        assert!((8.3..8.5).contains(&mbps(&trace)), "{name}: {}", mbps(&trace));
        assert!(trace.flows[0].in_flight_max <= 44 * 1448, "{name}");
    }
}

#[test]
fn the_search_ends_where_the_path_is_full() {
    let trace = run(&Dumbbell { duration: Duration::from_secs(40), ..path("reno", sizing("search", &[]), 100) });
    let late: Vec<u64> = trace.flow_series.iter().filter(|s| s.time.as_secs_f64() > 20.0).map(|s| s.send_buffer / 1448).collect();
    // The pipe holds 500 packets; with 100 more the queue overflows.
    assert!(late.iter().all(|n| (440..=620).contains(n)), "{} to {}", late.iter().min().unwrap(), late.iter().max().unwrap());
    let (first, last) = (late.len() / 2, late.len() - 1);
    let series: Vec<FlowSample> = trace.flow_series.iter().filter(|s| s.time.as_secs_f64() > 20.0).collect();
    let bytes = series[last].bytes_delivered - series[first].bytes_delivered;
    let rate = bytes as f64 * 8e-6 / series[last].time.since(series[first].time).as_secs_f64();
    assert!(rate > 88.0, "{rate}");
}

#[test]
fn a_window_clipped_for_want_of_scaling_is_told() {
    let warnings = |name: &str, maxwnd: u64| {
        let mut dumbbell = path("reno", sizing(name, &[("maxwnd", Value::Capacity(Capacity::Packets(maxwnd)))]), 500);
        dumbbell.tcp.window_scale = false;
        dumbbell.duration = Duration::from_secs(1);
        let experiment = dumbbell.experiment();
        super::warnings(&experiment, &crate::run(&experiment).unwrap(), Some("window_not_scaled"))
    };
    let told = warnings("drs", 700);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("at most 65535 bytes, not the 1013600 of its window sizing"), "{told:?}");
    assert_eq!(warnings("drs", 44), Vec::<String>::new());
}

/// Weigle and Feng 2001 §IV-B call it slow-start restart: of a sender that always has data it changes nothing.
#[test]
fn a_sender_without_pauses_never_restarts() {
    let runs = [CwndValidation::Off, CwndValidation::Rfc5681].map(|cwnd_validation| {
        let window_sizing = sizing("ideal", &[("maxwnd", Value::Capacity(Capacity::Packets(650)))]);
        let trace = run(&Dumbbell {
            tcp: TcpConfig { window_sizing, ..tcp("reno-2001") }.with(|tcp| tcp.sending.cwnd_validation = cwnd_validation),
            ..path("reno", sizing("static", &[]), 100)
        });
        assert!(trace.flows[0].timeouts > 0, "it does go through timeouts");
        trace.flow_series
    });
    assert!(runs[0] == runs[1]);
}

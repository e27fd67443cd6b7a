//! Queues that keep the wait short, with the senders they are made for.

use std::sync::Arc;

use longfat_core::params::{Choice, Value};
use longfat_core::queue;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::Experiment;
use longfat_record::trace::Trace;
use longfat_tcp::{TcpConfig, congestion};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail, tcp};

/// TCP with this control and the ECN that it needs.
fn with(control: &'static str) -> TcpConfig {
    let kind = congestion::find(control).unwrap();
    TcpConfig { congestion_control: congestion::choice(control), ecn: kind.ecn.default, ..tcp("rfc") }
}

/// Two flows for each of `controls`, through `queue`, measured over the second half of `seconds`.
fn beside(controls: &[&'static str], queue: Choice, mbps: u64, rtt_ms: u64, seconds: u64) -> Experiment {
    let dumbbell = Dumbbell {
        pairs: 2 * controls.len(),
        rate: Rate::from_bps(mbps * 1_000_000),
        rtt: Duration::from_millis(rtt_ms),
        queue,
        duration: Duration::from_secs(seconds),
        stagger: Duration::from_millis(137),
        ..Dumbbell::default()
    };
    let mut experiment = dumbbell.experiment();
    for (flow, control) in experiment.flows.iter_mut().zip(controls.iter().cycle()) {
        flow.sender = Arc::new(with(control));
        flow.receiver = flow.sender.clone();
    }
    experiment.measure.warmup = Duration::from_secs(seconds / 2);
    experiment.measure.interval = Some(Duration::from_millis(100));
    experiment
}

/// Payload of each control in Mb/s over the second half, and the mean of its smoothed round trips in ms.
fn by_control(controls: &[&'static str], trace: &Trace) -> Vec<(f64, f64)> {
    let span = trace.span.1.since(trace.span.0).as_secs_f64();
    let of = |control: usize| {
        let flows: Vec<usize> = (0..trace.flows.len()).filter(|flow| flow % controls.len() == control).collect();
        let bytes = flows.iter().map(|f| trace.flows[*f].total.delivered - trace.flows[*f].at_warmup.delivered).sum::<u64>();
        let samples = trace.flow_series.iter().filter(|s| flows.contains(&(s.flow as usize)) && s.time > trace.span.0);
        let rtts: Vec<f64> = samples.map(|s| s.srtt_s * 1e3).collect();
        (bytes as f64 * 8e-6 / span, rtts.iter().sum::<f64>() / rtts.len() as f64)
    };
    (0..controls.len()).map(of).collect()
}

/// Two Reno and two CUBIC flows on 20 Mb/s and 40 ms: each queue keeps the wait near what it aims at, with the link busy.
#[test]
fn queues_keep_the_wait_near_their_targets() {
    let wait = |queue: Choice| {
        let trace = run(&beside(&["reno", "cubic"], queue, 20, 40, 60)).unwrap();
        let span = trace.span.1.since(trace.span.0).as_secs_f64();
        (trace.links[0].queue_mean_packets * 1500.0 * 8.0 / 20e6 * 1e3, trace.links[0].busy_s / span)
    };
    let (full, _) = wait(droptail(Capacity::Bdp(4.0)));
    for (name, range) in [("codel", 3.0..9.0), ("pie", 10.0..20.0), ("fq_codel", 3.0..12.0), ("cake", 3.0..12.0), ("dualpi2", 10.0..20.0)] {
        let (ms, busy) = wait(queue::choice(name));
        assert!(range.contains(&ms) && ms < 0.3 * full, "{name}: {ms} ms, beside {full} ms");
        assert!(busy > 0.93, "{name}: {busy}");
    }
}

/// RFC 9332 §2.1: the coupling gives flows of either kind about the same window; those of L4S without the classic wait.
#[test]
fn l4s_and_classic_windows_are_alike_and_only_classic_packets_wait() {
    for classic in ["reno", "cubic"] {
        let controls = ["prague", classic];
        let trace = run(&beside(&controls, queue::choice("dualpi2"), 100, 20, 60)).unwrap();
        let [(l4s, l4s_ms), (other, other_ms)] = by_control(&controls, &trace)[..] else { unreachable!() };
        let windows = l4s * l4s_ms / (other * other_ms);
        assert!(windows > 0.7 && windows < 1.4, "{classic}: {l4s} and {other} Mb/s, windows {windows}");
        assert!(l4s_ms < 22.0 && other_ms > 28.0, "{classic}: {l4s_ms} and {other_ms} ms");
        // L4S loses nothing, and is marked.
        assert!((0..4).step_by(2).all(|f| trace.flows[f].total.segments_retransmitted == 0));
        assert!(trace.links[0].busy_s > 0.97 * 30.0);
    }
}

/// RFC 8290 §1.3: a flow that sends less than its share waits for the packet in transmission (1.2 ms, and 0.03 ms for an ACK on the way back), and now and
/// then for one of a flow that is as new.
#[test]
fn a_sparse_flow_waits_for_one_packet() {
    let probe = |queue: Choice| {
        let mut experiment = beside(&["cubic"], queue, 10, 50, 60);
        experiment.flows[1].traffic = Traffic::ping(Duration::from_millis(97), 84);
        run(&experiment).unwrap().flows[1].clone()
    };
    // 84 bytes on 10 Mb/s are 67.2 us, on 1 Gb/s 0.672 us, each way.
    let alone_ms = 50.0 + 2.0 * (67.2e-3 + 2.0 * 0.672e-3);
    let fair = probe(queue::choice("fq_codel").with(&[("collisions", Value::Bool(false))]));
    assert!(fair.rtt.quantiles_s[2] * 1e3 < alone_ms + 1.2 + 0.05 && fair.rtt.max_s * 1e3 < alone_ms + 2.4 + 0.05, "{fair:?}");
    let codel = probe(queue::choice("codel"));
    assert!(codel.rtt.mean_s * 1e3 > alone_ms + 2.0, "{codel:?}");
}

/// Two equal flows of `prague` behind a slow `dualpi2` whose ramp begins at the time of two packets share it: neither a window nor a round trip
/// makes one of them send bursts that are marked for themselves.
#[test]
fn equal_l4s_flows_share_a_slow_link() {
    for (mbps, rtt, min_th) in [(4, 80, 6_000), (8, 80, 3_000), (10, 10, 2_400), (10, 80, 2_400), (20, 80, 800)] {
        let queue = queue::choice("dualpi2").with(&[("min_th", Value::Duration(Duration::from_micros(min_th)))]);
        let trace = run(&beside(&["prague"], queue, mbps, rtt, 60)).unwrap();
        let rates: Vec<f64> = trace.flows.iter().map(|flow| (flow.total.delivered - flow.at_warmup.delivered) as f64).collect();
        let (least, most) = (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
        assert!(most < 1.6 * least, "{mbps} Mb/s, {rtt} ms: {rates:?}");
    }
}

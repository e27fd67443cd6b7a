//! Claims of the paper of XCP (Katabi, Handley and Rohrs, SIGCOMM 2002), on its topologies. The flows on the way back are XCP's as well.

use std::sync::Arc;

use longfat_core::params::Value;
use longfat_core::queue;
use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;
use longfat_model::Experiment;
use longfat_model::dumbbell::{Dumbbell, tcp};
use longfat_record::trace::Trace;
use longfat_tcp::{DelayedAck, Pacing, TcpConfig, congestion};

use crate::run;

fn xcp(price: f64) -> TcpConfig {
    let congestion_control = congestion::choice("xcp").with(&[("price", Value::Number(price))]);
    // A window of one segment, as in 2002: a hundred flows of ten would fill the path at once.
    TcpConfig { congestion_control, initial_window: 1, ..tcp("rfc") }
}

/// `flows` flows over a bottleneck, for `seconds`, of which the second half counts.
fn path(mbps: u64, rtt_ms: u64, flows: usize, seconds: u64) -> Experiment {
    let mut experiment = Dumbbell {
        pairs: flows,
        rate: Rate::from_bps(mbps * 1_000_000),
        rtt: Duration::from_millis(rtt_ms),
        edge_rate: Rate::from_bps(10 * mbps.max(100) * 1_000_000),
        queue: queue::choice("xcp"),
        tcp: xcp(1.0),
        stagger: Duration::from_millis(7),
        duration: Duration::from_secs(seconds),
        ..Dumbbell::default()
    }
    .experiment();
    experiment.measure.warmup = Duration::from_secs(seconds / 2);
    experiment
}

/// Half of the flows go back.
fn both_ways(mut experiment: Experiment) -> Experiment {
    let half = experiment.flows.len() / 2;
    for flow in &mut experiment.flows[half..] {
        (flow.from, flow.to) = (flow.to, flow.from);
    }
    experiment
}

/// Share of the time that the bottleneck is busy, and its mean queue in ms; and the packets that it dropped.
fn of_link(trace: &Trace, seconds: u64, mbps: u64) -> (f64, f64, u64) {
    let link = &trace.links[0];
    let packet_ms = 1500.0 * 8.0 / (mbps as f64 * 1000.0);
    (link.busy_s / (seconds as f64 / 2.0), link.queue_mean_packets * packet_ms, dropped(trace))
}

/// Packets dropped from the start on.
fn dropped(trace: &Trace) -> u64 {
    trace.flows.iter().map(|flow| flow.total.packets_dropped).sum()
}

/// Payload of each flow in the measured half.
fn delivered(trace: &Trace) -> Vec<f64> {
    trace.flows.iter().map(|flow| (flow.total.delivered - flow.at_warmup.delivered) as f64).collect()
}

fn jain(shares: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (shares.iter().sum(), shares.iter().map(|share| share * share).sum());
    sum * sum / (shares.len() as f64 * squares)
}

/// Figures 4, 5 and 6: near full, whatever the capacity, the delay and the number of flows, with a small queue and without drops.
#[test]
fn the_link_is_full_and_the_queue_short_whatever_the_path() {
    let paths = [(10, 80, 10, 40), (155, 80, 50, 20), (622, 80, 10, 12), (45, 10, 10, 20), (45, 500, 10, 120), (45, 80, 100, 20)];
    for (mbps, rtt_ms, flows, seconds) in paths {
        let trace = run(&path(mbps, rtt_ms, flows, seconds)).unwrap();
        let (busy, queue_ms, drops) = of_link(&trace, seconds, mbps);
        let said = format!("{mbps} Mbit/s, {rtt_ms} ms, {flows} flows: {busy:.3} busy, {queue_ms:.2} ms of queue, {drops} drops");
        println!("{said}");
        // A path of 37 packets overflows once, when ten windows open at once: 21 packets of 74,000.
        let most = if rtt_ms < 40 { 50 } else { 0 };
        assert!(busy > 0.9 && queue_ms < 0.1 * rtt_ms as f64 && drops <= most, "{said}");
    }
}

/// The same with as many flows back. ACKs come in clumps behind data of the other direction, and let go clumps of data that no feedback
/// keeps apart: the queue is short and nothing is dropped only where flows are paced.
#[test]
fn the_link_is_in_use_with_traffic_both_ways() {
    for (name, delayed_ack, pacing) in
        [("", DelayedAck::Timer, Pacing::Off), ("each ACK", DelayedAck::Off, Pacing::Off), ("paced", DelayedAck::Timer, Pacing::On)]
    {
        let mut experiment = both_ways(path(45, 80, 20, 20));
        let mut tcp = TcpConfig { delayed_ack, ..xcp(1.0) };
        tcp.sending.pacing = pacing;
        let tcp = Arc::new(tcp);
        experiment.flows.iter_mut().for_each(|flow| (flow.sender, flow.receiver) = (tcp.clone(), tcp.clone()));
        let trace = run(&experiment).unwrap();
        let (busy, queue_ms, drops) = of_link(&trace, 20, 45);
        let (late, said) = (trace.links[0].packets_dropped_in_span, format!("{busy:.3} busy, {queue_ms:.2} ms of queue, {drops} drops"));
        println!("{name}: {said}, {late} of them in the second half");
        assert!(busy > 0.9, "{name}: {said}");
        assert!(pacing == Pacing::Off || (queue_ms < 8.0 && drops == 0), "{name}: {said}");
    }
}

/// Figure 8: 30 flows over 30 Mbit/s share alike, with equal round trips and with 40 to 330 ms.
#[test]
fn flows_share_alike_whatever_their_round_trips() {
    let equal = path(30, 40, 30, 60);
    let mut unequal = path(30, 40, 30, 120);
    for (n, flow) in unequal.flows.iter().enumerate() {
        let far = |link: &&mut longfat_model::Link| link.from == flow.from || link.to == flow.from;
        unequal.network.links.iter_mut().filter(far).for_each(|link| link.delay += Duration::from_millis(5 * n as u64));
    }
    for (name, experiment, least) in [("equal", equal, 0.99), ("unequal", unequal, 0.95)] {
        let trace = run(&experiment).unwrap();
        let shares = delivered(&trace);
        println!("{name}: Jain {:.4}, of {:?}", jain(&shares), trace.links[0].busy_s);
        assert!(jain(&shares) > least, "{name}: {shares:?}");
    }
}

/// Figure 10: five flows, two seconds apart, over 45 Mbit/s and 40 ms share alike soon after the last has come.
#[test]
fn flows_that_come_get_their_share_in_seconds() {
    let mut experiment = path(45, 40, 5, 12);
    experiment.flows.iter_mut().enumerate().for_each(|(n, flow)| flow.start = Duration::from_secs(2 * n as u64));
    experiment.measure.warmup = Duration::from_secs(10);
    let trace = run(&experiment).unwrap();
    let shares = delivered(&trace);
    println!("{:.4} of {shares:?}, {} drops", jain(&shares), dropped(&trace));
    assert!(jain(&shares) > 0.97 && dropped(&trace) == 0, "{shares:?}");
}

/// Figure 11: 100 flows join 10 at 4 s and leave at 8 s; nothing is dropped, and the link is used before, meanwhile and after.
#[test]
fn sudden_demand_is_absorbed() {
    let mut experiment = path(100, 40, 110, 12);
    for flow in &mut experiment.flows[10..] {
        (flow.start, flow.stop) = (Duration::from_secs(4), Some(Duration::from_secs(8)));
    }
    let busy = |from: u64, until: u64| {
        let mut part = experiment.clone();
        (part.measure.warmup, part.measure.duration) = (Duration::from_secs(from), Duration::from_secs(until));
        let trace = run(&part).unwrap();
        (trace.links[0].busy_s / (until - from) as f64, dropped(&trace), trace.links[0].queue_max_packets)
    };
    for (from, until) in [(2, 4), (5, 8), (9, 12)] {
        let (busy, drops, most) = busy(from, until);
        println!("{from} to {until} s: {busy:.3}, {drops} drops, {most} packets at most");
        assert!(busy > 0.9 && drops == 0, "{from} to {until} s: {busy}, {drops} drops, {most} packets at most");
    }
}

/// Figure 12: flows that pay 5, 10 and 15 share 10 Mbit/s in these proportions.
#[test]
fn flows_share_by_their_prices() {
    let mut experiment = path(10, 40, 3, 40);
    for (flow, price) in experiment.flows.iter_mut().zip([5.0, 10.0, 15.0]) {
        flow.sender = Arc::new(xcp(price));
    }
    let shares = delivered(&run(&experiment).unwrap());
    let sum: f64 = shares.iter().sum();
    println!("{:?}", shares.iter().map(|share| share / sum).collect::<Vec<_>>());
    assert!(shares.iter().zip([1.0, 2.0, 3.0]).all(|(share, part)| (share / sum * 6.0 / part - 1.0).abs() < 0.1), "{shares:?}");
}

/// Section 5.2: where more flows come than there are packets in the path, XCP approaches the dropping policy beneath it.
#[test]
fn more_flows_than_packets_are_dropped_by_the_queue() {
    let trace = run(&path(5, 20, 40, 20)).unwrap();
    let (busy, _, drops) = of_link(&trace, 20, 5);
    assert!(busy > 0.85 && drops > 0, "{busy}, {drops}");
}

/// Datagrams beside it have no header: the flow takes what they leave.
#[test]
fn a_flow_takes_what_datagrams_leave() {
    let mut experiment = path(50, 40, 2, 20);
    experiment.flows[1].traffic = Traffic::udp(Rate::from_bps(20_000_000), 1500);
    let trace = run(&experiment).unwrap();
    let rate = delivered(&trace)[0] * 8.0 / 10.0 / 1e6;
    assert_eq!(dropped(&trace), 0);
    assert!((26.0..29.0).contains(&rate), "of 30 Mbit/s that the datagrams leave, {rate}");
}

//! Whole runs of the controls that look at delays: what each keeps in the queue, and how it shares.

use std::sync::Arc;

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::Duration;
use longfat_core::units::{Capacity, Rate};
use longfat_record::trace::Trace;
use longfat_tcp::{DelayedAck, TcpConfig, congestion};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail, tcp};

/// TCP with the control called `name`.
fn control(name: &str, params: &[(&'static str, Value)]) -> TcpConfig {
    let mut choice = congestion::choice(name);
    for (name, value) in params {
        choice.params.set(name, *value);
    }
    TcpConfig { congestion_control: choice, ..tcp("rfc") }
}

/// Runs one flow per control over `mbps` Mb/s, a queue of `queue` packets and 40 ms; the second half of 40 s is measured.
fn run_of(mbps: u64, queue: u64, controls: &[TcpConfig]) -> Trace {
    let mut experiment = Dumbbell {
        pairs: controls.len(),
        rate: Rate::from_bps(mbps * 1_000_000),
        rtt: Duration::from_millis(40),
        queue: droptail(Capacity::Packets(queue)),
        duration: Duration::from_secs(40),
        ..Dumbbell::default()
    }
    .experiment();
    // A delayed ACK always answers two segments of which the second waited for the first, so that the least round trip would
    // be of a path with a packet in it.
    for flow in &mut experiment.flows {
        Arc::make_mut(&mut flow.receiver).delayed_ack = DelayedAck::Off;
    }
    for (flow, tcp) in experiment.flows.iter_mut().zip(controls) {
        flow.sender = tcp.clone().into();
    }
    experiment.measure.warmup = Duration::from_secs(20);
    run(&experiment).unwrap()
}

/// Returns the payload of each flow in the measured half, as a share of the link's maximum (1448 of 1500 bytes are payload).
fn shares(trace: &Trace, mbps: u64) -> Vec<f64> {
    let all = mbps as f64 * 1e6 / 8.0 * 20.0 * 1448.0 / 1500.0;
    trace.flows.iter().map(|flow| (flow.total.delivered - flow.at_warmup.delivered) as f64 / all).collect()
}

#[test]
fn vegas_keeps_alpha_to_beta_packets_in_the_queue() {
    for (alpha, beta) in [(2.0, 4.0), (8.0, 12.0)] {
        let vegas = control("vegas", &[("alpha", Value::Number(alpha)), ("beta", Value::Number(beta))]);
        let trace = run_of(20, 200, &[vegas]);
        let queue = trace.links[0].queue_mean_packets;
        assert!((alpha..=beta).contains(&queue), "{queue}");
        assert!(shares(&trace, 20)[0] > 0.99);
        assert_eq!(trace.flows[0].total.segments_retransmitted, 0);
    }
}

#[test]
fn fast_keeps_alpha_packets_in_the_queue() {
    for alpha in [30, 100] {
        let trace = run_of(100, 1000, &[control("fast", &[("alpha", Value::Count(alpha))])]);
        let queue = trace.links[0].queue_mean_packets;
        assert!((queue / alpha as f64 - 1.0).abs() < 0.1, "{queue}");
        assert!(shares(&trace, 100)[0] > 0.99);
        assert_eq!(trace.flows[0].total.segments_retransmitted, 0);
    }
}

#[test]
fn fast_comes_back_after_a_loss_without_another() {
    // A queue of twice alpha, a sixth of the path: what grows by half at once overruns it, again and again.
    let lost = |multiplicative: bool| {
        let fast = control("fast", &[("alpha", Value::Count(50)), ("multiplicative", Value::Bool(multiplicative))]);
        let mut experiment = Dumbbell {
            rate: Rate::from_bps(100_000_000),
            rtt: Duration::from_millis(80),
            queue: droptail(Capacity::Packets(100)),
            tcp: TcpConfig { initial_ssthresh: 250_000, ..fast },
            loss: loss::choice("periodic").with(&[("period", Value::Count(20_000)), ("offset", Value::Count(19_999))]),
            duration: Duration::from_secs(60),
            ..Dumbbell::default()
        }
        .experiment();
        Arc::make_mut(&mut experiment.flows[0].receiver).delayed_ack = DelayedAck::Off;
        let flow = &run(&experiment).unwrap().flows[0];
        (flow.total.segments_retransmitted, flow.total.delivered)
    };
    let (linear, multiplicative) = (lost(false), lost(true));
    println!("{linear:?} {multiplicative:?}");
    assert!(linear.0 < 50, "{linear:?}");
    assert!(multiplicative.0 > 10 * linear.0, "{multiplicative:?}");
}

#[test]
fn two_fast_flows_share_evenly() {
    let fast = control("fast", &[("alpha", Value::Count(50))]);
    let trace = run_of(100, 1000, &[fast.clone(), fast]);
    let shares = shares(&trace, 100);
    assert!((shares[0] / shares[1] - 1.0).abs() < 0.1, "{shares:?}");
    assert!(shares[0] + shares[1] > 0.99);
}

#[test]
fn tcp_lp_yields_to_reno_and_has_nearly_all_of_the_link_alone() {
    let lp = control("tcp_lp", &[]);
    // A queue of 2.4 BDP.
    let alone = run_of(20, 160, std::slice::from_ref(&lp));
    let beside = run_of(20, 160, &[control("reno", &[]), lp]);
    let (alone, beside) = (shares(&alone, 20), shares(&beside, 20));
    assert!(alone[0] > 0.9, "{alone:?}");
    assert!(beside[1] < 0.25 * beside[0], "{beside:?}");
}

#[test]
fn hstcp_lp_yields_to_reno_and_has_nearly_all_of_a_fat_path_alone() {
    let alone = shares(&run_of(400, 1300, &[control("hstcp_lp", &[])]), 400);
    assert!(alone[0] > 0.9, "{alone:?}");
    let beside = shares(&run_of(100, 800, &[control("reno", &[]), control("hstcp_lp", &[])]), 100);
    assert!(beside[1] < 0.25 * beside[0], "{beside:?}");
}

#[test]
fn a_receiver_that_delays_acks_is_not_taken_for_a_queue() {
    // No loss shows these flows the whole queue, so that early congestion is little delay; a reduction leaves a gap, in which the
    // receiver keeps an ACK back.
    for name in ["tcp_lp", "hstcp_lp"] {
        let tcp = TcpConfig { initial_ssthresh: 5_000_000, send_buffer: 9_000_000, ..control(name, &[]) };
        let dumbbell = Dumbbell {
            rate: Rate::from_bps(622_000_000),
            rtt: Duration::from_millis(70),
            queue: droptail(Capacity::Packets(3600)),
            tcp,
            ..Dumbbell::default()
        };
        let delivered = run(&dumbbell.experiment()).unwrap().flows[0].total.delivered;
        assert!(delivered as f64 * 8.0 > 0.4 * 622e6 * 10.0, "{name}: {delivered}");
    }
}

/// Two equal low-priority flows and, from right to left, as many Reno flows as wanted; receivers delay ACKs, timestamps tick every
/// `tick`. Their shares.
fn low_priority_pair(name: &str, tick: u64, back: usize) -> Vec<f64> {
    let tcp = control(name, &[]).with(|tcp| tcp.timers.timestamp_tick = Duration::from_millis(tick));
    let dumbbell = Dumbbell {
        pairs: 2 + back,
        rate: Rate::from_bps(100_000_000),
        rtt: Duration::from_millis(40),
        queue: droptail(Capacity::Packets(320)),
        duration: Duration::from_secs(60),
        tcp,
        ..Dumbbell::default()
    };
    let mut experiment = dumbbell.experiment();
    for flow in &mut experiment.flows[2..] {
        (flow.from, flow.to, flow.sender) = (flow.to, flow.from, control("reno", &[]).into());
    }
    let trace = run(&experiment).unwrap();
    trace.flows[..2].iter().map(|flow| flow.total.delivered as f64 * 8.0 / 60.0 / 100e6).collect()
}

#[test]
fn equal_low_priority_flows_share_whatever_the_clock() {
    for (name, tick) in [("tcp_lp", 1), ("tcp_lp", 10), ("hstcp_lp", 1), ("hstcp_lp", 10)] {
        let shares = low_priority_pair(name, tick, 0);
        let (a, b) = (shares[0], shares[1]);
        let jain = (a + b) * (a + b) / 2.0 / (a * a + b * b);
        assert!(jain > 0.8, "{name}, {tick} ms: {shares:?}");
        assert!(shares[0] + shares[1] > 0.75, "{name}, {tick} ms: {shares:?}");
    }
}

#[test]
fn low_priority_flows_live_beside_reverse_traffic() {
    // Compressed ACKs let out bursts, whose queue is a real one: they do not have what Reno has here, three quarters of the link.
    for (name, tick) in [("tcp_lp", 1), ("tcp_lp", 10), ("hstcp_lp", 1), ("hstcp_lp", 10)] {
        let shares = low_priority_pair(name, tick, 4);
        assert!(shares[0].min(shares[1]) > 0.08, "{name}, {tick} ms: {shares:?}");
    }
}

#[test]
fn yeah_empties_the_queue_before_it_overflows() {
    // 80 packets are 9.6 ms here and an eighth of the round trip is 5 ms: above that it is Reno up to 80, then it lets go.
    let trace = run_of(100, 400, &[control("yeah", &[])]);
    let queue = trace.links[0].queue_mean_packets;
    assert!(shares(&trace, 100)[0] > 0.99);
    assert!((20.0..80.0).contains(&queue), "{queue}");
}

#[test]
fn compound_is_faster_than_reno_on_a_bad_line_and_fair_to_it_on_a_full_one() {
    let run = |name: &str| {
        let loss = loss::choice("bernoulli").with(&[("probability", Value::Number(1e-4))]);
        let dumbbell = Dumbbell {
            rate: Rate::from_bps(200_000_000),
            rtt: Duration::from_millis(100),
            loss,
            tcp: control(name, &[]),
            duration: Duration::from_secs(60),
            ..Dumbbell::default()
        };
        run(&dumbbell.experiment()).unwrap().flows[0].total.delivered as f64
    };
    let (reno, compound) = (run("reno"), run("compound"));
    assert!(compound > 1.5 * reno, "{compound} {reno}");
    let shares = shares(&run_of(100, 330, &[control("reno", &[]), control("compound", &[])]), 100);
    assert!(shares[0] > 0.4 && shares[0] + shares[1] > 0.98, "{shares:?}");
}

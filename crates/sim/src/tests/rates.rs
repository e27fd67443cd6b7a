//! Controls that model the path, in whole dumbbells: what BBR promises, and what pacing does.

use std::sync::Arc;

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::{Duration, Time};
use longfat_core::units::{Capacity, Rate};
use longfat_record::trace::Trace;
use longfat_tcp::{Pacing, RecoveryKind, TcpConfig, congestion, stack};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

const RATE_BASED: [&str; 2] = ["bbr", "bbr3"];

fn dumbbell(control: &str, pairs: usize, mbps: u64, rtt_ms: u64, seconds: u64) -> Dumbbell {
    let plain = Dumbbell::default();
    Dumbbell {
        pairs,
        rate: Rate::from_bps(mbps * 1_000_000),
        rtt: Duration::from_millis(rtt_ms),
        duration: Duration::from_secs(seconds),
        tcp: TcpConfig { congestion_control: congestion::choice(control), ..plain.tcp },
        ..plain
    }
}

/// A run whose first `warmup` seconds do not count, sampled ten times a second.
fn measured(dumbbell: &Dumbbell, warmup: u64) -> Trace {
    let mut experiment = dumbbell.experiment();
    experiment.measure.warmup = Duration::from_secs(warmup);
    experiment.measure.interval = Some(Duration::from_millis(100));
    run(&experiment).unwrap()
}

/// Payload delivered in the measured span, as a share of what the bottleneck could have carried.
fn share(trace: &Trace, flow: usize, rate: Rate) -> f64 {
    let flow = &trace.flows[flow];
    let bytes = flow.total.delivered - flow.at_warmup.delivered;
    let seconds = trace.span.1.since(trace.span.0).as_secs_f64();
    bytes as f64 * 8.0 / (rate.as_bps() as f64 * 1448.0 / 1500.0 * seconds)
}

#[test]
fn one_flow_fills_a_deep_buffer_s_link_and_leaves_the_buffer_alone() {
    let deep = |control| Dumbbell { queue: droptail(Capacity::Bdp(8.0)), ..dumbbell(control, 1, 100, 40, 40) };
    let cubic = measured(&deep("cubic"), 5);
    for control in RATE_BASED {
        let trace = measured(&deep(control), 5);
        let share = share(&trace, 0, deep(control).rate);
        assert!(share > 0.9, "{control} gets {share}");
        let (queue, of_cubic) = (trace.links[0].queue_mean_packets, cubic.links[0].queue_mean_packets);
        assert!(queue < of_cubic / 10.0, "{control} keeps {queue} packets in the queue, cubic {of_cubic}");
        assert_eq!(trace.flows[0].total.retransmitted, 0, "{control}");
    }
}

/// Spans in which cwnd is at most `most` bytes, as (from, until) in seconds.
fn low(trace: &Trace, most: u64) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut was_low = false;
    for sample in trace.flow_series.iter() {
        let (at, is_low) = (sample.time.as_secs_f64(), sample.cwnd <= most);
        match spans.last_mut() {
            Some(span) if is_low && was_low => span.1 = at,
            _ if is_low => spans.push((at, at)),
            _ => {}
        }
        was_low = is_low;
    }
    spans
}

#[test]
fn probe_rtt_comes_every_ten_seconds_and_in_version_3_every_five() {
    for (control, segments, period) in [("bbr", 4, 10.0), ("bbr3", 190, 5.0)] {
        // 345 segments of BDP: version 3 halves it, version 1 goes to four segments.
        let trace = measured(&dumbbell(control, 1, 100, 40, 60), 2);
        let spans: Vec<_> = low(&trace, segments * 1448).into_iter().filter(|(from, _)| *from > 2.0).collect();
        assert!(spans.len() as f64 >= 55.0 / period - 1.0, "{control}: {spans:?}");
        for (from, until) in &spans {
            assert!(until - from <= 0.4, "{control}: {spans:?}");
        }
        for pair in spans.windows(2) {
            let gap = pair[1].0 - pair[0].0;
            assert!((period - 0.2..period + 1.0).contains(&gap), "{control}: {spans:?}");
        }
    }
}

#[test]
fn random_losses_of_one_percent_cost_little() {
    let lossy = |control| Dumbbell {
        loss: loss::choice("bernoulli").with(&[("probability", Value::Number(0.01))]),
        queue: droptail(Capacity::Bdp(2.0)),
        ..dumbbell(control, 1, 100, 40, 40)
    };
    let shares = |control, recovery| {
        (1..=6).map(move |seed| {
            let mut experiment = lossy(control).experiment();
            Arc::make_mut(&mut experiment.flows[0].sender).recovery = recovery;
            (experiment.seed, experiment.measure.warmup) = (seed, Duration::from_secs(5));
            share(&run(&experiment).unwrap(), 0, lossy(control).rate)
        })
    };
    // A retransmission that is lost is a timeout without RACK. One in a probe of version 3 takes all that is in flight for lost, and
    // the long-term bound with it (draft §5.5.10.2), so that a run depends on where the losses fall: the mean of six.
    let mean = |control| shares(control, RecoveryKind::Sack).sum::<f64>() / 6.0;
    // Version 3 gives way by what is lost, round by round, until it probes again after 2 to 3 s: 0.99^n over up to 62 rounds of
    // 40 ms (the draft's own model, §5.3.3.8.3).
    for (control, least) in [("bbr", 0.8), ("bbr3", 0.7)] {
        let share = mean(control);
        assert!(share > least, "{control} gets {share}");
    }
    for share in shares("bbr3", RecoveryKind::Rack) {
        assert!(share > 0.7, "bbr3 with RACK gets {share}");
    }
    let reno = mean("reno");
    assert!(reno < 0.1, "a window-based control gets {reno}");
}

/// Cardwell and others 2016, figure 8: 100 Mb/s, 100 ms, 60 s. What is lost is lost: 1 - p of the link is the most there is.
#[test]
fn version_1_keeps_its_rate_under_heavy_random_losses() {
    for (p, least) in [(0.05, 0.8), (0.15, 0.6)] {
        let lossy =
            Dumbbell { loss: loss::choice("bernoulli").with(&[("probability", Value::Number(p))]), ..dumbbell("bbr", 1, 100, 100, 60) };
        for seed in 1..=2 {
            let mut experiment = lossy.experiment();
            // Lost retransmissions, timers and undo as in today's stacks.
            let linux = TcpConfig::new(&stack::named("linux").params(), 1500);
            *Arc::make_mut(&mut experiment.flows[0].sender) = TcpConfig { congestion_control: congestion::choice("bbr"), ..linux };
            (experiment.seed, experiment.measure.warmup) = (seed, Duration::from_secs(10));
            let share = share(&run(&experiment).unwrap(), 0, lossy.rate);
            assert!((least..1.0 - p).contains(&share), "{share} at {p}, seed {seed}");
        }
    }
}

#[test]
fn two_flows_of_version_3_share() {
    let two = dumbbell("bbr3", 2, 100, 40, 120);
    let mut experiment = two.experiment();
    experiment.flows[1].start = Duration::from_secs(5);
    experiment.measure.warmup = Duration::from_secs(40);
    let trace = run(&experiment).unwrap();
    let (a, b) = (share(&trace, 0, two.rate), share(&trace, 1, two.rate));
    assert!(a + b > 0.9, "{a} and {b}");
    assert!((a - b).abs() < 0.2 * (a + b) / 2.0, "{a} and {b}");
}

#[test]
fn a_paced_window_needs_less_of_a_queue_and_grows_as_fast() {
    // A path that cwnd never fills: 64 segments of buffer in front of twice the rate of the window's bursts.
    let run = |pacing| {
        let plain = dumbbell("reno", 1, 50, 100, 20);
        let tcp = TcpConfig { initial_ssthresh: 100 * 1448, ..plain.tcp.clone() }.with(|tcp| tcp.sending.pacing = pacing);
        let trace = measured(&Dumbbell { tcp, queue: droptail(Capacity::Bdp(1.0)), ..plain }, 0);
        let cwnd = |seconds: u64| {
            let at = Time::ZERO + Duration::from_secs(seconds);
            trace.flow_series.iter().find(|s| s.time >= at).unwrap().cwnd / 1448
        };
        ([cwnd(2), cwnd(5), cwnd(15)], trace.links[0].queue_max_packets)
    };
    let ((bursts, queue), (paced, queue_paced)) = (run(Pacing::Off), run(Pacing::On));
    assert!(queue_paced * 3 < queue, "{queue_paced} of {queue}");
    for (paced, bursts) in paced.iter().zip(bursts) {
        assert!(paced.abs_diff(bursts) <= 2 + bursts / 20, "{paced} and {bursts} segments of cwnd");
    }
}

#[test]
fn without_pacing_bbr_is_let_loose_in_bursts() {
    let small = |pacing| {
        let plain = dumbbell("bbr", 1, 100, 40, 20);
        Dumbbell { tcp: plain.tcp.with(|tcp| tcp.sending.pacing = pacing), queue: droptail(Capacity::Bdp(4.0)), ..plain }
    };
    let queue = |pacing| measured(&small(pacing), 5).links[0].queue_mean_packets;
    assert!(queue(Pacing::Off) > 3.0 * queue(Pacing::Auto), "off {}, auto {}", queue(Pacing::Off), queue(Pacing::Auto));
}

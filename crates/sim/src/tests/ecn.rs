//! Controls that count marks, on a step marker (RFC 8257 §3.1): their aim is a short queue on a busy link.

use std::sync::Arc;

use longfat_core::params::{Choice, Value};
use longfat_core::queue;
use longfat_core::time::Duration;
use longfat_core::units::{Capacity, Rate};
use longfat_record::trace::Trace;
use longfat_tcp::ecn::EcnKind;
use longfat_tcp::{TcpConfig, congestion};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, tcp};

/// The step marker with these parameters, and room for far more.
fn step(name: &'static str, value: Value) -> Choice {
    queue::choice("step").with(&[("limit", Value::Capacity(Capacity::Packets(2_000))), (name, value)])
}

/// TCP with this control and the ECN that it needs.
fn with(control: &'static str) -> TcpConfig {
    let kind = congestion::find(control).unwrap();
    TcpConfig { congestion_control: congestion::choice(control), ecn: kind.ecn.default, ..tcp("rfc") }
}

/// The share of the link's time in use, the queue in packets (mean and largest), and the payload rates of the flows in Mb/s, over the
/// second half.
fn second_half(dumbbell: &Dumbbell) -> (f64, f64, u64, Vec<f64>, Trace) {
    let mut experiment = dumbbell.experiment();
    experiment.measure.warmup = Duration::from_ps(dumbbell.duration.as_ps() / 2);
    let trace = run(&experiment).unwrap();
    let span = trace.span.1.since(trace.span.0).as_secs_f64();
    let link = &trace.links[0];
    let rates = trace.flows.iter().map(|f| (f.total.delivered - f.at_warmup.delivered) as f64 * 8e-6 / span).collect();
    (link.busy_s / span, link.queue_mean_packets, link.queue_max_packets, rates, trace)
}

fn jain(rates: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|r| r * r).sum());
    sum * sum / (rates.len() as f64 * squares)
}

/// 100 Mb/s and 4 ms are 33 packets; K = 20 is well over 17 % of that.
fn short(control: &'static str, ecn: EcnKind, seconds: u64) -> Dumbbell {
    Dumbbell {
        pairs: 2,
        rate: Rate::from_bps(100_000_000),
        rtt: Duration::from_millis(4),
        queue: step("threshold", Value::Capacity(Capacity::Packets(20))),
        tcp: TcpConfig { ecn, ..with(control) },
        duration: Duration::from_secs(seconds),
        ..Dumbbell::default()
    }
}

#[test]
fn two_dctcp_flows_hold_the_queue_near_the_threshold_and_the_link_busy() {
    for ecn in [EcnKind::Dctcp, EcnKind::AccEcn] {
        let (busy, mean, _, rates, trace) = second_half(&short("dctcp", ecn, 20));
        assert!(busy > 0.995, "{ecn:?}: busy {busy}");
        assert!((16.0..22.0).contains(&mean), "{ecn:?}: {mean} packets");
        assert!(jain(&rates) > 0.98, "{ecn:?}: {rates:?}");
        // Only slow start is far over the threshold, and not far enough for a loss.
        assert!(trace.flows.iter().all(|f| f.total.segments_retransmitted == 0), "{ecn:?}");
    }
}

#[test]
fn a_control_that_halves_cannot_do_that() {
    let (busy, mean, _, _, _) = second_half(&short("reno", EcnKind::Classic, 20));
    // Half of a window of 26 packets does not fill a path of 33 for two: the link falls idle after each mark.
    assert!(mean < 15.0, "{mean}");
    let (dctcp, ..) = second_half(&short("dctcp", EcnKind::Dctcp, 20));
    assert!(busy < dctcp, "{busy} {dctcp}");
}

#[test]
fn two_prague_flows_share_evenly_and_keep_the_queue_short() {
    // 1 ms of queue at 100 Mb/s is 8.3 packets; the path holds 83.
    let dumbbell = Dumbbell {
        rtt: Duration::from_millis(10),
        queue: step("delay", Value::Duration(Duration::from_millis(1))),
        ..short("prague", EcnKind::AccEcn, 40)
    };
    let (busy, mean, _, rates, trace) = second_half(&dumbbell);
    assert!(busy > 0.97, "busy {busy}");
    assert!(mean < 10.0, "{mean} packets");
    assert!(jain(&rates) > 0.98, "{rates:?}");
    assert!(trace.flows.iter().all(|f| f.total.segments_retransmitted == 0));
}

/// Round trips of 5 and 20 ms: with the virtual round trip both grow alike; without, the short one takes what it can.
#[test]
fn prague_depends_less_on_the_round_trip() {
    let ratio = |least: Duration| {
        let mut dumbbell =
            Dumbbell { queue: step("delay", Value::Duration(Duration::from_millis(1))), ..short("prague", EcnKind::AccEcn, 60) };
        dumbbell.rtt = Duration::from_millis(5);
        let params = &mut dumbbell.tcp.congestion_control.params;
        params.set("rtt_virt_min", Value::Duration(least));
        let mut experiment = dumbbell.experiment();
        experiment.measure.warmup = Duration::from_secs(30);
        for link in experiment.network.links.iter_mut().filter(|l| l.name.starts_with("receiver2")) {
            link.delay += Duration::from_micros(7_500);
        }
        let trace = run(&experiment).unwrap();
        let rate = |i: usize| (trace.flows[i].total.delivered - trace.flows[i].at_warmup.delivered) as f64;
        rate(0) / rate(1)
    };
    let (with, without) = (ratio(Duration::from_millis(25)), ratio(Duration::ZERO));
    assert!(with < 1.5 && without > 1.7 && without > 1.3 * with, "{with} {without}");
}

/// Prague behaves as Reno with classic ECN where the other side gives classic feedback only (RFC 9331 §4.3).
#[test]
fn prague_falls_back_where_feedback_is_classic() {
    let mut experiment = short("prague", EcnKind::AccEcn, 10).experiment();
    for flow in &mut experiment.flows {
        Arc::make_mut(&mut flow.receiver).ecn = EcnKind::Classic;
    }
    experiment.measure.warmup = Duration::from_secs(5);
    let trace = run(&experiment).unwrap();
    let reno = run(&short("reno", EcnKind::Classic, 10).experiment()).unwrap();
    let share = |trace: &Trace| trace.links[0].busy_s / trace.span.1.since(trace.span.0).as_secs_f64();
    assert!((share(&trace) - share(&reno)).abs() < 0.06, "{} {}", share(&trace), share(&reno));
    assert!(trace.links[0].queue_mean_packets < 20.0, "{}", trace.links[0].queue_mean_packets);
    assert!(trace.flows.iter().all(|f| f.total.segments_retransmitted == 0));
}

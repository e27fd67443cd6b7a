//! Ends of runs and their flows, and messages about experiments that cannot run, or do not run as asked.

use std::sync::Arc;

use longfat_core::link::loss;
use longfat_core::params::Value;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;
use longfat_model::{Experiment, Node, NodeKind};
use longfat_record::trace::EventKind;

use super::runs::volumes;
use super::warnings;
use crate::{Error, run, run_with};
use longfat_model::dumbbell::{Dumbbell, tcp};

#[test]
fn a_flow_that_nothing_answers_is_given_up() {
    let loss = loss::choice("bernoulli").with(&[("probability", Value::Number(1.0))]);
    let cut = Dumbbell { loss, tcp: tcp("linux"), duration: Duration::from_secs(10_000), ..volumes(1) };
    let mut experiment = cut.experiment();
    experiment.measure.events = true;
    let trace = run(&experiment).unwrap();
    // tcp_syn_retries = 6, tcp_syn_linear_timeouts = 4 (ip-sysctl: 131 s).
    let at = Time::ZERO + Duration::from_secs(131);
    assert_eq!((trace.flows[0].gave_up, trace.flows[0].established), (Some(at), None));
    let ends: Vec<Time> = trace.events.iter().filter(|event| event.kind == EventKind::GaveUp).map(|event| event.time).collect();
    assert_eq!(ends, [at]);
    assert_eq!(warnings(&experiment, &trace, Some("gave_up")), ["flow forward was given up at 131 s: nothing answered its SYN"]);
    // A flow without the limit continues for ever.
    let patient = run(&Dumbbell { tcp: tcp("rfc"), ..cut }.experiment()).unwrap();
    assert_eq!(patient.flows[0].gave_up, None);
    assert!(patient.steps > 2 * trace.steps);
}

#[test]
fn a_background_flow_does_not_hold_the_run_up_and_an_unfinished_one_is_named() {
    let mut experiment = volumes(2).experiment();
    experiment.flows[1].traffic = Traffic::bulk();
    let trace = run(&experiment).unwrap();
    assert_eq!(trace.flows[0].total.delivered, 2_000_000);
    assert_eq!(Some(trace.end), trace.flows[0].acked_all);
    assert_eq!(Some(trace.span.1), trace.flows[0].delivered_all);
    assert!(trace.flows[1].delivered_all.is_none());
    assert_eq!(warnings(&experiment, &trace, None), Vec::<String>::new());

    experiment.measure.duration = Duration::from_secs(1);
    let trace = run(&experiment).unwrap();
    assert_eq!((trace.end, trace.flows[0].delivered_all), (Time::from_ps(1_000_000_000_000), None));
    let told = warnings(&experiment, &trace, Some("unfinished"));
    assert!(told[0].starts_with("flow forward 1 did not finish: "), "{told:?}");
}

#[test]
fn a_flow_that_stops_closes_and_the_run_goes_on() {
    let mut experiment = Dumbbell { pairs: 2, duration: Duration::from_secs(20), ..Dumbbell::default() }.experiment();
    experiment.flows[1].stop = Some(Duration::from_secs(10));
    experiment.measure.interval = Some(Duration::from_secs(5));
    let trace = run(&experiment).unwrap();
    assert_eq!(trace.end, Time::from_ps(20_000_000_000_000));
    // Data in flight when the flow stopped, a window and a queue, is still delivered; then comes the FIN.
    let done = trace.flows[1].delivered_all.unwrap().as_secs_f64();
    assert!((10.0..10.2).contains(&done), "{done}");
    assert_eq!(trace.flows[1].total.delivered, trace.flows[1].total.sent - trace.flows[1].total.retransmitted);
    assert_eq!(trace.flows[0].delivered_all, None);
    let at = |flow: usize, index: usize| trace.flow_series.iter().nth(index * 2 + flow).unwrap().bytes_delivered;
    assert_eq!(at(1, 4), at(1, 3), "it sends nothing in the last 5 s");
    let last = (at(0, 4) - at(0, 3)) as f64 * 8.0 / 5.0;
    assert!(last > 0.9e7, "the other flow has the link to itself: {last}");
    assert_eq!(warnings(&experiment, &trace, Some("unfinished")), Vec::<String>::new());
}

#[test]
fn a_run_can_be_cancelled() {
    // The run may also stop for a sample every few steps.
    for interval in [None, Some(Duration::from_micros(100))] {
        let mut experiment = Dumbbell { rate: Rate::from_bps(100_000_000), ..Dumbbell::default() }.experiment();
        experiment.measure.interval = interval;
        let mut calls = Vec::new();
        let result = run_with(&experiment, None, &mut |progress| {
            calls.push(progress.now());
            calls.len() < 3
        });
        assert_eq!(result, Err(Error::Cancelled { at: calls[2] }));
        assert!(calls.is_sorted() && calls[2] < Time::from_ps(10_000_000_000_000));
    }
}

#[test]
fn a_window_under_one_segment_is_warned_of() {
    let mut experiment = volumes(1).experiment();
    let mss = u64::from(experiment.flows[0].sender.mss);
    Arc::make_mut(&mut experiment.flows[0].receiver).receive_buffer = mss;
    let told = |experiment: &Experiment| warnings(experiment, &run(experiment).unwrap(), Some("window_below_a_segment"));
    assert_eq!(told(&experiment), Vec::<String>::new(), "one segment is enough");
    Arc::make_mut(&mut experiment.flows[0].receiver).receive_buffer = mss - 1;
    let small = told(&experiment);
    assert!(small[0].contains(&format!("{} bytes is less than one segment of {mss}", mss - 1)), "{small:?}");
    Arc::make_mut(&mut experiment.flows[0].receiver).receive_buffer = 1 << 20;
    Arc::make_mut(&mut experiment.flows[0].sender).send_buffer = 1000;
    assert!(told(&experiment)[0].contains("its window of 1000 bytes"));
}

#[test]
fn a_window_without_scaling_is_warned_of() {
    let mut experiment = volumes(1).experiment();
    Arc::make_mut(&mut experiment.flows[0].sender).window_scale = false;
    let trace = run(&experiment).unwrap();
    let told = warnings(&experiment, &trace, Some("window_not_scaled"));
    assert!(told[0].contains("without window scaling"), "{told:?}");
    assert!(trace.flows[0].in_flight_max <= 65_535);
}

#[test]
fn a_flow_without_a_path_is_an_error_that_names_it() {
    let mut experiment = volumes(1).experiment();
    experiment.network.nodes.push(Node { name: "island".into(), kind: NodeKind::Host });
    experiment.flows[0].to = experiment.network.nodes.len() - 1;
    let error = run(&experiment).unwrap_err();
    assert_eq!(error.to_string(), "flow 0 (forward): no path leads from sender1 to island; a flow needs links both ways, through routers");
}

/// RFC 7323 §2.3: a window is less than 1 GiB. 100 Gbit/s over 200 ms hold 2.33 GiB.
#[test]
fn a_path_that_holds_more_than_a_window_needs_streams() {
    let told = |rate: u64, rtt: u64, streams: usize, window: Option<u64>| {
        let mut dumbbell = Dumbbell {
            rate: Rate::from_bps(rate),
            edge_rate: Rate::from_bps(rate),
            rtt: Duration::from_millis(rtt),
            streams,
            // The experiment alone is enough to tell, so nothing is sent.
            duration: Duration::from_millis(1),
            ..Dumbbell::default()
        };
        if let Some(window) = window {
            dumbbell.tcp.receive_buffer = window;
        }
        let experiment = dumbbell.experiment();
        warnings(&experiment, &run(&experiment).unwrap(), Some("window_over_1_gib"))
    };
    let one = told(100_000_000_000, 200, 1, None);
    assert_eq!(one.len(), 1);
    // A window of 1,073,725,440 bytes each 200 ms is 42.9 Gbit/s; the path takes 96.5 of payload.
    for part in ["flow forward: 100 Gbit/s over 200 ms hold 2.33 GiB", "at most 42.9 Gbit/s", "needs 3 streams"] {
        assert!(one[0].contains(part), "{one:?} has no `{part}`");
    }
    let two = told(100_000_000_000, 200, 2, None);
    assert!(two[0].contains("forward 1 and 1 more") && two[0].contains("at most 85.9 Gbit/s"), "{two:?}");
    // Three are enough; so is one where the path holds less; and a window that the user bounds is no surprise.
    assert_eq!(told(100_000_000_000, 200, 3, None), Vec::<String>::new());
    assert_eq!(told(40_000_000_000, 200, 1, None), Vec::<String>::new());
    assert_eq!(told(100_000_000_000, 80, 1, None), Vec::<String>::new());
    assert_eq!(told(100_000_000_000, 200, 1, Some(1 << 29)), Vec::<String>::new());
}

//! Probes: what ping measures.

use longfat_core::time::Duration;
use longfat_core::traffic::Traffic;

use super::runs::volumes;
use crate::run;
use longfat_model::dumbbell::Dumbbell;

#[test]
fn a_probe_measures_the_path_and_the_queue_in_it() {
    let ping = Traffic::ping(Duration::from_millis(100), 84);
    let mut alone = Dumbbell { duration: Duration::from_secs(5), traffic: ping.clone(), ..Dumbbell::default() }.experiment();
    alone.flows[0].start = Duration::from_millis(50);
    let trace = run(&alone).unwrap();
    let flow = &trace.flows[0];
    // 84 bytes on 10 Mb/s are 67.2 us, on 1 Gb/s 0.672 us, each way; the path is 20 ms there and back.
    let expected = 0.020 + 2.0 * (67.2e-6 + 2.0 * 0.672e-6);
    assert!((flow.rtt.min_s - expected).abs() < 1e-9 && (flow.rtt.max_s - expected).abs() < 1e-9, "{} {expected}", flow.rtt.min_s);
    assert_eq!((flow.total.segments_sent, flow.acks_sent, flow.total.delivered), (50, 50, 0));
    assert_eq!(super::warnings(&alone, &trace, None), Vec::<String>::new());

    let mut loaded = Dumbbell { pairs: 2, duration: Duration::from_secs(20), ..Dumbbell::default() }.experiment();
    loaded.flows[1].traffic = ping;
    loaded.measure.interval = Some(Duration::from_millis(500));
    let trace = run(&loaded).unwrap();
    let (tcp, probe) = (&trace.flows[0], &trace.flows[1]);
    // A queue of one BDP, nearly always in use: the probe waits in it as the data does, and is dropped there as data is.
    assert!(probe.rtt.mean_s > 1.3 * expected && probe.rtt.max_s < 2.3 * expected, "{} {}", probe.rtt.mean_s, probe.rtt.max_s);
    assert!((probe.rtt.mean_s / tcp.rtt.mean_s - 1.0).abs() < 0.1, "{} {}", probe.rtt.mean_s, tcp.rtt.mean_s);
    assert_eq!(probe.total.segments_sent, 201);
    assert!(trace.flow_series.iter().any(|s| s.flow == 1 && s.srtt_s > expected));
}

#[test]
fn a_probe_that_stops_says_how_much_its_round_trips_vary() {
    let mut experiment = Dumbbell { pairs: 2, duration: Duration::from_secs(20), ..Dumbbell::default() }.experiment();
    experiment.flows[0].traffic = Traffic::ping(Duration::from_millis(100), 84);
    experiment.flows[1].traffic = Traffic::ping(Duration::from_millis(100), 84);
    experiment.flows[1].stop = Some(Duration::from_secs(5));
    let trace = run(&experiment).unwrap();
    // Requests at the same instants: the second waits for the first, 67.2 us at 10 Mb/s, always.
    assert_eq!((trace.flows[0].total.segments_sent, trace.flows[1].total.segments_sent), (201, 50));
    assert!(trace.flows[1].rtt.deviation_s < 1e-8, "{}", trace.flows[1].rtt.deviation_s);
    assert!((trace.flows[1].rtt.mean_s - trace.flows[0].rtt.min_s) > 60e-6);
    assert!(run(&volumes(1).experiment()).unwrap().flows[0].rtt.deviation_s.is_nan(), "TCP gives none");
}

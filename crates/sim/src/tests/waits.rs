//! Quantiles of delays, beside the delays of all packets.

use longfat_core::time::Duration;
use longfat_core::units::Capacity;
use longfat_model::{Experiment, Watched};
use longfat_record::trace::{PacketKind, QUANTILES, Trace};

use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail};

/// Returns the waits, in ps and sorted, of the packets of `trace` that left the bottleneck's queue in the measured span. A packet comes to
/// the next queue when it has been sent whole and has crossed the link.
fn waits(experiment: &Experiment, trace: &Trace) -> Vec<u64> {
    let bottleneck = &experiment.network.links[0];
    let queued = |links: &dyn Fn(usize) -> bool| {
        let rows = trace.packets.iter().filter(|row| row.kind == PacketKind::Queued && links(row.link.unwrap() as usize));
        rows.map(|row| (row.flow, row.seq, row.ip_len, row.time)).collect::<Vec<_>>()
    };
    let mut came = queued(&|link| link == 0);
    let dropped = trace.packets.iter().filter(|row| row.link == Some(0) && matches!(row.kind, PacketKind::Dropped(_)));
    for drop in dropped {
        let place = came.iter().rposition(|(flow, seq, _, time)| (*flow, *seq, *time) == (drop.flow, drop.seq, drop.time));
        came.remove(place.expect("what was dropped had come"));
    }
    let passed = queued(&|link| experiment.network.links[link].from == bottleneck.to && experiment.network.links[link].to >= 2);
    let left = came.iter().zip(&passed).map(|(came, passed)| {
        assert_eq!((came.0, came.1), (passed.0, passed.1), "one way, in order");
        let sent = bottleneck.rate.transmit_time(u64::from(came.2)) + bottleneck.delay;
        (passed.3.since(came.3).saturating_sub(sent), came.3)
    });
    let in_span = left.filter(|(wait, at)| *at + *wait > trace.span.0 && *at + *wait <= trace.span.1);
    let mut waits: Vec<u64> = in_span.map(|(wait, _)| wait.as_ps()).collect();
    waits.sort_unstable();
    waits
}

#[test]
fn quantiles_of_waits_are_those_of_all_packets() {
    for (pairs, limit, warmup) in [(1, Capacity::Bdp(1.0), 0), (4, Capacity::Packets(12), 3), (3, Capacity::Packets(200), 5)] {
        let mut experiment =
            Dumbbell { pairs, queue: droptail(limit), stagger: Duration::from_millis(173), ..Dumbbell::default() }.experiment();
        experiment.measure.warmup = Duration::from_secs(warmup);
        experiment.measure.packets = Some(Watched::All);
        let trace = run(&experiment).unwrap();
        let waits = waits(&experiment, &trace);
        assert!(waits.len() > 2000);
        for (share, found) in QUANTILES.into_iter().zip(trace.links[0].wait_quantiles_s) {
            // Packets on the wire when the run ends are not among those that came to the next queue: a rank or two.
            let exact =
                |slack: f64| waits[(((share + slack) * waits.len() as f64).ceil() as usize).clamp(1, waits.len()) - 1] as f64 / 1e12;
            let (low, high) = (exact(-0.005) * 127.0 / 128.0, exact(0.005) * 129.0 / 128.0);
            assert!((low..=high).contains(&found), "{pairs} flows, {share}: {found}, not from {low} to {high}");
        }
        let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1e12;
        let [p50, p95, p99] = trace.links[0].wait_quantiles_s;
        assert!(p50 <= p95 && p95 <= p99 && mean > 0.0 && mean < p99);
        // The way back is no bottleneck.
        assert!(trace.links[1].wait_quantiles_s[0].is_nan());
    }
}

#[test]
fn quantiles_of_round_trips_lie_between_the_least_and_the_greatest() {
    let trace = run(&Dumbbell { pairs: 2, ..Dumbbell::default() }.experiment()).unwrap();
    for flow in &trace.flows {
        let [p50, p95, p99] = flow.rtt.quantiles_s;
        assert!(flow.rtt.min_s < p50 && p50 < p95 && p95 <= p99 && p99 <= flow.rtt.max_s);
    }
    // One packet at a time, and nobody else: each takes as long.
    let alone = Dumbbell { tcp: longfat_tcp::TcpConfig { receive_buffer: 1460, ..Dumbbell::default().tcp }, ..Dumbbell::default() };
    let flow = &run(&alone.experiment()).unwrap().flows[0];
    assert!(flow.rtt.quantiles_s.iter().all(|rtt| (rtt / flow.rtt.mean_s - 1.0).abs() < 0.01), "{flow:?}");
}

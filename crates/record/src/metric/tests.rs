//! Each metric against a trace small enough to work out by hand.

mod reference;

use std::sync::Arc;

use super::{Bound, REGISTRY, Scope, impossible};
use crate::trace::host::COUNTERS;
use crate::trace::{
    CellRecord, FlowCounts, FlowRecord, FlowSample, HostRecord, HostSample, Level, LinkRecord, MemoryRecord, ProbeRecord, RealTime,
    RttRecord, Series, Trace, with_rows_in_memory,
};
use longfat_core::atm::port::Count;
use longfat_core::packet::Dscp;
use longfat_core::params::check_entry;
use longfat_core::params::{Choice, Params, Value};
use longfat_core::queue::DropReason;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Cpu, Cycles, Experiment, Flow, Host, Intake, Link, Live, LiveHost, Measure, Network, Node, NodeKind, Ties};
use longfat_tcp::{TcpConfig, stack, window_sizing};

fn flow(traffic: Traffic) -> Flow {
    let tcp = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
    Flow {
        group: "f".into(),
        from: 0,
        to: 1,
        sender: tcp.clone().into(),
        receiver: tcp.into(),
        dscp: Dscp::DEFAULT,
        traffic,
        start: Duration::ZERO,
        drawn: None,
        relays: None,
        stop: None,
        read_rate: None,
        stream_of: 0,
    }
}

fn link(bottleneck: bool) -> Link {
    let none = Choice { kind: "none", params: Params::default() };
    Link {
        name: "l".into(),
        from: 0,
        to: 1,
        rate: Rate::from_bps(1_000_000),
        delay: Duration::ZERO,
        cells: false,
        overhead: 0,
        min_frame: 0,
        mtu: 1500,
        queue: none.clone(),
        discard: None,
        loss: none,
        unsteady: Default::default(),
        rate_file: None,
        delay_file: None,
        pause: None,
        bottleneck,
    }
}

fn experiment(traffic: &[Traffic]) -> Experiment {
    let node = |name: &str| Node { name: name.into(), kind: NodeKind::Host };
    Experiment {
        ties: Ties::LinkOrder,
        departures_last: false,
        title: String::new(),
        seed: 1,
        network: Network { nodes: vec![node("a"), node("b")], links: vec![link(true), link(false)], moves: vec![] },
        hosts: vec![],
        routers: vec![],
        flows: traffic.iter().enumerate().map(|(i, t)| Flow { stream_of: i, ..flow(t.clone()) }).collect(),
        measure: Measure {
            duration: Duration::from_secs(10),
            warmup: Duration::from_secs(2),
            interval: None,
            events: false,
            packets: None,
            acks: false,
        },
        live: None,
    }
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// Record of a flow of which `bytes` arrived.
fn arrived(bytes: u64) -> FlowRecord {
    FlowRecord { total: FlowCounts { arrived: bytes, ..FlowCounts::default() }, ..FlowRecord::default() }
}

fn finished(seconds: u64, bytes: u64) -> FlowRecord {
    FlowRecord {
        delivered_all: Some(at(seconds)),
        total: FlowCounts { arrived: bytes, sent: bytes + bytes / 4, retransmitted: bytes / 4, ..FlowCounts::default() },
        ..FlowRecord::default()
    }
}

fn value(name: &str, scope: Scope, experiment: &Experiment, trace: &Trace) -> f64 {
    let metric = REGISTRY.iter().find(|m| m.name == name).unwrap();
    (metric.compute)(experiment, trace).into_iter().find(|(s, _)| *s == scope).unwrap().1
}

/// Metrics of probes between real hosts, which need probes.
#[test]
fn probes_tell_of_each_direction() {
    let e = experiment(&[Traffic::bulk()]);
    let us = |us: u64| Time::from_ps(1_000_000 * us);
    let up = ProbeRecord {
        sent: 200,
        arrived: 199,
        idle_count: 0,
        idle: [us(0); 2],
        loaded_count: 100,
        loaded: [us(10), us(20), us(30)],
        timer_error: [us(4), us(90)],
    };
    let down = ProbeRecord {
        sent: 200,
        arrived: 200,
        idle_count: 50,
        idle: [us(0), us(1)],
        timer_error: [us(5), us(80)],
        ..ProbeRecord::default()
    };
    let real = |probes| Some(RealTime { probes, ..RealTime::default() });
    let trace = Trace {
        flows: vec![finished(5, 1000)],
        links: vec![LinkRecord::default(); 2],
        end: at(10),
        real_time: real([up, down]),
        ..Trace::default()
    };
    let get = |name| value(name, Scope::Run, &e, &trace);
    assert_eq!([get("queue_delay_up_p50_s"), get("queue_delay_up_p95_s"), get("queue_delay_up_p99_s")], [10e-6, 20e-6, 30e-6]);
    assert_eq!([get("queue_delay_down_idle_p50_s"), get("queue_delay_down_idle_p95_s")], [0.0, 1e-6]);
    assert!(get("queue_delay_up_idle_p95_s").is_nan() && get("queue_delay_down_p99_s").is_nan(), "no such probe arrived");
    assert_eq!([get("probe_loss_up_share"), get("probe_loss_down_share")], [0.005, 0.0]);
    assert_eq!([get("timer_error_p50_s"), get("timer_error_p99_s")], [5e-6, 90e-6], "the later host");
    let none = Trace { real_time: real([ProbeRecord::default(); 2]), ..trace.clone() };
    for name in ["queue_delay_up_p50_s", "probe_loss_down_share", "timer_error_p99_s"] {
        let metric = REGISTRY.iter().find(|metric| metric.name == name).unwrap();
        assert_eq!((metric.compute)(&e, &none), []);
    }
}

/// Four flows with sizes of their own, one of which began in the warmup and one of which does not finish.
#[test]
fn flows_that_come_by_themselves_are_judged_by_when_they_are_done() {
    let size = Value::Bytes(1_000_000);
    let kind = Traffic::of("flows", &[("sizes", Value::Choice("exponential")), ("size", size)]);
    let drawn: Vec<Traffic> = (1..=4).map(|i| kind.draw(&mut Rng::named(i, "size"))).collect();
    let e = experiment(&drawn);
    let finished = |start: u64, end: Option<u64>| FlowRecord { start: at(start), delivered_all: end.map(at), ..FlowRecord::default() };
    let flows = vec![finished(0, Some(9)), finished(2, Some(3)), finished(4, Some(8)), finished(6, None)];
    let trace = Trace { flows, links: vec![LinkRecord::default(); 2], end: at(10), span: (at(2), at(10)), ..Trace::default() };
    let get = |name, scope| value(name, scope, &e, &trace);
    // Completion takes 1 s, 4 s and for ever: the median is the second value, the 95th percentile the third.
    assert_eq!(get("completion_p50_s", Scope::Run), 4.0);
    assert!(get("completion_p95_s", Scope::Run).is_nan() && get("slowdown_p99", Scope::Run).is_nan());
    // No propagation, 1 Mb/s, 52 bytes of headers with each 1448 of payload.
    let (volume, mss) = (drawn[1].volume().unwrap(), 1448);
    let least = 8.0 * (volume + volume.div_ceil(mss) * 52) as f64 / 1e6;
    assert!((get("slowdown", Scope::Flow(1)) - 1.0 / least).abs() < 1e-12, "{} {least}", get("slowdown", Scope::Flow(1)));
    assert!(get("slowdown", Scope::Flow(3)).is_nan());
    // Sizes differ, so no flow has a due share.
    for name in ["jain_index", "unfairness", "starved_flows", "ttcp_utilization_bps"] {
        assert!(get(name, Scope::Run).is_nan(), "{name}");
    }
}

#[test]
fn two_ttcp_flows_beside_a_bulk_flow() {
    let fixed = Traffic::ttcp(1_000_000);
    let e = experiment(&[fixed.clone(), fixed, Traffic::bulk()]);
    let bulk = FlowRecord {
        at_warmup: FlowCounts { arrived: 100, ..FlowCounts::default() },
        total: FlowCounts { arrived: 600, ..FlowCounts::default() },
        ..FlowRecord::default()
    };
    let links = vec![
        LinkRecord {
            busy_s: 4.0,
            packets_in: 100,
            packets_transmitted: 80,
            packets_in_in_span: 100,
            packets_transmitted_in_span: 50,
            packets_dropped_in_span: 30,
            packets_filtered_in_span: 10,
            // The last are no loss.
            drops: vec![(DropReason::Overflow, 15), (DropReason::Early, 5), (DropReason::AckFilter, 10)],
            queue_mean_packets: 5.0,
            ..LinkRecord::default()
        },
        LinkRecord { busy_s: 8.0, ..LinkRecord::default() },
    ];
    let trace = Trace {
        flows: vec![finished(8, 1_000_000), finished(10, 1_000_000), bulk],
        links,
        end: at(10),
        span: (at(2), at(10)),
        ..Trace::default()
    };
    let get = |name, scope| value(name, scope, &e, &trace);

    assert_eq!(get("ttcp_rate_bps", Scope::Flow(0)), 1_000_000.0);
    assert_eq!(get("ttcp_rate_bps", Scope::Flow(1)), 800_000.0);
    assert!(get("ttcp_rate_bps", Scope::Flow(2)).is_nan());
    assert_eq!(get("ttcp_utilization_bps", Scope::Run), 1_600_000.0);
    assert_eq!(get("goodput_bps", Scope::Flow(0)), 1_000_000.0);
    assert_eq!(get("goodput_bps", Scope::Flow(2)), 500.0); // 500 bytes in the 8 s after the warmup
    // 2 MB in 10 s, though the first flow had its own in 8.
    assert_eq!(get("goodput_total_bps", Scope::Run), 1_600_000.0);
    assert_eq!(get("completion_s", Scope::Flow(1)), 10.0);
    assert_eq!(get("unfairness", Scope::Run), 0.2);
    assert!((get("jain_index", Scope::Run) - 1.8 * 1.8 / (2.0 * 1.64)).abs() < 1e-12);
    assert_eq!(get("retransmit_share", Scope::Flow(0)), 0.2);
    assert_eq!(get("utilization", Scope::Link(0)), 0.5);
    assert_eq!(get("bottleneck_utilization", Scope::Run), 0.5);
    assert_eq!(get("loss_share", Scope::Link(0)), 0.2);
    assert_eq!(get("queue_delay_mean_s", Scope::Link(0)), 5.0 * 8.0 / 50.0);
    assert_eq!(get("bottleneck_queue_delay_mean_s", Scope::Run), 5.0 * 8.0 / 50.0);
}

#[test]
fn quantiles_of_a_run_are_those_of_its_bottleneck_and_the_mean_of_its_flows() {
    let e = experiment(&[Traffic::bulk(), Traffic::bulk()]);
    let flow =
        |p50, p95, p99| FlowRecord { rtt: RttRecord { quantiles_s: [p50, p95, p99], ..RttRecord::default() }, ..FlowRecord::default() };
    let link = |p50, p95, p99| LinkRecord { wait_quantiles_s: [p50, p95, p99], ..LinkRecord::default() };
    let trace = Trace {
        flows: vec![flow(0.1, 0.2, 0.3), flow(0.3, 0.4, 0.7)],
        links: vec![link(0.01, 0.02, 0.03), link(f64::NAN, f64::NAN, f64::NAN)],
        ..Trace::default()
    };
    let get = |name| value(name, Scope::Run, &e, &trace);
    let near = |name, expected: f64| assert!((get(name) - expected).abs() < 1e-12, "{name}: {}", get(name));
    near("flow_rtt_p50_s", 0.2);
    near("flow_rtt_p95_s", 0.3);
    near("flow_rtt_p99_s", 0.5);
    near("bottleneck_queue_delay_p50_s", 0.01);
    near("bottleneck_queue_delay_p95_s", 0.02);
    near("bottleneck_queue_delay_p99_s", 0.03);
}

#[test]
fn shares_of_limits_are_of_the_time_that_flows_lived() {
    let e = experiment(&[Traffic::bulk(), Traffic::bulk()]);
    let flow = |established, limited_s| FlowRecord {
        established,
        total: FlowCounts { limited_s, ..FlowCounts::default() },
        ..FlowRecord::default()
    };
    // 8 s and 2 s of life; the third never was.
    let done = FlowRecord { acked_all: Some(at(6)), ..flow(Some(at(4)), [1.0, 0.0, 0.0, 0.5, 0.0]) };
    let trace = Trace { flows: vec![flow(Some(at(2)), [2.0, 3.0, 1.0, 0.0, 0.5]), done], end: at(10), ..Trace::default() };
    let share = |name: &str| value(&format!("{name}_limited_share"), Scope::Run, &e, &trace);
    assert_eq!(["cwnd", "rwnd", "sndbuf", "pacing", "host", "application"].map(share), [0.3, 0.3, 0.1, 0.05, 0.05, 0.2]);
    let none = Trace { flows: vec![flow(None, [0.0; 5]), flow(Some(at(1)), [f64::NAN; 5])], end: at(10), ..Trace::default() };
    assert!(value("cwnd_limited_share", Scope::Run, &e, &none).is_nan());
}

#[test]
fn delays_of_a_run_are_those_of_its_bottleneck_and_of_its_measured_flows() {
    let fixed = Traffic::ttcp(1_000_000);
    let e = experiment(&[fixed.clone(), fixed, Traffic::bulk()]);
    let rtt =
        |mean: f64, max: f64| FlowRecord { rtt: RttRecord { mean_s: mean, max_s: max, ..RttRecord::default() }, ..finished(8, 1_000_000) };
    // 50,000 bytes of IP that are 60,000 in frames, at 1 Mbit/s; the other link is no bottleneck.
    let queue = LinkRecord { ip_bytes: 500_000, wire_bytes: 600_000, queue_max_bytes: 50_000, ..LinkRecord::default() };
    let other = LinkRecord { queue_max_bytes: 1_000_000, ..queue.clone() };
    let trace = Trace {
        flows: vec![rtt(0.1, 0.3), rtt(0.2, 0.25), rtt(9.0, 9.0)],
        links: vec![queue, other],
        end: at(10),
        span: (at(2), at(10)),
        ..Trace::default()
    };
    let get = |name| value(name, Scope::Run, &e, &trace);
    assert!((get("bottleneck_queue_delay_max_s") - 0.48).abs() < 1e-12);
    // The bulk flow is background beside two volumes.
    assert!((get("flow_rtt_mean_s") - 0.15).abs() < 1e-12);
    assert_eq!(get("flow_rtt_max_s"), 0.3);
    assert_eq!(get("loaded_rtt_per_minute"), 60.0 / get("flow_rtt_mean_s"));
    // One that has taken no round trip does not count.
    let silent = Trace { flows: vec![rtt(0.1, 0.3), rtt(f64::NAN, f64::NAN), rtt(9.0, 9.0)], ..trace.clone() };
    assert_eq!(value("flow_rtt_mean_s", Scope::Run, &e, &silent), 0.1);
}

#[test]
fn a_flow_that_did_not_finish_has_no_rate_and_spoils_the_estimate() {
    let fixed = Traffic::ttcp(1_000_000);
    let e = experiment(&[fixed.clone(), fixed]);
    let unfinished =
        FlowRecord { delivered_all: None, total: FlowCounts { arrived: 500_000, ..FlowCounts::default() }, ..FlowRecord::default() };
    let trace = Trace { flows: vec![finished(8, 1_000_000), unfinished], end: at(10), ..Trace::default() };
    assert!(value("ttcp_rate_bps", Scope::Flow(1), &e, &trace).is_nan());
    assert!(value("ttcp_utilization_bps", Scope::Run, &e, &trace).is_nan());
    assert!(value("unfairness", Scope::Run, &e, &trace).is_nan());
    assert_eq!(value("goodput_bps", Scope::Flow(1), &e, &trace), 400_000.0);
}

#[test]
fn bulk_flows_are_the_measured_ones_where_there_are_no_others() {
    let e = experiment(&[Traffic::bulk(), Traffic::bulk()]);
    let bulk = arrived;
    let trace = Trace { flows: vec![bulk(1000), bulk(500)], end: at(10), ..Trace::default() };
    assert_eq!(value("unfairness", Scope::Run, &e, &trace), 0.5);
    assert_eq!(value("jain_index", Scope::Run, &e, &trace), 0.9);
    assert!(value("ttcp_utilization_bps", Scope::Run, &e, &trace).is_nan());
}

/// Two senders, the first with two streams; 5 s intervals: the last is cut short, and the first is warmup.
fn streams() -> (Experiment, Trace) {
    let mut e = experiment(&[Traffic::bulk(), Traffic::bulk(), Traffic::bulk()]);
    e.flows[1].stream_of = 0;
    e.flows[2].stream_of = 1;
    e.measure =
        Measure { warmup: Duration::from_secs(5), duration: Duration::from_secs(22), interval: Some(Duration::from_secs(5)), ..e.measure };
    // Bytes delivered by 0, 5, .. 20 and 22 s. In the whole intervals after the warmup the first sender has 1000, 3000 and
    // 5000 bytes, the second always 3000.
    let totals = [[0, 0, 0], [100, 100, 9000], [600, 600, 12_000], [1600, 2600, 15_000], [4600, 4600, 18_000], [4700, 4600, 18_100]];
    let times = [0, 5, 10, 15, 20, 22];
    let mut trace = Trace { end: at(22), ..Trace::default() };
    // Two rows stay in memory, as in a run that has more than memory holds.
    trace.flow_series = with_rows_in_memory(2);
    for (time, bytes) in times.into_iter().zip(totals) {
        for (flow, bytes_arrived) in bytes.into_iter().enumerate() {
            let sample = FlowSample { time: at(time), flow: flow as u32, bytes_arrived, ..FlowSample::default() };
            trace.flow_series.extend([sample]).unwrap();
        }
    }
    let record = |i: usize| FlowRecord {
        at_warmup: FlowCounts { arrived: totals[1][i], ..FlowCounts::default() },
        total: FlowCounts { arrived: totals[5][i], ..FlowCounts::default() },
        ..FlowRecord::default()
    };
    trace.flows = (0..3).map(record).collect();
    (e, trace)
}

/// Calls `with` for each sample of the flows, with its number.
fn change(trace: &mut Trace, with: &dyn Fn(usize, &mut FlowSample)) {
    let mut rows: Vec<FlowSample> = trace.flow_series.iter().collect();
    rows.iter_mut().enumerate().for_each(|(i, sample)| with(i, sample));
    trace.flow_series = rows.into();
}

#[test]
fn windows_in_phase_and_out_of_phase() {
    let (mut e, mut trace) = streams();
    let correlation = |windows: &dyn Fn(usize, usize) -> u64, e: &Experiment, trace: &mut Trace| {
        change(trace, &|i, sample| sample.cwnd = windows(i / 3, i % 3));
        value("cwnd_correlation", Scope::Run, e, trace)
    };
    // Five samples after the warmup, the one before it far away. One up, one down, one that stays: only the two are a pair.
    let in_phase = |sample: usize, flow: usize| if sample == 0 { 1_000_000 } else { 1000 + (sample * (flow + 1)) as u64 };
    assert!((correlation(&in_phase, &e, &mut trace) - 1.0).abs() < 1e-12);
    let out_of_phase = |sample: usize, flow: usize| [1000 + sample, 2000 - sample, 3000][flow] as u64;
    assert!((correlation(&out_of_phase, &e, &mut trace) + 1.0).abs() < 1e-12);
    // The covariance of 1, 2, 3, 4, 5 and 1, 0, 0, 0, 1 is 0.
    let apart = |sample: usize, flow: usize| [1000 + sample, 2000 + [9, 1, 0, 0, 0, 1][sample], 3000][flow] as u64;
    assert!(correlation(&apart, &e, &mut trace).abs() < 1e-12);
    assert!(correlation(&|_, _| 1000, &e, &mut trace).is_nan(), "no window changes");
    e.measure.interval = None;
    trace.flow_series = Series::default();
    assert!(value("cwnd_correlation", Scope::Run, &e, &trace).is_nan());
}

#[test]
fn senders_converge_when_the_span_before_is_even() {
    let (mut e, mut trace) = streams();
    e.measure.interval = Some(Duration::from_secs(1));
    let record =
        |i: usize| FlowRecord { start: at([0, 0, 5][i]), rtt: RttRecord { mean_s: 0.2, ..RttRecord::default() }, ..FlowRecord::default() };
    trace.flows = (0..3).map(record).collect();
    // Bytes of each second: the streams of the first sender have 50 and 50, the second has 20 from 5 s on and `later` from 11 s on.
    let series = |later: u64| {
        let mut totals = [0, 0, 0];
        let mut rows = Vec::new();
        for second in 0..=22 {
            let row = |(flow, bytes_arrived): (usize, u64)| FlowSample {
                time: at(second),
                flow: flow as u32,
                bytes_arrived,
                ..FlowSample::default()
            };
            rows.extend(totals.into_iter().enumerate().map(row));
            let more = [0, 20, later][usize::from(second >= 5) + usize::from(second >= 11)];
            totals = [totals[0] + 50, totals[1] + 50, totals[2] + more];
        }
        Series::from(rows)
    };
    // Spans are of 2 s. At 12 s the second sender had 120 of 320 bytes, 0.75 of a half; at 13 s 200 of 400.
    trace.flow_series = series(100);
    assert_eq!(value("convergence_s", Scope::Run, &e, &trace), 8.0);
    // 82 of 182 bytes are 0.901 of a half, and 81 of 181 are 0.895.
    trace.flow_series = series(82);
    assert_eq!(value("convergence_s", Scope::Run, &e, &trace), 8.0);
    trace.flow_series = series(81);
    assert!(value("convergence_s", Scope::Run, &e, &trace).is_nan(), "never even");
    e.measure.interval = None;
    assert!(value("convergence_s", Scope::Run, &e, &trace).is_nan(), "no series");
    let (one, trace) = (experiment(&[e.flows[0].traffic.clone()]), trace);
    assert!(value("convergence_s", Scope::Run, &one, &trace).is_nan(), "one sender");
}

#[test]
fn a_write_waits_as_long_as_the_buffer_takes_to_empty() {
    let (mut e, mut trace) = streams();
    e.flows[1].traffic = Traffic::of("telnet", &[("interval", Value::Duration(Duration::from_millis(10)))]);
    // In the 17 s from 5 to 22 s flow 1 delivers 4500 bytes; 30 of them wait on average.
    change(&mut trace, &|i, sample| sample.send_buffered = [9999, 10, 50, 30, 20, 40][i / 3]);
    assert!((value("write_delay_mean_s", Scope::Flow(1), &e, &trace) - 30.0 * 17.0 / 4500.0).abs() < 1e-12);
    trace.flow_series = Series::default();
    assert!(value("write_delay_mean_s", Scope::Flow(1), &e, &trace).is_nan());
    // The metric has values only for flows that write at a rate of their own.
    let of = REGISTRY.iter().find(|metric| metric.name == "write_delay_mean_s").unwrap();
    assert_eq!((of.compute)(&e, &trace).len(), 1);
}

#[test]
fn parallel_streams_are_one_sender() {
    let (e, trace) = streams();
    let get = |name, scope| value(name, scope, &e, &trace);
    // 9100 bytes each in the 17 s after the warmup: the two streams together take as much as the other sender.
    assert_eq!(get("sender_goodput_bps", Scope::Sender(0)), 9100.0 * 8.0 / 17.0);
    assert_eq!(get("sender_goodput_bps", Scope::Sender(1)), 9100.0 * 8.0 / 17.0);
    assert_eq!(get("jain_index", Scope::Run), 1.0);
    assert_eq!((get("unfairness", Scope::Run), get("asymmetry", Scope::Run)), (0.0, 0.0));
    // Mean 3000 bytes in 5 s, deviation the root of (2000^2 + 0 + 2000^2) / 3.
    let deviation = (8e6_f64 / 3.0).sqrt();
    assert!((get("goodput_deviation_bps", Scope::Sender(0)) - deviation * 1.6).abs() < 1e-9);
    assert!((get("stability", Scope::Sender(0)) - deviation / 3000.0).abs() < 1e-12);
    assert_eq!(get("stability", Scope::Sender(1)), 0.0);
    // Together they have 6000 bytes on average.
    assert!((get("stability", Scope::Run) - deviation / 6000.0).abs() < 1e-12);
}

#[test]
fn streams_of_a_volume_are_done_when_the_last_is() {
    let mut e = experiment(&vec![Traffic::ttcp(1_000_000); 3]);
    e.flows[1].stream_of = 0;
    let trace =
        Trace { flows: vec![finished(4, 1_000_000), finished(8, 1_000_000), finished(8, 1_000_000)], end: at(8), ..Trace::default() };
    // 2 MB in 8 s against 1 MB in 8 s.
    assert_eq!(value("unfairness", Scope::Run, &e, &trace), 0.5);
    assert!((value("asymmetry", Scope::Run, &e, &trace) - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn bandwidth_is_fair_to_memory() {
    // Weigle and Feng 2001 §IV-D: five flows of 64 KiB and five of 1 MiB; 1,176 and 18,820 kb/s are in proportion.
    let mut e = experiment(&vec![Traffic::bulk(); 10]);
    for (i, flow) in e.flows.iter_mut().enumerate() {
        Arc::make_mut(&mut flow.receiver).receive_buffer = if i < 5 { 64 << 10 } else { 1 << 20 };
    }
    let trace = |rates: [u64; 2]| {
        let flow = |i: usize| arrived(rates[i / 5]);
        Trace { flows: (0..10).map(flow).collect(), end: at(10), ..Trace::default() }
    };
    let even = trace([1_000_000, 16_000_000]);
    assert_eq!(value("memory_fairness", Scope::Run, &e, &even), 1.0);
    assert_eq!(
        (value("memory_proportion", Scope::Sender(0), &e, &even), value("memory_proportion", Scope::Sender(9), &e, &even)),
        (1.0, 1.0)
    );
    // Equal goodputs: a flow of 64 KiB has a tenth of the bandwidth for 64 of 5440 KiB of memory.
    let same = trace([1_000_000; 2]);
    assert!((value("memory_proportion", Scope::Sender(0), &e, &same) - 8.5).abs() < 1e-12);
    assert!((value("memory_proportion", Scope::Sender(5), &e, &same) - 5440.0 / 10_240.0).abs() < 1e-12);
    // Rates over memory are as 16 to 1: (5 x 17)^2 / (10 x 5 x 257).
    assert!((value("memory_fairness", Scope::Run, &e, &same) - 7225.0 / 12_850.0).abs() < 1e-12);
    // `maxwnd` bounds as a buffer does.
    let mut sizing = window_sizing::choice("ideal");
    sizing.params.set("maxwnd", Value::Capacity(Capacity::Bytes(64 << 10)));
    for flow in &mut e.flows {
        Arc::make_mut(&mut flow.sender).window_sizing = sizing.clone();
    }
    assert_eq!(value("memory_fairness", Scope::Run, &e, &same), 1.0);
}

#[test]
fn there_is_no_asymmetry_but_of_two_and_no_stability_without_intervals() {
    let (mut e, trace) = streams();
    e.flows[1].stream_of = 1;
    e.flows[2].stream_of = 2;
    assert!(value("asymmetry", Scope::Run, &e, &trace).is_nan());
    e.measure.interval = None;
    assert!(value("stability", Scope::Run, &e, &trace).is_nan());
    assert!(value("goodput_deviation_bps", Scope::Sender(2), &e, &trace).is_nan());
}

#[test]
fn probes_say_mean_deviation_and_loss() {
    let e = experiment(&[Traffic::bulk(), Traffic::ping(Duration::from_secs(1), 84)]);
    let probe = FlowRecord {
        total: FlowCounts { segments_sent: 20, packets_dropped: 3, ..FlowCounts::default() },
        rtt: RttRecord { mean_s: 0.2, deviation_s: 0.01, ..RttRecord::default() },
        ..FlowRecord::default()
    };
    let trace = Trace { flows: vec![FlowRecord::default(), probe], end: at(10), ..Trace::default() };
    let get = |name| value(name, Scope::Run, &e, &trace);
    assert_eq!((get("ping_rtt_mean_s"), get("ping_rtt_deviation_s"), get("ping_loss_share")), (0.2, 0.01, 0.15));
    assert!(value("ping_rtt_mean_s", Scope::Run, &experiment(&vec![Traffic::bulk(); 2]), &trace).is_nan());
    // A link that duplicates: both copies of each were dropped.
    let probe =
        FlowRecord { total: FlowCounts { segments_sent: 20, packets_dropped: 40, ..FlowCounts::default() }, ..FlowRecord::default() };
    let trace = Trace { flows: vec![FlowRecord::default(), probe], end: at(10), ..Trace::default() };
    assert_eq!(value("ping_loss_share", Scope::Run, &e, &trace), 1.0);
}

#[test]
fn a_bit_costs_cycles() {
    let mut e = experiment(&vec![Traffic::bulk(); 3]);
    e.flows[2].from = 1;
    let cycles = Cycles { packet: 1000, byte: 0.0 };
    let cpu = Cpu { mhz: 3000, send: cycles, receive: cycles, intake: Intake::default() };
    e.hosts = vec![Host { cpu: Some(cpu), ..Host::new(0) }];
    // 10 s of 3000 MHz, busy for 4: 1200 MHz. The two senders on it have 100 and 200 Mbit/s since the warmup at 2 s; the third is
    // on a host of which nothing is said.
    let bulk = |mbytes: u64| arrived(mbytes * 1_000_000);
    let hosts = vec![HostRecord { cpu_busy_s: 4.0, memory: None }];
    let trace = Trace { flows: vec![bulk(100), bulk(200), bulk(400)], hosts, end: at(10), span: (at(0), at(10)), ..Trace::default() };
    let get = |name, scope| value(name, scope, &e, &trace);
    assert_eq!((get("sender_cpu_utilization", Scope::Flow(0)), get("sender_cpu_utilization", Scope::Flow(1))), (0.4, 0.4));
    assert!(get("sender_cpu_utilization", Scope::Flow(2)).is_nan() && get("receiver_cpu_utilization", Scope::Flow(0)).is_nan());
    for scope in [Scope::Run, Scope::Sender(0), Scope::Sender(1)] {
        assert!((get("mhz_per_mbps", scope) - 1200.0 / 300.0).abs() < 1e-12);
    }
    assert!(value("mhz_per_mbps", Scope::Run, &experiment(&vec![Traffic::bulk(); 3]), &trace).is_nan());
}

/// Two real hosts of 2000 MHz. The near one sends 100 Mbit/s and works for 5 of 8 s of its cores; the far one tells no clock.
#[test]
fn a_bit_costs_cycles_of_real_hosts() {
    let mut e = experiment(&vec![Traffic::bulk(); 2]);
    e.flows[1].from = e.flows[0].to;
    let host = |at: &str| LiveHost { at: at.to_owned(), key: None };
    e.live = Some(Live {
        hosts: vec![host(Live::LOCAL), host("192.0.2.1")],
        uncontrolled: Vec::new(),
        survey: false,
        capture: false,
        spread: Duration::ZERO,
    });
    let look = |seconds: u64, is_far: bool, system: u64| {
        let mut look = HostSample { time: at(seconds), is_far, ..HostSample::default() };
        let mut put = |name: &str, value| look.values[COUNTERS.iter().position(|counter| counter.name == name).unwrap()] = value;
        for name in ["cpu_user", "cpu_irq", "cpu_softirq"] {
            put(name, 7);
        }
        put("cpu_system", system);
        if !is_far {
            put("cpu_clock", 2_000_000_000);
        }
        look
    };
    // Before the span, and after it, the host had other work.
    let host_series = vec![
        look(1, false, 0),
        look(2, false, 1000),
        look(2, true, 0),
        look(10, false, 6000),
        look(10, true, 900),
        look(11, false, 99_000),
    ];
    let flows = vec![arrived(100_000_000), arrived(100_000_000)];
    let trace = Trace { flows, host_series, end: at(10), span: (at(2), at(10)), ..Trace::default() };
    let get = |scope| value("mhz_per_mbps", scope, &e, &trace);
    assert!((get(Scope::Sender(0)) - 5.0 / 8.0 * 2000.0 / 100.0).abs() < 1e-9, "{}", get(Scope::Sender(0)));
    let metric = REGISTRY.iter().find(|metric| metric.name == "mhz_per_mbps").unwrap();
    assert!((metric.compute)(&e, &trace).iter().all(|(scope, _)| *scope != Scope::Sender(1)), "its host tells no clock");
    let trace = Trace { host_series: Vec::new(), ..trace };
    assert!(value("mhz_per_mbps", Scope::Run, &e, &trace).is_nan());
}

/// Link of 1 Mbit/s for 10 s after 2 s of warmup, busy for 8 s: 2,358 cells per second, of 424 us each.
#[test]
fn the_time_of_a_link_adds_up() {
    let mut e = experiment(&vec![Traffic::bulk(); 3]);
    for link in &mut e.network.links {
        (link.cells, link.overhead) = (true, 8);
    }
    // 1448 bytes of payload in packets of 1500: 1516 bytes with LLC/SNAP and trailer, 32 cells, 13.568 ms.
    let segment = 1448;
    let bulk = |fresh: u64, again: u64| FlowRecord {
        bytes_arrived_in_span: fresh * segment,
        bytes_duplicate_in_span: again * segment,
        // Inputs of a rate, of which one flow has next to nothing.
        total: FlowCounts { arrived: fresh * segment, segments_sent: 400, segments_retransmitted: 240, ..FlowCounts::default() },
        ..FlowRecord::default()
    };
    let in_span = Count { passed: 18_000, dropped: [1000, 700, 300], dead: 3000, ..Count::default() };
    let cells = Some(CellRecord { in_span, ..CellRecord::default() });
    let link = LinkRecord { busy_s: 8.0, cells, ..LinkRecord::default() };
    let trace = Trace {
        flows: vec![bulk(300, 10), bulk(200, 20), bulk(1, 0)],
        links: vec![link, LinkRecord::default()],
        end: at(12),
        span: (at(2), at(12)),
        ..Trace::default()
    };
    let get = |name, scope| value(name, scope, &e, &trace);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} for {b}");
    close(get("effective_throughput", Scope::Run), 501.0 * 0.013_568 / 10.0);
    close(get("idle_share", Scope::Link(0)), 0.2);
    close(get("dead_share", Scope::Link(0)), 3000.0 * 0.000_424 / 10.0);
    close(get("duplicate_share", Scope::Link(0)), 30.0 * 0.013_568 / 10.0);
    let parts = ["good_share", "duplicate_share", "dead_share", "idle_share"];
    close(parts.iter().map(|part| get(part, Scope::Link(0))).sum(), 1.0);
    close(get("cell_loss_share", Scope::Link(0)), 0.1);
    assert!(get("cell_loss_share", Scope::Link(1)).is_nan());
    // 240 of 400 went again: 160 distinct ones. Of three, one has under a hundredth of a third.
    assert_eq!((get("retransmission_rate", Scope::Run), get("retransmission_rate", Scope::Flow(1))), (1.5, 1.5));
    assert_eq!(get("starved_flows", Scope::Run), 1.0);
}

/// Metrics of a short or empty span have no value. No value is infinite, and packets that passed before a short span make no share over 1.
#[test]
fn nothing_is_infinite() {
    let mut e = experiment(&[Traffic::bulk(), Traffic::bulk()]);
    let cycles = Cycles { packet: 1000, byte: 0.0 };
    e.hosts = vec![Host { cpu: Some(Cpu { mhz: 3000, send: cycles, receive: cycles, intake: Intake::default() }), ..Host::new(0) }];
    let link = LinkRecord { busy_s: 0.001, queue_mean_packets: 3.0, ..LinkRecord::default() };
    let flow = |bytes| FlowRecord {
        bytes_arrived_in_span: bytes,
        bytes_duplicate_in_span: bytes,
        total: FlowCounts {
            sent: 2 * bytes,
            retransmitted: bytes,
            arrived: bytes,
            duplicate: bytes,
            segments_sent: 2,
            segments_retransmitted: 1,
            ..FlowCounts::default()
        },
        ..FlowRecord::default()
    };
    let hosts = vec![HostRecord { cpu_busy_s: 0.001, memory: None }];
    let trace = |span| Trace {
        flows: vec![flow(14_480), flow(0)],
        links: vec![link.clone(), LinkRecord::default()],
        hosts: hosts.clone(),
        end: at(3),
        span,
        ..Trace::default()
    };
    // 10 segments in the 2 ms of a span, of which the link was busy for half.
    let short = trace((at(2), at(2) + Duration::from_millis(2)));
    assert_eq!(impossible(&e, &short), Vec::<String>::new());
    assert_eq!(value("effective_throughput", Scope::Run, &e, &short), 0.5);
    assert_eq!((value("duplicate_share", Scope::Link(0), &e, &short), value("good_share", Scope::Link(0), &e, &short)), (0.5, 0.0));
    // Nothing arrived, so no bit has a cost.
    let silent = Trace { flows: vec![flow(0), flow(0)], ..short.clone() };
    assert!(value("mhz_per_mbps", Scope::Run, &e, &silent).is_nan());
    let empty = trace((at(2), at(2)));
    assert_eq!(impossible(&e, &empty), Vec::<String>::new());
    assert!(value("effective_throughput", Scope::Run, &e, &empty).is_nan() && value("idle_share", Scope::Link(0), &e, &empty).is_nan());
}

/// UDP has 28 bytes of headers: in packets of 1000 bytes, 972,000 bytes of payload are all that 1 Mb/s takes in 8 s.
#[test]
fn a_link_full_of_udp_has_an_effective_throughput_of_one() {
    let e = experiment(&[Traffic::udp(Rate::from_bps(1_000_000), 1000)]);
    let flow = FlowRecord { bytes_arrived_in_span: 972_000, ..FlowRecord::default() };
    let link = LinkRecord { busy_s: 8.0, ..LinkRecord::default() };
    let trace = Trace { flows: vec![flow], links: vec![link, LinkRecord::default()], span: (at(2), at(10)), ..Trace::default() };
    assert!((value("effective_throughput", Scope::Run, &e, &trace) - 1.0).abs() < 1e-12);
}

/// Two streams of a sender, one after the other, do not have twice the link.
#[test]
fn streams_that_take_turns_are_measured_over_both_turns() {
    let mut e = experiment(&vec![Traffic::ttcp(1_000_000); 3]);
    e.flows[1].stream_of = 0;
    let second = FlowRecord { start: at(8), ..finished(16, 1_000_000) };
    let trace = Trace { flows: vec![finished(8, 1_000_000), second, finished(16, 1_000_000)], end: at(16), ..Trace::default() };
    // 2 MB and 1 MB in 16 s.
    assert_eq!(value("unfairness", Scope::Run, &e, &trace), 0.5);
    assert_eq!(value("sender_goodput_bps", Scope::Sender(0), &e, &trace), 1_000_000.0);
}

#[test]
fn memory_is_that_of_each_host_with_a_bound_and_of_all() {
    let level = |peak| Level { mean: peak as f64 / 2.0, peak };
    let memory = |n| MemoryRecord { promised: level(10 * n), buffered: level(20 * n), wasted: level(30 * n), drops: n };
    let host = |memory| HostRecord { cpu_busy_s: f64::NAN, memory };
    let trace = Trace { hosts: vec![host(Some(memory(1))), host(None), host(Some(memory(2)))], ..Trace::default() };
    let get = |name, scope| value(name, scope, &experiment(&vec![Traffic::bulk(); 2]), &trace);
    let all = |name| get(name, Scope::Run);
    assert_eq!((all("memory_promised_mean_bytes"), all("memory_promised_peak_bytes")), (15.0, 30.0));
    assert_eq!((all("memory_buffered_peak_bytes"), all("memory_wasted_mean_bytes"), all("memory_drops")), (60.0, 45.0, 3.0));
    let of_third = |name| get(name, Scope::Host(2));
    assert_eq!((of_third("memory_promised_mean_bytes"), of_third("memory_wasted_peak_bytes"), of_third("memory_drops")), (10.0, 60.0, 2.0));
    let drops = REGISTRY.iter().find(|metric| metric.name == "memory_drops").unwrap();
    assert!((drops.compute)(&experiment(&vec![Traffic::bulk(); 2]), &Trace::default()).is_empty(), "no host is bounded");
}

#[test]
fn udp_is_measured_where_there_is_nothing_else() {
    let udp = Traffic::udp(Rate::from_bps(1000), 100);
    let ping = Traffic::ping(Duration::from_secs(1), 84);
    let got = arrived;
    let trace = |n: usize| Trace { flows: vec![got(1000); n], end: at(10), ..Trace::default() };
    assert_eq!(value("jain_index", Scope::Run, &experiment(&[udp.clone(), udp, ping.clone()]), &trace(3)), 1.0);
    assert!(value("jain_index", Scope::Run, &experiment(&[ping.clone(), ping]), &trace(2)).is_nan());
}

#[test]
fn names_are_unique_and_carry_their_unit_and_each_has_a_source() {
    for (i, metric) in REGISTRY.iter().enumerate() {
        assert!(REGISTRY[..i].iter().all(|m| m.name != metric.name), "{} twice", metric.name);
        check_entry(metric.name, metric.summary, metric.source);
        assert!(metric.unit == "1" || matches!(metric.bound, Bound::NotNegative | Bound::Goodput), "{}: a share has no unit", metric.name);
        assert!(metric.bound != Bound::Goodput || metric.unit == "bit/s", "{}: a goodput is a rate", metric.name);
        let suffix = match metric.unit {
            "bit/s" => "_bps",
            "s" => "_s",
            "1" => "",
            "MHz/(Mbit/s)" => "_per_mbps",
            "byte" => "_bytes",
            "1/min" => "_per_minute",
            other => panic!("{}: unknown unit {other}", metric.name),
        };
        assert!(metric.name.ends_with(suffix), "{} does not end with {suffix}", metric.name);
        assert!(!metric.source.is_empty() && !metric.summary.is_empty());
    }
}

/// A flow up through a link of 1 MB/s whose queue stands from second 4 on, and one down that a window holds.
#[test]
fn rfc_6349_is_worked_out_by_direction() {
    let mut e = experiment(&vec![Traffic::bulk(); 2]);
    e.flows[1].from = e.flows[0].to;
    e.flows[1].to = e.flows[0].from;
    let host = |at: &str| LiveHost { at: at.to_owned(), key: None };
    e.live = Some(Live {
        hosts: vec![host(Live::LOCAL), host("192.0.2.1")],
        uncontrolled: Vec::new(),
        survey: false,
        capture: false,
        spread: Duration::ZERO,
    });
    let ms = |ms: u64| Time::from_ps(1_000_000_000 * ms);
    let rtt = RttRecord { min_s: 0.04, mean_s: 0.1, ..RttRecord::default() };
    let flow = |sent: u64, again: u64, limited_s| FlowRecord {
        rtt,
        total: FlowCounts { sent, retransmitted: again, arrived: sent - again, limited_s, ..FlowCounts::default() },
        ..FlowRecord::default()
    };
    // 8 s at the full rate, of 10.
    let up = flow(8_080_000, 80_000, [9.0, 0.5, 0.5, 0.0, 0.0]);
    let down = flow(1_000_000, 0, [1.0, 8.0, 0.0, 0.0, 0.0]);
    let bytes = |tenth: u64| if tenth <= 40 { 50_000 * tenth } else { 100_000 * (tenth - 20) };
    let samples = (0..=100).flat_map(|tenth| {
        [(0, bytes(tenth)), (1, 10_000 * tenth)].map(|(flow, bytes_arrived)| FlowSample {
            time: ms(100 * tenth),
            flow,
            bytes_arrived,
            ..FlowSample::default()
        })
    });
    let probes = ProbeRecord { arrived: 9, idle_count: 9, loaded_count: 9, loaded: [ms(50), ms(60), ms(61)], ..ProbeRecord::default() };
    let trace = Trace {
        flows: vec![up, down],
        links: vec![LinkRecord::default(); 2],
        end: at(10),
        flow_series: samples.collect::<Vec<_>>().into(),
        real_time: Some(RealTime { base_rtt: [ms(50), ms(50)], probes: [probes; 2], ..RealTime::default() }),
        ..Trace::default()
    };
    let get = |name| value(name, Scope::Run, &e, &trace);
    assert!((get("tcp_efficiency_up") - 8.0 / 8.08).abs() < 1e-12);
    assert_eq!(get("tcp_efficiency_down"), 1.0);
    assert!((get("buffer_delay_up") - 1.5).abs() < 1e-12, "over the least of all, the flow's own 40 ms");
    assert!((get("path_goodput_up_bps") - 8e6).abs() < 1.0);
    assert!((get("transfer_time_ratio_up") - 10.0 / 8.0).abs() < 1e-9);
    assert!(get("transfer_time_ratio_down").is_nan(), "a window held it");
    let mut simulated = trace.clone();
    simulated.real_time = None;
    let named = |name: &str| REGISTRY.iter().find(|metric| metric.name == name).unwrap();
    assert_eq!((named("tcp_efficiency_up").compute)(&e, &simulated), []);
    let mut clocks = trace.clone();
    assert_eq!((named("one_way_delay_up_s").compute)(&e, &clocks), [], "nobody synchronises the clocks");
    let real = clocks.real_time.as_mut().unwrap();
    (real.one_way, real.one_way_error) = ([ms(20), ms(0)], [ms(1), ms(3)]);
    let names = ["one_way_delay_up_s", "one_way_delay_down_s", "one_way_delay_error_s", "one_way_delay_error_max_s"];
    assert_eq!(names.map(|name| value(name, Scope::Run, &e, &clocks)), [0.02, 0.0, 0.001, 0.003]);
    let mut short = trace;
    short.real_time.as_mut().unwrap().probes[0].loaded[1] = ms(0);
    assert!(value("transfer_time_ratio_up", Scope::Run, &e, &short).is_nan(), "no queue stood");
}

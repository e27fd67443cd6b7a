//! Whole runs: their results, that these are the same each time, and that they add up.

use std::fmt::Write;

use longfat_core::link::loss;
use longfat_core::params::{Choice, Kind, Params, Value};
use longfat_core::queue;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::{Capacity, Rate};
use longfat_model::{Experiment, Link, Node, NodeKind};
use longfat_record::trace::{EventKind, Series, Trace};

use crate::engine::world::World;
use crate::run;
use longfat_model::dumbbell::{Dumbbell, droptail, tcp};

/// A volume of 2 MB for each of `pairs` flows over 10 Mb/s and 20 ms.
pub(super) fn volumes(pairs: usize) -> Dumbbell {
    Dumbbell { pairs, traffic: Traffic::ttcp(2_000_000), duration: Duration::from_secs(100), ..Dumbbell::default() }
}

/// Two flows through a small queue over a bad line, everything measured.
fn rough() -> Experiment {
    let loss = loss::choice("bernoulli").with(&[("probability", Value::Number(0.01)), ("corruption", Value::Number(0.01))]);
    let mut experiment = Dumbbell { loss, queue: droptail(Capacity::Packets(10)), ..volumes(2) }.experiment();
    experiment.measure.interval = Some(Duration::from_millis(500));
    experiment.measure.events = true;
    experiment
}

/// A trace as a table that a person can judge.
fn describe(experiment: &Experiment, trace: &Trace) -> String {
    let mut text =
        format!("end {} s, measured {} to {} s\n", trace.end.as_secs_f64(), trace.span.0.as_secs_f64(), trace.span.1.as_secs_f64());
    text += "flow  delivered at  payload Mb/s  sent  resent  fast rtx  rto  dropped  rtt min/mean/max ms\n";
    for (i, flow) in trace.flows.iter().enumerate() {
        let done = flow.delivered_all.unwrap_or(trace.end).as_secs_f64();
        let rate = flow.total.delivered as f64 * 8e-6 / done;
        let rtt = format!("{:.1}/{:.1}/{:.1}", flow.rtt.min_s * 1e3, flow.rtt.mean_s * 1e3, flow.rtt.max_s * 1e3);
        let (sent, again) = (flow.total.segments_sent, flow.total.segments_retransmitted);
        let (fast, rto, dropped) = (flow.fast_retransmits, flow.timeouts, flow.total.packets_dropped);
        writeln!(text, "{i:4}  {done:10.3} s  {rate:12.3}  {sent:4}  {again:6}  {fast:8}  {rto:3}  {dropped:7}  {rtt}").unwrap();
    }
    text += "link           in     out  busy %  queue max  mean  drops\n";
    for link in &trace.links {
        let busy = 100.0 * link.busy_s / trace.span.1.since(trace.span.0).as_secs_f64();
        let (name, packets_in, out, max) = (&link.name, link.packets_in, link.packets_delivered, link.queue_max_packets);
        writeln!(text, "{name:11} {packets_in:5}  {out:6}  {busy:6.2}  {max:9}  {:4.1}  {:?}", link.queue_mean_packets, link.drops)
            .unwrap();
    }
    for warning in super::warnings(experiment, trace, None) {
        writeln!(text, "warning: {warning}").unwrap();
    }
    text
}

/// A run as such a table.
fn described(experiment: &Experiment) -> String {
    describe(experiment, &run(experiment).unwrap())
}

#[test]
fn a_handshake_takes_what_it_takes() {
    let trace = run(&volumes(1).experiment()).unwrap();
    // SYN and SYN-ACK are of 40 bytes, MSS 4, timestamps with SACK-permitted 12, window scale 4: 60 bytes, which take 480 ns
    // on each of two edges and 48 us on the bottleneck. There and back: 20 ms + 2 (48 us + 2 x 480 ns).
    assert_eq!(trace.flows[0].established, Some(Time::from_ps(20_097_920_000)));
}

#[test]
fn events_at_one_time_come_in_the_order_of_the_links() {
    // Both SYNs reach the router at the same picosecond; that of the first edge goes first, the other waits for its 48 us.
    let trace = run(&volumes(2).experiment()).unwrap();
    let established = |flow: usize| trace.flows[flow].established.unwrap().as_ps();
    assert_eq!(established(0), 20_097_920_000);
    assert_eq!(established(1), established(0) + 48_000_000);
    assert_eq!(trace.links[1].queue_max_packets, 0, "a SYN-ACK that arrives as the one before it has just left does not wait");
}

#[test]
fn a_router_knows_by_which_port_a_packet_came_in() {
    let experiment = volumes(3).experiment();
    let mut world = World::new(&experiment).unwrap();
    world.run(Time::from_ps(500_000_000), u64::MAX);
    // The three SYNs are on the edges into the left router, whose port 0 is the bottleneck's other way.
    let seen: Vec<(u16, u32)> = [2, 6, 10]
        .into_iter()
        .map(|edge| world.on_wire(edge).next().map(|id| &world.context.packets[id]).unwrap())
        .map(|p| (p.ingress, p.route))
        .collect();
    assert_eq!(seen.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(seen[0].1 != seen[1].1 && seen[1].1 != seen[2].1, "a queue may tell flows apart by their routes");
}

/// Two bottlenecks in a row: the long flow crosses both, the short ones one each.
#[test]
fn a_parking_lot() {
    let mut experiment = Dumbbell { pairs: 3, duration: Duration::from_secs(60), ..Dumbbell::default() }.experiment();
    let network = &mut experiment.network;
    let end = network.nodes.len();
    network.nodes.push(Node { name: "end".into(), kind: NodeKind::Router });
    let second = |name: &str, from, to, like: usize| Link { name: name.into(), from, to, ..network.links[like].clone() };
    let more = [second("second>", 1, end, 0), second("second<", end, 1, 1)];
    network.links.extend(more);
    // Receivers 1 and 3 hang on the far router; sender 3 hangs on the middle one.
    for link in &mut network.links {
        match link.name.as_str() {
            "receiver1>" | "receiver3>" => link.from = end,
            "receiver1<" | "receiver3<" => link.to = end,
            "sender3>" => link.to = 1,
            "sender3<" => link.from = 1,
            _ => {}
        }
    }
    insta::assert_snapshot!(described(&experiment));
}

#[test]
fn one_flow() {
    insta::assert_snapshot!(described(&volumes(1).experiment()));
}

#[test]
fn four_flows_of_1994() {
    let dumbbell = Dumbbell { tcp: tcp("bsd-reno-1994"), ..volumes(4) };
    insta::assert_snapshot!(described(&dumbbell.experiment()));
}

#[test]
fn a_bad_line() {
    insta::assert_snapshot!(described(&rough()));
}

/// `assert_eq` on traces would fail on a NaN, and where it fails it should show where.
fn assert_same(a: &Trace, b: &Trace) {
    let lines = |trace: &Trace| format!("{trace:#?}");
    for (a, b) in lines(a).lines().zip(lines(b).lines()) {
        assert_eq!(a, b);
    }
    assert_eq!(lines(a).len(), lines(b).len());
}

#[test]
fn the_same_experiment_gives_the_same_trace() {
    let experiment = rough();
    assert_same(&run(&experiment).unwrap(), &run(&experiment).unwrap());
    let other = run(&Experiment { seed: 2, ..experiment.clone() }).unwrap();
    assert_ne!(other.end, run(&experiment).unwrap().end, "another seed loses other packets");
}

#[test]
fn measuring_changes_nothing() {
    let measured = run(&rough()).unwrap();
    let mut experiment = rough();
    experiment.measure.interval = None;
    experiment.measure.events = false;
    let plain = run(&experiment).unwrap();
    assert!(measured.flow_series.len() > 2 && measured.link_series.len() > 2 && !measured.events.is_empty());
    let Trace { steps, packets_in_network_max, .. } = plain;
    let stripped =
        Trace { flow_series: Series::default(), link_series: Series::default(), events: vec![], steps, packets_in_network_max, ..measured };
    assert_same(&stripped, &plain);
}

#[test]
fn events_add_up_to_the_counters_and_come_in_order() {
    let trace = run(&rough()).unwrap();
    assert!(trace.events.is_sorted_by_key(|event| event.time));
    let count = |is: &dyn Fn(EventKind) -> bool| trace.events.iter().filter(|event| is(event.kind)).count() as u64;
    let drops: u64 = trace.links.iter().flat_map(|link| &link.drops).map(|(_, n)| n).sum();
    assert_eq!(count(&|kind| matches!(kind, EventKind::Dropped(_))), drops);
    assert_eq!(trace.flows.iter().map(|flow| flow.total.packets_dropped).sum::<u64>(), drops);
    assert_eq!(count(&|kind| kind == EventKind::Timeout), trace.flows.iter().map(|flow| flow.timeouts).sum::<u64>());
    assert_eq!(count(&|kind| kind == EventKind::FastRetransmit), trace.flows.iter().map(|flow| flow.fast_retransmits).sum::<u64>());
    assert!(trace.events.iter().all(|event| event.seq <= 2_000_000), "offsets are within the volume");
}

/// RFC 9293 §3.8.3: a flow that nothing answers says so, with an event and a warning, and costs nothing from then on.
#[test]
fn the_series_is_even_and_ends_with_the_run() {
    let trace = run(&rough()).unwrap();
    let times: Vec<_> = trace.flow_series.iter().filter(|sample| sample.flow == 1).map(|sample| sample.time).collect();
    let (last, even) = times.split_last().unwrap();
    assert!(even.iter().enumerate().all(|(i, time)| time.as_ps() == i as u64 * 500_000_000_000));
    assert_eq!(*last, trace.end);
    let bottleneck: Vec<_> = trace.link_series.iter().filter(|sample| sample.link == 0).collect();
    assert_eq!(bottleneck.len(), times.len());
    assert_eq!(bottleneck.last().unwrap().wire_bytes, trace.links[0].wire_bytes);
    assert!(bottleneck.iter().all(|sample| sample.backlog_packets <= trace.links[0].queue_max_packets));
}

/// The audit of every run checks conservation; here every queue and loss at once gives it something to count.
#[test]
fn every_queue_keeps_its_books() {
    for kind in queue::REGISTRY {
        let mut params = Params::defaults(kind.params);
        for required in kind.params.iter().filter(|spec| spec.default.is_none()) {
            let value = match required.kind {
                Kind::Capacity => Value::Capacity(Capacity::Packets(20)),
                Kind::Count { .. } => Value::Count(20),
                Kind::Bytes { .. } => Value::Bytes(2048),
                other => panic!("{}: {} is a {other:?}", kind.name, required.name),
            };
            params.set(required.name, value);
        }
        if ["fq", "hhf", "sfq"].contains(&kind.name) {
            // Their own limits are more than three flows fill in the time.
            params.set("limit", Value::Capacity(Capacity::Packets(20)));
        }
        let queue = Choice { kind: kind.name, params };
        let loss = loss::choice("gilbert_elliott").with(&[("p", Value::Number(0.001)), ("r", Value::Number(0.2))]);
        let mut experiment = Dumbbell { pairs: 3, queue, loss, duration: Duration::from_secs(5), ..Dumbbell::default() }.experiment();
        // Cut off in the middle, with packets everywhere; and one flow the other way.
        let flow = &mut experiment.flows[2];
        (flow.from, flow.to) = (flow.to, flow.from);
        let trace = run(&experiment).unwrap();
        assert!(trace.links[0].packets_lost > 0 && trace.links[0].packets_in_flight > 0, "{}", kind.name);
        assert!(
            trace.links[0].drops.iter().map(|(_, n)| n).sum::<u64>() > trace.links[0].packets_lost,
            "{}: nothing overflowed",
            kind.name
        );
        // (pie needs seconds to forget the probability that slow start has left it with: RFC 8033's allowance lets 150 ms of that in.)
        let least = if kind.name.ends_with("pie") { 2.0 } else { 3.0 };
        assert!(trace.links[0].busy_s > least, "{}: {} s", kind.name, trace.links[0].busy_s);
    }
}

#[test]
fn two_equal_flows_share_alike_in_the_long_run() {
    let dumbbell = Dumbbell { pairs: 2, duration: Duration::from_secs(300), ..Dumbbell::default() };
    let trace = run(&dumbbell.experiment()).unwrap();
    let (a, b) = (trace.flows[0].total.delivered as f64, trace.flows[1].total.delivered as f64);
    // Chiu and Jain (1989): additive increase with multiplicative decrease converges to equal shares.
    assert!((a - b).abs() / a.max(b) < 0.2, "{a} and {b}");
    assert!(trace.links[0].busy_s > 0.98 * 300.0);
}

#[test]
fn bulk_flows_are_measured_after_the_warmup() {
    let mut experiment = Dumbbell { duration: Duration::from_secs(20), ..Dumbbell::default() }.experiment();
    experiment.measure.warmup = Duration::from_secs(10);
    let trace = run(&experiment).unwrap();
    assert_eq!(trace.span, (Time::from_ps(10_000_000_000_000), Time::from_ps(20_000_000_000_000)));
    let flow = &trace.flows[0];
    // A queue of one BDP (16 packets) keeps the link busy but for a moment after each halving, which is to whole segments;
    // and 1448 of 1500 bytes are payload.
    let rate = (flow.total.delivered - flow.at_warmup.delivered) as f64 * 8.0 / 10.0;
    assert!((rate / (1e7 * 1448.0 / 1500.0) - 1.0).abs() < 0.02, "{rate}");
    assert!((9.8..=10.0).contains(&trace.links[0].busy_s), "{}", trace.links[0].busy_s);
}

#[test]
fn flows_that_start_later_start_later() {
    let mut experiment = volumes(2).experiment();
    experiment.flows[1].start = Duration::from_secs(3);
    let trace = run(&experiment).unwrap();
    assert_eq!(trace.flows[1].established, Some(Time::from_ps(3_020_097_920_000)), "the first flow is done by then");
}

#[test]
fn ten_thousand_connections() {
    let dumbbell = Dumbbell { pairs: 10_000, rate: Rate::from_bps(1_000_000_000), duration: Duration::from_secs(1), ..Dumbbell::default() };
    let trace = run(&dumbbell.experiment()).unwrap();
    assert_eq!(trace.flows.len(), 10_000);
    assert!(trace.links[0].busy_s > 0.9, "{}", trace.links[0].busy_s);
}

/// Weigle and Feng 2001 §IV-A: packets acknowledged in 200 s of a flow whose window is 64 KB, on three links each way. Here a round
/// trip for the handshake comes before.
#[test]
fn a_window_of_64_kb_has_the_packets_of_the_right_sizing_study() {
    for (mbps, delay, packets) in [(100, 10, 145_527), (1000, 16, 91_407)] {
        let (rate, delay) = (Rate::from_bps(mbps * 1_000_000), Duration::from_millis(delay));
        let mut tcp = tcp("reno-2001");
        tcp.receive_buffer = 64 << 10;
        let dumbbell = Dumbbell {
            rate,
            edge_rate: rate,
            edge_delay: delay,
            rtt: delay * 6,
            queue: droptail(Capacity::Packets(100)),
            tcp,
            duration: Duration::from_secs(200) + delay * 6,
            ..Dumbbell::default()
        };
        let flow = &run(&dumbbell.experiment()).unwrap().flows[0];
        assert_eq!((flow.acks_received, flow.in_flight_max), (packets, 44 * 1460));
    }
}

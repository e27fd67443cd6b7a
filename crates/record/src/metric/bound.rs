//! Bounds of metrics: the range in which each value lies, whatever the network.

use super::link_time::time_of;
use super::{REGISTRY, Scope, measured};
use crate::trace::Trace;
use longfat_core::link::Passage;
use longfat_core::time::Time;
use longfat_core::traffic::Rank;
use longfat_model::route::Routes;
use longfat_model::{Experiment, Flow};
use longfat_tcp::window_sizing::bounds;

/// Bound of a metric's values. A metric without a value is NaN; no metric is ever infinite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Values from 0 to 1.
    Share,
    /// Values from -1 to 1.
    Balance,
    /// Values from 0.
    NotNegative,
    /// Values from 0 to the payload rate of the slowest link of each path, in bit/s.
    Goodput,
}

impl Bound {
    /// The least value, and the greatest where that does not hang on the network.
    pub fn ends(self) -> (f64, f64) {
        match self {
            Bound::Share => (0.0, 1.0),
            Bound::Balance => (-1.0, 1.0),
            Bound::NotNegative | Bound::Goodput => (0.0, f64::INFINITY),
        }
    }
}

/// Every value of the metrics of `trace` that is out of its bounds or not there where it must be, and every counter that
/// contradicts another, in words. There is none, whatever the network: the tests ask.
pub fn impossible(experiment: &Experiment, trace: &Trace) -> Vec<String> {
    let mut found = contradictions(trace);
    for metric in REGISTRY {
        for (scope, value) in (metric.compute)(experiment, trace) {
            let (least, most) = match (metric.bound, scope) {
                (Bound::Goodput, Scope::Flow(i)) => (0.0, most_goodput(experiment, trace, &[i])),
                (Bound::Goodput, Scope::Sender(sender)) => {
                    let streams: Vec<usize> = (0..trace.flows.len()).filter(|i| experiment.flows[*i].stream_of == sender).collect();
                    (0.0, most_goodput(experiment, trace, &streams))
                }
                (Bound::Goodput, _) => (0.0, most_goodput(experiment, trace, &measured(experiment))),
                (bound, _) => bound.ends(),
            };
            // Sums of floating-point numbers.
            let slack = 1e-9 * (1.0 + if most.is_finite() { most } else { 0.0 });
            if value.is_infinite() || value < least - slack || value > most + slack {
                found.push(format!("{} of {scope:?} is {value}, not from {least} to {most}", metric.name));
            }
            if value.is_nan() && has_value(experiment, trace, metric.name, scope) {
                found.push(format!("{} of {scope:?} has no value", metric.name));
            }
        }
    }
    found
}

/// True if the metric `name` has a value of `scope` for certain.
fn has_value(experiment: &Experiment, trace: &Trace, name: &str, scope: Scope) -> bool {
    let has_span = trace.span.0 < trace.span.1;
    // A flow that only retransmitted since the warmup has no distinct segment.
    let sent = |i: usize| {
        let counts = trace.flows[i].measured();
        counts.segments_sent > counts.segments_retransmitted
    };
    let warmup = Time::ZERO + experiment.measure.warmup;
    match (name, scope) {
        ("goodput_bps", Scope::Flow(i)) => {
            let flow = &trace.flows[i];
            let is_measured = flow.delivered_all.unwrap_or(trace.end) > flow.start.max(warmup);
            experiment.flows[i].traffic.rank() < Rank::Probe && is_measured
        }
        ("goodput_total_bps", _) => {
            let all = measured(experiment);
            all.iter().any(|i| has_value(experiment, trace, "goodput_bps", Scope::Flow(*i)))
        }
        ("retransmit_share", Scope::Flow(i)) => trace.flows[i].measured().sent > 0,
        ("retransmission_rate", Scope::Flow(i)) => sent(i),
        ("retransmission_rate", _) => measured(experiment).into_iter().any(sent),
        ("loss_share", Scope::Link(i)) => trace.links[i].packets_in_in_span > 0,
        ("utilization" | "good_share" | "duplicate_share" | "dead_share" | "idle_share", _) => has_span,
        ("bottleneck_utilization" | "effective_throughput", _) => has_span && experiment.network.links.iter().any(|link| link.bottleneck),
        _ => false,
    }
}

/// Counters of which one says more than another allows.
fn contradictions(trace: &Trace) -> Vec<String> {
    let mut found = Vec::new();
    let mut at_most = |what: String, few: u64, many: u64| {
        if few > many {
            found.push(format!("{what}: {few} of {many}"));
        }
    };
    for (i, flow) in trace.flows.iter().enumerate() {
        let fresh = flow.total.sent.saturating_sub(flow.total.retransmitted);
        at_most(format!("flow {i}: bytes retransmitted"), flow.total.retransmitted, flow.total.sent);
        at_most(format!("flow {i}: segments retransmitted"), flow.total.segments_retransmitted, flow.total.segments_sent);
        at_most(format!("flow {i}: bytes delivered, of those that arrived"), flow.total.delivered, flow.total.arrived);
        at_most(format!("flow {i}: bytes arrived, of those sent"), flow.total.arrived, fresh);
        at_most(format!("flow {i}: bytes arrived in the span"), flow.bytes_arrived_in_span, flow.total.arrived);
        at_most(format!("flow {i}: duplicate bytes in the span"), flow.bytes_duplicate_in_span, flow.total.duplicate);
        let before = &flow.at_warmup;
        for (what, early, all) in [
            ("bytes delivered", before.delivered, flow.total.delivered),
            ("bytes arrived", before.arrived, flow.total.arrived),
            ("duplicate bytes", before.duplicate, flow.total.duplicate),
            ("bytes sent", before.sent, flow.total.sent),
            ("bytes retransmitted", before.retransmitted, flow.total.retransmitted),
            ("segments sent", before.segments_sent, flow.total.segments_sent),
            ("segments retransmitted", before.segments_retransmitted, flow.total.segments_retransmitted),
            ("packets dropped", before.packets_dropped, flow.total.packets_dropped),
        ] {
            at_most(format!("flow {i}: {what} at the warmup"), early, all);
        }
    }
    for link in &trace.links {
        at_most(format!("link {}: packets in the span", link.name), link.packets_in_in_span, link.packets_in);
        let dropped = link.drops.iter().map(|(_, n)| n).sum();
        at_most(format!("link {}: drops in the span", link.name), link.packets_dropped_in_span, dropped);
    }
    found
}

/// The most bytes that can have been under way at once behind the queue of the first of `path`, on the way to `host`: on the wires and in
/// the queues of the rest. Infinite where a wire, a route or the host holds packets for a time that varies.
fn beyond(experiment: &Experiment, trace: &Trace, host: usize, path: &[usize]) -> f64 {
    let network = &experiment.network;
    let is_plain = path.iter().all(|link| network.links[*link].unsteady.passage == Passage::default() && !network.links[*link].cells);
    if !is_plain || !network.moves.is_empty() || experiment.hosts.iter().any(|said| said.node == host) {
        return f64::INFINITY;
    }
    let wires = path.iter().map(|link| {
        let link = &network.links[*link];
        link.greatest_bps() * link.delay.as_secs_f64() / 8.0 + 2.0 * f64::from(link.mtu)
    });
    let queues = path[1..].iter().map(|link| trace.links[*link].queue_max_bytes as f64);
    wires.chain(queues).sum()
}

/// Returns the upper bound of the payload per second of `flows` together, in bit/s. Each flow carries at most the rate of its path's
/// slowest link in full packets, and flows that share it carry no more than that link. Packets in flight to them at the end of the warmup
/// count too.
fn most_goodput(experiment: &Experiment, trace: &Trace, flows: &[usize]) -> f64 {
    if experiment.live.is_some() {
        // Nobody knows the path.
        return f64::INFINITY;
    }
    let routes = Routes::new(&experiment.network);
    let network = &experiment.network;
    let alone = |flow: &Flow, link: usize| {
        let link = &network.links[link];
        8.0 / time_of(link, flow) * link.greatest_bps() / link.rate.as_bps() as f64
    };
    // Packets that wait in front of a link continue after routes have moved to other links.
    let rate = |flow: &Flow, link: usize| {
        let mut links: Vec<usize> = network.moves.iter().filter(|step| step.link == link).map(|step| step.by).chain([link]).collect();
        links.sort_unstable();
        links.dedup();
        links.into_iter().map(|link| alone(flow, link)).sum::<f64>()
    };
    let mut slowest: Vec<(usize, f64)> = Vec::new();
    let mut under_way = 0.0;
    let warmup = Time::ZERO + experiment.measure.warmup;
    let (mut from, mut to) = (Time::MAX, Time::ZERO);
    for &i in flows {
        let (flow, record) = (&experiment.flows[i], &trace.flows[i]);
        let path = routes.path(flow.from, flow.to).expect("every flow has a way");
        let place = (0..path.len()).min_by(|a, b| rate(flow, path[*a]).total_cmp(&rate(flow, path[*b]))).expect("a way has links");
        let link = path[place];
        match slowest.iter_mut().find(|(other, _)| *other == link) {
            Some((_, most)) => *most = most.max(rate(flow, link)),
            None => slowest.push((link, rate(flow, link))),
        }
        let is_whole = flow.is_measured_whole() || warmup <= record.start;
        if !is_whole {
            let window = bounds(&flow.sender).0.min(bounds(&flow.receiver).1);
            let size = flow.traffic.packet_size();
            let most = size.map_or(window, |size| trace.packets_in_network_max * u64::from(size)) as f64;
            under_way += most.min(beyond(experiment, trace, flow.to, &path[place..]));
        }
        from = from.min(if is_whole { record.start } else { warmup });
        to = to.max(record.delivered_all.unwrap_or(trace.end));
    }
    slowest.iter().map(|(_, rate)| rate).sum::<f64>() + if under_way > 0.0 { under_way * 8.0 / to.since(from).as_secs_f64() } else { 0.0 }
}

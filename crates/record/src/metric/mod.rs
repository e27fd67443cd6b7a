//! Metrics over a trace: one file each, one line in [`REGISTRY`].

mod asymmetry;
mod bound;
mod completion;
mod convergence;
mod copied;
mod cpu;
mod effective;
pub(crate) mod goodput;
mod host_memory;
mod jain;
mod limits;
mod link_time;
mod loss;
mod memory_fairness;
mod path;
mod ping;
mod probes;
mod queue_delay;
mod retransmit;
mod rfc6349;
mod rtt;
mod slowdown;
mod stability;
mod starved;
mod synchronization;
mod ttcp;
mod udp;
mod unfairness;
mod utilization;
mod write_delay;

pub use bound::{Bound, impossible};

use crate::trace::{FlowSample, Trace};
use longfat_core::time::Time;
use longfat_core::traffic::Rank;
use longfat_model::Experiment;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Subject of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The whole run.
    Run,
    /// One flow, by its index.
    Flow(usize),
    /// One sender, by its number: the parallel streams of a flow with `streams` are one.
    Sender(usize),
    /// One one-way link, by its index.
    Link(usize),
    /// One host that the experiment describes, by its index.
    Host(usize),
}

/// One metric.
pub struct Metric {
    /// Column in the results; ends with the unit where there is one.
    pub name: &'static str,
    /// `bit/s`, `s`, `MHz/(Mbit/s)`, `byte`, or `1` for a share.
    pub unit: &'static str,
    /// Bounds of its values, whatever the network.
    pub bound: Bound,
    /// Description in one line.
    pub summary: &'static str,
    /// Source that defined it.
    pub source: &'static str,
    /// Function that computes its values; NaN where a run gives none (a flow that did not finish).
    pub compute: fn(&Experiment, &Trace) -> Vec<(Scope, f64)>,
}

/// Every metric, in the order of columns.
pub const REGISTRY: &[Metric] = &[
    goodput::GOODPUT,
    goodput::SENDER,
    goodput::TOTAL,
    goodput::DEVIATION,
    stability::STABILITY,
    completion::COMPLETION,
    slowdown::FLOW,
    slowdown::P50,
    slowdown::P95,
    slowdown::P99,
    slowdown::SLOWDOWN_P50,
    slowdown::SLOWDOWN_P99,
    ttcp::RATE,
    ttcp::UTILIZATION,
    utilization::LINK,
    utilization::BOTTLENECK,
    unfairness::UNFAIRNESS,
    jain::JAIN,
    convergence::TIME,
    memory_fairness::PROPORTION,
    memory_fairness::FAIRNESS,
    asymmetry::ASYMMETRY,
    starved::FLOWS,
    synchronization::CWND,
    effective::THROUGHPUT,
    retransmit::SHARE,
    retransmit::RATE,
    copied::SHARE,
    loss::SHARE,
    loss::CELLS,
    link_time::GOOD,
    link_time::DUPLICATE,
    link_time::DEAD,
    link_time::IDLE,
    queue_delay::MEAN,
    queue_delay::BOTTLENECK,
    queue_delay::BOTTLENECK_P50,
    queue_delay::BOTTLENECK_P95,
    queue_delay::BOTTLENECK_P99,
    queue_delay::BOTTLENECK_MAX,
    rtt::MEAN,
    rtt::P50,
    rtt::P95,
    rtt::P99,
    rtt::MAX,
    rtt::LOADED_PER_MINUTE,
    limits::CWND,
    limits::RWND,
    limits::SNDBUF,
    limits::PACING,
    limits::HOST,
    limits::APPLICATION,
    write_delay::MEAN,
    ping::MEAN,
    ping::DEVIATION,
    ping::LOSS,
    udp::LOSS,
    udp::JITTER,
    path::BASE_RTT_BEFORE,
    path::BASE_RTT_AFTER,
    path::ONE_WAY_UP,
    path::ONE_WAY_DOWN,
    path::ONE_WAY_ERROR,
    path::ONE_WAY_ERROR_MAX,
    path::MTU_UP,
    path::MTU_DOWN,
    rfc6349::PATH_UP,
    rfc6349::PATH_DOWN,
    rfc6349::EFFICIENCY_UP,
    rfc6349::EFFICIENCY_DOWN,
    rfc6349::BUFFER_DELAY_UP,
    rfc6349::BUFFER_DELAY_DOWN,
    rfc6349::TIME_RATIO_UP,
    rfc6349::TIME_RATIO_DOWN,
    probes::UP_P50,
    probes::UP_P95,
    probes::UP_P99,
    probes::UP_IDLE_P50,
    probes::UP_IDLE_P95,
    probes::DOWN_P50,
    probes::DOWN_P95,
    probes::DOWN_P99,
    probes::DOWN_IDLE_P50,
    probes::DOWN_IDLE_P95,
    probes::LOSS_UP,
    probes::LOSS_DOWN,
    probes::TIMER_ERROR_P50,
    probes::TIMER_ERROR_P99,
    cpu::SENDER,
    cpu::RECEIVER,
    cpu::MHZ_PER_MBPS,
    host_memory::PROMISED_MEAN,
    host_memory::PROMISED_PEAK,
    host_memory::BUFFERED_MEAN,
    host_memory::BUFFERED_PEAK,
    host_memory::WASTED_MEAN,
    host_memory::WASTED_PEAK,
    host_memory::DROPS,
];

/// Returns the flows that a run is about: those of the first [`Rank`] there is. Other flows are background, and a probe is never measured.
fn measured(experiment: &Experiment) -> Vec<usize> {
    let rank = |i: usize| experiment.flows[i].traffic.rank();
    let flows = 0..experiment.flows.len();
    let first = flows.clone().map(rank).min().unwrap_or(Rank::Probe);
    // Payload that a proxy sends on has yet to arrive.
    let relayed: BTreeSet<usize> = experiment.relays().into_iter().map(|(from, _)| from).collect();
    flows.filter(|i| rank(*i) == first && first < Rank::Probe && !relayed.contains(i)).collect()
}

/// The measured flows by sender, in the order of the file: parallel streams are one sender.
fn senders(experiment: &Experiment) -> Vec<Vec<usize>> {
    let number = |i: &usize| experiment.flows[*i].stream_of;
    measured(experiment).chunk_by(|a, b| number(a) == number(b)).map(<[usize]>::to_vec).collect()
}

/// Payload rates of the measured senders, in bit/s: volume over completion time, or goodput where there is no volume. Flows that draw their
/// volumes are left out: each has a size of its own, and no share of the path is due to it.
fn measured_rates(experiment: &Experiment, trace: &Trace) -> Vec<f64> {
    let rate = |streams: &Vec<usize>| match experiment.flows[streams[0]].traffic.volume() {
        Some(volume) => ttcp::rate(volume, streams.iter().map(|i| &trace.flows[*i])),
        None => goodput::of_flows(experiment, trace, streams),
    };
    let alike = |streams: &&Vec<usize>| !experiment.flows[streams[0]].traffic.is_drawn();
    senders(experiment).iter().filter(alike).map(rate).collect()
}

/// While all of `flows` were measured: between the warmup (or the last start) and the first end.
fn measured_while(experiment: &Experiment, trace: &Trace, flows: &[usize]) -> RangeInclusive<Time> {
    let starts = flows.iter().map(|i| trace.flows[*i].start);
    let from = starts.fold(Time::ZERO + experiment.measure.warmup, Time::max);
    let to = flows.iter().filter_map(|i| trace.flows[*i].delivered_all).fold(trace.end, Time::min);
    from..=to
}

/// Calls `each` with the time of each sample of the series, and with the samples of all flows. The series may be larger than memory.
fn each_sample(experiment: &Experiment, trace: &Trace, each: &mut dyn FnMut(Time, &[FlowSample])) {
    trace.flow_series.each_group(experiment.flows.len().max(1), &mut |flows| each(flows[0].time, flows));
}

/// Payload rate of each of the `groups` of flows in each whole interval of the series in which all of the group were measured, in
/// bit/s. None without a series.
fn interval_rates(experiment: &Experiment, trace: &Trace, groups: &[&[usize]]) -> Vec<Vec<f64>> {
    let mut rates = vec![Vec::new(); groups.len()];
    let Some(interval) = experiment.measure.interval else { return rates };
    let spans: Vec<_> = groups.iter().map(|flows| measured_while(experiment, trace, flows)).collect();
    let mut before: Vec<Option<(Time, u64)>> = vec![None; groups.len()];
    each_sample(experiment, trace, &mut |now, samples| {
        for (i, flows) in groups.iter().enumerate().filter(|(i, _)| spans[*i].contains(&now)) {
            let total = flows.iter().map(|flow| samples[*flow].bytes_arrived).sum();
            // The last sample may come before its time: the run was over.
            if let Some((_, bytes)) = before[i].replace((now, total)).filter(|(time, _)| now.since(*time) == interval) {
                rates[i].push((total - bytes) as f64 * 8.0 / interval.as_secs_f64());
            }
        }
    });
    rates
}

/// `part` over `whole`; NaN where there is no whole.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { f64::NAN }
}

/// Returns the length of the measured span, in seconds.
fn span_s(trace: &Trace) -> f64 {
    trace.span.1.since(trace.span.0).as_secs_f64()
}

/// Mean and standard deviation of `values`, the root of the mean square distance from the mean; NaN for fewer than two.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    if values.len() < 2 {
        return (f64::NAN, f64::NAN);
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / n).sqrt())
}

/// Rates of intervals that are in memory at once: 32 MB.
const RATES_AT_ONCE: usize = 1 << 22;

/// Applies `of` to each measured sender's interval rates, and to those of all senders together as the value of the run.
fn of_intervals(experiment: &Experiment, trace: &Trace, of: fn(&[f64]) -> f64) -> Vec<(Scope, f64)> {
    let (senders, all) = (senders(experiment), measured(experiment));
    let mut scopes: Vec<Scope> = senders.iter().map(|streams| Scope::Sender(experiment.flows[streams[0]].stream_of)).collect();
    scopes.push(Scope::Run);
    let groups: Vec<&[usize]> = senders.iter().chain([&all]).map(Vec::as_slice).collect();
    // Groups per pass: as many as keep their rates within memory, so that the series is read as rarely as possible.
    let samples = trace.flow_series.len() / experiment.flows.len().max(1);
    let some = groups.chunks((RATES_AT_ONCE / samples.max(1)).max(1));
    let values = some.flat_map(|groups| interval_rates(experiment, trace, groups)).map(|rates| of(&rates));
    scopes.into_iter().zip(values).collect()
}

/// Returns the least and the greatest of `values`; NaN when any is NaN or there are none.
fn extremes(values: &[f64]) -> (f64, f64) {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(*v), most.max(*v)))
}

#[cfg(test)]
mod tests;

//! Numbers of RFC 6349 section 4, of the measured flows of each direction between two real hosts.

use super::{Bound, Metric, Scope, each_sample, measured, measured_while, ratio};
use crate::trace::{FlowRecord, Trace};
use longfat_core::time::{Duration, Time};
use longfat_model::Experiment;
use longfat_tcp::LimitedBy;

/// Window of rates: this long, or [`TRIPS`] round trips.
const WINDOW: Duration = Duration::from_millis(500);
const TRIPS: u64 = 5;
/// Rate of a link that is busy: this quantile of the rates of all windows.
const BUSY: f64 = 0.9;
/// Wait of 95 of 100 probes from which a queue stood: this much, and [`IDLE`] times the wait before the flows.
const STANDS: Time = Time::from_ps(1_000_000_000);
const IDLE: u64 = 3;

/// A metric of the flows to the far host (0) or from it (1); none where no measured flow goes there.
macro_rules! number {
    ($name:literal, $unit:literal, $place:literal, $bound:expr, $section:literal, $of:ident, $summary:literal) => {
        Metric {
            name: $name,
            unit: $unit,
            bound: $bound,
            summary: concat!("between real hosts: ", $summary),
            source: concat!("RFC 6349 §", $section),
            compute: |experiment, trace| {
                let flows = flows(experiment, trace, $place);
                (!flows.is_empty()).then(|| (Scope::Run, $of(experiment, trace, $place, &flows))).into_iter().collect()
            },
        }
    };
}

pub(super) const EFFICIENCY_UP: Metric = number!(
    "tcp_efficiency_up",
    "1",
    0,
    Bound::Share,
    "4.2",
    efficiency,
    "share of the payload sent to the far host that was no retransmission, of the whole run"
);
pub(super) const EFFICIENCY_DOWN: Metric = number!(
    "tcp_efficiency_down",
    "1",
    1,
    Bound::Share,
    "4.2",
    efficiency,
    "share of the payload sent from the far host that was no retransmission, of the whole run"
);
pub(super) const BUFFER_DELAY_UP: Metric = number!(
    "buffer_delay_up",
    "1",
    0,
    Bound::NotNegative,
    "4.3",
    buffer_delay,
    "mean round trip of the flows to the far host over the idle one, less 1. Idle: the least of the handshakes before and of the flows"
);
pub(super) const BUFFER_DELAY_DOWN: Metric = number!(
    "buffer_delay_down",
    "1",
    1,
    Bound::NotNegative,
    "4.3",
    buffer_delay,
    "mean round trip of the flows from the far host over the idle one, less 1. Idle: the least of the handshakes before and of the flows"
);
pub(super) const TIME_RATIO_UP: Metric = number!(
    "transfer_time_ratio_up",
    "1",
    0,
    Bound::NotNegative,
    "4.1",
    time_ratio,
    "time of the flows to the far host over that of their bytes at the rate of the path; NaN where they did not fill it, or without a series"
);
pub(super) const TIME_RATIO_DOWN: Metric = number!(
    "transfer_time_ratio_down",
    "1",
    1,
    Bound::NotNegative,
    "4.1",
    time_ratio,
    "time of the flows from the far host over that of their bytes at the rate of the path; NaN where they did not fill it, or without a series"
);

pub(super) const PATH_UP: Metric = number!(
    "path_goodput_up_bps",
    "bit/s",
    0,
    Bound::NotNegative,
    "3.2",
    path_goodput,
    "payload rate of the full path to the far host: the 90th percentile of half seconds, or of five round trips; NaN where the flows did not fill it, or without a series"
);
pub(super) const PATH_DOWN: Metric = number!(
    "path_goodput_down_bps",
    "bit/s",
    1,
    Bound::NotNegative,
    "3.2",
    path_goodput,
    "payload rate of the full path from the far host: the 90th percentile of half seconds, or of five round trips; NaN where the flows did not fill it, or without a series"
);

/// The measured TCP flows of a direction.
fn flows(experiment: &Experiment, trace: &Trace, place: usize) -> Vec<usize> {
    let Some(live) = experiment.live.as_ref().filter(|_| trace.real_time.is_some()) else { return Vec::new() };
    let is_up = |i: &usize| experiment.flows[*i].from == live.local();
    // A flow without round trips is no TCP.
    let is_tcp = |i: &usize| !trace.flows[*i].rtt.mean_s.is_nan();
    measured(experiment).into_iter().filter(is_tcp).filter(|i| is_up(i) == (place == 0)).collect()
}

fn sum(trace: &Trace, flows: &[usize], of: impl Fn(&FlowRecord) -> f64) -> f64 {
    flows.iter().map(|i| of(&trace.flows[*i])).sum()
}

fn efficiency(_: &Experiment, trace: &Trace, _: usize, flows: &[usize]) -> f64 {
    1.0 - ratio(sum(trace, flows, |flow| flow.total.retransmitted as f64), sum(trace, flows, |flow| flow.total.sent as f64))
}

/// Section 4.3: (average RTT during the transfer - baseline RTT) / baseline RTT. NaN without a handshake before the flows.
fn buffer_delay(_: &Experiment, trace: &Trace, _: usize, flows: &[usize]) -> f64 {
    let before = trace.real_time.map_or(0.0, |real| real.base_rtt[0].as_secs_f64());
    let idle = flows.iter().map(|i| trace.flows[*i].rtt.min_s).fold(before, f64::min);
    ratio(sum(trace, flows, |flow| flow.rtt.mean_s) / flows.len() as f64, idle) - 1.0
}

fn time_ratio(experiment: &Experiment, trace: &Trace, place: usize, flows: &[usize]) -> f64 {
    let ends = flows.iter().map(|i| trace.flows[*i].delivered_all.unwrap_or(trace.end));
    let starts = flows.iter().map(|i| trace.flows[*i].start);
    let (Some(start), Some(end)) = (starts.min(), ends.max()) else { return f64::NAN };
    let arrived = sum(trace, flows, |flow| flow.total.arrived as f64);
    let took = end.max(start).since(start).as_secs_f64();
    took * ratio(path_goodput(experiment, trace, place, flows), 8.0 * arrived)
}

fn path_goodput(experiment: &Experiment, trace: &Trace, place: usize, flows: &[usize]) -> f64 {
    if fills(trace, place, flows) { 8.0 * rate(experiment, trace, flows) } else { f64::NAN }
}

/// True if the flows filled the path: their congestion windows were the limit, and a queue stood.
fn fills(trace: &Trace, place: usize, flows: &[usize]) -> bool {
    let limited = |by: LimitedBy| sum(trace, flows, |flow| flow.total.limited_s[by as usize]);
    let is_held = limited(LimitedBy::Rwnd) + limited(LimitedBy::SendBuffer) > limited(LimitedBy::Cwnd);
    let probes = trace.real_time.map(|real| real.probes[place]).filter(|probes| probes.loaded_count > 0 && probes.idle_count > 0);
    let stands = |loaded: Time, idle: Time| loaded >= STANDS && loaded.as_ps() >= IDLE * idle.as_ps();
    !is_held && probes.is_some_and(|probes| stands(probes.loaded[1], probes.idle[1]))
}

/// Bytes of payload per second that the path carries while its queue stands; NaN without a series that is long enough.
fn rate(experiment: &Experiment, trace: &Trace, flows: &[usize]) -> f64 {
    let span = measured_while(experiment, trace, flows);
    let mut arrived: Vec<(Time, u64)> = Vec::new();
    each_sample(experiment, trace, &mut |now, samples| {
        if span.contains(&now) && samples.len() == experiment.flows.len() {
            arrived.push((now, flows.iter().map(|i| samples[*i].bytes_arrived).sum()));
        }
    });
    let trip_s = flows.iter().map(|i| trace.flows[*i].rtt.min_s).fold(f64::INFINITY, f64::min);
    let window_s = WINDOW.as_secs_f64().max(TRIPS as f64 * trip_s);
    let mut end = 0;
    let mut rates = Vec::new();
    for (time, bytes) in &arrived {
        while end < arrived.len() && arrived[end].0.since(*time).as_secs_f64() < window_s {
            end += 1;
        }
        let Some((until, more)) = arrived.get(end) else { break };
        rates.push((more - bytes) as f64 / until.since(*time).as_secs_f64());
    }
    if rates.is_empty() {
        return f64::NAN;
    }
    rates.sort_by(f64::total_cmp);
    rates[(BUSY * (rates.len() - 1) as f64) as usize]
}

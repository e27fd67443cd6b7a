//! Completion times of connections that start by themselves: each as a multiple of its least possible time, and their distribution.

use super::{Bound, Metric, Scope};
use crate::trace::Trace;
use longfat_core::link::framing::wire_len;
use longfat_core::time::{Duration, Time};
use longfat_model::Experiment;
use longfat_model::route::Routes;
use std::collections::BTreeMap;

pub(super) const FLOW: Metric = Metric {
    name: "slowdown",
    unit: "1",
    bound: Bound::NotNegative,
    summary: "completion time of a flow of `flows`, over the least for its size on an empty path: one and a half round trips of propagation, and its packets at the rate of the slowest link; NaN if it began in the warmup or did not finish",
    source: "Alizadeh and others, pFabric, SIGCOMM 2013, §5.1: FCT normalized by the best possible for that flow",
    compute: |experiment, trace| each(experiment, trace).into_iter().map(|(i, _, slowdown)| (Scope::Flow(i), finite(slowdown))).collect(),
};

/// A metric: a quantile, over the flows of `flows` that began after the warmup, of their completion times or their slowdowns. One that did
/// not finish has taken longer than all others.
macro_rules! quantile {
    ($name:literal, $unit:literal, $share:literal, $of:expr, $summary:literal) => {
        Metric {
            name: $name,
            unit: $unit,
            bound: Bound::NotNegative,
            summary: concat!($summary, " of the flows of `flows` that began after the warmup; NaN where that flow did not finish"),
            source: "Alizadeh and others, pFabric, SIGCOMM 2013, §5",
            compute: |experiment, trace| vec![(Scope::Run, quantile(experiment, trace, $share, $of))],
        }
    };
}

pub(super) const P50: Metric = quantile!("completion_p50_s", "s", 0.5, |of| of.1, "median completion time");
pub(super) const P95: Metric = quantile!("completion_p95_s", "s", 0.95, |of| of.1, "completion time not exceeded by 95 of 100");
pub(super) const P99: Metric = quantile!("completion_p99_s", "s", 0.99, |of| of.1, "completion time not exceeded by 99 of 100");
pub(super) const SLOWDOWN_P50: Metric = quantile!("slowdown_p50", "1", 0.5, |of| of.2, "median slowdown");
pub(super) const SLOWDOWN_P99: Metric = quantile!("slowdown_p99", "1", 0.99, |of| of.2, "slowdown not exceeded by 99 of 100");

/// The flows of `flows` that began after the warmup: their numbers, completion times in seconds, and slowdowns, infinite where one did not finish.
fn each(experiment: &Experiment, trace: &Trace) -> Vec<(usize, f64, f64)> {
    let routes = Routes::new(&experiment.network);
    let links = &experiment.network.links;
    // Both directions between two hosts: propagation there and back, and the slowest link there.
    let mut ways = BTreeMap::new();
    let mut way = |from: usize, to: usize| {
        *ways.entry((from, to)).or_insert_with(|| {
            let there = routes.path(from, to).unwrap_or_default();
            let back = routes.path(to, from).unwrap_or_default();
            let rtt = there.iter().chain(&back).fold(Duration::ZERO, |sum, &link| sum + links[link].delay);
            (rtt, there.into_iter().min_by_key(|&link| links[link].rate))
        })
    };
    let from = Time::ZERO + experiment.measure.warmup;
    let drawn = experiment.flows.iter().enumerate().filter(|(i, flow)| flow.traffic.is_drawn() && trace.flows[*i].start >= from);
    drawn
        .filter_map(|(i, flow)| {
            let (rtt, slowest) = way(flow.from, flow.to);
            let (link, volume, mss) = (&links[slowest?], flow.traffic.volume()?, u64::from(flow.sender.mss));
            let headers = flow.sender.headers();
            let frame = |payload: u64| u64::from(wire_len(payload as u32 + headers, link.overhead, link.min_frame, link.cells));
            let last = volume % mss;
            let bits = 8 * (volume / mss * frame(mss) + if last > 0 { frame(last) } else { 0 });
            let least = 1.5 * rtt.as_secs_f64() + bits as f64 / link.rate.as_bps() as f64;
            let record = &trace.flows[i];
            let took = record.delivered_all.map_or(f64::INFINITY, |end| end.since(record.start).as_secs_f64());
            Some((i, took, took / least))
        })
        .collect()
}

fn quantile(experiment: &Experiment, trace: &Trace, share: f64, of: fn(&(usize, f64, f64)) -> f64) -> f64 {
    let mut values: Vec<f64> = each(experiment, trace).iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    // The least value that so large a share does not exceed.
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().map_or(f64::NAN, finite)
}

fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { f64::NAN }
}

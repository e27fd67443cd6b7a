//! Convergence: how long the measured senders take from the last start until each has near an equal share.

use super::{Bound, Metric, Scope, each_sample, measured, senders};
use crate::trace::Trace;
use longfat_core::time::Time;
use longfat_model::Experiment;
use std::collections::VecDeque;

pub(super) const TIME: Metric = Metric {
    name: "convergence_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "in the whole run, from the last start of a measured sender until each of n has within a tenth of 1/n of what they have together, over ten mean round trips of the slowest (delta-fair convergence time, delta 0.1); NaN where they never have, for fewer than two, and without `measure.interval`",
    source: "RFC 5166 §2.3.3",
    compute: |experiment, trace| vec![(Scope::Run, time_s(experiment, trace))],
};

/// Bansal, Balakrishnan, Floyd and Shenker, SIGCOMM 2001; `DELTA` of `longfat.results.convergence`.
const DELTA: f64 = 0.1;
/// Round trips over which rates are taken: K of RFC 7928 §2.7; `ROUND_TRIPS` of `longfat.results.convergence`.
const ROUND_TRIPS: f64 = 10.0;
/// Samples of a span that are held. Of more, every second, third and so on is, and rates are taken over up to a thousandth less.
const HELD: f64 = 1000.0;

fn time_s(experiment: &Experiment, trace: &Trace) -> f64 {
    let alike = |streams: &Vec<usize>| !experiment.flows[streams[0]].traffic.is_drawn();
    let senders: Vec<Vec<usize>> = senders(experiment).into_iter().filter(alike).collect();
    let flows = || measured(experiment).into_iter().map(|i| &trace.flows[i]);
    let rtt_s = flows().map(|flow| flow.rtt.mean_s).fold(f64::NAN, f64::max);
    let (Some(interval), Some(start)) = (experiment.measure.interval, flows().map(|flow| flow.start).max()) else { return f64::NAN };
    if senders.len() < 2 || rtt_s.is_nan() {
        return f64::NAN;
    }
    let (span_s, interval_s, start_s) = (ROUND_TRIPS * rtt_s, interval.as_secs_f64(), start.since(Time::ZERO).as_secs_f64());
    // Half of an interval allows for the rounding of instants.
    let slack_s = 0.5 * interval_s;
    let every = (span_s / interval_s / HELD).ceil().max(1.0) as u64;
    let mut held: VecDeque<(f64, Vec<u64>)> = VecDeque::new();
    let (mut number, mut found) = (0, f64::NAN);
    each_sample(experiment, trace, &mut |now, samples| {
        let now_s = now.since(Time::ZERO).as_secs_f64();
        if !found.is_nan() || now_s < start_s - interval_s {
            return;
        }
        let arrived: Vec<u64> = senders.iter().map(|streams| streams.iter().map(|i| samples[*i].bytes_arrived).sum()).collect();
        while held.front().is_some_and(|(time_s, _)| *time_s < now_s - span_s - slack_s) {
            held.pop_front();
        }
        if let Some((_, before)) = held.front().filter(|_| now_s - span_s >= start_s - slack_s) {
            let had: Vec<f64> = arrived.iter().zip(before).map(|(after, before)| (after - before) as f64).collect();
            let equal = had.iter().sum::<f64>() / had.len() as f64;
            if equal > 0.0 && had.iter().all(|had| (had / equal - 1.0).abs() <= DELTA) {
                found = now_s - start_s;
            }
        }
        if number % every == 0 {
            held.push_back((now_s, arrived));
        }
        number += 1;
    });
    found
}

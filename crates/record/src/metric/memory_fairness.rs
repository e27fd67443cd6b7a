//! Fairness of bandwidth to the memory that connections dedicate to it.

use super::{Bound, Metric, Scope, measured_rates, ratio, senders};
use longfat_model::Experiment;
use longfat_tcp::window_sizing::bounds;

// Weigle and Feng 2001, section II-A: flows should acquire bandwidth proportional to the memory they dedicate. Section IV-D: a
// flow's part of the bandwidth beside its part of all memory.
const SOURCE: &str = "Weigle and Feng 2001, sections II-A and IV-D";

pub(super) const PROPORTION: Metric = Metric {
    name: "memory_proportion",
    unit: "1",
    bound: Bound::NotNegative,
    summary: "a measured sender's part of all senders' rate over its part of their memory (largest windows): 1 is in proportion",
    source: SOURCE,
    compute: |experiment, trace| {
        let (rates, memory) = (measured_rates(experiment, trace), memory(experiment));
        let even = rates.iter().sum::<f64>() / memory.iter().sum::<f64>();
        let number = |streams: &Vec<usize>| Scope::Sender(experiment.flows[streams[0]].stream_of);
        senders(experiment).iter().map(number).zip(rates.iter().zip(&memory).map(|(rate, memory)| ratio(rate / memory, even))).collect()
    },
};

pub(super) const FAIRNESS: Metric = Metric {
    name: "memory_fairness",
    unit: "1",
    bound: Bound::Share,
    summary: "Jain's index of the measured senders' rates over their memory (largest windows): 1 is bandwidth in proportion to memory",
    source: SOURCE,
    compute: |experiment, trace| {
        let rates = measured_rates(experiment, trace);
        let per_byte: Vec<f64> = rates.iter().zip(memory(experiment)).map(|(rate, memory)| rate / memory).collect();
        let sum: f64 = per_byte.iter().sum();
        let squares: f64 = per_byte.iter().map(|x| x * x).sum();
        vec![(Scope::Run, ratio(sum * sum, per_byte.len() as f64 * squares))]
    },
};

/// Bytes that each measured sender may have in flight at most: of each of its streams the smaller of the two ends' windows.
fn memory(experiment: &Experiment) -> Vec<f64> {
    let of = |flow: usize| {
        let flow = &experiment.flows[flow];
        bounds(&flow.sender).0.min(bounds(&flow.receiver).1) as f64
    };
    senders(experiment).into_iter().map(|streams| streams.into_iter().map(of).sum()).collect()
}

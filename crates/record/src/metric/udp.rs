//! Loss and jitter of flows over UDP.

use super::{Bound, Metric, Scope, ratio};
use crate::trace::Trace;
use longfat_core::traffic::Rank;
use longfat_model::Experiment;

pub(super) const LOSS: Metric = Metric {
    name: "udp_loss_share",
    unit: "1",
    bound: Bound::Share,
    summary: "packets of a flow over UDP that were dropped, over packets sent, since the warmup (a dropped copy counts where links duplicate packets, at most all); between real hosts those before the last arrival; NaN for TCP and ping",
    source: "RFC 7680",
    compute: |experiment, trace| {
        let share = |i: usize| {
            let counts = trace.flows[i].measured();
            ratio(counts.packets_dropped.min(counts.segments_sent) as f64, counts.segments_sent as f64)
        };
        of_udp(experiment, trace, share)
    },
};

pub(super) const JITTER: Metric = Metric {
    name: "udp_jitter_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "between real hosts: mean difference, without its sign, of the transit times of packets of a flow over UDP that arrived one after the other, of those in the table `datagrams`, in the whole run; NaN elsewhere",
    // Its D(i-1, i): the clocks of the two hosts need not agree.
    source: "RFC 3550 §6.4.1",
    compute: |experiment, trace| of_udp(experiment, trace, |flow| jitter(trace, flow)),
};

/// The value of each flow over UDP that is no probe; NaN of others.
fn of_udp(experiment: &Experiment, trace: &Trace, value: impl Fn(usize) -> f64) -> Vec<(Scope, f64)> {
    let is_udp = |i: usize| !experiment.flows[i].traffic.is_tcp() && experiment.flows[i].traffic.rank() != Rank::Probe;
    (0..trace.flows.len()).map(|i| (Scope::Flow(i), if is_udp(i) { value(i) } else { f64::NAN })).collect()
}

fn jitter(trace: &Trace, flow: usize) -> f64 {
    let mut arrived: Vec<(f64, f64)> = trace
        .datagrams
        .iter()
        .filter(|row| row.flow as usize == flow && !row.arrived_s.is_nan())
        .map(|row| (row.arrived_s, row.arrived_s - row.sent_s))
        .collect();
    arrived.sort_by(|a, b| a.0.total_cmp(&b.0));
    let differences: Vec<f64> = arrived.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).collect();
    ratio(differences.iter().sum(), differences.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::DatagramSample;

    #[test]
    fn jitter_is_of_transit_times_in_order_of_arrival_whatever_the_clocks() {
        let row =
            |number: u32, sent_s: f64, arrived_s: f64| DatagramSample { flow: 1, number, sent_s, arrived_s, ..DatagramSample::default() };
        // Transit times of 100.1, 100.3 and 100.2 s, in the order of arrival 0, 2, 3; one is lost, and another flow has its own.
        let datagrams = vec![
            row(0, 0.0, 100.1),
            row(1, 1.0, f64::NAN),
            row(3, 3.0, 103.2),
            row(2, 2.0, 102.3),
            DatagramSample { flow: 0, ..row(0, 0.0, 7.0) },
        ];
        let trace = Trace { datagrams, ..Trace::default() };
        assert!((jitter(&trace, 1) - 0.15).abs() < 1e-9, "{}", jitter(&trace, 1));
        assert!(jitter(&trace, 0).is_nan() && jitter(&trace, 2).is_nan());
    }
}

//! Round-trip times and loss that the probes of a run measured.

use super::{Bound, Metric, Scope, ratio};
use crate::trace::{FlowRecord, Trace};
use longfat_core::traffic::Rank;
use longfat_model::Experiment;

pub(super) const MEAN: Metric = Metric {
    name: "ping_rtt_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "mean round trip of the run's pings, mean over the probes where there are several",
    source: "Bulot, Cottrell and Hughes-Jones 2004, §3 and §4.1",
    compute: |experiment, trace| vec![(Scope::Run, mean(experiment, trace, |probe| probe.rtt.mean_s))],
};

pub(super) const DEVIATION: Metric = Metric {
    name: "ping_rtt_deviation_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "standard deviation of the round trips of the run's pings, as ping's mdev: root of the mean square less the square of the mean; mean over the probes",
    source: "Bulot, Cottrell and Hughes-Jones 2004, §3 and §4.1",
    compute: |experiment, trace| vec![(Scope::Run, mean(experiment, trace, |probe| probe.rtt.deviation_s))],
};

pub(super) const LOSS: Metric = Metric {
    name: "ping_loss_share",
    unit: "1",
    bound: Bound::Share,
    summary: "requests of the run's pings that were dropped, or whose reply was, over requests sent, since the warmup (a dropped copy counts where links duplicate packets, at most all); mean over the probes",
    source: "RFC 6673",
    // Each packet dropped is one request without its reply; packets on their way at the end are not lost. Where links duplicate packets,
    // more copies may be dropped than requests were sent.
    compute: |experiment, trace| {
        let lost = |probe: &FlowRecord| {
            let counts = probe.measured();
            ratio(counts.packets_dropped.min(counts.segments_sent) as f64, counts.segments_sent as f64)
        };
        vec![(Scope::Run, mean(experiment, trace, lost))]
    },
};

/// The mean of `value` over the probes; NaN where there is none.
fn mean(experiment: &Experiment, trace: &Trace, value: fn(&FlowRecord) -> f64) -> f64 {
    let is_probe = |i: &usize| experiment.flows[*i].traffic.rank() == Rank::Probe;
    let values: Vec<f64> = (0..trace.flows.len()).filter(is_probe).map(|i| value(&trace.flows[i])).collect();
    ratio(values.iter().sum::<f64>(), values.len() as f64)
}

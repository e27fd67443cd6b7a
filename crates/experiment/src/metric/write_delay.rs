//! How long what an application writes is under way.

use super::{Bound, Metric, Scope, measured_samples, ratio};
use crate::Experiment;
use crate::trace::Trace;
use longfat_core::traffic::Rank;

pub const MEAN: Metric = Metric {
    name: "write_delay_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "of a flow that `writes` at a rate of its own (`telnet`): mean time from a byte's being written until it is acknowledged, waits for retransmission included: mean bytes in the send buffer in the series (`measure.interval`) over the rate at which they leave it",
    // RF95 appendix C names the packet delay of interactive traffic as what matters. Little 1961: L = lambda W.
    source: "Romanow and Floyd 1995, appendix C; Little 1961, L = lambda W",
    compute: |experiment, trace| {
        let flows = experiment.flows.iter().enumerate();
        let writes = flows.filter(|(_, flow)| flow.traffic.is_tcp() && flow.traffic.rank() == Rank::Limited);
        writes.map(|(i, _)| (Scope::Flow(i), mean(experiment, trace, i))).collect()
    },
};

fn mean(experiment: &Experiment, trace: &Trace, flow: usize) -> f64 {
    let samples = measured_samples(experiment, trace, &[flow]);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return f64::NAN };
    let span_s = last[flow].time.since(first[flow].time).as_secs_f64();
    let rate = ratio((last[flow].bytes_delivered - first[flow].bytes_delivered) as f64, span_s);
    let buffered: u64 = samples.iter().map(|sample| sample[flow].send_buffered).sum();
    ratio(buffered as f64 / samples.len() as f64, rate)
}

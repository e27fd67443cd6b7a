//! Delay of data from the application's write to its acknowledgment.

use super::{Bound, Metric, Scope, each_sample, measured_while, ratio};
use crate::trace::{FlowSample, Trace};
use longfat_core::traffic::Rank;
use longfat_model::Experiment;

pub(super) const MEAN: Metric = Metric {
    name: "write_delay_mean_s",
    unit: "s",
    bound: Bound::NotNegative,
    summary: "of a flow that `writes` at a rate of its own (`telnet`): mean time from a byte's being written until it is acknowledged, waits for retransmission included: mean bytes in the send buffer in the series (`measure.interval`) over the rate at which they leave it",
    // RF95 appendix C names the packet delay of interactive traffic as what matters. Little 1961: L = lambda W.
    source: "Romanow and Floyd 1995, appendix C; Little 1961, L = lambda W",
    compute: |experiment, trace| {
        let flows = experiment.flows.iter().enumerate();
        let writes = flows.filter(|(_, flow)| flow.traffic.is_tcp() && flow.traffic.rank() == Rank::Limited);
        means(experiment, trace, writes.map(|(i, _)| i).collect())
    },
};

/// Summary of the samples of a flow.
#[derive(Clone, Default)]
struct Seen {
    first: Option<FlowSample>,
    last: FlowSample,
    samples: u64,
    buffered: u64,
}

impl Seen {
    fn mean(&self) -> f64 {
        let Some(first) = &self.first else { return f64::NAN };
        let span_s = self.last.time.since(first.time).as_secs_f64();
        let rate = ratio((self.last.bytes_arrived - first.bytes_arrived) as f64, span_s);
        ratio(self.buffered as f64 / self.samples as f64, rate)
    }
}

fn means(experiment: &Experiment, trace: &Trace, flows: Vec<usize>) -> Vec<(Scope, f64)> {
    if flows.is_empty() {
        return Vec::new();
    }
    let spans: Vec<_> = flows.iter().map(|flow| measured_while(experiment, trace, &[*flow])).collect();
    let mut seen = vec![Seen::default(); flows.len()];
    each_sample(experiment, trace, &mut |now, samples| {
        for ((seen, flow), _) in seen.iter_mut().zip(&flows).zip(&spans).filter(|(_, span)| span.contains(&now)) {
            seen.last = samples[*flow];
            seen.first.get_or_insert(seen.last);
            seen.samples += 1;
            seen.buffered += seen.last.send_buffered;
        }
    });
    flows.into_iter().map(Scope::Flow).zip(seen.iter().map(Seen::mean)).collect()
}

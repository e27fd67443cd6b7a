//! Effective throughput: payload that is new for the layer above, as a share of the possible maximum.

use super::link_time::time_of;
use super::{Bound, Metric, Scope, extremes, measured, ratio, span_s};
use crate::trace::Trace;
use longfat_model::Experiment;
use longfat_model::route::Routes;

pub(super) const THROUGHPUT: Metric = Metric {
    name: "effective_throughput",
    unit: "1",
    bound: Bound::Share,
    summary: "share of the measured span that the payload of the measured flows that arrived in it for the first time takes on the bottleneck in full packets: neither retransmissions nor incomplete packets count; of several bottlenecks, the best used",
    // The throughput that is good for the higher layer, as a fraction of the most that is possible; footnote 4: padding is no part of
    // it. The payload of full packets over the time of their cells is the most, whatever part of that is headers or padding.
    source: "Romanow and Floyd 1995, section 3",
    compute: |experiment, trace| {
        let links = (0..trace.links.len()).filter(|i| experiment.network.links[*i].bottleneck);
        let shares: Vec<f64> = links.map(|i| of_link(experiment, trace, i)).collect();
        vec![(Scope::Run, extremes(&shares).1)]
    },
};

fn of_link(experiment: &Experiment, trace: &Trace, link: usize) -> f64 {
    let routes = Routes::new(&experiment.network);
    let crosses = |i: &usize| {
        let flow = &experiment.flows[*i];
        routes.path(flow.from, flow.to).is_some_and(|path| path.contains(&link))
    };
    let seconds = measured(experiment).into_iter().filter(crosses).map(|i| {
        let bytes = trace.flows[i].bytes_arrived_in_span as f64;
        bytes * time_of(&experiment.network.links[link], &experiment.flows[i])
    });
    // Packets that arrive in the span may have been on the link before it. Their time is at most the time the link was busy.
    ratio(seconds.sum::<f64>().min(trace.links[link].busy_s), span_s(trace))
}

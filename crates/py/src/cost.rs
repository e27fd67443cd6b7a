//! How much work a run is, before it is run: for the order of a sweep, its progress bar and its time left.

use longfat_core::experiment::{Experiment, Traffic};

/// About how many packets pass how many links. Each data packet and half an ACK pass the whole path.
pub fn estimate(experiment: &Experiment) -> f64 {
    let seconds = experiment.measure.duration.as_secs_f64();
    let links = &experiment.network.links;
    // Flows without end fill the bottleneck together, or the slowest link where none is marked.
    let slowest = |marked: bool| links.iter().filter(|l| l.bottleneck || !marked).map(|l| l.rate.as_bps()).min();
    let rate = slowest(true).or_else(|| slowest(false)).unwrap_or(1) as f64;
    let most = rate * seconds / 8.0;
    let bulk = experiment.flows.iter().filter(|f| f.traffic == Traffic::Bulk).count() as f64;
    let packets: f64 = experiment
        .flows
        .iter()
        .map(|flow| match flow.traffic {
            Traffic::Ttcp { volume } => (volume as f64).min(most) / f64::from(flow.sender.mss),
            Traffic::Bulk => most / bulk / f64::from(flow.sender.mss),
        })
        .sum();
    // One-way links: half of them lie on the way of the data.
    packets * 1.5 * (links.len() as f64 / 2.0).max(1.0)
}

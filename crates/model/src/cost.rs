//! Estimate of how long a run will take: for the order of a sweep, its progress bar and its time left.

use crate::Experiment;
use longfat_core::time::Duration;
use longfat_core::traffic::Demand;

/// Bytes of a recorded value in a series, before they are compressed.
pub const CELL: u64 = 8;

/// Bytes of memory per recorded value outside a series: 8 in the trace, and twice that while the run's tables are made and written
/// (measured: 24.1, of 43 million values).
pub const VALUE: u64 = 24;

/// Returns an estimate of packets times links, which is proportional to the time a run takes. Each data packet and half an ACK pass the
/// whole path.
pub fn estimate(experiment: &Experiment) -> f64 {
    // One-way links: half of them lie in the direction of the data.
    packets(experiment).sum::<f64>() * 1.5 * (experiment.network.links.len() as f64 / 2.0).max(1.0)
}

/// Returns an estimate of the data packets that each flow sends.
pub fn packets(experiment: &Experiment) -> impl Iterator<Item = f64> {
    let end = expected_end(experiment);
    let most = bottleneck_bps(experiment) * end.as_secs_f64() / 8.0;
    let demands: Vec<Demand> = experiment.flows.iter().map(|flow| flow.traffic.demand(end)).collect();
    let endless = demands.iter().filter(|demand| demand.bytes.is_infinite()).count() as f64;
    experiment.flows.iter().zip(demands).map(move |(flow, Demand { bytes, piece })| {
        if !flow.traffic.is_tcp() {
            return bytes / f64::from(piece);
        }
        // Flows without end fill the bottleneck together.
        let bytes = if bytes.is_infinite() { most / endless } else { bytes.min(most) };
        bytes / f64::from(piece.min(flow.sender.mss))
    })
}

/// Returns when the run will end if its volumes fill the bottleneck.
pub fn expected_end(experiment: &Experiment) -> Duration {
    let volume: f64 = experiment.flows.iter().filter_map(|flow| flow.traffic.volume()).map(|bytes| bytes as f64).sum();
    let needed = volume * 8.0 / bottleneck_bps(experiment);
    let duration = experiment.measure.duration;
    if volume > 0.0 && needed < duration.as_secs_f64() { Duration::from_secs_f64(needed) } else { duration }
}

/// Returns the rate in bit/s of the slowest link marked as a bottleneck, or of the slowest of all if none is.
fn bottleneck_bps(experiment: &Experiment) -> f64 {
    let links = &experiment.network.links;
    let slowest = |marked: bool| links.iter().filter(|l| l.bottleneck || !marked).map(|l| l.rate.as_bps()).min();
    slowest(true).or_else(|| slowest(false)).unwrap_or(1) as f64
}

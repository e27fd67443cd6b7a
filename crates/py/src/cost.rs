//! How much work a run is, before it is run: for the order of a sweep, its progress bar and its time left.

use longfat_core::traffic::Schedule;
use longfat_experiment::{Experiment, Traffic};

/// About how many packets pass how many links. Each data packet and half an ACK pass the whole path.
pub fn estimate(experiment: &Experiment) -> f64 {
    let most = bottleneck_bps(experiment) * expected_end(experiment) / 8.0;
    let bulk = experiment.flows.iter().filter(|f| f.traffic == Traffic::Bulk).count() as f64;
    let packets = experiment.flows.iter().map(|flow| {
        let bytes = match flow.traffic {
            Traffic::Ttcp { volume } => (volume as f64).min(most),
            // Flows without end fill the bottleneck together.
            Traffic::Bulk => most / bulk,
            // At most: what cannot go at once goes together.
            Traffic::Writes { schedule, size } => {
                let bytes = (mean_bps(schedule) * expected_end(experiment) / 8.0).min(most);
                return bytes / f64::from(size.min(flow.sender.mss));
            }
            Traffic::Ping { interval, .. } => {
                return expected_end(experiment) / interval.as_secs_f64();
            }
            Traffic::Udp { schedule, size } => {
                return mean_bps(schedule) * expected_end(experiment) / (8.0 * f64::from(size));
            }
            // At most: a transfer takes time as well.
            Traffic::Web(web) => (web.size as f64 * expected_end(experiment) / web.think.as_secs_f64()).min(most),
        };
        bytes / f64::from(flow.sender.mss)
    });
    // One-way links: half of them lie on the way of the data.
    packets.sum::<f64>() * 1.5 * (experiment.network.links.len() as f64 / 2.0).max(1.0)
}

fn mean_bps(schedule: Schedule) -> f64 {
    match schedule {
        Schedule::Constant { rate } | Schedule::Sinusoid { mean: rate, .. } | Schedule::Random { rate, .. } => rate.as_bps() as f64,
        Schedule::OnOff { rate, on, off } => {
            let (on, off) = (on.mean.as_secs_f64(), off.mean.as_secs_f64());
            rate.as_bps() as f64 * on / (on + off)
        }
    }
}

/// When the run will end if its volumes fill the bottleneck, in virtual seconds.
pub fn expected_end(experiment: &Experiment) -> f64 {
    let duration = experiment.measure.duration.as_secs_f64();
    let volumes = experiment.flows.iter().map(|flow| if let Traffic::Ttcp { volume } = flow.traffic { volume } else { 0 });
    let volume: u64 = volumes.sum();
    if volume == 0 { duration } else { duration.min(volume as f64 * 8.0 / bottleneck_bps(experiment)) }
}

/// The slowest link marked as a bottleneck, or the slowest of all where none is.
fn bottleneck_bps(experiment: &Experiment) -> f64 {
    let links = &experiment.network.links;
    let slowest = |marked: bool| links.iter().filter(|l| l.bottleneck || !marked).map(|l| l.rate.as_bps()).min();
    slowest(true).or_else(|| slowest(false)).unwrap_or(1) as f64
}

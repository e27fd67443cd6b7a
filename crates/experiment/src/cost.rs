//! How long a run will take, before it is run: for the order of a sweep, its progress bar and its time left.

use super::model::Experiment;
use longfat_core::time::Duration;
use longfat_core::traffic::Demand;

/// Bytes of a recorded value in a series, before they are compressed.
pub const CELL: u64 = 8;

/// Bytes of memory that a recorded value takes which is not in a series: 8 in the trace, and twice that while the run's tables are made and written (measured:
/// 24.1, of 43 million values).
pub const VALUE: u64 = 24;

/// About how many packets pass how many links: proportional to the time a run takes. Each data packet and half an ACK pass the whole path.
pub fn estimate(experiment: &Experiment) -> f64 {
    // One-way links: half of them lie on the way of the data.
    packets(experiment).sum::<f64>() * 1.5 * (experiment.network.links.len() as f64 / 2.0).max(1.0)
}

/// About how many data packets each flow sends.
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

/// When the run will end if its volumes fill the bottleneck.
pub fn expected_end(experiment: &Experiment) -> Duration {
    let volume: f64 = experiment.flows.iter().filter_map(|flow| flow.traffic.volume()).map(|bytes| bytes as f64).sum();
    let needed = volume * 8.0 / bottleneck_bps(experiment);
    let duration = experiment.measure.duration;
    if volume > 0.0 && needed < duration.as_secs_f64() { Duration::from_secs_f64(needed) } else { duration }
}

/// The slowest link marked as a bottleneck, or the slowest of all where none is.
fn bottleneck_bps(experiment: &Experiment) -> f64 {
    let links = &experiment.network.links;
    let slowest = |marked: bool| links.iter().filter(|l| l.bottleneck || !marked).map(|l| l.rate.as_bps()).min();
    slowest(true).or_else(|| slowest(false)).unwrap_or(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    /// The cost of flows with this traffic over 8 Mb/s for 10 s at most, and when they are expected to end.
    fn of(traffic: &str, count: u32) -> (f64, Duration) {
        let text = format!(
            "[path]\npreset = \"dumbbell\"\nrtt = \"20 ms\"\nbottleneck = {{ rate = \"8 Mbit/s\" }}\nedge = {{ rate = \"80 Mbit/s\" }}\n\
             [[flow]]\ntraffic = {traffic}\ncount = {count}\nmss = \"1000 bytes\"\n[measure]\nduration = \"10 s\"\n"
        );
        let run = Document::parse(&text, "cost.toml").and_then(|document| document.run(0)).unwrap_or_else(|error| panic!("{error}"));
        (estimate(&run.experiment), expected_end(&run.experiment))
    }

    #[test]
    fn a_run_costs_its_packets_times_its_links() {
        // One sender and one receiver: three duplex links, which each packet and half an ACK cross, so 4.5 for a packet.
        for (traffic, count, packets, seconds) in [
            // Two volumes of 1 MB fill 8 Mb/s for two seconds.
            ("{ kind = \"ttcp\", volume = \"1 MB\" }", 2, 2000.0, 2),
            // 10 MB in 10 s, whoever sends them.
            ("\"bulk\"", 2, 10_000.0, 10),
            ("{ kind = \"ping\", interval = \"10 ms\" }", 1, 1000.0, 10),
            ("{ kind = \"udp\", rate = \"1 Mbit/s\", size = \"1250 bytes\" }", 1, 1000.0, 10),
            // On for a third of the time.
            ("{ kind = \"udp\", rate = \"3 Mbit/s\", size = \"1250 bytes\", on = \"1 s\", off = \"2 s\" }", 1, 1000.0, 10),
            // 100 writes of 500 bytes a second; and what a link of 8 Mb/s takes of 80 Mb/s.
            ("{ kind = \"writes\", rate = \"400 kbit/s\", size = \"500 bytes\" }", 1, 1000.0, 10),
            ("{ kind = \"writes\", rate = \"80 Mbit/s\", size = \"2000 bytes\" }", 1, 10_000.0, 10),
            // At most a transfer each 100 ms.
            ("{ kind = \"web\", size = \"10 kB\", think = \"100 ms\" }", 1, 1000.0, 10),
        ] {
            let (cost, end) = of(traffic, count);
            assert!((cost / (packets * 1.5 * 3.0) - 1.0).abs() < 1e-9, "{traffic}: {cost}");
            assert_eq!(end, Duration::from_secs(seconds), "{traffic}");
        }
    }
}

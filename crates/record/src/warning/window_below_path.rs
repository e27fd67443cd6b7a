//! Windows of the user's own that cannot fill the path.

use super::asked::{LARGEST, bytes, flows, rate, sends_more_than, window};
use super::{Asked, Check, Warning};
use longfat_core::units::text::{SIZE, TIME};
use std::collections::BTreeMap;

pub(super) const WARNING: Warning = Warning {
    name: "window_below_path",
    summary: "all windows together, once per round trip, fill less than 90 % of a link",
    advice: "raise `window` to the bandwidth-delay product, or leave it to `window = \"auto\"`; ignore this where the window is what you ask about",
    source: "RFC 7323 section 1.1",
    about: &["window"],
    check: Check::Before(check),
};

/// Share of a link's rate that counts as all: a window that is one bandwidth-delay product by the rate of payload or of frames.
const ALL: f64 = 0.9;

fn check(asked: &Asked<'_>) -> Vec<String> {
    // Shares of each link that is some flow's slowest: all its flows, their possible rates, and the first flow whose window the user
    // bounds.
    let mut shares: BTreeMap<usize, (Option<usize>, usize, f64)> = BTreeMap::new();
    for (i, flow) in asked.experiment.flows.iter().enumerate() {
        let Some(way) = asked.round_trip(flow) else { continue };
        let window = window(flow);
        if !sends_more_than(flow, window as f64) {
            continue;
        }
        let (first, flows, bps) = shares.entry(way.slowest).or_insert((None, 0, 0.0));
        *flows += 1;
        *bps += window as f64 * 8.0 / way.rtt.as_secs_f64();
        if window < LARGEST {
            first.get_or_insert(i);
        }
    }
    let told = |(link, (first, count, bps)): (usize, (Option<usize>, usize, f64))| {
        let flow = &asked.experiment.flows[first?];
        let (payload, rtt) = (asked.payload_bps(link, flow), asked.round_trip(flow)?.rtt);
        (bps < ALL * payload).then(|| {
            format!(
                "{}: a window of {} per {} allows {}; {} carries {} of payload, with {} in flight",
                flows(asked.flow(first.unwrap_or(0)), count),
                SIZE.format(window(flow)),
                TIME.format(rtt.as_ps()),
                if count == 1 { rate(bps) } else { format!("{} for all of them", rate(bps)) },
                asked.links()[link].name,
                rate(payload),
                bytes(payload * rtt.as_secs_f64() / 8.0),
            )
        })
    };
    shares.into_iter().filter_map(told).collect()
}

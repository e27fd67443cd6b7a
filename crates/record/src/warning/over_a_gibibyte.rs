//! A path that holds more than any window.

use super::asked::{LARGEST, flows, sends_more_than, window};
use super::{Asked, Check, Warning};
use longfat_core::units::text::{RATE, TIME};
use std::collections::BTreeMap;

pub(super) const WARNING: Warning = Warning {
    name: "window_over_1_gib",
    summary: "TCP's largest window of 1 GiB is less than the path needs",
    advice: "use several `streams`, as on a real path",
    source: "RFC 7323 section 2.3",
    about: &["window", "streams"],
    check: Check::Before(check),
};

/// Flows that have a link as their slowest: the first, their number, and their possible rate together, in bits of payload per second: a
/// window per round trip each.
struct Share {
    first: usize,
    flows: usize,
    bps: f64,
}

fn check(asked: &Asked<'_>) -> Vec<String> {
    let links = asked.links();
    let longest = links.iter().map(|link| link.delay.as_secs_f64()).sum();
    let fastest = links.iter().map(|link| link.rate.as_bps()).max().unwrap_or(0);
    if held(fastest, longest) <= LARGEST as f64 {
        return Vec::new();
    }
    let mut shares: BTreeMap<usize, Share> = BTreeMap::new();
    for (i, flow) in asked.experiment.flows.iter().enumerate() {
        // A window that the user bounds is no surprise.
        let Some(way) = asked.round_trip(flow).filter(|_| sends_more_than(flow, LARGEST as f64) && window(flow) >= LARGEST) else {
            continue;
        };
        let share = shares.entry(way.slowest).or_insert(Share { first: i, flows: 0, bps: 0.0 });
        share.flows += 1;
        share.bps += LARGEST as f64 * 8.0 / way.rtt.as_secs_f64();
    }
    shares.into_iter().filter_map(|(link, share)| told(asked, link, &share)).collect()
}

fn told(asked: &Asked<'_>, link: usize, share: &Share) -> Option<String> {
    let flow = &asked.experiment.flows[share.first];
    let (payload, rtt) = (asked.payload_bps(link, flow), asked.round_trip(flow)?.rtt);
    if share.bps >= payload {
        return None;
    }
    let streams = (payload * rtt.as_secs_f64() / 8.0 / LARGEST as f64).ceil();
    let bps = asked.links()[link].rate.as_bps();
    let gib = held(bps, rtt.as_secs_f64()) / f64::from(1 << 30);
    Some(format!(
        "{}: {} over {} hold {gib:.2} GiB, and a window ends at 1 GiB (RFC 7323 section 2.3): at most {:.1} Gbit/s of payload; \
         this path needs {streams} streams",
        flows(asked.flow(share.first), share.flows),
        RATE.format(bps),
        TIME.format(rtt.as_ps()),
        share.bps / 1e9
    ))
}

/// Returns the bytes on the wire that fill `seconds`.
fn held(bps: u64, seconds: f64) -> f64 {
    bps as f64 / 8.0 * seconds
}

//! What is allowed, and still hardly meant: what an experiment asks of its flows that they cannot do.
//!
//! One function for each. What only a run can tell stands with its record.

use super::model::{Experiment, Flow, Link};
use super::route::Routes;
use longfat_core::link::framing::wire_len;
use longfat_core::time::Duration;
use longfat_core::units::text::{RATE, TIME};
use longfat_tcp::window_sizing;
use std::collections::BTreeMap;

/// The largest window without the scale option: 16 bits (RFC 9293 section 3.1, RFC 7323 section 2.2).
const UNSCALED: u64 = 65_535;

/// The largest window that a segment can tell of: 16 bits, shifted by 14 (RFC 7323 section 2.3). Nearly 1 GiB.
const LARGEST: u64 = UNSCALED << 14;

/// What to tell the user of `flow`, which is called `name`: a sentence each.
pub fn of_flow(name: &str, flow: &Flow) -> impl Iterator<Item = String> {
    let checks = if flow.traffic.is_tcp() { &[window_below_a_segment, window_not_scaled][..] } else { &[] };
    checks.iter().filter_map(|check| check(flow)).map(move |sentence| format!("flow {name}: {sentence}"))
}

fn window_below_a_segment(flow: &Flow) -> Option<String> {
    let (send, receive) = (window_sizing::bounds(&flow.sender).0, window_sizing::bounds(&flow.receiver).1);
    let (held, mss) = (send.min(receive), u64::from(flow.sender.mss));
    (held < mss).then(|| format!("its window of {held} bytes is less than one segment of {mss}, so no full segment is ever sent"))
}

fn window_not_scaled(flow: &Flow) -> Option<String> {
    let asked = window_sizing::bounds(&flow.receiver).1;
    if (flow.sender.window_scale && flow.receiver.window_scale) || asked <= UNSCALED {
        return None;
    }
    let what = if asked < flow.receiver.receive_buffer { "window sizing" } else { "receive buffer" };
    Some(format!("without window scaling its window is at most {UNSCALED} bytes, not the {asked} of its {what}"))
}

/// What to tell the user of the paths of `experiment`, whose flows have these names: a sentence each.
///
/// One window is less than a path of much more than 1 GiB holds. Where the flows over a bottleneck together have not window enough,
/// and that for no bound of the user's own, it says how many streams would.
pub fn of_paths(experiment: &Experiment, names: impl Iterator<Item = String>) -> Vec<String> {
    let links = &experiment.network.links;
    let longest = links.iter().map(|link| link.delay.as_secs_f64()).sum();
    let fastest = links.iter().map(|link| link.rate.as_bps()).max().unwrap_or(0);
    if held_bytes(fastest, longest) <= LARGEST as f64 {
        return Vec::new();
    }
    let routes = Routes::new(&experiment.network);
    let mut ways = BTreeMap::new();
    // For each link that is some flow's slowest, what its flows could have of it together, and the first of them, with its way.
    let mut shares: BTreeMap<usize, Share> = BTreeMap::new();
    for (flow, name) in experiment.flows.iter().zip(names).filter(|(flow, _)| fills_any_path(flow)) {
        let way = ways.entry((flow.from, flow.to)).or_insert_with(|| Way::of(&routes, links, flow));
        let Some(way) = way else { continue };
        let share = shares.entry(way.slowest).or_insert_with(|| Share { first: name, flows: 0, way: *way, rate: 0.0 });
        share.flows += 1;
        share.rate += window(flow) as f64 * 8.0 / way.rtt.as_secs_f64();
    }
    let told = |(slowest, share): (usize, Share)| share.warning(&links[slowest]);
    shares.into_iter().filter_map(told).collect()
}

/// There and back.
#[derive(Clone, Copy)]
struct Way {
    /// Of the links there, the one with the least rate.
    slowest: usize,
    rtt: Duration,
    /// Payload bytes of a full segment.
    mss: u32,
    /// And of its IP packet.
    packet: u32,
}

impl Way {
    fn of(routes: &Routes<'_>, links: &[Link], flow: &Flow) -> Option<Self> {
        let there = routes.path(flow.from, flow.to)?;
        let back = routes.path(flow.to, flow.from)?;
        let slowest = there.iter().copied().min_by_key(|&link| links[link].rate.as_bps())?;
        let rtt = there.iter().chain(&back).fold(Duration::ZERO, |sum, &link| sum + links[link].delay);
        let (mss, options) = (flow.sender.mss, if flow.sender.timestamps { 12 } else { 0 });
        (!rtt.is_zero()).then_some(Way { slowest, rtt, mss, packet: mss + 40 + options })
    }
}

struct Share {
    first: String,
    flows: u64,
    way: Way,
    /// Bits of payload a second: a window a round trip each.
    rate: f64,
}

impl Share {
    fn warning(&self, link: &Link) -> Option<String> {
        let wire = wire_len(self.way.packet, link.overhead, link.min_frame, link.cells);
        let payload = link.rate.as_bps() as f64 * f64::from(self.way.mss) / f64::from(wire);
        if self.rate >= payload {
            return None;
        }
        let flows = match self.flows {
            1 => format!("flow {}", self.first),
            n => format!("flow {} and {} more", self.first, n - 1),
        };
        let streams = (payload * self.way.rtt.as_secs_f64() / 8.0 / LARGEST as f64).ceil();
        let gib = held_bytes(link.rate.as_bps(), self.way.rtt.as_secs_f64()) / f64::from(1 << 30);
        let (rate, rtt) = (RATE.format(link.rate.as_bps()), TIME.format(self.way.rtt.as_ps()));
        Some(format!(
            "{flows}: {rate} over {rtt} hold {gib:.2} GiB, and a window ends at 1 GiB (RFC 7323 section 2.3): at most {:.1} Gbit/s of payload; \
             this path needs {streams} streams",
            self.rate / 1e9
        ))
    }
}

/// Whether the flow sends as much as the path takes, and only what a window can be bounds its own.
fn fills_any_path(flow: &Flow) -> bool {
    use longfat_core::traffic::Rank;
    let sends = match flow.traffic.rank() {
        Rank::Endless => true,
        Rank::Volume => flow.traffic.volume().is_some_and(|bytes| bytes > LARGEST),
        Rank::Limited | Rank::Background | Rank::Probe => false,
    };
    sends && flow.traffic.is_tcp() && flow.sender.window_scale && flow.receiver.window_scale && window(flow) >= LARGEST
}

/// What its buffers, and the window field, let be in flight.
fn window(flow: &Flow) -> u64 {
    window_sizing::bounds(&flow.sender).0.min(window_sizing::bounds(&flow.receiver).1).min(LARGEST)
}

/// Bytes on the wire that fill so much time.
fn held_bytes(bps: u64, seconds: f64) -> f64 {
    bps as f64 / 8.0 * seconds
}

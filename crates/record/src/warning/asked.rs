//! Experiment of a run and the paths of its flows: what every warning looks at.

use longfat_core::link::framing::wire_len;
use longfat_core::time::Duration;
use longfat_core::traffic::Rank;
use longfat_model::route::Routes;
use longfat_model::{Experiment, Flow, Link};
use longfat_tcp::window_sizing;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The largest window without the scale option: 16 bits (RFC 9293 section 3.1, RFC 7323 section 2.2).
pub(super) const UNSCALED: u64 = 65_535;

/// The largest window that a segment can tell of: 16 bits, shifted by 14 (RFC 7323 section 2.3). Nearly 1 GiB.
pub(super) const LARGEST: u64 = UNSCALED << 14;

/// An experiment, with what warnings ask of it.
pub struct Asked<'a> {
    /// Experiment that is run.
    pub experiment: &'a Experiment,
    /// Runs of it, which differ in their seeds alone.
    pub repeats: u64,
    names: OnceCell<Vec<String>>,
    round_trips: OnceCell<BTreeMap<(usize, usize), RoundTrip>>,
}

/// Path there and back.
pub struct RoundTrip {
    /// The links there, in order.
    pub there: Vec<usize>,
    /// The links back.
    pub back: Vec<usize>,
    /// Link there with the least rate, a bottleneck before others.
    pub slowest: usize,
    /// Propagation delay there and back; never zero.
    pub rtt: Duration,
}

impl<'a> Asked<'a> {
    /// Looks at `experiment`, which is run `repeats` times.
    pub fn new(experiment: &'a Experiment, repeats: u64) -> Self {
        Asked { experiment, repeats, names: OnceCell::new(), round_trips: OnceCell::new() }
    }

    /// Returns its one-way links.
    pub fn links(&self) -> &'a [Link] {
        &self.experiment.network.links
    }

    /// Returns the name of flow `i` in messages: [`called`].
    pub fn flow(&self, i: usize) -> &str {
        &self.names.get_or_init(|| called(self.experiment))[i]
    }

    /// The way of `flow`, where there is one that takes any time.
    pub fn round_trip(&self, flow: &Flow) -> Option<&RoundTrip> {
        let round_trips = self.round_trips.get_or_init(|| {
            let routes = Routes::new(&self.experiment.network);
            let mut ends: Vec<(usize, usize)> = self.experiment.flows.iter().map(|flow| (flow.from, flow.to)).collect();
            ends.sort_unstable();
            ends.dedup();
            ends.into_iter().filter_map(|(from, to)| Some(((from, to), self.find(&routes, from, to)?))).collect()
        });
        round_trips.get(&(flow.from, flow.to))
    }

    fn find(&self, routes: &Routes<'_>, from: usize, to: usize) -> Option<RoundTrip> {
        let (there, back) = (routes.path(from, to)?, routes.path(to, from)?);
        let slowest = there.iter().copied().min_by_key(|&link| (self.links()[link].rate, !self.is_bottleneck(link)))?;
        let rtt = there.iter().chain(&back).fold(Duration::ZERO, |sum, &link| sum + self.links()[link].delay);
        (!rtt.is_zero()).then_some(RoundTrip { there, back, slowest, rtt })
    }

    /// True if `link`, in either direction, is a bottleneck's. The two directions of a link stand side by side.
    pub fn is_bottleneck(&self, link: usize) -> bool {
        self.links()[link].bottleneck || self.links().get(link ^ 1).is_some_and(|other| other.bottleneck)
    }

    /// Returns the payload of `flow` that `link` carries per second, in full packets, in bits.
    pub fn payload_bps(&self, link: usize, flow: &Flow) -> f64 {
        let link = &self.links()[link];
        let mss = flow.sender.mss;
        link.rate.as_bps() as f64 * f64::from(mss)
            / f64::from(wire_len(mss + flow.sender.headers(), link.overhead, link.min_frame, link.cells))
    }
}

/// Returns the most bytes that its buffers, and the window field, allow in flight.
pub(super) fn window(flow: &Flow) -> u64 {
    let field = if flow.sender.window_scale && flow.receiver.window_scale { LARGEST } else { UNSCALED };
    window_sizing::bounds(&flow.sender).0.min(window_sizing::bounds(&flow.receiver).1).min(field)
}

/// True if `flow` is of TCP and sends as much as the path takes: for ever, or more than `bytes`.
pub(super) fn sends_more_than(flow: &Flow, bytes: f64) -> bool {
    let sends = match flow.traffic.rank() {
        Rank::Endless => true,
        Rank::Volume => flow.traffic.volume().is_some_and(|volume| volume as f64 > bytes),
        Rank::Limited | Rank::Background | Rank::Probe => false,
    };
    sends && flow.traffic.is_tcp() && flow.read_rate.is_none()
}

/// Returns the name of each flow in messages: `flow forward 2` where its group has several, `flow forward` where it is alone. A name that
/// begins with `flow`, as default names do, stands alone: `flow1`.
pub(super) fn called(experiment: &Experiment) -> Vec<String> {
    let mut members: BTreeMap<&str, usize> = BTreeMap::new();
    experiment.flows.iter().for_each(|flow| *members.entry(&*flow.group).or_default() += 1);
    let words = experiment.flows.iter().zip(experiment.flow_names()).map(|(flow, name)| {
        let name = if members[&*flow.group] == 1 { flow.group.to_string() } else { name };
        if name.starts_with("flow") { name } else { format!("flow {name}") }
    });
    words.collect()
}

/// `flow forward 1`, `flow forward 1 and 3 more`; `first` as of [`called`].
pub(super) fn flows(first: &str, count: usize) -> String {
    if count == 1 { first.to_owned() } else { format!("{first} and {} more", count - 1) }
}

/// A rate for people.
pub(super) fn rate(bps: f64) -> String {
    match bps {
        bps if bps >= 1e9 => format!("{:.1} Gbit/s", bps / 1e9),
        bps if bps >= 1e6 => format!("{:.1} Mbit/s", bps / 1e6),
        bps => format!("{:.1} kbit/s", bps / 1e3),
    }
}

/// Bytes for people.
pub(super) fn bytes(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.2} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.1} MB", n / 1e6),
        n if n >= 1e3 => format!("{:.1} kB", n / 1e3),
        n => format!("{n:.0} bytes"),
    }
}

//! Use of a link's time: new data, duplicate data, cells of packets that never arrive, and idle time.
//!
//! Romanow and Floyd 1995, section 3.1: the three causes of low effective throughput over ATM, as shares of the measured span.

use super::{Bound, Metric, Scope, ratio, span_s};
use crate::trace::Trace;
use longfat_core::link::framing::wire_len;
use longfat_core::traffic::HEADERS;
use longfat_model::route::Routes;
use longfat_model::{Experiment, Flow, Link};

const SOURCE: &str = "Romanow and Floyd 1995, section 3.1";

pub(super) const GOOD: Metric = Metric {
    name: "good_share",
    unit: "1",
    bound: Bound::Share,
    summary: "share of the measured span in which the link carried what is in none of the other three shares: new data, acknowledgments",
    source: SOURCE,
    compute: |experiment, trace| each(experiment, trace, |split| split.good),
};

pub(super) const DUPLICATE: Metric = Metric {
    name: "duplicate_share",
    unit: "1",
    bound: Bound::Share,
    summary: "share of the measured span in which the link carried data that its receiver had already",
    source: SOURCE,
    compute: |experiment, trace| each(experiment, trace, |split| split.duplicate),
};

pub(super) const DEAD: Metric = Metric {
    name: "dead_share",
    unit: "1",
    bound: Bound::Share,
    summary: "share of the measured span in which the link carried cells of packets that lost a cell at the switch before it",
    source: SOURCE,
    compute: |experiment, trace| each(experiment, trace, |split| split.dead),
};

pub(super) const IDLE: Metric = Metric {
    name: "idle_share",
    unit: "1",
    bound: Bound::Share,
    summary: "share of the measured span in which the link carried nothing",
    source: SOURCE,
    compute: |experiment, trace| each(experiment, trace, |split| split.idle),
};

/// Seconds of the measured span.
struct Split {
    good: f64,
    duplicate: f64,
    dead: f64,
    idle: f64,
}

/// Seconds that a byte of payload of `flow` takes on `link`, in full packets.
pub(super) fn time_of(link: &Link, flow: &Flow) -> f64 {
    let (packet, payload) = match flow.traffic.packet_size() {
        Some(size) => (size, size - HEADERS),
        None => (flow.sender.mss + 40 + if flow.sender.timestamps { 12 } else { 0 }, flow.sender.mss),
    };
    let framed = wire_len(packet, link.overhead, link.min_frame, link.cells);
    f64::from(framed) * 8.0 / f64::from(payload) / link.rate.as_bps() as f64
}

fn each(experiment: &Experiment, trace: &Trace, part: fn(&Split) -> f64) -> Vec<(Scope, f64)> {
    let span = span_s(trace);
    let duplicates = duplicates(experiment, trace);
    let share = |i: usize| {
        let (link, record) = (&experiment.network.links[i], &trace.links[i]);
        let cell = f64::from(longfat_core::atm::aal5::CELL) * 8.0 / link.rate.as_bps() as f64;
        let dead = record.cells.as_ref().map_or(0.0, |cells| cells.in_span.dead as f64 * cell).min(record.busy_s);
        // Duplicates that arrive in the span may have been on the link before it.
        let most = record.busy_s - dead;
        let duplicate = duplicates[i].min(most);
        let shares = Split { good: most - duplicate, duplicate, dead, idle: span - record.busy_s };
        ratio(part(&shares), span)
    };
    (0..trace.links.len()).map(|i| (Scope::Link(i), share(i))).collect()
}

/// Returns, for each link, the seconds that duplicate data took on it.
fn duplicates(experiment: &Experiment, trace: &Trace) -> Vec<f64> {
    let mut seconds = vec![0.0; trace.links.len()];
    let routes = Routes::new(&experiment.network);
    for (flow, record) in experiment.flows.iter().zip(&trace.flows).filter(|(flow, _)| flow.traffic.is_tcp()) {
        for link in routes.path(flow.from, flow.to).into_iter().flatten() {
            seconds[link] += record.bytes_duplicate_in_span as f64 * time_of(&experiment.network.links[link], flow);
        }
    }
    seconds
}

//! Runs too short to show what a control does.

use super::asked::{sends_more_than, window};
use super::{Asked, Check, Warning};
use crate::trace::{FlowRecord, Trace};
use longfat_core::traffic::Rank;
use longfat_model::{Flow, OnFull};

pub(super) const WARNING: Warning = Warning {
    name: "short_run",
    summary: "a flow without end stayed in slow start, or had fewer than two congestion events",
    advice: "raise `measure.duration` to several times the longest time between two losses",
    source: "RFC 5166 section 2.1",
    about: &["measure.duration"],
    check: Check::After(check),
};

/// Controls that grow until they lose something.
const BY_LOSS: &[&str] = &["reno", "cubic", "tahoe", "aimd", "scalable", "highspeed", "htcp", "bic", "hybla", "westwood", "illinois"];
/// Controls that have no slow start threshold.
const NO_THRESHOLD: &[&str] = &["bbr", "bbr3"];
/// Share of a window that counts as all of it in flight.
const ALL: f64 = 0.9;

fn check(asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    let flows = asked.experiment.flows.iter().zip(&trace.flows).enumerate();
    let endless = flows.filter(|(_, (flow, _))| flow.traffic.rank() == Rank::Endless && flow.stop.is_none() && sends_more_than(flow, 0.0));
    let is_marked = trace.links.iter().any(|link| link.marks > 0);
    let told = endless.filter_map(|(i, (flow, record))| {
        // A flow at the path's rate without a loss is not short of time.
        if is_held(flow, record) || holds_back(asked, trace, flow) {
            return None;
        }
        let (control, end) = (flow.sender.congestion_control.kind, trace.end.as_secs_f64());
        let reductions = record.fast_retransmits + record.timeouts + record.send_stalls;
        let is_slow_start = record.cwnd_end.is_some_and(|cwnd| cwnd < record.ssthresh_end.unwrap_or(u64::MAX));
        if is_slow_start && reductions == 0 && !NO_THRESHOLD.contains(&control) {
            return Some(format!("{} was still in slow start when the run ended at {end} s", asked.flow(i)));
        }
        let needs_losses = BY_LOSS.contains(&control) && !is_marked;
        (needs_losses && reductions < 2).then(|| {
            let losses = if reductions == 0 { "no loss" } else { "one loss" };
            format!("{} ({control}) saw {losses} in {end} s, too few for its mean rate to be that of a longer run", asked.flow(i))
        })
    });
    told.collect()
}

/// True if its window, or something other than cwnd, kept the flow from sending more.
fn is_held(flow: &Flow, record: &FlowRecord) -> bool {
    let used = record.in_flight_max as f64;
    // Only whole segments are sent into a window.
    used + f64::from(flow.sender.mss) >= ALL * window(flow) as f64 || record.cwnd_end.is_some_and(|cwnd| used < ALL / 2.0 * cwnd as f64)
}

/// True if the transmit queue of its host filled, and kept the flow waiting.
fn holds_back(asked: &Asked<'_>, trace: &Trace, flow: &Flow) -> bool {
    let host = asked.experiment.hosts.iter().find(|host| host.node == flow.from);
    let (Some(nic), Some(way)) = (host.and_then(|host| host.nic), asked.round_trip(flow)) else { return false };
    nic.on_full == OnFull::Wait && trace.links.get(way.there[0]).is_some_and(|link| link.queue_max_packets >= nic.txqueuelen)
}

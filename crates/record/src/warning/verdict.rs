//! Verdict on a run in real time: the measured disturbances, and the values from which they matter. A run in virtual time is always valid.

use std::fmt;

use super::asked::called;
use super::path_changed;
use crate::trace::{RealTime, Trace, cut};
use longfat_core::time::{Duration, Time};
use longfat_model::Experiment;
use longfat_model::route::Routes;

/// Validity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No measured disturbance has spoilt the run.
    Valid,
    /// A disturbance may have spoilt the run.
    Suspect,
    /// A disturbance has spoilt the run: its numbers are not those of the experiment.
    Invalid,
}

impl Verdict {
    /// Returns its word in results.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Suspect => "suspect",
            Verdict::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The verdict on the run that left `trace`; `None` of one in virtual time.
pub fn verdict(experiment: &Experiment, trace: &Trace) -> Option<Verdict> {
    trace.real_time.as_ref()?;
    Some(reasons(experiment, trace).into_iter().map(|reason| reason.0).max().unwrap_or(Verdict::Valid))
}

/// A measured value is worth a word from `suspect` on, and spoils the run from `invalid` on.
struct Bound {
    suspect: f64,
    invalid: f64,
}

impl Bound {
    fn verdict(&self, value: f64) -> Verdict {
        if value > self.invalid {
            Verdict::Invalid
        } else if value > self.suspect {
            Verdict::Suspect
        } else {
            Verdict::Valid
        }
    }
}

/// Lateness of a packet, as a share of the shortest round trip; and the lateness that never matters, however short that is: two looks of
/// the emulator, 50 us apart.
const LATE: Bound = Bound { suspect: 0.01, invalid: 0.1 };
const LATE_LEAST_S: f64 = 100e-6;
/// Packets that arrive at once after the longest stall, as a share of a droptail queue's capacity.
const STALL: Bound = Bound { suspect: 0.25, invalid: 1.0 };
/// Packets lost where nothing should be lost, as a share of all handed over.
const LOST: Bound = Bound { suspect: 0.0, invalid: 1e-4 };
/// Time for which a thread waited for a core that another had, as a share of the run.
const WAITED: Bound = Bound { suspect: 0.01, invalid: 0.1 };
/// Correction of the clock, as a share of the run. Daemons slew it by 500 parts in a million at most (adjtimex(2)); a crystal is within
/// 100.
const CLOCK: Bound = Bound { suspect: 100e-6, invalid: 1e-3 };
/// Memory of all TCP of the machine, as a share of the size above which the kernel lets no window grow. It lets them grow again under the
/// least of three values of `tcp_mem`, by default three quarters of that (tcp(7)).
const MEMORY: Bound = Bound { suspect: 0.75, invalid: 1.0 };
/// Bytes in flight beyond the window, of the window. A receiver's first window has no scale, and is not taken back (RFC 7323 section 2.2).
const WINDOW: Bound = Bound { suspect: 0.02, invalid: 0.1 };
const FIRST_WINDOW: u64 = 65_535;

/// Returns the disturbances of the run that left `trace`, each with its verdict.
pub fn reasons(experiment: &Experiment, trace: &Trace) -> Vec<(Verdict, String)> {
    let Some(real) = &trace.real_time else { return Vec::new() };
    let ms = |time: Time| time.as_secs_f64() * 1e3;
    let rtt = shortest_round_trip(experiment);
    let mut found = Vec::new();
    let mut judge = |bound: &Bound, value: f64, text: String| match bound.verdict(value) {
        Verdict::Valid => {}
        verdict => found.push((verdict, text)),
    };
    for (late, what) in [(real.late[1], "were handed over late by"), (real.unseen[1], "may have come to their first link late by")] {
        if late.as_secs_f64() > LATE_LEAST_S {
            let share = late.as_secs_f64() / rtt.as_secs_f64();
            judge(
                &LATE,
                share,
                format!("1 of 100 packets {what} {:.3} ms or more, {:.1} % of the shortest round trip", ms(late), 100.0 * share),
            );
        }
    }
    for link in experiment.network.links.iter().filter(|link| link.bottleneck) {
        let Some(limit) = link.droptail_bytes() else { continue };
        let share = real.late_max.as_secs_f64() * link.rate.as_bps() as f64 / 8.0 / limit as f64;
        let (late, percent) = (ms(real.late_max), 100.0 * share);
        judge(
            &STALL,
            share,
            format!(
                "a packet was handed over {late:.3} ms late: what comes at once after that is {percent:.0} % of what the queue of {} holds",
                link.name
            ),
        );
    }
    let RealTime { lost_at_device, lost_at_input, lost_at_socket, handed_over, .. } = *real;
    for (lost, place) in [
        (lost_at_device, "between a host and the emulated network"),
        (lost_at_input, "in the input queue of a core (net.core.netdev_max_backlog)"),
        (lost_at_socket, "at a socket or a connection"),
    ] {
        judge(&LOST, lost as f64 / handed_over.max(1) as f64, format!("{lost} packets were lost {place}"));
    }
    let lasted = trace.end.as_secs_f64().max(1e-3);
    for (waited, whose) in [(real.emulator_waited, "the emulator"), (real.endpoints_waited, "the endpoints")] {
        let share = waited.as_secs_f64() / lasted;
        judge(&WAITED, share, format!("{whose} waited {:.1} ms for a core, {:.1} % of the run", ms(waited), 100.0 * share));
    }
    let share = real.stolen.as_secs_f64() / lasted;
    judge(
        &WAITED,
        share,
        format!("the machine, a virtual one, did not get {:.0} ms of its cores, {:.1} % of the run", ms(real.stolen), 100.0 * share),
    );
    let share = real.clock_corrected.as_secs_f64() / lasted;
    judge(&CLOCK, share, format!("the clock was corrected by {:.3} ms while it ran", ms(real.clock_corrected)));
    if real.tcp_memory_pressure > 0 {
        let [most, pressure] = [real.tcp_memory_max, real.tcp_memory_pressure].map(|bytes| bytes as f64);
        let text = format!(
            "TCP had {:.0} MB of memory on this machine, {:.0} % of that from which on the kernel lets no window grow (net.ipv4.tcp_mem)",
            most / 1e6,
            100.0 * most / pressure
        );
        judge(&MEMORY, most / pressure, text);
    }
    for ((flow, record), name) in experiment.flows.iter().zip(&trace.flows).zip(called(experiment)) {
        if flow.receiver.window_sizing.kind != "static" {
            continue;
        }
        let window = flow.sender.send_buffer.min(flow.receiver.receive_buffer);
        let in_flight = record.in_flight_max;
        let beyond = in_flight.saturating_sub(window.max(FIRST_WINDOW)) as f64 / window as f64;
        judge(&WINDOW, beyond, format!("{name} had {in_flight} bytes in flight, and its window is {window} bytes"));
    }
    found.extend(path_changed::changes(trace).into_iter().map(|text| (Verdict::Suspect, text)));
    let ended = match real.cut_by {
        0 => None,
        cut::USER => Some("it was stopped"),
        cut::LOST => Some("the far host or the path to it was lost"),
        _ => Some("the server ended it, by a limit of its own,"),
    };
    if let Some(ended) = ended {
        let asked = experiment.measure.duration.as_secs_f64();
        found.push((Verdict::Invalid, format!("{ended} after {:.1} of {asked:.1} s", trace.end.as_secs_f64())));
    }
    if real.beside > Time::ZERO {
        let [beside, lasted] = [real.beside, trace.end].map(Time::as_secs_f64);
        found.push((Verdict::Suspect, format!("another session ran beside it at the far host for {beside:.1} of {lasted:.1} s")));
    }
    if real.rate_limit > 0 {
        let text = format!(
            "the server lets a session send {:.1} Mbit/s at most: a limit of its own, not of the path",
            real.rate_limit as f64 / 1e6
        );
        found.push((Verdict::Suspect, text));
    }
    found
}

/// Propagation alone, of the flow for which it is shortest.
fn shortest_round_trip(experiment: &Experiment) -> Duration {
    let routes = Routes::new(&experiment.network);
    let links = &experiment.network.links;
    let delay = |from, to| routes.path(from, to).unwrap_or_default().into_iter().fold(Duration::ZERO, |sum, link| sum + links[link].delay);
    let of = |flow: &longfat_model::Flow| delay(flow.from, flow.to) + delay(flow.to, flow.from);
    experiment.flows.iter().map(of).min().unwrap_or(Duration::MAX).max(Duration::from_ps(1))
}

//! A run of an experiment between this host and a server.

use longfat_core::time::{Duration, Time};
use longfat_host::facts::{Before, Losses, TcpMemory};
use longfat_host::options::Options;
use longfat_model::{Experiment, Flow, Live};
use longfat_record::trace::{ProbeRecord, RealTime, Trace};
use socket2::Socket;

use crate::Error;
use crate::envelope::{self, Crossing};
use crate::linux::client::{self, Asked, Outcome};
use crate::linux::data::{self, Wish};
use crate::linux::probe::{Sent, Stamps};
use crate::linux::replay::{self, Both};
use crate::linux::serve::program;
use crate::linux::{keys, plane, settings};
use crate::options::Progress;
use crate::protocol::message::{Direction, FLOWS, FlowOffer, Offer, ProbeOffer, SAMPLES, Setting};

/// Time between samples of a run, unless it is long.
const INTERVAL: Duration = Duration::from_millis(10);
/// Time before the flows in which the path is idle, and time after them in which queues become empty, for the probes.
const AROUND: Duration = Duration::from_secs(1);
/// Time between probes of a run, unless it is long.
const PROBES: Duration = Duration::from_millis(10);
/// Part of [`SAMPLES`] that a run takes at most: results then come in seconds.
const ENOUGH: u64 = SAMPLES / 4;

/// Checks that `experiment` can be run, as far as that is known without the other host.
///
/// # Errors
/// Keys that are missing, and what this host has otherwise than the experiment asks.
pub fn ready(experiment: &Experiment) -> Result<(), Error> {
    let live = live(experiment)?;
    live.remote().key.as_deref().map(keys::load).transpose()?;
    let here = settings::here();
    check(experiment, live, true, &data::host(), &here)?;
    data::has_controls(&offer(experiment, live)?.flows)
}

fn live(experiment: &Experiment) -> Result<&Live, Error> {
    let none = || Error::unsupported("live", "the backend `live` runs between two hosts. Name them: a `[[live.host]]` for each");
    experiment.live.as_ref().ok_or_else(none)
}

/// True if this host sends the flow.
fn we_send(live: &Live, flow: &Flow) -> bool {
    flow.from == live.local()
}

/// Checks the settings of one host, ours or the other.
fn check(experiment: &Experiment, live: &Live, is_here: bool, name: &str, has: &[Setting]) -> Result<(), Error> {
    experiment.flows.iter().try_for_each(|flow| settings::check(name, has, flow, we_send(live, flow) == is_here, window(flow)))
}

/// The window of a flow, if its file fixes one.
fn window(flow: &Flow) -> Option<u64> {
    Options::of(&flow.receiver, flow.receiver.congestion_control.kind, &flow.sender).buffers.map(|buffers| buffers.window as u64)
}

fn micros(time: Duration) -> u64 {
    time.as_ps() / 1_000_000
}

/// Offer to the server: flows, time and interval of samples.
fn offer(experiment: &Experiment, live: &Live) -> Result<Offer, Error> {
    let count = experiment.flows.len();
    if count > FLOWS {
        return Err(Error::unsupported("flow.count", format!("a session has {FLOWS} flows at most, and the experiment has {count}")));
    }
    let ms = (experiment.measure.duration + AROUND + AROUND).as_ps().div_ceil(1_000_000_000);
    let end = AROUND + experiment.measure.duration;
    let flow = |flow: &Flow| {
        let is_up = we_send(live, flow);
        let tcp = if is_up { &flow.receiver } else { &flow.sender };
        FlowOffer {
            direction: if is_up { Direction::Up } else { Direction::Down },
            start_us: micros(AROUND + flow.start),
            stop_us: Some(micros(flow.stop.map_or(end, |stop| AROUND + stop))),
            volume: flow.traffic.volume(),
            // The receiver's control decides nothing.
            control: (!is_up).then(|| tcp.congestion_control.kind.to_owned()),
            window: window(flow),
            nagle: tcp.sending.nagle,
            dscp: flow.dscp.number(),
        }
    };
    let probe = ProbeOffer { interval_us: micros(PROBES) };
    let probe = ProbeOffer { interval_us: probe.count(ms).div_ceil(ENOUGH) * probe.interval_us };
    let wanted = Offer { ms, interval_us: micros(INTERVAL), flows: experiment.flows.iter().map(flow).collect(), probe: Some(probe) };
    let stretch = wanted.samples().div_ceil(ENOUGH);
    Ok(Offer { interval_us: stretch * wanted.interval_us, ..wanted })
}

/// Settings of our end of `flow`.
fn wish(live: &Live, flow: &Flow) -> Wish {
    let is_up = we_send(live, flow);
    let tcp = if is_up { &flow.sender } else { &flow.receiver };
    let headers = tcp.headers();
    // The option counts the timestamps. Full segments of an Ethernet path are left to the path, which may have larger ones.
    let is_usual = tcp.mss == Live::MTU - headers;
    Wish {
        control: is_up.then(|| tcp.congestion_control.kind.to_owned()),
        window: window(flow),
        maxseg: (!is_usual).then(|| tcp.mss + headers - 40),
        nagle: tcp.sending.nagle,
        dscp: flow.dscp.number(),
        rate: None,
    }
}

/// Runs `experiment` to its end, which takes as long as it says; calls `go_on` with how far it is many times a second. When that says
/// `false`, both hosts end, and the trace is of the time until then.
///
/// # Errors
/// A server that is not there, says no or is lost, and hosts that are not as the experiment asks.
pub fn run_with(experiment: &Experiment, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<Trace, Error> {
    let live = live(experiment)?;
    ready(experiment)?;
    let remote = live.remote();
    let key = remote.key.as_deref().map(keys::load).transpose()?;
    let offer = offer(experiment, live)?;
    let begin = Time::ZERO + AROUND;
    let end = begin + experiment.measure.duration;
    let make = |number: usize, socket: Socket| {
        let flow: &Flow = &experiment.flows[number];
        let (start, stop) = (begin + flow.start, flow.stop.map_or(end, |stop| begin + stop));
        let traffic = flow.traffic.volume().map_or_else(longfat_core::traffic::Traffic::bulk, longfat_core::traffic::Traffic::ttcp);
        plane::Flow {
            socket,
            window: window(flow),
            sends: we_send(live, flow).then(|| program(&traffic, start, stop, experiment.seed)),
            has_volume: flow.traffic.volume().is_some(),
        }
    };
    let check = |settings: &[Setting]| check(experiment, live, false, &remote.at, settings);
    let wishes = experiment.flows.iter().map(|flow| wish(live, flow)).collect();
    let asked = Asked { at: &remote.at, key: key.as_ref(), offer, wishes, end: &make, check: &check };
    let before = Before::now(Losses::default());
    let mut memory = TcpMemory::new();
    let mut calls = 0_u32;
    let outcome = client::session(&asked, &mut |now| {
        calls += 1;
        if calls.is_multiple_of(16) {
            memory.look();
        }
        let now = Time::from_ps(now.saturating_mul(1000).saturating_sub(AROUND.as_ps()));
        go_on(&Progress { now: now.min(Time::ZERO + experiment.measure.duration) })
    })?;
    let Outcome { ours, theirs, probes, end, is_cut, base_rtt, rate_limit } = outcome;
    let spoilt = before.since(Losses::default());
    let real_time = RealTime {
        endpoints_waited: ours.waited,
        stolen: spoilt.stolen,
        clock_corrected: spoilt.clock_corrected,
        tcp_memory_max: memory.most,
        tcp_memory_pressure: memory.pressure,
        base_rtt: base_rtt.map(|rtt| Time::from_ps(1000 * rtt.unwrap_or(0))),
        rate_limit: rate_limit.unwrap_or(0),
        is_cut: is_cut.into(),
        ..RealTime::default()
    };
    // The other host began when its message left, which took some part of the round trip: half of it is off by half at most.
    let ahead = base_rtt[0].unwrap_or(0) / 2;
    let we_send: Vec<bool> = experiment.flows.iter().map(|flow| we_send(live, flow)).collect();
    let lead = AROUND.as_ps() / 1000;
    let both = Both { ours: ours.rows, theirs, lead, ahead, end };
    let trace = replay::trace(experiment, &we_send, both);
    let span = [trace.span.0, trace.span.1].map(|time| lead + time.as_ps() / 1000);
    let idle = lead.saturating_sub(base_rtt[0].unwrap_or(0));
    let probes = records(&probes, idle, span);
    Ok(Trace { real_time: Some(RealTime { probes, ..real_time }), ..trace })
}

/// Returns what the probes of both hosts tell, to the other host and from it: the waits of those sent before `idle`, and within `span`. All
/// times are of our clock since the probes began.
fn records([ours, theirs]: &[Stamps; 2], idle: u64, span: [u64; 2]) -> [ProbeRecord; 2] {
    let (up, down) = (ours.crossings(theirs), theirs.crossings(ours));
    let bare = |list: &[(Sent, Crossing)]| list.iter().map(|(_, crossing)| *crossing).collect::<Vec<_>>();
    let Some(waits) = envelope::waits(&bare(&up), &bare(&down)) else { return Default::default() };
    let record = |sent: &[Sent], crossings: &[(Sent, Crossing)], waits: &[f64], is_up: bool| {
        // A probe from the other host belongs to the time at which it came, less what it waited.
        let at = |crossing: &Crossing, wait: f64| if is_up { crossing.sent } else { crossing.came.saturating_sub(wait as u64) };
        let within = |from: u64, to: u64| {
            let those = crossings.iter().zip(waits).filter(|(_, wait)| !wait.is_nan());
            let those = those.filter(|((_, crossing), wait)| (from..=to).contains(&at(crossing, **wait)));
            sorted(those.map(|(_, wait)| *wait as u64).collect())
        };
        let (idle, loaded) = (within(0, idle), within(span[0], span[1]));
        let late = sorted(sent.iter().map(|sent| sent.at.saturating_sub(sent.due)).collect());
        // Probes after the last arrival may have been under way at the end.
        let last = crossings.iter().map(|(sent, _)| sent.number).max();
        ProbeRecord {
            sent: sent.iter().filter(|sent| Some(sent.number) <= last).count() as u64,
            arrived: crossings.len() as u64,
            idle_count: idle.len() as u64,
            idle: [0.5, 0.95].map(|share| quantile(&idle, share)),
            loaded_count: loaded.len() as u64,
            loaded: [0.5, 0.95, 0.99].map(|share| quantile(&loaded, share)),
            timer_error: [0.5, 0.99].map(|share| quantile(&late, share)),
        }
    };
    [record(&ours.sent, &up, &waits.up, true), record(&theirs.sent, &down, &waits.down, false)]
}

fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values
}

/// The least of sorted values, in nanoseconds, that `share` of them do not exceed; zero of none.
fn quantile(sorted: &[u64], share: f64) -> Time {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    Time::from_ps(1000 * sorted.get(place.saturating_sub(1)).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::probe::Got;

    /// 3 s of a probe each 10 ms, sent 5 us late. The other clock began 7 s earlier. To there 4 ms, from there 6 ms; in the second and third
    /// second every other probe to there waits 2 ms, and one is lost.
    #[test]
    fn probes_tell_of_waits_idle_and_loaded() {
        let (late, ahead, lost) = (5_000, 7_000_000_000, 250);
        let sent = |zero: u64| -> Vec<Sent> {
            let probe = |number: u32| {
                let due = zero + 10_000_000 * u64::from(number);
                Sent { number, due, at: due + late }
            };
            (0..300).map(probe).collect()
        };
        let wait = |number: u32| if number >= 100 && number.is_multiple_of(2) { 2_000_000 } else { 0 };
        let (here, there) = (sent(0), sent(ahead));
        let up = here.iter().filter(|sent| sent.number != lost && sent.number < 299);
        let up = up.map(|sent| Got { number: sent.number, at: sent.at + ahead + 4_000_000 + wait(sent.number) }).collect();
        let down = there.iter().map(|sent| Got { number: sent.number, at: sent.at - ahead + 6_000_000 }).collect();
        let both = [Stamps { sent: here, got: down }, Stamps { sent: there, got: up }];
        let [up, down] = records(&both, 990_000_000, [1_000_000_000, 3_000_000_000]);
        let us = |us: u64| Time::from_ps(1_000_000 * us);
        assert_eq!((up.sent, up.arrived, down.sent, down.arrived), (299, 298, 300, 300));
        assert_eq!((up.idle, up.loaded), ([us(0); 2], [us(0), us(2000), us(2000)]));
        assert_eq!((down.idle, down.loaded), ([us(0); 2], [us(0); 3]));
        assert_eq!((up.timer_error, down.timer_error), ([us(5); 2], [us(5); 2]));
    }

    #[test]
    fn nothing_is_told_where_no_probe_came() {
        let both = [Stamps { sent: vec![Sent { number: 0, due: 0, at: 0 }], got: Vec::new() }, Stamps::default()];
        assert_eq!(records(&both, 1, [1, 2]), <[ProbeRecord; 2]>::default());
    }
}

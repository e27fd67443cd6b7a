//! A run of an experiment between this host and a server.

use longfat_core::time::{Duration, Time};
use longfat_host::facts::{Before, Losses, TcpMemory};
use longfat_host::options::Options;
use longfat_model::{Experiment, Flow, Live};
use longfat_record::trace::{RealTime, Trace};
use socket2::Socket;

use crate::Error;
use crate::linux::client::{self, Asked, Outcome};
use crate::linux::data::{self, Wish};
use crate::linux::replay::{self, Both};
use crate::linux::serve::program;
use crate::linux::{keys, plane, settings};
use crate::options::Progress;
use crate::protocol::message::{Direction, FLOWS, FlowOffer, Offer, SAMPLES, Setting};

/// Time between samples of a run, unless it is long.
const INTERVAL: Duration = Duration::from_millis(10);
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
    let ms = experiment.measure.duration.as_ps().div_ceil(1_000_000_000);
    let flow = |flow: &Flow| {
        let is_up = we_send(live, flow);
        let tcp = if is_up { &flow.receiver } else { &flow.sender };
        FlowOffer {
            direction: if is_up { Direction::Up } else { Direction::Down },
            start_us: micros(flow.start),
            stop_us: flow.stop.map(micros),
            volume: flow.traffic.volume(),
            // The receiver's control decides nothing.
            control: (!is_up).then(|| tcp.congestion_control.kind.to_owned()),
            window: window(flow),
            nagle: tcp.sending.nagle,
            dscp: flow.dscp.number(),
        }
    };
    let wanted = Offer { ms, interval_us: micros(INTERVAL), flows: experiment.flows.iter().map(flow).collect() };
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
    let end = Time::ZERO + experiment.measure.duration;
    let make = |number: usize, socket: Socket| {
        let flow: &Flow = &experiment.flows[number];
        let (start, stop) = (Time::ZERO + flow.start, flow.stop.map_or(end, |stop| Time::ZERO + stop));
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
        go_on(&Progress { now: Time::from_ps(now.saturating_mul(1000)) })
    })?;
    let Outcome { ours, theirs, end, is_cut, base_rtt, rate_limit } = outcome;
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
    let trace = replay::trace(experiment, &we_send, Both { ours: ours.rows, theirs, ahead, end });
    Ok(Trace { real_time: Some(real_time), ..trace })
}

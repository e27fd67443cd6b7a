//! A run of an experiment between this host and a server.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration as Span, Instant, SystemTime};

use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Reader;
use longfat_host::facts::{Before, Losses, TcpMemory};
use longfat_host::options::Options;
use longfat_model::{Experiment, Flow, Live};
use longfat_record::trace::columns::NONE;
use longfat_record::trace::{DatagramSample, HopSample, HostSample, ProbeRecord, ProbeSample, RealTime, SurveyRecord, Trace, cut};
use longfat_tcp::{ReceiveBy, SendBy};
use socket2::Socket;

use crate::Error;
use crate::envelope;
use crate::linux::client::{self, Asked, End, Outcome};
use crate::linux::data::{self, Wish};
use crate::linux::datagrams::{self, Counted};
use crate::linux::hops::FlowHop;
use crate::linux::look::Extent;
use crate::linux::plane::{Look, Plane};
use crate::linux::probe::{Got, Sent, Stamps, times};
use crate::linux::replay::{self, Both};
use crate::linux::{keys, plane, settings, wall};
use crate::options::{Greeting, Progress};
use crate::protocol::application::Application;
use crate::protocol::beside::Spell;
use crate::protocol::message::{Direction, FLOWS, FlowOffer, Granted, Offer, ProbeOffer, ReceiveWay, SAMPLES, SendWay, Setting};
use crate::protocol::{Key, Token};
use crate::survey::Survey;

/// Time between samples of a run, unless it is long.
const INTERVAL: Duration = Duration::from_millis(10);
/// Time before the flows in which the path is idle, and time after them in which queues become empty, for the probes.
const AROUND: Duration = Duration::from_secs(1);
/// Time between probes of a run, unless it is long.
const PROBES: Duration = Duration::from_millis(10);
/// Time after which a look at the path before or after a run ends, whatever it has.
const LOOKING: Span = Span::from_secs(10);
/// Part of [`SAMPLES`] that a run takes at most: results then come in seconds.
const ENOUGH: u64 = SAMPLES / 4;

/// Checks that `experiment` can be run, as far as that is known without the other host.
///
/// # Errors
/// Keys that are missing, and what this host has otherwise than the experiment asks.
pub fn ready(experiment: &Experiment) -> Result<(), Error> {
    let live = live(experiment)?;
    live.remote().key.as_deref().map(keys::load).transpose()?;
    if live.capture && !experiment.flows.iter().any(|flow| flow.traffic.is_tcp()) {
        return Err(Error::unsupported("live.capture", "no flow goes over TCP, so there is nothing to capture: leave it out"));
    }
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
    let mut over_tcp = experiment.flows.iter().filter(|flow| flow.traffic.is_tcp());
    over_tcp.try_for_each(|flow| settings::check(name, has, flow, we_send(live, flow) == is_here, window(flow)))
}

/// The window of a flow, if its file fixes one.
fn window(flow: &Flow) -> Option<u64> {
    if !flow.traffic.is_tcp() {
        return None;
    }
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
    let flow = |(flow, name): (&Flow, String)| {
        let is_up = we_send(live, flow);
        let (tcp, is_tcp) = (if is_up { &flow.receiver } else { &flow.sender }, flow.traffic.is_tcp());
        FlowOffer {
            direction: if is_up { Direction::Up } else { Direction::Down },
            start_us: micros(AROUND + flow.start),
            stop_us: Some(micros(flow.stop.map_or(end, |stop| AROUND + stop))),
            application: Application::of(&flow.traffic, experiment.seed, &name),
            read_rate: flow.read_rate.map(longfat_core::units::Rate::as_bps),
            // The receiver's control decides nothing.
            control: (is_tcp && !is_up).then(|| tcp.congestion_control.kind.to_owned()),
            window: window(flow),
            nagle: is_tcp && tcp.sending.nagle,
            dscp: flow.dscp.number(),
            send: match flow.sender.sending.send {
                SendBy::Copy => SendWay::Copy,
                SendBy::Sendfile => SendWay::Sendfile,
                SendBy::Zerocopy => SendWay::Zerocopy,
            },
            receive: match flow.receiver.sending.receive {
                ReceiveBy::Truncate => ReceiveWay::Truncate,
                ReceiveBy::Copy => ReceiveWay::Copy,
            },
        }
    };
    let probe = ProbeOffer { interval_us: micros(PROBES) };
    let probe = ProbeOffer { interval_us: probe.count(ms).div_ceil(ENOUGH) * probe.interval_us };
    let wanted = Offer {
        ms,
        interval_us: micros(INTERVAL),
        flows: experiment.flows.iter().zip(experiment.flow_names()).map(flow).collect(),
        probe: Some(probe),
        capture: live.capture,
        survey: None,
    };
    let stretch = wanted.samples().div_ceil(ENOUGH);
    Ok(Offer { interval_us: stretch * wanted.interval_us, ..wanted })
}

/// Settings of our end of `flow`.
fn wish(live: &Live, flow: &Flow) -> Wish {
    let is_up = we_send(live, flow);
    let tcp = if is_up { &flow.sender } else { &flow.receiver };
    if !flow.traffic.is_tcp() {
        let dscp = flow.dscp.number();
        return Wish { control: None, window: None, maxseg: None, nagle: false, dscp, rate: None, send: SendBy::Copy };
    }
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
        send: if is_up { tcp.sending.send } else { SendBy::Copy },
    }
}

/// Runs `experiment` to its end, which takes as long as it says; calls `go_on` with how far it is many times a second. When that says
/// `false`, both hosts end, and the trace is of the time until then. So it is when the far host or the path is lost while the flows run; the
/// second value then says how.
///
/// # Errors
/// A server that is not there, says no, or is lost before the flows begin, and hosts that are not as the experiment asks.
pub fn run_with(experiment: &Experiment, go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Result<(Trace, Option<Error>), Error> {
    let live = live(experiment)?;
    ready(experiment)?;
    let remote = live.remote();
    let key = remote.key.as_deref().map(keys::load).transpose()?;
    let begun_unix_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let Some(seen_before) = look(live, key.as_ref(), 0, Time::ZERO, go_on) else {
        return Err(Error::session(&remote.at, "the run was stopped before it began"));
    };
    let offer = offer(experiment, live)?;
    let applications: Vec<Application> = offer.flows.iter().map(|flow| flow.application.clone()).collect();
    let begin = Time::ZERO + AROUND;
    let end = begin + experiment.measure.duration;
    let ms = offer.ms;
    let make = |number: u32, socket: Socket, nonce: Option<Token>| {
        let (flow, application): (&Flow, _) = (&experiment.flows[number as usize], &applications[number as usize]);
        let (start, stop) = (begin + flow.start, flow.stop.map_or(end, |stop| begin + stop));
        let sends = we_send(live, flow);
        if let Some(nonce) = nonce {
            let (datagrams, most) = (application.datagrams(&flow.traffic, sends, start, stop), datagrams::most(&flow.traffic, ms));
            return End::Udp(datagrams::Flow { number, socket, nonce, datagrams, sends, most });
        }
        let sends = sends.then(|| application.program(&flow.traffic, start, stop));
        End::Tcp(plane::Flow {
            number,
            socket,
            window: window(flow),
            reads: flow.read_rate.filter(|_| sends.is_none()).map(|rate| Reader::new(rate, plane::BLOCK)),
            sends,
            has_volume: flow.traffic.volume().is_some(),
            send: flow.sender.sending.send,
            receive: flow.receiver.sending.receive,
        })
    };
    let check = |granted: &Granted, _| check(experiment, live, false, &remote.at, &granted.settings);
    let wishes = experiment.flows.iter().map(|flow| wish(live, flow)).collect();
    let asked = Asked {
        at: &remote.at,
        key: key.as_ref(),
        offer,
        wishes,
        end: &make,
        udp_port: 0,
        routers: seen_before.routers_up.unwrap_or(0),
        begin,
        check: &check,
    };
    let before = Before::now(Losses::default());
    let mut memory = TcpMemory::new();
    let mut calls = 0_u32;
    let outcome = client::session(&asked, &mut |now, plane| {
        calls += 1;
        if calls.is_multiple_of(16) {
            memory.look();
        }
        let now = Time::from_ps(now.saturating_mul(1000).saturating_sub(AROUND.as_ps()));
        let seen = || plane.map(Plane::seen).unwrap_or_default();
        go_on(&Progress { now: now.min(Time::ZERO + experiment.measure.duration), seen: &seen })
    })?;
    let Outcome {
        ours,
        theirs,
        their_looks,
        datagrams,
        probes,
        captured,
        mut end,
        cut_by,
        lost,
        base_rtt,
        rate_limit,
        hops: of_flows,
        their_wall,
        nat,
        beside,
        ..
    } = outcome;
    // The other host began when its message left, which took some part of the round trip: half of it is off by half at most.
    let ahead = base_rtt[0].unwrap_or(0) / 2;
    let lead = AROUND.as_ps() / 1000;
    // A far host that was lost while it sent its samples: the run is as long as they are.
    if let (cut::LOST, Some(last)) = (cut_by, theirs.last()) {
        end = end.min(last.at.saturating_sub(ahead));
    }
    // Nothing here tells how much of UDP a lost host received.
    let is_untold = experiment.flows.iter().any(|flow| !flow.traffic.is_tcp() && we_send(live, flow));
    match lost {
        Some(error) if end <= lead || is_untold => return Err(error),
        _ => {}
    }
    let spoilt = before.since(Losses::default());
    // By the same ports, so that routers which share load by them send it the same way. A path that was not seen before tells of no change.
    let is_seen = cut_by == 0 && !seen_before.rtt_ns.is_empty();
    let now = Time::ZERO + experiment.measure.duration;
    let seen_after = is_seen.then(|| look(live, key.as_ref(), seen_before.port, now, go_on)).flatten().unwrap_or_default();
    let surveys = [record(&seen_before), record(&seen_after)];
    let of_flows = of_flows.into_iter().map(|FlowHop { flow, ttl, heard }| {
        let rtt = heard.map(|(_, rtt)| rtt.as_nanos() as u64);
        HopSample { flow: flow.into(), ..hop(false, ttl, heard.map(|(address, _)| address), rtt) }
    });
    let hops = hops(&seen_before, false).chain(of_flows).chain(hops(&seen_after, true)).collect();
    let one_way = wall::one_way(&probes, [ours.wall, their_wall]);
    // The session goes on for a moment after the flows.
    let of_flows_ns = [lead, end.min(lead + experiment.measure.duration.as_ps() / 1000)].map(|at| at + ahead);
    let real_time = RealTime {
        endpoints_waited: ours.waited,
        stolen: spoilt.stolen,
        clock_corrected: spoilt.clock_corrected,
        tcp_memory_max: memory.most,
        tcp_memory_pressure: memory.pressure,
        base_rtt: base_rtt.map(|rtt| Time::from_ps(1000 * rtt.unwrap_or(0))),
        rate_limit: rate_limit.unwrap_or(0),
        cut_by,
        beside: together(&beside, of_flows_ns),
        surveys,
        one_way: one_way.delay,
        one_way_error: one_way.error,
        nat: nat.map(|seen| seen.map_or(0, |address| address.port().into())),
        begun_unix_s,
        captures: [captured[0].seen, captured[1].seen],
        ..RealTime::default()
    };
    let we_send: Vec<bool> = experiment.flows.iter().map(|flow| we_send(live, flow)).collect();
    let host_series = host_series(&ours.looks, &their_looks, lead, ahead, end);
    let [ours_of_udp, theirs_of_udp] = datagrams;
    let datagram_rows = datagram_rows(&we_send, [&ours_of_udp.stamps, &theirs_of_udp.stamps], [lead, lead + ahead]);
    let counted = [ours_of_udp.counted, theirs_of_udp.counted];
    let ends = last(&counted[0]).into_iter().chain(last(&counted[1]));
    let [lost_at_socket, handed_over] = ends.fold([0, 0], |[lost, all], end| [lost + end.dropped, all + end.packets + end.dropped]);
    let real_time = RealTime { lost_at_socket, handed_over, ..real_time };
    let both = Both { ours: ours.rows, theirs, counted, lead, ahead, end };
    let (mut trace, mut judged) = replay::trace(experiment, &we_send, both);
    let span = [trace.span.0, trace.span.1].map(|time| lead + time.as_ps() / 1000);
    let idle = lead.saturating_sub(base_rtt[0].unwrap_or(0));
    let Probed { records, samples, skew, steps } = match cut_by {
        cut::LOST => Probed { samples: unmatched(&probes[0], lead), ..Probed::default() },
        _ => probed(&probes, idle, span, [lead, lead + ahead]),
    };
    let over_tcp = experiment.flows.iter().map(|flow| flow.traffic.is_tcp());
    let all = trace.flows.iter_mut().zip(&mut judged).zip(&we_send).zip(0..).zip(over_tcp);
    for ((((record, flow), is_up), number), _) in all.filter(|(_, is_tcp)| *is_tcp) {
        let those = samples.iter().filter(|probe| probe.is_down != *is_up && !probe.queue_delay_s.is_nan());
        flow.waits = those.map(|probe| ((1e9 * probe.time_s) as i64, (1e9 * probe.queue_delay_s) as i64)).collect();
        let (cause, verdict) = flow.verdict();
        let found = [usize::from(!*is_up), usize::from(*is_up)].map(|at| captured[at].judged.iter().find(|one| one.flow == number));
        record.captured = found.map(|one| one.map(|one| (one.cause, one.confidence)));
        let beside = longfat_capture::beside(cause, verdict.confidence, &found.into_iter().flatten().collect::<Vec<_>>());
        record.limit = Some((cause, beside));
    }
    let [captured, _] = captured;
    trace.packets = captured.rows;
    trace.packets.retain(|row| row.time <= trace.end);
    let unstamped = samples.iter().filter(|sample| sample.arrived == 1).map(|sample| sample.unstamped).sum();
    let real_time =
        RealTime { probes: records, clock_skew: parts_per_billion(skew), clock_steps: steps, probes_unstamped: unstamped, ..real_time };
    Ok((Trace { real_time: Some(real_time), probes: samples, datagrams: datagram_rows, hops, host_series, ..trace }, lost))
}

/// Looks at the path from the UDP port `from` (0: any), at the time `now` of the run. A server that grants no survey and a path without UDP leave
/// it unknown. `None`: the caller stopped it.
fn look(live: &Live, key: Option<&Key>, from: u16, now: Time, go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Option<Survey> {
    let (deadline, mut is_wanted) = (Instant::now() + LOOKING, true);
    let mut wants = |_| {
        is_wanted = is_wanted && go_on(&Progress { now, seen: &Vec::new });
        is_wanted && Instant::now() < deadline
    };
    let found = live.survey.then(|| client::survey(&live.remote().at, key, Extent::Brief, from, &mut wants).ok()).flatten();
    is_wanted.then(|| found.unwrap_or_default())
}

/// Returns the numbers of a survey.
fn record(seen: &Survey) -> SurveyRecord {
    let time = |ns: Option<&u64>| Time::from_ps(1000 * ns.copied().unwrap_or(0));
    let links = |routers: Option<u8>| routers.map_or(0, |routers| u64::from(routers) + 1);
    SurveyRecord {
        rtt: [time(seen.rtt_ns.iter().min()), time(seen.rtt_ns.iter().max())],
        mtu: [seen.mtu_up, seen.mtu_down].map(|mtu| mtu.unwrap_or(0).into()),
        links: [links(seen.routers_up), links(seen.routers_down)],
    }
}

/// Returns the routers of a survey.
fn hops(seen: &Survey, is_after: bool) -> impl Iterator<Item = HopSample> {
    seen.hops.iter().map(move |seen| {
        let address = seen.address.as_ref().and_then(|text| text.parse::<IpAddr>().ok());
        hop(is_after, seen.ttl, address, seen.rtt_ns)
    })
}

/// Returns a router by the ports of a survey.
fn hop(is_after: bool, ttl: u8, address: Option<IpAddr>, rtt_ns: Option<u64>) -> HopSample {
    let bits = address.map_or(0, |address| match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    });
    let rtt_s = rtt_ns.map_or(f64::NAN, |ns| ns as f64 / 1e9);
    HopSample { is_after, flow: NONE, ttl: ttl.into(), address: [(bits >> 64) as u64, bits as u64], rtt_s }
}

/// Surveys the path to the server at `at`, with the key of this name: routers, MTU, codepoints, bursts. Calls `go_on` several times a second; when
/// that says `false`, the survey ends with what it has.
///
/// # Errors
/// A key that is missing, a server that is not there, says no or is lost, and a path without UDP.
pub fn survey(at: &str, key: Option<&str>, go_on: &mut dyn FnMut() -> bool) -> Result<Survey, Error> {
    let key = key.map(keys::load).transpose()?;
    client::survey(at, key.as_ref(), Extent::Whole, 0, &mut |_| go_on())
}

/// Asks the server at `at`, with the key of this name, for a run of so many seconds, and lets it be. Calls `go_on` several times per second while
/// others are before this client; when that says `false`, it is over.
///
/// # Errors
/// A key that is missing, a server that is not there, says no or is lost.
pub fn greet(at: &str, key: Option<&str>, seconds: u64, go_on: &mut dyn FnMut() -> bool) -> Result<Greeting, Error> {
    let key = key.map(keys::load).transpose()?;
    let around = 2 * AROUND.as_ps() / 1_000_000_000;
    let (granted, base_rtt_ns) = client::greet(at, key.as_ref(), 1000 * seconds + around, go_on)?;
    let controls = [settings::control(&settings::here()), settings::control(&granted.settings)];
    Ok(Greeting { controls, base_rtt_ns, seconds: granted.ms.saturating_sub(around) / 1000, bytes: granted.bytes, rate: granted.rate })
}

/// Returns the counters of both hosts in order of time, of which the flows begin at `lead`; the other host began earlier than this one by `ahead`.
/// Looks after the `end` are left out, all of nanoseconds.
fn host_series(ours: &[Look], theirs: &[Look], lead: u64, ahead: u64, end: u64) -> Vec<HostSample> {
    let of = |looks: &[Look], shift: u64, is_far: bool| {
        let within = looks.iter().filter_map(|(at, values)| Some((at.checked_sub(shift)?, values)));
        let within = within.filter(|(at, _)| at + lead <= end);
        within.map(|(at, values)| HostSample { time: Time::from_ps(1000 * at), is_far, values: *values }).collect::<Vec<_>>()
    };
    let mut all: Vec<HostSample> = [of(ours, lead, false), of(theirs, lead + ahead, true)].concat();
    all.sort_by_key(|look| look.time);
    all
}

/// Returns how much of the time from `begin` to `end` others had: `spells`, in order, which do not overlap.
fn together(spells: &[Spell], [begin, end]: Spell) -> Time {
    Time::from_ps(spells.iter().map(|[from, to]| 1000 * (*to).min(end).saturating_sub((*from).max(begin))).sum())
}

/// Returns the last counts of each flow over UDP at one host.
fn last(counted: &[Counted]) -> Vec<Counted> {
    let mut last: BTreeMap<u32, Counted> = BTreeMap::new();
    for counts in counted {
        last.insert(counts.flow, *counts);
    }
    last.into_values().collect()
}

/// Returns a row for each datagram of flows over UDP whose times were kept at `ours` and `theirs`, lost ones too. The flows begin at `zero` on our
/// clock and on the other host's.
fn datagram_rows(we_send: &[bool], [ours, theirs]: [&[(u32, Stamps)]; 2], zero: [u64; 2]) -> Vec<DatagramSample> {
    let since = |at: u64, zero: u64| (at as f64 - zero as f64) / 1e9;
    let of_flow = |((flow, here), (_, there)): (&(u32, Stamps), &(u32, Stamps))| {
        let is_up = we_send[*flow as usize];
        let (sender, receiver) = if is_up { (here, there) } else { (there, here) };
        let [of_sender, of_receiver] = if is_up { zero } else { [zero[1], zero[0]] };
        let mut arrived = sender.crossings(receiver).into_iter().peekable();
        let row = |sent: &Sent| {
            let got = arrived.next_if(|(next, _)| next.number == sent.number).map(|(_, got)| got);
            DatagramSample {
                time_s: since(sent.due, of_sender),
                flow: *flow,
                number: sent.number,
                timer_error_s: sent.at.saturating_sub(sent.due) as f64 / 1e9,
                sent_s: since(sent.at, of_sender),
                arrived_s: got.map_or(f64::NAN, |got| since(got.at, of_receiver)),
                unstamped: (!sent.is_stamped || got.is_some_and(|got| !got.is_stamped)).into(),
            }
        };
        sender.sent.iter().map(row).collect::<Vec<_>>()
    };
    ours.iter().zip(theirs).flat_map(of_flow).collect()
}

/// Gain and loss of a clock with this skew.
fn parts_per_billion(skew: f64) -> [u64; 2] {
    // A negative number becomes 0.
    [skew, -skew].map(|skew| (1e9 * skew).round() as u64)
}

/// Results of the probes of both hosts.
#[derive(Default)]
struct Probed {
    records: [ProbeRecord; 2],
    samples: Vec<ProbeSample>,
    /// 0 where no probe came through in a direction.
    skew: f64,
    steps: u64,
}

/// Returns what the probes of both hosts tell, to the other host and from it: the waits of those sent before `idle`, and within `span`. All
/// times are of our clock since the probes began, and `zero` is when the flows begin, on our clock and on the other host's.
fn probed([ours, theirs]: &[Stamps; 2], idle: u64, span: [u64; 2], zero: [u64; 2]) -> Probed {
    let (up, down) = (ours.crossings(theirs), theirs.crossings(ours));
    let waits = envelope::waits(&times(&up), &times(&down));
    let unknown = |list: &[(Sent, Got)]| vec![f64::NAN; list.len()];
    let (waits_up, waits_down) = waits.as_ref().map_or_else(|| (unknown(&up), unknown(&down)), |all| (all.up.clone(), all.down.clone()));
    let samples =
        samples(&ours.sent, &up, &waits_up, zero[0], false).chain(samples(&theirs.sent, &down, &waits_down, zero[1], true)).collect();
    let Some(waits) = waits else { return Probed { records: Default::default(), samples, skew: 0.0, steps: 0 } };
    let record = |sent: &[Sent], crossings: &[(Sent, Got)], waits: &[f64], is_up: bool| {
        // A probe from the other host belongs to the time at which it came, less what it waited.
        let at = |(sent, got): &(Sent, Got), wait: f64| if is_up { sent.at } else { got.at.saturating_sub(wait as u64) };
        let within = |from: u64, to: u64| {
            let those = crossings.iter().zip(waits).filter(|(_, wait)| !wait.is_nan());
            let those = those.filter(|(crossing, wait)| (from..=to).contains(&at(crossing, **wait)));
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
    let records = [record(&ours.sent, &up, &waits.up, true), record(&theirs.sent, &down, &waits.down, false)];
    Probed { records, samples, skew: waits.skew, steps: waits.steps.len() as u64 }
}

/// Rows of the probes `sent` of one direction, whose flows begin at `zero` on the sender's clock; `crossings` are those that arrived, in the
/// same order, each with its wait in nanoseconds.
fn samples<'a>(
    sent: &'a [Sent],
    crossings: &'a [(Sent, Got)],
    waits: &'a [f64],
    zero: u64,
    is_down: bool,
) -> impl Iterator<Item = ProbeSample> + 'a {
    let mut arrived = crossings.iter().zip(waits).peekable();
    sent.iter().map(move |sent| {
        let got = arrived.next_if(|((next, _), _)| next.number == sent.number);
        ProbeSample {
            time_s: (sent.due as f64 - zero as f64) / 1e9,
            is_down,
            number: sent.number,
            timer_error_s: sent.at.saturating_sub(sent.due) as f64 / 1e9,
            queue_delay_s: got.map_or(f64::NAN, |(_, wait)| wait / 1e9),
            arrived: got.is_some().into(),
            unstamped: (!sent.is_stamped || got.is_some_and(|((_, got), _)| !got.is_stamped)).into(),
        }
    })
}

/// Rows of the probes of this host alone, since the far host's stamps were lost with it; the flows begin at `zero`.
fn unmatched(ours: &Stamps, zero: u64) -> Vec<ProbeSample> {
    let seconds = |at: u64| (at as f64 - zero as f64) / 1e9;
    let sent = ours.sent.iter().map(|sent| ProbeSample {
        time_s: seconds(sent.due),
        is_down: false,
        number: sent.number,
        timer_error_s: sent.at.saturating_sub(sent.due) as f64 / 1e9,
        queue_delay_s: f64::NAN,
        arrived: NONE,
        unstamped: (!sent.is_stamped).into(),
    });
    let mut got: Vec<Got> = ours.got.clone();
    got.sort_by_key(|got| got.number);
    let came = got.into_iter().map(|got| ProbeSample {
        time_s: seconds(got.at),
        is_down: true,
        number: got.number,
        timer_error_s: f64::NAN,
        queue_delay_s: f64::NAN,
        arrived: 1,
        unstamped: (!got.is_stamped).into(),
    });
    sent.chain(came).collect()
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
                Sent { number, due, at: due + late, is_stamped: number != 3 }
            };
            (0..300).map(probe).collect()
        };
        let wait = |number: u32| if number >= 100 && number.is_multiple_of(2) { 2_000_000 } else { 0 };
        let (here, there) = (sent(0), sent(ahead));
        let up = here.iter().filter(|sent| sent.number != lost && sent.number < 299);
        let up =
            up.map(|sent| Got { number: sent.number, at: sent.at + ahead + 4_000_000 + wait(sent.number), is_stamped: true }).collect();
        let down =
            there.iter().map(|sent| Got { number: sent.number, at: sent.at - ahead + 6_000_000, is_stamped: sent.number != 4 }).collect();
        let both = [Stamps { sent: here, got: down }, Stamps { sent: there, got: up }];
        let probed = probed(&both, 990_000_000, [1_000_000_000, 3_000_000_000], [1_000_000_000, ahead + 1_000_000_000]);
        let [up, down] = probed.records;
        let us = |us: u64| Time::from_ps(1_000_000 * us);
        assert_eq!((up.sent, up.arrived, down.sent, down.arrived), (299, 298, 300, 300));
        assert_eq!((up.idle, up.loaded), ([us(0); 2], [us(0), us(2000), us(2000)]));
        assert_eq!((down.idle, down.loaded), ([us(0); 2], [us(0); 3]));
        assert_eq!((up.timer_error, down.timer_error), ([us(5); 2], [us(5); 2]));
        assert_eq!((parts_per_billion(50e-6), parts_per_billion(-1.4e-9)), ([50_000, 0], [0, 1]));
        assert!(probed.skew.abs() < 1e-9 && probed.steps == 0, "{}", probed.skew);
        let (up, down) = probed.samples.split_at(300);
        let unstamped = |rows: &[ProbeSample]| rows.iter().filter(|row| row.unstamped == 1).map(|row| row.number).collect::<Vec<_>>();
        assert_eq!((unstamped(up), unstamped(down)), (vec![3], vec![3, 4]), "at either end");
        assert_eq!((up[0].time_s, up[150].time_s, down[150].time_s), (-1.0, 0.5, 0.5));
        assert_eq!((up[150].queue_delay_s, up[150].timer_error_s, up[150].arrived), (2e-3, 5e-6, 1));
        assert!(up[250].queue_delay_s.is_nan() && up[250].arrived == 0 && down.iter().all(|row| row.is_down && row.arrived == 1));
    }

    /// A probe of ours 1 s before the flows, and one of the far host that came 1 s after they began.
    #[test]
    fn of_a_far_host_that_was_lost_our_own_stamps_stay() {
        let sent = vec![Sent { number: 0, due: 0, at: 7_000, is_stamped: true }];
        let got = vec![Got { number: 5, at: 2_000_000_000, is_stamped: false }];
        let rows = unmatched(&Stamps { sent, got }, 1_000_000_000);
        let told = |row: &ProbeSample| (row.is_down, row.number, row.time_s, row.arrived, row.unstamped);
        assert_eq!(rows.iter().map(told).collect::<Vec<_>>(), [(false, 0, -1.0, NONE, 0), (true, 5, 1.0, 1, 1)]);
        assert!(rows[0].timer_error_s == 7e-6 && rows[1].timer_error_s.is_nan() && rows.iter().all(|row| row.queue_delay_s.is_nan()));
    }

    #[test]
    fn of_sessions_beside_it_the_time_of_the_flows_counts() {
        let spells = [[0, 15], [20, 25], [90, 120], [130, 140]];
        assert_eq!(together(&spells, [10, 100]), Time::from_ps(1000 * (5 + 5 + 10)));
        assert_eq!((together(&spells, [30, 80]), together(&[], [0, 9])), (Time::ZERO, Time::ZERO));
    }

    #[test]
    fn nothing_is_told_where_no_probe_came() {
        let both = [Stamps { sent: vec![Sent { number: 0, due: 0, at: 0, is_stamped: true }], got: Vec::new() }, Stamps::default()];
        let probed = probed(&both, 1, [1, 2], [0, 0]);
        assert_eq!((probed.records, probed.samples.len()), (<[ProbeRecord; 2]>::default(), 1));
        assert!(probed.skew == 0.0 && probed.samples[0].arrived == 0 && probed.samples[0].queue_delay_s.is_nan());
    }
}

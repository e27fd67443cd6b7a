//! Promises of every kind of traffic, whatever its parameters.

use super::{
    Application, Datagrams, Demand, HEADERS, LEAST_SIZE, Life, Over, Program, REGISTRY, Rank, Reader, Socket, Traffic, TrafficKind, until,
};
use crate::params::testing::any_params;
use crate::params::{Choice, Kind, Params, Value};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Rate;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

/// A connection without a network: written payload is acknowledged after a while, at once and whole.
#[derive(Debug, Default)]
struct Loopback {
    written: u64,
    is_closed: bool,
    calls: Vec<String>,
    unread: u64,
}

impl Socket for Loopback {
    fn write(&mut self, bytes: u64) {
        assert!(!self.is_closed, "a write after the end of the stream");
        assert!(bytes > 0, "a write of nothing");
        self.written = self.written.saturating_add(bytes);
        self.calls.push(format!("write {bytes}"));
    }
    fn close(&mut self) {
        assert!(!self.is_closed, "the stream ends twice");
        self.is_closed = true;
        self.calls.push("close".into());
    }
    fn stop(&mut self) {
        self.close();
    }
    fn read(&mut self, most: u64) -> u64 {
        let taken = self.unread.min(most);
        self.unread -= taken;
        taken
    }
    fn unread(&self) -> u64 {
        self.unread
    }
}

/// Actions of a sending end, as text, and the payload it sent.
#[derive(Debug, PartialEq)]
struct Lived {
    log: Vec<String>,
    bytes: u64,
    is_closed: bool,
    /// True if it ever waited for acknowledgments.
    waits: bool,
    /// Most payload of datagrams within one second.
    fastest: u64,
}

/// Steps after which a life is cut short.
const ENOUGH: usize = 6000;
const ROUND_TRIP: Duration = Duration::from_millis(10);

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// Name of the kind that lives: a failed assertion about its life is followed by it.
struct Lives(&'static str);

impl Drop for Lives {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("it was a life of the traffic `{}`", self.0);
        }
    }
}

/// Runs the sending end of `traffic` from 1 s to `stop`, with the randomness of `seed`.
fn live(traffic: &Traffic, stop: Time, end: Time, seed: u64) -> Lived {
    let _named = Lives(traffic.kind().name);
    let (start, rng) = (at(1.0), Rng::named(seed, "traffic"));
    let life = Life { start, rng, volume: traffic.volume() };
    match traffic.kind().over {
        Over::Tcp(application) => live_over_tcp(Program::new(application(traffic.params(), life), start, stop), stop, end),
        Over::Asked { asks, answers } => live_of_request(asks(traffic.params()), answers(traffic.params())),
        Over::Datagrams { sender, receiver, .. } => {
            live_of_datagrams(until(stop, sender(traffic.params(), life)), receiver(), start..stop, end)
        }
    }
}

fn live_over_tcp(mut program: Program, stop: Time, end: Time) -> Lived {
    let (mut socket, mut now, mut log, mut waits) = (Loopback::default(), Time::ZERO, Vec::new(), false);
    assert!(!program.has_begun());
    for _ in 0..ENOUGH {
        let acked = if program.wait().acked { now + ROUND_TRIP } else { Time::MAX };
        waits |= program.wait().acked;
        let next = program.alarm().min(acked);
        assert!(next > now, "it waits until {next:?}, and it is {now:?} already");
        if next > end {
            break;
        }
        now = next;
        program.act(now, &mut socket);
        assert!(!program.wait().readable, "a sending end has nothing to read");
        log.extend(socket.calls.drain(..).map(|call| format!("{now:?} {call}")));
        assert!(now <= stop, "{now:?} is after its stop, {stop:?}");
    }
    assert!(now < stop || socket.is_closed, "it was stopped, and its stream has no end");
    assert!(!socket.is_closed || program.wait() == super::Wait::FOR_EVER, "it waits for something after the end of its stream");
    Lived { log, bytes: socket.written, is_closed: socket.is_closed, waits, fastest: 0 }
}

/// Runs both ends of a connection: the request comes in two pieces.
fn live_of_request(mut client: Box<dyn Application>, mut server: Box<dyn Application>) -> Lived {
    let (mut asking, mut answering) = (Loopback::default(), Loopback::default());
    assert_eq!(client.act(at(1.0), &mut asking), super::Wait::FOR_EVER);
    assert!(!asking.is_closed, "the receiver closes after the end of the stream");
    let pieces = [asking.written / 2, asking.written.div_ceil(2)];
    let mut log = Vec::new();
    for (i, piece) in pieces.into_iter().enumerate() {
        assert!(answering.calls.is_empty(), "it answers before the request is whole");
        answering.unread += piece;
        let wait = server.act(at(1.0 + i as f64), &mut answering);
        assert!(wait == super::Wait::FOR_EVER || (i == 0 && wait.readable && !wait.acked), "{wait:?}");
    }
    log.append(&mut answering.calls);
    assert_eq!(answering.unread, 0);
    Lived { log, bytes: answering.written, is_closed: answering.is_closed, waits: false, fastest: 0 }
}

/// Runs both ends: every third packet is lost, and the others take half a round trip each way.
fn live_of_datagrams(mut sender: Box<dyn Datagrams>, mut receiver: Box<dyn Datagrams>, life: Range<Time>, end: Time) -> Lived {
    let mut log = Vec::new();
    let (mut arrived, mut within, mut fastest) = (0, VecDeque::new(), 0);
    while let Some(now) = sender.poll_timeout().filter(|now| *now <= end && log.len() < ENOUGH) {
        assert!(life.contains(&now), "a packet at {now:?}");
        while log.len() < ENOUGH
            && let Some(datagram) = sender.poll_transmit(now)
        {
            log.push(format!("{now:?} {datagram:?}"));
            assert!(!datagram.is_reply && datagram.number as usize == log.len() - 1, "{datagram:?}");
            within.push_back((now, datagram.payload()));
            within.retain(|(left, _)| now.since(*left) < Duration::from_secs(1));
            fastest = fastest.max(within.iter().map(|(_, bytes)| u64::from(*bytes)).sum());
            if datagram.number % 3 == 2 {
                continue;
            }
            let there = now + ROUND_TRIP;
            receiver.handle(there, &datagram);
            arrived += u64::from(datagram.payload());
            while let Some(reply) = receiver.poll_transmit(there) {
                assert!(reply.is_reply && reply.number == datagram.number && reply.size == datagram.size, "{reply:?} to {datagram:?}");
                sender.handle(there, &reply);
            }
        }
        assert!(log.len() == ENOUGH || sender.poll_timeout().is_none_or(|next| next > now), "it wants to be asked again at once");
    }
    let (sent, received) = (sender.stats(), receiver.stats());
    assert_eq!((sent.sent, sent.replies), (log.len() as u64, 0));
    assert!(received.sent == 0 && sent.rtt.count == received.replies, "{} round trips of {} replies", sent.rtt.count, received.replies);
    // Payload sent by one end is payload received by the other.
    assert!(received.bytes_delivered == if sent.bytes_sent > 0 { arrived } else { 0 });
    assert!(receiver.poll_timeout().is_none(), "a receiving end sends of itself");
    Lived { log, bytes: sent.bytes_sent, is_closed: false, waits: false, fastest }
}

/// Returns a kind, with any parameters that its check lets pass.
fn any_traffic() -> impl Strategy<Value = Traffic> {
    let of = |kind: &'static TrafficKind| {
        any_params(kind.params).prop_filter_map("refused", |params| {
            Some(Traffic::new(Choice { kind: kind.name, params }).ok()?.draw(&mut Rng::named(1, "volume")))
        })
    };
    proptest::strategy::Union::new(REGISTRY.iter().map(|kind| of(kind).boxed()))
}

#[test]
fn kinds_are_consistent() {
    for kind in REGISTRY {
        let needed = kind.params.iter().filter(|spec| spec.default.is_none());
        let needed: Vec<(&'static str, Value)> = needed.map(|spec| (spec.name, some_value(spec.kind))).collect();
        let traffic = Traffic::of(kind.name, &needed);
        let again = Traffic::new(Choice { kind: traffic.kind().name, params: traffic.params().clone() });
        assert_eq!(again.as_ref(), Ok(&traffic), "{}: the one way of saying it is said otherwise", kind.name);
        let traffic = traffic.draw(&mut Rng::named(1, "volume"));
        assert_eq!(traffic.volume().is_some(), traffic.rank() == Rank::Volume, "{}", kind.name);
        assert!(traffic.volume().is_none() || traffic.is_tcp(), "{}: nobody knows when the last datagram has come", kind.name);
        if let Some(size) = traffic.packet_size() {
            let spec = kind.params.iter().find(|spec| spec.name == "size").expect("datagrams have a size");
            assert_eq!(spec.kind, Kind::Bytes { min: LEAST_SIZE.into(), max: 65_535 }, "{}", kind.name);
            assert!(size >= LEAST_SIZE);
        }
    }
}

fn some_value(kind: Kind) -> Value {
    match kind {
        Kind::Bytes { .. } => Value::Bytes(20_000),
        Kind::Rate => Value::Rate(Rate::from_bps(1_000_000)),
        Kind::Duration { .. } => Value::Duration(Duration::from_millis(20)),
        Kind::Choice(words) | Kind::ChoiceOrCsv(words) => Value::Choice(words[0]),
        other => panic!("a value of {other:?}"),
    }
}

/// The expected demand of a kind in a time is what it sends on average, or at most, where it waits for acknowledgments.
#[test]
fn demands_are_met() {
    let seconds = Duration::from_secs(10);
    for kind in REGISTRY {
        // With Pareto shapes whose means do not scatter.
        let params = kind.params.iter().map(|spec| match (spec.name, spec.default) {
            (_, None) => (spec.name, some_value(spec.kind)),
            (name, Some(_)) if name.ends_with("shape") => (name, Value::Number(20.0)),
            (name, Some(default)) => (name, default),
        });
        let traffic = Traffic::new(Choice { kind: kind.name, params: Params(params.collect()) }).unwrap();
        let Demand { bytes, piece } = traffic.demand(seconds);
        assert!(piece > 0 && bytes > 0.0, "{}", kind.name);
        // Sizes of a heavy tail scatter more than what is sent of one.
        let seeds = 0..if traffic.is_drawn() { 20_000 } else { 20 };
        let drawn = |seed| traffic.draw(&mut Rng::named(seed, "volume"));
        let lives: Vec<Lived> = seeds.map(|seed| live(&drawn(seed), Time::MAX, at(11.0), seed)).collect();
        let sent = match traffic.packet_size() {
            // All packets count, with or without payload.
            Some(_) => lives.iter().map(|life| life.log.len()).sum::<usize>() as f64 * f64::from(piece),
            None => lives.iter().map(|life| life.bytes as f64).sum::<f64>(),
        } / lives.len() as f64;
        let waits = lives.iter().any(|life| life.waits);
        // At both ends of the time there may be a packet.
        let slack = 0.05 * bytes + f64::from(piece.min(1500));
        match bytes.is_infinite() {
            true => assert!(sent > 1e18, "{}", kind.name),
            false if waits => assert!(sent < bytes + slack && sent > 0.3 * bytes, "{}: {sent} of {bytes}", kind.name),
            false => assert!((sent - bytes).abs() < slack, "{}: {sent} of {bytes}", kind.name),
        }
    }
}

#[test]
fn a_reader_takes_a_block_at_a_time() {
    let mut program = Program::reader(Box::new(Reader::new(Rate::from_bps(8_000), 100)));
    let mut socket = Loopback { unread: 250, ..Loopback::default() };
    // 100 bytes at 8 kb/s take 100 ms.
    let mut reads = Vec::new();
    for ms in [0, 50, 100, 200, 300, 400] {
        let now = Time::ZERO + Duration::from_millis(ms);
        reads.push(program.would_read(now));
        program.act(now, &mut socket);
        reads.push(socket.unread);
    }
    assert_eq!(reads, [100, 150, 0, 150, 100, 50, 100, 0, 100, 0, 100, 0]);
    assert!(program.alarm() == Time::MAX && program.wait().readable && !program.has_begun());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn every_kind_lives_as_it_says(traffic in any_traffic(), stop in 1.001_f64..30.0, seed in 0_u64..100) {
        let (end, never) = (at(40.0), live(&traffic, Time::MAX, at(40.0), seed));
        prop_assert_eq!(&never, &live(&traffic, Time::MAX, end, seed), "two lives differ");
        if let Some(volume) = traffic.volume() {
            prop_assert!(never.is_closed && never.bytes == volume, "{} of {volume}", never.bytes);
            return Ok(());
        }
        prop_assert!(!never.is_closed, "a stream ends that nobody stopped");
        // A stopped flow does the same up to then, and nothing new after.
        let stopped = live(&traffic, at(stop), end, seed);
        let kept = stopped.log.len() - usize::from(stopped.is_closed);
        prop_assert_eq!(&stopped.log[..kept], &never.log[..kept]);
        prop_assert!(stopped.bytes <= never.bytes);
        // Servers let a flow send by its peak.
        let one = traffic.packet_size().map_or(0, |size| u64::from(size - HEADERS));
        prop_assert!(traffic.peak().is_none_or(|peak| never.fastest <= peak + one), "{} of {:?}", never.fastest, traffic.peak());
    }
}

//! Attacks on a session: its messages, both state machines, and the encrypted frames below them.

use std::net::IpAddr;

use longfat_core::time::{Duration, Time};
use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;

use super::{Draw, NONCE, damage, holds};
use crate::protocol::application::Application;
use crate::protocol::frame::{Frames, Hello, MOST_IN_HANDSHAKE};
use crate::protocol::limits::{Ledger, Limits, Who};
use crate::protocol::message::{
    Direction, FlowOffer, Granted, Heartbeat, Offer, ProbeOffer, Queued, Reached, Reason, ReceiveWay, Rows, Seen, SendWay, Setting,
};
use crate::protocol::noise::{Channel, Handshake, Key};
use crate::protocol::state::{Action, Event, Turn};
use crate::protocol::{Client, Fault, Message, Nanos, SECOND, Server, Token};

fn offers() -> Vec<Offer> {
    let flow = |direction, traffic: &Traffic| FlowOffer {
        direction,
        start_us: 0,
        stop_us: Some(1_000_000),
        application: Application::of(traffic, 7, "flow1"),
        read_rate: None,
        control: None,
        window: None,
        nagle: false,
        dscp: 46,
        send: SendWay::Copy,
        receive: ReceiveWay::Truncate,
    };
    let tcp = FlowOffer {
        read_rate: Some(1_000_000),
        control: Some("cubic".to_owned()),
        window: Some(65_536),
        ..flow(Direction::Down, &Traffic::ttcp(1 << 20))
    };
    let udp = flow(Direction::Up, &Traffic::udp(Rate::from_bps(1_000_000), 1500));
    let probe = Some(ProbeOffer { interval_us: 10_000 });
    let whole = Offer { ms: 1000, interval_us: 10_000, flows: vec![tcp.clone(), udp], probe, capture: false, survey: None };
    vec![
        Offer { flows: Vec::new(), probe: None, survey: Some(1_000_000), ..whole.clone() },
        Offer { flows: vec![tcp], probe: None, ..whole.clone() },
        whole,
    ]
}

fn rows() -> Rows {
    Rows { columns: ["time_ns", "cwnd"].map(str::to_owned).to_vec(), rows: vec![vec![Some(1), None], vec![Some(u64::MAX), Some(0)]] }
}

fn every_message() -> Vec<Message> {
    let why = Reason { why: "a reason".to_owned() };
    let settings = vec![Setting { name: "ipv4/tcp_sack".to_owned(), value: "1".to_owned() }];
    let tokens = vec![Token([1; 16]), Token([2; 16])];
    let rest = [
        Message::Queued(Queued { before: 1, ms: 5 }),
        Message::Granted(Granted { tokens: tokens.clone(), probe: Some(NONCE), ms: 1, bytes: 2, rate: Some(3000), settings }),
        Message::Refused(why.clone()),
        Message::Reached(Reached { nonce: Some(NONCE), flows: tokens }),
        Message::Reached(Reached { nonce: None, flows: Vec::new() }),
        Message::Ready(Seen { control: Some(([127, 0, 0, 1], 9).into()), udp: None }),
        Message::Start,
        Message::Running,
        Message::Heartbeat(Heartbeat { sent: 1, echo: Some(2), held: 3 }),
        Message::Stop,
        Message::Results(rows()),
        Message::Done(why),
    ];
    offers().into_iter().map(Message::Offer).chain(rest).collect()
}

/// Reads bytes that may be a message: one that is read has a form that is read alike, and a fault is short.
fn read(bytes: &[u8]) -> Result<Option<Message>, String> {
    match Message::parse(bytes) {
        Err(Fault(why)) => holds(why.len() < 200, || format!("a fault of {} bytes", why.len())).map(|()| None),
        Ok(message) => {
            let again = message.to_bytes().and_then(|bytes| Message::parse(&bytes));
            holds(again.as_ref() == Ok(&message), || format!("{message:?} is read again as {again:?}"))?;
            Ok(Some(message))
        }
    }
}

/// Damaged messages. The application of an offer that is read can be made.
pub(super) fn messages(draw: &mut Draw, inputs: u64) -> Result<(), String> {
    let all: Vec<Vec<u8>> = every_message().iter().map(|message| message.to_bytes().expect("it is within its bounds")).collect();
    for _ in 0..inputs {
        let mut bytes = draw.pick(&all).clone();
        damage(draw, &mut bytes);
        if let Some(Message::Offer(offer)) = read(&bytes)? {
            let end = Time::ZERO + Duration::from_millis(offer.ms);
            for flow in &offer.flows {
                let traffic = flow.application.traffic().map_err(|Fault(why)| format!("an offer was read without its traffic: {why}"))?;
                if traffic.is_tcp() {
                    flow.application.program(&traffic, Time::ZERO, end).alarm();
                }
            }
        }
    }
    Ok(())
}

/// A client and a server, and the messages on their way: to the client, and to the server.
struct Pair {
    sides: (Client, Server),
    now: Nanos,
    lanes: [Vec<Vec<u8>>; 2],
    /// Events that follow from actions, and have yet to come.
    due: [Vec<Event>; 2],
    ledger: Ledger,
    heard: [Heard; 2],
}

/// History of a side.
#[derive(Clone, Copy, Default)]
struct Heard {
    is_granted: bool,
    is_connected: bool,
    is_told_to_start: bool,
    begun: u32,
    halted: u32,
    is_closed: bool,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl Pair {
    fn new(draw: &mut Draw) -> Self {
        let offer = draw.pick(&offers()).clone();
        let (client, first) = Client::new(0, 0, offer);
        let ledger = Ledger::new(Limits::default(), Limits::open());
        let mut pair = Pair {
            sides: (client, Server::new(0, 0)),
            now: 0,
            lanes: Default::default(),
            due: Default::default(),
            ledger,
            heard: Default::default(),
        };
        if let Action::Send(message) = first {
            pair.lanes[SERVER].extend(message.to_bytes());
        }
        pair
    }

    /// Gives an event to a side, and checks and follows its actions.
    fn give(&mut self, draw: &mut Draw, side: usize, event: Event) -> Result<(), String> {
        let heard = &mut self.heard[side];
        match &event {
            Event::Turn(Turn::Go(..)) | Event::Message(Message::Granted(_)) => heard.is_granted = true,
            Event::Connected => heard.is_connected |= heard.is_granted,
            Event::Message(Message::Ready(_)) => heard.is_connected |= side == CLIENT && heard.is_granted,
            // The data connections are over: nobody needs to end them.
            Event::Halted(_) => heard.halted += 1,
            Event::Message(Message::Start | Message::Running) => heard.is_told_to_start |= heard.is_connected,
            _ => {}
        }
        let was_closed = heard.is_closed;
        let pieces = if let Event::Halted(pieces) = &event { pieces.len() } else { 0 };
        let actions = match side {
            CLIENT => self.sides.0.on(self.now, event),
            _ => self.sides.1.on(self.now, event),
        };
        holds(!was_closed || actions.is_empty(), || format!("side {side} acts after its end: {actions:?}"))?;
        holds(actions.len() <= 4 + pieces, || format!("{} actions of one event", actions.len()))?;
        for action in actions {
            self.follow(draw, side, action)?;
        }
        Ok(())
    }

    fn follow(&mut self, draw: &mut Draw, side: usize, action: Action) -> Result<(), String> {
        let (heard, due) = (&mut self.heard[side], &mut self.due[side]);
        match action {
            Action::Send(message) => {
                let bytes = message.to_bytes().map_err(|Fault(why)| format!("side {side} sends what is no message: {why}"))?;
                self.lanes[1 - side].push(bytes);
            }
            Action::Ask(offer) => {
                holds(side == SERVER, || "a client asks a ledger".to_owned())?;
                let who = Who { key: None, address: IpAddr::from([10, 0, 0, draw.next() as u8]) };
                let limits = if draw.is_one_in(2) { who } else { Who { key: Some(Key::new([1; 32]).id()), ..who } };
                due.push(Event::Turn(match self.ledger.grant(self.now, limits, &offer) {
                    Ok(grant) => {
                        holds(grant.ms <= offer.ms, || format!("{} ms were granted of {}", grant.ms, offer.ms))?;
                        let tokens = (0..offer.flows.len()).map(|flow| Token([flow as u8; 16])).collect();
                        Turn::Go(grant, tokens, grant.probes.then_some(NONCE), Vec::new())
                    }
                    Err(why) => Turn::No(why),
                }));
            }
            Action::Connect(granted) => {
                let flows = granted.tokens.iter().take(draw.below(3)).copied().collect();
                due.extend([Event::Reached(Reached { nonce: granted.probe, flows }), Event::Connected]);
            }
            Action::Reach(_) => due.push(Event::Connected),
            Action::Begin(_) => {
                heard.begun += 1;
                holds(heard.begun == 1, || format!("side {side} begins twice"))?;
                holds(heard.is_granted && heard.is_connected && heard.is_told_to_start, || {
                    format!("side {side} lets data flow without a grant, connections and a start")
                })?;
            }
            Action::Halt => {
                heard.halted += 1;
                due.push(Event::Halted(vec![rows(); usize::from(side == SERVER)]));
            }
            Action::Keep(_) => holds(side == CLIENT, || "a server keeps results".to_owned())?,
            Action::Close(_) => {
                heard.is_closed = true;
                holds(heard.halted >= heard.begun, || format!("side {side} is closed, and its data flows"))?;
            }
        }
        Ok(())
    }
}

/// Both state machines, over a path that damages, reorders, repeats and loses messages; other events come early, late and unasked. Data flows only
/// after a grant, the connections and a start, it ends with the session, and a closed side is silent.
pub(super) fn states(draw: &mut Draw, inputs: u64) -> Result<(), String> {
    let others: Vec<Vec<u8>> = every_message().iter().map(|message| message.to_bytes().expect("it is within its bounds")).collect();
    let mut left = inputs;
    while left > 0 {
        let mut pair = Pair::new(draw);
        // Some sessions are damaged often, some seldom, so that some come far.
        let seldom = *draw.pick(&[2, 8, 32]);
        for _ in 0..100 {
            pair.now = pair.now.saturating_add(if draw.is_one_in(seldom) { draw.number() % (20 * SECOND) } else { SECOND / 100 });
            let side = draw.below(2);
            if draw.is_one_in(4) {
                pair.give(draw, side, Event::Tick)?;
            }
            let lane = &mut pair.lanes[side];
            if !lane.is_empty() || draw.is_one_in(2 * seldom) {
                left = left.saturating_sub(1);
                let at = if draw.is_one_in(seldom) { draw.below(lane.len()) } else { 0 };
                let mut bytes = match lane.get(at) {
                    Some(bytes) if draw.is_one_in(seldom) => bytes.clone(),
                    Some(_) => lane.remove(at),
                    None => draw.pick(&others).clone(),
                };
                match draw.below(3 * seldom) {
                    0 => damage(draw, &mut bytes),
                    1 => bytes.clone_from(draw.pick(&others)),
                    2 => continue,
                    _ => {}
                }
                let event = read(&bytes)?.map_or(Event::Lost, Event::Message);
                pair.give(draw, side, event)?;
            } else if !pair.due[side].is_empty() {
                let at = if draw.is_one_in(seldom) { draw.below(pair.due[side].len()) } else { 0 };
                let event = if draw.is_one_in(seldom) { pair.due[side][at].clone() } else { pair.due[side].remove(at) };
                pair.give(draw, side, event)?;
            }
            if draw.is_one_in(4 * seldom) {
                let unasked = [
                    Event::Connected,
                    Event::Stop,
                    Event::Bytes(draw.number()),
                    Event::Datagrams(draw.number()),
                    Event::Halted(Vec::new()),
                ];
                let event = draw.pick(&unasked).clone();
                pair.give(draw, side, event)?;
            }
            if pair.heard.iter().all(|heard| heard.is_closed) {
                break;
            }
        }
    }
    Ok(())
}

/// Both ends of an encrypted channel.
fn channels(key: &Key) -> Result<[Channel; 2], Fault> {
    let hello = Hello::new(Some(key.id()));
    let (mut ours, mut theirs) = (Handshake::client(&hello, Some(key)), Handshake::server(&hello, Some(key)));
    theirs.read(&ours.write()?[2..])?;
    ours.read(&theirs.write()?[2..])?;
    Ok([ours.finish()?, theirs.finish()?])
}

/// Hellos, handshakes and frames that are damaged, reordered, repeated and of strangers: only the next frame of the peer is opened.
pub(super) fn frames(draw: &mut Draw, inputs: u64) -> Result<(), String> {
    let fault = |Fault(why)| format!("a channel that nobody touches fails: {why}");
    let (key, hello) = (Key::new([6; 32]), Hello::new(Some(Key::new([6; 32]).id())));
    let first = Handshake::client(&hello, Some(&key)).write().map_err(fault)?;
    let mut left = inputs;
    while left > 0 {
        // A handshake costs 100 times as much as a frame.
        let mut bytes = first[2..].to_vec();
        damage(draw, &mut bytes);
        let is_changed = bytes != first[2..];
        let read = Handshake::server(&hello, Some(&key)).read(&bytes);
        holds(!is_changed || read.is_err(), || "a damaged handshake is one".to_owned())?;
        let mut bytes = hello.to_bytes();
        bytes[draw.below(Hello::LEN)] ^= 1 << draw.below(8);
        if let Ok(other) = Hello::parse(&bytes) {
            holds(other != hello && other.to_bytes() == bytes, || "a damaged hello is the same".to_owned())?;
        }
        let [mut ours, mut theirs] = channels(&key).map_err(fault)?;
        let sealed: Vec<Vec<u8>> = (0..8_u8).map(|byte| ours.seal(&[byte; 20])).collect::<Result<_, _>>().map_err(fault)?;
        let mut next = 0;
        for _ in 0..200.min(left) {
            let of = draw.below(sealed.len());
            let mut frame = sealed[of][2..].to_vec();
            if !draw.is_one_in(8) {
                damage(draw, &mut frame);
            }
            let is_next = of == next && frame == sealed[of][2..];
            let opened = theirs.open(&frame);
            holds(opened.is_ok() == is_next, || format!("frame {of} is opened in the place of {next}: {opened:?}"))?;
            next += usize::from(is_next);
        }
        // A stream of frames, cut anywhere: no frame is longer than allowed, and none has more than came.
        let mut bytes = sealed.concat();
        damage(draw, &mut bytes);
        let (mut stream, mut taken) = (Frames::default(), 0);
        for piece in bytes.chunks(1 + draw.below(50)) {
            stream.take(piece);
            while let Ok(Some(frame)) = stream.next(MOST_IN_HANDSHAKE) {
                taken += frame.len() + 2;
                holds(frame.len() <= MOST_IN_HANDSHAKE && taken <= bytes.len(), || "a frame of bytes that never came".to_owned())?;
            }
        }
        left = left.saturating_sub(203);
    }
    Ok(())
}

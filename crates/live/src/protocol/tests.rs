//! Tests of the protocol as a whole: two sides over a path that delays, is cut, damages or reorders; and attackers.

use std::collections::BTreeMap;

use longfat_core::traffic::Traffic;
use longfat_core::units::Rate;
use proptest::prelude::*;

use super::application::Application;
use super::attack::{ATTACKS, attack};
use super::frame::{self, Frames, Hello};
use super::limits::{Grant, HANDSHAKE, Ledger, Limits, Who, network};
use super::message::{
    Direction, FlowOffer, Granted, Heartbeat, Message, Offer, ProbeOffer, Queued, Reached, Reason, ReceiveWay, Rows, Seen, SendWay, Setting,
};
use super::noise::{Channel, Handshake, Key};
use super::state::{Action, BEAT, Client, Event, SILENCE, Server, Turn};
use super::token::{LIFETIME, Token, Tokens};
use super::{Fault, Nanos, SECOND};

/// Time between ticks of the tests.
const TICK: Nanos = SECOND / 10;

fn offer(ms: u64) -> Offer {
    offer_of(ms, Direction::Up)
}

fn offer_of(ms: u64, direction: Direction) -> Offer {
    let flow = FlowOffer {
        direction,
        start_us: 0,
        stop_us: None,
        application: Application::of(&Traffic::ttcp(1 << 20), 7, "flow1"),
        read_rate: Some(1_000_000),
        control: Some("cubic".to_owned()),
        window: Some(65_536),
        nagle: true,
        dscp: 46,
        send: SendWay::Zerocopy,
        receive: ReceiveWay::Copy,
    };
    // A long run is sampled less often.
    Offer {
        ms,
        interval_us: (ms / 50).max(10_000),
        flows: vec![flow; 2],
        probe: Some(ProbeOffer { interval_us: 10_000 }),
        capture: false,
        survey: None,
    }
}

/// Application of UDP at `rate`, in bit/s of IP packets of 1500 bytes.
fn udp(rate: u64) -> Application {
    Application::of(&Traffic::udp(Rate::from_bps(rate), 1500), 7, "flow1")
}

/// An offer of one flow over UDP at this rate in each direction, and one over TCP.
fn offer_over_udp(up: u64, down: u64) -> Offer {
    let tcp = offer(1000).flows.remove(0);
    let of = |direction, rate| FlowOffer { direction, application: udp(rate), read_rate: None, control: None, window: None, ..tcp.clone() };
    let flows = vec![of(Direction::Up, up), tcp.clone(), of(Direction::Down, down)];
    Offer { flows, ..offer(1000) }
}

/// Token of probes, and its nonce.
const NONCE: Token = Token([3; 16]);

/// The answer of a client without flows over UDP.
fn reached(nonce: Option<Token>) -> Reached {
    Reached { nonce, flows: Vec::new() }
}

fn tokens() -> Vec<Token> {
    vec![Token([1; 16]), Token([2; 16])]
}

fn settings() -> Vec<Setting> {
    vec![Setting { name: "ipv4/tcp_sack".to_owned(), value: "1".to_owned() }]
}

fn rows() -> Rows {
    let columns = ["time_ns", "cwnd"].map(str::to_owned).to_vec();
    Rows { columns, rows: vec![vec![Some(1), None], vec![Some(u64::MAX), Some(0)]] }
}

fn every_message() -> Vec<Message> {
    let why = Reason { why: "a reason".to_owned() };
    vec![
        Message::Offer(offer(1000)),
        Message::Queued(Queued { before: 1, ms: 5 }),
        Message::Granted(Granted { tokens: tokens(), probe: Some(NONCE), ms: 1, bytes: 2, rate: Some(3000), settings: settings() }),
        Message::Refused(why.clone()),
        Message::Reached(Reached { nonce: Some(NONCE), flows: tokens() }),
        Message::Reached(Reached { nonce: None, flows: Vec::new() }),
        Message::Ready(Seen::default()),
        Message::Ready(Seen { control: Some(([192, 0, 2, 1], 1).into()), udp: Some((std::net::Ipv6Addr::LOCALHOST, 2).into()) }),
        Message::Start,
        Message::Running,
        Message::Heartbeat(Heartbeat { sent: 1, echo: Some(2), held: 3 }),
        Message::Stop,
        Message::Results(rows()),
        Message::Done(why),
    ]
}

/// Both ends of an encrypted channel.
fn channels(client: Option<&Key>, server: Option<&Key>) -> Result<[Channel; 2], Fault> {
    let hello = Hello::new(client.map(Key::id));
    let (mut ours, mut theirs) = (Handshake::client(&hello, client), Handshake::server(&hello, server));
    theirs.read(&ours.write()?[2..])?;
    ours.read(&theirs.write()?[2..])?;
    Ok([ours.finish()?, theirs.finish()?])
}

fn key(byte: u8) -> Key {
    Key::new([byte; 32])
}

#[test]
fn who_has_the_key_is_heard_and_nobody_else() {
    for (client, server) in [(Some(key(1)), Some(key(1))), (None, None)] {
        let [mut ours, mut theirs] = channels(client.as_ref(), server.as_ref()).unwrap();
        for message in every_message() {
            let frame = ours.seal(&message.to_bytes().unwrap()).unwrap();
            assert_eq!(Message::parse(&theirs.open(&frame[2..]).unwrap()).unwrap(), message);
        }
        // The other direction has keys of its own.
        let frame = theirs.seal(b"x").unwrap();
        assert_eq!(ours.open(&frame[2..]).unwrap(), b"x");
    }
    for (client, server) in [(Some(key(1)), Some(key(2))), (Some(key(1)), None), (None, Some(key(1)))] {
        assert!(channels(client.as_ref(), server.as_ref()).is_err(), "{client:?} {server:?}");
    }
}

#[test]
fn a_frame_is_good_once_whole_and_in_order() {
    let [mut ours, mut theirs] = channels(Some(&key(3)), Some(&key(3))).unwrap();
    let frames: Vec<Vec<u8>> = (0..3_u8).map(|byte| ours.seal(&[byte]).unwrap()).collect();
    assert!(theirs.open(&frames[1][2..]).is_err(), "not next");
    assert_eq!(theirs.open(&frames[0][2..]).unwrap(), [0]);
    assert!(theirs.open(&frames[0][2..]).is_err(), "replayed");
    let mut damaged = frames[1].clone();
    damaged[5] ^= 1;
    assert!(theirs.open(&damaged[2..]).is_err());
    assert!(theirs.open(&[]).is_err());
    assert_eq!(theirs.open(&frames[1][2..]).unwrap(), [1], "nothing of that did harm");
}

#[test]
fn the_handshake_covers_the_hello() {
    let (real, key) = (Hello::new(None), key(4));
    let mut client = Handshake::client(&real, Some(&key));
    let mut server = Handshake::server(&Hello::new(Some(key.id())), Some(&key));
    assert!(server.read(&client.write().unwrap()[2..]).is_err());
}

#[test]
fn a_hello_names_its_version_and_key() {
    for key in [None, Some(key(5).id())] {
        assert_eq!(Hello::parse(&Hello::new(key).to_bytes()).unwrap(), Hello::new(key));
    }
    let mut later = Hello::new(None).to_bytes();
    later[4] = 9;
    assert!(Hello::parse(&later).unwrap_err().0.contains("version 9"));
    assert!(Hello::parse(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n").is_err());
}

#[test]
fn a_key_is_text_for_the_other_host_and_is_never_shown() {
    let key = Key::new(std::array::from_fn(|i| i as u8 * 7));
    assert_eq!(Key::parse(&format!(" {}\n", key.to_text())).unwrap(), key);
    let digits = &key.to_text()[14..];
    for wrong in ["", digits, "longfat-key-1:00", &key.to_text()[1..], &format!("{}0", key.to_text()), &key.to_text().replace('0', "g")] {
        let said = Key::parse(wrong).unwrap_err().0;
        assert!(!said.contains(&digits[..8]), "{said}");
    }
    assert_eq!(format!("{key:?} {:?}", Token([0xab; 16])), "Key(..) Token(..)");
    assert_ne!(key.id().0, [0; 32]);
}

#[test]
fn frames_are_cut_out_of_any_pieces() {
    let whole = [frame::framed(b"one"), frame::framed(b""), frame::framed(&[7; 300])].concat();
    for size in [1, 2, 3, 7, 1000] {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for piece in whole.chunks(size) {
            frames.take(piece);
            while let Some(frame) = frames.next(300).unwrap() {
                found.push(frame);
            }
        }
        assert_eq!(found, [b"one".to_vec(), Vec::new(), vec![7; 300]]);
    }
    let mut frames = Frames::default();
    frames.take(&[0xff, 0xff]);
    assert!(frames.next(frame::MOST_IN_HANDSHAKE).is_err(), "refused before its bytes have come");
}

#[test]
fn messages_have_one_form_and_bounds() {
    for message in every_message() {
        assert_eq!(Message::parse(&message.to_bytes().unwrap()).unwrap(), message);
    }
    let wrong = [
        "",
        "{}",
        "null",
        "\"bye\"",
        "{\"offer\":{}}",
        "{\"start\":{}}",
        "{\"heartbeat\":{\"sent\":1,\"echo\":null,\"held\":1,\"more\":1}}",
        "{\"heartbeat\":{\"sent\":-1,\"echo\":null,\"held\":1}}",
        "{\"stop\":null,\"start\":null}",
        "{\"granted\":{\"tokens\":[\"00\"],\"ms\":1,\"bytes\":1,\"probe\":null,\"rate\":null,\"settings\":[]}}",
        "{\"reached\":{\"nonce\":\"00\"}}",
        "{\"done\":{\"why\":\"two\\nlines\"}}",
        "{\"results\":{\"columns\":[\"a\"],\"rows\":[[1,2]]}}",
        "{\"results\":{\"columns\":[\"a b\"],\"rows\":[]}}",
        "{\"offer\":{\"ms\":1,\"interval_us\":10000,\"flows\":[],\"probe\":null}}",
    ];
    for text in wrong {
        assert!(Message::parse(text.as_bytes()).is_err(), "{text}");
    }
    let flow = |change: fn(&mut FlowOffer)| {
        let mut offer = offer(1);
        change(&mut offer.flows[1]);
        offer
    };
    let wrong = [
        offer(0),
        Offer { interval_us: 1, ..offer(1) },
        Offer { interval_us: 1000, ..offer(60_000) },
        Offer { probe: Some(ProbeOffer { interval_us: 999 }), ..offer(1) },
        Offer { probe: Some(ProbeOffer { interval_us: 1000 }), ..offer(200_000) },
        Offer { flows: vec![offer(1).flows[0].clone(); 65], ..offer(1) },
        flow(|flow| flow.control = Some("a/b".to_owned())),
        flow(|flow| flow.dscp = 64),
        flow(|flow| flow.read_rate = Some(0)),
        flow(|flow| flow.application.kind = "udp".to_owned()),
        flow(|flow| flow.application = udp(1_000_000)),
    ];
    for offer in wrong {
        let text = serde_json::to_string(&Message::Offer(offer)).unwrap();
        assert!(Message::parse(text.as_bytes()).is_err(), "{text}");
    }
    let deep = "[".repeat(60_000);
    assert!(Message::parse(deep.as_bytes()).is_err());
    let long = Message::Done(Reason { why: "x".repeat(501) });
    assert!(long.to_bytes().is_err());
}

#[test]
fn a_long_table_goes_in_pieces_that_fit() {
    let columns: Vec<String> = (0..100).map(|i| format!("column_{i}")).collect();
    let table: Vec<Vec<Option<u64>>> = (0..500).map(|i| (0..100).map(|j| (j % 3 > 0).then_some(u64::MAX - i * j)).collect()).collect();
    let pieces = Rows::pieces(&columns, table.clone());
    assert!(pieces.len() > 10);
    let sent: Vec<Rows> = pieces
        .into_iter()
        .map(|rows| match Message::parse(&Message::Results(rows).to_bytes().unwrap()).unwrap() {
            Message::Results(rows) => rows,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sent.into_iter().flat_map(|rows| rows.rows).collect::<Vec<_>>(), table);
}

#[test]
fn a_token_is_good_once_and_for_a_while() {
    let mut tokens = Tokens::default();
    let to = who(None, "10.0.0.1").address;
    let [a, b, c, d] = [1, 2, 3, 4].map(|byte| tokens.issue(0, SECOND, byte.into(), to, [byte; 16]));
    let awaited = |tokens: &Tokens, now| (tokens.awaited(now, to), tokens.awaited(now, who(None, "10.0.0.2").address));
    assert_eq!((awaited(&tokens, 0), awaited(&tokens, LIFETIME + SECOND)), ((4, 0), (0, 0)));
    assert_eq!((tokens.take(SECOND, a), tokens.take(SECOND, a)), (Some(1), None));
    assert_eq!(tokens.take(LIFETIME + SECOND, b), None, "late");
    assert_eq!(tokens.take(SECOND, Token([9; 16])), None, "nobody's");
    tokens.revoke(3);
    assert_eq!(awaited(&tokens, SECOND), (1, 0), "one is left");
    assert_eq!((tokens.take(SECOND, c), tokens.take(LIFETIME + SECOND - 1, d)), (None, Some(4)));
}

fn who(key: Option<u8>, address: &str) -> Who {
    Who { key: key.map(|byte| self::key(byte).id()), address: address.parse().unwrap() }
}

#[test]
fn networks_are_what_one_owner_has() {
    let of = |text: &str| network(text.parse().unwrap());
    assert_eq!(of("192.0.2.1"), of("192.0.2.200"));
    assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.7"));
    assert_ne!(of("192.0.2.1"), of("192.0.3.1"));
    assert_eq!(of("2001:db8:0:12::1"), of("2001:db8:0:34::1"));
    assert_ne!(of("2001:db8:0:112::1"), of("2001:db8:0:212::1"));
}

#[test]
fn bytes_are_counted_by_key_by_network_and_in_all() {
    let limits = Limits { bytes: 100, key_bytes_per_hour: 150, network_bytes_per_hour: 250, bytes_per_hour: 300, ..Limits::default() };
    let mut ledger = Ledger::new(limits, limits);
    let mut left = |now, who| ledger_step(&mut ledger, now, who);
    let [a, b, c, d] = [who(Some(1), "10.0.0.1"), who(Some(2), "10.0.0.2"), who(Some(3), "10.0.0.3"), who(Some(3), "10.0.1.1")];
    assert_eq!([left(0, a), left(1, a), left(2, a)], [100, 50, 0], "the key's");
    assert_eq!([left(3, b), left(4, b)], [100, 0], "the network's");
    assert_eq!([left(5, c), left(6, d), left(7, d)], [0, 50, 0], "all");
    assert_eq!(left(3600 * SECOND + 1, a), 100, "the first of it is an hour ago");
}

/// Sends all that is granted; how much.
fn ledger_step(ledger: &mut Ledger, now: Nanos, who: Who) -> u64 {
    let bytes = ledger.grant(now, who, &offer(1000)).map_or(0, |grant| grant.bytes);
    ledger.spend(now, who, bytes);
    bytes
}

#[test]
fn time_and_rate_are_cut_to_what_is_allowed() {
    let open = Limits { seconds: 10, rate: 5000, flows: 2, ..Limits::default() };
    let mut ledger = Ledger::new(Limits::default(), open);
    let mut granted = |key, ms| ledger.grant(0, who(key, "10.0.0.1"), &offer(ms)).map(|grant| (grant.ms, grant.rate)).unwrap();
    assert_eq!(granted(None, 3000), (3000, Some(5000)));
    assert_eq!(granted(None, 30_000), (10_000, Some(5000)));
    assert_eq!(granted(Some(1), 30_000), (30_000, None), "who has a key has other limits");
    let many = Offer { flows: vec![offer(1).flows[0].clone(); 3], ..offer(1) };
    assert!(ledger.grant(0, who(None, "10.0.0.1"), &many).unwrap_err().contains("may have 2"));
}

#[test]
fn handshakes_under_way_are_few() {
    let mut ledger = Ledger::new(Limits { network_handshakes: 2, handshakes: 3, ..Limits::default() }, Limits::open());
    let [a, b, c] = ["10.0.0.1", "10.0.1.1", "10.0.2.1"].map(|text| text.parse().unwrap());
    assert_eq!([a, a, a, b, c].map(|from| ledger.begin_handshake(0, from, 0)), [true, true, false, true, false]);
    ledger.end_handshake(b);
    assert_eq!([b, c].map(|from| ledger.begin_handshake(1, from, 0)), [true, false]);
    assert_eq!([1, 2].map(|_| ledger.begin_handshake(1, a, 1)), [true, false], "one is awaited from there");
    assert!(ledger.begin_handshake(HANDSHAKE, a, 0), "one that never ends counts for a while");
}

#[test]
fn sessions_have_their_turns() {
    let mut ledger = Ledger::new(Limits { waiting: 2, ..Limits::default() }, Limits::open());
    let who = who(Some(1), "10.0.0.1");
    assert_eq!([1, 2, 3, 4].map(|session| ledger.enter(session, &who, 1000)), [true, true, true, false]);
    assert_eq!([1, 2, 3, 4].map(|session| ledger.before(session)), [Some((0, 0)), Some((1, 6000)), Some((2, 12_000)), None]);
    ledger.leave(1);
    assert_eq!(ledger.before(3), Some((1, 6000)));
    ledger.leave(2);
    assert_eq!(ledger.before(3), Some((0, 0)));
}

/// A client, a server, and a path between them.
struct World {
    now: Nanos,
    delay: Nanos,
    /// Nothing arrives that is sent from then on.
    cut: Nanos,
    client: Client,
    server: Server,
    wire: BTreeMap<(Nanos, u64), (To, Sent)>,
    sent: u64,
    /// Actions other than messages, in order.
    done: Vec<(To, Action)>,
    ended: BTreeMap<To, (Nanos, String)>,
    kept: Vec<Rows>,
    offer: Offer,
    grant: Grant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum To {
    Client,
    Server,
}

#[derive(Clone, Debug)]
enum Sent {
    Message(Vec<u8>),
    Event(Event),
}

impl World {
    fn new(delay: Nanos, cut: Nanos, offer: Offer, grant: Grant) -> Self {
        let (client, first) = Client::new(0, 0, offer.clone());
        let mut world = World {
            now: 0,
            delay,
            cut,
            client,
            server: Server::new(0, 0),
            wire: BTreeMap::new(),
            sent: 0,
            done: Vec::new(),
            ended: BTreeMap::new(),
            kept: Vec::new(),
            offer,
            grant,
        };
        world.act(To::Client, vec![first]);
        world
    }

    fn put(&mut self, after: Nanos, to: To, sent: Sent) {
        self.sent += 1;
        self.wire.insert((self.now + after, self.sent), (to, sent));
    }

    /// Puts what crosses the path on it.
    fn cross(&mut self, to: To, sent: Sent) {
        if self.now < self.cut {
            self.put(self.delay, to, sent);
        }
    }

    fn act(&mut self, at: To, actions: Vec<Action>) {
        let other = if at == To::Client { To::Server } else { To::Client };
        for action in actions {
            match &action {
                Action::Send(message) => self.cross(other, Sent::Message(message.to_bytes().unwrap())),
                Action::Ask(_) => {
                    self.put(0, To::Server, Sent::Event(Event::Turn(Turn::Go(self.grant, tokens(), Some(NONCE), settings()))));
                }
                Action::Connect(..) => {
                    self.put(2 * self.delay, To::Client, Sent::Event(Event::Reached(reached(Some(NONCE)))));
                    self.put(2 * self.delay, To::Client, Sent::Event(Event::Connected));
                }
                // The data connections have come before it.
                Action::Reach(nonce) => {
                    assert_eq!(*nonce, reached(Some(NONCE)));
                    self.put(0, To::Server, Sent::Event(Event::Connected));
                }
                Action::Begin(grant) => {
                    let sends = if self.offer.flows[0].direction == Direction::Up { To::Client } else { To::Server };
                    if at == sends {
                        self.put(grant.ms * 1_000_000, at, Sent::Event(halted(at)));
                    }
                }
                Action::Halt => {
                    self.put(0, at, Sent::Event(halted(at)));
                    self.cross(other, Sent::Event(halted(other)));
                }
                Action::Keep(rows) => self.kept.push(rows.clone()),
                Action::Close(why) => {
                    assert!(self.ended.insert(at, (self.now, why.clone())).is_none(), "it closes once");
                }
            }
            if !matches!(action, Action::Send(_)) {
                self.done.push((at, action));
            }
        }
    }

    fn give(&mut self, to: To, event: Event) {
        let actions = match to {
            To::Client => self.client.on(self.now, event.clone()),
            To::Server => self.server.on(self.now, event.clone()),
        };
        self.act(to, actions);
        // The other end sees the end of the data.
        if matches!(event, Event::Halted(_)) && self.done.iter().filter(|(_, action)| *action == Action::Halt).count() == 0 {
            let other = if to == To::Client { To::Server } else { To::Client };
            self.cross(other, Sent::Event(halted(other)));
        }
    }

    /// Runs until both are closed, or `end`.
    fn run(&mut self, end: Nanos) {
        let mut tick = 0;
        while self.ended.len() < 2 && self.now < end {
            let next = self.wire.first_key_value().map_or(Nanos::MAX, |((time, _), _)| *time);
            if next <= tick {
                let ((time, _), (to, sent)) = self.wire.pop_first().unwrap();
                self.now = time;
                let event = match sent {
                    Sent::Message(bytes) => Event::Message(Message::parse(&bytes).unwrap()),
                    Sent::Event(event) => event,
                };
                self.give(to, event);
            } else {
                self.now = tick;
                self.give(To::Client, Event::Tick);
                self.give(To::Server, Event::Tick);
                tick += TICK;
            }
        }
    }

    fn did(&self, at: To, action: impl Fn(&Action) -> bool) -> usize {
        self.done.iter().filter(|(who, did)| *who == at && action(did)).count()
    }
}

fn halted(at: To) -> Event {
    Event::Halted(if at == To::Server { vec![rows(), rows()] } else { Vec::new() })
}

fn granted(ms: u64) -> Grant {
    Grant { ms, bytes: 1 << 30, rate: None, udp_rate: Some(16_000), probes: true }
}

fn began(action: &Action) -> bool {
    matches!(action, Action::Begin(_))
}

proptest! {
    /// Any path of up to 2 s of round trip, either direction: all goes well, and the results come.
    #[test]
    fn a_session_ends_well_whatever_the_distance(ms in 1_u64..20_000, delay in 0..SECOND, down: bool) {
        let direction = if down { Direction::Down } else { Direction::Up };
        let mut world = World::new(delay, Nanos::MAX, offer_of(ms, direction), granted(ms));
        world.run(300 * SECOND);
        prop_assert_eq!(world.ended.values().map(|(_, why)| why.as_str()).collect::<Vec<_>>(), ["", ""]);
        prop_assert_eq!(world.kept.len(), 2);
        prop_assert_eq!([To::Client, To::Server].map(|at| world.did(at, began)), [1, 1]);
    }

    /// A path that is cut at any moment: both ends know within 5 s and four round trips, and stop to send.
    #[test]
    fn a_cut_path_ends_both_sides_in_time(ms in 1_u64..20_000, delay in 0..SECOND, cut in 0..30 * SECOND) {
        let mut world = World::new(delay, cut, offer(ms), granted(ms));
        world.run(600 * SECOND);
        prop_assert_eq!(world.ended.len(), 2);
        for (at, (ended, why)) in &world.ended {
            let latest = cut + delay + SILENCE + 4 * (2 * delay + TICK) + 2 * TICK + BEAT;
            prop_assert!(*ended <= latest || why.is_empty(), "{at:?} ended at {ended} of {latest}: {why}");
            let is_over = world.did(*at, began) == 0 || world.did(*at, |action| *action == Action::Halt) > 0 || world.now > ms * 1_000_000;
            prop_assert!(is_over);
        }
    }

    /// A client that stops at any moment, in any state, ends both sides soon.
    #[test]
    fn a_client_may_stop_at_any_moment(ms in 1_u64..20_000, delay in 0..SECOND / 2, stop in 0..15 * SECOND) {
        let mut world = World::new(delay, Nanos::MAX, offer(ms), granted(ms));
        world.put(stop, To::Client, Sent::Event(Event::Stop));
        world.run(300 * SECOND);
        prop_assert_eq!(world.ended.len(), 2);
        prop_assert!(world.ended.values().all(|(_, why)| ["", "stopped", "the client stopped"].contains(&why.as_str())), "{:?}", world.ended);
        prop_assert_eq!(world.kept.len(), 2 * world.did(To::Server, began), "what was measured comes");
    }

    /// Both sides under any events in any order: no panic, data flows only after a grant, the connection and the start, and a closed side is
    /// silent.
    #[test]
    fn no_order_of_events_lets_data_flow_without_a_grant(steps in prop::collection::vec((0..40_usize, 0..3 * SECOND), 0..60)) {
        let (client, _) = Client::new(0, 0, offer(1000));
        let mut sides = (client, Server::new(0, 0));
        let (mut now, mut begun, mut closed) = (0, [0; 2], [false; 2]);
        let (mut asked, mut went, mut reached, mut came) = (false, false, false, false);
        for (choice, after) in steps {
            now += after;
            let event = event(choice);
            asked |= matches!(event, Event::Message(Message::Offer(_)));
            went |= asked && matches!(event, Event::Turn(Turn::Go(..)));
            reached |= went && matches!(event, Event::Message(Message::Reached(_)));
            came |= reached && event == Event::Connected;
            for (side, actions) in [sides.0.on(now, event.clone()), sides.1.on(now, event.clone())].into_iter().enumerate() {
                prop_assert!(!closed[side] || actions.is_empty());
                begun[side] += actions.iter().filter(|action| began(action)).count();
                closed[side] |= actions.iter().any(|action| matches!(action, Action::Close(_)));
                // Whoever begins and closes, halts.
                prop_assert!(begun[side] <= 1);
            }
            prop_assert!(begun[1] == 0 || came, "the server sent without a data connection that was granted");
        }
        prop_assert_eq!([sides.0.is_closed(), sides.1.is_closed()], closed);
    }

    /// Damaged frames on an encrypted channel never come through.
    #[test]
    fn a_damaged_frame_is_never_opened(at: prop::sample::Index, bit in 0..8_u32, cut: prop::sample::Index, cuts: bool) {
        let [mut ours, mut theirs] = channels(Some(&key(6)), Some(&key(6))).unwrap();
        let mut frame = ours.seal(b"{\"heartbeat\":1}").unwrap()[2..].to_vec();
        if cuts {
            frame.truncate(cut.index(frame.len()));
        } else {
            let at = at.index(frame.len());
            frame[at] ^= 1_u8 << bit;
        }
        prop_assert!(theirs.open(&frame).is_err());
    }

    /// Random bytes as a stream of frames, and as frames of a handshake.
    #[test]
    fn random_bytes_are_no_handshake(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let hello = Hello::new(Some(key(7).id()));
        prop_assert!(Handshake::server(&hello, Some(&key(7))).read(&bytes).is_err());
        let mut frames = Frames::default();
        frames.take(&bytes);
        let mut taken = 0;
        while let Ok(Some(frame)) = frames.next(64) {
            taken += frame.len() + 2;
            prop_assert!(frame.len() <= 64 && taken <= bytes.len());
        }
    }
}

/// Any event there is, and some twice.
fn event(choice: usize) -> Event {
    let mut all: Vec<Event> = every_message().into_iter().map(Event::Message).collect();
    all.extend([
        Event::Turn(Turn::Go(granted(1000), tokens(), Some(NONCE), settings())),
        Event::Turn(Turn::No("no".to_owned())),
        Event::Turn(Turn::Wait(Queued { before: 1, ms: 1 })),
        Event::Connected,
        Event::Bytes(1),
        Event::Bytes(u64::MAX),
        Event::Reached(reached(Some(NONCE))),
        Event::Reached(reached(None)),
        Event::Datagrams(u64::MAX),
        halted(To::Server),
        Event::Stop,
        Event::Lost,
        Event::Tick,
    ]);
    all.swap_remove(choice % all.len())
}

/// `make torture` runs them with more inputs, and other seeds.
#[test]
fn every_attack_is_borne() {
    for name in ATTACKS {
        attack(name, 1994, 100_000).unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
}

#[test]
fn who_sends_more_than_granted_is_stopped() {
    let mut server = Server::new(0, 0);
    let grant = Grant { ms: 1000, bytes: 100, rate: None, udp_rate: None, probes: false };
    for event in [
        Event::Message(Message::Offer(offer(1000))),
        Event::Turn(Turn::Go(grant, tokens(), None, settings())),
        Event::Connected,
        Event::Message(Message::Start),
    ] {
        server.on(0, event);
    }
    assert_eq!(server.on(1, Event::Bytes(100)), []);
    assert_eq!(server.on(2, Event::Bytes(101)), [Action::Halt]);
    assert_eq!(server.on(3, Event::Bytes(102)), [], "it is said once");
}

#[test]
fn who_sends_faster_than_granted_is_stopped() {
    let mut server = Server::new(0, 0);
    let grant = Grant { ms: 100_000, bytes: u64::MAX, rate: Some(8000), udp_rate: Some(16_000), probes: true };
    for event in [
        Event::Message(Message::Offer(offer(1000))),
        Event::Turn(Turn::Go(grant, tokens(), None, settings())),
        Event::Connected,
        Event::Message(Message::Start),
    ] {
        server.on(0, event);
    }
    // 1000 bytes/s, for a second and the one before, and a tenth.
    assert_eq!(server.on(SECOND, Event::Bytes(2200)), []);
    assert_eq!(server.on(SECOND, Event::Bytes(2201)), [Action::Halt]);
}

#[test]
fn who_probes_faster_than_granted_is_stopped() {
    for (udp_rate, most) in [(Some(16_000), 4400), (None, 0)] {
        let mut server = Server::new(0, 0);
        let grant = Grant { ms: 100_000, bytes: u64::MAX, rate: None, udp_rate, probes: true };
        for event in [
            Event::Message(Message::Offer(offer(1000))),
            Event::Turn(Turn::Go(grant, tokens(), None, settings())),
            Event::Connected,
            Event::Message(Message::Start),
        ] {
            server.on(0, event);
        }
        assert_eq!(server.on(SECOND, Event::Datagrams(most)), []);
        assert_eq!(server.on(SECOND, Event::Datagrams(most + 1)), [Action::Halt]);
    }
}

/// A server that has granted probes waits for the client's word about them, which comes once.
#[test]
fn a_client_says_once_whether_datagrams_reach_it() {
    let mut server = Server::new(0, 0);
    server.on(0, Event::Message(Message::Offer(offer(1000))));
    server.on(0, Event::Turn(Turn::Go(granted(1000), tokens(), Some(NONCE), settings())));
    assert_eq!(server.on(0, Event::Connected), [], "not yet");
    let word = || Event::Message(Message::Reached(reached(None)));
    assert_eq!(server.on(0, word()), [Action::Reach(reached(None))]);
    assert!(matches!(&server.on(0, word())[..], [Action::Close(why)] if why.contains("out of turn")));
}

/// A server whose session has flows over UDP waits for the nonce of each, with probes or without.
#[test]
fn a_client_returns_a_nonce_for_each_flow_over_udp() {
    let three = || vec![Token([1; 16]), Token([2; 16]), Token([4; 16])];
    for (flows, said) in [(0, "out of turn"), (1, "out of turn"), (2, ""), (3, "out of turn")] {
        let mut server = Server::new(0, 0);
        server.on(0, Event::Message(Message::Offer(offer_over_udp(800_000, 400_000))));
        server.on(0, Event::Turn(Turn::Go(granted(1000), three(), None, settings())));
        assert_eq!(server.on(0, Event::Connected), [], "not yet");
        let reached = Reached { nonce: None, flows: three()[..flows].to_vec() };
        let actions = server.on(0, Event::Message(Message::Reached(reached.clone())));
        match said {
            "" => assert_eq!(actions, [Action::Reach(reached)]),
            said => assert!(matches!(&actions[..], [Action::Close(why)] if why.contains(said)), "{actions:?}"),
        }
    }
    // A client that has them says so once.
    let (mut client, _) = Client::new(0, 0, offer_over_udp(800_000, 400_000));
    let grant = Granted { tokens: three(), probe: None, ms: 1000, bytes: 1, rate: None, settings: settings() };
    client.on(0, Event::Message(Message::Granted(grant)));
    let reached = Reached { nonce: None, flows: vec![NONCE; 2] };
    assert_eq!(client.on(0, Event::Reached(reached.clone())), [Action::Send(Message::Reached(reached.clone()))]);
    assert_eq!(client.on(0, Event::Reached(reached)), []);
}

#[test]
fn flows_over_udp_are_granted_within_their_limits() {
    // 1,000,000 bit/s of packets of 1500 bytes are 84 in a second, each of 1472 bytes of payload.
    let rates = offer_over_udp(1_000_000, 400_000).udp_rates();
    assert_eq!(rates, [84 * 1472 * 8, 34 * 1472 * 8]);
    let probes = ProbeOffer { interval_us: 10_000 }.rate();
    let ask = |limits: Limits, key: Option<u8>| {
        let mut ledger = Ledger::new(limits, Limits::open());
        ledger.grant(0, who(key, "10.0.0.1"), &offer_over_udp(1_000_000, 400_000)).map(|grant| (grant.udp_rate, grant.probes))
    };
    let with = |udp_rate| Limits { udp_rate, ..Limits::default() };
    assert_eq!(ask(with(rates[0] + probes), Some(1)), Ok((Some(rates[0] + probes), true)));
    assert_eq!(ask(with(rates[0]), Some(1)), Ok((Some(rates[0]), false)), "no room for probes");
    assert!(ask(with(rates[0] - 1), Some(1)).unwrap_err().contains("the limit `udp_rate` is"));
    assert!(ask(Limits::default(), None).unwrap_err().contains("`udp_rate` is 0"), "nobody without a key");
    let in_all = rates[0] + rates[1];
    assert!(ask(Limits { rate: in_all, ..Limits::default() }, Some(1)).unwrap_err().contains("the limit `rate`"));
    assert!(ask(Limits { rate: in_all + 1, ..Limits::default() }, Some(1)).is_ok());
    // TCP has what UDP leaves.
    assert_eq!((offer_over_udp(1_000_000, 400_000).share(in_all + 9), offer(1).share(10)), (9, 5));
    assert_eq!(offer_over_udp(1_000_000, 400_000).timed(), 12_500);
}

#[test]
fn probes_are_granted_within_their_limit() {
    let rate = ProbeOffer { interval_us: 10_000 }.rate();
    assert_eq!(rate, 100 * 8 * 20);
    for (udp_rate, granted) in [(0, None), (rate - 1, None), (rate, Some(rate))] {
        let mut ledger = Ledger::new(Limits { udp_rate, ..Limits::default() }, Limits::open());
        let mut ask = |offer: &Offer| ledger.grant(0, who(Some(1), "10.0.0.1"), offer).unwrap().udp_rate;
        assert_eq!([ask(&offer(1000)), ask(&Offer { probe: None, ..offer(1000) })], [granted, None]);
    }
}

/// A stop may cross the server's beginning: the client waits for the results all the same, which the server sends.
#[test]
fn a_client_that_stops_when_it_has_just_said_start_has_results() {
    let mut world = World::new(SECOND / 10, Nanos::MAX, offer(1000), granted(1000));
    world.put(7 * SECOND / 10, To::Client, Sent::Event(Event::Stop));
    world.run(60 * SECOND);
    assert_eq!(world.ended.values().map(|(_, why)| why.as_str()).collect::<Vec<_>>(), ["", ""]);
    assert_eq!((world.did(To::Client, began), world.did(To::Server, began), world.kept.len()), (0, 1, 2));
}

#[test]
fn a_side_whose_peer_is_gone_closes_at_once() {
    let mut server = Server::new(0, 0);
    server.on(0, Event::Message(Message::Offer(offer(1000))));
    assert!(matches!(&server.on(1, Event::Lost)[..], [Action::Close(why)] if why.contains("closed the connection")));
    assert_eq!(server.on(2, Event::Lost), []);
}

#[test]
fn a_run_that_does_not_end_is_ended() {
    let mut world = World::new(SECOND / 100, Nanos::MAX, offer(1000), granted(60_000));
    // The client never sees an end: it was granted a minute, and its data stops to flow without one.
    world.run(3 * SECOND);
    world.wire.clear();
    let (mut now, mut actions) = (world.now, Vec::new());
    while !world.server.is_closed() {
        now += TICK;
        let beat = Heartbeat { sent: now, echo: None, held: 0 };
        actions = world.server.on(now, Event::Message(Message::Heartbeat(beat)));
        actions.extend(world.server.on(now, Event::Tick));
    }
    assert!(now < 70 * SECOND, "{now}");
    assert!(actions.contains(&Action::Halt) && matches!(actions.last(), Some(Action::Close(_))), "{actions:?}");
}

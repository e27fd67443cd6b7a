//! State machines of both sides: each takes in what happens, and says what to do. They know no socket and no clock.
//!
//! ```text
//! client                       server
//! offer        ─────────────>         asks the ledger
//!              <─────────────  queued, as often as the place changes
//!              <─────────────  granted (tokens, time, bytes, rate) or refused
//! data connections, tokens ──>
//! reached      ─────────────>         if probes were granted or flows go over UDP: the nonces that came
//!              <─────────────  ready (the client as the server sees it)
//! start        ─────────────>
//!              <─────────────  running, when its clock is at zero
//! heartbeat    <────────────>  each second, from the offer on
//! stop         ─────────────>  to end early
//!              <─────────────  results, in pieces; done
//! done         ─────────────>
//! ```
//!
//! Silence of 5 s and four round trips ends a session at both sides, whatever its state.

use super::limits::Grant;
use super::message::{Granted, Heartbeat, Message, Offer, Queued, Reached, Reason, Rows, Seen, Setting};
use super::token::{LIFETIME, Token};
use super::{Nanos, SECOND};

/// Time between heartbeats.
pub const BEAT: Nanos = SECOND;
/// Silence that ends a session, beside four round trips.
pub const SILENCE: Nanos = 5 * SECOND;
/// Longest round trip that is believed.
const RTT_MAX: Nanos = 30 * SECOND;
/// Time beside its running in which a session must send its results.
pub const RESULTS: Nanos = 60 * SECOND;
/// Reason of a session whose control connection is over before it is.
const LOST: &str = "the other side closed the connection";
/// Longest time in a queue.
const QUEUE: Nanos = 3600 * SECOND;

/// Liveness of the other side.
#[derive(Clone, Copy, Debug)]
struct Pulse {
    heard: Nanos,
    sent: Nanos,
    /// Last heartbeat of the other side: its clock, and ours when it came.
    theirs: Option<(Nanos, Nanos)>,
    rtt: Nanos,
}

impl Pulse {
    fn new(now: Nanos, rtt: Nanos) -> Self {
        Pulse { heard: now, sent: now, theirs: None, rtt: rtt.min(RTT_MAX) }
    }

    /// Takes in a heartbeat. The greatest round trip counts: what is late must not look lost.
    fn hear(&mut self, now: Nanos, beat: &Heartbeat) {
        self.theirs = Some((beat.sent, now));
        if let Some(rtt) = beat.echo.and_then(|echo| now.checked_sub(echo)?.checked_sub(beat.held)) {
            self.rtt = self.rtt.max(rtt.min(RTT_MAX));
        }
    }

    /// Returns a heartbeat, if it is time for one.
    fn beat(&mut self, now: Nanos) -> Option<Message> {
        if now.saturating_sub(self.sent) < BEAT {
            return None;
        }
        self.sent = now;
        let echo = self.theirs.map(|(sent, _)| sent);
        let held = self.theirs.map_or(0, |(_, came)| now.saturating_sub(came));
        Some(Message::Heartbeat(Heartbeat { sent: now, echo, held }))
    }

    /// Returns the time to allow beside `time`: four round trips.
    fn slack(&self, time: Nanos) -> Nanos {
        time.saturating_add(4 * self.rtt)
    }

    fn is_silent(&self, now: Nanos) -> bool {
        now.saturating_sub(self.heard) > self.slack(SILENCE)
    }
}

/// Action for the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send this message.
    Send(Message),
    /// Server: ask the ledger for a turn of this offer; answer by [`Event::Turn`].
    Ask(Offer),
    /// Client: connect for data with the tokens of this grant; then [`Event::Reached`] if it has probes or flows over UDP, and
    /// [`Event::Connected`].
    Connect(Granted),
    /// Server: the client has got these nonces by datagrams; others may go to the addresses that they were sent to.
    Reach(Reached),
    /// Send or receive data, and sample, until [`Action::Halt`].
    Begin(Grant),
    /// End the data connection; then [`Event::Halted`].
    Halt,
    /// Client: keep these results.
    Keep(Rows),
    /// End the session; the reason, empty where all went well.
    Close(String),
}

/// Event that the machine is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A message came.
    Message(Message),
    /// Server: the ledger's answer.
    Turn(Turn),
    /// Server: a data connection came with each of the session's tokens. Client: the data connections stand, and the tokens are sent.
    Connected,
    /// Client: the nonces that came by datagrams.
    Reached(Reached),
    /// Payload so far, of flows and probes.
    Bytes(u64),
    /// UDP payload so far, of the direction with more of it.
    Datagrams(u64),
    /// The data connection is over; at the server with the results to send.
    Halted(Vec<Rows>),
    /// Client: the user wants to stop.
    Stop,
    /// The control connection is over.
    Lost,
    /// Time passes: several times a second.
    Tick,
}

/// Answer of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// Others are before it.
    Wait(Queued),
    /// It is its turn: the grant, the tokens of flows and of probes, and the settings of this host.
    Go(Grant, Vec<Token>, Option<Token>, Vec<Setting>),
    /// Never.
    No(String),
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Server: the offer is to come.
    Offer,
    /// The ledger's answer is to come.
    Queued,
    /// The data connection is to come.
    Granted,
    /// The start is to come.
    Ready,
    /// Data flows.
    Running,
    /// The data connection is ending.
    Halting,
    /// Results are on their way.
    Results,
    /// It is over.
    Closed,
}

/// One side of a session: what both have.
#[derive(Debug)]
struct Side {
    state: State,
    since: Nanos,
    pulse: Pulse,
    grant: Option<Grant>,
    /// Flows of the session.
    flows: u64,
    /// Flows of those over UDP.
    over_udp: usize,
    /// True while the client's answer about datagrams is to come.
    awaits: bool,
    /// Addresses of the client as the server sees them.
    seen: Seen,
    /// Reason why the server ends the run; empty: the client does.
    why: String,
    actions: Vec<Action>,
}

impl Side {
    fn new(now: Nanos, rtt: Nanos, state: State) -> Self {
        Side {
            state,
            since: now,
            pulse: Pulse::new(now, rtt),
            grant: None,
            flows: 0,
            over_udp: 0,
            awaits: false,
            seen: Seen::default(),
            why: String::new(),
            actions: Vec::new(),
        }
    }

    fn to(&mut self, now: Nanos, state: State) {
        (self.state, self.since) = (state, now);
    }

    fn send(&mut self, message: Message) {
        self.actions.push(Action::Send(message));
    }

    fn begin(&mut self, now: Nanos) {
        if let Some(grant) = self.grant {
            self.to(now, State::Running);
            self.actions.push(Action::Begin(grant));
        }
    }

    fn halt(&mut self, now: Nanos) {
        self.to(now, State::Halting);
        self.actions.push(Action::Halt);
    }

    fn close(&mut self, now: Nanos, why: impl Into<String>) {
        if self.state == State::Running {
            self.actions.push(Action::Halt);
        }
        self.to(now, State::Closed);
        self.actions.push(Action::Close(why.into()));
    }

    fn granted(&self) -> Nanos {
        self.grant.map_or(0, |grant| grant.ms.saturating_mul(1_000_000))
    }

    /// Ends what has taken too long, and gives signs of life.
    fn tick(&mut self, now: Nanos) {
        let (pulse, took) = (self.pulse, now.saturating_sub(self.since));
        let most = match self.state {
            // Data connections are made some at a time.
            State::Granted => LIFETIME.saturating_add(pulse.rtt.saturating_mul(self.flows)),
            State::Offer | State::Ready => LIFETIME,
            State::Queued => QUEUE,
            State::Running => self.granted().saturating_add(SILENCE),
            State::Halting | State::Results => RESULTS,
            State::Closed => return,
        };
        if pulse.is_silent(now) {
            let seconds = now.saturating_sub(pulse.heard) / SECOND;
            self.close(now, format!("the other side was silent for {seconds} s"));
        } else if took > pulse.slack(most) {
            let seconds = took / SECOND;
            self.close(now, format!("nothing came of the session for {seconds} s"));
        } else if let Some(beat) = self.pulse.beat(now) {
            self.send(beat);
        }
    }

    /// Takes in a sign of life; gives back any other message.
    fn hear(&mut self, now: Nanos, message: Message) -> Option<Message> {
        self.pulse.heard = now;
        match message {
            Message::Heartbeat(beat) => {
                self.pulse.hear(now, &beat);
                None
            }
            other => Some(other),
        }
    }

    fn out_of_turn(&mut self, now: Nanos, message: &Message) {
        self.close(now, format!("the message `{}` came out of turn", message.name()));
    }

    /// Ends a run whose data goes beyond the grant: whoever sends paces, and whoever lies is stopped.
    fn count(&mut self, now: Nanos, bytes: u64) {
        let Some(grant) = self.grant.filter(|_| self.state == State::Running) else { return };
        if bytes > grant.bytes {
            self.why = format!("the run sent the {} bytes that it may", grant.bytes);
            self.halt(now);
        } else if let Some(rate) = grant.rate.filter(|rate| self.is_faster(now, bytes, *rate)) {
            self.why = format!("the run was faster than the {rate} bit/s that it may");
            self.halt(now);
        }
    }

    /// Counts bytes of datagrams.
    fn count_datagrams(&mut self, now: Nanos, bytes: u64) {
        let Some(grant) = self.grant.filter(|_| self.state == State::Running) else { return };
        let rate = grant.udp_rate.unwrap_or(0);
        if self.is_faster(now, bytes, rate) {
            self.why = format!("the datagrams were faster than the {rate} bit/s that they may");
            self.halt(now);
        }
    }

    /// True if `bytes` since the run began are more than `rate` gives, in bit/s.
    fn is_faster(&self, now: Nanos, bytes: u64, rate: u64) -> bool {
        // A second's worth, and a tenth, beyond the rate: bursts are no lie.
        let ns = now.saturating_sub(self.since).saturating_add(SECOND);
        u128::from(bytes) > u128::from(rate) * u128::from(ns) / 8_000_000_000 * 11 / 10
    }

    fn done(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

/// The server's side of a session.
#[derive(Debug)]
pub struct Server(Side);

impl Server {
    /// A session whose handshake is over; it took a round trip of `rtt`.
    pub fn new(now: Nanos, rtt: Nanos) -> Self {
        Server(Side::new(now, rtt, State::Offer))
    }

    /// True if the session is over.
    pub fn is_closed(&self) -> bool {
        self.0.state == State::Closed
    }

    /// Returns the greatest round trip of the control channel so far.
    pub fn rtt(&self) -> Nanos {
        self.0.pulse.rtt
    }

    /// Notes the addresses of the client, of which [`Message::Ready`] tells it.
    pub fn see(&mut self, seen: Seen) {
        self.0.seen = seen;
    }

    /// Takes in an event; what to do, in order.
    pub fn on(&mut self, now: Nanos, event: Event) -> Vec<Action> {
        let side = &mut self.0;
        if side.state == State::Closed {
            return Vec::new();
        }
        match event {
            Event::Tick => side.tick(now),
            Event::Lost => side.close(now, LOST),
            Event::Bytes(bytes) => side.count(now, bytes),
            Event::Datagrams(bytes) => side.count_datagrams(now, bytes),
            Event::Message(message) => {
                if let Some(message) = side.hear(now, message) {
                    Server::message(side, now, message);
                }
            }
            Event::Turn(turn) if side.state == State::Queued => match turn {
                Turn::Wait(queued) => side.send(Message::Queued(queued)),
                Turn::No(why) => {
                    side.send(Message::Refused(Reason { why: why.clone() }));
                    side.close(now, why);
                }
                Turn::Go(grant, tokens, probe, settings) => {
                    side.grant = Some(grant);
                    (side.flows, side.awaits) = (tokens.len() as u64, probe.is_some() || side.over_udp > 0);
                    side.to(now, State::Granted);
                    let Grant { ms, bytes, rate, .. } = grant;
                    side.send(Message::Granted(Granted { tokens, probe, ms, bytes, rate, settings }));
                }
            },
            Event::Connected if side.state == State::Granted && !side.awaits => {
                side.to(now, State::Ready);
                side.send(Message::Ready(side.seen));
            }
            Event::Halted(pieces) if matches!(side.state, State::Running | State::Halting) => {
                side.to(now, State::Results);
                pieces.into_iter().for_each(|rows| side.send(Message::Results(rows)));
                let why = side.why.clone();
                side.send(Message::Done(Reason { why }));
            }
            // Answers that come late, and what only a client is told.
            Event::Turn(_) | Event::Connected | Event::Reached(_) | Event::Halted(_) | Event::Stop => {}
        }
        side.done()
    }

    fn message(side: &mut Side, now: Nanos, message: Message) {
        match (side.state, message) {
            (State::Offer, Message::Offer(offer)) => {
                side.to(now, State::Queued);
                side.over_udp = offer.over_udp();
                side.actions.push(Action::Ask(offer));
            }
            (State::Granted, Message::Reached(reached)) if side.awaits && reached.flows.len() == side.over_udp => {
                side.awaits = false;
                side.actions.push(Action::Reach(reached));
            }
            (State::Ready, Message::Start) => {
                side.begin(now);
                side.send(Message::Running);
            }
            (State::Running, Message::Stop) => side.halt(now),
            // It crossed the end of the run on its way.
            (State::Halting | State::Results, Message::Stop) => {}
            (State::Offer | State::Queued | State::Granted | State::Ready, Message::Stop) => side.close(now, "the client stopped"),
            (State::Results, Message::Done(_)) => side.close(now, ""),
            (_, message) => side.out_of_turn(now, &message),
        }
    }
}

/// The client's side of a session.
#[derive(Debug)]
pub struct Client(Side);

impl Client {
    /// A session whose handshake is over, in a round trip of `rtt`; the first thing to do is to send `offer`.
    pub fn new(now: Nanos, rtt: Nanos, offer: Offer) -> (Self, Action) {
        let side = Side { over_udp: offer.over_udp(), ..Side::new(now, rtt, State::Queued) };
        (Client(side), Action::Send(Message::Offer(offer)))
    }

    /// True if the session is over.
    pub fn is_closed(&self) -> bool {
        self.0.state == State::Closed
    }

    /// Returns the greatest round trip of the control channel so far.
    pub fn rtt(&self) -> Nanos {
        self.0.pulse.rtt
    }

    /// Returns the addresses of this host as the server sees them, once it is ready.
    pub fn seen(&self) -> Seen {
        self.0.seen
    }

    /// Takes in an event; what to do, in order.
    pub fn on(&mut self, now: Nanos, event: Event) -> Vec<Action> {
        let side = &mut self.0;
        if side.state == State::Closed {
            return Vec::new();
        }
        match event {
            Event::Tick => side.tick(now),
            Event::Lost => side.close(now, LOST),
            Event::Bytes(bytes) => side.count(now, bytes),
            Event::Datagrams(bytes) => side.count_datagrams(now, bytes),
            Event::Message(message) => {
                if let Some(message) = side.hear(now, message) {
                    Client::message(side, now, message);
                }
            }
            Event::Stop => match side.state {
                // Results of what was measured come all the same; the server may have begun already.
                State::Ready | State::Running => {
                    side.send(Message::Stop);
                    side.halt(now);
                }
                State::Halting | State::Results => {}
                _ => {
                    side.send(Message::Stop);
                    side.close(now, "stopped");
                }
            },
            Event::Reached(reached) if side.state == State::Granted && side.awaits => {
                side.awaits = false;
                side.send(Message::Reached(reached));
            }
            Event::Halted(_) if matches!(side.state, State::Running | State::Halting) => side.to(now, State::Results),
            // Nothing to do until the server has seen the token; and what only a server is told.
            Event::Connected | Event::Reached(_) | Event::Halted(_) | Event::Turn(_) => {}
        }
        side.done()
    }

    fn message(side: &mut Side, now: Nanos, message: Message) {
        match (side.state, message) {
            (State::Queued, Message::Queued(_)) => {}
            (State::Queued, Message::Refused(reason)) => side.close(now, format!("the server refused: {}", reason.why)),
            (State::Queued, Message::Granted(granted)) => {
                // The server bounds datagrams.
                let Granted { ms, bytes, rate, .. } = granted;
                side.grant = Some(Grant { ms, bytes, rate, udp_rate: Some(u64::MAX), probes: granted.probe.is_some() });
                (side.flows, side.awaits) = (granted.tokens.len() as u64, granted.probe.is_some() || side.over_udp > 0);
                side.to(now, State::Granted);
                side.actions.push(Action::Connect(granted));
            }
            (State::Granted, Message::Ready(seen)) => {
                side.seen = seen;
                side.to(now, State::Ready);
                side.send(Message::Start);
            }
            (State::Ready, Message::Running) => side.begin(now),
            // It crossed a stop on its way.
            (State::Halting | State::Results, Message::Running) => {}
            // The server may be the first to see the end.
            (State::Running | State::Halting | State::Results, Message::Results(rows)) => side.actions.push(Action::Keep(rows)),
            (State::Running | State::Halting | State::Results, Message::Done(Reason { why })) => {
                side.send(Message::Done(Reason { why: String::new() }));
                side.close(now, if why.is_empty() { why } else { format!("the server ended the run: {why}") });
            }
            (_, message) => side.out_of_turn(now, &message),
        }
    }
}

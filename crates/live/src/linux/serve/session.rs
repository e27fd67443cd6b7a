//! The server's side of one session: a thread that follows the protocol, and the data, probes or survey that it lets run.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use longfat_core::time::{Duration as Span, Time};
use longfat_core::traffic::Reader;
use longfat_core::units::Rate;
use longfat_host::clock::Clock;
use longfat_host::near::Near;
use socket2::Socket;

use super::books::Shared;
use super::{STACK, TICK};
use crate::Error;
use crate::linux::captured::{Capturing, Opened};
use crate::linux::data::{self, Wish};
use crate::linux::datagrams::{self, Ports};
use crate::linux::echo::Echo;
use crate::linux::plane::{BLOCK, Flow, Left, Plane};
use crate::linux::probe::{self, Probes};
use crate::linux::wire::{Control, read_frames};
use crate::linux::{keys, rows, settings};
use crate::protocol::limits::Grant;
use crate::protocol::message::{Direction, FlowOffer, LONGEST_RUN_MS, Offer, Queued, Reached, Seen};
use crate::protocol::state::{Action, Event, RESULTS, Server, Turn};
use crate::protocol::{Nanos, Token, Who};

/// Frames that have come and wait for their session.
const WAITING: usize = 64;

/// Event of a session, from other threads.
pub(super) enum Input {
    Frame(Vec<u8>),
    Data(Token, TcpStream),
    Lost,
}

/// A session under way.
pub(super) struct Session<'a> {
    shared: &'a Arc<Shared>,
    number: u64,
    who: Who,
    control: Control,
    machine: Server,
    inputs: Receiver<Input>,
    offer: Option<Offer>,
    grant: Option<Grant>,
    tokens: Vec<Token>,
    /// Sockets of the flows; of those over UDP with their nonces.
    data: Vec<Option<(Socket, Option<Token>)>>,
    plane: Option<Plane>,
    ports: Option<Ports>,
    capturing: Option<Capturing>,
    /// Socket of the probes, and their nonce.
    reached: Option<(Socket, Token)>,
    /// True while the client's answer about datagrams is to come.
    awaits: bool,
    probes: Option<Probes>,
    echo: Option<Echo>,
    bytes: u64,
    queued: Option<u32>,
    ended: Option<String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, control: Control, who: Who, rtt: Nanos) -> std::io::Result<Self> {
        let number = shared.next.fetch_add(1, Relaxed);
        let (to, inputs) = sync_channel(WAITING);
        let reader = control.reader()?;
        let of_reader = to.clone();
        thread::Builder::new().name("control".to_owned()).stack_size(STACK).spawn(move || {
            read_frames(reader, |frame| of_reader.send(Input::Frame(frame)).is_ok());
            let _ = of_reader.send(Input::Lost);
        })?;
        shared.books().sessions.insert(number, to);
        let mut machine = Server::new(shared.now(), rtt);
        machine.see(Seen { control: control.peer().map(probe::canonical), udp: None });
        Ok(Session {
            shared,
            number,
            who,
            control,
            machine,
            inputs,
            offer: None,
            grant: None,
            tokens: Vec::new(),
            data: Vec::new(),
            plane: None,
            ports: None,
            capturing: None,
            reached: None,
            awaits: false,
            probes: None,
            echo: None,
            bytes: 0,
            queued: None,
            ended: None,
        })
    }

    /// Runs to the end; what it did, and why it ended.
    pub(super) fn run(mut self) -> (String, String) {
        while self.ended.is_none() {
            let input = self.inputs.recv_timeout(TICK);
            let event = match input {
                Ok(Input::Frame(frame)) => match self.control.open(&frame) {
                    Ok(message) => Event::Message(message),
                    Err(fault) => {
                        self.ended = Some(fault.0);
                        break;
                    }
                },
                Ok(Input::Data(token, stream)) => match self.joined(token, stream) {
                    Some(event) => event,
                    None => continue,
                },
                Ok(Input::Lost) | Err(RecvTimeoutError::Disconnected) => Event::Lost,
                Err(RecvTimeoutError::Timeout) => Event::Tick,
            };
            self.give(event);
            self.look();
        }
        self.over()
    }

    /// A data connection has come.
    fn joined(&mut self, token: Token, stream: TcpStream) -> Option<Event> {
        let number = self.tokens.iter().position(|given| *given == token)?;
        let offer = self.offer.as_ref()?;
        let wish = Wish::of(&offer.flows[number], self.grant?.rate.map(|rate| offer.share(rate)));
        match data::accepted(stream, &wish) {
            Ok(socket) => self.data[number] = Some((socket, None)),
            Err(error) => self.ended = Some(error.to_string()),
        }
        self.is_connected().then_some(Event::Connected)
    }

    fn is_connected(&self) -> bool {
        !self.awaits && self.data.iter().all(Option::is_some)
    }

    /// The client has got these nonces by datagrams.
    fn reached(&mut self, reached: &Reached) {
        self.awaits = false;
        let flows: Vec<(usize, u8)> = self.offer.as_ref().map_or_else(Vec::new, |offer| {
            let those = offer.flows.iter().enumerate().filter(|(_, flow)| flow.peak().is_some());
            those.map(|(number, flow)| (number, flow.dscp)).collect()
        });
        for ((number, dscp), nonce) in flows.into_iter().zip(&reached.flows) {
            let Some(socket) = self.socket_to(*nonce) else { return };
            let marked = socket.domain().map_err(|e| Error::system("a UDP socket", e)).and_then(|family| data::mark(&socket, family, dscp));
            if let Err(error) = marked {
                self.ended = Some(error.to_string());
                return;
            }
            self.data[number] = Some((socket, Some(*nonce)));
        }
        if let Some(nonce) = reached.nonce {
            self.reached = self.socket_to(nonce).map(|socket| (socket, nonce));
            let peer = self.reached.as_ref().and_then(|(socket, _)| socket.peer_addr().ok()?.as_socket());
            self.machine.see(Seen { control: self.control.peer().map(probe::canonical), udp: peer.map(probe::canonical) });
        }
        if self.is_connected() {
            self.give(Event::Connected);
        }
    }

    /// Socket to the address that `nonce` was sent to. `None`: there is none, and the session has ended.
    fn socket_to(&mut self, nonce: Token) -> Option<Socket> {
        let peer = self.shared.books().reach.returned(self.shared.now(), self.number, nonce);
        match peer.zip(self.control.local()).map(|(peer, local)| probe::to_client(local, peer)) {
            Some(Ok(socket)) => return Some(socket),
            Some(Err(error)) => self.ended = Some(error.to_string()),
            None => self.ended = Some("the client returned a nonce that it was not sent".to_owned()),
        }
        None
    }

    /// Looks at what no message tells: the queue, the data, the clock, and whether the server ends.
    fn look(&mut self) {
        if self.shared.stop.load(Relaxed) {
            self.ended.get_or_insert_with(|| "the server was stopped".to_owned());
        }
        if self.ended.is_some() {
            return;
        }
        if self.plane.is_some() || self.echo.is_some() {
            let datagrams = self.count();
            self.give(Event::Bytes(self.bytes));
            self.give(Event::Datagrams(datagrams));
        }
        if self.queued.is_some() {
            self.ask();
        }
        self.give(Event::Tick);
    }

    /// Counts the bytes of flows and probes; those of datagrams in the direction with more of them.
    fn count(&mut self) -> u64 {
        let probes = self.probes.as_ref().map_or([0; 2], Probes::bytes);
        let flows = self.ports.as_ref().map_or([0; 2], Ports::bytes);
        let datagrams = [probes[0] + flows[0], probes[1] + flows[1]];
        if let Some(plane) = &self.plane {
            self.bytes = plane.bytes() + datagrams[0] + datagrams[1];
        }
        if let Some(echo) = &self.echo {
            self.bytes = echo.bytes();
        }
        datagrams[0].max(datagrams[1])
    }

    fn give(&mut self, event: Event) {
        let actions = self.machine.on(self.shared.now(), event);
        let patience = RESULTS + 4 * self.machine.rtt();
        let deadline = self.shared.now().saturating_add(patience);
        for action in actions {
            if self.ended.is_some() {
                return;
            }
            if self.shared.now() > deadline {
                self.ended = Some("the client took its results too slowly".to_owned());
                return;
            }
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send(message) => {
                if let Err(e) = self.control.send(&message) {
                    self.ended = Some(format!("the client could not be told: {e}"));
                }
            }
            Action::Ask(offer) => {
                self.offer = Some(offer);
                self.queued = Some(u32::MAX);
                self.enter();
            }
            Action::Reach(reached) => self.reached(&reached),
            Action::Begin(grant) => self.begin(grant),
            Action::Halt => {
                self.count();
                let probes = self.probes.take().map(|probes| rows::probes_to_pieces(&probes.halt().0)).unwrap_or_default();
                if let Some(echo) = self.echo.take() {
                    echo.halt();
                }
                let ports = self.ports.take().map(Ports::halt).unwrap_or_default();
                let datagrams = [rows::counts_to_pieces(&ports.counted), rows::times_to_pieces(&ports.stamps)].concat();
                // Packets that the flows have sent before they halt are captured, too.
                let left = self.plane.take().map(Plane::halt);
                let captured = self.capturing.take().map(|capturing| rows::captured_to_pieces(&capturing.halt())).unwrap_or_default();
                let of_host = |left: Left| {
                    (rows::to_pieces(&left.rows), [rows::looks_to_pieces(&left.looks), rows::wall_to_pieces(left.wall)].concat())
                };
                let (pieces, looks) = left.map_or_else(Default::default, of_host);
                let beside = rows::beside_to_pieces(&self.shared.books().beside.end(self.shared.now(), self.number));
                self.give(Event::Halted([pieces, datagrams, probes, looks, beside, captured].concat()));
            }
            Action::Close(why) => self.ended = Some(why),
            // Actions of a client.
            Action::Connect(..) | Action::Keep(_) => {}
        }
    }

    /// Takes a place in the queue for the offer, or says why not.
    fn enter(&mut self) {
        let Some(offer) = self.offer.clone() else { return };
        let refused = data::has_controls(&offer.flows).err().map(|error| error.to_string()).or_else(|| {
            let mut books = self.shared.books();
            let grant = match books.ledger.grant(self.shared.now(), self.who, &offer) {
                Ok(grant) => grant,
                Err(why) => return Some(why),
            };
            let has_place = books.ledger.enter(self.number, &self.who, grant.ms);
            (!has_place).then(|| "the server's queue is full: try again later".to_owned())
        });
        match refused {
            Some(why) => self.give(Event::Turn(Turn::No(sentence(&why)))),
            None => self.ask(),
        }
    }

    /// Asks whether it is the session's turn.
    fn ask(&mut self) {
        let Some(offer) = self.offer.clone() else { return };
        let before = self.shared.books().ledger.before(self.number);
        match before {
            Some((before, _)) if before < self.shared.concurrent && self.may_connect(&offer) => {
                self.queued = None;
                match self.granted(&offer) {
                    Ok((grant, tokens, probe)) => {
                        self.awaits = probe.is_some() || offer.over_udp() > 0;
                        (self.grant, self.tokens) = (Some(grant), tokens.clone());
                        self.data = tokens.iter().map(|_| None).collect();
                        self.give(Event::Turn(Turn::Go(grant, tokens, probe, settings::here())));
                    }
                    Err(why) => self.give(Event::Turn(Turn::No(sentence(&why)))),
                }
            }
            Some((before, ms)) if self.queued != Some(before) => {
                self.queued = Some(before);
                self.give(Event::Turn(Turn::Wait(Queued { before, ms: ms.min(1000 * LONGEST_RUN_MS) })));
            }
            _ => {}
        }
    }

    /// Lets the data connections come, unless those of another session are on their way with another window.
    fn may_connect(&self, offer: &Offer) -> bool {
        let windows = offer.flows.iter().filter(|flow| flow.direction == Direction::Up).filter_map(|flow| flow.window);
        self.shared.books().let_connect(self.number, windows.max(), &self.shared.listener)
    }

    /// Grant of a session whose turn it is, its tokens, and the token of its probes.
    fn granted(&self, offer: &Offer) -> Result<(Grant, Vec<Token>, Option<Token>), String> {
        let mut books = self.shared.books();
        let now = self.shared.now();
        let grant = books.ledger.grant(now, self.who, offer)?;
        let more = self.machine.rtt().saturating_mul(4 + offer.flows.len() as u64);
        let random = || keys::random().map_err(|e| e.to_string());
        let issue = |flow: &FlowOffer| -> Result<Token, String> {
            let books = &mut *books;
            Ok(match flow.peak() {
                None => books.tokens.issue(now, more, self.number, self.who.address, random()?),
                Some(_) => books.reach.issue(now, more, self.number, random()?),
            })
        };
        let tokens = offer.flows.iter().map(issue).collect::<Result<Vec<Token>, String>>()?;
        let probe = grant.probes.then(|| Ok::<_, String>(books.reach.issue(now, more, self.number, random()?))).transpose()?;
        Ok((grant, tokens, probe))
    }

    /// Lets the data flow.
    fn begin(&mut self, grant: Grant) {
        let Some(offer) = &self.offer else { return };
        let mut books = self.shared.books();
        books.has_connected(self.number, &self.shared.listener);
        books.beside.begin(self.shared.now(), self.number);
        drop(books);
        if offer.survey.is_some() {
            let clock = Clock::starting_in(Duration::ZERO);
            // A client that no datagram reaches ends it.
            let echo = self.reached.take().map(|(socket, nonce)| Echo::begin(socket, nonce, grant.bytes, clock)).transpose();
            match echo {
                Ok(echo) => self.echo = echo,
                Err(error) => self.ended = Some(error.to_string()),
            }
            return;
        }
        // The client ends the run, by its own clock; this one has begun before it.
        let patience = Span::from_secs(1) + Span::from_micros(4 * self.machine.rtt() / 1000);
        let end = Time::ZERO + Span::from_millis(grant.ms) + patience;
        let (mut over_tcp, mut over_udp) = (Vec::new(), Vec::new());
        for ((number, flow), data) in (0..).zip(&offer.flows).zip(self.data.drain(..)) {
            let Some((socket, nonce)) = data else { continue };
            let at = |us: u64| Time::ZERO + Span::from_micros(us);
            let (start, stop) = (at(flow.start_us), flow.stop_us.map_or(end, at).min(end));
            let traffic = flow.application.traffic().expect("messages are checked when they come");
            let sends = flow.direction == Direction::Down;
            if let Some(nonce) = nonce {
                let datagrams = flow.application.datagrams(&traffic, sends, start, stop);
                over_udp.push(datagrams::Flow { number, socket, nonce, datagrams, sends, most: datagrams::most(&traffic, offer.ms) });
                continue;
            }
            let sends = sends.then(|| flow.application.program(&traffic, start, stop));
            let reads = flow.read_rate.filter(|_| sends.is_none()).map(|rate| Reader::new(Rate::from_bps(rate), BLOCK));
            let (send, receive) = (data::send_by(flow.send), data::receive_by(flow.receive));
            let has_volume = traffic.volume().is_some();
            over_tcp.push(Flow { number, socket, window: flow.window, sends, reads, has_volume, send, receive });
        }
        let clock = Clock::starting_in(Duration::ZERO);
        let (interval, local) = (Span::from_micros(offer.interval_us), self.control.local().map(|local| local.ip()));
        let busy = offer.flows.len();
        let probes = offer
            .probe
            .zip(self.reached.take())
            .map(|(probe, (socket, nonce))| Probes::begin(socket, nonce, Span::from_micros(probe.interval_us), end, busy, clock));
        let begun = probes.transpose().and_then(|probes| {
            self.probes = probes;
            if offer.capture {
                // A client without a key gets no verdict.
                let is_allowed = self.shared.capture && self.who.key.is_some();
                self.capturing = Some(if is_allowed {
                    let opened = Opened::of(over_tcp.iter().map(|flow| &flow.socket));
                    Capturing::begin(opened, &over_tcp, Time::ZERO, 0, clock)
                } else {
                    Capturing::not_allowed()
                });
            }
            self.ports = Some(Ports::begin(over_udp, interval, offer.timed(), busy, &Near::of(local), clock)?);
            self.plane = Some(Plane::begin(over_tcp, local, interval, clock)?);
            Ok(())
        });
        if let Err(error) = begun {
            self.ended = Some(error.to_string());
        }
    }

    /// Ends everything of the session.
    fn over(mut self) -> (String, String) {
        self.count();
        drop(self.probes.take().map(Probes::halt));
        drop(self.ports.take().map(Ports::halt));
        drop(self.plane.take().map(Plane::halt));
        drop(self.capturing.take().map(Capturing::halt));
        if let Some(echo) = self.echo.take() {
            echo.halt();
        }
        self.control.close();
        let mut books = self.shared.books();
        books.sessions.remove(&self.number);
        books.has_connected(self.number, &self.shared.listener);
        books.tokens.revoke(self.number);
        books.reach.revoke(self.number);
        books.beside.end(self.shared.now(), self.number);
        books.ledger.leave(self.number);
        books.ledger.spend(self.shared.now(), self.who, self.bytes);
        drop(books);
        let done = match &self.offer {
            Some(Offer { survey: Some(_), .. }) => "survey".to_owned(),
            Some(offer) if offer.flows.len() == 1 => "1 flow".to_owned(),
            offer => format!("{} flows", offer.as_ref().map_or(0, |offer| offer.flows.len())),
        };
        (format!("{done}, {:.1} MB, ", self.bytes as f64 / 1e6), self.ended.unwrap_or_default())
    }
}

/// A reason as the protocol takes it: one line of at most 500 bytes.
fn sentence(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .scan(0, |len, c| {
            *len += c.len_utf8();
            (*len <= 500).then_some(c)
        })
        .collect()
}

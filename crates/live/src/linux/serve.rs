//! The server: one port for control and data. Each connection has its own thread until it is known; few may be unknown at once.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use longfat_core::rng::Rng;
use longfat_core::time::{Duration as Span, Time};
use longfat_core::traffic::{Datagrams, Life, Over, Program, Reader, Traffic, until};
use longfat_core::units::Rate;
use longfat_host::clock::Clock;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, Protocol, Socket, Type};

use crate::linux::confine::confine;
use crate::linux::data::{self, OPENING, Wish};
use crate::linux::datagrams::{self, Ports};
use crate::linux::echo::Echo;
use crate::linux::plane::{BLOCK, Flow, Plane};
use crate::linux::probe::{self, Probes};
use crate::linux::wire::{Control, fill, nanos, read_frames};
use crate::linux::{keys, rows, settings, stamp};
use crate::options::{Said, ServeOptions};
use crate::protocol::application::Application;
use crate::protocol::limits::{Grant, HANDSHAKE};
use crate::protocol::message::{Direction, FlowOffer, Offer, Queued, Reached};
use crate::protocol::state::{Action, Event, RESULTS, Server, Turn};
use crate::protocol::{DATA_MAGIC, Hello, Key, KeyId, Ledger, Nanos, Reach, Token, Tokens, Who};
use crate::{Error, protocol};

/// Time between two looks at the caller, the clock and the queue.
const TICK: Duration = Duration::from_millis(50);
/// Time for which a server that ends waits for its sessions.
const PATIENCE: Duration = Duration::from_secs(3);
/// Stack of a thread that does a handshake, which needs a frame's room.
const STACK: usize = 512 << 10;
/// Frames that have come and wait for their session.
const WAITING: usize = 64;

/// Event of a session, from other threads.
enum Input {
    Frame(Vec<u8>),
    Data(Token, TcpStream),
    Lost,
}

/// Everything that the threads share.
struct Shared {
    keys: HashMap<KeyId, (String, Key)>,
    open: bool,
    concurrent: u32,
    zero: Instant,
    listener: TcpListener,
    books: Mutex<Books>,
    next: AtomicU64,
    threads: AtomicU64,
    stop: AtomicBool,
}

/// Books of the server.
struct Books {
    ledger: Ledger,
    tokens: Tokens,
    reach: Reach,
    sessions: BTreeMap<u64, SyncSender<Input>>,
    /// Sessions whose data connections are to come, each with the largest window that one of them asks of this end.
    connecting: BTreeMap<u64, Option<u64>>,
}

impl Books {
    /// Lets the connections of `session` come to `listener`, which has the largest of their windows from the handshake on: a connection gets its
    /// window scale from the socket that listens (tcp(7), TCP_WINDOW_CLAMP). False: connections with another window are still to come.
    fn let_connect(&mut self, session: u64, window: Option<u64>, listener: &TcpListener) -> bool {
        if self.connecting.values().any(|other| *other != window) {
            return false;
        }
        self.connecting.insert(session, window);
        data::bound_window(listener, window);
        true
    }

    /// The connections of `session` have come, or never will.
    fn has_connected(&mut self, session: u64, listener: &TcpListener) {
        if self.connecting.remove(&session).is_some() && self.connecting.is_empty() {
            data::bound_window(listener, None);
        }
    }
}

impl Shared {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Nanos {
        nanos(self.zero)
    }
}

/// Listens, and lets clients measure, until `go_on` says `false`: it is called several times a second, and with each line.
///
/// # Errors
/// A port that is taken, and options without any client.
pub fn serve(options: ServeOptions, go_on: &mut dyn FnMut(Said) -> bool) -> Result<(), Error> {
    let serves = !options.keys.is_empty() || options.open;
    if !serves && options.stamp.is_none() {
        return Err(Error::Key("nobody could come in: name a key with `--key NAME`, or let everybody in with `--open`".to_owned()));
    }
    let listener = listen(options.bind, options.port)?;
    let port = listener.local_addr().map_err(|e| Error::system("the port of the server", e))?.port();
    let reflector = options.stamp.clone().map(|stamp| stamp::listen(options.bind, stamp)).transpose()?;
    // Neither this process nor anything it starts gets rights that it has not (prctl(2), PR_SET_NO_NEW_PRIVS).
    nix::sys::prctl::set_no_new_privs().map_err(|e| Error::system("no_new_privs could not be set", e))?;
    // Before any thread starts: each has the bounds of the one that starts it.
    let unconfined = confine(&options.readable);
    let shared = Arc::new(Shared {
        keys: options.keys.into_iter().map(|(name, key)| (key.id(), (name, key))).collect(),
        open: options.open,
        concurrent: options.concurrent.max(1),
        zero: Instant::now(),
        listener: listener.try_clone().map_err(|e| Error::system("the port of the server", e))?,
        books: Mutex::new(Books {
            ledger: Ledger::new(options.limits, options.open_limits),
            tokens: Tokens::default(),
            reach: Reach::default(),
            sessions: BTreeMap::new(),
            connecting: BTreeMap::new(),
        }),
        next: AtomicU64::new(1),
        threads: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    // Where nobody may have probes or a survey, no UDP port is open.
    let lets = |limits: &protocol::Limits| limits.udp_rate > 0 || limits.survey_bytes > 0;
    let has_probes = !shared.keys.is_empty() && lets(&options.limits) || shared.open && lets(&options.open_limits);
    if has_probes {
        let (socket, of) = (probe::listen(options.bind, port)?, Arc::clone(&shared));
        let answer = move || {
            let random = || keys::random().ok();
            probe::answer_questions(&socket, &of.stop, |from, question| of.books().reach.answer(of.now(), from, question, random));
        };
        thread::Builder::new().name("questions".to_owned()).spawn(answer).map_err(|e| Error::system("the UDP port has no thread", e))?;
    }
    if let Some((sockets, books)) = reflector {
        let of = Arc::clone(&shared);
        let run = move || stamp::reflect(&sockets, books, &of.stop);
        thread::Builder::new().name("stamp".to_owned()).spawn(run).map_err(|e| Error::system("the reflector has no thread", e))?;
    }
    let (says, said) = channel();
    let mut goes_on = go_on(Said::Listening(port, unconfined));
    while goes_on {
        accept(&listener, &shared, &says);
        for line in said.try_iter() {
            goes_on &= go_on(Said::Session(line));
        }
        goes_on &= go_on(Said::Nothing);
    }
    shared.stop.store(true, Relaxed);
    let end = Instant::now() + PATIENCE;
    while shared.threads.load(Relaxed) > 0 && Instant::now() < end {
        thread::sleep(TICK / 5);
    }
    for line in said.try_iter() {
        go_on(Said::Session(line));
    }
    Ok(())
}

/// Listens at `bind` and `port`; without an address at all of IPv6, which takes IPv4 as well, or of IPv4 where there is no IPv6.
fn listen(bind: Option<IpAddr>, port: u16) -> Result<TcpListener, Error> {
    let at = |address: IpAddr| -> std::io::Result<TcpListener> {
        let address = SocketAddr::new(address, port);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(bind.is_some())?;
        }
        socket.bind(&address.into())?;
        socket.listen(128)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    };
    let listener = match bind {
        Some(address) => at(address),
        None => at(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| at(Ipv4Addr::UNSPECIFIED.into())),
    };
    listener.map_err(|e| Error::system(format!("nobody can listen at port {port}"), e))
}

/// Takes the connections that come within a tick.
fn accept(listener: &TcpListener, shared: &Arc<Shared>, says: &Sender<String>) {
    let timeout = PollTimeout::try_from(TICK).unwrap_or(PollTimeout::ZERO);
    let _ = poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], timeout);
    // Others have their turn as well: a flood does not keep the caller out.
    for _ in 0..256 {
        let Ok((stream, from)) = listener.accept() else { return };
        if !shared.books().ledger.begin_handshake(shared.now(), from.ip()) {
            continue;
        }
        let (of, says) = (Arc::clone(shared), says.clone());
        shared.threads.fetch_add(1, Relaxed);
        let named = thread::Builder::new().name("connection".to_owned()).stack_size(STACK);
        let started = named.spawn(move || {
            greet(&of, stream, from, &says);
            of.threads.fetch_sub(1, Relaxed);
        });
        if started.is_err() {
            shared.threads.fetch_sub(1, Relaxed);
            shared.books().ledger.end_handshake(from.ip());
        }
    }
}

/// Finds out what a connection is: control, data, or nothing of ours.
fn greet(shared: &Arc<Shared>, mut stream: TcpStream, from: SocketAddr, says: &Sender<String>) {
    let deadline = Instant::now() + Duration::from_nanos(HANDSHAKE);
    let over = || shared.books().ledger.end_handshake(from.ip());
    let mut magic = [0; 4];
    if stream.set_nonblocking(false).is_err() || fill(&mut stream, &mut magic, deadline).is_err() {
        return over();
    }
    if magic == DATA_MAGIC {
        let mut token = [0; OPENING - 4];
        let is_whole = fill(&mut stream, &mut token, deadline).is_ok();
        over();
        let token = Token(token);
        let mut books = shared.books();
        let now = shared.now();
        if let Some(session) = is_whole.then(|| books.tokens.take(now, token)).flatten()
            && let Some(to) = books.sessions.get(&session).cloned()
        {
            drop(books);
            // A session that is over has no use for it.
            let _ = to.send(Input::Data(token, stream));
        }
        return;
    }
    let begun = Instant::now();
    let shaken = shake(shared, &mut stream, magic, deadline);
    over();
    let Some((control, who, name)) = shaken.map(|(control, key, name)| (control, Who { key, address: from.ip() }, name)) else { return };
    let rtt = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(Nanos::MAX);
    let (line, why) = Session::new(shared, control, who, rtt).map_or_else(|e| (String::new(), e.to_string()), Session::run);
    let why = if why.is_empty() { "ended well".to_owned() } else { why };
    let _ = says.send(format!("{} {name}: {line}{why}", from.ip().to_canonical()));
}

/// The handshake of a client, its key, and the name of that.
fn shake(shared: &Shared, stream: &mut TcpStream, magic: [u8; 4], deadline: Instant) -> Option<(Control, Option<KeyId>, String)> {
    let mut hello = [0; Hello::LEN];
    hello[..4].copy_from_slice(&magic);
    fill(stream, &mut hello[4..], deadline).ok()?;
    let hello = Hello::parse(&hello).ok()?;
    let (key, name) = match hello.key {
        Some(id) => shared.keys.get(&id).map(|(name, key)| (Some(key), format!("key {name}")))?,
        None if shared.open => (None, "no key".to_owned()),
        None => return None,
    };
    let control = Control::server(stream.try_clone().ok()?, &hello, key, deadline).ok()?;
    Some((control, hello.key, name))
}

/// A session under way.
struct Session<'a> {
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
    fn new(shared: &'a Arc<Shared>, control: Control, who: Who, rtt: Nanos) -> std::io::Result<Self> {
        let number = shared.next.fetch_add(1, Relaxed);
        let (to, inputs) = sync_channel(WAITING);
        let reader = control.reader()?;
        let of_reader = to.clone();
        thread::Builder::new().name("control".to_owned()).stack_size(STACK).spawn(move || {
            read_frames(reader, |frame| of_reader.send(Input::Frame(frame)).is_ok());
            let _ = of_reader.send(Input::Lost);
        })?;
        shared.books().sessions.insert(number, to);
        let machine = Server::new(shared.now(), rtt);
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
    fn run(mut self) -> (String, String) {
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
            let Some(socket) = self.to_client(*nonce) else { return };
            let marked = socket.domain().map_err(|e| Error::system("a UDP socket", e)).and_then(|family| data::mark(&socket, family, dscp));
            if let Err(error) = marked {
                self.ended = Some(error.to_string());
                return;
            }
            self.data[number] = Some((socket, Some(*nonce)));
        }
        if let Some(nonce) = reached.nonce {
            self.reached = self.to_client(nonce).map(|socket| (socket, nonce));
        }
        if self.is_connected() {
            self.give(Event::Connected);
        }
    }

    /// Socket to the address that `nonce` was sent to. `None`: there is none, and the session has ended.
    fn to_client(&mut self, nonce: Token) -> Option<Socket> {
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
                let left = self.plane.take().map(Plane::halt);
                let (pieces, looks) =
                    left.map_or_else(Default::default, |left| (rows::to_pieces(&left.rows), rows::looks_to_pieces(&left.looks)));
                self.give(Event::Halted([pieces, datagrams, probes, looks].concat()));
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
                self.give(Event::Turn(Turn::Wait(Queued { before, ms: ms.min(1000 * protocol::message::LONGEST_RUN_MS) })));
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
                None => books.tokens.issue(now, more, self.number, random()?),
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
        self.shared.books().has_connected(self.number, &self.shared.listener);
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
                let datagrams = udp_end(&traffic, &flow.application, sends, start, stop);
                over_udp.push(datagrams::Flow { number, socket, nonce, datagrams, sends, most: datagrams::most(&traffic, offer.ms) });
                continue;
            }
            let sends = sends.then(|| program(&traffic, &flow.application, start, stop));
            let reads = flow.read_rate.filter(|_| sends.is_none()).map(|rate| Reader::new(Rate::from_bps(rate), BLOCK));
            over_tcp.push(Flow { number, socket, window: flow.window, sends, reads, has_volume: traffic.volume().is_some() });
        }
        let clock = Clock::starting_in(Duration::ZERO);
        let (interval, local) = (Span::from_micros(offer.interval_us), self.control.local().map(|local| local.ip()));
        let probes = offer
            .probe
            .zip(self.reached.take())
            .map(|(probe, (socket, nonce))| Probes::begin(socket, nonce, Span::from_micros(probe.interval_us), end, clock));
        let begun = probes.transpose().and_then(|probes| {
            self.probes = probes;
            self.ports = Some(Ports::begin(over_udp, interval, offer.timed(), offer.flows.len(), clock)?);
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
        if let Some(echo) = self.echo.take() {
            echo.halt();
        }
        self.control.close();
        let mut books = self.shared.books();
        books.sessions.remove(&self.number);
        books.has_connected(self.number, &self.shared.listener);
        books.tokens.revoke(self.number);
        books.reach.revoke(self.number);
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

/// Returns the program of `traffic`, which is that of `application`, at its sender, from `start` to `stop`.
///
/// # Panics
/// If it does not go over TCP.
pub(crate) fn program(traffic: &Traffic, application: &Application, start: Time, stop: Time) -> Program {
    let Over::Tcp(made) = traffic.kind().over else { panic!("{} does not go over TCP", traffic.kind().name) };
    let life = Life { start, rng: Rng::named(application.seed, &application.stream), volume: traffic.volume() };
    Program::new(made(traffic.params(), life), start, stop)
}

/// Returns the end of a flow of `traffic` over UDP: the one that `sends` from `start` to `stop`, or the one that receives.
///
/// # Panics
/// If it goes over TCP.
pub(crate) fn udp_end(traffic: &Traffic, application: &Application, sends: bool, start: Time, stop: Time) -> Box<dyn Datagrams> {
    let Over::Datagrams { sender, receiver, .. } = traffic.kind().over else { panic!("{} goes over TCP", traffic.kind().name) };
    let life = Life { start, rng: Rng::named(application.seed, &application.stream), volume: None };
    if sends { until(stop, sender(traffic.params(), life)) } else { receiver() }
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

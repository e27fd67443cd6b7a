//! The client of one session: it asks, connects, runs its ends of the flows, and takes the results of the other ends.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use longfat_core::time::{Duration as Span, Time};
use longfat_core::traffic::Traffic;
use longfat_host::clock::Clock;
use longfat_host::info;
use longfat_host::near::Near;
use longfat_record::trace::{Seen as Captured, cut};
use socket2::{Domain, Socket};

use crate::Error;
use crate::linux::captured::{self, Capturing, Opened};
use crate::linux::data::{self, Wish};
use crate::linux::datagrams::{self, Ports};
use crate::linux::hops::{self, FlowHop};
use crate::linux::look::{Extent, look};
use crate::linux::plane::{Flow, Left, Look, Plane};
use crate::linux::probe::{self, Probes, Stamps};
use crate::linux::rows::{self, Row};
use crate::linux::settings;
use crate::linux::wall::WallClock;
use crate::linux::wire::{Control, nanos, read_frames, why_not};
use crate::options::PORT;
use crate::protocol::application::Application;
use crate::protocol::beside::Spell;
use crate::protocol::message::{Direction, FlowOffer, Granted, Offer, Reached, ReceiveWay, Seen, SendWay};
use crate::protocol::state::{Action, Client, Event};
use crate::protocol::{Key, Message, Nanos, Token};
use crate::survey::Survey;

/// Time between two looks at the caller and the clock.
const TICK: Duration = Duration::from_millis(10);
/// Time for the control connection to come about, handshake and all; and for a data connection.
const PATIENCE: Duration = Duration::from_secs(15);
/// Handshakes of which the least round trip is the base RTT.
const KNOCKS: usize = 3;
/// Time after which no further one of them begins.
const KNOCKING: Duration = Duration::from_secs(1);
/// Data connections that are made at once: a server lets few be unknown.
const AT_ONCE: usize = 4;
/// Frames that have come and wait.
const WAITING: usize = 64;

/// Work of one session.
pub(crate) struct Asked<'a> {
    /// Address as the user writes it.
    pub at: &'a str,
    /// Key of the server.
    pub key: Option<&'a Key>,
    /// Offer to the server.
    pub offer: Offer,
    /// Settings of our ends.
    pub wishes: Vec<Wish>,
    /// Makes our end of a flow on its socket, with the nonce of one over UDP.
    pub end: &'a dyn Fn(u32, Socket, Option<Token>) -> End,
    /// Local port of the probes; 0: any that is free.
    pub udp_port: u16,
    /// Routers on the way to the server, which are asked for with the ports of the flows; 0: nobody is.
    pub routers: u8,
    /// Time of the run at which its flows begin.
    pub begin: Time,
    /// Says whether the other host, with the settings of its grant, is as it must be; hears the least round trip of handshakes, too.
    pub check: &'a Check<'a>,
}

/// Look at a grant, beside the least round trip of handshakes.
pub(crate) type Check<'a> = dyn Fn(&Granted, Option<Nanos>) -> Result<(), Error> + 'a;
/// Hears the time of the run, and the flows while they run; `false` ends the run.
pub(crate) type GoOn<'a> = dyn FnMut(Nanos, Option<&Plane>) -> bool + 'a;

/// Our end of a flow.
pub(crate) enum End {
    /// Over TCP.
    Tcp(Flow),
    /// Over UDP.
    Udp(datagrams::Flow),
}

/// Results of a session.
pub(crate) struct Outcome {
    /// Results of this host.
    pub ours: Left,
    /// Samples of the other host.
    pub theirs: Vec<Row>,
    /// Counters of the other host, by its own clock since its beginning.
    pub their_looks: Vec<Look>,
    /// Flows over UDP at this host and at the other.
    pub datagrams: [datagrams::Left; 2],
    /// Probes of this host and of the other.
    pub probes: [Stamps; 2],
    /// Captures of this host and of the other, whose packets stay there.
    pub captured: [captured::Left; 2],
    /// End of the run, on our clock since its beginning.
    pub end: Nanos,
    /// Reason why it ended before its end ([`cut`]); zero: it did not.
    pub cut_by: u64,
    /// Sentence for the user about a run that was lost, or that the server ended. Results of the far end may be missing.
    pub lost: Option<Error>,
    /// Round trips of handshakes before and after.
    pub base_rtt: [Option<Nanos>; 2],
    /// Bound of the rate that the server sets.
    pub rate_limit: Option<u64>,
    /// Routers on the way of the flows.
    pub hops: Vec<FlowHop>,
    /// Wall clock of the other host; `None`: nothing synchronises it.
    pub their_wall: Option<WallClock>,
    /// Addresses of the control connection and of the probes or the survey as the server sees them, where they are not this host's own.
    pub nat: [Option<SocketAddr>; 2],
    /// Times in which other sessions ran at the server, by its own clock since its beginning.
    pub beside: Vec<Spell>,
    /// Time from the offer to its grant.
    pub waited: Nanos,
    /// Results of a survey.
    pub found: Option<Survey>,
}

/// Sockets of a session: of its flows, those over UDP with their nonces, and of its probes with theirs.
type Connections = (Vec<(Socket, Option<Token>)>, Option<(Socket, Token)>);
/// Connections, and the routers on the way of their flows.
type Made = (Connections, Vec<FlowHop>);

enum Input {
    Frame(Vec<u8>),
    Connected(Result<Made, Error>),
    Lost,
}

/// Reads `host`, `host:port`, `[v6]:port` or `v6`; the addresses there are.
pub(crate) fn addresses(at: &str) -> Result<Vec<SocketAddr>, Error> {
    let bare = at.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(at);
    let is_v6 = bare.parse::<std::net::Ipv6Addr>().is_ok();
    let found = if is_v6 || !at.contains(':') { (bare, PORT).to_socket_addrs() } else { at.to_socket_addrs() };
    let found: Vec<SocketAddr> = found.map_err(|e| Error::session(at, format!("no such host ({e})")))?.collect();
    if found.is_empty() { Err(Error::session(at, "it has no address")) } else { Ok(found) }
}

/// Connects to `to` by `deadline`.
fn connect_by(to: &SocketAddr, deadline: Instant) -> io::Result<TcpStream> {
    // No time at all is no timeout that the standard library takes.
    TcpStream::connect_timeout(to, deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)))
}

/// Connects by `deadline` to the first address that answers.
fn connect(at: &str, deadline: Instant) -> Result<TcpStream, Error> {
    let mut why = String::new();
    for address in addresses(at)? {
        match connect_by(&address, deadline) {
            Ok(stream) => return Ok(stream),
            Err(e) => why = format!("no connection to {address}: {e}. Is `longfat serve` running there, and its port open?"),
        }
    }
    Err(Error::session(at, why))
}

/// The least round trip of the handshakes of some connections to `to`, as the kernel saw them, by `deadline`. None begins after [`KNOCKING`], or after
/// one that failed.
fn base_rtt(to: SocketAddr, deadline: Instant) -> Option<Nanos> {
    let knock = || {
        let stream = connect_by(&to, deadline).ok()?;
        let info = info::of(&stream).ok()?;
        Some(Nanos::from(info.rtt()) * 1000).filter(|rtt| *rtt > 0)
    };
    let last = Instant::now() + KNOCKING;
    let mut least: Option<Nanos> = None;
    for _ in 0..KNOCKS {
        let Some(rtt) = knock() else { break };
        least = Some(least.map_or(rtt, |least| least.min(rtt)));
        if Instant::now() > last {
            break;
        }
    }
    least
}

/// Makes the data connections, some at a time, and those of flows over UDP: `over_udp` says of each flow whether it is one.
fn data_connections(
    to: SocketAddr,
    granted: &Granted,
    wishes: &[Wish],
    over_udp: &[bool],
    rtt: Duration,
) -> Result<Vec<(Socket, Option<Token>)>, Error> {
    let mut sockets = Vec::new();
    let all: Vec<(&Wish, bool, Token)> =
        wishes.iter().zip(over_udp).zip(&granted.tokens).map(|((w, udp), token)| (w, *udp, *token)).collect();
    for some in all.chunks(AT_ONCE) {
        let made: Vec<Result<(Socket, Option<Token>), Error>> = thread::scope(|scope| {
            let connect = |&(wish, over_udp, token): &(_, bool, Token)| {
                scope.spawn(move || match over_udp {
                    true => reach(to, wish, token, rtt).map(|(socket, nonce)| (socket, Some(nonce))),
                    false => data::connect(to, wish, token, PATIENCE).map(|socket| (socket, None)),
                })
            };
            let threads: Vec<_> = some.iter().map(connect).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        for socket in made {
            sockets.push(socket?);
        }
    }
    Ok(sockets)
}

/// Shows `token` to the server at `to` from a UDP port of its own, until its nonce comes.
fn reach(to: SocketAddr, wish: &Wish, token: Token, rtt: Duration) -> Result<(Socket, Token), Error> {
    let Some((socket, nonce)) = probe::reach(to, token, rtt, 0)? else { return Err(no_datagram(to)) };
    data::mark(&socket, Domain::for_address(to), wish.dscp)?;
    Ok((socket, nonce))
}

/// Returns the address at which the server sees `own`, an address of this host, if NAT changed it or its port.
fn translated(own: Option<SocketAddr>, seen: Option<SocketAddr>) -> Option<SocketAddr> {
    // Scopes of link-local addresses are each host's own (RFC 4007, section 6).
    let bare = |address: SocketAddr| (address.ip().to_canonical(), address.port());
    seen.filter(|seen| own.is_some_and(|own| bare(own) != bare(*seen)))
}

fn no_datagram(to: SocketAddr) -> Error {
    let why = format!("no datagram comes through: open the UDP port {} there, and look for a firewall between", to.port());
    Error::session(to, why)
}

/// A survey under way.
struct Looking {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Survey, Error>>,
}

/// A session under way.
struct Session<'a> {
    asked: &'a Asked<'a>,
    to: SocketAddr,
    /// Least round trip of the handshakes before.
    before: Option<Nanos>,
    zero: Instant,
    control: Control,
    machine: Client,
    inputs: Receiver<Input>,
    own: SyncSender<Input>,
    /// Sockets of the flows; `None`: they are not all made. The server may see the last one before this end does.
    sockets: Option<Connections>,
    /// The server's word that it has them all, until this end has them, too.
    is_ready: Option<Seen>,
    nat: [Option<SocketAddr>; 2],
    plane: Option<Plane>,
    ports: Option<Ports>,
    opened: Option<Opened>,
    capturing: Option<Capturing>,
    captured: [captured::Left; 2],
    probes: Option<Probes>,
    survey: Option<Looking>,
    found: Option<Survey>,
    stamps: [Stamps; 2],
    datagrams: [datagrams::Left; 2],
    /// Clock of the process when the run began.
    begun: Option<Nanos>,
    ours: Option<Left>,
    end: Nanos,
    theirs: Vec<Row>,
    their_looks: Vec<Look>,
    rate_limit: Option<u64>,
    hops: Vec<FlowHop>,
    their_wall: Option<WallClock>,
    beside: Vec<Spell>,
    waited: Nanos,
    /// The server has said that its results are whole.
    is_done: bool,
    ended: Option<Result<(), Error>>,
}

/// Runs a session to its end; calls `go_on` many times per second, and ends the run early when that says `false`.
///
/// # Errors
/// A server that is not there, says no or is lost, and hosts that are not as the flows ask.
pub(crate) fn session(asked: &Asked<'_>, go_on: &mut GoOn<'_>) -> Result<Outcome, Error> {
    let deadline = Instant::now() + PATIENCE;
    let stream = connect(asked.at, deadline)?;
    let to = stream.peer_addr().map_err(|e| Error::session(asked.at, e))?;
    let before = base_rtt(to, deadline);
    let zero = Instant::now();
    let control = Control::client(stream, asked.key, deadline).map_err(|e| Error::session(asked.at, why_not(&e)))?;
    let rtt = nanos(zero);
    let (own, inputs) = sync_channel(WAITING);
    let reader = control.reader().map_err(|e| Error::session(asked.at, e))?;
    let of_reader = own.clone();
    thread::spawn(move || {
        read_frames(reader, |frame| of_reader.send(Input::Frame(frame)).is_ok());
        let _ = of_reader.send(Input::Lost);
    });
    let over_udp: Vec<u32> = (0..).zip(&asked.offer.flows).filter(|(_, flow)| flow.peak().is_some()).map(|(number, _)| number).collect();
    let (machine, first) = Client::new(nanos(zero), rtt, asked.offer.clone());
    let mut session = Session {
        asked,
        to,
        before,
        zero,
        control,
        machine,
        inputs,
        own,
        sockets: None,
        is_ready: None,
        nat: [None, None],
        plane: None,
        ports: None,
        opened: None,
        capturing: None,
        captured: [captured::Left::default(), captured::Left::default()],
        probes: None,
        survey: None,
        found: None,
        stamps: [Stamps::default(), Stamps::default()],
        datagrams: [
            datagrams::Left::default(),
            datagrams::Left { stamps: over_udp.iter().map(|flow| (*flow, Stamps::default())).collect(), ..Default::default() },
        ],
        begun: None,
        ours: None,
        end: 0,
        theirs: Vec::new(),
        their_looks: Vec::new(),
        rate_limit: None,
        hops: Vec::new(),
        their_wall: None,
        beside: Vec::new(),
        waited: 0,
        is_done: false,
        ended: None,
    };
    session.act(first);
    let is_stopped = session.run(go_on);
    session.halt();
    session.control.close();
    let has_data = session.ours.as_ref().is_some_and(|ours| !ours.rows.is_empty());
    let (mut after, mut lost) = (None, None);
    match (session.ended.take().unwrap_or(Ok(())), &mut session.found) {
        // A survey that was answered keeps what it has, and so does a run.
        (Err(Error::Session { why, .. }), Some(found)) if !found.rtt_ns.is_empty() => found.lost = Some(why),
        (Err(error @ Error::Session { .. }), None) if has_data => lost = Some(error),
        (ended, _) => {
            ended?;
            after = base_rtt(to, Instant::now() + KNOCKING + Duration::from_nanos(4 * session.machine.rtt()));
        }
    }
    let cut_by = match lost {
        Some(_) if session.is_done => cut::SERVER,
        Some(_) => cut::LOST,
        None if is_stopped => cut::USER,
        None => 0,
    };
    let ours = session.ours.take().ok_or_else(|| Error::session(asked.at, "the session ended before anything was measured"))?;
    let Session { theirs, their_looks, datagrams, stamps, captured, end, rate_limit, hops, their_wall, nat, beside, waited, found, .. } =
        session;
    let base_rtt = [before, after];
    let probes = stamps;
    Ok(Outcome {
        ours,
        theirs,
        their_looks,
        datagrams,
        probes,
        captured,
        end,
        cut_by,
        lost,
        base_rtt,
        rate_limit,
        hops,
        their_wall,
        nat,
        beside,
        waited,
        found,
    })
}

impl Session<'_> {
    /// Runs until it is over; true if the caller stopped it.
    fn run(&mut self, go_on: &mut GoOn<'_>) -> bool {
        let mut is_cut = false;
        while self.ended.is_none() {
            match self.inputs.recv_timeout(TICK) {
                Ok(Input::Frame(frame)) => match self.control.open(&frame) {
                    Ok(Message::Ready(seen)) if self.sockets.is_none() && self.begun.is_none() && self.is_ready.is_none() => {
                        self.is_ready = Some(seen);
                    }
                    Ok(message) => {
                        self.is_done |= matches!(message, Message::Done(_));
                        self.give(Event::Message(message));
                    }
                    Err(fault) => self.fail(fault),
                },
                Ok(Input::Connected(Ok((connections, hops)))) => {
                    self.hops = hops;
                    let nonce = connections.1.as_ref().map(|(_, nonce)| *nonce);
                    let flows = connections.0.iter().filter_map(|(_, nonce)| *nonce).collect();
                    self.sockets = Some(connections);
                    self.give(Event::Reached(Reached { nonce, flows }));
                    self.give(Event::Connected);
                    if let Some(seen) = self.is_ready.take() {
                        self.give(Event::Message(Message::Ready(seen)));
                    }
                }
                Ok(Input::Connected(Err(error))) => self.end_with(error),
                Ok(Input::Lost) | Err(RecvTimeoutError::Disconnected) => self.give(Event::Lost),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = nanos(self.zero);
            let since = self.begun.map_or(0, |begun| now.saturating_sub(begun));
            let is_late = since >= self.asked.offer.ms * 1_000_000;
            let is_over = self.plane.as_ref().map(|plane| plane.is_over() || plane.has_failed());
            if is_over.or(self.survey.as_ref().map(|survey| survey.thread.is_finished())).is_some_and(|is_over| is_over || is_late) {
                self.give(Event::Stop);
            }
            if !is_cut && self.ours.is_none() && !go_on(since, self.plane.as_ref()) {
                is_cut = true;
                self.give(Event::Stop);
            }
            self.give(Event::Tick);
        }
        is_cut
    }

    fn fail(&mut self, why: impl std::fmt::Display) {
        self.end_with(Error::session(self.asked.at, why));
    }

    fn end_with(&mut self, error: Error) {
        self.ended.get_or_insert(Err(error));
    }

    fn give(&mut self, event: Event) {
        for action in self.machine.on(nanos(self.zero), event) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            // A connection that is over says so by itself, with all that it has brought.
            Action::Send(message) => {
                if self.asked.offer.capture && message == Message::Start {
                    // The server's data may arrive before its word that it has begun. Sockets with a token are of UDP.
                    let of_tcp = self.sockets.iter().flat_map(|(sockets, _)| sockets).filter(|(_, token)| token.is_none());
                    self.opened = Some(Opened::of(of_tcp.map(|(socket, _)| socket)));
                }
                drop(self.control.send(&message));
            }
            Action::Connect(granted) => self.connect(granted),
            Action::Begin(_) => self.begin(),
            Action::Halt => {
                self.halt();
                self.give(Event::Halted(Vec::new()));
            }
            Action::Keep(piece) if rows::is_of_probes(&piece) => {
                if let Err(fault) = rows::add_probes(&piece, &mut self.stamps[1]) {
                    self.fail(fault);
                }
            }
            Action::Keep(piece) if rows::is_of_host(&piece) => {
                if let Err(fault) = rows::add_looks(&piece, &mut self.their_looks) {
                    self.fail(fault);
                }
            }
            Action::Keep(piece) if rows::is_of_wall(&piece) => match rows::wall_of(&piece) {
                Ok(wall) => self.their_wall = Some(wall),
                Err(fault) => self.fail(fault),
            },
            Action::Keep(piece) if rows::is_of_beside(&piece) => {
                if let Err(fault) = rows::add_beside(&piece, &mut self.beside) {
                    self.fail(fault);
                }
            }
            Action::Keep(piece) if rows::is_of_captured(&piece) => {
                if let Err(fault) = rows::add_captured(&piece, &mut self.captured[1], self.asked.offer.flows.len() as u32) {
                    self.fail(fault);
                }
            }
            Action::Keep(piece) if rows::is_of_counts(&piece) => {
                let flows: Vec<u32> = self.datagrams[1].stamps.iter().map(|(flow, _)| *flow).collect();
                if let Err(fault) = rows::add_counts(&piece, &mut self.datagrams[1].counted, &flows) {
                    self.fail(fault);
                }
            }
            Action::Keep(piece) if rows::is_of_times(&piece) => {
                if let Err(fault) = rows::add_times(piece, &mut self.datagrams[1].stamps) {
                    self.fail(fault);
                }
            }
            Action::Keep(piece) => match rows::of_piece(&piece, self.asked.offer.flows.len() as u32) {
                Ok(rows) => self.theirs.extend(rows),
                Err(fault) => self.fail(fault),
            },
            Action::Close(why) => {
                let result = if why.is_empty() { Ok(()) } else { Err(Error::session(self.asked.at, why)) };
                self.ended.get_or_insert(result);
            }
            // Actions of a server.
            Action::Ask(_) | Action::Reach(_) => {}
        }
    }

    /// Makes the data connections, on a thread of their own, if the server allows what was asked for.
    fn connect(&mut self, granted: Granted) {
        let offer = &self.asked.offer;
        if granted.tokens.len() != offer.flows.len() {
            return self.fail("it granted other flows than were asked for");
        }
        if let Err(error) = (self.asked.check)(&granted, self.before) {
            return self.end_with(error);
        }
        if granted.ms < offer.ms {
            let (most, asked) = (granted.ms as f64 / 1e3, offer.ms as f64 / 1e3);
            let why = format!(
                "it lets a session last {most} s, and this run asks for {asked} s: shorten `measure.duration`, or ask for other limits there"
            );
            return self.fail(why);
        }
        self.rate_limit = granted.rate;
        self.waited = nanos(self.zero);
        let share = granted.rate.map(|rate| offer.share(rate));
        let wishes: Vec<Wish> = self.asked.wishes.iter().map(|wish| Wish { rate: share, ..wish.clone() }).collect();
        let over_udp: Vec<bool> = offer.flows.iter().map(|flow| flow.peak().is_some()).collect();
        if self.to.ip().to_canonical().is_ipv6() {
            let fits = |flow: &FlowOffer| flow.application.traffic().map_or(Ok(()), |traffic| datagrams::fits_v6(&traffic));
            if let Err(error) = offer.flows.iter().try_for_each(fits) {
                return self.end_with(error);
            }
        }
        let (to, own, rtt, from) = (self.to, self.own.clone(), Duration::from_nanos(self.machine.rtt()), self.asked.udp_port);
        let routers = self.asked.routers;
        thread::spawn(move || {
            let made = data_connections(to, &granted, &wishes, &over_udp, rtt).and_then(|sockets| {
                let probe = granted.probe.map_or(Ok(None), |token| probe::reach(to, token, rtt, from))?;
                let over_tcp = (0..).zip(&sockets).filter(|(_, (_, nonce))| nonce.is_none()).map(|(flow, (socket, _))| (flow, socket));
                let hops = hops::of_flows(over_tcp, routers, rtt);
                Ok(((sockets, probe), hops))
            });
            let _ = own.send(Input::Connected(made));
        });
    }

    /// Ends flows and probes, if they run.
    fn halt(&mut self) {
        let (stamps, waited) = self.probes.take().map(Probes::halt).unwrap_or_default();
        if let Some(ports) = self.ports.take() {
            self.datagrams[0] = ports.halt();
        }
        if let Some(plane) = self.plane.take() {
            let left = plane.halt();
            self.end = self.begun.map_or(0, |begun| nanos(self.zero).saturating_sub(begun));
            self.ours = Some(Left { waited: left.waited.max(waited).max(self.datagrams[0].waited), ..left });
            self.stamps[0] = stamps;
        }
        if let Some(capturing) = self.capturing.take() {
            self.captured[0] = capturing.halt();
        }
        if let Some(survey) = self.survey.take() {
            survey.stop.store(true, Relaxed);
            self.ours = Some(Left { rows: Vec::new(), looks: Vec::new(), waited: Time::ZERO, wall: None });
            match survey.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(found) => self.found = Some(found),
                Err(error) => self.end_with(error),
            }
        }
    }

    fn begin(&mut self) {
        let Some((sockets, probe)) = self.sockets.take() else { return self.fail("it began before the data connections were made") };
        let udp = probe.as_ref().and_then(|(socket, _)| socket.local_addr().ok()?.as_socket());
        let seen = self.machine.seen();
        self.nat = [translated(self.control.local(), seen.control), translated(udp, seen.udp)];
        if self.asked.offer.survey.is_some() {
            return self.survey(probe);
        }
        let local = sockets.first().and_then(|(socket, _)| socket.local_addr().ok()?.as_socket()).map(|local| local.ip());
        let (mut over_tcp, mut over_udp) = (Vec::new(), Vec::new());
        for (number, (socket, nonce)) in (0..).zip(sockets) {
            match (self.asked.end)(number, socket, nonce) {
                End::Tcp(flow) => over_tcp.push(flow),
                End::Udp(flow) => over_udp.push(flow),
            }
        }
        self.begun = Some(nanos(self.zero));
        let (clock, offer) = (Clock::starting_in(Duration::ZERO), &self.asked.offer);
        let (interval, end) = (Span::from_micros(offer.interval_us), Time::ZERO + Span::from_millis(offer.ms));
        let busy = offer.flows.len();
        let probes = offer
            .probe
            .zip(probe)
            .map(|(offer, (socket, nonce))| Probes::begin(socket, nonce, Span::from_micros(offer.interval_us), end, busy, clock));
        let begun = probes.transpose().and_then(|probes| {
            self.probes = probes;
            if let Some(opened) = self.opened.take() {
                self.capturing = Some(Capturing::begin(opened, &over_tcp, self.asked.begin, captured::ROWS, clock));
                // Until its results come.
                self.captured[1].seen.outcome = Captured::FAILED;
            }
            self.ports = Some(Ports::begin(over_udp, interval, offer.timed(), busy, &Near::of(local), clock)?);
            self.plane = Some(Plane::begin(over_tcp, local, interval, clock)?);
            Ok(())
        });
        if let Err(error) = begun {
            self.end_with(error);
        }
    }

    /// Begins a survey by the socket that the server has reached.
    fn survey(&mut self, reached: Option<(Socket, Token)>) {
        let Some((socket, nonce)) = reached else {
            return self.end_with(no_datagram(self.to));
        };
        self.begun = Some(nanos(self.zero));
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, rtt, rate) = (Arc::clone(&stop), self.machine.rtt(), self.rate_limit);
        let extent = Extent::of(self.asked.offer.ms);
        let run = move || look(extent, socket, nonce, rtt, rate, Clock::starting_in(Duration::ZERO), &ends);
        match thread::Builder::new().name("survey".to_owned()).spawn(run) {
            Ok(thread) => self.survey = Some(Looking { stop, thread }),
            Err(e) => self.end_with(Error::system("the survey has no thread", e)),
        }
    }
}

/// Surveys the path to the server at `at`, from the local UDP port `from` (0: any); calls `go_on` several times a second, and ends early where
/// it says `false`.
///
/// # Errors
/// A server that is not there, says no or is lost, and a path without UDP.
pub(crate) fn survey(
    at: &str,
    key: Option<&Key>,
    extent: Extent,
    from: u16,
    go_on: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Survey, Error> {
    let (ms, bytes) = (extent.milliseconds(), extent.bytes());
    let offer = Offer { ms, interval_us: 10_000, flows: Vec::new(), probe: None, capture: false, survey: Some(bytes) };
    let end = |_, _, _| unreachable!("a survey has no flows");
    let there = RefCell::new(Vec::new());
    let check = |granted: &Granted, _| {
        there.replace(granted.settings.clone());
        Ok(())
    };
    let asked = Asked { at, key, offer, wishes: Vec::new(), end: &end, udp_port: from, routers: 0, begin: Time::ZERO, check: &check };
    let outcome = session(&asked, &mut |now, _| go_on(now))?;
    let found = outcome.found.ok_or_else(|| Error::session(at, "the survey ended before anything was measured"))?;
    let settings = [settings::here(), there.take()];
    let nat = outcome.nat.map(|seen| seen.map(|address| address.to_string()));
    Ok(Survey { base_rtt_ns: outcome.base_rtt, waited_ns: outcome.waited, nat, settings, ..found })
}

/// Asks the server at `at` for a run of one flow of `ms`, and ends the session at its grant, before any data flows. A server that grants no survey
/// answers as well.
///
/// # Errors
/// A server that is not there, says no or is lost, and a caller that says `false`.
pub(crate) fn greet(at: &str, key: Option<&Key>, ms: u64, go_on: &mut dyn FnMut() -> bool) -> Result<(Granted, Option<Nanos>), Error> {
    let met = RefCell::new(None);
    let check = |granted: &Granted, base_rtt: Option<Nanos>| {
        met.replace(Some((granted.clone(), base_rtt)));
        Err(Error::session(at, "nothing more was asked for"))
    };
    let flow = FlowOffer {
        direction: Direction::Up,
        start_us: 0,
        stop_us: None,
        application: Application::of(&Traffic::ttcp(1), 0, "greeting"),
        read_rate: None,
        control: None,
        window: None,
        nagle: false,
        dscp: 0,
        send: SendWay::Copy,
        receive: ReceiveWay::Truncate,
    };
    // A thousand samples, however long.
    let offer = Offer { ms, interval_us: ms.max(10_000), flows: vec![flow], probe: None, capture: false, survey: None };
    let end = |_, _, _| unreachable!("no data flows");
    let ended = session(
        &Asked { at, key, offer, wishes: Vec::new(), end: &end, udp_port: 0, routers: 0, begin: Time::ZERO, check: &check },
        &mut |_, _| go_on(),
    );
    match (met.take(), ended) {
        (Some(met), _) => Ok(met),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(Error::session(at, "it did not say what it grants")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nat_is_an_address_or_a_port_that_is_not_our_own() {
        let at = |text: &str| -> Option<SocketAddr> { Some(text.parse().unwrap()) };
        let own = at("192.0.2.1:4000");
        for (seen, told) in [
            (own, None),
            (at("[::ffff:192.0.2.1]:4000"), None),
            (at("192.0.2.1:4001"), at("192.0.2.1:4001")),
            (at("203.0.113.7:4000"), at("203.0.113.7:4000")),
            (None, None),
        ] {
            assert_eq!(translated(own, seen), told, "{seen:?}");
        }
        assert_eq!(translated(None, own), None, "there are no probes");
        assert_eq!(translated(at("[fe80::1%3]:9"), at("[fe80::1%7]:9")), None, "one link, two names of it");
    }
}

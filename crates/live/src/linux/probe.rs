//! Probes: numbered datagrams each way at equal intervals, stamped by the kernels of both hosts, and how a client is reached by them.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use longfat_core::time::{Duration as Span, Time};
use longfat_host::clock::{Clock, nanoseconds};
use longfat_host::facts;
use longfat_host::stamps::{self, Wall};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;
use crate::envelope::Crossing;
use crate::linux::due::{Due, LOOK};
use crate::protocol::message::{ProbeOffer, SAMPLES};
use crate::protocol::reach::{self, QUESTION};
use crate::protocol::{Nanos, Token};

/// Time between two questions of a client that is not reached yet.
const AGAIN: Duration = Duration::from_millis(50);
/// Time beside its round trips after which a client takes it that no datagram comes through.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of a datagram that are read at most.
const MOST: usize = 64;

/// A probe that was sent. Times are of this host's monotonic clock since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Number, from 0.
    pub number: u32,
    /// Time at which it was due.
    pub due: Nanos,
    /// Time at which it entered the egress queue.
    pub at: Nanos,
    /// True if the kernel said so; else the thread did, before it called the kernel.
    pub is_stamped: bool,
}

/// A probe of the other host that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    /// Number.
    pub number: u32,
    /// Time of its arrival.
    pub at: Nanos,
    /// True if the kernel said so; else the thread did, when it read it.
    pub is_stamped: bool,
}

/// Probes of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    /// Probes that it sent, in order of their numbers.
    pub sent: Vec<Sent>,
    /// Probes that it got, in order of their arrival.
    pub got: Vec<Got>,
}

impl Stamps {
    /// Returns the probes from this host that `other` got, each once, and where each is among those sent.
    pub(crate) fn crossings(&self, other: &Stamps) -> Vec<(Sent, Got)> {
        let mut came: HashMap<u32, Got> = HashMap::new();
        for got in &other.got {
            came.entry(got.number).or_insert(*got);
        }
        self.sent.iter().filter_map(|sent| Some((*sent, *came.get(&sent.number)?))).collect()
    }
}

/// Returns the times of probes that arrived.
pub(crate) fn times(crossings: &[(Sent, Got)]) -> Vec<Crossing> {
    crossings.iter().map(|(sent, got)| Crossing { sent: sent.at, came: got.at }).collect()
}

/// Probes of a session at one host, while they run.
pub(crate) struct Probes {
    stop: Arc<AtomicBool>,
    bytes: Arc<[AtomicU64; 2]>,
    thread: JoinHandle<(Stamps, Time)>,
}

impl Probes {
    /// Sends a probe with `tag` each `interval` until `end`, and takes those that come, on a socket connected to the other host. `busy` threads of
    /// this session want a core.
    ///
    /// # Errors
    /// A system without threads left.
    pub(crate) fn begin(socket: Socket, tag: Token, interval: Span, end: Time, busy: usize, clock: Clock) -> Result<Self, Error> {
        let (stop, bytes) = (Arc::new(AtomicBool::new(false)), Arc::new([0, 0].map(AtomicU64::new)));
        let (ends, counts) = (Arc::clone(&stop), Arc::clone(&bytes));
        let due = Due::beside(busy, clock);
        let run = move || Line { socket, tag, interval, end, due, clock, wall: Wall::now(), stamps: Stamps::default() }.run(&ends, &counts);
        let thread = thread::Builder::new().name("probes".to_owned()).spawn(run);
        Ok(Probes { stop, bytes, thread: thread.map_err(|e| Error::system("the probes have no thread", e))? })
    }

    /// Returns the UDP payload that was sent, and that has come.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        [self.bytes[0].load(Relaxed), self.bytes[1].load(Relaxed)]
    }

    /// Ends them; the stamps, and the time for which the thread waited for a core.
    pub(crate) fn halt(self) -> (Stamps, Time) {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The thread's part.
struct Line {
    socket: Socket,
    tag: Token,
    interval: Span,
    end: Time,
    due: Due,
    clock: Clock,
    wall: Wall,
    stamps: Stamps,
}

impl Line {
    fn run(mut self, stop: &AtomicBool, bytes: &[AtomicU64; 2]) -> (Stamps, Time) {
        let before = facts::waited();
        Due::prepare();
        let mut number = 0;
        while !stop.load(Relaxed) {
            let now = self.clock.now();
            let due = Time::ZERO + self.interval.saturating_mul(u64::from(number));
            if due > self.end {
                number = u32::MAX;
            } else if now >= due {
                self.send(number, due);
                bytes[0].fetch_add(ProbeOffer::BYTES as u64, Relaxed);
                // One that was held up does not make up for it.
                number = (now.as_ps() / self.interval.as_ps()) as u32 + 1;
                continue;
            }
            let next = if number == u32::MAX { Time::MAX } else { due };
            self.due.rest(next, Time::MAX, Some(&self.socket));
            while let Some(len) = self.receive() {
                bytes[1].fetch_add(len as u64, Relaxed);
            }
        }
        (self.stamps, Time::ZERO + facts::waited().since(before))
    }

    fn send(&mut self, number: u32, due: Time) {
        let mut bytes = [0; ProbeOffer::BYTES];
        bytes[..Token::LEN].copy_from_slice(&self.tag.0);
        bytes[Token::LEN..].copy_from_slice(&number.to_be_bytes());
        let before = nanoseconds(ClockId::CLOCK_MONOTONIC);
        let is_sent = self.socket.send(&bytes).is_ok();
        let after = nanoseconds(ClockId::CLOCK_MONOTONIC);
        let stamp = stamps::sent(&self.socket);
        self.wall.see(Wall::now());
        // A datagram that the kernel refused is none: full buffers, or an ICMP message about an earlier one.
        if is_sent {
            // A stamp outside of the call is of a clock that was set meanwhile, or of a datagram that waited for its neighbour's address.
            let stamp = stamp.map(|wall| self.wall.monotonic(wall)).filter(|stamp| (before..=after).contains(stamp));
            let since = |ns| self.clock.at(ns).as_ps() / 1000;
            self.stamps.sent.push(Sent {
                number,
                due: due.as_ps() / 1000,
                at: since(stamp.unwrap_or(before)),
                is_stamped: stamp.is_some(),
            });
        }
    }

    /// Takes a datagram that is there; its length.
    fn receive(&mut self) -> Option<usize> {
        let mut bytes = [0; MOST];
        // An ICMP message about an earlier probe is no end.
        let (len, stamp) = match stamps::receive(&self.socket, &mut bytes) {
            Ok(got) => got,
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => return Some(0),
            Err(_) => return None,
        };
        let now = nanoseconds(ClockId::CLOCK_MONOTONIC);
        let is_steady = self.wall.see(Wall::now());
        let number = bytes.get(..len).and_then(|bytes| bytes.strip_prefix(&self.tag.0)).and_then(|rest| <[u8; 4]>::try_from(rest).ok());
        if let Some(number) = number
            && (self.stamps.got.len() as u64) < SAMPLES
        {
            let stamp = stamp.filter(|_| is_steady).map(|wall| self.wall.monotonic(wall)).filter(|stamp| *stamp <= now);
            let at = self.clock.at(stamp.unwrap_or(now)).as_ps() / 1000;
            self.stamps.got.push(Got { number: u32::from_be_bytes(number), at, is_stamped: stamp.is_some() });
        }
        Some(len)
    }
}

/// Makes a socket from `local` to `peer`, whose datagrams are stamped.
///
/// # Errors
/// A system without sockets left, or without time stamps.
pub(crate) fn connected(local: SocketAddr, peer: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
    socket.set_reuse_port(local.port() > 0)?;
    socket.bind(&local.into())?;
    socket.connect(&peer.into())?;
    stamps::enable(&socket)?;
    Ok(socket)
}

/// Returns an address of IPv4 that is written as IPv6 as what it is.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        // One of a link has a scope beside it.
        IpAddr::V6(_) => address,
    }
}

/// Listens for questions at the address and port of a server. Connected sockets of sessions share it (socket(7), SO_REUSEPORT), with this user's
/// processes alone.
///
/// # Errors
/// A port that is taken.
pub(crate) fn listen(bind: Option<IpAddr>, port: u16) -> Result<UdpSocket, Error> {
    let at = |address: IpAddr| -> io::Result<UdpSocket> {
        let address = SocketAddr::new(address, port);
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_port(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(bind.is_some())?;
        }
        socket.bind(&address.into())?;
        socket.set_read_timeout(Some(LOOK))?;
        Ok(socket.into())
    };
    let socket = match bind {
        Some(address) => at(address),
        None => at(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| at(Ipv4Addr::UNSPECIFIED.into())),
    };
    socket.map_err(|e| Error::system(format!("nobody can listen at the UDP port {port}"), e))
}

/// Answers questions until `stop`; `answer` gives the answer of one from an address, if there is any.
pub(crate) fn answer_questions(socket: &UdpSocket, stop: &AtomicBool, answer: impl Fn(SocketAddr, &[u8]) -> Option<[u8; QUESTION]>) {
    let mut bytes = [0; MOST];
    while !stop.load(Relaxed) {
        let Ok((len, from)) = socket.recv_from(&mut bytes) else { continue };
        // Nothing else is worth a look at the books.
        if len == QUESTION
            && let Some(answer) = answer(canonical(from), &bytes[..len])
        {
            // Whoever has not got it asks again.
            let _ = socket.send_to(&answer, from);
        }
    }
}

/// Makes a server's socket to the client at `peer`, who has been reached from `local`.
///
/// # Errors
/// A system without sockets left.
pub(crate) fn to_client(local: SocketAddr, peer: SocketAddr) -> Result<Socket, Error> {
    connected(canonical(local), canonical(peer)).map_err(|e| Error::system("a UDP socket", e))
}

/// Shows `token` to the server at `to` until a nonce comes; the socket, and that. `None`: none came in time, for the `rtt`. The socket has the
/// local port `from`, if that is free; 0: any.
///
/// # Errors
/// A system without sockets left.
pub(crate) fn reach(to: SocketAddr, token: Token, rtt: Duration, from: u16) -> Result<Option<(Socket, Token)>, Error> {
    let any: IpAddr = if to.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = connected(SocketAddr::new(any, from), to)
        .or_else(|_| connected(SocketAddr::new(any, 0), to))
        .map_err(|e| Error::system("a UDP socket", e))?;
    let deadline = Instant::now() + PATIENCE + 4 * rtt;
    while Instant::now() < deadline {
        // An ICMP message about an earlier question is no end: the server may not listen yet.
        let _ = socket.send(&reach::datagram(token));
        let next = Instant::now() + AGAIN;
        while Instant::now() < next {
            stamps::sent(&socket);
            let timeout = TimeSpec::from_duration(next.saturating_duration_since(Instant::now()));
            let _ = ppoll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], Some(timeout), None);
            let mut bytes = [0; MOST];
            if let Ok((len, _)) = stamps::receive(&socket, &mut bytes)
                && let Some(nonce) = bytes.get(..len).and_then(reach::of_datagram)
            {
                return Ok(Some((socket, nonce)));
            }
        }
    }
    Ok(None)
}

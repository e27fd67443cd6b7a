//! STAMP over sockets: a reflector beside the server, and a sender.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use longfat_host::clock::{Clock, nanoseconds};
use longfat_host::path;
use longfat_host::stamps::{self, Wall};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;
use crate::envelope::{self, Crossing};
use crate::linux::due::{Due, LOOK, wait_until};
use crate::linux::echo::{LARGEST, TTL};
use crate::linux::{keys, probe};
use crate::options::StampOptions;
use crate::protocol::stamp::{self, Answer, PACKET, PORT, Reflector};
use crate::protocol::{Nanos, SECOND};
use crate::stamp::Stamped;

/// Packets of a session, and the time between two.
const COUNT: u32 = 1000;
const INTERVAL: Nanos = SECOND / 100;
/// Time beside four round trips for which the last answers are waited for.
const PATIENCE: Nanos = SECOND / 2;
/// Packets after which a reflector that has answered none is given up.
const SILENT: u32 = 300;

fn now() -> Nanos {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

fn wall() -> Nanos {
    nanoseconds(ClockId::CLOCK_REALTIME)
}

/// Listens for packets at every address, or at `bind`: one socket for each IP.
///
/// # Errors
/// A port that is taken, or that this user may not have.
pub(crate) fn listen(bind: Option<IpAddr>, options: StampOptions) -> Result<(Vec<Socket>, Reflector), Error> {
    let at = |address: IpAddr| -> io::Result<Socket> {
        let address = SocketAddr::new(address, options.port);
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        path::enable(&socket, address.is_ipv6())?;
        path::set_ttl(&socket, address.is_ipv6(), TTL)?;
        Ok(socket)
    };
    let addresses = bind.map_or_else(|| vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()], |address| vec![address]);
    let (mut sockets, mut why) = (Vec::new(), None);
    for address in addresses {
        match at(address) {
            Ok(socket) => sockets.push(socket),
            // A host may be without IPv6, or without IPv4.
            Err(e) if e.raw_os_error() == Some(libc::EAFNOSUPPORT) || e.kind() == io::ErrorKind::AddrNotAvailable => why = Some(e),
            Err(e) => return Err(failed(options.port, e)),
        }
    }
    match why.filter(|_| sockets.is_empty()) {
        Some(e) => Err(failed(options.port, e)),
        None => Ok((sockets, Reflector::new(options.from, options.port, options.rate))),
    }
}

fn failed(port: u16, e: io::Error) -> Error {
    Error::system(format!("nobody can listen at the UDP port {port} of --stamp"), e)
}

/// Answers packets until `stop`.
pub(crate) fn reflect(sockets: &[Socket], mut books: Reflector, stop: &AtomicBool) {
    let mut buffer = vec![0; LARGEST];
    let mut clock = Wall::now();
    while !stop.load(Relaxed) {
        let mut ready: Vec<PollFd<'_>> = sockets.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        let _ = poll(&mut ready, PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO));
        for socket in sockets {
            loop {
                let (arrival, from) = match path::receive_from(socket, &mut buffer) {
                    Ok(come) => come,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    // An ICMP message about an earlier answer.
                    Err(_) => {
                        while path::complaint(socket).is_some() {}
                        break;
                    }
                };
                let read = wall();
                clock.see(Wall::now());
                let Some(packet) = buffer.get_mut(..arrival.len) else { continue };
                let Some(number) = books.admit(now(), probe::canonical(from), packet) else { continue };
                let came = arrival.wall.filter(|came| *came <= read).unwrap_or(read);
                if stamp::reflect(packet, number, came, wall(), arrival.ttl.unwrap_or(u8::MAX)) {
                    // An answer that the kernel does not take is lost, and counted so.
                    let _ = socket.send_to(packet, &from.into());
                }
            }
        }
    }
}

/// A packet that was sent: the time in it, and the time at which it entered the egress queue, by the monotonic clock.
struct Sent {
    wall: Nanos,
    at: Nanos,
}

/// Sends 1000 packets in 10 s to the reflector at `at`, and tells what their answers say. Calls `go_on` several times a second; when that says
/// `false`, the session ends with what it has.
///
/// # Errors
/// A host that is not there, and one where nothing answers.
pub fn stamp(at: &str, go_on: &mut dyn FnMut() -> bool) -> Result<Stamped, Error> {
    let to = address(at)?;
    let any: IpAddr = if to.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = probe::connected(SocketAddr::new(any, 0), to).map_err(|e| Error::system("a UDP socket", e))?;
    path::set_ttl(&socket, to.is_ipv6(), TTL).map_err(|e| Error::system("a UDP socket", e))?;
    let ssid = u16::from_be_bytes(keys::random()?).max(1);
    let mut line = Line { socket, ssid, clock: Wall::now(), sent: Vec::new(), answers: BTreeMap::new(), duplicates: 0, is_refused: false };
    let is_cut = line.run(go_on);
    if line.answers.is_empty() && !is_cut {
        let why = if line.is_refused { "nothing listens there" } else { "none of its packets was answered" };
        return Err(Error::session(to, format!("no STAMP: {why}. Is a reflector at this UDP port, and does it let this host in?")));
    }
    Ok(line.told(to, is_cut))
}

/// Reads `host`, `host:port`, `[v6]:port` or `v6`.
fn address(at: &str) -> Result<SocketAddr, Error> {
    let bare = at.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(at);
    let is_v6 = bare.parse::<Ipv6Addr>().is_ok();
    let found = if is_v6 || !at.contains(':') { (bare, PORT).to_socket_addrs() } else { at.to_socket_addrs() };
    let mut found = found.map_err(|e| Error::session(at, format!("no such host ({e})")))?;
    found.next().ok_or_else(|| Error::session(at, "it has no address"))
}

struct Line {
    socket: Socket,
    ssid: u16,
    clock: Wall,
    sent: Vec<Sent>,
    /// First answer to each packet, and when it came by the monotonic clock.
    answers: BTreeMap<u32, (Answer, Nanos)>,
    duplicates: u32,
    is_refused: bool,
}

impl Line {
    /// Sends all packets and takes the answers; true if the caller stopped it.
    fn run(&mut self, go_on: &mut dyn FnMut() -> bool) -> bool {
        Due::prepare();
        let (clock, begun) = (Clock::starting_in(Duration::ZERO), now());
        for number in 0..COUNT {
            let due = begun + INTERVAL * Nanos::from(number);
            self.take(due.saturating_sub(INTERVAL / 10));
            wait_until(clock, due);
            self.send(number);
            if number % 10 == 0 && !go_on() {
                return true;
            }
            if number >= SILENT && self.answers.is_empty() {
                return false;
            }
        }
        let rtt = self.answers.values().map(|(answer, at)| at.saturating_sub(self.sent[answer.asked as usize].at)).max().unwrap_or(0);
        let end = now() + PATIENCE + 4 * rtt.min(5 * SECOND);
        while now() < end && (self.answers.len() as u32) < COUNT {
            self.take((now() + LOOK.as_nanos() as Nanos).min(end));
            if !go_on() {
                return true;
            }
        }
        false
    }

    fn send(&mut self, number: u32) {
        let (mut packet, wall) = ([0; PACKET], wall());
        stamp::write(number, wall, self.ssid, &mut packet);
        let before = now();
        let sent = self.socket.send(&packet);
        let after = now();
        let left = stamps::sent(&self.socket);
        self.clock.see(Wall::now());
        self.is_refused |= sent.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
        // A stamp outside of the call is of a clock that was set meanwhile.
        let left = left.map(|left| self.clock.monotonic(left)).filter(|left| (before..=after).contains(left));
        self.sent.push(Sent { wall, at: left.unwrap_or(before) });
    }

    /// Takes the answers that come until `until`.
    fn take(&mut self, until: Nanos) {
        loop {
            let mut bytes = [0; PACKET];
            match stamps::receive(&self.socket, &mut bytes) {
                Ok((len, came)) => {
                    let read = now();
                    let is_steady = self.clock.see(Wall::now());
                    let came = came.filter(|_| is_steady).map(|came| self.clock.monotonic(came)).filter(|came| *came <= read);
                    let answer = Answer::parse(&bytes[..len.min(PACKET)]);
                    let asked =
                        |answer: &Answer| self.sent.get(answer.asked as usize).is_some_and(|sent| answer.is_to(sent.wall, self.ssid));
                    if let Some(answer) = answer.filter(asked) {
                        match self.answers.entry(answer.asked) {
                            Entry::Vacant(place) => {
                                place.insert((answer, came.unwrap_or(read)));
                            }
                            Entry::Occupied(_) => self.duplicates += 1,
                        }
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let left = until.saturating_sub(now());
                    if left == 0 {
                        return;
                    }
                    let timeout = TimeSpec::from_duration(Duration::from_nanos(left));
                    let _ = ppoll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], Some(timeout), None);
                }
                // An ICMP message about an earlier packet.
                Err(e) => self.is_refused |= e.kind() == io::ErrorKind::ConnectionRefused,
            }
        }
    }

    fn told(self, to: SocketAddr, is_cut: bool) -> Stamped {
        let answers: Vec<(Answer, Nanos, Nanos)> =
            self.answers.values().map(|(answer, at)| (*answer, self.sent[answer.asked as usize].at, *at)).collect();
        let up: Vec<Crossing> = answers.iter().map(|(answer, sent, _)| Crossing { sent: *sent, came: answer.came }).collect();
        let down: Vec<Crossing> = answers.iter().map(|(answer, _, at)| Crossing { sent: answer.left, came: *at }).collect();
        let held = |answer: &Answer| answer.left.saturating_sub(answer.came);
        let waits = envelope::waits(&up, &down);
        let known = |waits: &[f64]| waits.iter().map(|wait| Some(*wait).filter(|wait| wait.is_finite())).collect();
        // Who does not know the TTL leaves zero, or the highest number.
        let ttl = answers.first().map(|(answer, ..)| answer.ttl).filter(|ttl| (1..=TTL).contains(ttl));
        Stamped {
            address: to.to_string(),
            sent: self.sent.len() as u32,
            interval_ns: INTERVAL,
            rtt_ns: answers.iter().map(|(answer, sent, at)| at.saturating_sub(*sent).saturating_sub(held(answer))).collect(),
            held_ns: answers.iter().map(|(answer, ..)| held(answer)).collect(),
            wait_up_ns: waits.as_ref().map_or_else(Vec::new, |waits| known(&waits.up)),
            wait_down_ns: waits.as_ref().map_or_else(Vec::new, |waits| known(&waits.down)),
            losses: stamp::losses(
                self.sent.len() as u32,
                &answers.iter().map(|(answer, ..)| (answer.asked, answer.number)).collect::<Vec<_>>(),
            ),
            duplicates: self.duplicates,
            routers_up: ttl.map(|ttl| TTL - ttl),
            skew: waits.as_ref().map_or(0.0, |waits| waits.skew),
            steps: waits.as_ref().map_or(0, |waits| waits.steps.len()),
            is_synchronised: answers.first().is_some_and(|(answer, ..)| answer.is_synchronised),
            is_cut,
        }
    }
}

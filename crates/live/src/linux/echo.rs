//! The server's side of a survey: it answers questions, and sends trains.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use longfat_host::clock::{Clock, nanoseconds};
use longfat_host::path;
use longfat_host::stamps::Wall;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use socket2::{Domain, Socket};

use crate::Error;
use crate::linux::due::{Due, LOOK, wait_until};
use crate::protocol::survey::{ANSWER, Answer, Kind, QUESTION, Question, TOLD};
use crate::protocol::{Nanos, Token};

/// Times that a socket is tried whose link takes nothing, each so long.
const WAITS: usize = 25;
/// Bytes of a datagram at most (RFC 768).
pub(crate) const LARGEST: usize = 1 << 16;
/// TTL of questions and answers: what is left of it says how many routers there are.
pub(crate) const TTL: u8 = 64;
/// Trains of a session.
const TRAINS: usize = 16;
/// Time that a train may take.
const LONGEST: Nanos = 5_000_000_000;
/// Receive buffer that is asked for; the kernel gives what `net.core.rmem_max` lets it.
const BUFFER: usize = 8 << 20;

/// The server's side, while it runs.
pub(crate) struct Echo {
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Echo {
    /// Answers questions with `nonce` on `socket`, which is connected to the client, until it has taken and sent `most` bytes.
    ///
    /// # Errors
    /// A system without threads left, or without the options of [`path`].
    pub(crate) fn begin(socket: Socket, nonce: Token, most: u64, clock: Clock) -> Result<Self, Error> {
        let (stop, bytes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let is_v6 = prepared(&socket)?;
        let line = Line { socket, nonce, clock, is_v6, wall: Wall::now(), most, told: Vec::new(), burst: 0, trains: Vec::new(), tos: 0 };
        let (ends, counts) = (Arc::clone(&stop), Arc::clone(&bytes));
        let thread = thread::Builder::new().name("echo".to_owned()).spawn(move || line.run(&ends, &counts));
        Ok(Echo { stop, bytes, thread: thread.map_err(|e| Error::system("the survey has no thread", e))? })
    }

    /// Returns the UDP payload that has come and gone.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Ends it.
    pub(crate) fn halt(self) {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}

/// Prepares a socket for a survey; true if it is of IPv6.
///
/// # Errors
/// A kernel without the options of [`path`].
pub(crate) fn prepared(socket: &Socket) -> Result<bool, Error> {
    let failed = |e| Error::system("the kernel does not tell of the path", e);
    let is_v6 = socket.domain().map_err(failed)? == Domain::IPV6;
    path::enable(socket, is_v6).and_then(|()| path::set_ttl(socket, is_v6, TTL)).map_err(failed)?;
    // A smaller one than asked for loses packets of fast bursts, which then look lost at the receiver, as they are.
    let _ = socket.set_recv_buffer_size(BUFFER);
    Ok(is_v6)
}

/// Sends; an error about an earlier packet is not one of this. `WouldBlock`: the link takes nothing.
pub(crate) fn send(socket: &Socket, bytes: &[u8]) -> std::io::Result<usize> {
    let mut sent = socket.send(bytes);
    for _ in 0..WAITS {
        match &sent {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                // The egress queue is full: the link paces.
                let _ = ppoll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)], Some(TimeSpec::from_duration(LOOK)), None);
            }
            Err(_) => {}
            Ok(_) => break,
        }
        sent = socket.send(bytes);
    }
    sent
}

/// The thread's part.
struct Line {
    socket: Socket,
    nonce: Token,
    clock: Clock,
    is_v6: bool,
    wall: Wall,
    most: u64,
    /// Last arrivals of the burst, the last one first.
    told: Vec<(u32, Nanos)>,
    burst: u32,
    /// Trains that were sent.
    trains: Vec<u32>,
    /// Octet of codepoint and ECN in force.
    tos: u8,
}

impl Line {
    fn run(mut self, stop: &AtomicBool, bytes: &AtomicU64) {
        Due::prepare();
        let mut buffer = vec![0; LARGEST];
        while !stop.load(Relaxed) {
            let _ = ppoll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], Some(TimeSpec::from_duration(LOOK)), None);
            loop {
                let arrival = match path::receive(&self.socket, &mut buffer) {
                    Ok(arrival) => arrival,
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
                    // An ICMP message about an earlier answer.
                    Err(_) => {
                        while path::complaint(&self.socket).is_some() {}
                        break;
                    }
                };
                let now = nanoseconds(ClockId::CLOCK_MONOTONIC);
                let is_steady = self.wall.see(Wall::now());
                let all = bytes.fetch_add(arrival.len as u64, Relaxed) + arrival.len as u64;
                let Some(question) = buffer.get(..arrival.len).and_then(|bytes| Question::parse(self.nonce, bytes)) else { continue };
                let stamp = arrival.wall.filter(|_| is_steady).map(|wall| self.wall.monotonic(wall)).filter(|stamp| *stamp <= now);
                let came = self.since(stamp.unwrap_or(now));
                if question.kind == Kind::Train {
                    self.train(&question, stop, bytes);
                    continue;
                }
                let len = question.answered(arrival.len);
                if all + len as u64 > self.most || len < ANSWER {
                    continue;
                }
                if question.kind == Kind::Burst {
                    if self.burst != question.a {
                        self.told.clear();
                        self.burst = question.a;
                    }
                    self.told.insert(0, (question.number, came));
                    self.told.truncate(TOLD);
                }
                let told = if question.kind == Kind::Burst { self.told.clone() } else { Vec::new() };
                let (tos, ttl) = (arrival.tos.unwrap_or(0), arrival.ttl.unwrap_or(0));
                self.mark(question.tos);
                let left = self.since(nanoseconds(ClockId::CLOCK_MONOTONIC));
                let answer = Answer { kind: question.kind, tos, ttl, number: question.number, came, left, told };
                let out = &mut buffer[..len];
                out.fill(0);
                answer.write(self.nonce, out);
                if send(&self.socket, out).is_ok() {
                    bytes.fetch_add(len as u64, Relaxed);
                }
            }
        }
    }

    fn since(&self, ns: Nanos) -> Nanos {
        self.clock.at(ns).as_ps() / 1000
    }

    fn mark(&mut self, tos: u8) {
        if self.tos != tos && path::set_codepoint(&self.socket, self.is_v6, tos).is_ok() {
            self.tos = tos;
        }
    }

    /// Sends the train that `question` asks for, once, as far as bytes and time are left.
    fn train(&mut self, question: &Question, stop: &AtomicBool, bytes: &AtomicU64) {
        if self.trains.contains(&question.number) || self.trains.len() == TRAINS {
            return;
        }
        self.trains.push(question.number);
        self.mark(question.tos);
        let size = usize::from(question.answer).max(QUESTION.max(ANSWER));
        let mut out = vec![0; size];
        let begun = nanoseconds(ClockId::CLOCK_MONOTONIC);
        for number in 0..question.a {
            let ahead = u64::from(number) * u64::from(question.b);
            let is_over = nanoseconds(ClockId::CLOCK_MONOTONIC) - begun > LONGEST || ahead > LONGEST;
            if is_over || stop.load(Relaxed) || bytes.load(Relaxed) + size as u64 > self.most {
                return;
            }
            wait_until(self.clock, begun + ahead);
            let left = self.since(nanoseconds(ClockId::CLOCK_MONOTONIC));
            let answer = Answer { kind: Kind::Train, tos: 0, ttl: 0, number, came: question.number.into(), left, told: Vec::new() };
            answer.write(self.nonce, &mut out);
            if send(&self.socket, &out).is_ok() {
                bytes.fetch_add(size as u64, Relaxed);
            }
        }
    }
}

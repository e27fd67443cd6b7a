//! Flows over UDP of a session at one host: a thread for each, which sends numbered datagrams on schedule or takes them in. The kernels of both
//! hosts stamp them.
//!
//! A datagram begins with half the nonce of its flow and its number; the rest is zeros. Datagrams that the kernel did not take have no number, so a
//! number that is missing at the receiver was lost on the way.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use longfat_core::time::{Duration as Span, Time};
use longfat_core::traffic::{Datagram, Datagrams, HEADERS, LEAST_SIZE, Traffic};
use longfat_host::clock::{Clock, nanoseconds};
use longfat_host::near::Near;
use longfat_host::stamps::{self, Wall};
use longfat_host::{facts, sys};
use nix::time::ClockId;
use socket2::{Domain, Socket};

use crate::Error;
use crate::linux::due::Due;
use crate::linux::echo::{LARGEST, send};
use crate::linux::probe::{Got, Sent, Stamps};
use crate::protocol::{Nanos, Token};

/// Bytes of the nonce in a datagram: with the number they fit into the smallest ([`LEAST_SIZE`] less [`HEADERS`]).
const TAG: usize = 8;
/// Bytes of the tag and the number.
const LABEL: usize = TAG + 4;
/// Bytes by which the header of IPv6 is longer than that of IPv4 (RFC 8200, section 3).
const LONGER: u32 = 20;
/// Receive buffer that is asked for; the kernel gives what `net.core.rmem_max` lets it.
const BUFFER: usize = 8 << 20;
/// Datagrams that one look at the socket takes at most.
const AT_ONCE: usize = 256;
/// Place of the datagrams dropped at a socket among the values of `SO_MEMINFO` (sock_diag(7), `SK_MEMINFO_DROPS`).
const DROPS: usize = libc::SK_MEMINFO_DROPS as usize;

/// One end of a flow over UDP.
pub(crate) struct Flow {
    /// Number of the flow.
    pub number: u32,
    /// Socket connected to the other end.
    pub socket: Socket,
    /// Nonce of the flow.
    pub nonce: Token,
    /// Source of what it sends; of a receiver, the sink of what comes.
    pub datagrams: Box<dyn Datagrams>,
    /// True if it sends.
    pub sends: bool,
    /// Numbers that there can be: others are nobody's.
    pub most: u64,
}

/// Counts of one end at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Number of the flow.
    pub flow: u32,
    /// Time since the beginning of the run, on this host's clock.
    pub at: Nanos,
    /// Datagrams that the kernel took, or that arrived.
    pub packets: u64,
    /// Payload that it took, or that arrived for the first time.
    pub bytes: u64,
    /// Datagrams that arrived again, and their payload.
    pub duplicates: u64,
    pub duplicate_bytes: u64,
    /// Numbers up to the highest that has arrived.
    pub reached: u64,
    /// Datagrams that the kernel did not take, or for which the socket had no room on their arrival.
    pub dropped: u64,
}

impl Counted {
    /// Returns the datagrams that arrived, each once.
    pub(crate) fn distinct(&self) -> u64 {
        self.packets.saturating_sub(self.duplicates)
    }

    /// Returns the numbers below the highest that has arrived which have not.
    pub(crate) fn missing(&self) -> u64 {
        self.reached.saturating_sub(self.distinct())
    }
}

/// Results of the flows over UDP of a host.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Counts of all ends, in order of time for each.
    pub counted: Vec<Counted>,
    /// Times of the first datagrams, by flow.
    pub stamps: Vec<(u32, Stamps)>,
    /// Time for which the threads waited for a core.
    pub waited: Time,
}

/// Bytes of UDP payload, for other threads.
#[derive(Debug, Default)]
struct Bytes {
    sent: AtomicU64,
    came: AtomicU64,
}

/// Work of a thread that has ended: its counts, its flow's number, times of datagrams, and time for which it waited for a core.
type Ended = (Vec<Counted>, u32, Stamps, Time);

/// The ends of all flows over UDP at this host, while they run.
pub(crate) struct Ports {
    bytes: Arc<Bytes>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Ended>>,
}

impl Ports {
    /// Lets `flows` begin by `clock`, and counts them each `interval`; keeps the times of the first `timed` datagrams of each. `busy` threads of this
    /// session want a core: with more cores, senders wait awake for the last moment before a datagram is due. They stay on the cores that are `near`.
    ///
    /// # Errors
    /// A system without threads left.
    pub(crate) fn begin(flows: Vec<Flow>, interval: Span, timed: u32, busy: usize, near: &Near, clock: Clock) -> Result<Self, Error> {
        let (bytes, stop) = (Arc::new(Bytes::default()), Arc::new(AtomicBool::new(false)));
        let mut threads = Vec::new();
        for flow in flows {
            let (counts, ends) = (Arc::clone(&bytes), Arc::clone(&stop));
            let (line, near) = (Line::new(flow, interval, timed, clock)?, near.clone());
            let named = thread::Builder::new().name(format!("flow {}", line.flow.number));
            let run = move || {
                near.keep();
                line.run(Due::beside(busy, clock), &ends, &counts)
            };
            threads.push(named.spawn(run).map_err(|e| Error::system("a flow over UDP has no thread", e))?);
        }
        Ok(Ports { bytes, stop, threads })
    }

    /// Returns the UDP payload that was sent, and that came, however often.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        [self.bytes.sent.load(Relaxed), self.bytes.came.load(Relaxed)]
    }

    /// Ends all of it.
    pub(crate) fn halt(self) -> Left {
        self.stop.store(true, Relaxed);
        let mut left = Left::default();
        for thread in self.threads {
            let (counted, flow, stamps, waited) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            left.counted.extend(counted);
            left.stamps.push((flow, stamps));
            left.waited = left.waited.max(waited);
        }
        left
    }
}

/// Returns the datagrams that a flow of `traffic` sends in a session of `ms`, at most.
pub(crate) fn most(traffic: &Traffic, ms: u64) -> u64 {
    let payload = traffic.packet_size().map_or(1, |size| u64::from(size - HEADERS));
    // The rate is that of any second; one more has begun.
    traffic.peak().unwrap_or(0).div_ceil(payload).saturating_mul(ms / 1000 + 2)
}

/// Checks that the packets of `traffic` have room for their headers over IPv6.
///
/// # Errors
/// A size that is too small, with the least.
pub(crate) fn fits_v6(traffic: &Traffic) -> Result<(), Error> {
    let least = LEAST_SIZE + LONGER;
    match traffic.packet_size().filter(|size| *size < least) {
        Some(size) => {
            let what = format!("a packet of {size} bytes has no room for the headers of IPv6 and its number: write {least} bytes or more");
            Err(Error::unsupported("flow.traffic.size", what))
        }
        None => Ok(()),
    }
}

/// The thread's part.
struct Line {
    flow: Flow,
    interval: Span,
    timed: u32,
    clock: Clock,
    wall: Wall,
    /// Bytes by which payload is shorter than over IPv4.
    shorter: u32,
    counted: Vec<Counted>,
    now: Counted,
    stamps: Stamps,
}

impl Line {
    fn new(flow: Flow, interval: Span, timed: u32, clock: Clock) -> Result<Self, Error> {
        let is_v6 = flow.socket.domain().map_err(|e| Error::system("a UDP socket", e))? == Domain::IPV6;
        if !flow.sends {
            // A smaller one than asked for drops datagrams of fast bursts, which are counted.
            let _ = flow.socket.set_recv_buffer_size(BUFFER);
        }
        let now = Counted { flow: flow.number, ..Counted::default() };
        let shorter = if is_v6 { LONGER } else { 0 };
        Ok(Line { flow, interval, timed, clock, wall: Wall::now(), shorter, counted: Vec::new(), now, stamps: Stamps::default() })
    }

    fn run(mut self, due: Due, stop: &AtomicBool, bytes: &Bytes) -> Ended {
        let before = facts::waited();
        Due::prepare();
        let mut buffer = vec![0; LARGEST];
        let mut next = Time::ZERO;
        while !stop.load(Relaxed) {
            let now = self.clock.now();
            if now >= next {
                self.receive(&mut buffer, bytes);
                self.count(now);
                next = Time::ZERO + self.interval.saturating_mul(now.as_ps() / self.interval.as_ps() + 1);
            }
            if self.flow.sends {
                self.send_due(now, &mut buffer, stop, bytes);
            }
            let is_due = self.flow.datagrams.poll_timeout().filter(|_| self.flow.sends);
            // Stamps of what a sender has sent would end each of its rests.
            let news = Some(&self.flow.socket).filter(|_| !self.flow.sends);
            due.rest(is_due.unwrap_or(Time::MAX), next, news);
            if !self.flow.sends {
                self.receive(&mut buffer, bytes);
            }
        }
        // What has arrived by then has arrived.
        self.receive(&mut buffer, bytes);
        self.count(self.clock.now());
        (self.counted, self.flow.number, self.stamps, Time::ZERO + facts::waited().since(before))
    }

    fn count(&mut self, now: Time) {
        if !self.flow.sends {
            let mut values = [0; 4 * (DROPS + 1)];
            let len = sys::option(&self.flow.socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut values).unwrap_or(0);
            if let Some(drops) = values[..len].chunks_exact(4).nth(DROPS).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) {
                self.now.dropped = u32::from_ne_bytes(drops).into();
            }
            let stats = self.flow.datagrams.stats();
            (self.now.bytes, self.now.duplicates, self.now.duplicate_bytes) =
                (stats.bytes_delivered, stats.duplicates, stats.bytes_duplicate);
        }
        self.now.at = now.as_ps() / 1000;
        self.counted.push(self.now);
    }

    /// Sends the datagrams that are due.
    fn send_due(&mut self, now: Time, buffer: &mut [u8], stop: &AtomicBool, bytes: &Bytes) {
        for _ in 0..AT_ONCE {
            let due = self.flow.datagrams.poll_timeout().unwrap_or(Time::MAX);
            let Some(datagram) = self.flow.datagrams.poll_transmit(now) else { return };
            if stop.load(Relaxed) {
                return;
            }
            let number = self.now.packets as u32;
            let len = datagram.payload().saturating_sub(self.shorter) as usize;
            let out = &mut buffer[..len.max(LABEL)];
            out.fill(0);
            out[..TAG].copy_from_slice(&self.flow.nonce.0[..TAG]);
            out[TAG..LABEL].copy_from_slice(&number.to_be_bytes());
            let before = nanoseconds(ClockId::CLOCK_MONOTONIC);
            let sent = send(&self.flow.socket, out);
            let after = nanoseconds(ClockId::CLOCK_MONOTONIC);
            let stamp = stamps::sent(&self.flow.socket);
            let Ok(len) = sent else {
                self.now.dropped += 1;
                continue;
            };
            self.now.packets += 1;
            self.now.bytes += len as u64;
            bytes.sent.fetch_add(len as u64, Relaxed);
            if number < self.timed {
                self.wall.see(Wall::now());
                // A stamp outside of the call is of a clock that was set meanwhile, or of a datagram that waited for its neighbour's address.
                let stamp = stamp.map(|wall| self.wall.monotonic(wall)).filter(|stamp| (before..=after).contains(stamp));
                let at = self.since(stamp.unwrap_or(before));
                self.stamps.sent.push(Sent { number, due: due.as_ps() / 1000, at, is_stamped: stamp.is_some() });
            }
        }
    }

    /// Takes the datagrams that have arrived.
    fn receive(&mut self, buffer: &mut [u8], bytes: &Bytes) {
        for _ in 0..AT_ONCE {
            let (len, stamp) = match stamps::receive(&self.flow.socket, buffer) {
                Ok(got) => got,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // An ICMP message about an earlier datagram is no end.
                Err(_) => continue,
            };
            bytes.came.fetch_add(len as u64, Relaxed);
            let label = buffer.get(..LABEL.min(len)).and_then(|bytes| bytes.strip_prefix(&self.flow.nonce.0[..TAG]));
            let Some(number) = label.and_then(|rest| <[u8; 4]>::try_from(rest).ok()).map(u32::from_be_bytes) else { continue };
            if self.flow.sends || u64::from(number) >= self.flow.most {
                continue;
            }
            let now = nanoseconds(ClockId::CLOCK_MONOTONIC);
            let is_steady = self.wall.see(Wall::now());
            self.now.packets += 1;
            self.now.reached = self.now.reached.max(u64::from(number) + 1);
            self.flow.datagrams.handle(self.clock.at(now), &Datagram { number, size: len as u32 + HEADERS, is_reply: false });
            if number < self.timed && self.stamps.got.len() < 2 * self.timed as usize {
                let stamp = stamp.filter(|_| is_steady).map(|wall| self.wall.monotonic(wall)).filter(|stamp| *stamp <= now);
                self.stamps.got.push(Got { number, at: self.since(stamp.unwrap_or(now)), is_stamped: stamp.is_some() });
            }
        }
    }

    fn since(&self, ns: Nanos) -> Nanos {
        self.clock.at(ns).as_ps() / 1000
    }
}

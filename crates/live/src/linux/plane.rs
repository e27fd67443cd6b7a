//! Data of a session at one host: a thread for each flow, which writes or reads, and one that samples all of them.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use longfat_core::time::{Duration as Span, Time};
use longfat_core::traffic::{Program, Reader, Socket as _};
use longfat_host::clock::Clock;
use longfat_host::counters::{Looker, Values};
use longfat_host::facts;
use longfat_host::info::{self, field};
use longfat_host::near::Near;
use longfat_host::sending::Sending;
use longfat_host::stream::{End, Stream};
use longfat_host::sys;
use longfat_tcp::{ReceiveBy, SendBy};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Socket;

use crate::Error;
use crate::linux::rows::Row;
use crate::linux::wall::{Reading, WallClock};
use crate::options::Seen;
use crate::protocol::Nanos;

/// Longest sleep of a thread: it then looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes that a flow writes or reads before it counts them.
const BURST: u64 = 1 << 22;
/// Time between two questions whether written data is acknowledged, which the kernel does not report.
const ASK: Duration = Duration::from_millis(1);
/// Time between two looks at the counters of the whole host.
const COUNT: Span = Span::from_secs(1);
/// Bytes that an application which reads slowly takes at once: a full segment of Ethernet.
pub(crate) const BLOCK: u64 = 1448;
/// A time that has not come.
const NEVER: u64 = u64::MAX;

/// One end of a TCP flow.
pub(crate) struct Flow {
    /// Number of the flow.
    pub number: u32,
    /// Connected socket.
    pub socket: Socket,
    /// Window that it advertises at most.
    pub window: Option<u64>,
    /// Application that writes; `None`: this end reads.
    pub sends: Option<Program>,
    /// Application that reads slowly; `None`: all data is read at once.
    pub reads: Option<Reader>,
    /// True if it ends by itself.
    pub has_volume: bool,
    /// Way in which it sends.
    pub send: SendBy,
    /// Way in which it receives.
    pub receive: ReceiveBy,
}

/// Counts of one end, for other threads.
#[derive(Debug)]
struct Counts {
    read: AtomicU64,
    /// Bytes that the other end has acknowledged.
    acknowledged: AtomicU64,
    is_closed: AtomicBool,
    /// The application has more to write than the socket takes.
    wants: AtomicBool,
    /// Nanoseconds of the run.
    delivered_all: AtomicU64,
    /// It is over, or never will be.
    is_over: AtomicBool,
    has_failed: AtomicBool,
    /// Sends without a copy of which the kernel has told, and those that it copied.
    completed: AtomicU64,
    copied: AtomicU64,
}

/// Counters of this host at a time of its clock.
pub(crate) type Look = (Nanos, Values);

/// The ends of all flows at this host, while they run.
pub(crate) struct Plane {
    counts: Vec<Arc<Counts>>,
    /// Ends that can be read while they run: number, whether this host sends, and the socket.
    ends: Vec<(u32, bool, Socket)>,
    has_volume: Vec<bool>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Time>>,
    wall: Option<Reading>,
    clock: Clock,
    sampler: JoinHandle<(Vec<Row>, Vec<Look>)>,
}

/// Results of a host.
pub(crate) struct Left {
    /// Samples of all flows, in order of time.
    pub rows: Vec<Row>,
    /// Counters of the host, each second.
    pub looks: Vec<Look>,
    /// Time for which the threads waited for a core.
    pub waited: Time,
    /// Wall clock of the host; `None`: nothing synchronises it.
    pub wall: Option<WallClock>,
}

impl Plane {
    /// Lets the flows begin by `clock`, and samples them each `interval`; `local` is the address of this host.
    ///
    /// # Errors
    /// A system without threads or file descriptors left.
    pub(crate) fn begin(flows: Vec<Flow>, local: Option<IpAddr>, interval: Span, clock: Clock) -> Result<Self, Error> {
        let failed = |e| Error::system("the data connections cannot be watched", e);
        let (stop, near) = (Arc::new(AtomicBool::new(false)), Near::of(local));
        let has_volume = flows.iter().map(|flow| flow.has_volume).collect();
        let (mut counts, mut watched, mut shown, mut threads) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for flow in flows {
            let number = flow.number;
            let shared = Arc::new(Counts {
                read: AtomicU64::new(0),
                acknowledged: AtomicU64::new(0),
                is_closed: AtomicBool::new(false),
                wants: AtomicBool::new(false),
                delivered_all: AtomicU64::new(NEVER),
                is_over: AtomicBool::new(false),
                has_failed: AtomicBool::new(false),
                completed: AtomicU64::new(0),
                copied: AtomicU64::new(0),
            });
            watched.push((number, flow.socket.try_clone().map_err(failed)?, Arc::clone(&shared)));
            shown.push((number, flow.sends.is_some(), flow.socket.try_clone().map_err(failed)?));
            counts.push(Arc::clone(&shared));
            let (stop, sending) = (Arc::clone(&stop), Sending::new(flow.send).map_err(failed)?);
            let named = thread::Builder::new().name(format!("flow {number}"));
            let near = near.clone();
            let run = move || {
                near.keep();
                attend(flow, sending, clock, &stop, &shared)
            };
            threads.push(named.spawn(run).map_err(failed)?);
        }
        let ends = Arc::clone(&stop);
        let sampler = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(&watched, local, clock, interval, &ends))
            .map_err(failed)?;
        Ok(Plane { counts, ends: shown, has_volume, stop, threads, wall: Reading::begin(), clock, sampler })
    }

    /// Returns the payload that has been read at this host, or sent by it and acknowledged.
    pub(crate) fn bytes(&self) -> u64 {
        self.counts.iter().map(|counts| counts.read.load(Relaxed) + counts.acknowledged.load(Relaxed)).sum()
    }

    /// Reads the ends of all flows.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let end = |((flow, sends, socket), counts): (&(u32, bool, Socket), &Arc<Counts>)| {
            let info = info::of(socket).ok()?;
            let bytes = if *sends { &counts.acknowledged } else { &counts.read };
            let fields = field::ALL.iter().filter_map(|field| Some((field.name, info.get(field)?)));
            Some(Seen { flow: *flow, sends: *sends, bytes: bytes.load(Relaxed), info: fields.collect() })
        };
        self.ends.iter().zip(&self.counts).filter_map(end).collect()
    }

    /// Returns true if all flows with a volume are over, and there is one.
    pub(crate) fn is_over(&self) -> bool {
        let mut volumes = self.counts.iter().zip(&self.has_volume).filter(|(_, has_volume)| **has_volume).peekable();
        volumes.peek().is_some() && volumes.all(|(counts, _)| counts.is_over.load(Relaxed))
    }

    /// Returns true if a connection was lost.
    pub(crate) fn has_failed(&self) -> bool {
        self.counts.iter().any(|counts| counts.has_failed.load(Relaxed))
    }

    /// Ends all of it.
    pub(crate) fn halt(self) -> Left {
        self.stop.store(true, Relaxed);
        let (rows, looks) = self.sampler.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let waits = self.threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let waited = waits.max().unwrap_or(Time::ZERO);
        Left { rows, looks, waited, wall: self.wall.and_then(|reading| reading.end(self.clock)) }
    }
}

/// One flow's thread: what it waited for a core.
fn attend(flow: Flow, sending: Sending, clock: Clock, stop: &AtomicBool, counts: &Counts) -> Time {
    let before = facts::waited();
    let is_receiver = flow.sends.is_none();
    let window = flow.window.map(|window| i32::try_from(window).unwrap_or(i32::MAX));
    let mut stream = Stream::new(flow.socket, window);
    (stream.burst, stream.sending) = (BURST, sending);
    stream.receive_by(flow.receive);
    let reader = flow.reads.map(|reader| Program::reader(Box::new(reader)));
    let mut end = End { program: flow.sends.or(reader).unwrap_or(Program::none()), stream: Some(stream) };
    while !stop.load(Relaxed) {
        let now = clock.now();
        end.attend(now);
        let alarm = end.program.alarm();
        let wait = end.program.wait();
        let stream = end.stream.as_mut().expect("it was made with one");
        if wait.readable && sys::unread(&stream.socket) == 0 {
            // An application that reads is not asked at the end of the stream, where there is nothing to read.
            stream.take(1);
        }
        let zerocopy = stream.sending.completions(&stream.socket);
        counts.completed.store(zerocopy.completed, Relaxed);
        counts.copied.store(zerocopy.copied, Relaxed);
        counts.read.store(stream.read, Relaxed);
        counts.acknowledged.store(stream.written.saturating_sub(sys::unacknowledged(&stream.socket)), Relaxed);
        if is_receiver && stream.has_ended && !stream.is_shut {
            counts.delivered_all.store(nanoseconds(now), Relaxed);
            stream.close();
        }
        counts.is_closed.store(stream.is_shut, Relaxed);
        counts.wants.store(stream.pending > 0 && !stream.is_shut, Relaxed);
        let is_over = stream.has_ended || stream.failure.is_some();
        counts.is_over.store(is_over, Relaxed);
        counts.has_failed.store(stream.failure.is_some(), Relaxed);
        if is_over {
            while !stop.load(Relaxed) {
                thread::sleep(LOOK);
            }
            break;
        }
        let left = Duration::from_nanos(clock.nanoseconds_at(alarm).saturating_sub(clock.nanoseconds_at(clock.now())));
        let most = left.min(if wait.acked { ASK } else { LOOK });
        if !left.is_zero() && left < ASK {
            // poll(2) counts in milliseconds.
            clock.sleep_until(alarm);
            continue;
        }
        let mut flags = PollFlags::empty();
        // Data that waits for a slow reader is no news.
        flags.set(PollFlags::POLLIN, !wait.readable || alarm == Time::MAX);
        flags.set(PollFlags::POLLOUT, stream.wants_to_write());
        let timeout = PollTimeout::try_from(most).unwrap_or(PollTimeout::ZERO);
        // Whatever poll says, the next look is soon.
        let _ = poll(&mut [PollFd::new(stream.socket.as_fd(), flags)], timeout);
    }
    Time::ZERO + facts::waited().since(before)
}

fn nanoseconds(time: Time) -> Nanos {
    time.as_ps() / 1000
}

/// The sampler's thread: all of `TCP_INFO` of all flows, each `interval`, and once more at the end; counters of the host each second.
fn sample(
    flows: &[(u32, Socket, Arc<Counts>)],
    local: Option<IpAddr>,
    clock: Clock,
    interval: Span,
    stop: &AtomicBool,
) -> (Vec<Row>, Vec<Look>) {
    let (mut rows, mut looks) = (Vec::new(), Vec::new());
    let mut looker = local.map(Looker::new);
    let (mut next, mut dropped, mut counted) = (Time::ZERO, 0, None);
    loop {
        let is_last = stop.load(Relaxed);
        let now = clock.now();
        if is_last || counted.is_none_or(|counted| now.since(counted) >= COUNT) {
            (dropped, counted) = (facts::dropped(), Some(now));
            looks.extend(looker.as_mut().map(|looker| (nanoseconds(now), looker.look())));
        }
        for (flow, socket, counts) in flows {
            let Ok(info) = info::of(socket) else { continue };
            let delivered_all = counts.delivered_all.load(Relaxed);
            rows.push(Row {
                flow: *flow,
                at: nanoseconds(clock.now()),
                read: counts.read.load(Relaxed),
                unread: sys::unread(socket),
                unacknowledged: sys::unacknowledged(socket),
                send_buffer: socket.send_buffer_size().unwrap_or(0) as u64,
                wants: counts.wants.load(Relaxed),
                dropped,
                is_closed: counts.is_closed.load(Relaxed),
                completed: counts.completed.load(Relaxed),
                copied: counts.copied.load(Relaxed),
                delivered_all: Some(delivered_all).filter(|time| *time != NEVER),
                info,
            });
        }
        if is_last {
            return (rows, looks);
        }
        next += interval;
        while clock.now() < next && !stop.load(Relaxed) {
            clock.sleep_until(next.min(clock.now() + Span::from_millis(20)));
        }
        // A sampler that was held up does not make up for it.
        next = next.max(Time::ZERO + interval.saturating_mul(clock.now().as_ps() / interval.as_ps()));
    }
}

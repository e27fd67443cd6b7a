//! Captures of a session's own TCP connections at this host, and verdicts by them. The packets of one end are never sent to the other.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use longfat_capture::{Judged, Own, Watched};
use longfat_core::time::Time;
use longfat_host::capture::Capture;
use longfat_host::clock::Clock;
use longfat_host::info::{self, field};
use longfat_host::stamps::Wall;
use longfat_record::trace::{PacketEvent, Seen};
use socket2::{SockAddr, Socket};

use crate::linux::plane::Flow;

/// Time between two looks at the ring: its 32,768 frames hold the packets of 6 million per second for as long.
const LOOK: Duration = Duration::from_millis(5);
/// Packets of a run that are kept as rows, of some 250 bytes each.
pub(crate) const ROWS: usize = 1 << 18;
/// Bits of `options` of `TCP_INFO`: timestamps, SACK and window scale.
const OPTIONS: [u64; 3] = [1, 2, 4];

/// Packets of a host, and verdicts by them.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Outcome.
    pub seen: Seen,
    /// Verdicts on the flows whose packets were seen.
    pub judged: Vec<Judged>,
    /// First packets, in order of time.
    pub rows: Vec<PacketEvent>,
}

/// Capture under way.
pub(crate) struct Capturing {
    stop: Arc<AtomicBool>,
    /// Thread that captures; else the reason why nothing is captured.
    thread: Result<JoinHandle<Left>, Seen>,
}

/// Ring that already takes the packets of connections whose flows have not begun. The other end may begin first.
pub(crate) struct Opened(io::Result<Capture>);

impl Opened {
    /// Takes the packets of TCP connections from now on.
    pub(crate) fn of<'a>(connections: impl IntoIterator<Item = &'a Socket>) -> Self {
        let ends = connections.into_iter().map(|one| Ok([address(one.local_addr())?, address(one.peer_addr())?]));
        Opened(ends.collect::<io::Result<Vec<_>>>().and_then(|ends| Capture::begin(&ends)))
    }
}

impl Capturing {
    /// Reads the packets of `flows`; keeps the first `most` as rows, whose times count from `zero` of the `clock`.
    pub(crate) fn begin(opened: Opened, flows: &[Flow], zero: Time, most: usize, clock: Clock) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = begin(opened, flows, zero, most, clock, Arc::clone(&stop)).map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => Seen { outcome: Seen::NO_RIGHT, ..Seen::default() },
            _ => Seen { outcome: Seen::FAILED, ..Seen::default() },
        });
        Capturing { stop, thread }
    }

    /// The operator of this server allows no capture.
    pub(crate) fn not_allowed() -> Self {
        Capturing { stop: Arc::default(), thread: Err(Seen { outcome: Seen::NOT_ALLOWED, ..Seen::default() }) }
    }

    /// Ends it.
    pub(crate) fn halt(self) -> Left {
        self.stop.store(true, Relaxed);
        match self.thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(seen) => Left { seen, ..Left::default() },
        }
    }
}

fn begin(opened: Opened, flows: &[Flow], zero: Time, most: usize, clock: Clock, stop: Arc<AtomicBool>) -> io::Result<JoinHandle<Left>> {
    let mut capture = opened.0?;
    let own = flows.iter().map(own).collect::<io::Result<Vec<Own>>>()?;
    let zero = clock.nanoseconds_at(zero) as i64;
    let run = move || {
        let (mut watched, mut wall, mut packets) = (Watched::new(own, zero, most), Wall::now(), 0);
        loop {
            let is_last = stop.load(Relaxed);
            wall.see(Wall::now());
            capture.take(|frame| {
                packets += 1;
                watched.add(wall.monotonic(frame.wall) as i64, frame.bytes, frame.len);
            });
            if is_last {
                break;
            }
            thread::sleep(LOOK);
        }
        let (judged, rows, left_out) = watched.finish();
        Left { seen: Seen { outcome: Seen::CAPTURED, packets, lost: capture.lost(), left_out }, judged, rows }
    };
    thread::Builder::new().name("capture".to_owned()).spawn(run)
}

fn address(found: io::Result<SockAddr>) -> io::Result<SocketAddr> {
    found?.as_socket().ok_or(io::ErrorKind::NotFound.into())
}

/// The connection of `flow` as the kernel has it.
fn own(flow: &Flow) -> io::Result<Own> {
    let info = info::of(&flow.socket)?;
    let options = info.get(&field::options).unwrap_or(0);
    let [timestamps, sack, scaled] = OPTIONS.map(|bit| options & bit != 0);
    // Bit fields fill a byte from its low end on a little-endian machine, and from its high end on a big-endian one.
    let scales = info.get(&field::wscales).unwrap_or(0) as u8;
    let [theirs, ours] = if cfg!(target_endian = "little") { [scales & 15, scales >> 4] } else { [scales >> 4, scales & 15] };
    let room = if timestamps { 12 } else { 0 };
    Ok(Own {
        flow: flow.number,
        local: address(flow.socket.local_addr())?,
        remote: address(flow.socket.peer_addr())?,
        sends: flow.sends.is_some(),
        scales: scaled.then_some([ours, theirs]),
        mss: (info.snd_mss() + room).min(u16::MAX.into()) as u16,
        sack,
        timestamps,
        rtt: i64::from(info.min_rtt()) * 1000,
    })
}

//! Time stamps of the kernel for datagrams: when one entered the egress queue, and when one arrived, whatever its thread did then (Linux,
//! Documentation/networking/timestamping.rst).
//!
//! The kernel stamps by its wall clock. [`Wall`] maps that to the monotonic clock, by pairs of both.

use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, Timestamps, recvmsg};
use nix::time::ClockId;

use crate::clock::nanoseconds;
use crate::sys;

/// Room for the control messages of a datagram.
const ROOM: usize = 512;

/// Wall clock less monotonic clock, as an interval: it is constant until the wall clock is set. Nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    low: i128,
    high: i128,
}

impl Wall {
    /// Reads both clocks.
    pub fn now() -> Self {
        let (before, wall, after) =
            (nanoseconds(ClockId::CLOCK_MONOTONIC), nanoseconds(ClockId::CLOCK_REALTIME), nanoseconds(ClockId::CLOCK_MONOTONIC));
        Wall::of(before, wall, after)
    }

    fn of(before: u64, wall: u64, after: u64) -> Self {
        Wall { low: i128::from(wall) - i128::from(after), high: i128::from(wall) - i128::from(before) }
    }

    /// Takes in another reading of both clocks, which makes the interval smaller. False: the wall clock was set in between, and this begins anew.
    pub fn see(&mut self, other: Wall) -> bool {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        let is_same = low <= high;
        *self = if is_same { Wall { low, high } } else { other };
        is_same
    }

    /// Returns the wall time at which the monotonic clock was, or will be, `monotonic`.
    pub fn at(&self, monotonic: u64) -> u64 {
        u64::try_from(i128::from(monotonic) + (self.low + self.high) / 2).unwrap_or(0)
    }

    /// Returns by how much that can be off, in nanoseconds.
    pub fn error(&self) -> u64 {
        ((self.high - self.low) / 2).try_into().unwrap_or(u64::MAX)
    }

    /// Returns the monotonic time at which the wall clock was `wall`.
    pub fn monotonic(&self, wall: u64) -> u64 {
        u64::try_from(i128::from(wall) - (self.low + self.high) / 2).unwrap_or(0)
    }
}

/// Lets the kernel stamp what `socket` sends and receives.
///
/// # Errors
/// A kernel without time stamps.
pub fn enable(socket: &impl AsRawFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_TX_SCHED
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    sys::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as libc::c_int)
}

/// Receives a datagram that is there: its length, however much of it `into` has room for, and the wall time at which it arrived, if the
/// kernel says.
///
/// # Errors
/// `WouldBlock` where there is none, and those of recvmsg(2).
pub fn receive(socket: &impl AsRawFd, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    message(socket, into, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC).map_err(io::Error::from)
}

/// Returns the wall time at which the last datagram that was sent entered the egress queue, if the kernel says; takes all that it says.
pub fn sent(socket: &impl AsRawFd) -> Option<u64> {
    let mut last = None;
    while let Ok((_, stamp)) = message(socket, &mut [], MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT) {
        last = stamp.or(last);
    }
    last
}

fn message(socket: &impl AsRawFd, into: &mut [u8], flags: MsgFlags) -> Result<(usize, Option<u64>), Errno> {
    let mut control = [0; ROOM];
    let mut buffers = [IoSliceMut::new(into)];
    let got = recvmsg::<()>(socket.as_raw_fd(), &mut buffers, Some(&mut control), flags)?;
    let stamp = got.cmsgs().ok().into_iter().flatten().find_map(|message| match message {
        ControlMessageOwned::ScmTimestampsns(Timestamps { system, .. }) => {
            Some(system.tv_sec() as u64 * 1_000_000_000 + system.tv_nsec() as u64).filter(|stamp| *stamp > 0)
        }
        _ => None,
    });
    Ok((got.bytes, stamp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::time::{Duration, Instant};

    #[test]
    fn readings_narrow_the_interval_until_the_clock_is_set() {
        let mut wall = Wall::of(100, 1150, 200);
        assert_eq!((wall.low, wall.high), (950, 1050));
        assert!(wall.see(Wall::of(300, 1310, 320)));
        assert_eq!((wall.low, wall.high, wall.monotonic(2000)), (990, 1010, 1000));
        assert_eq!((wall.at(1000), wall.error()), (2000, 10));
        assert!(!wall.see(Wall::of(400, 9400, 410)), "set forward");
        assert_eq!(wall.monotonic(9500), 9500 - 8995);
        assert_eq!(wall.monotonic(1), 0, "before the monotonic clock began");
    }

    #[test]
    fn datagrams_are_stamped_when_they_leave_and_when_they_arrive() {
        let make = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (from, to) = (make(), make());
        from.connect(to.local_addr().unwrap()).unwrap();
        enable(&from).unwrap();
        enable(&to).unwrap();
        assert_eq!(receive(&to, &mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // The kernel begins to stamp a moment after it is asked to.
        let (mut bytes, begun) = ([0; 8], Instant::now());
        let (before, left, len, came) = loop {
            assert!(begun.elapsed() < Duration::from_secs(5), "no stamp");
            let before = nanoseconds(ClockId::CLOCK_MONOTONIC);
            from.send(b"probe").unwrap();
            let left = sent(&from).unwrap();
            std::thread::sleep(Duration::from_millis(10));
            if let (len, Some(came)) = receive(&to, &mut bytes).unwrap() {
                break (before, left, len, came);
            }
        };
        let after = nanoseconds(ClockId::CLOCK_MONOTONIC);
        assert_eq!(&bytes[..len], b"probe");
        let wall = Wall::now();
        let (left, came) = (wall.monotonic(left), wall.monotonic(came));
        // The interval of the clocks is a few microseconds wide, unless this thread waited in between.
        assert!(before <= left + 1_000_000 && left <= came + 1_000 && came <= after + 1_000_000, "{before} {left} {came} {after}");
        assert_eq!(sent(&from), None, "once");
    }
}

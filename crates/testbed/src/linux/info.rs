//! `TCP_INFO`, of kernels old and new: what a kernel does not know reads as zero.

use std::io;
use std::os::fd::AsRawFd;

use longfat_core::time::Duration;

use crate::linux::sys;

/// Kernel's view of a connection: `struct tcp_info` of `linux/tcp.h`, whose fields keep their places while new ones are added at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    bytes: [u8; 256],
    /// Bytes that the kernel filled.
    pub len: usize,
}

/// States of a connection (`tcpi_state`), those that matter here.
pub mod state {
    /// The end of our stream is acknowledged.
    pub const FIN_WAIT2: u8 = 5;
    /// TIME-WAIT: both ends are done.
    pub const TIME_WAIT: u8 = 6;
    /// CLOSED.
    pub const CLOSE: u8 = 7;
}

/// States of congestion control (`tcpi_ca_state`).
pub mod ca_state {
    /// Fast recovery.
    pub const RECOVERY: u8 = 3;
    /// Loss, after a timeout.
    pub const LOSS: u8 = 4;
}

/// A field at its place.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $at:literal;)*) => {
        impl Info {
            $($(#[$doc])* pub fn $name(&self) -> $type {
                const LEN: usize = size_of::<$type>();
                let mut bytes = [0; LEN];
                bytes.copy_from_slice(&self.bytes[$at..$at + LEN]);
                <$type>::from_ne_bytes(bytes)
            })*
        }
    };
}

fields! {
    /// See [`state`].
    state: u8 = 0;
    /// See [`ca_state`].
    ca_state: u8 = 1;
    /// Microseconds.
    rto: u32 = 8;
    /// Payload bytes of a full segment.
    snd_mss: u32 = 16;
    /// Segments.
    unacked: u32 = 24;
    /// Segments.
    sacked: u32 = 28;
    /// Segments.
    lost: u32 = 32;
    /// Segments.
    retrans: u32 = 36;
    /// Smoothed RTT, microseconds.
    rtt: u32 = 68;
    /// Segments; `0x7fffffff`: no bound.
    snd_ssthresh: u32 = 76;
    /// Segments.
    snd_cwnd: u32 = 80;
    /// Segments.
    total_retrans: u32 = 100;
    /// Packets.
    segs_out: u32 = 136;
    /// Packets.
    segs_in: u32 = 140;
    /// Microseconds.
    min_rtt: u32 = 148;
    /// Packets.
    data_segs_out: u32 = 156;
    /// Microseconds.
    busy_time: u64 = 168;
    /// Microseconds.
    rwnd_limited: u64 = 176;
    /// Microseconds.
    sndbuf_limited: u64 = 184;
    /// Payload bytes.
    bytes_sent: u64 = 200;
    /// Payload bytes.
    bytes_retrans: u64 = 208;
    /// Duplicates that the other end has reported.
    dsack_dups: u32 = 216;
    /// The window of the other end, bytes.
    snd_wnd: u32 = 228;
    /// The window advertised to the other end, bytes.
    rcv_wnd: u32 = 232;
    /// Timeouts.
    total_rto: u16 = 240;
}

impl Info {
    /// Reads the `tcp_info` of a TCP socket.
    pub fn of(socket: &impl AsRawFd) -> io::Result<Info> {
        let mut bytes = [0; 256];
        let len = sys::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        Ok(Info { bytes, len })
    }

    /// Payload bytes of this many full segments.
    pub fn of_segments(&self, segments: u32) -> u64 {
        u64::from(segments) * u64::from(self.snd_mss())
    }

    /// Bytes.
    pub fn cwnd(&self) -> u64 {
        self.of_segments(self.snd_cwnd())
    }

    /// Bytes; `u64::MAX`: no bound.
    pub fn ssthresh(&self) -> u64 {
        if self.snd_ssthresh() >= 0x7fff_ffff { u64::MAX } else { self.of_segments(self.snd_ssthresh()) }
    }

    /// Bytes sent and not known to have left the network: what Linux counts as `packets_in_flight`.
    pub fn in_flight(&self) -> u64 {
        self.of_segments((self.unacked() + self.retrans()).saturating_sub(self.sacked() + self.lost()))
    }

    /// The smoothed RTT.
    pub fn srtt(&self) -> Duration {
        Duration::from_micros(self.rtt().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_old_kernel_does_not_know_is_zero() {
        let (listener, mut len) = (std::net::TcpListener::bind("127.0.0.1:0").unwrap(), 0);
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = Info::of(&stream).unwrap();
        len += info.len;
        // Linux 2.4 had 104 bytes.
        assert!((104..=256).contains(&len) && info.snd_mss() > 500 && info.snd_cwnd() > 0 && info.state() == 1, "{info:?}");
        let mut old = info;
        old.bytes[104..].fill(0);
        assert_eq!((old.total_rto(), old.bytes_sent()), (0, 0));
    }

    #[test]
    fn counts_of_segments_are_bytes() {
        let mut info = Info { bytes: [0; 256], len: 256 };
        for (at, value) in [(16, 1448_u32), (24, 10), (28, 3), (32, 2), (36, 1), (76, 0x7fff_ffff), (80, 20), (68, 70_000)] {
            info.bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        assert_eq!((info.cwnd(), info.ssthresh(), info.in_flight()), (20 * 1448, u64::MAX, 6 * 1448));
        assert_eq!(info.srtt(), Duration::from_millis(70));
    }
}

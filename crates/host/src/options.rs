//! Options of a TCP socket, as the flow of an experiment has them.

use longfat_tcp::{Pacing, TcpConfig};

/// The largest send and receive buffer of a socket; also what stands for "without bound" (`SO_RCVBUF` is doubled, and ends at 2^31 - 1).
pub const BUFFER_MAX: u64 = (1 << 30) - 1;
/// Control information and headers that lie in a receive buffer beside the payload: a small segment takes many times its length there.
const OVERHEAD: u64 = 8;

/// The options of a TCP socket, before it connects or listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `TCP_CONGESTION`.
    pub control: &'static str,
    /// `TCP_MAXSEG`: with the timestamps in each segment, which it counts.
    pub maxseg: i32,
    /// `SO_SNDBUFFORCE`, `SO_RCVBUFFORCE` and `TCP_WINDOW_CLAMP`; `None`: the kernel sizes them by itself.
    pub buffers: Option<Buffers>,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// `TCP_USER_TIMEOUT`, in milliseconds; 0: never.
    pub user_timeout: i32,
    /// Segments are spaced out whatever the control, by a `SO_MAX_PACING_RATE` that does not bound them.
    pub paced: bool,
}

/// Fixed buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Bytes of memory.
    pub send: i32,
    /// Bytes of memory.
    pub receive: i32,
    /// Payload bytes: the most that is advertised.
    pub window: i32,
}

impl Options {
    /// Returns the options of the end `tcp` with `control`. Its receive buffer is bounded by the most that the other end, `peer`, would
    /// send.
    pub fn of(tcp: &TcpConfig, control: &'static str, peer: &TcpConfig) -> Self {
        let memory = |bytes: u64| BUFFER_MAX.min(OVERHEAD * bytes + (1 << 16)) as i32;
        // The lesser of the two buffers bounds the data in flight. The window sets it to the byte, a buffer of the kernel does not.
        let window = tcp.receive_buffer.min(peer.send_buffer).min(BUFFER_MAX);
        // The kernel sizes a buffer without bound by itself, as far as `tcp_rmem` and `tcp_wmem` let it.
        let is_fixed = tcp.window_sizing.kind == "static" && window < BUFFER_MAX;
        Options {
            control,
            maxseg: tcp.mss as i32 + if tcp.timestamps { 12 } else { 0 },
            buffers: is_fixed.then(|| Buffers { send: memory(tcp.send_buffer), receive: memory(window), window: window as i32 }),
            nodelay: !tcp.sending.nagle,
            user_timeout: tcp.timers.user_timeout.map_or(0, |time| (time.as_ps() / 1_000_000_000) as i32),
            paced: tcp.sending.pacing == Pacing::On,
        }
    }
}

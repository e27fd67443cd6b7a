//! Options of a TCP socket, as the flow of an experiment has them.

use longfat_tcp::ecn::EcnKind;
use longfat_tcp::{CwndValidation, Pacing, RecoveryKind, TcpConfig};

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

/// Settings below `/proc/sys/net` that make a host's TCP this one.
pub fn settings(tcp: &TcpConfig) -> Vec<(&'static str, String)> {
    let bit = |on: bool| if on { "1" } else { "0" }.to_owned();
    let mut all = vec![
        // No connection may know what an earlier one has learned of a path.
        ("ipv4/tcp_no_metrics_save", "1".to_owned()),
        ("ipv4/tcp_sack", bit(tcp.sack && tcp.recovery.is_selective())),
        ("ipv4/tcp_recovery", bit(tcp.recovery == RecoveryKind::Rack)),
        ("ipv4/tcp_early_retrans", if tcp.repair.tail_probe && tcp.recovery == RecoveryKind::Rack { "3" } else { "0" }.to_owned()),
        ("ipv4/tcp_dsack", bit(tcp.dsack)),
        ("ipv4/tcp_timestamps", bit(tcp.timestamps)),
        ("ipv4/tcp_window_scaling", bit(tcp.window_scale)),
        ("ipv4/tcp_ecn", bit(tcp.ecn == EcnKind::Classic)),
        ("ipv4/tcp_frto", if tcp.repair.frto { "2" } else { "0" }.to_owned()),
        ("ipv4/tcp_reordering", tcp.repair.dupack_threshold.to_string()),
        ("ipv4/tcp_slow_start_after_idle", bit(tcp.sending.cwnd_validation != CwndValidation::Off)),
        ("ipv4/tcp_pacing_ss_ratio", tcp.sending.pacing_ss_ratio.to_string()),
        ("ipv4/tcp_pacing_ca_ratio", tcp.sending.pacing_ca_ratio.to_string()),
        ("ipv4/tcp_rmem", memory(tcp, "rmem_default", "rmem_max").unwrap_or_else(|| format!("4096 131072 {BUFFER_MAX}"))),
        ("ipv4/tcp_wmem", memory(tcp, "wmem_default", "wmem_max").unwrap_or_else(|| format!("4096 16384 {BUFFER_MAX}"))),
        ("core/somaxconn", "65535".to_owned()),
    ];
    let retries = |n: Option<u32>| n.map(|n| n.max(1).to_string());
    all.extend(retries(tcp.timers.syn_retries).map(|n| ("ipv4/tcp_syn_retries", n)));
    all.push(("ipv4/tcp_syn_linear_timeouts", tcp.timers.syn_linear_timeouts.to_string()));
    all.extend(retries(tcp.timers.syn_ack_retries).map(|n| ("ipv4/tcp_synack_retries", n)));
    all
}

/// `tcp_rmem` or `tcp_wmem`, where the windows are sized as Linux does; `None`: as far as the flow's own buffers let it.
fn memory(tcp: &TcpConfig, start: &'static str, most: &'static str) -> Option<String> {
    let of = |name| BUFFER_MAX.min(tcp.window_sizing.params.integer(name));
    (tcp.window_sizing.kind == "linux").then(|| format!("4096 {} {}", of(start), of(most)))
}

//! One TCP flow to or from a server of iperf3 ([`crate::protocol::iperf`]).

use serde::Serialize;

use crate::protocol::Nanos;

/// Result of one flow. `None`: nobody told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Flowed {
    /// Address and port of the server.
    pub address: String,
    /// True: from this host to the server.
    pub is_up: bool,
    /// Time for which the flow ran.
    pub ran_ns: Nanos,
    /// Payload of the time after the first fifth that the application read here, or that the server's kernel acknowledged; bit/s.
    pub goodput_bps: Option<f64>,
    /// Payload that the server says it has read or written.
    pub far_bytes: Option<u64>,
    /// Time for which it says so: seconds.
    pub far_s: Option<f64>,
    /// CPU of the server, as it says: percent of one.
    pub far_cpu_percent: Option<f64>,
    /// Congestion control of the sender.
    pub control: Option<String>,
    /// Round trip of the handshake of the control channel.
    pub rtt_idle_ns: Option<Nanos>,
    /// Median of the flow's smoothed round trips.
    pub rtt_p50_ns: Option<Nanos>,
    /// Their mean.
    pub rtt_mean_ns: Option<Nanos>,
    /// Payload that was sent, retransmissions and all.
    pub bytes_sent: Option<u64>,
    /// Payload of retransmissions.
    pub bytes_retransmitted: Option<u64>,
    /// Segments that the sender retransmitted.
    pub segments_retransmitted: Option<u64>,
    /// Time with data in flight or waiting, of which the receiver's window and the send buffer held some up.
    pub busy_ns: Option<Nanos>,
    /// Time held up by the receiver's window.
    pub rwnd_limited_ns: Option<Nanos>,
    /// Time held up by the send buffer.
    pub sndbuf_limited_ns: Option<Nanos>,
    /// True if the caller stopped it.
    pub is_cut: bool,
    /// Reason why the server was lost before it told its results.
    pub lost: Option<String>,
}

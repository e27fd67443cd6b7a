//! Results of a survey of the path to a server.

use serde::Serialize;

use crate::protocol::Nanos;
use crate::protocol::message::Setting;

/// A router on the way, by the time exceeded of its TTL (RFC 792, RFC 4443).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// TTL that ends there, from 1.
    pub ttl: u8,
    /// Address; `None`: it stayed silent.
    pub address: Option<String>,
    /// Round trip to it.
    pub rtt_ns: Option<Nanos>,
}

/// Survival of one octet of codepoint and ECN, each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Codepoint {
    /// Octet as it was sent.
    pub sent: u8,
    /// Octet as it came to the server; `None`: no question with it came through.
    pub up: Option<u8>,
    /// Octet as the server's came here; `None`: no answer with it came through.
    pub down: Option<u8>,
}

/// A message that a packet was too big.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TooBig {
    /// Address of the router; `None`: this host.
    pub from: Option<String>,
    /// MTU that it names.
    pub mtu: u32,
}

/// Packets sent one after the other, and when they arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// Bytes of a packet, with its headers of IP and UDP.
    pub size: u32,
    /// Nanoseconds from one to the next as they were sent; 0: as fast as the sender could.
    pub gap_ns: u32,
    /// Packets sent.
    pub sent: u32,
    /// Numbers of those that arrived, in order of their arrival.
    pub numbers: Vec<u32>,
    /// Times at which these left, on the sender's clock: nanoseconds.
    pub left_ns: Vec<Nanos>,
    /// Times of their arrival, on the receiver's clock: nanoseconds.
    pub came_ns: Vec<Nanos>,
}

/// View of a path without any flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// Address of the server.
    pub address: String,
    /// UDP port of this host.
    pub port: u16,
    /// Time for which the server let others go first.
    pub waited_ns: Nanos,
    /// Least round trip of three TCP handshakes, before and after.
    pub base_rtt_ns: [Option<Nanos>; 2],
    /// Addresses of this host as the server sees them, where NAT has made them others: of the control connection, and of UDP.
    pub nat: [Option<String>; 2],
    /// Settings of this host and of the server.
    pub settings: [Vec<Setting>; 2],
    /// Questions on an idle path.
    pub asked: u32,
    /// Round trips of those that were answered, without the time at the server, in order of their numbers.
    pub rtt_ns: Vec<Nanos>,
    /// Routers on the way to the server, in order of their TTL.
    pub hops: Vec<Hop>,
    /// Routers on the way to the server, by the TTL with which packets came to it.
    pub routers_up: Option<u8>,
    /// Routers on the way back.
    pub routers_down: Option<u8>,
    /// Largest packet that came to the server unfragmented: bytes with headers.
    pub mtu_up: Option<u32>,
    /// Largest packet that came back, of those up to `mtu_up`.
    pub mtu_down: Option<u32>,
    /// Largest packet that was tried.
    pub mtu_most: u32,
    /// MTUs that routers and this host named.
    pub too_big: Vec<TooBig>,
    /// Codepoints, each way.
    pub codepoints: Vec<Codepoint>,
    /// Burst to the server.
    pub up: Option<Burst>,
    /// Burst back.
    pub down: Option<Burst>,
    /// Bound of the rate of bursts that the server sets, in bit/s of UDP payload.
    pub rate_limit: Option<u64>,
    /// UDP payload that was sent and received here.
    pub bytes: u64,
    /// Parts for which no time or no bytes were left.
    pub cut: Vec<&'static str>,
    /// Reason why the session ended before the survey did.
    pub lost: Option<String>,
}

//! Window sizing: how large the send buffer and the advertised window are, and how they follow the path. One file a kind, one
//! line in [`REGISTRY`].
//!
//! The two ends of a connection size apart from each other: the sender its send buffer (a [`SendSizing`]), the receiver the window
//! it advertises (a [`ReceiveSizing`]). A kind that leaves one of them at its maximum has none there, and then a packet costs
//! nothing more than a branch.
//!
//! Whatever a kind says, it is bounded three times. `send_buffer` and `receive_buffer` are the most that the application allows;
//! `maxwnd`, a parameter of every kind, is the most that one connection may use at either end (Weigle and Feng 2001 §II); and the
//! host says how much memory there is ([`Connection::set_memory_limit`](super::Connection::set_memory_limit)).

mod auto_psc;
mod cwnd;
mod drs;
mod fixed;
mod flight;
mod ideal;
mod linux;
mod search;
#[cfg(test)]
mod tests;

use crate::TcpConfig;
use longfat_core::by_name;
pub use longfat_core::params::Refusal;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::{Duration, Time};
use std::fmt::Debug;

/// Memory of the host that a connection uses, and would use. Payload bytes.
///
/// The receiving side is bound to `receive_buffered + promised - held beyond a gap`: [`MemoryUse::receive_committed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes acknowledged so far.
    pub acked: u64,
    /// Bytes sent and not acknowledged.
    pub outstanding: u64,
    /// Written here and not acknowledged, as far as the send buffer has room for it.
    pub send_buffered: u64,
    /// True if the application has more to write than the send buffer takes now.
    pub writer_waits: bool,
    /// Size that the send buffer may have now.
    pub send_buffer: u64,
    /// Size that the send buffer would have with memory enough: the demand.
    pub send_wanted: u64,
    /// Arrived and not read: in order, and beyond a gap.
    pub receive_buffered: u64,
    /// Bytes of `receive_buffered` that are in order.
    pub unread: u64,
    /// Advertised and not yet in order: from the next byte expected to the right edge, which never moves left.
    pub promised: u64,
    /// Size that the window and the unread data would have together, with memory enough: the demand.
    pub receive_wanted: u64,
}

impl MemoryUse {
    /// Returns the bytes that the receiving side must be able to hold if all that was advertised is sent and none is read.
    pub fn receive_committed(&self) -> u64 {
        self.unread + self.promised
    }
}

/// The state of a sender after an ACK (or at the start).
#[derive(Clone, Copy, Debug)]
pub struct SendState {
    /// Time when the ACK came.
    pub now: Time,
    /// The congestion window, or that of the recovery under way.
    pub cwnd: u64,
    /// Bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Bytes that must be in the send buffer for that window to be used: what is sent and not acknowledged, and what the window lets go
    /// beside it.
    pub needed: u64,
    /// Bytes that the other end allows now, from `una` on.
    pub rwnd: u64,
    /// Offset up to which all is acknowledged.
    pub una: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Round trips so far, counted in packets.
    pub round: u64,
    /// The smoothed round trip (RFC 6298 §2); zero before the first.
    pub srtt: Duration,
}

/// Sizes a send buffer.
pub trait SendSizing: Debug {
    /// The sender is in this state now.
    fn update(&mut self, state: &SendState);
    /// Returns how much the send buffer holds: written, not acknowledged. Bounds apply besides.
    fn buffer(&self) -> u64;
    /// Returns how much of a buffer of `size` bytes may still be in use when a writer that found it full goes on. By default all.
    fn wakes_writer_at(&self, size: u64) -> u64 {
        size
    }
}

/// Data has been taken in. Byte counts are offsets of the stream.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time when the segment came.
    pub now: Time,
    /// Bytes that have come so far, in order or not; each counts once.
    pub received: u64,
    /// Bytes that the application has taken so far.
    pub read: u64,
    /// Next byte expected.
    pub next: u64,
    /// The timestamp that the segment echoes, where timestamps are in use.
    pub echoed: Option<u32>,
    /// True if the segment was marked on its way (ECN).
    pub marked: bool,
    /// The largest payload of a segment so far.
    pub segment: u64,
}

/// An ACK goes out.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Time when the ACK goes.
    pub now: Time,
    /// Its timestamp, where timestamps are in use.
    pub timestamp: Option<u32>,
    /// Bytes that have come so far, in order or not; each counts once.
    pub received: u64,
    /// The right edge of the window.
    pub edge: u64,
}

/// Sizes the window a receiver advertises.
pub trait ReceiveSizing: Debug {
    /// The SYN and its answer took `rtt`.
    fn on_established(&mut self, _rtt: Duration) {}
    /// Data has come.
    fn on_arrival(&mut self, arrival: &Arrival);
    /// An ACK goes out.
    fn on_answer(&mut self, _answer: &Answer) {}
    /// Returns how much the receive buffer holds: what is unread, and the window. Bounds apply besides.
    fn buffer(&self) -> u64;
    /// The round trip as measured here, and the bytes that came in the last whole one.
    fn measured(&self) -> (Duration, u64) {
        (Duration::ZERO, 0)
    }
    /// Returns true if the other side should hear at once of what the last segment changed.
    fn has_news(&self) -> bool {
        false
    }
    /// The host says how much memory there is, for what [`Self::buffer`] may grow to.
    fn on_memory(&mut self, _bytes: u64) {}
    /// Returns true if the window is one that the memory of the host can take ([`super::Connection::set_memory_limit`]). If not, data may
    /// come for which there is none.
    fn keeps_to_memory(&self) -> bool {
        true
    }
}

/// Kind of window sizing.
pub struct SizingKind {
    /// Name, as the parameter `window_sizing` spells it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source of the definition: authors, title, venue and year.
    pub source: &'static str,
    /// Its parameters beside those of TCP, which validation, sweeps and the schema know from here.
    pub params: &'static [ParamSpec],
    /// Checks what bounds on single parameters cannot say.
    pub check: fn(&TcpConfig) -> Result<(), Refusal>,
    /// The most that the send buffer and the receive buffer can grow to by its own parameters.
    pub most: fn(&TcpConfig) -> (u64, u64),
    /// For the sending side; `None`: as much as the bounds allow.
    pub send: fn(&TcpConfig) -> Option<Box<dyn SendSizing + Send>>,
    /// For the receiving side; `None`: as much as the bounds allow.
    pub receive: fn(&TcpConfig) -> Option<Box<dyn ReceiveSizing + Send>>,
}

/// Every kind, in the order of listings.
pub const REGISTRY: &[SizingKind] = &[fixed::KIND, ideal::KIND, drs::KIND, search::KIND, auto_psc::KIND, linux::KIND];
by_name!(SizingKind, "window sizing", with params);

/// The kind that `config` asks for.
pub fn kind(config: &TcpConfig) -> &'static SizingKind {
    named(config.window_sizing.kind)
}

/// Weigle and Feng 2001 §II: the most memory that any one connection can use.
const MAXWND: ParamSpec = ParamSpec {
    name: "maxwnd",
    kind: Kind::Window,
    default: Some(Value::Auto),
    doc: "the most that one connection may use of memory, at either end: bounds the flow-control window; by default the buffers alone do",
};

/// The most that the send buffer and the receive buffer can be: what the application allows, maxwnd, and the kind's own maximum.
pub fn bounds(config: &TcpConfig) -> (u64, u64) {
    let maxwnd = maxwnd(config);
    let (send, receive) = (kind(config).most)(config);
    (config.send_buffer.min(maxwnd).min(send), config.receive_buffer.min(maxwnd).min(receive))
}

/// Returns the size of a send buffer at first, with memory enough.
pub fn send_buffer(config: &TcpConfig) -> u64 {
    (kind(config).send)(config).map_or(u64::MAX, |sizing| sizing.buffer()).min(bounds(config).0)
}

/// Returns the bounds of a kind whose buffers only the bounds of all kinds limit.
const fn unbounded(_: &TcpConfig) -> (u64, u64) {
    (u64::MAX, u64::MAX)
}

fn maxwnd(config: &TcpConfig) -> u64 {
    config.window_sizing.params.window(MAXWND.name, config.mss.into()).unwrap_or(u64::MAX)
}

fn check_maxwnd(config: &TcpConfig) -> Result<(), Refusal> {
    check_segment(MAXWND.name, maxwnd(config), config)
}

/// A window below one segment would never let a full one go.
fn check_segment(param: &'static str, window: u64, config: &TcpConfig) -> Result<(), Refusal> {
    let mss = config.mss;
    if window < u64::from(mss) {
        let sentence = format!("{window} bytes are less than one segment of {mss} bytes");
        return Err(Refusal { param, sentence, expected: format!("at least \"1 segment\", or \"{mss} bytes\"") });
    }
    Ok(())
}

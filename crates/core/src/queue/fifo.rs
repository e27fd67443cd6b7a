//! First in, first out, with an account of the packets held: shared by every queue with a single FIFO.

use super::{DropReason, QueueContext, QueueLog, discard};
use crate::packet::{Line, Packet, PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::time::{Duration, Time};
use crate::units::Capacity;

/// Unit in which a queue counts its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// IP bytes.
    Bytes,
    /// Packets, whatever their size.
    Packets,
}

impl Measure {
    /// Returns `packets` or `bytes`, whichever is counted.
    #[inline]
    pub const fn of(self, packets: u64, bytes: u64) -> u64 {
        match self {
            Measure::Bytes => bytes,
            Measure::Packets => packets,
        }
    }
    /// Returns the cost of a packet of `ip_len` bytes.
    #[inline]
    pub const fn cost(self, ip_len: u32) -> u64 {
        match self {
            Measure::Bytes => ip_len as u64,
            Measure::Packets => 1,
        }
    }
    /// Returns the unit in words.
    pub const fn unit(self) -> &'static str {
        match self {
            Measure::Bytes => "bytes",
            Measure::Packets => "packets",
        }
    }
}

/// Limit of a queue, and its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Unit of the limit.
    pub measure: Measure,
    /// Most that may be held.
    pub max: u64,
}

impl Limit {
    /// Returns the limit that `capacity` means at this place; a BDP is `rate` times `rtt`, in bytes.
    pub fn new(capacity: Capacity, context: &QueueContext) -> Self {
        match capacity {
            Capacity::Bytes(max) => Limit { measure: Measure::Bytes, max },
            Capacity::Packets(max) => Limit { measure: Measure::Packets, max },
            Capacity::Bdp(times) => {
                Limit { measure: Measure::Bytes, max: (context.rate.bytes_in(context.rtt) as f64 * times + 0.5) as u64 }
            }
        }
    }

    /// Returns true if a packet of `ip_len` bytes may be held beside the `held` that are, counted in [`Limit::measure`].
    #[inline]
    pub const fn has_room(&self, held: u64, ip_len: u32) -> bool {
        held + self.measure.cost(ip_len) <= self.max
    }

    /// Checks that a packet of the path's MTU fits. The error is one sentence for the user; `name` is the parameter that sets the limit.
    pub fn check_holds_a_packet(&self, name: &str, context: &QueueContext) -> Result<(), String> {
        if self.max >= self.measure.cost(context.mtu) {
            return Ok(());
        }
        Err(format!("{name} is {} {}, less than one packet of the MTU ({} bytes)", self.max, self.measure.unit(), context.mtu))
    }
}

/// Parameter that limits a single FIFO.
pub(super) const LIMIT: ParamSpec = ParamSpec {
    name: "limit",
    kind: Kind::Capacity,
    // One bandwidth-delay product: what a single Reno flow needs to keep the link busy (ANSNET paper, section 3).
    default: Some(Value::Capacity(Capacity::Bdp(1.0))),
    doc: "the most it holds, the packet in transmission not counted",
};

/// Returns the limit given by [`LIMIT`].
pub(super) fn limit_of(params: &Params, context: &QueueContext) -> Limit {
    Limit::new(params.capacity(LIMIT.name), context)
}

/// Returns the limit parameter of a queue that keeps itself short, and has room for bursts only; `doc` gives the least default in packets.
pub(super) const fn roomy_limit(doc: &'static str) -> ParamSpec {
    ParamSpec { name: LIMIT.name, kind: Kind::Capacity, default: Some(Value::Auto), doc }
}

/// Returns the limit given by [`roomy_limit`], or else `packets`, or the bytes that the link sends in 250 ms if these are more (the buffer
/// that RFC 9332 appendix A.1 gives its queue). A fixed number would be less than the delay that the queue aims at where the link is fast.
pub(super) fn roomy_limit_of(params: &Params, context: &QueueContext, packets: u64) -> Limit {
    if !params.is_auto(LIMIT.name) {
        return limit_of(params, context);
    }
    let burst = context.rate.bytes_in(Duration::from_millis(250)) / u64::from(context.mtu);
    Limit { measure: Measure::Packets, max: packets.max(burst) }
}

/// Packets in a FIFO, and their bytes.
#[derive(Debug, Default)]
pub struct Backlog {
    line: Line,
    bytes: u64,
}

impl Backlog {
    /// Appends the packet `id`.
    #[inline]
    pub fn push(&mut self, id: PacketId, packets: &mut Packets) {
        self.bytes += u64::from(packets[id].ip_len());
        self.line.push(id, packets);
    }
    /// Takes the first packet.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let id = self.line.pop(packets)?;
        self.bytes -= u64::from(packets[id].ip_len());
        Some(id)
    }
    /// The first packet.
    #[inline]
    pub const fn first(&self) -> Option<PacketId> {
        self.line.first()
    }
    /// The packets, first to last.
    pub fn iter(&self, packets: &Packets) -> impl Iterator<Item = PacketId> {
        self.line.iter(packets)
    }
    /// Takes the packet behind `before`, which is held, or the first.
    pub fn take_after(&mut self, before: Option<PacketId>, packets: &mut Packets) -> Option<PacketId> {
        let id = self.line.take_after(before, packets)?;
        self.bytes -= u64::from(packets[id].ip_len());
        Some(id)
    }
    /// IP bytes held.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Packets held.
    #[inline]
    pub const fn packets(&self) -> u64 {
        self.line.len() as u64
    }
    /// Returns true if nothing is held.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

/// A FIFO with a limit. [`Fifo::enqueue`] drops packets that do not fit; a queue that drops by other rules asks [`Fifo::fits`] before
/// [`Fifo::push`].
#[derive(Debug)]
pub struct Fifo {
    held: Backlog,
    limit: Limit,
}

impl Fifo {
    /// Returns an empty FIFO.
    pub fn new(limit: Limit) -> Self {
        Fifo { held: Backlog::default(), limit }
    }
    /// Returns its limit.
    pub(super) fn limit(&self) -> Limit {
        self.limit
    }
    /// Returns true if `packet` fits.
    #[inline]
    pub fn fits(&self, packet: &Packet) -> bool {
        self.limit.has_room(self.held(self.limit.measure), packet.ip_len())
    }
    /// Takes the packet `id` that comes at `now`, or drops it if it does not fit (tail drop).
    #[inline]
    pub fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        if self.fits(&packets[id]) {
            packets[id].stamp = now;
            self.push(id, packets);
        } else {
            discard(now, id, DropReason::Overflow, packets, log);
        }
    }
    /// Returns the largest packet, in IP bytes, that fits while nothing is held.
    pub fn largest(&self) -> u32 {
        match self.limit.measure {
            Measure::Bytes => self.limit.max.try_into().unwrap_or(u32::MAX),
            Measure::Packets if self.limit.max > 0 => u32::MAX,
            Measure::Packets => 0,
        }
    }
    /// Appends the packet `id`.
    #[inline]
    pub fn push(&mut self, id: PacketId, packets: &mut Packets) {
        self.held.push(id, packets);
    }
    /// Takes the first packet.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        self.held.pop(packets)
    }
    /// The first packet.
    #[inline]
    pub const fn first(&self) -> Option<PacketId> {
        self.held.first()
    }
    /// Returns the packets themselves, for a queue that takes them by rules of its own.
    #[inline]
    pub fn backlog(&mut self) -> &mut Backlog {
        &mut self.held
    }
    /// Returns how much is held, counted in `measure`.
    #[inline]
    pub fn held(&self, measure: Measure) -> u64 {
        measure.of(self.held.packets(), self.held.bytes())
    }
}

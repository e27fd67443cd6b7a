//! First in, first out, with an account of what is held: what every queue of one line shares.

use super::QueueContext;
use crate::packet::{Line, Packet, PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::units::Capacity;

/// In what a queue counts what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// IP bytes.
    Bytes,
    /// Packets, whatever their size.
    Packets,
}

impl Measure {
    /// What a packet of `ip_len` bytes takes.
    #[inline]
    pub const fn cost(self, ip_len: u32) -> u64 {
        match self {
            Measure::Bytes => ip_len as u64,
            Measure::Packets => 1,
        }
    }
    /// The unit in words.
    pub const fn unit(self) -> &'static str {
        match self {
            Measure::Bytes => "bytes",
            Measure::Packets => "packets",
        }
    }
}

/// How much may be held, and in what it is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// What is counted.
    pub measure: Measure,
    /// The most that may be held.
    pub max: u64,
}

impl Limit {
    /// The limit `capacity` means at this place; a BDP is `rate` times `rtt`, in bytes.
    pub fn new(capacity: Capacity, context: &QueueContext) -> Self {
        match capacity {
            Capacity::Bytes(max) => Limit { measure: Measure::Bytes, max },
            Capacity::Packets(max) => Limit { measure: Measure::Packets, max },
            Capacity::Bdp(times) => {
                Limit { measure: Measure::Bytes, max: (context.rate.bytes_in(context.rtt) as f64 * times + 0.5) as u64 }
            }
        }
    }

    /// One sentence for the user unless a packet of the path's MTU fits; `name` is the parameter that sets the limit.
    pub fn check_holds_a_packet(&self, name: &str, context: &QueueContext) -> Result<(), String> {
        if self.max >= self.measure.cost(context.mtu) {
            return Ok(());
        }
        Err(format!("{name} is {} {}, less than one packet of the MTU ({} bytes)", self.max, self.measure.unit(), context.mtu))
    }
}

/// What every queue of one line may hold.
pub(super) const LIMIT: ParamSpec = ParamSpec {
    name: "limit",
    kind: Kind::Capacity,
    // One bandwidth-delay product: what a single Reno flow needs to keep the link busy (ANSNET paper, section 3).
    default: Some(Value::Capacity(Capacity::Bdp(1.0))),
    doc: "the most it holds, the packet in transmission not counted",
};

/// The limit given by [`LIMIT`].
pub(super) fn limit_of(params: &Params, context: &QueueContext) -> Limit {
    Limit::new(params.capacity(LIMIT.name), context)
}

/// Packets in a line, and counts of what they take. It never drops: ask [`Fifo::fits`] first.
#[derive(Debug)]
pub struct Fifo {
    line: Line,
    bytes: u64,
    limit: Limit,
}

impl Fifo {
    /// An empty line.
    pub fn new(limit: Limit) -> Self {
        Fifo { line: Line::new(), bytes: 0, limit }
    }
    /// Whether `packet` may still be held.
    #[inline]
    pub fn fits(&self, packet: &Packet) -> bool {
        let measure = self.limit.measure;
        self.held(measure) + measure.cost(packet.ip_len()) <= self.limit.max
    }
    /// The largest packet, in IP bytes, that fits while nothing is held.
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
    /// What is held, counted in `measure`.
    #[inline]
    pub fn held(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Bytes => self.bytes,
            Measure::Packets => self.line.len() as u64,
        }
    }
}

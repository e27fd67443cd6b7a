//! First in, first out, with an account of what is held: what every queue of one line shares.

use std::collections::VecDeque;

use super::QueueContext;
use crate::packet::Packet;
use crate::params::Params;
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
    pub measure: Measure,
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

/// The limit given by the capacity parameter `limit`.
pub(super) fn limit_of(params: &Params, context: &QueueContext) -> Limit {
    Limit::new(params.capacity("limit"), context)
}

/// Packets in a line, and counts of what they take. It never drops: ask [`Fifo::fits`] first.
#[derive(Debug)]
pub struct Fifo {
    packets: VecDeque<Packet>,
    bytes: u64,
    limit: Limit,
}

impl Fifo {
    /// An empty line.
    pub fn new(limit: Limit) -> Self {
        Fifo { packets: VecDeque::new(), bytes: 0, limit }
    }
    /// Whether `packet` may still be held.
    #[inline]
    pub fn fits(&self, packet: &Packet) -> bool {
        let measure = self.limit.measure;
        self.held(measure) + measure.cost(packet.ip_len()) <= self.limit.max
    }
    /// Appends `packet`.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.ip_len());
        push_tight(&mut self.packets, packet);
    }
    /// Takes the first packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.ip_len());
        Some(packet)
    }
    /// What is held, counted in `measure`.
    #[inline]
    pub fn held(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Bytes => self.bytes,
            Measure::Packets => self.packets.len() as u64,
        }
    }
}

/// Appends to a ring that grows by an eighth, not to the double: a packet held never costs more than 72 bytes of memory.
#[inline]
pub(super) fn push_tight<T>(ring: &mut VecDeque<T>, item: T) {
    if ring.len() == ring.capacity() {
        grow(ring);
    }
    ring.push_back(item);
}

#[cold]
fn grow<T>(ring: &mut VecDeque<T>) {
    ring.reserve_exact((ring.len() / 8).max(16));
}

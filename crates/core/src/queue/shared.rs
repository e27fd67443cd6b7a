//! Shared memory for the queues of all ports of a router: the share that each may take, and a queue that lives in it.
//!
//! A. K. Choudhury and E. L. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM ToN 6(2), 1998, called
//! CH98 below. What is held is counted in IP bytes; the packet in transmission is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{DropReason, Measure, Party, Queue, QueueLog, discard};
use crate::by_name;
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::time::Time;

/// One way to share a memory.
pub struct SharingKind {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it.
    pub source: &'static str,
    /// Parameters that users can set.
    pub params: &'static [ParamSpec],
    /// Returns the sharing with these parameters.
    pub build: fn(&Params) -> Sharing,
}

const SOURCE: &str = "Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, IEEE/ACM ToN 6(2), 1998";

/// Ways to share a memory, in the order of listings.
pub const REGISTRY: &[SharingKind] = &[
    SharingKind {
        name: "dynamic",
        summary: "a port takes nothing more while it holds `alpha` times what is free, or over that",
        source: SOURCE,
        params: &[ParamSpec {
            name: "alpha",
            kind: Kind::Number { min: 0.001, max: 1024.0 },
            default: Some(Value::Number(1.0)),
            doc: "of n queues that want more, each gets alpha B / (1 + n alpha) of B bytes",
        }],
        build: |params| Sharing::Dynamic { alpha: params.number("alpha") },
    },
    SharingKind {
        name: "static",
        summary: "each port has an equal part of its own",
        source: SOURCE,
        params: &[],
        build: |_| Sharing::Static,
    },
    SharingKind {
        name: "complete",
        summary: "any port may take all that is free",
        source: SOURCE,
        params: &[],
        build: |_| Sharing::Complete,
    },
];
by_name!(SharingKind, "sharing of a memory", with params);

/// Sharing of a memory among ports (CH98 §I and §II).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// Complete sharing: any port may take all that is free.
    Complete,
    /// Static sharing: each port has an equal part of its own.
    Static,
    /// Dynamic sharing: a port takes nothing more while it holds `alpha` times the free memory, or more (CH98 eq. 1).
    Dynamic {
        /// Factor of the free memory.
        alpha: f64,
    },
}

/// A memory of `bytes` bytes, and the use of it.
#[derive(Debug)]
pub struct SharedBuffer {
    bytes: u64,
    ports: u64,
    sharing: Sharing,
    used: AtomicU64,
}

impl SharedBuffer {
    /// Returns an empty memory of `bytes` for `ports` ports.
    pub fn new(bytes: u64, ports: u64, sharing: Sharing) -> Arc<Self> {
        Arc::new(SharedBuffer { bytes, ports, sharing, used: AtomicU64::new(0) })
    }

    /// Returns the IP bytes held by all ports.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the bytes that a port could hold alone: if they are less than a packet, nothing passes.
    pub fn alone(&self) -> u64 {
        match self.sharing {
            Sharing::Static => self.bytes / self.ports,
            Sharing::Complete | Sharing::Dynamic { .. } => self.bytes,
        }
    }

    /// Returns true if a port that holds `held` bytes may take a packet of `len` more.
    fn admits(&self, held: u64, len: u64) -> bool {
        let used = self.used();
        match self.sharing {
            Sharing::Complete => used + len <= self.bytes,
            Sharing::Static => held + len <= self.alone(),
            // CH98 §II: a packet that comes to a queue at or over the threshold is blocked. (A packet that finds it below may end over it.)
            Sharing::Dynamic { alpha } => used + len <= self.bytes && (held as f64) < alpha * (self.bytes - used) as f64,
        }
    }
}

/// The queue of one port: the memory is asked first, and then the queue itself, so that the smaller threshold decides.
pub struct SharedPort {
    queue: Box<dyn Queue + Send>,
    memory: Arc<SharedBuffer>,
    held: u64,
}

impl SharedPort {
    /// Puts `queue`, which is empty, into `memory`.
    pub fn new(queue: Box<dyn Queue + Send>, memory: Arc<SharedBuffer>) -> Self {
        SharedPort { queue, memory, held: 0 }
    }

    /// Tells the memory the length of the queue, which has changed.
    #[inline]
    fn account(&mut self) {
        let held = self.queue.held(Measure::Bytes);
        // The difference wraps in two's complement: a decrease is added as well.
        self.memory.used.fetch_add(held.wrapping_sub(self.held), Ordering::Relaxed);
        self.held = held;
    }

    /// Returns true if the memory has room for the packet `id`; if not, drops it.
    #[inline]
    fn admits(&self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        let admits = self.memory.admits(self.held, packets[id].ip_len().into());
        if !admits {
            discard(now, id, DropReason::Overflow, packets, log);
        }
        admits
    }
}

impl Queue for SharedPort {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        if self.admits(now, id, packets, log) {
            self.queue.enqueue(now, id, packets, log);
            self.account();
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.queue.dequeue(now, packets, log);
        self.account();
        id
    }
    fn pass(&mut self, idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        self.admits(now, id, packets, log) && self.queue.pass(idle, now, id, packets, log)
    }
    // Packets of other ports may leave no room: the queue is always asked.
    fn passes(&self) -> u32 {
        0
    }
    fn shapes(&self) -> bool {
        self.queue.shapes()
    }
    fn opens(&self, from: Time) -> Time {
        self.queue.opens(from)
    }
    fn held(&self, measure: Measure) -> u64 {
        self.queue.held(measure)
    }
    fn tell(&mut self, route: u32, party: &Party<'_>) {
        self.queue.tell(route, party);
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.queue.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Time) {
        self.queue.handle_timeout(now);
        self.account();
    }
}

#[cfg(test)]
mod tests;

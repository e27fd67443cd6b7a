//! Queues: what a router does with a packet that cannot leave at once. One file a queue, one line in [`REGISTRY`].

mod blue;
mod bucket;
mod buffer_pool;
mod cake;
mod choke;
mod classes;
mod codel;
mod droptail;
mod drr;
mod dualpi2;
pub mod early;
mod ets;
pub mod fifo;
mod flows;
mod fq;
mod fq_codel;
mod fq_pie;
mod hhf;
mod htb;
mod inner;
mod pfifo_head_drop;
mod pi;
mod pie;
mod policer;
pub mod pool;
mod prio;
pub mod promises;
mod red;
mod red_ansnet;
mod sfb;
mod sfq;
pub mod shared;
mod step;
mod tbf;
#[cfg(test)]
mod tests;
mod wred;
mod xcp;

pub use classes::{GROUP, HOST, Share, share};
pub use fifo::{Limit, Measure};
pub use inner::{build, check, in_bytes};
pub use promises::Claim;

use crate::by_name;
use crate::packet::{Ecn, PacketId, Packets};
use crate::params::{ParamSpec, Params};
use crate::promise::Promise;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Reasons to drop a packet, with the word that names each in results. This is the only list of them.
macro_rules! drop_reasons {
    ($($reason:ident, $word:literal, $doc:literal;)*) => {
        /// Reason why a packet was dropped. Every counter keeps the reasons apart.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
        pub enum DropReason {
            $(#[doc = $doc] $reason,)*
        }

        impl DropReason {
            /// Every reason, in the order of the counters.
            pub const ALL: &[DropReason] = &[$(DropReason::$reason),*];

            /// Returns its counter in the results of a link: `drops_overflow`.
            pub const fn column(self) -> &'static str {
                match self { $(DropReason::$reason => concat!("drops_", $word)),* }
            }
            /// Returns its kind of event: `dropped_overflow`.
            pub const fn event(self) -> &'static str {
                match self { $(DropReason::$reason => concat!("dropped_", $word)),* }
            }
            /// Meaning, in one line.
            pub const fn summary(self) -> &'static str {
                match self { $(DropReason::$reason => $doc),* }
            }
        }
    };
}

drop_reasons! {
    Overflow, "overflow", "the queue was full";
    Early, "early", "an active queue dropped it early, to signal congestion";
    Loss, "loss", "the link lost it";
    Corrupted, "corrupted", "the receiver's checksum failed";
    TooBig, "too_big", "it was larger than the MTU of the link";
    NoMemory, "no_memory", "the host it came to had no memory left for it";
    Overrun, "overrun", "the host it came to could not keep up: its receive ring or its backlog was full";
    AckFilter, "ack_filter", "an ACK filter left it out: an ACK behind it in the queue said all that it did";
}

/// Log to which a queue reports drops and marks.
pub trait QueueLog {
    /// Records that the packet `id` was dropped; it is still there.
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason);
    /// Records that the packet `id` was marked CE instead of dropped.
    fn marked(&mut self, now: Time, id: PacketId, packets: &Packets);
    /// Records that a line carried a packet twice: `id` is the copy. No queue does that.
    fn duplicated(&mut self, _now: Time, _id: PacketId, _packets: &Packets) {}
}

/// Drops a packet of `packets`: `log` is told, and its slot is free.
pub fn discard(now: Time, id: PacketId, reason: DropReason, packets: &mut Packets, log: &mut dyn QueueLog) {
    log.dropped(now, id, packets, reason);
    packets.remove(id);
}

/// Marks the packet `id` if it is ECN-capable, and returns true if it is. RFC 3168 §5: CE instead of ECT; CE stays CE.
#[inline]
fn mark(now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
    let capable = packets[id].ecn != Ecn::NotEct;
    if capable {
        packets[id].ecn = Ecn::Ce;
        log.marked(now, id, packets);
    }
    capable
}

/// Sender, receiver and group of the packets of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Party<'a> {
    /// Group of the flow; empty if none is known.
    pub group: &'a str,
    /// Hosts at its ends: the source and the destination of its packets.
    pub hosts: [&'a str; 2],
}

/// A queue in front of a link of constant rate. Time never runs backwards between calls, and the `packets` are the same
/// in all of them.
///
/// The driver calls `dequeue` exactly when the link falls idle, with `now` that instant, or later when a queue that [`Queue::shapes`] opens; at equal
/// times a departure comes before an arrival.
pub trait Queue {
    /// Takes the packet `id` in and sets its stamp to `now`, or drops it (or another) by [`discard`].
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog);
    /// Returns the next packet to transmit. `None` only when nothing is held (any more), or when all packets that could leave now were
    /// dropped and the rest may not leave yet ([`Queue::shapes`]). A queue asked before it opens gives a packet as if it had opened: so a
    /// queue can be emptied.
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId>;
    /// Passes the packet `id`, which finds this queue empty and its link idle. Returns true if it goes out at once. This is an `enqueue`
    /// and a `dequeue` at `now` in one call; a queue that need not look at such a packet says so here, for speed. The link asked for a
    /// packet at `idle`, when it had sent the last one, and there was none: a queue that takes note of that does so here.
    fn pass(&mut self, _idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        self.enqueue(now, id, packets, log);
        self.dequeue(now, packets, log).is_some()
    }
    /// Returns the size in bytes up to which a packet that finds this queue empty and its link idle always goes out at once, and leaves no
    /// trace in the queue: it need not be asked to [`Queue::pass`] it. The answer holds for the life of the queue, which has no clock.
    fn passes(&self) -> u32 {
        0
    }
    /// True if it may hold packets back from an idle link: then [`Queue::opens`] says until when, and it is never asked to [`Queue::pass`]
    /// one. The answer holds for the life of the queue.
    fn shapes(&self) -> bool {
        false
    }
    /// Returns the first time from `from` on at which a queue that shapes and holds something has a packet to transmit. It is asked for
    /// none before. Until then an arrival may make that time earlier, and nothing makes it later.
    fn opens(&self, from: Time) -> Time {
        from
    }
    /// Returns the packet that leaves next, whatever comes before it does; `None` if that is not known beforehand.
    fn first(&self) -> Option<PacketId> {
        None
    }
    /// Returns the limit, if the queue is a FIFO that drops arrivals that do not fit, and nothing else.
    fn fifo_limit(&self) -> Option<Limit> {
        None
    }
    /// Returns how much is held, counted in `measure`.
    fn held(&self, measure: Measure) -> u64;
    /// Tells the queue that packets with this [`Packet::route`](crate::packet::Packet::route) are of `party`, before the first of them
    /// comes. It is for queues whose classes select by party, or that have such queues inside. Packets of unknown parties are not
    /// announced.
    fn tell(&mut self, _route: u32, _party: &Party<'_>) {}
    /// Returns when the queue wants `handle_timeout`, for queues that act on a clock (PIE): such a queue always has a time, from its making
    /// on.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }
    /// Handles the timeout that was asked for.
    fn handle_timeout(&mut self, _now: Time) {}
}

/// Facts about its place that a queue is given when it is made.
#[derive(Clone, Debug)]
pub struct QueueContext {
    /// Rate of the link it feeds (of framed packets).
    pub rate: Rate,
    /// Propagation round trip of the path, for defaults that depend on it.
    pub rtt: Duration,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
    /// Its own stream of randomness.
    pub rng: Rng,
}

/// One kind of queue.
pub struct QueueKind {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Parameters that users can set.
    pub params: &'static [ParamSpec],
    /// Claims about whole runs under overload.
    pub promises: &'static [Promise<Claim>],
    /// Checks what bounds on single parameters cannot say ("min_threshold must be under max_threshold").
    /// `Err` is one sentence for the user.
    pub check: fn(&Params, &QueueContext) -> Result<(), String>,
    /// Builds a queue, for one link.
    pub build: fn(&Params, QueueContext) -> Box<dyn Queue + Send>,
}

/// Every queue, in the order of listings.
pub const REGISTRY: &[QueueKind] = &[
    droptail::KIND,
    buffer_pool::KIND,
    red::KIND,
    red_ansnet::KIND,
    step::KIND,
    policer::KIND,
    codel::KIND,
    fq_codel::KIND,
    pie::KIND,
    fq_pie::KIND,
    dualpi2::KIND,
    cake::KIND,
    fq::KIND,
    drr::KIND,
    sfq::KIND,
    pfifo_head_drop::KIND,
    tbf::KIND,
    prio::KIND,
    htb::KIND,
    wred::KIND,
    pi::KIND,
    choke::KIND,
    blue::KIND,
    sfb::KIND,
    hhf::KIND,
    ets::KIND,
    xcp::KIND,
];
by_name!(QueueKind, "queue", with params);

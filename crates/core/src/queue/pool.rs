//! Buffers of a fixed size on the two sides of a router's cards: the account that `buffer_pool` and `red_ansnet` keep.
//!
//! ANSNET paper, section 4.2: a packet comes in on a *peer card* and is held on that card's receive side until the
//! output card's transmit side has buffers for it; from there it is transmitted. A packet takes whole buffers.

use super::QueueContext;
use crate::packet::{Line, Packet, PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};

pub(super) const BUFFER_SIZE: ParamSpec = ParamSpec {
    name: "buffer_size",
    kind: Kind::Bytes { min: 64, max: 65_536 },
    // ANSNET paper, section 4.2.
    default: Some(Value::Bytes(2048)),
    doc: "bytes of IP packet one buffer holds; a packet takes whole buffers",
};
pub(super) const TRANSMIT_PER_PEER: ParamSpec = buffers(
    "transmit_per_peer",
    Value::Auto,
    "the most transmit-side buffers that packets from one peer card may take; when not given, no limit a peer",
);
pub(super) const RESERVED_PER_PEER: ParamSpec = buffers(
    "reserved_per_peer",
    // The paper says that some buffers are guaranteed to each peer, not how many. With one busy peer it makes no difference.
    Value::Count(0),
    "transmit-side buffers guaranteed to each peer card; the rest is the common pool",
);
pub(super) const PEERS: ParamSpec = ParamSpec {
    name: "peers",
    kind: Kind::Count { unit: "", min: 1, max: 1024 },
    default: Some(Value::Count(1)),
    doc: "peer cards that have guaranteed buffers: the first so many from which a packet comes",
};

pub(super) const fn buffers(name: &'static str, default: Value, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Count { unit: "buffers", min: 0, max: 1 << 24 }, default: Some(default), doc }
}

/// Returns a count, if the user gave it.
pub(super) fn given(params: &Params, name: &str) -> Option<u64> {
    (!params.is_auto(name)).then(|| params.integer(name))
}

/// Division of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes a buffer holds.
    pub buffer_size: u32,
    /// Transmit-side buffers of all peers together.
    pub transmit: u64,
    /// Most of these buffers that one peer may take.
    pub per_peer: u64,
    /// Buffers of `transmit` guaranteed to each of the first `peers` peers.
    pub reserved: u64,
    /// Peers that have reserved buffers.
    pub peers: u64,
    /// Receive-side buffers of each peer card.
    pub receive: u64,
}

impl Shape {
    /// Returns the division that the shared parameters describe, of `transmit` buffers on the transmit side. One peer may take `per_peer`
    /// of them where `transmit_per_peer` is not given; `receive` returns the number then on its receive side.
    pub(super) fn new(params: &Params, transmit: u64, per_peer: u64, receive: impl Fn(u64) -> u64) -> Self {
        let per_peer = given(params, "transmit_per_peer").unwrap_or(per_peer);
        Shape {
            buffer_size: params.integer("buffer_size") as u32,
            transmit,
            per_peer,
            reserved: params.integer("reserved_per_peer"),
            peers: params.integer("peers"),
            receive: receive(per_peer),
        }
    }

    /// Returns the buffers that a packet of `ip_len` bytes takes.
    #[inline]
    pub const fn cost(&self, ip_len: u32) -> u64 {
        ip_len.div_ceil(self.buffer_size) as u64
    }

    /// Checks that the numbers do not contradict each other. The error is one sentence for the user.
    pub(super) fn check(&self, context: &QueueContext) -> Result<(), String> {
        let Shape { transmit, per_peer, reserved, peers, receive, .. } = *self;
        let need = self.cost(context.mtu);
        let takes = format!("one packet of the MTU ({} bytes) takes {need}", context.mtu);
        if per_peer > transmit {
            return Err(format!("transmit_per_peer is {per_peer} buffers, more than the {transmit} there are on the transmit side"));
        }
        if per_peer < need {
            return Err(format!("a peer card may take {per_peer} buffers on the transmit side, but {takes}"));
        }
        if receive > 0 && receive < need {
            return Err(format!("{receive} buffers are left for the receive side, but {takes}; leave none, or at least {need}"));
        }
        if reserved > per_peer {
            return Err(format!("reserved_per_peer is {reserved} buffers, more than the {per_peer} that one peer may take"));
        }
        // A peer without a guarantee must be able to send: the common pool holds a packet.
        if reserved * peers + need > transmit {
            return Err(format!(
                "reserved_per_peer ({reserved}) for {peers} peers leaves too few of {transmit} transmit-side buffers for the common pool: {takes}"
            ));
        }
        Ok(())
    }
}

/// Side on which an arriving packet may be buffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Transmit side, at once.
    Transmit,
    /// Receive side of its peer card, behind the packets that wait there.
    Receive,
    /// Nowhere: there is no buffer for it.
    Nowhere,
}

/// A peer card, with its use of each side.
#[derive(Debug)]
struct Peer {
    ingress: u16,
    /// Transmit-side buffers guaranteed to it.
    reserved: u64,
    transmit_used: u64,
    receive_used: u64,
    receive: Line,
}

/// Packets on both sides, and the account of their buffers.
#[derive(Debug)]
pub struct Pool {
    shape: Shape,
    /// The transmit side, in order of transmission.
    line: Line,
    transmit_used: u64,
    /// Buffers of the common pool in use.
    common_used: u64,
    /// Peers in the order in which they first sent a packet.
    peers: Vec<Peer>,
    /// Packets on receive sides.
    waiting: u64,
    bytes: u64,
}

impl Pool {
    /// An empty pool.
    pub fn new(shape: Shape) -> Self {
        Pool { shape, line: Line::new(), transmit_used: 0, common_used: 0, peers: Vec::new(), waiting: 0, bytes: 0 }
    }

    #[inline]
    fn peer(&mut self, ingress: u16) -> usize {
        if let Some(i) = self.peers.iter().position(|p| p.ingress == ingress) {
            return i;
        }
        let reserved = if (self.peers.len() as u64) < self.shape.peers { self.shape.reserved } else { 0 };
        self.peers.push(Peer { ingress, reserved, transmit_used: 0, receive_used: 0, receive: Line::new() });
        self.peers.len() - 1
    }

    /// Returns true if the transmit side has `cost` buffers for this peer: its guaranteed ones first, then common ones.
    #[inline]
    fn transmit_has(&self, peer: &Peer, cost: u64) -> bool {
        let common = self.shape.transmit - self.shape.reserved * self.shape.peers;
        let from_common = cost.saturating_sub(peer.reserved.saturating_sub(peer.transmit_used));
        peer.transmit_used + cost <= self.shape.per_peer && self.common_used + from_common <= common
    }

    /// Returns where `packet` would go now. A peer's packets keep their order: none passes one that waits on its receive side.
    pub fn place(&mut self, packet: &Packet) -> Place {
        let (cost, i) = self.account(packet);
        self.place_of(cost, i)
    }

    #[inline]
    fn place_of(&self, cost: u64, i: usize) -> Place {
        let peer = &self.peers[i];
        if peer.receive.is_empty() && self.transmit_has(peer, cost) {
            Place::Transmit
        } else if cost <= self.shape.per_peer && peer.receive_used + cost <= self.shape.receive {
            Place::Receive
        } else {
            Place::Nowhere
        }
    }

    /// Puts the packet `id` where it goes now. Returns where that is.
    #[inline]
    pub fn take(&mut self, id: PacketId, packets: &mut Packets) -> Place {
        let (cost, i) = self.account(&packets[id]);
        let place = self.place_of(cost, i);
        match place {
            Place::Transmit => self.transmit(cost, i, id, packets),
            Place::Receive => self.receive(cost, i, id, packets),
            Place::Nowhere => {}
        }
        place
    }

    /// Returns true if `packet`, which finds the pool empty, would go to the transmit side.
    #[inline]
    pub fn passes(&mut self, packet: &Packet) -> bool {
        debug_assert!(self.packets() == 0);
        let (cost, i) = self.account(packet);
        self.transmit_has(&self.peers[i], cost)
    }

    /// Puts the packet `id` at the end of the transmit side, which must have room for it.
    pub fn push_transmit(&mut self, id: PacketId, packets: &mut Packets) {
        let (cost, i) = self.account(&packets[id]);
        self.transmit(cost, i, id, packets);
    }

    #[inline]
    fn transmit(&mut self, cost: u64, i: usize, id: PacketId, packets: &mut Packets) {
        debug_assert!(self.transmit_has(&self.peers[i], cost));
        self.charge(i, |used| used + cost);
        self.bytes += u64::from(packets[id].ip_len());
        self.line.push(id, packets);
    }

    /// Puts the packet `id` at the end of its peer's receive side, which must have room for it.
    pub fn push_receive(&mut self, id: PacketId, packets: &mut Packets) {
        let (cost, i) = self.account(&packets[id]);
        self.receive(cost, i, id, packets);
    }

    fn receive(&mut self, cost: u64, i: usize, id: PacketId, packets: &mut Packets) {
        let peer = &mut self.peers[i];
        peer.receive_used += cost;
        debug_assert!(peer.receive_used <= self.shape.receive);
        peer.receive.push(id, packets);
        self.waiting += 1;
        self.bytes += u64::from(packets[id].ip_len());
    }

    /// Takes the next packet to transmit. Its buffers are free at once.
    pub fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let id = self.line.pop(packets)?;
        let (cost, i) = self.account(&packets[id]);
        self.charge(i, |used| used - cost);
        self.bytes -= u64::from(packets[id].ip_len());
        Some(id)
    }

    /// Takes the packet that has waited longest on a receive side, among those for which the transmit side has room.
    #[inline]
    pub fn take_waiting(&mut self, packets: &Packets) -> Option<PacketId> {
        if self.waiting == 0 { None } else { self.take_ready(packets) }
    }

    fn take_ready(&mut self, packets: &Packets) -> Option<PacketId> {
        let ready = |peer: &Peer| {
            let head = &packets[peer.receive.first()?];
            self.transmit_has(peer, self.shape.cost(head.ip_len())).then_some(head.stamp)
        };
        let (i, _) = self.peers.iter().enumerate().filter_map(|(i, p)| Some((i, ready(p)?))).min_by_key(|&(_, stamp)| stamp)?;
        let peer = &mut self.peers[i];
        let id = peer.receive.pop(packets)?;
        let ip_len = packets[id].ip_len();
        peer.receive_used -= self.shape.cost(ip_len);
        self.waiting -= 1;
        self.bytes -= u64::from(ip_len);
        Some(id)
    }

    /// Returns the buffers that `packet` takes, and the number of its peer.
    #[inline]
    fn account(&mut self, packet: &Packet) -> (u64, usize) {
        (self.shape.cost(packet.ip_len()), self.peer(packet.ingress))
    }

    /// Changes the use of the transmit side by peer `i`, and with it that of the common pool.
    #[inline]
    fn charge(&mut self, i: usize, change: impl Fn(u64) -> u64) {
        let peer = &mut self.peers[i];
        let (before, after) = (peer.transmit_used, change(peer.transmit_used));
        peer.transmit_used = after;
        self.transmit_used = self.transmit_used + after - before;
        self.common_used = self.common_used + after.saturating_sub(peer.reserved) - before.saturating_sub(peer.reserved);
    }

    /// Returns the division of its buffers.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// Buffers in use on the transmit side.
    pub fn transmit_used(&self) -> u64 {
        self.transmit_used
    }
    /// Buffers in use on both sides.
    pub fn used(&self) -> u64 {
        self.transmit_used + self.peers.iter().map(|p| p.receive_used).sum::<u64>()
    }
    /// Packets held on both sides.
    pub fn packets(&self) -> u64 {
        self.line.len() as u64 + self.waiting
    }
    /// IP bytes held on both sides.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests;

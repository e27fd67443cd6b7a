//! A queue alone, with its packets and what it says of them: for the unit tests of one kind.

use super::super::{Queue, build, check};
use super::{Ledger, context, packet};
use crate::packet::{Direction, Packet, Packets};
use crate::params::{Choice, Params};
use crate::time::{Duration, Time};

pub(in crate::queue) struct Rig<Q: ?Sized> {
    pub queue: Box<Q>,
    pub packets: Packets,
    pub log: Ledger,
}

/// Returns the time `us` microseconds after the start.
pub(in crate::queue) fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

impl Rig<dyn Queue + Send> {
    /// The queue `kind` in front of 12 Mbit/s, a packet per millisecond.
    pub fn of(kind: &'static str, params: &Params) -> Self {
        let (choice, context) = (Choice { kind, params: params.clone() }, context(12_000_000, 100, 1500));
        assert_eq!(check(&choice, &context), Ok(()));
        Rig { queue: build(&choice, context), packets: Packets::new(), log: Ledger::default() }
    }
}

impl<Q: Queue> Rig<Q> {
    pub fn new(queue: Q) -> Self {
        Rig { queue: Box::new(queue), packets: Packets::new(), log: Ledger::default() }
    }
}

impl<Q: Queue + ?Sized> Rig<Q> {
    /// Packet number `seq` of `size` bytes arrives at `now`, with what `set` sets.
    pub fn arrive(&mut self, now: Time, seq: u32, size: u16, set: impl FnOnce(&mut Packet)) {
        let (mut packet, segment) = packet(seq, size - 40, 0);
        set(&mut packet);
        let id = self.packets.insert(Direction::There, packet, segment);
        self.queue.enqueue(now, id, &mut self.packets, &mut self.log);
    }

    /// Returns the number of the packet that leaves at `now`.
    pub fn depart(&mut self, now: Time) -> Option<u32> {
        let id = self.queue.dequeue(now, &mut self.packets, &mut self.log)?;
        self.packets.remove(id);
        Some(self.packets.segment(id).seq)
    }
}

//! Counters of a link.

use super::one_way::Framed;
use crate::packet::{PacketId, Packets};
use crate::queue::{DropReason, QueueLog};
use crate::time::Time;

/// Counters of one link so far. Packets, unless a field says otherwise.
#[derive(Debug, Default)]
pub struct Count {
    /// Packets that came to the queue.
    pub packets_in: u64,
    /// Packets that reached the far end. The driver counts them, since it is the one to take them there.
    pub delivered: u64,
    /// Packets lost on the wire.
    pub lost: u64,
    /// Packets that the line carried twice.
    pub duplicated: u64,
    /// PAUSE frames that have come to the transmitter, or are on their way.
    pub pauses: u64,
    /// Picoseconds for which a packet waited though the line was free: for a PAUSE to end, for its turn in the leaky bucket, or for a queue that shapes.
    pub held_ps: u64,
    /// Packets dropped, by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets marked CE.
    pub marks: u64,
    /// Packets in the queue. The count is kept here, since asking the queue would cost two calls per packet. The audit compares both.
    pub backlog: u64,
    /// IP bytes in the queue.
    pub backlog_bytes: u64,
    /// Most packets that were in the queue.
    pub backlog_max: u64,
    /// Most bytes that were in the queue.
    pub backlog_bytes_max: u64,
    /// Packets on the line. With a timetable, those that have yet to begin are in it: [`Link::carried`](super::Link::carried) is without them.
    pub(super) carried: Carried,
}

/// Packets and bytes that a line has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Packets that the transmitter took.
    pub transmitted: u64,
    /// IP bytes transmitted.
    pub ip_bytes: u64,
    /// Framed bytes transmitted.
    pub wire_bytes: u64,
    /// Picoseconds of the transmissions begun.
    pub busy_ps: u64,
    /// Sums over the packets that waited of (when they left the queue - when they came), in ps and byte ps. A packet that still waits has
    /// only the second term in, so the sums wrap. [`Link::waited`](super::Link::waited) corrects them.
    pub(super) waited: u128,
    pub(super) waited_bytes: u128,
}

impl Carried {
    /// Counts a packet whose transmission begins.
    #[inline]
    pub(super) fn transmits(&mut self, frame: &Framed) {
        self.transmitted += 1;
        self.ip_bytes += u64::from(frame.ip_len);
        self.wire_bytes += u64::from(frame.bytes);
        self.busy_ps += frame.time.as_ps();
    }

    /// Counts `packets` packets whose waits are `waited` ps in all.
    #[inline]
    pub(super) fn transmit(&mut self, packets: u64, frame: &Framed, waited: u128) {
        self.transmitted += packets;
        self.ip_bytes += packets * u64::from(frame.ip_len);
        self.wire_bytes += packets * u64::from(frame.bytes);
        self.busy_ps += packets * frame.time.as_ps();
        self.waited = self.waited.wrapping_add(waited);
        self.waited_bytes = self.waited_bytes.wrapping_add(waited * u128::from(frame.ip_len));
    }

    /// Ends the wait of a packet of `len` bytes at `now`.
    #[inline]
    pub(super) fn leaves(&mut self, now: Time, len: u32) {
        self.waited = self.waited.wrapping_add(u128::from(now.as_ps()));
        self.waited_bytes = self.waited_bytes.wrapping_add(u128::from(now.as_ps()) * u128::from(len));
    }

    /// Returns these counts less those of `ahead`.
    pub(super) fn without(self, ahead: &Carried) -> Self {
        Carried {
            transmitted: self.transmitted - ahead.transmitted,
            ip_bytes: self.ip_bytes - ahead.ip_bytes,
            wire_bytes: self.wire_bytes - ahead.wire_bytes,
            busy_ps: self.busy_ps - ahead.busy_ps,
            waited: self.waited.wrapping_sub(ahead.waited),
            waited_bytes: self.waited_bytes.wrapping_sub(ahead.waited_bytes),
        }
    }
}

impl Count {
    /// Counts a packet of `len` bytes that came into the queue at `now`.
    #[inline]
    pub fn enter(&mut self, now: Time, len: u32) {
        self.backlog = self.backlog.wrapping_add(1);
        self.backlog_bytes = self.backlog_bytes.wrapping_add(u64::from(len));
        self.carried.waited = self.carried.waited.wrapping_sub(u128::from(now.as_ps()));
        self.carried.waited_bytes = self.carried.waited_bytes.wrapping_sub(u128::from(now.as_ps()) * u128::from(len));
    }

    /// Counts a packet of `len` bytes that left the queue at `now`. (A packet that a queue drops while it passes through leaves before it
    /// enters.)
    #[inline]
    pub fn leave(&mut self, now: Time, len: u32) {
        self.backlog = self.backlog.wrapping_sub(1);
        self.backlog_bytes = self.backlog_bytes.wrapping_sub(u64::from(len));
        self.carried.leaves(now, len);
    }

    /// Notes the backlog after an arrival.
    #[inline]
    pub fn note_backlog(&mut self) {
        // The maxima are updated one by one: both at once would be loaded as one, and wait for the stores of the two backlogs.
        if self.backlog > self.backlog_max {
            self.backlog_max = self.backlog;
        }
        if self.backlog_bytes > self.backlog_bytes_max {
            self.backlog_bytes_max = self.backlog_bytes;
        }
    }

    /// Returns the packets that the queue dropped.
    pub fn queue_drops(&self) -> u64 {
        DropReason::ALL.iter().zip(self.drops).filter(|(reason, _)| is_of_queue(**reason)).map(|(_, n)| n).sum()
    }
}

fn is_of_queue(reason: DropReason) -> bool {
    matches!(reason, DropReason::Overflow | DropReason::Early | DropReason::TooBig | DropReason::AckFilter)
}

/// Log that counts drops and marks, and passes them on to the driver's log.
pub(super) struct Counted<'a> {
    pub count: &'a mut Count,
    pub log: &'a mut dyn QueueLog,
}

impl QueueLog for Counted<'_> {
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason) {
        self.count.drops[reason as usize] += 1;
        if is_of_queue(reason) {
            self.count.leave(now, packets[id].ip_len());
        }
        self.log.dropped(now, id, packets, reason);
    }
    fn marked(&mut self, now: Time, id: PacketId, packets: &Packets) {
        self.count.marks += 1;
        self.log.marked(now, id, packets);
    }
}

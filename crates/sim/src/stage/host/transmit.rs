//! Sending from a host: with room in a transmit queue, in which each connection may have little, and after the time that the host holds a packet.

use longfat_core::packet::{Ecn, PacketId};
use longfat_core::time::Time;

use super::nic::Nic;
use super::{Event, Host};
use crate::context::Context;
use crate::stage::endpoint::Agent;

impl Host {
    /// The next packet that the endpoint sends, if it has one and there is room for it.
    pub(super) fn poll(&mut self, number: usize, context: &mut Context) -> Option<PacketId> {
        if self.members[number].endpoint.agent.is_silent(context.now) { None } else { self.poll_at_nic(number, context) }
    }

    /// Asks the endpoint for its next packet, if there is room for it.
    pub(super) fn poll_at_nic(&mut self, number: usize, context: &mut Context) -> Option<PacketId> {
        let id = context.packets.vacant(self.members[number].endpoint.way());
        let ecn = self.poll_into(number, id, context)?;
        self.members[number].endpoint.enter(id, ecn, context);
        Some(id)
    }

    /// Asks the endpoint for its next segment, which is written to the vacant slot `id`.
    fn poll_into(&mut self, number: usize, id: PacketId, context: &mut Context) -> Option<Ecn> {
        let exit = self.members[number].exit;
        if self.nics[exit].is_none() {
            return self.poll_free(number, id, context);
        }
        self.carriers[exit].advance_queue(context);
        self.shrink(exit);
        let Host { members, nics, carriers, offload, .. } = self;
        let (member, Some(nic)) = (&mut members[number], &mut nics[exit]) else { return None };
        let Agent::Tcp(tcp) = &mut member.endpoint.agent else { return self.poll_free(number, id, context) };
        let has_room = nic.has_room_for(number, carriers[exit].link.count.backlog);
        match offload {
            None => tcp.set_room(has_room),
            Some(offload) => tcp.set_room_for_bursts(offload, has_room, member.queued),
        }
        let polled = tcp.poll_transmit_into(context.now, context.packets.segment_mut(id));
        if tcp.wants_room() && has_room {
            // The endpoint's own part of the queue must become smaller.
            nic.wait_for_own += usize::from(!std::mem::replace(&mut member.waits_for_own, true));
            self.set_nic(exit, context.now);
        } else if tcp.wants_room() {
            if nic.stalls {
                tcp.local_congestion(context.now);
            }
            // Linux 2.4 tries again when an ACK comes; where none can, or where TCP merely waits, once there is room.
            let waits = !nic.stalls || tcp.info().in_flight == 0;
            if waits && !member.is_waiting {
                member.is_waiting = true;
                nic.waiting.push_back(number);
                self.set_nic(exit, context.now);
            }
        }
        polled
    }

    /// Asks the endpoint for its next segment where there is room for all.
    fn poll_free(&mut self, number: usize, id: PacketId, context: &mut Context) -> Option<Ecn> {
        let agent = &mut self.members[number].endpoint.agent;
        if let (Some(offload), Agent::Tcp(tcp)) = (&self.offload, &mut *agent) {
            tcp.set_room_for_bursts(offload, true, 0);
        }
        agent.poll_transmit(context.now, context.packets.segment_mut(id))
    }

    /// The packet `id` of an endpoint goes to its link, at once or after a while.
    pub(super) fn send(&mut self, number: usize, id: PacketId, context: &mut Context) {
        if let Some(overhead) = &mut self.overhead {
            overhead.hold(context.now, id, self.members[number].exit);
            let next = overhead.next();
            self.set(Event::Overhead, next);
        } else {
            self.post(number, id, context);
        }
    }

    /// The packet `id` of an endpoint joins the queue before its link.
    fn post(&mut self, number: usize, id: PacketId, context: &mut Context) {
        let member = &mut self.members[number];
        let carrier = &mut self.carriers[member.exit];
        let Some(nic) = &mut self.nics[member.exit] else { return carrier.offer(context.now, id, context) };
        let (dropped, bytes) = (carrier.link.count.queue_drops(), context.packets[id].ip_len());
        carrier.offer(context.now, id, context);
        if carrier.link.count.queue_drops() == dropped && nic.joined(number, bytes) {
            member.queued += u64::from(bytes);
        }
    }

    /// Packets that were held go now.
    pub(super) fn overhead_event(&mut self, context: &mut Context) {
        let overhead = self.overhead.as_mut().expect("an overhead holds packets");
        while let Some((id, exit)) = overhead.take(context.now) {
            self.carriers[exit].offer(context.now, id, context);
        }
        let next = overhead.next();
        self.set(Event::Overhead, next);
    }

    /// A packet has left the transmit queue: those that wait for room have their turn.
    pub(super) fn nic_event(&mut self, exit: usize, context: &mut Context) {
        self.has_room(exit, context);
        self.shrink(exit);
        self.resume(exit, context);
        while self.has_room(exit, context) {
            let Some(nic) = &mut self.nics[exit] else { break };
            let Some(number) = nic.waiting.pop_front() else { break };
            nic.turn = Some(number);
            self.members[number].is_waiting = false;
            self.attend(number, context);
        }
        self.set_nic(exit, context.now);
    }

    /// True if the transmit queue takes one more packet now.
    fn has_room(&mut self, exit: usize, context: &mut Context) -> bool {
        self.carriers[exit].advance_queue(context);
        let backlog = self.carriers[exit].link.count.backlog;
        self.nics[exit].as_ref().is_some_and(|nic| nic.has_room(backlog))
    }

    /// Takes note of the packets that have left the transmit queue by now, to which its link has been advanced.
    fn shrink(&mut self, exit: usize) {
        let Some(nic) = &mut self.nics[exit] else { return };
        let backlog = self.carriers[exit].link.count.backlog;
        while let Some((number, bytes)) = nic.left(backlog) {
            let member = &mut self.members[number];
            member.queued -= u64::from(bytes);
            if std::mem::take(&mut member.waits_for_own) {
                nic.wait_for_own -= 1;
                nic.ready.push_back(number);
            }
        }
    }

    /// Endpoints whose part of the transmit queue has become smaller have their turn.
    fn resume(&mut self, exit: usize, context: &mut Context) {
        let ready = self.nics[exit].as_ref().map_or(0, |nic| nic.ready.len());
        for _ in 0..ready {
            let number = self.nics[exit].as_mut().and_then(|nic| nic.ready.pop_front()).expect("there are so many");
            self.attend(number, context);
        }
    }

    /// Sets when an endpoint that waits for the transmit queue has its turn.
    fn set_nic(&mut self, exit: usize, now: Time) {
        let Some(nic) = &self.nics[exit] else { return };
        let at = match (nic.ready.is_empty(), nic.is_awaited()) {
            (false, _) => now,
            (true, true) => self.carriers[exit].link.next_start(),
            (true, false) => Time::MAX,
        };
        self.set(Event::Nic(exit), at);
    }

    /// A PAUSE frame is on its way to the link. Returns when somebody who waits for its queue is to have a turn.
    pub(crate) fn paused(&mut self, exit: usize) -> Time {
        if !self.nics[exit].as_ref().is_some_and(Nic::is_awaited) {
            return Time::MAX;
        }
        let starts = self.carriers[exit].link.next_start();
        self.set(Event::Nic(exit), starts);
        starts
    }
}

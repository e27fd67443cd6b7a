//! Endpoints as stages, and what happens at an endpoint: a packet comes, or its time does, and it sends.

use longfat_core::packet::{Ecn, Packet, PacketId, Way};
use longfat_core::queue::DropReason;
use longfat_core::time::Time;
use longfat_record::trace::{Event, EventKind};

use super::World;
use crate::ledger::sent_so_far;
use crate::stage::endpoint::{Agent, Endpoint, Milestone};

impl World {
    /// The endpoint lives up to and including `until`, or until it has had its turn; when it next has something to do.
    pub(super) fn endpoint_turn(&mut self, number: usize, until: Time) -> Time {
        let turn_ends = self.turn_ends();
        let mut line = std::mem::take(&mut self.inputs[number].line);
        let before = line.len();
        let next = loop {
            let comes = line.first().map_or(Time::MAX, |id| self.packets[id].stamp);
            let wakes = self.endpoints[number].wake;
            let next = comes.min(wakes);
            if next > until || (self.steps >= turn_ends && next > self.now) {
                break next;
            }
            self.now = next;
            self.steps += 1;
            // What comes by a link is first.
            if comes <= wakes {
                let id = line.pop(&self.packets).expect("there is a first");
                self.cause = Cause::Arrival;
                self.deliver(number, id);
            } else {
                self.cause = Cause::Timer;
                self.wake(number);
            }
        };
        let input = &mut self.inputs[number];
        self.links[input.rank as usize].count.delivered += (before - line.len()) as u64;
        input.line = line;
        let Endpoint { has_link, first_link, .. } = self.endpoints[number];
        if !has_link {
            return next;
        }
        let lived = if next > until { until } else { Time::from_ps(next.as_ps() - 1) };
        self.advance_link_before(first_link as usize, lived);
        next.min(self.links[first_link as usize].due())
    }

    /// The packet `id` has come to the host of the endpoint. If it is damaged, the checksum fails.
    #[inline]
    pub(super) fn deliver(&mut self, number: usize, id: PacketId) {
        if self.packets[id].corrupted {
            return self.lose(id, DropReason::Corrupted);
        }
        self.arrive(number, id);
    }

    /// The packet `id`, which has come to its host, is lost there. That is put down to the link by which it came.
    #[cold]
    pub(super) fn lose(&mut self, id: PacketId, reason: DropReason) {
        let link = self.inputs[self.hops[self.packets[id].route as usize] as usize].rank;
        self.links[link as usize].count.drops[reason as usize] += 1;
        self.ledger.dropped(self.now, id, &self.packets, reason, link);
        self.packets.remove(id);
    }

    /// The packet `id` has come whole to the endpoint.
    #[inline]
    pub(super) fn arrive(&mut self, number: usize, id: PacketId) {
        if self.endpoints[number].on_host {
            return self.arrive_on_host(number, id);
        }
        self.receive(number, id);
        self.attend(number);
    }

    /// The packet `id` comes to the protocol.
    #[inline]
    pub(super) fn receive(&mut self, number: usize, id: PacketId) {
        let packet = &self.packets[id];
        self.ledger.left(self.now, packet, self.packets.segment(id));
        let endpoint = &mut self.endpoints[number];
        endpoint.delivered.add(packet.ip_len());
        // What opens a connection is no ACK of data.
        if self.ledger.keeps_acks()
            && way_of(number) == Way::There
            && let Agent::Tcp(tcp) = &endpoint.agent
            && tcp.is_established()
        {
            self.ledger.acknowledged(self.now, number, &tcp.info());
        }
        endpoint.agent.handle_segment(self.now, self.packets.segment(id), packet.ecn);
        self.packets.remove(id);
    }

    /// The pending time of an endpoint has come.
    pub(super) fn wake(&mut self, number: usize) {
        let endpoint = &mut self.endpoints[number];
        endpoint.handle_time(self.now);
        endpoint.wake = endpoint.alarm();
        if endpoint.agent.gave_up() {
            self.note_end(number);
        }
        if self.endpoints[number].on_host {
            self.attend_on_host(number);
        } else {
            self.send_all(number);
            let next = self.next_wake(number);
            let endpoint = &mut self.endpoints[number];
            endpoint.wake = endpoint.wake.min(next);
        }
        let wake = self.endpoints[number].wake;
        assert!(wake > self.now, "endpoint {number} was woken at {wake:?}, and wants it again at once");
        self.set_wake(number, wake);
    }

    /// After anything that happened at an endpoint: notes it, sends what it has to send, sets its timer.
    #[inline]
    pub(super) fn attend(&mut self, number: usize) {
        self.send_all(number);
        self.settle(number);
    }

    /// The same but for the timer.
    #[inline]
    fn send_all(&mut self, number: usize) {
        if let Some(milestone) = self.endpoints[number].reached() {
            self.note_milestone(number, milestone);
        }
        while !self.endpoints[number].agent.is_silent(self.now) {
            let id = self.packets.vacant(way_of(number));
            let endpoint = &mut self.endpoints[number];
            let Some(ecn) = endpoint.agent.poll_transmit(self.now, self.packets.segment_mut(id)) else { break };
            self.enter(number, id, ecn);
            self.post(number, id);
        }
    }

    /// The endpoint sends the packet `id` by its first link.
    #[inline]
    pub(super) fn post(&mut self, number: usize, id: PacketId) {
        let endpoint = &self.endpoints[number];
        if endpoint.is_on_island | endpoint.has_link {
            self.offer(endpoint.first_link as usize, id);
        } else {
            self.put(outlet(self.endpoints.len(), number, self.cause), id);
        }
    }

    /// The endpoint sends the packet whose segment is in the vacant slot `id`: it is in the network now.
    #[inline]
    pub(super) fn enter(&mut self, number: usize, id: PacketId, ecn: Ecn) {
        let endpoint = &mut self.endpoints[number];
        let segment = self.packets.segment(id);
        let mut packet = Packet::new(self.now, endpoint.route, ecn, segment);
        packet.dscp = endpoint.dscp;
        endpoint.sent.add(packet.ip_len());
        self.ledger.entered(self.now, number, &packet, segment);
        self.packets[id] = packet;
        self.packets.keep(id);
    }

    /// The endpoint has nothing more to send for now: notes what happened, and sets its timer.
    #[inline]
    pub(super) fn settle(&mut self, number: usize) {
        let next = self.next_wake(number);
        self.wake_by(number, next);
    }

    /// The endpoint wants to be woken at `time`, if not earlier.
    #[inline]
    fn wake_by(&mut self, number: usize, time: Time) {
        let endpoint = &mut self.endpoints[number];
        if time < endpoint.wake {
            endpoint.wake = time;
            if endpoint.is_on_island {
                self.set_wake(number, time);
            }
        }
    }

    /// When the protocol wants to be woken next, now that it has nothing more to send; notes what happened.
    #[inline]
    fn next_wake(&mut self, number: usize) -> Time {
        if self.ledger.keeps_events() {
            self.ledger.note(self.now, number, &self.endpoints[number].agent.stats());
        }
        let next = self.endpoints[number].agent.wake_at(self.now);
        // A packet may arrive at the very instant a timer is set for: the timer's event is then still to come.
        assert!(next >= self.now, "endpoint {number} wants to be woken at {next:?}, and it is {:?} already", self.now);
        next
    }

    /// The application may have something to do before the endpoint would be woken otherwise.
    pub(super) fn set_alarm(&mut self, number: usize) {
        self.wake_by(number, self.endpoints[number].alarm());
    }

    #[cold]
    pub(super) fn note_milestone(&mut self, number: usize, milestone: Milestone) {
        let flow = &mut self.milestones[number / 2];
        let now = Some(self.now);
        match milestone {
            Milestone::Established => flow.established = now,
            Milestone::AllAcked => {
                flow.acked_all = now;
                self.ending.acknowledged();
            }
            Milestone::EndOfStream => {
                flow.delivered_all = now;
                self.endpoints[number].close();
                // The sender of a flow comes before its receiver.
                if self.endpoints[number - 1].has_volume {
                    self.ending.delivered();
                }
            }
            Milestone::Acked => {
                self.endpoints[number].act(self.now);
                self.set_alarm(number);
            }
            Milestone::Nothing => {}
        }
    }

    /// An end has given up its connection.
    #[cold]
    fn note_end(&mut self, number: usize) {
        let flow = &mut self.milestones[number / 2];
        if flow.gave_up.is_none() {
            flow.gave_up = Some(self.now);
            let seq = sent_so_far(&self.endpoints[number].agent.stats());
            self.ledger.event(Event { time: self.now, kind: EventKind::GaveUp, flow: (number / 2) as u32, link: None, seq });
        }
    }
}

/// Trigger of what an endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A packet came.
    Arrival,
    /// The endpoint woke, or its host looked at its memory.
    Timer,
}

/// Input by which the packets of the endpoint `number`, of so many endpoints, come to its first link: one per [`Cause`], since each is in
/// order of time then.
#[inline]
pub(super) const fn outlet(endpoints: usize, number: usize, cause: Cause) -> u32 {
    (endpoints + 2 * number) as u32 + cause as u32
}

/// First input by which packets come from a link to a link: the inputs of the endpoints and their outlets stand before it.
#[inline]
pub(super) const fn first_from_links(endpoints: usize) -> usize {
    outlet(endpoints, endpoints, Cause::Arrival) as usize
}

/// The way of what the endpoint `number` sends.
#[inline]
pub(super) const fn way_of(number: usize) -> Way {
    if number.is_multiple_of(2) { Way::There } else { Way::Back }
}

//! Hosts that an experiment describes, as stages. Packets that their endpoints send need room in the transmit queue. Packets sent and
//! received take the processor's time, or packets sent are held for a while. Data that is held takes memory. Within a host, events are
//! handled one by one.

pub(crate) mod build;
mod interface;
mod memory;
mod nic;
mod overhead;
mod processor;
mod receive;
pub(super) mod relay;
mod transmit;

use longfat_core::packet::PacketId;
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};
use longfat_tcp::{Connection, Offload};

use super::carrier::Carrier;
use super::endpoint::{Agent, Endpoint};
use crate::context::Context;
use crate::context::inputs::InputId;
use crate::due::Due;
use interface::Interface;
pub(crate) use memory::{Pool, SOONEST};
use nic::Nic;
use overhead::Overhead;
use processor::Processor;

/// One host.
pub(crate) struct Host {
    pub members: Vec<Member>,
    /// The links by which they send, in order.
    pub carriers: Vec<Carrier>,
    /// Transmit queue before each link, if TCP waits there.
    nics: Vec<Option<Nic>>,
    pub processor: Option<Processor>,
    overhead: Option<Overhead>,
    interface: Option<Interface>,
    pub memory: Option<Pool>,
    /// Segments that the interface takes at once.
    offload: Option<Offload>,
    /// Inputs by which packets come, in the order of the links.
    inputs: Vec<InputId>,
    /// Times of the events that are due, in the order of events at one time: packets arrive, by each input in turn; endpoints wake; then
    /// the shared parts act (the transmit queues, the processor, the overhead, the interface).
    agenda: Due,
}

/// An endpoint of a host.
pub(crate) struct Member {
    pub endpoint: Endpoint,
    /// The number of its link.
    exit: usize,
    /// The number of its share of the memory.
    share: Option<usize>,
    /// The other end that a proxy has, if this is one of its two.
    relay: Option<usize>,
    /// IP bytes in the transmit queue, where small queues are kept, and whether it waits for them to become fewer.
    queued: u64,
    waits_for_own: bool,
    /// True while it waits for room at the interface, and for the processor.
    is_waiting: bool,
    is_asking: bool,
    /// True if the end of the stream that it relays has come, and was passed on.
    has_relayed_all: bool,
}

/// Event at a host: the number of an input, a member or a link, or a part of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Arrival(usize),
    Wake(usize),
    /// A packet has left the transmit queue before a link.
    Nic(usize),
    Processor,
    Overhead,
    /// The receiving interface interrupts.
    Interface,
}

impl Host {
    /// The host lives up to and including `until`, or until it has had its turn. Returns when it next has something to do.
    pub(crate) fn run(&mut self, until: Time, context: &mut Context) -> Time {
        let turn_ends = context.turn_ends();
        loop {
            let first = self.agenda.first();
            if first > until {
                return self.leave(until, context);
            }
            if (context.steps >= turn_ends || context.is_asked()) && first > context.now {
                return self.leave(Time::from_ps(first.as_ps() - 1), context);
            }
            let place = self.agenda.next(0, first).expect("something is due first");
            context.now = first;
            context.steps += 1;
            match self.event_at(place) {
                Event::Arrival(input) => self.take_from(input, context),
                Event::Wake(member) => self.wake(member, context),
                Event::Nic(exit) => self.nic_event(exit, context),
                Event::Processor => self.processor_event(context),
                Event::Overhead => self.overhead_event(context),
                Event::Interface => self.interface_event(context),
            }
        }
    }

    /// The host has lived up to `until`: what its links have sent by then goes on its way. Returns when it next has something to do.
    fn leave(&mut self, until: Time, context: &mut Context) -> Time {
        let mut next = self.agenda.first();
        for carrier in &mut self.carriers {
            carrier.advance_before(until, context);
            next = next.min(carrier.link.due());
        }
        next
    }

    /// The place of `event` in the agenda.
    fn place_of(&self, event: Event) -> usize {
        let wakes = self.inputs.len();
        let nics = wakes + self.members.len();
        let others = nics + self.nics.len();
        match event {
            Event::Arrival(input) => input,
            Event::Wake(member) => wakes + member,
            Event::Nic(exit) => nics + exit,
            Event::Processor => others,
            Event::Overhead => others + 1,
            Event::Interface => others + 2,
        }
    }

    /// The event at this place of the agenda.
    fn event_at(&self, place: usize) -> Event {
        let [wakes, nics, others] = [Event::Wake(0), Event::Nic(0), Event::Processor].map(|first| self.place_of(first));
        match place {
            _ if place < wakes => Event::Arrival(place),
            _ if place < nics => Event::Wake(place - wakes),
            _ if place < others => Event::Nic(place - nics),
            _ if place == others => Event::Processor,
            _ if place == others + 1 => Event::Overhead,
            _ => Event::Interface,
        }
    }

    fn set(&mut self, event: Event, time: Time) {
        self.agenda.set(self.place_of(event), time);
    }

    /// Records that packets arrive by the input of this number from `time` on.
    pub(crate) fn expect(&mut self, input: usize, time: Time) {
        self.agenda.lower(input, time);
    }

    /// Returns the time at which something is first due.
    pub(crate) fn first_due(&self) -> Time {
        self.agenda.first()
    }

    fn take_from(&mut self, number: usize, context: &mut Context) {
        let input = &mut context.inputs[self.inputs[number]];
        let id = input.line.pop(&context.packets).expect("what is due is there");
        input.delivered += 1;
        let next = input.line.first().map_or(Time::MAX, |id| context.packets[id].stamp);
        self.agenda.set(number, next);
        // The checksum fails if the packet is damaged.
        if context.packets[id].corrupted {
            return context.lose(id, DropReason::Corrupted);
        }
        self.arrive(id, context);
    }

    /// The member that the packet `id` is for.
    fn member_for(&self, id: PacketId, context: &Context) -> usize {
        context.endpoints[context.ledger.receiver(&context.packets[id])].index
    }

    fn wake(&mut self, number: usize, context: &mut Context) {
        self.members[number].endpoint.wake(context);
        self.attend(number, context);
        let Endpoint { wake, number, .. } = self.members[number].endpoint;
        assert!(wake > context.now, "endpoint {number} was woken at {wake:?}, and wants it again at once");
    }

    /// Attends to an endpoint after any event, and to the other end of its proxy if that has something to do now.
    fn attend(&mut self, number: usize, context: &mut Context) {
        if let Some(other) = self.relay(number) {
            self.attend_to_one(other, context);
        }
        self.attend_to_one(number, context);
    }

    /// Attends to an endpoint: notes what happened, sends what there is to send, sets the timer.
    fn attend_to_one(&mut self, number: usize, context: &mut Context) {
        let endpoint = &mut self.members[number].endpoint;
        endpoint.read(context.now);
        endpoint.note_milestone(context);
        self.provide(number);
        if self.processor.is_some() {
            self.account(number, context.now);
            self.note_wake(number);
            self.ask(number);
            self.serve(context);
        } else {
            while let Some(id) = self.poll(number, context) {
                self.send(number, id, context);
            }
            self.settle(number, context);
            self.account(number, context.now);
        }
    }

    /// The endpoint has nothing more to send for now.
    fn settle(&mut self, number: usize, context: &mut Context) {
        self.members[number].endpoint.settle(context);
        self.note_wake(number);
    }

    /// Updates the wake-up time of the endpoint, which may have changed.
    fn note_wake(&mut self, number: usize) {
        self.set(Event::Wake(number), self.members[number].endpoint.wake);
    }

    /// Counts what the endpoint has of the memory, if that is bounded.
    fn account(&mut self, number: usize, now: Time) {
        if let Some((pool, share, tcp)) = self.share(number) {
            pool.account(now, share, tcp);
        }
    }

    /// The memory, the number of the endpoint's share of it, and its connection.
    fn share(&mut self, number: usize) -> Option<(&mut Pool, usize, &mut Connection)> {
        let Member { share, endpoint, .. } = &mut self.members[number];
        let Agent::Tcp(tcp) = &mut endpoint.agent else { return None };
        Some((self.memory.as_mut()?, (*share)?, tcp))
    }

    /// Sets aside what the endpoint asks for of the memory, if that is bounded. True if it has more than before.
    fn provide(&mut self, number: usize) -> bool {
        self.share(number).is_some_and(|(pool, share, tcp)| pool.provide(share, tcp))
    }

    /// True if there is memory for the packet `id`. If not, it is lost.
    fn admits(&mut self, number: usize, id: PacketId, context: &mut Context) -> bool {
        // A proxy reads what the other connection has room for, which may be nothing.
        let reads = if self.members[number].relay.is_some() { 0 } else { self.members[number].endpoint.would_read(context.now) };
        let Some((pool, share, tcp)) = self.share(number) else { return true };
        let has_room = pool.has_room_for(share, tcp, context.packets.segment(id), reads);
        if !has_room {
            context.lose(id, DropReason::NoMemory);
        }
        has_room
    }

    /// Returns the time of the next look at the memory, to which every stage has to have come.
    #[inline]
    pub(crate) fn next_look(&self) -> Time {
        self.memory.as_ref().map_or(Time::MAX, Pool::next_look)
    }

    /// Returns, for each share of the memory, the number of the endpoint at the other end of its connection.
    pub(crate) fn peers(&self) -> Vec<usize> {
        let shares = self.memory.iter().flat_map(Pool::members);
        shares.map(|member| self.members[member].endpoint.number ^ 1).collect()
    }

    /// The memory looks at all its connections, now that every stage has come to now. `outstanding` says how many bytes each of the
    /// [`Host::peers`] has sent that are not acknowledged. Returns when the host next has something to do.
    pub(crate) fn look(&mut self, outstanding: &[u64], context: &mut Context) -> Time {
        let members = &self.members;
        let pool = self.memory.as_mut().expect("the host has a memory");
        let changed = pool.look(context.now, |member| members[member].endpoint.agent.tcp(), outstanding);
        let had_more: Vec<bool> = changed.iter().map(|number| self.provide(*number)).collect();
        // A second round: by now, connections that come later have given up what they will.
        for (number, had_more) in changed.into_iter().zip(had_more) {
            let has_more = self.provide(number) || had_more;
            if has_more && !self.members[number].endpoint.is_yet_to_start() {
                self.attend(number, context);
            } else {
                self.account(number, context.now);
            }
        }
        self.leave(context.now, context)
    }

    /// Processor time up to `now`; `None` without a processor.
    pub(crate) fn busy(&self, now: Time) -> Option<Duration> {
        self.processor.as_ref().map(|processor| processor.busy(now))
    }

    /// Returns every packet that it holds.
    pub(crate) fn holds(&self) -> Vec<PacketId> {
        let processor = self.processor.iter().flat_map(Processor::holds);
        let held = self.overhead.iter().flat_map(Overhead::holds).chain(self.interface.iter().flat_map(Interface::holds));
        processor.chain(held).collect()
    }

    /// Checks the books of the memory at the end of a run.
    pub(crate) fn audit(&self) {
        if let Some(pool) = &self.memory {
            pool.audit(|member| -> &Connection { self.members[member].endpoint.agent.tcp() });
        }
    }
}

//! Receiving at a host: by the processor, by an interface that delivers packets in batches, or straight to the protocol.

use longfat_core::packet::PacketId;
use longfat_core::queue::DropReason;

use super::interface::Clump;
use super::processor::{Job, Next, Processor};
use super::{Event, Host};
use crate::context::Context;

impl Host {
    /// The packet `id` has come whole.
    pub(super) fn arrive(&mut self, id: PacketId, context: &mut Context) {
        if let Some(processor) = &mut self.processor {
            processor.arrived(id, context);
            self.serve(context);
        } else if let Some(interface) = &mut self.interface {
            if !interface.arrived(context.now, id) {
                context.lose(id, DropReason::Overrun);
            }
            self.set_interface();
        } else {
            self.receive(id, context);
        }
    }

    /// The packet `id` comes to the protocol, if there is memory for it.
    fn receive(&mut self, id: PacketId, context: &mut Context) -> bool {
        let number = self.member_for(id, context);
        let is_admitted = self.admits(number, id, context);
        if is_admitted {
            self.members[number].endpoint.receive(id, context);
            self.attend(number, context);
        }
        is_admitted
    }

    /// The interface interrupts: all that waits there comes to TCP, one after the other or in clumps.
    pub(super) fn interface_event(&mut self, context: &mut Context) {
        let interface = self.interface.as_mut().expect("an interface interrupts");
        let (mut ring, most) = (interface.take(), interface.gro_max_size());
        // The last clump of each endpoint, which has not been answered.
        let mut open: Vec<Clump> = Vec::new();
        for id in ring.drain(..) {
            let Some(most) = most else {
                self.receive(id, context);
                continue;
            };
            let number = self.member_for(id, context);
            if !self.admits(number, id, context) {
                continue;
            }
            let (packet, segment) = (&context.packets[id], context.packets.segment(id));
            match open.iter_mut().find(|clump| clump.member == number) {
                None => open.push(Clump::new(number, packet, segment)),
                Some(clump) => {
                    if !clump.takes(packet, segment, most) {
                        *clump = Clump::new(number, packet, segment);
                        self.attend(number, context);
                    }
                }
            }
            self.members[number].endpoint.receive(id, context);
        }
        open.iter().for_each(|clump| self.attend(clump.member, context));
        self.interface.as_mut().expect("an interface interrupts").give_back(ring);
        self.set_interface();
    }

    fn set_interface(&mut self) {
        let next = self.interface.as_ref().expect("there is an interface").next();
        self.set(Event::Interface, next);
    }

    /// The endpoint may have something to send.
    pub(super) fn ask(&mut self, number: usize) {
        let member = &mut self.members[number];
        if let Some(processor) = self.processor.as_mut().filter(|_| !member.is_asking) {
            member.is_asking = true;
            processor.ask(number);
        }
    }

    /// An idle processor takes the next thing to do.
    pub(super) fn serve(&mut self, context: &mut Context) {
        while let Some(next) = self.processor.as_mut().and_then(Processor::next) {
            let (job, id) = match next {
                Next::Ask(number) => {
                    let Some(id) = self.answer(number, context) else { continue };
                    (Job::Send(id, self.members[number].exit), id)
                }
                Next::Receive(id) => (Job::Receive(id), id),
            };
            if let Some(processor) = &mut self.processor {
                processor.begin(context.now, job, context.packets[id].ip_len());
            }
            if let Next::Ask(number) = next {
                self.ask(number);
            }
        }
        if let Some(processor) = &self.processor {
            self.agenda.set(self.place_of(Event::Processor), processor.wakes());
        }
    }

    /// The processor asks the endpoint for a packet to send.
    fn answer(&mut self, number: usize, context: &mut Context) -> Option<PacketId> {
        let member = &mut self.members[number];
        member.is_asking = false;
        // Timers of the endpoint may have expired while the packet waited.
        member.endpoint.handle_time(context.now);
        member.endpoint.set_alarm();
        self.provide(number);
        let id = self.poll_at_nic(number, context);
        self.account(number, context.now);
        if id.is_none() {
            self.members[number].endpoint.settle(context);
        }
        self.note_wake(number);
        id
    }

    /// The processor is done with a packet, or is interrupted.
    pub(super) fn processor_event(&mut self, context: &mut Context) {
        match self.processor.as_mut().and_then(|processor| processor.wake(context)) {
            None => {}
            Some(Job::Send(id, exit)) => self.carriers[exit].offer(context.now, id, context),
            // To attend to an endpoint is to serve it.
            Some(Job::Receive(id)) if self.receive(id, context) => return,
            Some(Job::Receive(_)) => {}
        }
        self.serve(context);
    }
}

//! Routers whose ports share a memory, as stages. Packets to all links that lead from one are put in order of time, since the content of
//! one queue decides at once how much another may take.

use std::sync::Arc;

use longfat_core::queue::shared::SharedBuffer;
use longfat_core::time::Time;

use super::carrier::Carrier;
use crate::context::Context;
use crate::context::inputs::InputId;
use crate::due::Due;

/// One router.
pub(crate) struct Router {
    /// The links that lead from it and that flows cross, in order.
    pub carriers: Vec<Carrier>,
    /// The inputs in which packets wait.
    pub waiting: Vec<InputId>,
    /// Time at which a packet next leaves each queue.
    departures: Due,
    memory: Arc<SharedBuffer>,
}

impl Router {
    pub(crate) fn new(carriers: Vec<Carrier>, memory: Arc<SharedBuffer>) -> Self {
        Router { waiting: Vec::new(), departures: Due::new(carriers.len()), carriers, memory }
    }

    /// Checks at the end of a run that the memory holds what the queues hold.
    pub(crate) fn audit(&self) {
        let held: u64 = self.carriers.iter().map(|carrier| carrier.link.queue_holds().1).sum();
        assert_eq!(self.memory.used(), held, "the memory of a router holds what its queues hold");
    }

    /// The links of the router live up to and including `until`. Returns when one of them next has something to do.
    pub(crate) fn run(&mut self, until: Time, context: &mut Context) -> Time {
        let Context { inputs, packets, .. } = &mut *context;
        let (mut line, mut next) = inputs.merge(&mut self.waiting, until, packets);
        for (place, carrier) in self.carriers.iter().enumerate() {
            self.departures.set(place, carrier.link.departs());
        }
        while let Some(id) = line.pop(&context.packets) {
            let time = context.packets[id].stamp;
            // A packet that leaves any of the queues before makes room in all.
            while let Some(place) = self.departures.next(0, time) {
                let carrier = &mut self.carriers[place];
                carrier.advance_queue_before(time, context);
                self.departures.set(place, carrier.link.departs());
            }
            let number = context.routes.link_at(&context.packets[id], time);
            let place = self.carriers.binary_search_by_key(&number, |carrier| carrier.number);
            let place = place.expect("what comes to a router is for one of its links");
            self.carriers[place].offer(time, id, context);
            self.departures.set(place, self.carriers[place].link.departs());
        }
        for carrier in &mut self.carriers {
            carrier.advance_before(until, context);
            next = next.min(carrier.link.due());
        }
        next
    }
}

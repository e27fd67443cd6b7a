//! Packets that go from a link on to its tails, as they leave it.

use super::{World, reschedule};
use crate::link::Link;
use crate::route::{Hop, RouteTable};

/// Makes tails of those of `links` that can be. Each, with the link that feeds it.
pub fn join(links: &mut [Link], table: &RouteTable) -> Vec<(usize, usize)> {
    let mut tails = table.tails();
    tails.retain(|&(tail, _)| links[tail].make_tail());
    for &(_, feeder) in &tails {
        links[feeder].feeder.feeds = true;
    }
    tails
}

impl World {
    /// Packets have just left the link `number`, which feeds tails.
    #[inline(never)]
    pub(super) fn pass_to_tails(&mut self, number: usize) {
        let mut leaving = std::mem::take(&mut self.links[number].feeder.leaving);
        for id in leaving.drain(..) {
            // It is still at its place in the queue of the link it leaves.
            if let Hop::Link(next) = self.hops[self.packets[id].route as usize + 1]
                && self.links[next as usize].is_tail()
                && self.links[next as usize].foresee(id, &mut self.packets)
            {
                self.links[number].feeder.ahead += 1;
                reschedule(&mut self.links[next as usize], next as usize, &mut self.events);
            } else {
                self.links[number].put(id, &mut self.packets);
            }
        }
        self.links[number].feeder.leaving = leaving;
    }

    /// Does what has happened up to now between links and their tails.
    pub(super) fn advance_tails(&mut self) {
        for number in 0..self.links.len() {
            if !self.links[number].feeder.leaving.is_empty() {
                self.pass_to_tails(number);
            }
        }
        for &(tail, feeder) in &self.tails {
            let tail = &mut self.links[tail];
            tail.count_ahead(self.now, &self.packets);
            let came = tail.take_came();
            let feeder = &mut self.links[feeder];
            feeder.feeder.ahead -= came;
            feeder.count.delivered += came;
        }
    }
}

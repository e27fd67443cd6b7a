//! Packets that go from a link on to its tails, as they leave it.

use longfat_core::packet::Packets;

use super::World;
use crate::event_set::EventSet;
use crate::link::{Link, Role};
use crate::route::{Hop, Hops, RouteTable};

/// Makes tails of those of `links` that can be. Each, with the link that feeds it.
pub fn join(links: &mut [Link], table: &RouteTable) -> Vec<(usize, usize)> {
    let mut tails = table.tails();
    tails.retain(|&(tail, _)| links[tail].make_tail());
    for &(_, feeder) in &tails {
        links[feeder].feeder.feeds = true;
    }
    tails
}

/// Packets have just left the link `number`, which feeds tails.
#[inline(always)]
pub fn pass(number: usize, links: &mut [Link], hops: &Hops, packets: &mut Packets, events: &mut EventSet, stirred: &mut Vec<u32>) {
    while let Some(id) = links[number].feeder.leaving.pop(packets) {
        // It is still at its place in the queue of the link it leaves.
        if let Hop::Link(next) = hops.at(packets[id].route + 1)
            && links[next as usize].is_tail()
            && !links[number].is_doomed(id)
        {
            let tail = &mut links[next as usize];
            if tail.foresee(id, packets) {
                let arrives = tail.next_event();
                if arrives < tail.scheduled {
                    tail.scheduled = arrives;
                    match tail.role {
                        Role::Sink { .. } => stirred.push(next),
                        _ => events.set(next as usize, arrives),
                    }
                }
                links[number].feeder.ahead += 1;
                continue;
            }
        }
        links[number].put(id, packets);
    }
}

impl World {
    /// Counts what has come to each tail up to now.
    pub(super) fn advance_tails(&mut self) {
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

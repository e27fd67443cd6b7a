//! Routers whose ports share a memory, as stages: what comes to any of the links that lead from one is put in order of time, since what
//! one queue holds decides at once what another may take.

use std::sync::Arc;

use longfat_core::queue::shared::SharedBuffer;
use longfat_core::time::Time;

use super::World;
use crate::engine::due::Due;
use crate::engine::merge::Arrival;
use crate::ledger::LinkLog;

/// One router.
#[derive(Debug)]
pub struct Router {
    /// The links that lead from it and that flows cross, in order.
    pub links: Vec<u32>,
    /// The inputs in which packets wait for one of these.
    pub waiting: Vec<u32>,
    /// When something next leaves each queue.
    departures: Due,
    memory: Arc<SharedBuffer>,
}

impl Router {
    pub fn new(links: &[u32], memory: Arc<SharedBuffer>) -> Self {
        Router { links: links.to_vec(), waiting: Vec::new(), departures: Due::new(links.len()), memory }
    }

    /// IP bytes that its memory holds.
    pub fn holds(&self) -> u64 {
        self.memory.used()
    }
}

impl World {
    /// The links of the router live up to and including `until`; when one of them next has something to do.
    pub(super) fn router_turn(&mut self, number: usize, until: Time) -> Time {
        let mut waiting = std::mem::take(&mut self.routers[number].waiting);
        let mut next = self.gather(&mut waiting, until);
        self.routers[number].waiting = waiting;
        let World { links, packets, ledger, batch, routers, next_link, detours, .. } = self;
        let Router { links: mine, departures, .. } = &mut routers[number];
        for (place, &link) in mine.iter().enumerate() {
            departures.set(place, links[link as usize].departs());
        }
        for Arrival { time, id, .. } in batch.drain() {
            // What leaves any of the queues before makes room in all.
            while let Some(place) = departures.next(0, time) {
                let link = &mut links[mine[place] as usize];
                link.advance_before(time, packets, &mut LinkLog { link: mine[place], ledger });
                departures.set(place, link.departs());
            }
            let number = detours.moves.at(next_link[packets[id].route as usize], time);
            let link = &mut links[number as usize];
            ledger.queued(time, id, packets, number);
            link.offer(time, id, packets, &mut LinkLog { link: number, ledger });
            let place = mine.binary_search(&number).expect("what comes to a router is for one of its links");
            departures.set(place, link.departs());
        }
        for place in 0..self.routers[number].links.len() {
            let link = self.routers[number].links[place] as usize;
            self.advance_link_before(link, until);
            next = next.min(self.links[link].due());
        }
        next
    }
}

//! Islands: the endpoints of a host that share something without delay (a transmit queue, a processor, memory), what they share, and the
//! links they send by. An island is one stage. Within it, what happens is done event by event.

use longfat_core::time::Time;

use super::World;
use super::parts::Source;
use crate::engine::due::Due;
use crate::stage::host::Spot;

/// One island.
#[derive(Debug)]
pub struct Island {
    /// What can happen, in the order of what happens at one time: packets come, by each link in turn; endpoints wake; then what they share
    /// acts.
    pub events: Vec<Event>,
    /// When each of them is due.
    pub agenda: Due,
    /// The links that lead from it.
    pub links: Vec<u32>,
    /// Its place in the order of a sweep.
    pub stage: usize,
}

/// What can happen on an island.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet comes by this input.
    Arrival(u32),
    /// This endpoint wakes.
    Wake(u32),
    /// A part of the host acts.
    Host(Source),
}

impl World {
    /// The island lives up to and including `until`, or until it has had its turn; when it next has something to do.
    pub(super) fn island_turn(&mut self, number: usize, until: Time) -> Time {
        let turn_ends = self.turn_ends();
        loop {
            let Island { events, agenda, .. } = &self.islands[number];
            let first = agenda.first();
            if first > until {
                return self.leave_island(number, until);
            }
            if self.steps >= turn_ends && first > self.now {
                return self.leave_island(number, Time::from_ps(first.as_ps() - 1));
            }
            let place = agenda.next(0, first).expect("something is due first");
            self.now = first;
            self.steps += 1;
            match events[place] {
                Event::Arrival(inlet) => self.arrive_on_island(number, place, inlet as usize),
                Event::Wake(endpoint) => self.wake(endpoint as usize),
                Event::Host(source) => self.host_event(source),
            }
        }
    }

    fn arrive_on_island(&mut self, number: usize, place: usize, inlet: usize) {
        let input = &mut self.inputs[inlet];
        let id = input.line.pop(&self.packets).expect("what is due is there");
        let next = input.line.first().map_or(Time::MAX, |id| self.packets[id].stamp);
        self.islands[number].agenda.set(place, next);
        self.links[input.rank as usize].count.delivered += 1;
        let endpoint = self.ledger.receiver(&self.packets[id]);
        self.deliver(endpoint, id);
    }

    /// The island has lived up to `until`: what its links have sent by then goes on its way. When it next has something to do.
    fn leave_island(&mut self, number: usize, until: Time) -> Time {
        let mut next = self.islands[number].agenda.first();
        for i in 0..self.islands[number].links.len() {
            let link = self.islands[number].links[i] as usize;
            self.advance_link_before(link, until);
            next = next.min(self.links[link].due());
        }
        next
    }

    /// Something was done to islands from without, now, up to which all stages have lived.
    pub(super) fn settle_islands(&mut self) {
        for number in 0..self.islands.len() {
            let next = self.leave_island(number, self.now);
            let place = self.islands[number].stage;
            self.schedule.set(place, next);
        }
    }

    /// The endpoint `number` is due at `time`, if it lives on an island.
    #[inline]
    pub(super) fn set_wake(&mut self, number: usize, time: Time) {
        if let Some(&Some(spot)) = self.spots.get(number) {
            self.set_spot(spot, time);
        }
    }

    /// The part `source` of a host is due at `time`.
    #[inline]
    pub(super) fn set_source(&mut self, source: Source, time: Time) {
        if let Some(spot) = *self.hosts.spot_mut(source) {
            self.set_spot(spot, time);
        }
    }

    #[inline]
    fn set_spot(&mut self, spot: Spot, time: Time) {
        self.islands[spot.island as usize].agenda.set(spot.place as usize, time);
    }
}

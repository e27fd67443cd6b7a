//! Trunks: links to which packets come only from hosts, by links of which all packets go there.
//!
//! What comes to a trunk can matter to nobody before it has crossed it. So nothing needs to be done when a packet comes there: once
//! for each delay of the trunk, all that has come since goes through its queue, in the order in which it came, and at the times at
//! which it did. The links from the hosts need no events, and the queue of a trunk sees packet after packet while it is at it.

use longfat_core::time::{Duration, Time};

use super::crowds::Crowd;
use super::{World, tails};
use crate::event_set::Tree;
use crate::link::{Link, Role};
use crate::route::RouteTable;

/// A trunk.
#[derive(Debug)]
pub struct Trunk {
    pub link: usize,
    /// The links by which packets come, in order.
    sources: Vec<u32>,
    /// When each of them next has something to do.
    arrivals: Tree,
    /// A packet takes more than that to cross it.
    lead: Duration,
    /// The endpoints that have no events of their own.
    pub crowd: Crowd,
}

impl Trunk {
    /// When what comes next has to be there.
    #[inline]
    pub fn due(&self) -> Time {
        self.arrivals.first().0.saturating_add(self.lead).min(self.crowd.due())
    }

    /// The links by which packets come, in order.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// A source has something to do at `time`, earlier than it had.
    #[inline]
    pub fn expect(&mut self, source: u32, time: Time) {
        self.arrivals.set(source as usize, time, 0);
    }
}

/// Makes trunks of those of `links` that can be.
pub fn join(links: &mut [Link], table: &RouteTable) -> Vec<Trunk> {
    let mut trunks = Vec::new();
    for (link, sources) in table.trunks() {
        if links[link].delay() == Duration::ZERO || links[link].is_clocked() {
            continue;
        }
        links[link].role = Role::Trunk(trunks.len() as u32);
        for (i, &source) in sources.iter().enumerate() {
            links[source].role = Role::Source { trunk: trunks.len() as u32, source: i as u32 };
        }
        let arrivals = Tree::new(sources.len());
        let sources = sources.into_iter().map(|source| source as u32).collect();
        trunks.push(Trunk { link, sources, arrivals, lead: links[link].delay(), crowd: Crowd::none() });
    }
    trunks
}

impl World {
    /// What has come to the trunk `number` up to and including now goes through its queue.
    pub(super) fn cross(&mut self, number: usize) {
        self.live(number);
        let World { trunks, links, packets, ledger, hops, events, stirred, now, .. } = self;
        let trunk = &mut trunks[number];
        while let (time, source) = trunk.arrivals.first()
            && time <= *now
        {
            let link = &mut links[trunk.sources[source] as usize];
            let arrival = link.arrival(time, packets, ledger);
            link.scheduled = link.next_event();
            trunk.arrivals.go_on(source, link.scheduled, 0);
            if let Some(id) = arrival {
                links[trunk.link].offer(time, id, packets, ledger);
                tails::pass(trunk.link, links, hops, packets, events, stirred);
            }
        }
        self.note_stirred();
    }

    /// The trunk `number` may have more to do than it had.
    pub(super) fn hasten(&mut self, number: usize) {
        let trunk = &self.trunks[number];
        let (due, link) = (trunk.due(), &mut self.links[trunk.link]);
        if due < link.scheduled {
            link.scheduled = due;
            self.events.set(trunk.link, due);
        }
    }
}

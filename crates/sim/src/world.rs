//! The world: links and endpoints, and what happens to them, event by event.
//!
//! The sources of events are numbered: the links in the order of the network, then the endpoints (for each flow its
//! sender, then its receiver), then what hosts have. Events at equal times are handled in the order of these numbers, those of links at
//! random if the experiment says so. What is done later and at once ([`tails`], [`trunks`], [`crowds`]) comes out as if it had been
//! done in that order.

mod cells;
mod crowds;
mod ends;
mod hosts;
mod tails;
mod trunks;

use std::collections::BTreeMap;

use longfat_core::atm::port::Run;
use longfat_core::experiment::route::Routes;
use longfat_core::experiment::{Experiment, Ties};
use longfat_core::link::loss;
use longfat_core::packet::{PacketId, Packets};
use longfat_core::queue::{self, DropReason, QueueContext};
use longfat_core::rng::Rng;
use longfat_core::time::Time;

use crate::Error;
use crate::endpoint::{Endpoint, personality};
use crate::event_set::{EventSet, Part};
use crate::ledger::Ledger;
use crate::link::{Link, Role};
use crate::measure::Snapshot;
use crate::route::{Hop, Hops, RouteTable};
pub use cells::CellTotals;
use cells::Ports;
use crowds::Outbox;
use hosts::Hosts;
use trunks::Trunk;

/// When a flow reached its milestones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Milestones {
    pub established: Option<Time>,
    pub delivered_all: Option<Time>,
    pub acked_all: Option<Time>,
    pub gave_up: Option<Time>,
}

/// Why [`World::run`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Everything up to and including the given time has been done.
    Reached,
    /// So many events as allowed have been handled.
    Steps,
    /// Every flow the run waits for is done.
    Done,
}

/// A network with its flows, at one instant.
pub struct World {
    pub now: Time,
    pub steps: u64,
    pub links: Vec<Link>,
    pub endpoints: Vec<Endpoint>,
    /// Every packet in a queue or on a wire.
    pub packets: Packets,
    hops: Hops,
    events: EventSet,
    pub ledger: Ledger,
    pub hosts: Hosts,
    pub ports: Ports,
    /// Each tail, with the link that feeds it.
    tails: Vec<(usize, usize)>,
    trunks: Vec<Trunk>,
    /// Which member of its crowd each endpoint is.
    member_of: Vec<u32>,
    outbox: Outbox,
    /// Links to members of crowds that have more to do than was known.
    stirred: Vec<u32>,
    /// Cells on their way from one switch to another: room used again and again.
    onward: Vec<Run>,
    pub milestones: Vec<Milestones>,
    /// Volumes not yet delivered, and volumes not yet known to be delivered.
    undelivered: usize,
    unfinished: usize,
    /// Taken when the last volume was delivered.
    pub all_delivered: Option<Snapshot>,
}

impl World {
    /// The world of `experiment` at time zero.
    pub fn new(experiment: &Experiment) -> Result<Self, Error> {
        // Which of two at one instant is first may be drawn for each event anew: then none is left out.
        Self::with(experiment, experiment.ties != Ties::Random)
    }

    /// The same, with tails and trunks or with an event for each packet at each link.
    pub fn with(experiment: &Experiment, batches: bool) -> Result<Self, Error> {
        let table = RouteTable::new(experiment)?;
        let (mut endpoints, initial) = endpoints(experiment, &table);
        let mut links = links(experiment);
        if experiment.departures_last {
            links.iter_mut().for_each(Link::depart_last);
        }
        let ports = Ports::new(experiment, &table);
        let tails = if batches { tails::join(&mut links, &table) } else { Vec::new() };
        let mut trunks = if batches { trunks::join(&mut links, &table) } else { Vec::new() };
        let volumes = experiment.flows.iter().filter(|flow| flow.traffic.volume().is_some()).count();
        let hosts = Hosts::new(experiment, &mut endpoints);
        let mut parts = vec![Part::Here; endpoints.len() + hosts.sources()];
        // A run that ends with its volumes ends at an event, and nobody may have lived beyond it.
        let crowded = if volumes == 0 { &mut trunks[..] } else { &mut [] };
        let member_of = crowds::join(&mut links, &table, &mut endpoints, &hosts, crowded, &mut parts);
        let mut events = EventSet::new(links.len(), &parts);
        if experiment.ties == Ties::Random {
            events.rank_at_random(Rng::named(experiment.seed, "ties"));
        }
        for (i, endpoint) in endpoints.iter().enumerate().filter(|(_, endpoint)| !endpoint.is_alone) {
            events.set(links.len() + i, endpoint.wake);
        }
        let first_pool = links.len() + endpoints.len() + hosts.sources() - hosts.pools.len();
        for (i, pool) in hosts.pools.iter().enumerate() {
            events.set(first_pool + i, pool.next_look());
        }
        let mut world = World {
            now: Time::ZERO,
            steps: 0,
            links,
            endpoints,
            packets: Packets::new(),
            hops: table.hops,
            events,
            hosts,
            ports,
            tails,
            trunks,
            member_of,
            outbox: Outbox::default(),
            stirred: Vec::new(),
            onward: Vec::new(),
            ledger: Ledger::new(table.origin, &initial, experiment.measure.events),
            milestones: vec![Milestones::default(); experiment.flows.len()],
            undelivered: volumes,
            // A run without a volume lasts its whole duration: it waits for something that never comes.
            unfinished: if volumes == 0 { usize::MAX } else { volumes },
            all_delivered: None,
        };
        (0..world.trunks.len()).for_each(|trunk| world.wait_for_crowd(trunk));
        Ok(world)
    }

    /// Handles events up to and including `until`, but not more than `steps`.
    pub fn run(&mut self, until: Time, steps: u64) -> Pause {
        let enough = self.steps.saturating_add(steps);
        while self.steps < enough {
            let (time, source) = self.events.first();
            if time > until {
                self.now = until;
                self.live_all();
                return Pause::Reached;
            }
            debug_assert!(time >= self.now);
            self.now = time;
            self.steps += 1;
            match source.checked_sub(self.links.len()) {
                None => self.link_event(source),
                Some(number) => self.source_event(number),
            }
            if self.unfinished == 0 && self.undelivered == 0 {
                return Pause::Done;
            }
        }
        Pause::Steps
    }

    /// The pending time of the endpoint of this number has come or, after the endpoints, of something of a host.
    #[inline]
    fn source_event(&mut self, number: usize) {
        match number.checked_sub(self.endpoints.len()) {
            None => self.wake(number),
            Some(number) => self.host_event(number),
        }
    }

    /// The packet at the head of a link's wire has arrived.
    #[inline(always)]
    fn link_event(&mut self, number: usize) {
        if let Some(port) = self.ports.of(number) {
            if let Some(id) = self.port_event(number, port) {
                self.forward(number, id);
            }
            return;
        }
        let mut has_more_to_do = true;
        if let Role::Trunk(trunk) = self.links[number].role {
            // If it is just that a packet comes to the far end, what comes to the trunk may wait.
            has_more_to_do = self.links[number].head_arrives() > self.now || self.trunks[trunk as usize].due() <= self.now;
            if has_more_to_do {
                self.cross(trunk as usize);
            }
        }
        let link = &mut self.links[number];
        if has_more_to_do {
            link.catch_up(self.now, &mut self.packets, &mut self.ledger);
        }
        let arrival = link.take(self.now, &mut self.packets, &mut self.ledger);
        if link.feeder.feeds {
            self.pass_to_tails(number);
        }
        let next = self.next_event(number);
        let link = &mut self.links[number];
        let rank = (next != link.scheduled).then(|| self.events.rank());
        link.scheduled = next;
        if let Some(id) = arrival {
            self.forward(number, id);
        }
        // Only now: while this link is the first of all, what the packet sets off does not get past it in the event set. (And it may
        // have set off that the whole world is looked at, and so that this link has something to do earlier.)
        if let Some(rank) = rank {
            self.events.go_on(number, self.links[number].scheduled, rank);
        }
    }

    /// The packet `id` has come by the link `number`.
    #[inline(always)]
    fn forward(&mut self, number: usize, id: PacketId) {
        match self.hops.at(self.packets[id].route) {
            Hop::Link(next) => self.offer(next as usize, id),
            Hop::Port(place) => self.offer_cells(number, place, id),
            Hop::Endpoint(endpoint) => self.deliver(endpoint as usize, id, number),
        }
    }

    #[inline(always)]
    fn offer(&mut self, number: usize, id: PacketId) {
        let link = &mut self.links[number];
        link.offer(self.now, id, &mut self.packets, &mut self.ledger);
        if link.feeder.feeds {
            self.pass_to_tails(number);
        }
        self.reschedule(number);
    }

    #[inline(never)]
    fn pass_to_tails(&mut self, number: usize) {
        tails::pass(number, &mut self.links, &self.hops, &mut self.packets, &mut self.events, &mut self.stirred);
        self.note_stirred();
    }

    /// Puts the next event of the link `number` where it belongs, unless there is one before.
    #[inline]
    fn reschedule(&mut self, number: usize) {
        let link = &mut self.links[number];
        let next = link.next_event();
        if next >= link.scheduled {
            return;
        }
        link.scheduled = next;
        let trunk = match link.role {
            Role::Alone | Role::Trunk(_) => return self.events.set(number, next),
            Role::Source { trunk, source } => {
                self.trunks[trunk as usize].expect(source, next);
                trunk
            }
            Role::Sink { trunk, sink } => {
                self.trunks[trunk as usize].crowd.expect(sink, next);
                trunk
            }
        };
        self.hasten(trunk as usize);
    }

    /// When the link `number`, whose event has come, next has something to do.
    #[inline]
    fn next_event(&self, number: usize) -> Time {
        let link = &self.links[number];
        let next = link.next_event();
        if let Role::Trunk(trunk) = link.role { next.min(self.trunks[trunk as usize].due()) } else { next }
    }

    #[inline(never)]
    fn deliver(&mut self, number: usize, id: PacketId, link: usize) {
        if self.packets[id].corrupted {
            self.links[link].count.drops[DropReason::Corrupted as usize] += 1;
            self.ledger.dropped(self.now, id, &self.packets, DropReason::Corrupted, link as u32);
            self.packets.remove(id);
            return;
        }
        self.arrive(number, id);
    }

    /// Does what has happened at every queue up to now.
    pub fn advance_links(&mut self) {
        for trunk in 0..self.trunks.len() {
            self.cross(trunk);
        }
        for number in 0..self.links.len() {
            self.links[number].advance(self.now, &mut self.packets, &mut self.ledger);
            self.pass_to_tails(number);
        }
        self.advance_tails();
        self.advance_ports();
    }

    /// What the links and flows have done so far.
    pub fn snapshot(&mut self) -> Snapshot {
        self.advance_links();
        Snapshot::of(self)
    }
}

/// What each flow is called: its group and its number in it, from 1.
pub fn flow_names(experiment: &Experiment) -> impl Iterator<Item = String> {
    let mut seen = BTreeMap::new();
    experiment.flows.iter().map(move |flow| {
        let number: &mut u32 = seen.entry(&*flow.group).or_default();
        *number += 1;
        format!("{} {number}", flow.group)
    })
}

fn endpoints(experiment: &Experiment, table: &RouteTable) -> (Vec<Endpoint>, Vec<u32>) {
    let mut endpoints = Vec::with_capacity(2 * experiment.flows.len());
    let mut initial = Vec::with_capacity(2 * experiment.flows.len());
    for (name, flow) in flow_names(experiment).zip(&experiment.flows) {
        let (iss, phase) = personality(experiment.seed, &format!("{name} sender"));
        endpoints.push(Endpoint::sender(flow, iss, phase, Rng::named(experiment.seed, &format!("{name} traffic"))));
        // What is not TCP numbers its packets from 0; the stream of TCP begins after the SYN.
        let first = |iss: u32| if flow.traffic.is_tcp() { iss } else { u32::MAX };
        initial.push(first(iss));
        let (iss, phase) = personality(experiment.seed, &format!("{name} receiver"));
        endpoints.push(Endpoint::receiver(flow, iss, phase));
        initial.push(first(iss));
    }
    for (endpoint, &(first_link, route)) in endpoints.iter_mut().zip(&table.starts) {
        (endpoint.first_link, endpoint.route) = (first_link, route);
    }
    (endpoints, initial)
}

fn links(experiment: &Experiment) -> Vec<Link> {
    let network = &experiment.network;
    let ports = Routes::new(network).ports();
    let rtts = Routes::new(network).round_trips(&experiment.flows);
    let make = |(i, link): (usize, &longfat_core::experiment::Link)| {
        let rng = |part: &str| Rng::named(experiment.seed, &format!("{} {part}", link.name));
        let kind = queue::find(link.queue.kind).unwrap_or_else(|| panic!("link {}: no queue is called {}", link.name, link.queue.kind));
        let context = QueueContext { rate: link.rate, rtt: rtts[i], mtu: link.mtu, rng: rng("queue") };
        let queue = (kind.build)(&link.queue.params, context);
        let kind = loss::find(link.loss.kind).unwrap_or_else(|| panic!("link {}: no loss is called {}", link.name, link.loss.kind));
        let to_switch = network.nodes[link.to].is_switch();
        Link::new(i as u32, link, to_switch, ports[i], queue, (kind.build)(&link.loss.params, rng("loss")))
    };
    network.links.iter().enumerate().map(make).collect()
}

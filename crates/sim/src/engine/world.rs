//! The world: a network with its flows, cut into stages that live by themselves for a while.
//!
//! A stage is a link with the queue before it, an output port of a switch, an endpoint, an *island* (the endpoints of a host that share
//! something without delay, with what they share), or a router, with all links that lead from it, where their queues share a memory. What
//! comes to a stage comes by its [`Input`]s, and a stage takes it in order of time. How far each stage may live before the next has its
//! turn is in the [`Plan`](crate::engine::plan).
//!
//! At equal times what is set off by links comes first, in the order of their numbers in the network; then what endpoints do when they
//! wake, for each flow its sender, then its receiver; then what hosts do. That is the *rank* of an input. With random ties it is drawn for
//! links.

mod detours;
mod ends;
mod hosts;
mod islands;
mod layout;
mod links;
mod offload;
mod parts;
mod ports;
mod routers;
mod snapshot;
mod units;

use longfat_core::atm::port::Run;
use longfat_core::link::Link;
use longfat_core::packet::{Line, PacketId, Packets};
use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_record::recorder::Totals;

use crate::Error;
use crate::engine::ending::Ending;
use crate::engine::schedule::Schedule;
use crate::ledger::{Ledger, sent_so_far};
use crate::stage::endpoint::Endpoint;
use crate::stage::host::Spot;

use crate::engine::merge::Batch;
use detours::Detours;
use ends::Cause;
use islands::Island;
use links::{Tie, Told};
use parts::Hosts;
use ports::Ports;
use routers::Router;

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
    /// So many steps as allowed have been done.
    Steps,
    /// Every flow the run waits for is done.
    Done,
}

/// What lives by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A link with the queue before it.
    Link(u32),
    /// An output port of a switch, with the link behind it.
    Port(u32),
    /// An endpoint that shares nothing with others but the link it sends by.
    Endpoint(u32),
    /// The endpoints of a host that share more.
    Island(u32),
    /// The links that lead from a router and share a memory there.
    Router(u32),
}

/// What comes to a stage from one source, in order of time.
#[derive(Debug)]
pub struct Input {
    /// The stage it leads to, by its place in the order of a sweep.
    to: u32,
    /// What it leads to there: the number of the link, of the endpoint or of the router, or the place in the agenda of the island.
    at: u32,
    /// The order of what comes at one time: the number of the link by which it comes, or that of the endpoint that sends it, after all
    /// links.
    rank: u32,
    /// The packets, each stamped with the time at which it comes.
    line: Line,
}

/// How much is done before somebody can ask to stop. What comes of a run does not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Events of one sweep, after which no stage begins anything that it need not.
    pub sweep: u64,
    /// Events that a stage may take in its turn all the same.
    pub stage: u64,
    /// How many events there are when this sweep has had its share.
    enough: u64,
}

impl Turns {
    /// A fraction of a second. Only flows far above the rate of what they cross come to that: so many packets on one path.
    pub const USUAL: Turns = Turns { sweep: 1_000_000, stage: 1000, enough: 0 };
}

/// A network with its flows, at one instant.
pub struct World {
    pub now: Time,
    pub steps: u64,
    pub links: Vec<Link>,
    pub endpoints: Vec<Endpoint>,
    /// Every packet in a queue or on a wire.
    pub packets: Packets,
    /// For each route cursor that a packet has when it leaves a link, the input by which it comes to what is next.
    hops: Vec<u32>,
    /// For each link the input by which all comes that it carries; none where there are several.
    leads_to: Vec<u32>,
    /// For each cursor the channel of the output port. Empty in a network without switches.
    channels: Vec<u32>,
    /// For each cursor the link that a packet with it waits for. Empty where no router shares a memory and no route moves.
    next_link: Vec<u32>,
    detours: Detours,
    inputs: Vec<Input>,
    /// For each link the inputs in which packets wait for its queue or its port.
    waiting: Vec<Vec<u32>>,
    /// In the order of a sweep.
    stages: Vec<Stage>,
    schedule: Schedule,
    pub turns: Turns,
    islands: Vec<Island>,
    pub routers: Vec<Router>,
    /// For each endpoint its spot, if it lives on an island. Empty without islands.
    spots: Vec<Option<Spot>>,
    pub hosts: Hosts,
    pub ports: Ports,
    pub ledger: Ledger,
    pub milestones: Vec<Milestones>,
    ending: Ending,
    /// Taken when the last volume was delivered.
    pub all_delivered: Option<Totals>,
    /// Trigger of what is being done.
    cause: Cause,
    /// For each link those who are told what its flow control says. Empty where nobody has any.
    pauses: Vec<Vec<Told>>,
    /// For each link its place in the order of a sweep, or that of its island.
    place_of_link: Vec<u32>,
    /// With random ties, for each input.
    ties: Vec<Tie>,
    /// What comes to a link by several inputs, and cells on their way from one switch to another: room used again and again.
    batch: Batch,
    onward: Vec<Run>,
}

impl World {
    /// The world of `experiment` at time zero.
    pub fn new(experiment: &Experiment) -> Result<Self, Error> {
        layout::world(experiment)
    }

    /// Lives up to and including `until`, but stops after about so many `steps`.
    pub fn run(&mut self, until: Time, steps: u64) -> Pause {
        let enough = self.steps.saturating_add(steps);
        loop {
            if self.ending.is_reached() {
                assert!(self.schedule.is_single(), "a run ended before it could");
                return Pause::Done;
            }
            let look = self.hosts.next_look();
            let stop = until.min(look).min(self.hold());
            if self.schedule.reached() < Some(stop) {
                if self.steps >= enough {
                    self.now = self.schedule.reached().unwrap_or(Time::ZERO);
                    return Pause::Steps;
                }
                self.sweep(stop);
                continue;
            }
            self.now = stop;
            self.schedule.meet(stop);
            if look == stop {
                self.look();
            } else if stop < until {
                self.be_single();
            } else {
                return Pause::Reached;
            }
        }
    }

    /// Nobody lives beyond this time by a sweep.
    fn hold(&mut self) -> Time {
        let World { ending, schedule, endpoints, .. } = self;
        if schedule.is_single() {
            return Time::MAX;
        }
        ending.hold(schedule.front(), |flow| sent_so_far(&endpoints[2 * flow as usize].agent.stats()))
    }

    /// From here on all live together.
    pub fn be_single(&mut self) {
        self.schedule.be_single();
    }

    /// Every stage that has something to do has its turn, but nobody lives beyond `stop`.
    fn sweep(&mut self, stop: Time) {
        self.schedule.begin(stop, self.steps == 0);
        self.turns.enough = self.steps.saturating_add(self.turns.sweep);
        let mut place = 0;
        while let Some(found) = self.schedule.next(place) {
            let until = self.schedule.until(found).min(self.hosts.next_look());
            if self.schedule.due_at(found) <= until {
                self.steps += 1;
                let next = match self.stages[found] {
                    Stage::Endpoint(endpoint) => self.endpoint_turn(endpoint as usize, until),
                    Stage::Link(link) => self.link_turn(link as usize, until),
                    Stage::Port(link) => self.port_turn(link as usize, until),
                    Stage::Island(island) => self.island_turn(island as usize, until),
                    Stage::Router(router) => self.router_turn(router as usize, until),
                };
                if next <= until {
                    self.schedule.cut(found, next);
                }
                self.schedule.set(found, next);
            }
            place = found + 1;
        }
        self.schedule.end(self.hosts.next_look());
        if self.schedule.is_single() {
            self.now = self.schedule.front();
        }
        if self.ending.take_delivery() {
            assert!(self.schedule.is_single(), "volumes were delivered before they could be");
            self.all_delivered = Some(self.totals_now());
        }
    }

    /// How many events there may be when the stage that has its turn now leaves what is at a later instant for its next.
    fn turn_ends(&self) -> u64 {
        self.turns.enough.max(self.steps.saturating_add(self.turns.stage))
    }

    /// The packet `id` will come by this input when its stamp says.
    #[inline(always)]
    fn put(&mut self, number: u32, id: PacketId) {
        let input = &mut self.inputs[number as usize];
        if input.line.is_empty() {
            self.expect(number, id);
        }
        self.inputs[number as usize].line.push(id, &mut self.packets);
    }

    /// The packet `id` comes by an input in which nothing waits.
    #[inline]
    fn expect(&mut self, number: u32, id: PacketId) {
        let Input { to, at, .. } = self.inputs[number as usize];
        let mut comes = self.packets[id].stamp;
        match self.stages[to as usize] {
            Stage::Endpoint(_) => {}
            Stage::Link(_) => self.waiting[at as usize].push(number),
            Stage::Port(_) => comes = self.expect_at_port(at as usize, number, id),
            Stage::Island(island) => self.islands[island as usize].agenda.lower(at as usize, comes),
            Stage::Router(router) => self.routers[router as usize].waiting.push(number),
        }
        self.schedule.lower(to as usize, comes);
    }

    /// Does what has happened at every queue and port up to now, which every stage has reached.
    pub fn advance_links(&mut self) {
        for number in 0..self.links.len() {
            self.advance_link(number);
        }
        self.advance_ports();
    }

    /// For each link the packets that are on their way by it.
    pub fn on_wires(&self) -> Vec<u64> {
        let mut on_wires: Vec<u64> = self.links.iter().map(Link::keeps).collect();
        let sent = self.endpoints.len()..ends::first_from_links(self.endpoints.len());
        for (i, input) in self.inputs.iter().enumerate() {
            if sent.contains(&i) {
                assert!(input.line.is_empty(), "what an endpoint has sent has not come to its link");
            } else {
                on_wires[input.rank as usize] += input.line.len() as u64;
            }
        }
        on_wires
    }

    /// The packets on their way by the link `number`.
    #[cfg(test)]
    pub fn on_wire(&self, number: u32) -> impl Iterator<Item = PacketId> {
        let of_links = self.inputs.iter().filter(move |input| input.rank == number);
        of_links.flat_map(|input| input.line.iter(&self.packets))
    }

    /// Takes the packets that are on their way to some stage, at the end of a run.
    pub fn take_on_way(&mut self) -> Vec<PacketId> {
        let packets = &self.packets;
        self.inputs.iter_mut().flat_map(|input| std::iter::from_fn(|| input.line.pop(packets))).collect()
    }
}

/// The flows that the run waits for, and what each sends.
fn volumes(experiment: &Experiment) -> impl Iterator<Item = (u32, u64)> {
    experiment.flows.iter().enumerate().filter_map(|(i, flow)| Some((i as u32, flow.traffic.volume()?)))
}

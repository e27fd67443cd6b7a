//! The layout of a world: what its stages are, by which inputs packets come to each, and what the plan has to know of them.

use std::collections::{BTreeMap, BTreeSet};

use longfat_core::link::{Link, PauseAt};
use longfat_core::packet::{Line, Packets};
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_model::made::{self, Made};
use longfat_model::{Experiment, Ties};

use super::detours::Detours;
use super::ends::{Cause, outlet};
use super::islands::{Event, Island};
use super::links::{Tie, Told};
use super::parts::{Hosts, Source, sources_of};
use super::ports::Ports;
use super::routers::Router;
use super::units::{NONE, Units, graph};
use super::{Input, Milestones, Stage, Turns, World, volumes};
use crate::Error;
use crate::engine::due::Due;
use crate::engine::ending::Ending;
use crate::engine::merge::Batch;
use crate::engine::route::{END, RouteTable};
use crate::engine::schedule::Schedule;
use crate::ledger::Ledger;
use crate::stage::endpoint::{Endpoint, personality};
use crate::stage::host::Spot;

/// The world of `experiment` at time zero.
pub(super) fn world(experiment: &Experiment) -> Result<World, Error> {
    let table = RouteTable::new(experiment)?;
    let (mut endpoints, initial) = endpoints(experiment, &table);
    let Made { mut links, memories } = made::links(experiment);
    let pauses = pauses(experiment, &table, &mut links);
    let mut ports = Ports::new(experiment, &table);
    let mut hosts = Hosts::new(experiment, &mut endpoints);
    let volumes: Vec<(u32, u64)> = volumes(experiment).collect();
    let mut detours = Detours::new(experiment);
    for (i, &start) in table.starts.iter().enumerate() {
        let mut party = made::party(&experiment.network, &experiment.flows[i / 2]);
        if i % 2 == 1 {
            // What goes back comes from where the flow goes to.
            party.hosts.reverse();
        }
        detours.moves.tell(&mut links, table.route(i), start, &party);
    }
    let units = Units::new(experiment, &mut endpoints, &table, &ports, &detours);
    let lag = |link: u32| match ports.in_front_of(link as usize) {
        Some(port) => port.lag(links[link as usize].delay()),
        None => links[link as usize].lag(),
    };
    let graph = graph(&units, &endpoints, &table, lag, &volumes, &pauses, &detours);
    let longest = longest(experiment, &links, &table);
    let plan = graph.plan(longest);
    ports.leave_waiting(longest);
    let mut layout = Layout::new(&units, &endpoints, &plan.order, &ports);
    layout.join(&units, &endpoints, &table, links.len(), &mut detours);
    let spots = layout.settle_islands(&units, &endpoints, &mut hosts, links.len());
    let mut schedule = Schedule::new(&plan, layout.units.iter().copied());
    for (place, stage) in layout.stages.iter().enumerate() {
        let first = match *stage {
            Stage::Endpoint(endpoint) => endpoints[endpoint as usize].wake,
            Stage::Island(island) => layout.islands[island as usize].agenda.first(),
            Stage::Link(_) | Stage::Port(_) | Stage::Router(_) => Time::MAX,
        };
        schedule.set(place, first);
    }
    let place_of_link = layout.places_of_links(&units);
    // A stream is named after the links that it orders: the rest of the network has no say in it.
    let named = |link: u32| experiment.network.links.get(link as usize).map_or("", |link| link.name.as_str());
    let ties = |input: &Input| {
        let at = match layout.stages.get(input.to as usize) {
            Some(Stage::Link(link)) => named(*link),
            _ => "",
        };
        Tie::new(Rng::named(experiment.seed, &format!("ties {} {at}", named(input.rank))))
    };
    let is_random = experiment.ties == Ties::Random;
    let leads_to = layout.leads_to(links.len());
    // Whoever stops early may be done before its volume is sent.
    let unsent = volumes.iter().copied().filter(|(flow, _)| experiment.flows[*flow as usize].stop.is_none()).collect();
    Ok(World {
        now: Time::ZERO,
        steps: 0,
        waiting: vec![Vec::new(); links.len()],
        links,
        packets: Packets::new(),
        channels: table.channels,
        ledger: Ledger::new(table.origin, &initial, experiment),
        hops: layout.hops,
        leads_to,
        next_link: if units.routers.is_empty() && detours.moves.is_empty() { Vec::new() } else { table.links },
        detours,
        pauses,
        place_of_link,
        ties: layout.inputs.iter().filter(|_| is_random).map(ties).collect(),
        inputs: layout.inputs,
        schedule,
        stages: layout.stages,
        turns: Turns::USUAL,
        islands: layout.islands,
        routers: units.routers.iter().map(|(_, node, links)| Router::new(links, memories[node].clone())).collect(),
        spots,
        hosts,
        ports,
        milestones: vec![Milestones::default(); experiment.flows.len()],
        ending: Ending::new(volumes.len(), unsent),
        all_delivered: None,
        cause: Cause::Arrival,
        endpoints,
        batch: Batch::default(),
        onward: Vec::new(),
    })
}

fn endpoints(experiment: &Experiment, table: &RouteTable) -> (Vec<Endpoint>, Vec<u32>) {
    let mut endpoints = Vec::with_capacity(2 * experiment.flows.len());
    let mut initial = Vec::with_capacity(2 * experiment.flows.len());
    for (name, flow) in experiment.flow_names().zip(&experiment.flows) {
        let (iss, phase) = personality(experiment.seed, &format!("{name} sender"));
        endpoints.push(Endpoint::sender(flow, iss, phase, Rng::named(experiment.seed, &format!("{name} traffic"))));
        // What is not TCP numbers its packets from 0; the stream of TCP begins after the SYN.
        let first = |iss: u32| if flow.traffic.is_tcp() { iss } else { u32::MAX };
        initial.push(first(iss));
        let (iss, phase) = personality(experiment.seed, &format!("{name} receiver"));
        endpoints.push(Endpoint::receiver(flow, iss, phase));
        initial.push(first(iss));
    }
    for (i, (endpoint, &start)) in endpoints.iter_mut().zip(&table.starts).enumerate() {
        (endpoint.first_link, endpoint.route) = (table.links[start as usize], start);
        endpoint.dscp = experiment.flows[i / 2].dscp;
    }
    (endpoints, initial)
}

/// For each link those whom its flow control tells to stop: the links that fill its queue. Empty where no link has any.
fn pauses(experiment: &Experiment, table: &RouteTable, links: &mut [Link]) -> Vec<Vec<Told>> {
    let network = &experiment.network;
    if network.links.iter().all(|link| link.pause.is_none()) {
        return Vec::new();
    }
    let mut all = vec![Vec::new(); links.len()];
    for (number, pause) in network.links.iter().enumerate().filter_map(|(number, link)| Some((number, link.pause?))) {
        let into: BTreeSet<u32> = table
            .links
            .windows(2)
            .filter(|pair| pair[1] == number as u32)
            .map(|pair| pair[0])
            .filter(|link| *link != END && !network.links[*link as usize].cells)
            .collect();
        for &link in &into {
            // The two ways of a link stand side by side.
            let (lag, time) = (links[link as usize ^ 1].lag(), pause.time(network.links[link as usize].rate));
            all[number].push(Told { link, sender: links[link as usize].heed_pauses(), lag, time });
        }
        if let Some(shortest) = all[number].iter().map(|told| told.time).min() {
            // Half of it is left when the next one comes.
            let refresh = Duration::from_ps(shortest.as_ps() / 2);
            links[number].watch(PauseAt { on: pause.on, off: pause.off, refresh });
        }
    }
    all
}

/// So many full packets of the fastest bottleneck fit into the longest period: what is put aside between two stages takes memory.
const MOST: u64 = 32_768;

/// The longest period that is worth while.
fn longest(experiment: &Experiment, links: &[Link], table: &RouteTable) -> Duration {
    let bottleneck = |endpoint: usize| table.route(endpoint).iter().map(|link| links[*link as usize].time_of(MOST)).max();
    let shortest = (0..2 * experiment.flows.len()).filter_map(bottleneck).min();
    // Without a flow nothing ever happens.
    shortest.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(1))
}

/// Stages in the order of a sweep, and their inputs.
struct Layout {
    stages: Vec<Stage>,
    /// For each stage its unit.
    units: Vec<usize>,
    hops: Vec<u32>,
    inputs: Vec<Input>,
    islands: Vec<Island>,
    /// For each endpoint that is a stage, and for each link that is one or a part of one, its place in the order.
    of_endpoint: Vec<u32>,
    of_link: Vec<u32>,
}

impl Layout {
    fn new(units: &Units, endpoints: &[Endpoint], order: &[usize], ports: &Ports) -> Self {
        let mut members = vec![Vec::new(); units.count];
        for (number, stages) in members.iter_mut().enumerate().take(units.islands.len()) {
            stages.push(Stage::Island(number as u32));
        }
        for (number, (unit, _, _)) in units.routers.iter().enumerate() {
            members[*unit as usize].push(Stage::Router(number as u32));
        }
        for (link, unit) in units.of_link.iter().enumerate().filter(|(_, unit)| **unit != NONE) {
            if !units.is_island(*unit) && units.router(*unit).is_none() && !units.owned.contains(&(link as u32)) {
                let stage = if ports.of(link).is_some() { Stage::Port(link as u32) } else { Stage::Link(link as u32) };
                members[*unit as usize].push(stage);
            }
        }
        for (endpoint, unit) in units.of_endpoint.iter().enumerate() {
            if !units.is_island(*unit) {
                members[*unit as usize].push(Stage::Endpoint(endpoint as u32));
            }
        }
        let mut layout = Layout {
            stages: Vec::new(),
            units: Vec::new(),
            hops: Vec::new(),
            inputs: Vec::new(),
            islands: Vec::new(),
            of_endpoint: vec![NONE; units.of_endpoint.len()],
            of_link: vec![NONE; units.of_link.len()],
        };
        let island = |links: &Vec<u32>| Island { events: Vec::new(), agenda: Due::new(0), links: links.clone(), stage: 0 };
        layout.islands = units.islands.iter().map(island).collect();
        for &unit in order {
            for stage in members[unit].drain(..) {
                let place = layout.stages.len() as u32;
                match stage {
                    Stage::Endpoint(endpoint) => {
                        layout.of_endpoint[endpoint as usize] = place;
                        let Endpoint { has_link, first_link, .. } = endpoints[endpoint as usize];
                        if has_link {
                            layout.of_link[first_link as usize] = place;
                        }
                    }
                    Stage::Link(link) | Stage::Port(link) => layout.of_link[link as usize] = place,
                    Stage::Island(island) => layout.islands[island as usize].stage = place as usize,
                    Stage::Router(router) => {
                        units.routers[router as usize].2.iter().for_each(|link| layout.of_link[*link as usize] = place);
                    }
                }
                layout.stages.push(stage);
                layout.units.push(unit);
            }
        }
        layout
    }

    /// For each link its place in the order of a sweep, or that of its island.
    fn places_of_links(&self, units: &Units) -> Vec<u32> {
        let place = |(unit, place): (&u32, &u32)| self.islands.get(*unit as usize).map_or(*place, |island| island.stage as u32);
        units.of_link.iter().zip(&self.of_link).map(place).collect()
    }

    /// For each of so many links the input by which all comes that it carries, or [`NONE`].
    fn leads_to(&self, links: usize) -> Vec<u32> {
        let mut all = vec![BTreeSet::new(); links];
        for hop in self.hops.iter().filter(|hop| **hop != NONE) {
            all[self.inputs[*hop as usize].rank as usize].insert(*hop);
        }
        all.iter().map(|hops| hops.first().copied().filter(|_| hops.len() == 1).unwrap_or(NONE)).collect()
    }

    fn input(&mut self, to: u32, at: u32, rank: u32) -> u32 {
        self.inputs.push(Input { to, at, rank, line: Line::new() });
        self.inputs.len() as u32 - 1
    }

    /// Makes the inputs: the first ones are those of the endpoints, in order, then come two for what each sends ([`outlet`]).
    fn join(&mut self, units: &Units, endpoints: &[Endpoint], table: &RouteTable, links: usize, detours: &mut Detours) {
        // Of endpoints that are on an island, these three lead nowhere.
        for endpoint in 0..endpoints.len() {
            let came_by = *table.route(endpoint ^ 1).last().expect("a route has a link");
            self.input(self.of_endpoint[endpoint], endpoint as u32, came_by);
        }
        for (endpoint, start) in table.starts.iter().enumerate() {
            let (first, came_by) = (table.links[*start as usize], self.inputs[endpoint].rank);
            debug_assert_eq!(self.inputs.len() as u32, outlet(endpoints.len(), endpoint, Cause::Arrival));
            self.input(self.of_link[first as usize], first, came_by);
            self.input(self.of_link[first as usize], first, (links + endpoint) as u32);
        }
        // The others: by the link from which packets come, and the stage.
        let mut between = BTreeMap::new();
        self.hops = vec![NONE; table.links.len()];
        for endpoint in 0..endpoints.len() {
            let route = table.route(endpoint);
            for (i, &link) in route.iter().enumerate() {
                let input = match route.get(i + 1) {
                    Some(next) => {
                        let (to, at) = self.entry(*next);
                        *between.entry((link, to)).or_insert_with(|| self.input(to, at, link))
                    }
                    None if units.is_island(units.of_endpoint[endpoint ^ 1]) => {
                        let to = self.islands[units.of_endpoint[endpoint ^ 1] as usize].stage as u32;
                        *between.entry((link, to)).or_insert_with(|| self.input(to, NONE, link))
                    }
                    None => endpoint as u32 ^ 1,
                };
                self.hops[table.starts[endpoint] as usize + i + 1] = input;
            }
            for (link, next) in detours.pairs(route) {
                let (to, at) = self.entry(next);
                detours.lead(link, next, *between.entry((link, to)).or_insert_with(|| self.input(to, at, link)));
            }
        }
    }

    /// The stage of this link by its place in the order, and what packets lead to there. A router takes what comes by one link in one line,
    /// whichever of its own links it is for.
    fn entry(&self, link: u32) -> (u32, u32) {
        let to = self.of_link[link as usize];
        match self.stages[to as usize] {
            Stage::Router(router) => (to, router),
            _ => (to, link),
        }
    }

    /// Agenda of each island. Tells each part of a host its spot, and returns the spots of the endpoints.
    fn settle_islands(&mut self, units: &Units, endpoints: &[Endpoint], hosts: &mut Hosts, links: usize) -> Vec<Option<Spot>> {
        if self.islands.is_empty() {
            return Vec::new();
        }
        let mut spots = vec![None; endpoints.len()];
        let mut all_arrivals = vec![Vec::new(); self.islands.len()];
        for (i, input) in self.inputs.iter().enumerate().filter(|(_, input)| (input.rank as usize) < links) {
            if let Some(Stage::Island(island)) = self.stages.get(input.to as usize) {
                all_arrivals[*island as usize].push(i);
            }
        }
        let mut all_members = vec![Vec::new(); self.islands.len()];
        for (endpoint, unit) in units.of_endpoint.iter().enumerate().filter(|(_, unit)| units.is_island(**unit)) {
            all_members[*unit as usize].push(endpoint);
        }
        for (number, (mut arrivals, members)) in all_arrivals.into_iter().zip(all_members).enumerate() {
            arrivals.sort_by_key(|input| self.inputs[*input].rank);
            let sources: BTreeSet<Source> = members.iter().flat_map(|endpoint| sources_of(&endpoints[*endpoint])).collect();
            let island = &mut self.islands[number];
            island.agenda = Due::new(arrivals.len() + members.len() + sources.len());
            for input in arrivals {
                self.inputs[input].at = island.events.len() as u32;
                island.events.push(Event::Arrival(input as u32));
            }
            for endpoint in members {
                spots[endpoint] = Some(Spot { island: number as u32, place: island.events.len() as u32 });
                island.agenda.set(island.events.len(), endpoints[endpoint].wake);
                island.events.push(Event::Wake(endpoint as u32));
            }
            for source in sources {
                *hosts.spot_mut(source) = Some(Spot { island: number as u32, place: island.events.len() as u32 });
                island.events.push(Event::Host(source));
            }
        }
        spots
    }
}

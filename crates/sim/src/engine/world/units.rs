//! What lives together, and who feeds whom: what the plan has to know.

use std::collections::{BTreeMap, BTreeSet};

use longfat_core::time::Duration;
use longfat_model::Experiment;

use super::detours::Detours;
use super::links::Told;
use super::parts::Hosts;
use super::ports::Ports;
use crate::engine::plan::Graph;
use crate::engine::route::{END, RouteTable};
use crate::stage::endpoint::Endpoint;
use crate::stage::host::memory;

/// In place of a number: there is none.
pub(super) const NONE: u32 = u32::MAX;

/// What the plan puts in order: links and ports, islands, routers with a memory, and for all endpoints that send and receive by the same two links one unit.
pub(super) struct Units {
    pub count: usize,
    /// For each link its own, or that of the island or the router it is on; [`NONE`] for a link that no flow crosses.
    pub of_link: Vec<u32>,
    pub of_endpoint: Vec<u32>,
    /// The links by which one endpoint alone sends: they are a part of its stage.
    pub owned: BTreeSet<u32>,
    /// The links of each island. Islands are the first units.
    pub islands: Vec<Vec<u32>>,
    /// The unit, the node and the links of each router whose ports share a memory.
    pub routers: Vec<(u32, usize, Vec<u32>)>,
}

impl Units {
    /// Of this network; tells the endpoints on islands.
    pub fn new(experiment: &Experiment, endpoints: &mut [Endpoint], table: &RouteTable, ports: &Ports, detours: &Detours) -> Self {
        let links = &experiment.network.links;
        let mut units = Units {
            count: 0,
            of_link: vec![NONE; links.len()],
            of_endpoint: vec![NONE; endpoints.len()],
            owned: BTreeSet::new(),
            islands: Vec::new(),
            routers: Vec::new(),
        };
        for members in Hosts::islands(endpoints) {
            let unit = units.next();
            let mut links: Vec<u32> = members.iter().map(|endpoint| endpoints[*endpoint as usize].first_link).collect();
            links.sort_unstable();
            links.dedup();
            links.iter().for_each(|link| units.of_link[*link as usize] = unit);
            for endpoint in members {
                units.of_endpoint[endpoint as usize] = unit;
                endpoints[endpoint as usize].is_on_island = true;
            }
            units.islands.push(links);
        }
        let crossed: BTreeSet<u32> = table.links.iter().filter(|link| **link != END).flat_map(|link| detours.moves.all(*link)).collect();
        for router in &experiment.routers {
            let mine: Vec<u32> = crossed.iter().copied().filter(|link| links[*link as usize].from == router.node).collect();
            // A router that no flow crosses is none.
            if !mine.is_empty() {
                let unit = units.next();
                mine.iter().for_each(|link| units.of_link[*link as usize] = unit);
                units.routers.push((unit, router.node, mine));
            }
        }
        let mut classes = BTreeMap::new();
        for (i, endpoint) in endpoints.iter().enumerate().filter(|(_, endpoint)| !endpoint.is_on_island) {
            let ends = (endpoint.first_link, table.route(i ^ 1).last().copied());
            units.of_endpoint[i] = *classes.entry(ends).or_insert_with(|| units.next());
        }
        units.give_links(endpoints, table, ports, detours);
        let in_order = table.links.iter().filter(|link| **link != END).copied();
        for link in in_order.chain(crossed) {
            if units.of_link[link as usize] == NONE {
                units.of_link[link as usize] = units.next();
            }
        }
        debug_assert!(ports.of_links().all(|link| units.of_link[link] != NONE));
        units
    }

    /// A link that nobody crosses but one endpoint, which sends by it, is a part of that endpoint's stage: what it sends need not wait for the
    /// link to have its turn.
    fn give_links(&mut self, endpoints: &mut [Endpoint], table: &RouteTable, ports: &Ports, detours: &Detours) {
        let mut crossings = vec![0; self.of_link.len()];
        let routes = (0..endpoints.len()).flat_map(|endpoint| table.route(endpoint));
        routes.flat_map(|link| detours.moves.all(*link)).for_each(|link| crossings[link as usize] += 1);
        for (i, endpoint) in endpoints.iter_mut().enumerate() {
            let link = endpoint.first_link as usize;
            let is_steady = detours.moves.all(endpoint.first_link).len() == 1;
            if self.of_link[link] == NONE && crossings[link] == 1 && is_steady && ports.of(link).is_none() {
                endpoint.has_link = true;
                self.of_link[link] = self.of_endpoint[i];
                self.owned.insert(endpoint.first_link);
            }
        }
    }

    /// The number of the router whose links this unit is.
    pub fn router(&self, unit: u32) -> Option<usize> {
        self.routers.iter().position(|(of, _, _)| *of == unit)
    }

    pub fn is_island(&self, unit: u32) -> bool {
        (unit as usize) < self.islands.len()
    }

    fn next(&mut self) -> u32 {
        self.count += 1;
        self.count as u32 - 1
    }
}

/// Who feeds whom, and how long that takes at least.
pub(super) fn graph(
    units: &Units,
    endpoints: &[Endpoint],
    table: &RouteTable,
    lag: impl Fn(u32) -> Duration,
    volumes: &[(u32, u64)],
    pauses: &[Vec<Told>],
    detours: &Detours,
) -> Graph {
    // By whichever link a packet goes, it takes as long as by the shortest.
    let least = |link: u32| detours.moves.all(link).into_iter().map(&lag).min().expect("there is the link itself");
    let mut graph = Graph::new(units.count);
    for (link, told) in pauses.iter().enumerate().flat_map(|(link, all)| all.iter().map(move |told| (link, told))) {
        graph.join(units.of_link[link] as usize, units.of_link[told.link as usize] as usize, told.lag);
    }
    for (endpoint, unit) in units.of_endpoint.iter().enumerate() {
        let (route, mut at) = (table.route(endpoint), *unit as usize);
        let mut took = Duration::ZERO;
        let ends = route.iter().map(|link| units.of_link[*link as usize]).chain([units.of_endpoint[endpoint ^ 1]]);
        for (next, lag) in ends.zip([Duration::ZERO].into_iter().chain(route.iter().map(|link| least(*link)))) {
            if at != next as usize {
                graph.join(at, next as usize, lag);
            }
            (at, took) = (next as usize, took + lag);
        }
        for (from, to) in detours.pairs(route) {
            let [at, next] = [from, to].map(|link| units.of_link[link as usize] as usize);
            if at != next {
                graph.join(at, next, lag(from));
            }
        }
        // A run with volumes ends at an instant, and nobody may have lived beyond it. It is no earlier than the crossing of the network after
        // the last byte was sent.
        if endpoint.is_multiple_of(2) && volumes.binary_search_by_key(&(endpoint as u32 / 2), |volume| volume.0).is_ok() {
            graph.bound(*unit as usize, took);
        }
        // Bounded memory is looked at when all have come to one time, which may be this soon.
        if endpoints[endpoint].memory().is_some() {
            graph.bound(*unit as usize, memory::SOONEST);
        }
    }
    graph
}

//! Units of the plan: which stages live together, and who feeds whom.

use std::collections::{BTreeMap, BTreeSet};

use longfat_core::time::Duration;
use longfat_model::Experiment;

use super::plan::Graph;
use crate::context::route::RouteTable;
use crate::stage::host::{SOONEST, build};

/// A stage that is still to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The host of this number in the experiment.
    Host(usize),
    /// The router of this number in the experiment.
    Router(usize),
    Link(u32),
    Port(u32),
    Endpoint(usize),
}

/// Units that the plan puts in order: hosts, routers with a memory, all endpoints that send and receive by the same two links, links and ports.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// The stages of each unit.
    pub stages: Vec<Vec<Kind>>,
    /// The unit of each stage.
    of: BTreeMap<Kind, usize>,
    /// Stage that each link and each endpoint is a part of.
    pub links: Vec<Kind>,
    pub endpoints: Vec<Kind>,
}

impl Units {
    /// The units of the network of `experiment`.
    pub(super) fn new(experiment: &Experiment, table: &RouteTable) -> Self {
        let links = &experiment.network.links;
        let (mut units, ends) = (Units::default(), 0..table.starts.len());
        let (mut of_link, mut of_endpoint) = (vec![None; links.len()], vec![None; ends.len()]);
        let nodes: Vec<usize> = experiment.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
        for (number, host) in experiment.hosts.iter().enumerate().filter(|(_, host)| build::is_stage(host)) {
            let kind = Kind::Host(number);
            units.stages.push(vec![kind]);
            for end in ends.clone().filter(|end| nodes[*end] == host.node) {
                of_endpoint[end] = Some(kind);
                of_link[table.first(end) as usize] = Some(kind);
            }
        }
        let crossed: BTreeSet<u32> = table.crossed().flat_map(|link| table.moves.all(link)).collect();
        for (number, router) in experiment.routers.iter().enumerate() {
            let mine: Vec<u32> = crossed.iter().copied().filter(|link| links[*link as usize].from == router.node).collect();
            // A router that no flow crosses is none.
            if !mine.is_empty() {
                units.stages.push(vec![Kind::Router(number)]);
                mine.iter().for_each(|link| of_link[*link as usize] = Some(Kind::Router(number)));
            }
        }
        let mut classes = BTreeMap::new();
        let mut crossings = vec![0; links.len()];
        table.crossed().flat_map(|link| table.moves.all(link)).for_each(|link| crossings[link as usize] += 1);
        for end in ends {
            if of_endpoint[end].is_some() {
                continue;
            }
            let (kind, first) = (Kind::Endpoint(end), table.first(end));
            of_endpoint[end] = Some(kind);
            let unit = *classes.entry((first, table.last_to(end))).or_insert(units.stages.len());
            units.stages.resize(units.stages.len().max(unit + 1), Vec::new());
            units.stages[unit].push(kind);
            // A link that only one endpoint crosses, which sends by it, is a part of that endpoint's stage: its packets need not wait for
            // the link's turn.
            let is_steady = table.moves.all(first).len() == 1;
            let link = &mut of_link[first as usize];
            if link.is_none() && crossings[first as usize] == 1 && is_steady && table.channels_of[first as usize] == 0 {
                *link = Some(kind);
            }
        }
        for link in table.crossed().chain(crossed).chain(0..links.len() as u32) {
            let is_port = table.channels_of[link as usize] > 0;
            of_link[link as usize].get_or_insert_with(|| {
                let kind = if is_port { Kind::Port(link) } else { Kind::Link(link) };
                units.stages.push(vec![kind]);
                kind
            });
        }
        units.of = units.stages.iter().enumerate().flat_map(|(unit, stages)| stages.iter().map(move |stage| (*stage, unit))).collect();
        (units.links, units.endpoints) = (of_link.into_iter().flatten().collect(), of_endpoint.into_iter().flatten().collect());
        units
    }

    /// Edges between the units, and how long each takes at least: a packet that comes to a link reaches the next stage after `lag`, and a PAUSE frame takes
    /// from one link to another as long as `pauses` says.
    pub(super) fn graph(
        &self,
        experiment: &Experiment,
        table: &RouteTable,
        lag: impl Fn(u32) -> Duration,
        pauses: impl Iterator<Item = (u32, u32, Duration)>,
    ) -> Graph {
        // A packet takes at least as long as by the shortest of the links that it may take.
        let least = |link: u32| table.moves.all(link).into_iter().map(&lag).min().expect("there is the link itself");
        let of_link = |link: u32| self.of[&self.links[link as usize]];
        let mut graph = Graph::new(self.stages.len());
        for (from, to, lag) in pauses {
            graph.join(of_link(from), of_link(to), lag);
        }
        for (endpoint, stage) in self.endpoints.iter().enumerate() {
            let (route, unit) = (table.route(endpoint), self.of[stage]);
            let (mut at, mut took) = (unit, Duration::ZERO);
            let ends = route.iter().map(|link| of_link(*link)).chain([self.of[&self.endpoints[endpoint ^ 1]]]);
            for (next, lag) in ends.zip([Duration::ZERO].into_iter().chain(route.iter().map(|link| least(*link)))) {
                if at != next {
                    graph.join(at, next, lag);
                }
                (at, took) = (next, took + lag);
            }
            for (from, to) in table.moved_pairs(&route) {
                let [at, next] = [from, to].map(of_link);
                if at != next {
                    graph.join(at, next, lag(from));
                }
            }
            // A run with volumes ends at an instant, and no stage may have gone beyond it. It is no earlier than the crossing of the
            // network after the last byte was sent.
            if endpoint.is_multiple_of(2) && experiment.flows[endpoint / 2].traffic.volume().is_some() {
                graph.bound(unit, took);
            }
            // Bounded memory is looked at when all have come to one time, which may be this soon.
            if let Kind::Host(host) = *stage
                && experiment.hosts[host].memory.is_some()
            {
                graph.bound(unit, SOONEST);
            }
        }
        graph
    }
}

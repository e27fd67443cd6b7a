//! What lives together, and who feeds whom: what the plan has to know.

use std::collections::{BTreeMap, BTreeSet};

use longfat_core::time::Duration;
use longfat_model::Experiment;

use super::plan::Graph;
use super::route::RouteTable;
use crate::stage::host;

/// A stage that is still to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The host of this number in the experiment.
    Host(usize),
    /// The router of this number in the experiment.
    Router(usize),
    Link(u32),
    Port(u32),
    Endpoint(usize),
}

/// What the plan puts in order: hosts, routers with a memory, links and ports, and for all endpoints that send and receive by the same two
/// links one unit.
pub struct Units {
    /// The stages of each unit.
    pub stages: Vec<Vec<Kind>>,
    /// For each link its unit.
    pub of_link: Vec<usize>,
    /// For each endpoint its unit.
    pub of_endpoint: Vec<usize>,
    /// For each link the endpoint of whose stage it is a part: nobody else crosses it.
    pub owner: BTreeMap<u32, usize>,
}

impl Units {
    /// The units of the network of `experiment`.
    pub fn new(experiment: &Experiment, table: &RouteTable) -> Self {
        let links = &experiment.network.links;
        let mut stages: Vec<Vec<Kind>> = Vec::new();
        let add = |stages: &mut Vec<Vec<Kind>>, kind: Option<Kind>| {
            stages.push(Vec::from_iter(kind));
            stages.len() - 1
        };
        let node = |endpoint: usize| {
            let flow = &experiment.flows[endpoint / 2];
            if endpoint.is_multiple_of(2) { flow.from } else { flow.to }
        };
        let endpoints = 0..table.starts.len();
        let (mut of_link, mut of_endpoint) = (vec![None; links.len()], vec![None; endpoints.len()]);
        for (number, host) in experiment.hosts.iter().enumerate().filter(|(_, host)| host::is_stage(host)) {
            let unit = add(&mut stages, Some(Kind::Host(number)));
            for endpoint in endpoints.clone().filter(|endpoint| node(*endpoint) == host.node) {
                of_endpoint[endpoint] = Some(unit);
                of_link[table.first(endpoint) as usize] = Some(unit);
            }
        }
        let crossed: BTreeSet<u32> = table.crossed().flat_map(|link| table.detours.moves.all(link)).collect();
        for (number, router) in experiment.routers.iter().enumerate() {
            let mine: Vec<u32> = crossed.iter().copied().filter(|link| links[*link as usize].from == router.node).collect();
            // A router that no flow crosses is none.
            if !mine.is_empty() {
                let unit = add(&mut stages, Some(Kind::Router(number)));
                mine.iter().for_each(|link| of_link[*link as usize] = Some(unit));
            }
        }
        let mut classes = BTreeMap::new();
        for endpoint in endpoints.clone() {
            if of_endpoint[endpoint].is_none() {
                let ends = (table.first(endpoint), table.last_to(endpoint ^ 1));
                of_endpoint[endpoint] = Some(*classes.entry(ends).or_insert_with(|| add(&mut stages, None)));
            }
        }
        let of_endpoint: Vec<usize> = of_endpoint.into_iter().flatten().collect();
        // A link that nobody crosses but one endpoint, which sends by it, is a part of that endpoint's stage: what it sends need not wait for
        // the link to have its turn.
        let mut crossings = vec![0; links.len()];
        table.crossed().flat_map(|link| table.detours.moves.all(link)).for_each(|link| crossings[link as usize] += 1);
        let mut owner = BTreeMap::new();
        for endpoint in endpoints.clone() {
            let link = table.first(endpoint);
            let is_steady = table.detours.moves.all(link).len() == 1;
            let number = link as usize;
            if of_link[number].is_none() && crossings[number] == 1 && is_steady && table.channels_of[number] == 0 {
                of_link[number] = Some(of_endpoint[endpoint]);
                owner.insert(link, endpoint);
            }
        }
        for link in table.crossed().chain(crossed).chain(0..links.len() as u32) {
            if of_link[link as usize].is_none() {
                of_link[link as usize] = Some(add(&mut stages, None));
            }
        }
        let of_link: Vec<usize> = of_link.into_iter().flatten().collect();
        let mut units = Units { stages, of_link, of_endpoint, owner };
        units.add_links_and_endpoints(table);
        units
    }

    /// Adds links and endpoints that are stages by themselves to their units, links first.
    fn add_links_and_endpoints(&mut self, table: &RouteTable) {
        let Units { stages, of_link, of_endpoint, owner } = self;
        let is_whole = |stages: &[Kind]| matches!(stages, [Kind::Host(_) | Kind::Router(_)]);
        for (link, unit) in (0..).zip(of_link) {
            if !is_whole(&stages[*unit]) && !owner.contains_key(&link) {
                let is_port = table.channels_of[link as usize] > 0;
                stages[*unit].push(if is_port { Kind::Port(link) } else { Kind::Link(link) });
            }
        }
        for (endpoint, unit) in of_endpoint.iter().enumerate() {
            if !is_whole(&stages[*unit]) {
                stages[*unit].push(Kind::Endpoint(endpoint));
            }
        }
    }

    /// Who feeds whom, and how long that takes at least: a packet that comes to a link reaches the next stage after `lag`, and a PAUSE frame takes
    /// from one link to another as long as `pauses` says.
    pub fn graph(
        &self,
        experiment: &Experiment,
        table: &RouteTable,
        lag: impl Fn(u32) -> Duration,
        pauses: impl Iterator<Item = (u32, u32, Duration)>,
    ) -> Graph {
        // By whichever link a packet goes, it takes as long as by the shortest.
        let least = |link: u32| table.detours.moves.all(link).into_iter().map(&lag).min().expect("there is the link itself");
        let of_link = |link: u32| self.of_link[link as usize];
        let mut graph = Graph::new(self.stages.len());
        for (from, to, lag) in pauses {
            graph.join(of_link(from), of_link(to), lag);
        }
        for (endpoint, unit) in self.of_endpoint.iter().enumerate() {
            let (route, mut at) = (table.route(endpoint), *unit);
            let mut took = Duration::ZERO;
            let ends = route.iter().map(|link| of_link(*link)).chain([self.of_endpoint[endpoint ^ 1]]);
            for (next, lag) in ends.zip([Duration::ZERO].into_iter().chain(route.iter().map(|link| least(*link)))) {
                if at != next {
                    graph.join(at, next, lag);
                }
                (at, took) = (next, took + lag);
            }
            for (from, to) in table.detours.pairs(&route) {
                let [at, next] = [from, to].map(of_link);
                if at != next {
                    graph.join(at, next, lag(from));
                }
            }
            // A run with volumes ends at an instant, and nobody may have lived beyond it. It is no earlier than the crossing of the network
            // after the last byte was sent.
            if endpoint.is_multiple_of(2) && experiment.flows[endpoint / 2].traffic.volume().is_some() {
                graph.bound(*unit, took);
            }
            // Bounded memory is looked at when all have come to one time, which may be this soon.
            if let [Kind::Host(host)] = self.stages[*unit][..]
                && experiment.hosts[host].memory.is_some()
            {
                graph.bound(*unit, host::SOONEST);
            }
        }
        graph
    }
}

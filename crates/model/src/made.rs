//! Links of an experiment, made ready: every backend runs over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use longfat_core::link::{Link, LinkConfig, loss};
use longfat_core::queue::shared::{self, SharedBuffer, SharedPort};
use longfat_core::queue::{self, Party, QueueContext};
use longfat_core::rng::Rng;
use longfat_core::time::Time;

use crate::route::Routes;
use crate::{Experiment, Flow, Network, Router};

/// Links with their queues, and the memories that queues share.
pub struct Made {
    /// Links in the order of the experiment.
    pub links: Vec<Link>,
    /// Shared memories by node.
    pub memories: BTreeMap<usize, Arc<SharedBuffer>>,
}

/// Returns the links of `experiment`, idle.
///
/// # Panics
///
/// A trace file of a link is not here (the backend's check comes first).
#[must_use]
pub fn links(experiment: &Experiment) -> Made {
    let network = &experiment.network;
    let routes = Routes::new(network);
    let (ports, rtts) = (routes.ports(), routes.round_trips(&experiment.flows));
    let memories: BTreeMap<usize, Arc<SharedBuffer>> =
        experiment.routers.iter().map(|router| (router.node, memory(experiment, router))).collect();
    let make = |(i, link): (usize, &crate::Link)| {
        let rng = |part: &str| Rng::named(experiment.seed, &format!("{} {part}", link.name));
        let context = QueueContext { rate: link.rate, rtt: rtts[i], mtu: link.mtu, rng: rng("queue") };
        let queue = queue::build(&link.queue, context);
        let queue = match memories.get(&link.from) {
            Some(memory) => Box::new(SharedPort::new(queue, memory.clone())),
            None => queue,
        };
        let config = LinkConfig {
            rate: link.rate,
            delay: link.delay,
            overhead: link.overhead,
            min_frame: link.min_frame,
            cells: link.cells,
            to_switch: network.nodes[link.to].is_switch(),
            mtu: link.mtu,
            port: ports[i],
            departs_last: experiment.departures_last,
        };
        let mut made = Link::new(config, queue, (loss::named(link.loss.kind).build)(&link.loss.params, rng("loss")));
        if !link.unsteady.is_steady() {
            let is_there = [&link.rate_file, &link.delay_file].into_iter().flatten().all(|file| file.is_there);
            assert!(is_there, "link {}: its trace is not here", link.name);
            made.change(&link.unsteady, rng);
        }
        let host = experiment.hosts.iter().find(|host| host.node == link.from);
        if let Some(shaper) = host.and_then(|host| host.shaper) {
            made.shape(shaper);
        }
        if link.bottleneck {
            made.record_waits();
        }
        made
    };
    Made { links: network.links.iter().enumerate().map(make).collect(), memories }
}

/// Returns the party of the packets of `flow` in the forward direction; in the reverse direction its hosts are swapped.
#[must_use]
pub fn party<'a>(network: &'a Network, flow: &'a Flow) -> Party<'a> {
    Party { group: &flow.group, hosts: [flow.from, flow.to].map(|node| network.nodes[node].name.as_str()) }
}

/// Returns the memory of this router's ports.
fn memory(experiment: &Experiment, router: &Router) -> Arc<SharedBuffer> {
    let ports = experiment.network.links.iter().filter(|link| link.from == router.node).count() as u64;
    let sharing = (shared::named(router.sharing.kind).build)(&router.sharing.params);
    SharedBuffer::new(router.shared_buffer, ports, sharing)
}

/// Route changes: which link is taken in place of another, and from when on.
#[derive(Debug, Default)]
pub struct Moves {
    /// Changes per link that moves, in order of time.
    steps: BTreeMap<u32, Vec<(Time, u32)>>,
}

impl Moves {
    /// Returns the route changes of `experiment`.
    #[must_use]
    pub fn new(experiment: &Experiment) -> Self {
        let mut steps: BTreeMap<u32, Vec<(Time, u32)>> = BTreeMap::new();
        for step in &experiment.network.moves {
            steps.entry(step.link as u32).or_default().push((Time::ZERO + step.at, step.by as u32));
        }
        Moves { steps }
    }

    /// Returns true if no route ever changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the link that a packet arriving at `time` takes in place of `link`.
    #[must_use]
    pub fn at(&self, link: u32, time: Time) -> u32 {
        let steps = self.steps.get(&link).map_or(&[][..], Vec::as_slice);
        steps.iter().rev().find(|(from, _)| *from <= time).map_or(link, |step| step.1)
    }

    /// Tells the queues in front of `path`, and of the links ever taken in place of its links, whose packets come: those whose cursor is
    /// `start` at the first link, and one more at each further link, are of `party`.
    pub fn tell(&self, links: &mut [Link], path: &[u32], start: u32, party: &Party<'_>) {
        for (&link, route) in path.iter().zip(start..) {
            links[link as usize].tell(route, party);
            for (_, by) in self.steps.get(&link).into_iter().flatten() {
                links[*by as usize].tell(route, party);
            }
        }
    }

    /// Returns all links that are ever taken in place of `link`, itself first.
    #[must_use]
    pub fn all(&self, link: u32) -> Vec<u32> {
        let mut all = vec![link];
        for &(_, by) in self.steps.get(&link).into_iter().flatten() {
            if !all.contains(&by) {
                all.push(by);
            }
        }
        all
    }
}

//! The parts of hosts: what each has, and which endpoints live together since they share one.

use std::collections::BTreeMap;

use longfat_core::rng::Rng;
use longfat_core::time::Time;
use longfat_model::{Experiment, Memory, OnFull};

use crate::stage::endpoint::{Agent, Endpoint};
use crate::stage::host::Spot;
use crate::stage::host::interface::Interface;
use crate::stage::host::memory::Pool;
use crate::stage::host::nic::Nic;
use crate::stage::host::overhead::Overhead;
use crate::stage::host::processor::Processor;

/// Part of a host that acts by itself: the one of this number. Parts that are due at one time act in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A transmit queue at which TCP waits.
    Nic(usize),
    Processor(usize),
    Overhead(usize),
    /// A receiving interface that interrupts.
    Interface(usize),
}

/// The parts of all hosts: each [`Source`], and the memory, which is looked at when all stages have come to the same time.
#[derive(Debug, Default)]
pub struct Hosts {
    pub nics: Vec<Nic>,
    pub processors: Vec<Processor>,
    pub overheads: Vec<Overhead>,
    pub interfaces: Vec<Interface>,
    pub pools: Vec<Pool>,
}

impl Hosts {
    /// Parts of the hosts of `experiment`. Tells each endpoint of them.
    pub fn new(experiment: &Experiment, endpoints: &mut [Endpoint]) -> Self {
        let mut hosts = Hosts::default();
        // For each node the endpoints that are there, and the links that lead from it.
        let ends = gathered(experiment.flows.iter().flat_map(|flow| [flow.from, flow.to]));
        let outgoing = gathered(experiment.network.links.iter().map(|link| link.from));
        for host in &experiment.hosts {
            let ends = ends.get(&host.node).map_or(&[][..], Vec::as_slice);
            let processor = host.cpu.as_ref().map(|cpu| {
                hosts.processors.push(Processor::new(cpu));
                hosts.processors.len() - 1
            });
            let overhead = host.overhead.map(|most| {
                let name = format!("{} overhead", experiment.network.nodes[host.node].name);
                hosts.overheads.push(Overhead::new(most, Rng::named(experiment.seed, &name)));
                hosts.overheads.len() - 1
            });
            let interface = host.interrupts.map(|how| {
                hosts.interfaces.push(Interface::new(how));
                hosts.interfaces.len() - 1
            });
            let first_nic = hosts.nics.len();
            // Lost when the queue is full: that is what the link's queue does by itself.
            if let Some(nic) = host.nic.filter(|nic| nic.on_full != OnFull::Drop) {
                let links = outgoing.get(&host.node).into_iter().flatten();
                hosts.nics.extend(links.map(|i| Nic::new(*i as u32, nic.txqueuelen, nic.on_full)));
            }
            if host.offload.is_some_and(|offload| offload.limit_output_bytes.is_some()) {
                hosts.nics[first_nic..].iter_mut().for_each(Nic::keep_small);
            }
            for &end in ends {
                let endpoint = &mut endpoints[end];
                let nic = hosts.nics[first_nic..].iter().position(|nic| nic.link == endpoint.first_link);
                endpoint.place(nic.map(|i| first_nic + i), processor, overhead);
                endpoint.offload(host.offload, interface);
            }
            if let Some(memory) = host.memory {
                hosts.pools.push(pool(experiment, endpoints, ends, &memory, hosts.pools.len()));
            }
        }
        hosts
    }

    /// The spot of `source`; `None` where no endpoint uses it.
    #[inline]
    pub fn spot_mut(&mut self, source: Source) -> &mut Option<Spot> {
        match source {
            Source::Nic(number) => &mut self.nics[number].spot,
            Source::Processor(number) => &mut self.processors[number].spot,
            Source::Overhead(number) => &mut self.overheads[number].spot,
            Source::Interface(number) => &mut self.interfaces[number].spot,
        }
    }

    /// When the next of the memories is looked at.
    #[inline]
    pub fn next_look(&self) -> Time {
        self.pools.iter().map(Pool::next_look).min().unwrap_or(Time::MAX)
    }
}

impl Hosts {
    /// The endpoints that live together: for each, all that share something with it without delay, and those that send by the same links.
    pub fn islands(endpoints: &[Endpoint]) -> Vec<Vec<u32>> {
        let mut island_of = vec![usize::MAX; endpoints.len()];
        let mut islands: Vec<Vec<u32>> = Vec::new();
        let mut holders: BTreeMap<Shared, Vec<u32>> = BTreeMap::new();
        let keys = |endpoint: &Endpoint| {
            let memory = endpoint.memory().map(|(pool, _)| Shared::Memory(pool));
            sources_of(endpoint).map(Shared::Source).chain(memory).chain([Shared::Link(endpoint.first_link)]).collect::<Vec<_>>()
        };
        for (i, endpoint) in endpoints.iter().enumerate() {
            keys(endpoint).into_iter().for_each(|key| holders.entry(key).or_default().push(i as u32));
        }
        for start in 0..endpoints.len() {
            if island_of[start] != usize::MAX || !endpoints[start].shares() {
                continue;
            }
            let (mut members, mut next) = (vec![start as u32], 0);
            island_of[start] = islands.len();
            while let Some(&member) = members.get(next) {
                next += 1;
                for other in keys(&endpoints[member as usize]).into_iter().flat_map(|key| &holders[&key]) {
                    if island_of[*other as usize] == usize::MAX {
                        island_of[*other as usize] = islands.len();
                        members.push(*other);
                    }
                }
            }
            members.sort_unstable();
            islands.push(members);
        }
        islands
    }
}

/// The parts of its host that the endpoint uses.
pub fn sources_of(endpoint: &Endpoint) -> impl Iterator<Item = Source> {
    let (nic, processor) = (endpoint.nic().map(Source::Nic), endpoint.processor().map(Source::Processor));
    [nic, processor, endpoint.overhead().map(Source::Overhead), endpoint.interface().map(Source::Interface)].into_iter().flatten()
}

/// Endpoints that have one of these in common live together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    Source(Source),
    Memory(usize),
    Link(u32),
}

/// The places in `nodes` at which each node is.
fn gathered(nodes: impl Iterator<Item = usize>) -> BTreeMap<usize, Vec<usize>> {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, node) in nodes.enumerate() {
        places.entry(node).or_default().push(place);
    }
    places
}

/// The memory of the host `node`, number `number` of all, with a share for each TCP connection that ends there.
fn pool(experiment: &Experiment, endpoints: &mut [Endpoint], ends: &[usize], memory: &Memory, number: usize) -> Pool {
    let mut pool = Pool::new(memory.bytes);
    for &i in ends {
        let flow = &experiment.flows[i / 2];
        let config = if i % 2 == 0 { &flow.sender } else { &flow.receiver };
        if let Agent::Tcp(tcp) = &mut endpoints[i].agent {
            let share = pool.join(i, tcp, memory.least(config));
            endpoints[i].share(number, share);
        }
    }
    pool
}

//! The route table: every flow's way there and back, laid out hop after hop. A packet carries its place in the table.

use std::collections::BTreeMap;

use longfat_experiment::route::Routes;
use longfat_experiment::{Experiment, Link};

use crate::Error;

/// Where a packet goes when it comes to the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Into the queue of this link.
    Link(u32),
    /// Into an output port of a switch: this [`Place`].
    Port(u32),
    /// To this endpoint.
    Endpoint(u32),
}

/// Hop after hop, in four bytes each: where there are many flows, a packet finds its own somewhere in the table, and seldom in a cache.
#[derive(Debug)]
pub struct Hops(Vec<u32>);

/// The upper two bits of a hop are its kind.
const KIND_SHIFT: u32 = 30;

impl Hops {
    fn push(&mut self, hop: Hop) {
        let (kind, number) = match hop {
            Hop::Link(number) => (0, number),
            Hop::Port(number) => (1, number),
            Hop::Endpoint(number) => (2, number),
        };
        assert!(number >> KIND_SHIFT == 0, "there are fewer than 2^30 links, places and endpoints");
        self.0.push(kind << KIND_SHIFT | number);
    }

    /// The hop at `cursor`.
    #[inline]
    pub fn at(&self, cursor: u32) -> Hop {
        let packed = self.0[cursor as usize];
        let number = packed & ((1 << KIND_SHIFT) - 1);
        match packed >> KIND_SHIFT {
            0 => Hop::Link(number),
            1 => Hop::Port(number),
            _ => Hop::Endpoint(number),
        }
    }

    /// Each hop with the one behind it in the table.
    pub fn pairs(&self) -> impl Iterator<Item = [Hop; 2]> + '_ {
        (1..self.0.len() as u32).map(|cursor| [self.at(cursor - 1), self.at(cursor)])
    }
}

/// A channel of an output port: one flow's, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The link behind the port.
    pub link: u32,
    /// Its number among the channels of the port.
    pub channel: u32,
}

/// The routes of all endpoints. Endpoint `2 f` sends for flow `f`, endpoint `2 f + 1` answers.
#[derive(Debug)]
pub struct RouteTable {
    /// While a packet is in a queue, its cursor is the place of that link; on the wire, the place of the hop after it.
    pub hops: Hops,
    /// For each cursor, the endpoint that sends there.
    pub origin: Vec<u32>,
    /// For each endpoint, the first link of its packets and the cursor they start with.
    pub starts: Vec<(u32, u32)>,
    pub places: Vec<Place>,
    /// For each link, how many channels its output port has; 0 where it has none.
    pub channels: Vec<u32>,
}

impl RouteTable {
    /// The routes of every flow of `experiment`.
    pub fn new(experiment: &Experiment) -> Result<Self, Error> {
        let routes = Routes::new(&experiment.network);
        let mut table = RouteTable {
            hops: Hops(Vec::new()),
            origin: Vec::new(),
            starts: Vec::new(),
            places: Vec::new(),
            channels: vec![0; experiment.network.links.len()],
        };
        for (i, flow) in experiment.flows.iter().enumerate() {
            for (endpoint, peer, from, to) in [(2 * i, 2 * i + 1, flow.from, flow.to), (2 * i + 1, 2 * i, flow.to, flow.from)] {
                let path = routes.path(from, to).filter(|path| !path.is_empty());
                let Some(path) = path else {
                    let name = |node: usize| experiment.network.nodes[node].name.clone();
                    return Err(Error::NoRoute { flow: i, group: flow.group.to_string(), from: name(from), to: name(to) });
                };
                table.add(endpoint as u32, peer as u32, &path, &experiment.network.links);
            }
        }
        Ok(table)
    }

    /// Each link to hosts to which packets come by only one other link, with that one; which is no host's own.
    pub fn tails(&self) -> Vec<(usize, usize)> {
        // How packets come to each link: by none yet; by this one; by several, or from a host.
        let mut feeders = vec![Ok(None); self.channels.len()];
        let mut is_first = vec![false; self.channels.len()];
        for &(first, _) in &self.starts {
            is_first[first as usize] = true;
        }
        for pair in self.hops.pairs() {
            match pair {
                [Hop::Link(from), Hop::Link(to)] => {
                    let feeder = &mut feeders[to as usize];
                    *feeder = if *feeder == Ok(None) || *feeder == Ok(Some(from)) { Ok(Some(from)) } else { Err(()) };
                    // It leads on.
                    feeders[from as usize] = Err(());
                }
                [Hop::Port(_), Hop::Link(to)] => feeders[to as usize] = Err(()),
                [Hop::Link(from), Hop::Port(_)] => feeders[from as usize] = Err(()),
                _ => {}
            }
        }
        let tail = |(link, feeder): (usize, Result<Option<u32>, ()>)| Some((link, feeder.ok()?? as usize));
        feeders.into_iter().enumerate().filter_map(tail).filter(|(link, feeder)| !is_first[*link] && !is_first[*feeder]).collect()
    }

    /// For each endpoint the link by which its packets come; none from a switch.
    pub fn last_links(&self) -> Vec<Option<u32>> {
        let mut last = vec![None; self.starts.len()];
        for pair in self.hops.pairs() {
            if let [Hop::Link(link), Hop::Endpoint(endpoint)] = pair {
                last[endpoint as usize] = Some(link);
            }
        }
        last
    }

    /// Each link, none of a host, to which packets come only by links of hosts whose packets all go there; with these, in order.
    pub fn trunks(&self) -> Vec<(usize, Vec<usize>)> {
        // Where the packets of each host's link go: nowhere yet; to this link; to several, or to a switch or a host.
        let mut leads_to = vec![Err(()); self.channels.len()];
        for &(first, _) in &self.starts {
            leads_to[first as usize] = Ok(None);
        }
        for pair in self.hops.pairs() {
            if let Hop::Link(from) = pair[0] {
                let to = match pair[1] {
                    Hop::Link(to) => Some(to),
                    _ => None,
                };
                let next = &mut leads_to[from as usize];
                *next = if to.is_some() && (*next == Ok(None) || *next == Ok(to)) { Ok(to) } else { Err(()) };
            }
        }
        let mut trunks = BTreeMap::<usize, Vec<usize>>::new();
        for (source, to) in leads_to.iter().enumerate() {
            if let Ok(Some(to)) = to {
                trunks.entry(*to as usize).or_default().push(source);
            }
        }
        for pair in self.hops.pairs() {
            match pair {
                [Hop::Link(from), Hop::Link(to)] if leads_to[from as usize] == Err(()) => trunks.remove(&(to as usize)),
                [Hop::Port(_), Hop::Link(to)] => trunks.remove(&(to as usize)),
                _ => None,
            };
        }
        for &(first, _) in &self.starts {
            trunks.remove(&(first as usize));
        }
        trunks.into_iter().collect()
    }

    fn add(&mut self, endpoint: u32, peer: u32, path: &[usize], links: &[Link]) {
        self.starts.push((path[0] as u32, self.hops.0.len() as u32));
        for &link in path {
            let hop = if links[link].discard.is_some() { self.channel(link) } else { Hop::Link(link as u32) };
            self.hops.push(hop);
        }
        self.hops.push(Hop::Endpoint(peer));
        self.origin.resize(self.hops.0.len(), endpoint);
    }

    /// One more channel of the port in front of `link`.
    fn channel(&mut self, link: usize) -> Hop {
        self.places.push(Place { link: link as u32, channel: self.channels[link] });
        self.channels[link] += 1;
        Hop::Port(self.places.len() as u32 - 1)
    }
}

//! Isolation: which packets share a flow queue, and for which hosts a flow queue counts.

use std::collections::BTreeMap;

use super::super::Party;

/// Tag of an unknown host, or of an unused flow queue.
pub(super) const NOBODY: u32 = u32::MAX;

/// Words of tc-cake(8).
pub(super) const WORDS: &[&str] = &["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Nothing,
    Host(End),
    Hosts,
    Flow,
}

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Source = 0,
    Destination = 1,
}

/// Isolation of flows and hosts from each other.
#[derive(Debug)]
pub(super) struct Isolation {
    by: By,
    /// True, per end, if a flow's turn is a share of its host's turn.
    fair: [bool; 2],
    numbers: BTreeMap<String, u32>,
    pairs: BTreeMap<[u32; 2], u32>,
    /// Tag of the flow queue, and the hosts at its ends, for each route, as far as they are known.
    known: Vec<Flow>,
}

/// Flow and hosts of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Tag: packets with the same tag go into one flow queue.
    pub tag: u32,
    /// Source and destination hosts.
    pub hosts: [u32; 2],
}

impl Isolation {
    /// Returns the isolation that `word` of [`WORDS`] names.
    pub(super) fn named(word: &str) -> Self {
        let (by, fair) = match word {
            "flowblind" => (By::Nothing, [false; 2]),
            "srchost" => (By::Host(End::Source), [false; 2]),
            "dsthost" => (By::Host(End::Destination), [false; 2]),
            "hosts" => (By::Hosts, [false; 2]),
            "flows" => (By::Flow, [false; 2]),
            "dual-srchost" => (By::Flow, [true, false]),
            "dual-dsthost" => (By::Flow, [false, true]),
            _ => (By::Flow, [true; 2]),
        };
        Isolation { by, fair, numbers: BTreeMap::new(), pairs: BTreeMap::new(), known: Vec::new() }
    }
    /// Returns the ends at which hosts count.
    pub(super) const fn fair(&self) -> [bool; 2] {
        self.fair
    }
    /// Records that packets with this route are of `party`.
    pub(super) fn tell(&mut self, route: u32, party: &Party<'_>) {
        let hosts = party.hosts.map(|name| {
            let next = self.numbers.len() as u32;
            *self.numbers.entry(name.to_owned()).or_insert(next)
        });
        let next = self.pairs.len() as u32;
        let pair = *self.pairs.entry(hosts).or_insert(next);
        let tag = match self.by {
            By::Nothing => 0,
            By::Host(end) => hosts[end as usize],
            By::Hosts => pair,
            By::Flow => route,
        };
        let place = route as usize;
        while self.known.len() <= place {
            self.known.push(self.unknown(self.known.len() as u32));
        }
        self.known[place] = Flow { tag, hosts };
    }
    /// Returns the flow of a route that nobody told of: one with hosts of its own.
    const fn unknown(&self, route: u32) -> Flow {
        let tag = match self.by {
            By::Nothing => 0,
            By::Host(_) | By::Hosts => route | 1 << 31,
            By::Flow => route,
        };
        Flow { tag, hosts: [NOBODY; 2] }
    }
    /// Returns the flow of packets with this route.
    #[inline]
    pub(super) fn flow(&self, route: u32) -> Flow {
        self.known.get(route as usize).copied().unwrap_or_else(|| self.unknown(route))
    }
}

//! Which packets share a line, and which hosts a line counts for.

use std::collections::BTreeMap;

use super::super::Party;

/// A host, or a line, that nobody knows.
pub const NOBODY: u32 = u32::MAX;

/// The words, as tc-cake(8) has them.
pub const WORDS: &[&str] = &["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Nothing,
    Host(End),
    Hosts,
    Flow,
}

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Source = 0,
    Destination = 1,
}

/// Who is kept apart from whom.
#[derive(Debug)]
pub struct Isolation {
    by: By,
    /// True, per end, if a flow's turn is a share of its host's turn.
    fair: [bool; 2],
    numbers: BTreeMap<String, u32>,
    pairs: BTreeMap<[u32; 2], u32>,
    /// For each route, the name of its line and the hosts at its ends, as far as they are known.
    known: Vec<Flow>,
}

/// Flow and hosts of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Packets with the same go into one line.
    pub tag: u32,
    /// Source and destination.
    pub hosts: [u32; 2],
}

impl Isolation {
    /// Returns the isolation that `word` of [`WORDS`] names.
    pub fn named(word: &str) -> Self {
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
    /// At which ends hosts count.
    pub const fn fair(&self) -> [bool; 2] {
        self.fair
    }
    /// Packets with this route are of `party`.
    pub fn tell(&mut self, route: u32, party: &Party<'_>) {
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
    pub fn flow(&self, route: u32) -> Flow {
        self.known.get(route as usize).copied().unwrap_or_else(|| self.unknown(route))
    }
}

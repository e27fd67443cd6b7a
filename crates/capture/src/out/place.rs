//! Places where a capture is taken.

use crate::error::Error;
use longfat_model::{Experiment, Watched};
use longfat_record::trace::{PacketEvent, PacketKind};

/// Place where a capture of a run is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a host: packets that its ends send, and packets that reach them.
    Host(usize),
    /// In front of the queues of these one-way links, so that packets that they drop are included.
    Links(Vec<usize>),
}

impl Place {
    /// Finds the place called `name`: a host, a router (in front of all links from it), a one-way link (`bottleneck>`), or both directions
    /// of a link (`bottleneck`). An error if there is none, or if the run did not record the packets there.
    pub fn find(experiment: &Experiment, name: &str) -> Result<Place, Error> {
        let Experiment { network, measure, live, .. } = experiment;
        let links = |is_one: &dyn Fn(&longfat_model::Link) -> bool| -> Vec<usize> {
            (0..network.links.len()).filter(|i| is_one(&network.links[*i])).collect()
        };
        let node = network.nodes.iter().position(|node| node.name == name);
        let place = match node {
            Some(node) if network.nodes[node].is_host() => Place::Host(node),
            Some(node) => Place::Links(links(&|link| link.from == node)),
            None => Place::Links(links(&|link| link.name == name || link.name.strip_suffix(['>', '<']) == Some(name))),
        };
        if matches!(&place, Place::Links(links) if links.is_empty()) {
            let names = network.nodes.iter().map(|node| &node.name).chain(network.links.iter().map(|link| &link.name));
            let names = names.map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Error::Asked(format!("no host or link is called `{name}`: choose one of {names}")));
        }
        let is_recorded = match (measure.packets, &place) {
            (Some(Watched::All | Watched::Flows(..)), _) => true,
            (None, Place::Host(host)) => live.as_ref().is_some_and(|live| live.capture && live.local() == *host),
            (Some(Watched::Link(one)), Place::Links(links)) => links[..] == [one],
            (Some(Watched::Node(one)), Place::Host(host)) => one == *host,
            (Some(Watched::Node(one)), Place::Links(links)) => {
                links.iter().all(|link| [network.links[*link].from, network.links[*link].to].contains(&one))
            }
            _ => false,
        };
        if !is_recorded {
            let what = if measure.packets.is_some() { format!("not those at `{name}`") } else { "none".to_owned() };
            return Err(Error::Asked(format!("the run recorded {what} of its packets: run it with --set measure.packets=all")));
        }
        Ok(place)
    }

    /// Returns the name of each interface in the capture.
    pub(crate) fn interfaces(&self, experiment: &Experiment) -> Vec<String> {
        match self {
            Place::Host(node) => vec![experiment.network.nodes[*node].name.clone()],
            Place::Links(links) => links.iter().map(|link| experiment.network.links[*link].name.clone()).collect(),
        }
    }

    /// Returns the interface that saw the packet of `row` in this event; none if none did.
    pub(crate) fn interface_of(&self, experiment: &Experiment, row: &PacketEvent) -> Option<u32> {
        match (self, row.link) {
            (Place::Host(node), None) => {
                let flow = &experiment.flows[row.flow as usize];
                let at = if row.is_back == (row.kind == PacketKind::Delivered) { flow.from } else { flow.to };
                (at == *node).then_some(0)
            }
            (Place::Links(links), Some(link)) if row.kind == PacketKind::Queued => {
                links.iter().position(|one| *one == link as usize).map(|i| i as u32)
            }
            _ => None,
        }
    }
}

//! The route table: every flow's way there and back, laid out hop after hop. A packet carries its place in the table, its cursor. Where routes
//! move, it keeps that, and the queues behind know it as of the same flow.

use std::collections::BTreeMap;

use longfat_core::packet::Packet;
use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_model::made::Moves;
use longfat_model::route::Routes;

use super::inputs::InputId;
use crate::Error;

/// The routes of all endpoints. Endpoint `2 f` sends for flow `f`, endpoint `2 f + 1` answers.
#[derive(Debug)]
pub(crate) struct RouteTable {
    /// Link that a packet with each cursor waits for; `None` past the last link of a route.
    links: Vec<Option<u32>>,
    /// Input by which a packet comes to its next stage, for each cursor that it has when it leaves a link.
    pub hops: Vec<Option<InputId>>,
    /// Endpoint that sends at each cursor.
    pub origin: Vec<u32>,
    /// Cursor with which the packets of each endpoint start.
    pub starts: Vec<u32>,
    /// Number of a route among the channels of the output port, for each cursor of a link from a switch. Empty in a network without
    /// switches.
    channels: Vec<u32>,
    /// Channels of each link's output port; 0 if it has none.
    pub channels_of: Vec<u32>,
    /// Links that replace others, and from when on.
    pub moves: Moves,
    /// Input of a packet by the link from which it comes and the one that it takes, where routes move.
    pub moved: BTreeMap<(u32, u32), InputId>,
}

impl RouteTable {
    /// The routes of every flow of `experiment`.
    pub(crate) fn new(experiment: &Experiment) -> Result<Self, Error> {
        let links = &experiment.network.links;
        let routes = Routes::new(&experiment.network);
        let mut table = RouteTable {
            links: Vec::new(),
            hops: Vec::new(),
            origin: Vec::new(),
            starts: Vec::new(),
            channels: Vec::new(),
            channels_of: vec![0; links.len()],
            moves: Moves::new(experiment),
            moved: BTreeMap::new(),
        };
        let has_switches = links.iter().any(|link| link.discard.is_some());
        for (i, flow) in experiment.flows.iter().enumerate() {
            for (endpoint, from, to) in [(2 * i, flow.from, flow.to), (2 * i + 1, flow.to, flow.from)] {
                let path = routes.path(from, to).filter(|path| !path.is_empty());
                let Some(path) = path else {
                    let name = |node: usize| experiment.network.nodes[node].name.clone();
                    return Err(Error::NoRoute { flow: i, group: flow.group.to_string(), from: name(from), to: name(to) });
                };
                table.starts.push(table.links.len() as u32);
                table.links.extend(path.iter().map(|link| Some(*link as u32)).chain([None]));
                table.origin.resize(table.links.len(), endpoint as u32);
                if has_switches {
                    path.iter().for_each(|link| table.add_channel(*link, links[*link].discard.is_some()));
                    // Past the last link is none.
                    table.channels.push(0);
                }
            }
        }
        table.hops.resize(table.links.len(), None);
        Ok(table)
    }

    fn add_channel(&mut self, link: usize, is_from_switch: bool) {
        self.channels.push(self.channels_of[link]);
        self.channels_of[link] += u32::from(is_from_switch);
    }

    /// The links of the route of `endpoint`, in order.
    pub(crate) fn route(&self, endpoint: usize) -> Vec<u32> {
        self.links[self.starts[endpoint] as usize..].iter().map_while(|link| *link).collect()
    }

    /// The link by which `endpoint` sends.
    pub(crate) fn first(&self, endpoint: usize) -> u32 {
        self.link(self.starts[endpoint])
    }

    /// The link by which packets come to `endpoint`.
    pub(crate) fn last_to(&self, endpoint: usize) -> u32 {
        *self.route(endpoint ^ 1).last().expect("a route has a link")
    }

    /// Links that a flow crosses, in the order of the table, as often as flows cross them.
    pub(crate) fn crossed(&self) -> impl Iterator<Item = u32> {
        self.links.iter().filter_map(|link| *link)
    }

    /// Returns each pair of links of which one follows the other on some route.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.links.windows(2).filter_map(|pair| Some((pair[0]?, pair[1]?)))
    }

    /// The link that a packet with this cursor waits for.
    pub(crate) fn link(&self, cursor: u32) -> u32 {
        self.links[cursor as usize].expect("the packet has not come to its endpoint")
    }

    /// The link that `packet` takes, which comes to its queue at `time`.
    pub(crate) fn link_at(&self, packet: &Packet, time: Time) -> u32 {
        self.moves.at(self.link(packet.route), time)
    }

    /// Returns the input by which a packet that has left a link with this cursor comes to its next stage.
    #[inline]
    pub(crate) fn hop(&self, cursor: u32) -> InputId {
        self.hops[cursor as usize].expect("a link leads somewhere")
    }

    /// The input of `packet`, which has left the link `from`, where routes move.
    pub(crate) fn hop_from(&self, from: u32, packet: &Packet) -> InputId {
        let next = self.links[packet.route as usize].map(|next| self.moves.at(next, packet.stamp));
        next.and_then(|next| self.moved.get(&(from, next)).copied()).unwrap_or_else(|| self.hop(packet.route))
    }

    /// Returns each pair of links that can follow each other on this route where either moves.
    pub(crate) fn moved_pairs(&self, route: &[u32]) -> Vec<(u32, u32)> {
        let all = |pair: &[u32]| [pair[0], pair[1]].map(|link| self.moves.all(link));
        let moving = route.windows(2).map(all).filter(|pair| pair.iter().any(|links| links.len() > 1));
        moving
            .flat_map(|[before, behind]| before.into_iter().flat_map(move |from| behind.clone().into_iter().map(move |to| (from, to))))
            .collect()
    }

    /// The channel of a packet with this cursor at the output port to which it comes.
    #[inline]
    pub(crate) fn channel(&self, cursor: u32) -> u32 {
        self.channels[cursor as usize]
    }
}

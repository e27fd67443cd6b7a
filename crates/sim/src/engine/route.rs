//! The route table: every flow's way there and back, laid out hop after hop. A packet carries its place in the table.

use longfat_model::Experiment;
use longfat_model::route::Routes;

use crate::Error;

/// The routes of all endpoints. Endpoint `2 f` sends for flow `f`, endpoint `2 f + 1` answers.
#[derive(Debug)]
pub struct RouteTable {
    /// For each cursor, the link that a packet with this cursor waits for; past the last link of a route, [`END`].
    pub links: Vec<u32>,
    /// For each cursor, the endpoint that sends there.
    pub origin: Vec<u32>,
    /// For each endpoint, the cursor its packets start with.
    pub starts: Vec<u32>,
    /// For each cursor of a link from a switch, the number of this route among the channels of the output port. Empty in a network
    /// without switches.
    pub channels: Vec<u32>,
    /// For each link, how many channels its output port has; 0 where it has none.
    pub channels_of: Vec<u32>,
}

/// In place of a link: the packet has come to the endpoint of its route.
pub const END: u32 = u32::MAX;

impl RouteTable {
    /// The routes of every flow of `experiment`.
    pub fn new(experiment: &Experiment) -> Result<Self, Error> {
        let links = &experiment.network.links;
        let routes = Routes::new(&experiment.network);
        let mut table = RouteTable {
            links: Vec::new(),
            origin: Vec::new(),
            starts: Vec::new(),
            channels: Vec::new(),
            channels_of: vec![0; links.len()],
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
                table.links.extend(path.iter().map(|link| *link as u32).chain([END]));
                table.origin.resize(table.links.len(), endpoint as u32);
                if has_switches {
                    path.iter().for_each(|link| table.add_channel(*link, links[*link].discard.is_some()));
                    table.channels.push(END);
                }
            }
        }
        Ok(table)
    }

    fn add_channel(&mut self, link: usize, is_from_switch: bool) {
        self.channels.push(self.channels_of[link]);
        self.channels_of[link] += u32::from(is_from_switch);
    }

    /// The links of the route of `endpoint`, in order.
    pub fn route(&self, endpoint: usize) -> &[u32] {
        let start = self.starts[endpoint] as usize;
        let length = self.links[start..].iter().position(|link| *link == END).expect("a route has an end");
        &self.links[start..start + length]
    }
}

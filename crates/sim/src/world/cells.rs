//! Cells: the output ports of switches, between the links that lead to a switch and the links that lead from it.
//!
//! A link to a switch hands a packet over when its first cell comes, with the times of all of them. A port is advanced when
//! one of its packets may have come whole to the far end, and only then says what became of each: an event a packet.

use longfat_core::atm::discard::{self, DiscardContext};
use longfat_core::atm::port::{Count, Outcome, Port, PortConfig, Run};
use longfat_core::packet::{Ecn, PacketId};
use longfat_core::queue::QueueLog;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_experiment::{Experiment, Network};

use super::World;
use crate::ledger::LinkLog;
use crate::route::{Hop, Place, RouteTable};

/// Every output port.
#[derive(Default)]
pub struct Ports {
    list: Vec<OutputPort>,
    /// For each link, the number of the port in front of it, or [`NONE`]. Empty in a network without switches.
    of_link: Vec<u32>,
    places: Vec<Place>,
}

const NONE: u32 = u32::MAX;

/// A port, and where it is.
pub struct OutputPort {
    pub port: Port,
    link: u32,
    /// The ports whose cells come here, and those its cells go to.
    before: Vec<u32>,
    behind: Vec<u32>,
    /// Packets that came, and packets lost, each at the first port to drop of it.
    pub packets_in: u64,
    pub packets_lost: u64,
}

impl Ports {
    /// The link behind the port of this place.
    pub fn link_of(&self, place: u32) -> u32 {
        self.places[place as usize].link
    }

    /// The ports of `experiment`.
    pub fn new(experiment: &Experiment, table: &RouteTable) -> Self {
        let network = &experiment.network;
        if network.links.iter().all(|link| link.discard.is_none()) {
            return Ports::default();
        }
        let mut ports = Ports { list: Vec::new(), of_link: vec![NONE; network.links.len()], places: table.places.clone() };
        // A port that no flow crosses is none.
        for (i, _) in table.channels.iter().enumerate().filter(|(_, channels)| **channels > 0) {
            ports.of_link[i] = ports.list.len() as u32;
            ports.list.push(OutputPort::new(experiment, i, table.channels[i] as usize));
        }
        for pair in table.hops.pairs() {
            if let [Hop::Port(a), Hop::Port(b)] = pair {
                let [a, b] = [a, b].map(|place| ports.of_link[ports.places[place as usize].link as usize]);
                ports.join(a, b);
            }
        }
        ports
    }

    fn join(&mut self, before: u32, behind: u32) {
        if !self.list[before as usize].behind.contains(&behind) {
            self.list[before as usize].behind.push(behind);
            self.list[behind as usize].before.push(before);
        }
    }

    /// The port in front of the link `number`.
    #[inline]
    pub fn of(&self, number: usize) -> Option<usize> {
        self.of_link.get(number).filter(|port| **port != NONE).map(|port| *port as usize)
    }

    /// Every packet in the switches: its route, and whether it is lost already.
    pub fn unfinished(&self) -> impl Iterator<Item = (PacketId, u32, bool)> {
        self.list.iter().flat_map(OutputPort::unfinished)
    }

    /// The same, to look at.
    pub fn in_front_of(&self, link: usize) -> Option<&OutputPort> {
        self.of(link).map(|port| &self.list[port])
    }
}

impl OutputPort {
    fn new(experiment: &Experiment, link: usize, channels: usize) -> Self {
        let Network { nodes, links } = &experiment.network;
        let line = &links[link];
        let policy = line.discard.as_ref().expect("a port has a policy");
        let kind = discard::find(policy.kind).unwrap_or_else(|| panic!("link {}: no policy is called {}", line.name, policy.kind));
        let rng = |part: &str| Rng::named(experiment.seed, &format!("{} {part}", line.name));
        let frame = longfat_core::atm::aal5::cells(line.mtu + line.overhead);
        let context = DiscardContext { rate: line.rate, frame, rng: rng("discard") };
        let cell_time = |rate: longfat_core::units::Rate| rate.transmit_time(longfat_core::atm::aal5::CELL.into());
        // Its fabric keeps up with the fastest of its lines.
        let lines = links.iter().filter(|other| other.to == line.from || other.from == line.from);
        let config = PortConfig {
            slot_time: lines.map(|other| cell_time(other.rate)).min().expect("a switch has a line"),
            cell_time: cell_time(line.rate),
            buffer: discard::buffer(&policy.params),
            inputs: links.iter().filter(|other| other.to == line.from).map(|other| cell_time(other.rate)).collect(),
            channels,
            is_before_switch: nodes[line.to].is_switch(),
            drops_rest: kind.drops_rest,
            accounts: kind.accounts,
            rng: rng("fabric"),
        };
        OutputPort {
            port: Port::new(config, (kind.build)(&policy.params, context)),
            link: link as u32,
            before: Vec::new(),
            behind: Vec::new(),
            packets_in: 0,
            packets_lost: 0,
        }
    }

    /// Every packet of which some cells are still to come to the output: its route, and whether it is lost already.
    pub fn unfinished(&self) -> impl Iterator<Item = (PacketId, u32, bool)> {
        self.port.unfinished()
    }
}

/// What a port has done up to some instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct CellTotals {
    pub count: Count,
    pub transmitted: u64,
    pub queued: u64,
    pub busy: Duration,
    /// The integral over time of the cells queued, in ps.
    pub waited: u128,
}

impl World {
    /// The first cell of the packet `id` has come to a switch, over the link `number`.
    #[inline]
    pub(super) fn offer_cells(&mut self, number: usize, place: u32, id: PacketId) {
        let packet = &self.packets[id];
        let cells = self.links[number].cells_of(packet.ip_len());
        let run = Run {
            packet: id,
            route: packet.route,
            channel: self.ports.places[place as usize].channel,
            cells,
            of: cells,
            arrives: self.now,
            is_end: true,
            is_final: true,
            is_lost: false,
            is_marked: false,
            is_ect: packet.ecn != Ecn::NotEct,
        };
        let input = packet.ingress.into();
        let port = self.ports.of(self.ports.places[place as usize].link as usize).expect("a place has a port");
        self.arrive_at_port(port, input, run);
        self.reschedule_port(port);
    }

    fn arrive_at_port(&mut self, port: usize, input: usize, run: Run) {
        let port = &mut self.ports.list[port];
        port.packets_in += u64::from(run.is_final && !run.is_lost);
        port.port.arrive(input, run);
    }

    /// The event of a link behind a port.
    pub(super) fn port_event(&mut self, number: usize, port: usize) -> Option<PacketId> {
        self.advance_port(port);
        let arrival = self.links[number].arrival(self.now, &mut self.packets, &mut self.ledger);
        self.reschedule_port(port);
        arrival
    }

    /// The next packet whole at the far end, or the first time at which there can be one.
    fn reschedule_port(&mut self, port: usize) {
        let number = self.ports.list[port].link as usize;
        let mut next = self.links[number].next_event();
        if next == Time::MAX {
            self.advance_port(port);
            let to_come = self.ports.list[port].port.next_departure().saturating_add(self.links[number].delay());
            next = self.links[number].next_event().min(to_come);
        }
        let link = &mut self.links[number];
        if next != link.scheduled {
            link.scheduled = next;
            self.events.set(number, next);
        }
    }

    /// Does what has happened at `port` before now.
    fn advance_port(&mut self, port: usize) {
        // Ports feed no one before them, so that this ends.
        for i in 0..self.ports.list[port].before.len() {
            let before = self.ports.list[port].before[i] as usize;
            self.advance_port(before);
        }
        self.ports.list[port].port.advance(self.now);
        self.settle_port(port);
    }

    /// Takes what `port` has to say.
    fn settle_port(&mut self, port: usize) {
        let OutputPort { port: core, link, packets_lost, behind, .. } = &mut self.ports.list[port];
        let number = *link;
        let link = &mut self.links[number as usize];
        let is_before_switch = !behind.is_empty();
        for outcome in core.outcomes() {
            match outcome {
                Outcome::Whole { packet, route, leaves, is_marked } => {
                    let header = &mut self.packets[packet];
                    let len = header.ip_len();
                    // RFC 3168 §5 gives the mark to ECN-capable packets only; the policy marked no other.
                    if is_marked {
                        header.ecn = Ecn::Ce;
                    }
                    if is_before_switch {
                        link.pass_on(len);
                    } else {
                        header.route = route;
                        link.carry(packet, len, leaves, &mut self.packets);
                    }
                }
                Outcome::Lost { packet, route, at, reason, is_gone } => {
                    *packets_lost += 1;
                    link.count.drops[reason as usize] += 1;
                    self.packets[packet].route = route;
                    self.ledger.dropped(at, packet, &self.packets, reason, number);
                    if is_gone {
                        self.packets.remove(packet);
                    }
                }
                Outcome::Gone { packet } => self.packets.remove(packet),
                Outcome::Marked { packet, route, at } => {
                    self.packets[packet].route = route;
                    LinkLog { link: number, count: &mut link.count, ledger: &mut self.ledger }.marked(at, packet, &self.packets);
                }
            }
        }
        if is_before_switch {
            self.pass_cells_on(port);
        }
    }

    /// The cells that have left `port` come to the next switch.
    fn pass_cells_on(&mut self, port: usize) {
        let link = &self.links[self.ports.list[port].link as usize];
        let (delay, input) = (link.delay(), link.port().into());
        let mut runs = std::mem::take(&mut self.onward);
        runs.extend(self.ports.list[port].port.onward());
        let none = runs.is_empty();
        for run in runs.drain(..) {
            let Hop::Port(place) = self.hops.at(run.route + 1) else { panic!("cells came to no switch") };
            let Place { link, channel } = self.ports.places[place as usize];
            let next = self.ports.of(link as usize).expect("a place has a port");
            self.arrive_at_port(next, input, Run { route: run.route + 1, channel, arrives: run.arrives + delay, ..run });
        }
        self.onward = runs;
        if none {
            return;
        }
        for i in 0..self.ports.list[port].behind.len() {
            let next = self.ports.list[port].behind[i] as usize;
            self.reschedule_port(next);
        }
    }

    /// Does what has happened at every port before now.
    pub(super) fn advance_ports(&mut self) {
        for port in 0..self.ports.list.len() {
            self.advance_port(port);
            self.reschedule_port(port);
        }
    }

    /// What the port in front of `link` has done up to now, up to which it was advanced.
    pub fn cell_totals(&self, link: usize) -> Option<CellTotals> {
        let port = &self.ports.in_front_of(link)?.port;
        let now = self.now;
        Some(CellTotals {
            count: port.count,
            transmitted: port.transmitted(now),
            queued: port.backlog(now),
            busy: port.busy(now),
            waited: port.waited(now),
        })
    }
}

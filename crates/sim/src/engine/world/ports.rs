//! Output ports of switches as stages, each with the link behind it.
//!
//! A link to a switch hands a packet over when its first cell comes, with the times of all of them. A port that lives through a stretch of
//! time does all its slots, and then says what became of each packet. Cells that go on to another switch go to the port there at once:
//! each says when it comes.

use longfat_core::atm::discard::{self, DiscardContext};
use longfat_core::atm::port::{Count, Outcome, Port, PortConfig, Run};
use longfat_core::link::Link;
use longfat_core::packet::{Ecn, Packet, PacketId};
use longfat_core::queue::QueueLog;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_model::{Experiment, Network, NodeKind};
use longfat_record::trace;

use super::{Input, World};
use crate::engine::route::{END, RouteTable};
use crate::ledger::LinkLog;

/// Every output port.
#[derive(Default)]
pub struct Ports {
    list: Vec<OutputPort>,
    /// For each link the number of the port in front of it, if there is one. Empty in a network without switches.
    of_link: Vec<Option<u32>>,
}

/// A port, and where it is.
pub struct OutputPort {
    pub port: Port,
    /// Whether its cells go to another switch.
    is_before_switch: bool,
    /// What comes to it need not be looked at for so long, though nobody could see anything of it before.
    patience: Duration,
    /// Packets that came, and packets lost, each at the first port to drop of it.
    pub packets_in: u64,
    pub packets_lost: u64,
}

impl Ports {
    /// The ports of `experiment`.
    pub fn new(experiment: &Experiment, table: &RouteTable) -> Self {
        let network = &experiment.network;
        if network.links.iter().all(|link| link.discard.is_none()) {
            return Ports::default();
        }
        let mut ports = Ports { list: Vec::new(), of_link: vec![None; network.links.len()] };
        // A port that no flow crosses is none.
        for (i, channels) in table.channels_of.iter().enumerate().filter(|(_, channels)| **channels > 0) {
            ports.of_link[i] = Some(ports.list.len() as u32);
            ports.list.push(OutputPort::new(experiment, i, *channels as usize));
        }
        for pair in table.links.windows(2).filter(|pair| pair[1] != END) {
            if let [Some(before), Some(_)] = [pair[0], pair[1]].map(|link| ports.of(link as usize)) {
                ports.list[before].is_before_switch = true;
            }
        }
        ports
    }

    /// The port in front of the link `number`.
    #[inline]
    pub fn of(&self, number: usize) -> Option<usize> {
        self.of_link.get(number).copied().flatten().map(|port| port as usize)
    }

    /// None of them leaves what comes to it for longer than `patience`.
    pub fn leave_waiting(&mut self, patience: Duration) {
        self.list.iter_mut().for_each(|port| port.patience = patience);
    }

    /// The links behind ports.
    pub fn of_links(&self) -> impl Iterator<Item = usize> {
        (0..self.of_link.len()).filter(|link| self.of_link[*link].is_some())
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
    /// The least time from a cell's coming to the port until the far end sees it.
    pub fn lag(&self, delay: Duration) -> Duration {
        self.port.lag() + delay
    }

    fn new(experiment: &Experiment, link: usize, channels: usize) -> Self {
        let Network { nodes, links, .. } = &experiment.network;
        let line = &links[link];
        let policy = line.discard.as_ref().expect("a port has a policy");
        let kind = discard::find(policy.kind).unwrap_or_else(|| panic!("link {}: no policy is called {}", line.name, policy.kind));
        let rng = |part: &str| Rng::named(experiment.seed, &format!("{} {part}", line.name));
        let frame = longfat_core::atm::aal5::cells(line.mtu + line.overhead);
        let context = DiscardContext { rate: line.rate, frame, rng: rng("discard") };
        let cell_time = |rate: longfat_core::units::Rate| rate.transmit_time(longfat_core::atm::aal5::CELL.into());
        // Its fabric keeps up with the fastest of its lines.
        let lines = links.iter().filter(|other| other.to == line.from || other.from == line.from);
        let inputs: Vec<Duration> = links.iter().filter(|other| other.to == line.from).map(|other| cell_time(other.rate)).collect();
        let at_inputs = matches!(nodes[line.from].kind, NodeKind::Switch { buffers_at_inputs: true, .. });
        let config = PortConfig {
            slot_time: lines.map(|other| cell_time(other.rate)).min().expect("a switch has a line"),
            cell_time: cell_time(line.rate),
            buffer: discard::buffer(&policy.params),
            at_inputs,
            inputs,
            channels,
            is_before_switch: nodes[line.to].is_switch(),
            after_loss: (kind.after_loss)(&policy.params),
            accounts: kind.accounts,
            rng: rng("fabric"),
        };
        // Each buffer has a policy, with a stream of randomness of its own.
        let discards = (0..if at_inputs { config.inputs.len() } else { 1 }).map(|i| {
            let part = if i == 0 { "discard".to_owned() } else { format!("discard {i}") };
            (kind.build)(&policy.params, DiscardContext { rng: rng(&part), ..context })
        });
        let discards = discards.collect();
        OutputPort { port: Port::new(config, discards), is_before_switch: false, patience: Duration::ZERO, packets_in: 0, packets_lost: 0 }
    }

    /// Every packet of which some cells are still to come to the output: its route, and whether it is lost already.
    pub fn unfinished(&self) -> impl Iterator<Item = (PacketId, u32, bool)> {
        self.port.unfinished()
    }
}

/// All cells of a packet that comes by `link`.
#[inline]
fn whole(id: PacketId, packet: &Packet, channel: u32, link: &Link) -> Run {
    let cells = link.cells_of(packet.ip_len());
    Run {
        packet: id,
        route: packet.route,
        channel,
        cells,
        of: cells,
        arrives: packet.stamp,
        is_end: true,
        is_final: true,
        is_lost: false,
        is_marked: false,
        is_ect: packet.ecn != Ecn::NotEct,
    }
}

impl OutputPort {
    /// When anything can come of a packet whose first cell comes by `link` when its stamp says: before another switch, of that cell; else not
    /// before its last one is there. Until then the port need not have a turn for it.
    #[inline]
    fn news_of(&self, packet: &Packet, link: &Link) -> Time {
        let last = if self.is_before_switch { packet.stamp } else { packet.stamp + link.last_cell_after(packet.ip_len()) };
        self.port.news_at(last)
    }

    /// When the port is to have its turn, where nothing comes of it before `news`: not while what is in the buffer keeps the line busy.
    #[inline]
    fn due(&self, news: Time) -> Time {
        self.port.may_wait(news, self.patience)
    }

    fn arrive(&mut self, ingress: usize, run: Run) {
        self.packets_in += u64::from(run.is_final && !run.is_lost);
        self.port.arrive(ingress, run);
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

impl CellTotals {
    /// What a record has of it.
    pub fn totals(&self) -> trace::CellTotals {
        trace::CellTotals { count: self.count, transmitted: self.transmitted }
    }
}

impl World {
    /// The port in front of the link `number` lives up to and including `until`; when it next has something to do.
    pub(super) fn port_turn(&mut self, number: usize, until: Time) -> Time {
        let port = self.ports.of(number).expect("the stage is a port");
        let next = self.take_cells(port, number, until);
        self.ports.list[port].port.advance(until);
        self.settle_port(port, number);
        self.links[number].settle(until, &mut self.packets, &mut LinkLog { link: number as u32, ledger: &mut self.ledger });
        let port = &mut self.ports.list[port];
        let news = next.min(port.port.next_news());
        port.due(news)
    }

    /// The packets whose first cells have come to the port by `until` are in it; when something next comes of one that has not.
    fn take_cells(&mut self, port: usize, number: usize, until: Time) -> Time {
        let World { inputs, waiting, packets, ledger, links, ports, channels, .. } = self;
        let (port, waiting) = (&mut ports.list[port], &mut waiting[number]);
        let (mut next, mut place) = (Time::MAX, 0);
        while let Some(&input) = waiting.get(place) {
            let Input { line, rank, .. } = &mut inputs[input as usize];
            let link = &mut links[*rank as usize];
            while let Some(id) = line.first().filter(|id| packets[*id].stamp <= until) {
                line.pop(packets);
                link.count.delivered += 1;
                let packet = &packets[id];
                ledger.queued(packet.stamp, id, packets, number as u32);
                port.arrive(packet.ingress.into(), whole(id, packet, channels[packet.route as usize], link));
            }
            if let Some(id) = line.first() {
                next = next.min(port.news_of(&packets[id], link));
                place += 1;
            } else {
                waiting.swap_remove(place);
            }
        }
        next
    }

    /// The packet `id` is the first to come to the port in front of the link `number` by an input in which nothing waited: when anything
    /// comes of it.
    #[inline]
    pub(super) fn expect_at_port(&mut self, number: usize, input: u32, id: PacketId) -> Time {
        self.waiting[number].push(input);
        let port = self.ports.of(number).expect("the stage is a port");
        let port = &self.ports.list[port];
        port.due(port.news_of(&self.packets[id], &self.links[self.inputs[input as usize].rank as usize]))
    }

    /// Takes what `port` has to say.
    fn settle_port(&mut self, port: usize, number: usize) {
        let OutputPort { port: core, packets_lost, is_before_switch, .. } = &mut self.ports.list[port];
        let link = &mut self.links[number];
        let mut log = LinkLog { link: number as u32, ledger: &mut self.ledger };
        for outcome in core.outcomes() {
            match outcome {
                Outcome::Whole { packet, route, leaves, is_marked } => {
                    let header = &mut self.packets[packet];
                    let len = header.ip_len();
                    // RFC 3168 §5 gives the mark to ECN-capable packets only; the policy marked no other.
                    if is_marked {
                        header.ecn = Ecn::Ce;
                    }
                    if *is_before_switch {
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
                    log.dropped(at, packet, &self.packets, reason);
                    if is_gone {
                        self.packets.remove(packet);
                    }
                }
                Outcome::Gone { packet } => self.packets.remove(packet),
                Outcome::Marked { packet, route, at } => {
                    self.packets[packet].route = route;
                    link.count.marks += 1;
                    log.marked(at, packet, &self.packets);
                }
            }
        }
        if *is_before_switch {
            self.pass_cells_on(port, number);
        } else {
            self.pass_on(number);
        }
    }

    /// The cells that have left `port` come to the next switch.
    fn pass_cells_on(&mut self, port: usize, number: usize) {
        let link = &self.links[number];
        let (delay, ingress) = (link.delay(), link.port().into());
        let cell_time = self.ports.list[port].port.cell_time();
        let mut runs = std::mem::take(&mut self.onward);
        runs.extend(self.ports.list[port].port.onward());
        for run in runs.drain(..) {
            let route = run.route + 1;
            let input = &self.inputs[self.hops[route as usize] as usize];
            let (next, stage) = (self.ports.of(input.at as usize).expect("cells come to a port"), input.to as usize);
            let channel = self.channels[route as usize];
            if run.is_final && !run.is_lost {
                // By its last cell: how many cells are one run hangs on how much is done at once.
                let last = run.arrives + delay + cell_time * u64::from(run.cells.saturating_sub(1));
                self.ledger.queued(last, run.packet, &self.packets, input.at);
            }
            self.ports.list[next].arrive(ingress, Run { route, channel, arrives: run.arrives + delay, ..run });
            let next = &mut self.ports.list[next];
            let news = next.port.next_news();
            self.schedule.lower(stage, next.due(news));
        }
        self.onward = runs;
    }

    /// Does what has happened at every port before now. Every stage has reached it, so nothing has yet to come to a port from another.
    pub(super) fn advance_ports(&mut self) {
        let behind_ports: Vec<usize> = self.ports.of_links().collect();
        for number in behind_ports {
            let port = self.ports.of(number).expect("there is a port");
            self.take_cells(port, number, self.now);
            self.ports.list[port].port.advance(self.now);
            self.settle_port(port, number);
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

//! Output ports of switches as stages, each with the link behind it.
//!
//! A link to a switch hands a packet over when its first cell comes, with the times of all of them. A port that lives through a stretch of
//! time does all its slots, and then says what became of each packet. Cells that go on to another switch go to the port there at once:
//! each says when it comes.

use longfat_core::atm::aal5;
use longfat_core::atm::discard::{self, DiscardContext};
use longfat_core::atm::port::{Count, Outcome, Port, PortConfig, Run};
use longfat_core::packet::{Ecn, Packet, PacketId};
use longfat_core::queue::QueueLog;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use longfat_model::{Experiment, Network, NodeKind};
use longfat_record::trace;

use super::carrier::Carrier;
use crate::context::inputs::InputId;
use crate::context::{Context, Message};
use crate::ledger::LinkLog;

/// An output port, and the link behind it.
pub(crate) struct OutputPort {
    pub carrier: Carrier,
    port: Port,
    /// True if its cells go to another switch.
    is_before_switch: bool,
    /// Time for which packets that arrive may wait for the port's turn, where the wait has no visible effect.
    patience: Duration,
    sources: Vec<CellSource>,
    /// The numbers of the sources of which packets wait.
    waiting: Vec<usize>,
    /// Packets that came, and packets lost, each at the first port to drop of it.
    pub packets_in: u64,
    pub packets_lost: u64,
}

/// A link by which cells come to a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellSource {
    input: InputId,
    /// Bytes that the link adds to each packet.
    overhead: u32,
    cell_time: Duration,
}

impl CellSource {
    /// Returns the source `link`, whose packets arrive by `input`.
    pub(crate) fn new(input: InputId, link: &longfat_model::Link) -> Self {
        CellSource { input, overhead: link.overhead, cell_time: cell_time(link.rate) }
    }

    fn cells_of(&self, packet: &Packet) -> u32 {
        aal5::cells(packet.ip_len() + self.overhead)
    }

    /// Returns the arrival of the last cell of `packet`, whose first cell comes at the time of its stamp.
    fn last_cell_of(&self, packet: &Packet) -> Time {
        packet.stamp + self.cell_time * u64::from(self.cells_of(packet) - 1)
    }

    /// Returns all cells of a packet.
    #[inline]
    fn whole(&self, id: PacketId, packet: &Packet, channel: u32) -> Run {
        let cells = self.cells_of(packet);
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
}

/// Totals of a port up to some instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellTotals {
    pub count: Count,
    pub transmitted: u64,
    pub queued: u64,
    pub busy: Duration,
    /// The integral over time of the cells queued, in ps.
    pub waited: u128,
}

impl CellTotals {
    /// Returns the totals as a record has them.
    pub(crate) fn totals(&self) -> trace::CellTotals {
        trace::CellTotals { count: self.count, transmitted: self.transmitted }
    }
}

fn cell_time(rate: Rate) -> Duration {
    rate.transmit_time(aal5::CELL.into())
}

/// Makes the port in front of the link `link` of `experiment`, with `channels` channels.
pub(crate) fn port(experiment: &Experiment, link: usize, channels: u32) -> Port {
    let Network { nodes, links, .. } = &experiment.network;
    let line = &links[link];
    let policy = line.discard.as_ref().expect("a port has a policy");
    let kind = discard::find(policy.kind).unwrap_or_else(|| panic!("link {}: no policy is called {}", line.name, policy.kind));
    let rng = |part: &str| Rng::named(experiment.seed, &format!("{} {part}", line.name));
    let context = DiscardContext { rate: line.rate, frame: aal5::cells(line.mtu + line.overhead), rng: rng("discard") };
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
        channels: channels as usize,
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
    Port::new(config, discards)
}

impl OutputPort {
    /// The port `port` before the link of `carrier`, which leaves nothing for longer than `patience`.
    pub(crate) fn new(carrier: Carrier, port: Port, is_before_switch: bool, patience: Duration, sources: Vec<CellSource>) -> Self {
        OutputPort { carrier, port, is_before_switch, patience, sources, waiting: Vec::new(), packets_in: 0, packets_lost: 0 }
    }

    /// The port lives up to and including `until`. Returns when it next has something to do.
    pub(crate) fn run(&mut self, until: Time, context: &mut Context) -> Time {
        let next = self.live(until, context);
        self.carrier.settle(until, context);
        let news = next.min(self.port.next_news());
        self.due(news)
    }

    /// Does everything up to `until`. Returns the time at which a packet that has not arrived yet next has an effect.
    pub(crate) fn live(&mut self, until: Time, context: &mut Context) -> Time {
        let next = self.take_cells(until, context);
        self.port.advance(until);
        self.settle(context);
        next
    }

    /// Records a packet that is the first to arrive by the source `at` since nothing waited there. Returns the time of its first effect.
    pub(crate) fn expect(&mut self, at: usize, packet: &Packet) -> Time {
        self.waiting.push(at);
        self.due(self.news_of(&self.sources[at], packet))
    }

    /// Cells come from another switch by the port `ingress` there. Returns when anything comes of them.
    pub(crate) fn take(&mut self, ingress: usize, run: Run) -> Time {
        self.arrive(ingress, run);
        let news = self.port.next_news();
        self.due(news)
    }

    /// Returns every packet of which some cells are still to come to the output: its route, and true if it is lost already.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (PacketId, u32, bool)> {
        self.port.unfinished()
    }

    /// Packets in it that are not lost.
    pub(crate) fn packets_queued(&self) -> u64 {
        self.unfinished().filter(|(_, _, is_lost)| !is_lost).count() as u64
    }

    /// Totals up to `now`, up to which it was advanced.
    pub(crate) fn totals(&self, now: Time) -> CellTotals {
        let port = &self.port;
        CellTotals {
            count: port.count,
            transmitted: port.transmitted(now),
            queued: port.backlog(now),
            busy: port.busy(now),
            waited: port.waited(now),
        }
    }

    /// Returns the time at which a packet whose first cell comes by `source` at its stamp can first have an effect: before another switch,
    /// the time of that cell; else not before its last cell. Until then the port need not have a turn for it.
    #[inline]
    fn news_of(&self, source: &CellSource, packet: &Packet) -> Time {
        self.port.news_at(if self.is_before_switch { packet.stamp } else { source.last_cell_of(packet) })
    }

    /// Returns the time of the port's turn, where nothing happens before `news`: not while the buffer keeps the link busy.
    #[inline]
    fn due(&self, news: Time) -> Time {
        self.port.may_wait(news, self.patience)
    }

    fn arrive(&mut self, ingress: usize, run: Run) {
        self.packets_in += u64::from(run.is_final && !run.is_lost);
        self.port.arrive(ingress, run);
    }

    /// Takes the packets whose first cells have arrived by `until`. Returns the time at which a packet that has not arrived yet next has an
    /// effect.
    fn take_cells(&mut self, until: Time, context: &mut Context) -> Time {
        let Context { inputs, packets, ledger, routes, .. } = context;
        let (mut next, mut place) = (Time::MAX, 0);
        while let Some(&at) = self.waiting.get(place) {
            let source = self.sources[at];
            let input = &mut inputs[source.input];
            while let Some(id) = input.line.first().filter(|id| packets[*id].stamp <= until) {
                input.line.pop(packets);
                input.delivered += 1;
                let packet = &packets[id];
                ledger.queued(packet.stamp, id, packets, self.carrier.number);
                self.arrive(packet.ingress.into(), source.whole(id, packet, routes.channel(packet.route)));
            }
            if let Some(id) = input.line.first() {
                next = next.min(self.news_of(&source, &packets[id]));
                place += 1;
            } else {
                self.waiting.swap_remove(place);
            }
        }
        next
    }

    /// Takes what the port has to say.
    fn settle(&mut self, context: &mut Context) {
        let Context { packets, ledger, .. } = &mut *context;
        let link = &mut self.carrier.link;
        let mut log = LinkLog { link: self.carrier.number, ledger };
        for outcome in self.port.outcomes() {
            match outcome {
                Outcome::Whole { packet, route, leaves, is_marked } => {
                    let header = &mut packets[packet];
                    let len = header.ip_len();
                    // RFC 3168 §5 gives the mark to ECN-capable packets only; the policy marked no other.
                    if is_marked {
                        header.ecn = Ecn::Ce;
                    }
                    if self.is_before_switch {
                        link.pass_on(len);
                    } else {
                        header.route = route;
                        link.carry(packet, len, leaves, packets);
                    }
                }
                Outcome::Lost { packet, route, at, reason, is_gone } => {
                    self.packets_lost += 1;
                    link.count.drops[reason as usize] += 1;
                    packets[packet].route = route;
                    log.dropped(at, packet, packets, reason);
                    if is_gone {
                        packets.remove(packet);
                    }
                }
                Outcome::Gone { packet } => packets.remove(packet),
                Outcome::Marked { packet, route, at } => {
                    packets[packet].route = route;
                    link.count.marks += 1;
                    log.marked(at, packet, packets);
                }
            }
        }
        if self.is_before_switch {
            self.pass_cells_on(context);
        } else {
            self.carrier.pass_on(context);
        }
    }

    /// The cells that have left the port go on to the next switch.
    fn pass_cells_on(&mut self, context: &mut Context) {
        let Context { packets, ledger, routes, inputs, out, .. } = context;
        let link = &self.carrier.link;
        let (delay, ingress, cell_time) = (link.delay(), link.port().into(), self.port.cell_time());
        for run in self.port.onward() {
            let route = run.route + 1;
            if run.is_final && !run.is_lost {
                // The last cell counts: how many cells are one run hangs on how much is done at once.
                let last = run.arrives + delay + cell_time * u64::from(run.cells.saturating_sub(1));
                ledger.queued(last, run.packet, packets, routes.link(route));
            }
            let run = Run { route, channel: routes.channel(route), arrives: run.arrives + delay, ..run };
            out.push(Message::Cells { to: inputs[routes.hop(route)].to, ingress, run });
        }
    }
}

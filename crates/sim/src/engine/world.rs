//! The world: a network with its flows, cut into [stages](crate::stage) that live by themselves for a while.
//!
//! Packets come to a stage by its [inputs](crate::context::inputs), and a stage takes them in order of time. How far each stage may live before
//! the next has its turn is in the [plan](super::plan).
//!
//! Events at equal times have an order. Events caused by links come first, in the order of their numbers in the network; then those of
//! endpoints that wake, for each flow its sender, then its receiver; then those of hosts. This order is the *rank* of an input. With random
//! ties it is drawn for links.

use std::sync::atomic::Ordering;

use longfat_core::atm::aal5;
use longfat_core::link::Link;
use longfat_core::packet::PacketId;
use longfat_core::time::{Duration, Time};
use longfat_record::recorder::Totals;
use longfat_record::trace::{FlowCounts, LinkTotals};
use longfat_tcp::LimitedBy;

use super::schedule::Schedule;
use crate::context::{Context, Message, Spot};
use crate::ledger::sent_so_far;
use crate::stage::Stage;
use crate::stage::endpoint::Endpoint;
use crate::stage::host::{Host, Pool};
use crate::stage::port::OutputPort;

/// Why [`World::run`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Everything up to and including the given time has been done.
    Reached,
    /// The steps allowed have been done.
    Steps,
    /// A control asked for it. Its flow has come to that instant and no further; other stages may be ahead, by less than a period.
    Asked,
    /// Every flow the run waits for is done.
    Done,
}

/// A network with its flows, at one instant.
pub(crate) struct World {
    /// Stages in the order of a sweep.
    pub stages: Vec<Stage>,
    pub(super) schedule: Schedule,
    pub context: Context,
    /// Spot of each link.
    pub(super) spots: Vec<Spot>,
    /// The places of hosts, in the order of the experiment.
    pub(super) hosts: Vec<usize>,
    /// Taken when the last volume was delivered.
    pub all_delivered: Option<Totals>,
}

impl World {
    /// Virtual time.
    pub(crate) fn now(&self) -> Time {
        self.context.now
    }

    /// Runs up to and including `until`, but stops after about `steps` steps.
    pub(crate) fn run(&mut self, until: Time, steps: u64) -> Pause {
        let enough = self.context.steps.saturating_add(steps);
        loop {
            if self.context.ending.is_reached() {
                assert!(self.schedule.is_single(), "a run ended before it could");
                return Pause::Done;
            }
            let look = self.hosts.iter().map(|place| self.stages[*place].bound()).min().unwrap_or(Time::MAX);
            let stop = until.min(look).min(self.hold());
            if self.schedule.reached() < Some(stop) {
                if self.context.steps >= enough {
                    self.context.now = self.schedule.reached().unwrap_or(Time::ZERO);
                    return Pause::Steps;
                }
                self.sweep(stop);
                if self.context.is_asked() {
                    self.context.asked.store(false, Ordering::Relaxed);
                    self.context.now = self.schedule.reached().unwrap_or(Time::ZERO);
                    return Pause::Asked;
                }
                continue;
            }
            self.context.now = stop;
            self.schedule.meet(stop);
            if look == stop {
                self.look();
            } else if stop < until {
                self.be_single();
            } else {
                return Pause::Reached;
            }
        }
    }

    /// Returns the time beyond which no stage goes in a sweep, since the run may end there.
    fn hold(&mut self) -> Time {
        if self.schedule.is_single() {
            return Time::MAX;
        }
        let World { stages, schedule, context: Context { ending, endpoints, .. }, .. } = self;
        ending.hold(schedule.front(), |flow| {
            let Spot { stage, index } = endpoints[2 * flow];
            sent_so_far(&stages[stage].endpoint(index).agent.stats())
        })
    }

    /// Makes all stages go together from here on.
    pub(crate) fn be_single(&mut self) {
        self.schedule.be_single();
    }

    /// Gives every stage that has something to do its turn, up to `stop`.
    fn sweep(&mut self, stop: Time) {
        let steps = self.context.steps;
        self.schedule.begin(stop, steps == 0);
        self.context.turns.enough = steps.saturating_add(self.context.turns.sweep);
        let mut place = 0;
        while let Some(found) = self.schedule.next(place) {
            let until = self.schedule.until(found);
            if self.schedule.due_at(found) <= until {
                self.context.steps += 1;
                let stage = &mut self.stages[found];
                let next = stage.run(until, &mut self.context);
                self.schedule.bound(stage.bound());
                if next <= until {
                    self.schedule.cut(found, next);
                }
                self.schedule.set(found, next);
                self.hand_over();
            }
            place = found + 1;
        }
        self.schedule.end();
        if self.schedule.is_single() {
            self.context.now = self.schedule.front();
        }
        if self.context.ending.take_delivery() {
            assert!(self.schedule.is_single(), "volumes were delivered before they could be");
            self.all_delivered = Some(self.totals_now());
        }
    }

    /// The effects of a turn come to the other stages.
    #[inline]
    fn hand_over(&mut self) {
        let World { stages, schedule, context, .. } = self;
        let mut fresh = std::mem::take(&mut context.inputs.fresh);
        for id in fresh.drain(..) {
            let input = &context.inputs[id];
            let first = input.line.first().expect("something has come");
            schedule.lower(input.to, stages[input.to].expect(id, input.at, &context.packets[first]));
        }
        context.inputs.fresh = fresh;
        if !context.out.is_empty() {
            self.hand_over_rest();
        }
    }

    /// Messages come to the other stages.
    #[cold]
    fn hand_over_rest(&mut self) {
        let World { stages, schedule, context, spots, .. } = self;
        for message in context.out.drain(..) {
            match message {
                Message::Cells { to, ingress, run } => {
                    if let Stage::Port(port) = &mut stages[to] {
                        schedule.lower(to, port.take(ingress, run));
                    }
                }
                Message::Pause { link, sender, at, time } => {
                    let Spot { stage, index } = spots[link as usize];
                    schedule.lower(stage, stages[stage].pause(index, sender, at, time));
                }
                Message::Lost { link, reason } => {
                    let Spot { stage, index } = spots[link as usize];
                    stages[stage].carriers_mut()[index].link.count.drops[reason as usize] += 1;
                }
            }
        }
    }

    /// The memories whose time has come look at all their connections. Every stage has come to now.
    fn look(&mut self) {
        for i in 0..self.hosts.len() {
            let place = self.hosts[i];
            if self.stages[place].bound() > self.now() {
                continue;
            }
            let outstanding = |peer: usize| self.endpoint(peer).agent.tcp().memory().outstanding;
            let outstanding: Vec<u64> = self.host(place).peers().into_iter().map(outstanding).collect();
            if let Stage::Host(host) = &mut self.stages[place] {
                let next = host.look(&outstanding, &mut self.context);
                self.schedule.set(place, next);
            }
            self.hand_over();
        }
    }

    /// Does everything that is due at every queue and port up to now, which every stage has reached.
    pub(crate) fn advance_links(&mut self) {
        for i in 0..self.spots.len() {
            let Spot { stage, index } = self.spots[i];
            self.stages[stage].carriers_mut()[index].advance(&mut self.context);
            self.hand_over();
        }
        // No packets are still to come to a port from another port.
        for i in 0..self.spots.len() {
            if let Stage::Port(port) = &mut self.stages[self.spots[i].stage] {
                port.live(self.context.now, &mut self.context);
                self.hand_over();
            }
        }
        for input in self.context.inputs.iter_mut() {
            let delivered = std::mem::take(&mut input.delivered);
            if let Some(link) = input.from {
                let Spot { stage, index } = self.spots[link as usize];
                self.stages[stage].carriers_mut()[index].link.count.delivered += delivered;
            }
        }
    }

    /// The endpoint of this number: endpoint `2 f` sends for flow `f`, endpoint `2 f + 1` answers.
    pub(crate) fn endpoint(&self, number: usize) -> &Endpoint {
        let Spot { stage, index } = self.context.endpoints[number];
        self.stages[stage].endpoint(index)
    }

    /// The endpoint of this number, to be changed.
    pub(crate) fn endpoint_mut(&mut self, number: usize) -> &mut Endpoint {
        let Spot { stage, index } = self.context.endpoints[number];
        self.stages[stage].endpoint_mut(index)
    }

    /// The link of this number.
    pub(crate) fn link(&self, number: usize) -> &Link {
        let Spot { stage, index } = self.spots[number];
        &self.stages[stage].carriers()[index].link
    }

    /// Returns every link, in order.
    pub(crate) fn links(&self) -> impl ExactSizeIterator<Item = &Link> {
        (0..self.spots.len()).map(|number| self.link(number))
    }

    /// Waits that links have recorded so far count no more.
    pub(crate) fn forget_waits(&mut self) {
        self.stages.iter_mut().flat_map(Stage::carriers_mut).for_each(|carrier| carrier.link.forget_waits());
    }

    /// The port in front of the link of this number, if there is one.
    pub(crate) fn port(&self, link: usize) -> Option<&OutputPort> {
        if let Stage::Port(port) = &self.stages[self.spots[link].stage] { Some(port) } else { None }
    }

    fn host(&self, place: usize) -> &Host {
        if let Stage::Host(host) = &self.stages[place] { host } else { panic!("the stage is a host") }
    }

    /// The hosts of which something is said, in the order of the experiment.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().map(|place| self.host(*place))
    }

    /// The memories of hosts, in the order of the experiment.
    pub(crate) fn memories(&self) -> impl Iterator<Item = &Pool> {
        self.hosts().filter_map(|host| host.memory.as_ref())
    }

    /// Totals by now.
    pub(crate) fn totals_now(&mut self) -> Totals {
        self.advance_links();
        let now = self.now();
        Totals {
            time: now,
            flows: (0..self.context.flows.len()).map(|flow| self.flow_counts(flow)).collect(),
            links: (0..self.spots.len()).map(|link| self.link_totals(link)).collect(),
            processors: self.hosts().filter_map(|host| host.busy(now)).collect(),
            memory: self.memories().map(|pool| pool.totals(now)).collect(),
        }
    }

    fn flow_counts(&self, flow: usize) -> FlowCounts {
        let (sender, receiver) = (&self.endpoint(2 * flow).agent, &self.endpoint(2 * flow + 1).agent);
        let (sent, received) = (sender.stats(), receiver.stats());
        let limited = sender.limited(self.context.flows[flow].gave_up.unwrap_or(self.now()));
        FlowCounts {
            delivered: receiver.bytes_delivered(),
            arrived: receiver.bytes_arrived(),
            duplicate: received.bytes_duplicate,
            sent: sent.bytes_sent,
            retransmitted: sent.bytes_retransmitted,
            segments_sent: sent.segments_sent,
            segments_retransmitted: sent.segments_retransmitted,
            packets_dropped: self.context.ledger.dropped_of(flow).packets,
            limited_s: limited.map_or([f64::NAN; LimitedBy::ALL.len()], |times| times.map(Duration::as_secs_f64)),
        }
    }

    /// Returns the totals of a link and its queue; from a switch, in cells.
    fn link_totals(&self, number: usize) -> LinkTotals {
        let line = LinkTotals::of(self.link(number), self.now());
        let Some(port) = self.port(number) else { return line };
        let cells = port.totals(self.now());
        LinkTotals {
            packets_in: port.packets_in,
            busy: cells.busy,
            waited: (cells.waited, cells.waited * u128::from(aal5::CELL)),
            waits: None,
            cells: Some(cells.totals()),
            ..line
        }
    }

    /// Returns the packets on their way by each link.
    pub(crate) fn on_wires(&self) -> Vec<u64> {
        let mut on_wires: Vec<u64> = self.links().map(Link::keeps).collect();
        for (_, input) in self.context.inputs.iter() {
            match input.from {
                Some(link) => on_wires[link as usize] += input.line.len() as u64,
                None => assert!(input.line.is_empty(), "what an endpoint has sent has not come to its link"),
            }
        }
        // Packets that have not begun are in the queue.
        self.links().zip(on_wires).map(|(link, on_wire)| on_wire - link.ahead().0).collect()
    }

    /// The packets on their way by the link `number`.
    #[cfg(test)]
    pub(crate) fn on_wire(&self, number: u32) -> impl Iterator<Item = PacketId> {
        let of_link = self.context.inputs.iter().filter(move |(_, input)| input.from == Some(number));
        of_link.flat_map(|(_, input)| input.line.iter(&self.context.packets))
    }

    /// Takes the packets that are on their way to some stage, at the end of a run.
    pub(crate) fn take_on_way(&mut self) -> Vec<PacketId> {
        let Context { packets, inputs, .. } = &mut self.context;
        inputs.iter_mut().flat_map(|input| std::iter::from_fn(|| input.line.pop(packets))).collect()
    }
}

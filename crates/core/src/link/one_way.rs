//! A one-way link: a queue, a transmitter and a wire.
//!
//! Departures from the queue are *lazy* and exact. The transmitter is busy until a known time. The next call first does everything since
//! the last one: whenever the transmitter fell idle and packets waited, the next one left the queue at just that time. A packet that starts
//! at `s` is stamped with its arrival at the far end, `s + transmit time + delay`, and is the driver's from then on ([`Link::take_sent`]).
//! (A switch takes a packet cell by cell, from the first cell on. On a link to a switch the arrival is that of the first cell.)
//!
//! Where each packet's start is known when it comes ([`timetable`]), the driver has it at once, before it starts.
//!
//! At equal times a departure from a queue comes before an arrival at it, unless [`LinkConfig::departs_last`] says otherwise.

mod account;
mod held;
mod timetable;
mod transmit;
mod waits;
mod wire;

use super::count::{Count, Counted};
use super::gate::{Gate, PauseAt, PauseChange, Shaper, Watch};
use super::loss::Loss;
use super::service::Transmitter;
use super::travel::Travel;
use super::unsteady::Unsteady;
use crate::packet::{Line, PacketId, Packets};
use crate::queue::{DropReason, Party, Queue, QueueLog, discard};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Rate;
use held::Held;
use timetable::Timetable;
pub(super) use transmit::Framed;
use waits::Waits;

/// Configuration of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    /// Rate of framed packets.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Link-layer bytes added to each IP packet. With cells, within the AAL5 frame.
    pub overhead: u32,
    /// Least frame, in bytes with overhead.
    pub min_frame: u32,
    /// Packets are carried as AAL5 frames, in cells.
    pub cells: bool,
    /// It leads to a switch, which takes the cells of a packet one by one.
    pub to_switch: bool,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
    /// Port by which its packets enter the next node.
    pub port: u16,
    /// Departures from its queue come after the arrivals of the same instant.
    pub departs_last: bool,
}

/// One link.
pub struct Link {
    busy_until: Time,
    /// Time of the last packet on the line: nearly every packet has the length of the one before it.
    last: Framed,
    config: LinkConfig,
    cell_time: Duration,
    /// True if the queue acts on a clock of its own (`clocked`), or may hold packets back (`shapes`; then there is a gate).
    clocked: bool,
    shapes: bool,
    /// Size in bytes up to which a packet that finds the line idle goes out without a question to the queue.
    passes: u32,
    queue: Box<dyn Queue + Send>,
    /// The timetable of a queue that is a plain FIFO, where nothing but the line holds packets back: `queue` stays empty then.
    timetable: Option<Box<Timetable>>,
    /// Gate of the transmitter. `None`: a packet begins as soon as the line is free.
    gate: Option<Box<Gate>>,
    /// Watch on the queue. `None`: the links that fill the queue are not stopped.
    watch: Option<Box<Watch>>,
    /// Bound on packets in queue and wire together. `None`: only the queue has a limit.
    held: Option<Box<Held>>,
    /// Recorded waits. `None`: waits are not recorded.
    waits: Option<Box<Waits>>,
    /// True if every packet arrives, each after the same delay: there is neither `loss` nor `travel`.
    is_perfect: bool,
    loss: Option<Box<dyn Loss + Send>>,
    travel: Option<Box<Travel>>,
    /// Transmitter whose rate changes. `None`: a constant rate.
    transmitter: Option<Box<Transmitter>>,
    /// Number of next packets that arrive whatever they are.
    spared: u32,
    /// Packets sent, and not yet taken by the driver.
    sent: Line,
    /// Packets on the wire that will be lost before the far end.
    doomed: Line,
    /// Counters of the link.
    pub count: Count,
}

impl Link {
    /// Returns an idle link with `queue` in front of it and `loss` on it.
    pub fn new(config: LinkConfig, queue: Box<dyn Queue + Send>, loss: Option<Box<dyn Loss + Send>>) -> Self {
        let (clocked, shapes) = (queue.poll_timeout().is_some(), queue.shapes());
        Link {
            busy_until: Time::ZERO,
            last: Framed::default(),
            config,
            cell_time: config.rate.transmit_time(crate::atm::aal5::CELL.into()),
            clocked,
            shapes,
            passes: if clocked | shapes { 0 } else { queue.passes().min(config.mtu) },
            timetable: queue.fifo_limit().map(|limit| Box::new(Timetable::new(limit))),
            queue,
            gate: shapes.then(Box::default),
            watch: None,
            held: None,
            waits: None,
            is_perfect: loss.is_none(),
            loss,
            travel: None,
            transmitter: None,
            spared: 0,
            sent: Line::new(),
            doomed: Line::new(),
            count: Count::default(),
        }
    }

    /// Makes the link change over time or from packet to packet. Must be called before anything is sent, and not on a link with cells.
    pub fn change(&mut self, unsteady: &Unsteady, rng: impl Fn(&str) -> Rng) {
        assert!(!self.config.cells, "cells go at one rate");
        self.timetable = None;
        self.transmitter = unsteady.transmitter(self.config.rate, rng("rate")).map(Box::new);
        if !unsteady.passage.is_plain() {
            self.travel = Some(Box::new(Travel::new(&unsteady.passage, self.config.delay, rng("delay"), rng("passage"))));
            self.is_perfect = false;
        }
        if let Some(limit) = unsteady.limit_in_delay {
            self.held = Some(Box::new(Held::new(limit)));
            (self.is_perfect, self.passes) = (false, 0);
        }
    }

    /// Shapes the packets of the link. Must be called before anything is sent.
    pub fn shape(&mut self, shaper: Shaper) {
        self.gate = Some(Box::new(Gate::shaped(shaper)));
        (self.timetable, self.passes) = (None, 0);
    }

    /// Adds a sender of PAUSE frames, and returns its number. Must be called before anything is sent, and after [`Link::shape`] if that is
    /// called.
    pub fn heed_pauses(&mut self) -> usize {
        (self.timetable, self.passes) = (None, 0);
        self.gate.get_or_insert_default().heed()
    }

    /// Records a PAUSE frame of `sender` that comes to the transmitter at `at`, which is not yet past: nothing begins until `time` later,
    /// or until the next frame of the sender says something else. They come in order of time.
    pub fn pause(&mut self, sender: usize, at: Time, time: Duration) {
        self.gate.as_mut().expect("the link heeds PAUSE frames").pause(sender, at, time);
        self.count.pauses += 1;
    }

    /// Watches the queue, to stop the links that fill it, and let them go on. Must be called before anything is sent.
    pub fn watch(&mut self, config: PauseAt) {
        self.timetable = None;
        self.watch = Some(Box::new(Watch::new(config)));
    }

    /// Tells the queue that packets with this [`Packet::route`](crate::packet::Packet::route) are of `party` ([`Queue::tell`]).
    pub fn tell(&mut self, route: u32, party: &Party<'_>) {
        self.queue.tell(route, party);
    }

    /// Returns the next PAUSE frame for the links that fill its queue, in order of time.
    pub fn take_change(&mut self) -> Option<PauseChange> {
        self.watch.as_mut()?.take_change()
    }

    /// Adds the packet `id` to the queue. `log` is told of drops and marks.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let len = packets[id].ip_len();
        if self.timetable.is_some() {
            self.take_in(now, id, len, packets, log);
        } else if (self.busy_until <= now) & (self.count.backlog == 0) & (len <= self.passes) {
            // One branch tests all three: with paced flows, an idle line is hard to predict.
            self.count.packets_in += 1;
            self.transmit(now, id, len, packets);
        } else {
            self.ask(now, id, len, packets, log);
        }
    }

    /// Takes a packet as [`Link::offer`] does, where the queue has a say.
    #[inline(never)]
    fn ask(&mut self, now: Time, id: PacketId, len: u32, packets: &mut Packets, log: &mut dyn QueueLog) {
        if (self.busy_until <= now) & (self.count.backlog == 0) & (len <= self.config.mtu) && self.is_free() {
            self.count.packets_in += 1;
            return self.pass(now, id, len, packets, log);
        }
        self.advance_before(now, packets, log);
        self.count.packets_in += 1;
        let is_full = self.is_full(now);
        let idle = self.count.backlog == 0 && !self.shapes && self.opens(now) <= now;
        let mut counted = Counted { count: &mut self.count, log: &mut *log };
        if len > self.config.mtu {
            counted.count.enter(now, len);
            discard(now, id, DropReason::TooBig, packets, &mut counted);
        } else if is_full {
            counted.count.enter(now, len);
            discard(now, id, DropReason::Overflow, packets, &mut counted);
        } else if idle {
            self.pass(now, id, len, packets, log);
        } else {
            if counted.count.backlog == 0 {
                // The packet found the line free, and something holds the transmitter back: nothing can begin any more before now.
                self.busy_until = self.busy_until.max(now);
            }
            counted.count.enter(now, len);
            packets[id].stamp = now;
            self.queue.enqueue(now, id, packets, &mut counted);
            self.count.note_backlog();
            if let Some(watch) = &mut self.watch {
                watch.note(now, self.count.backlog_bytes);
            }
            if self.transmitter.is_some() {
                self.note_queue(now);
            }
            if self.shapes && self.next_departure() <= now {
                // The line is free, and this packet may go though no other might.
                self.depart(now, packets, log);
            }
        }
    }

    /// Returns true if nothing but the queue and the line itself can hold a packet back, and nobody looks at the queue.
    #[inline]
    fn is_free(&self) -> bool {
        !self.clocked & self.gate.is_none() & self.watch.is_none() & self.held.is_none()
    }

    /// Sends a packet that finds the queue empty and the line free, unless the queue drops it.
    #[inline(always)]
    fn pass(&mut self, now: Time, id: PacketId, len: u32, packets: &mut Packets, log: &mut dyn QueueLog) {
        if self.queue.pass(self.busy_until, now, id, packets, &mut Counted { count: &mut self.count, log }) {
            self.begin(now, id, len, packets);
        } else {
            self.count.enter(now, len);
            assert!(self.count.backlog == 0, "a queue held a packet back from an idle link");
        }
    }

    /// Returns true if queue and wire together hold as much as they may. A packet that arrives at the far end at this instant leaves before
    /// or after, as departures from the queue do.
    fn is_full(&mut self, now: Time) -> bool {
        let gone = self.before(now);
        self.held.as_mut().is_some_and(|held| held.is_full(gone, self.count.backlog))
    }

    /// Does everything at the queue before an arrival at `now`.
    #[inline]
    pub fn advance_before(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.advance(self.before(now), packets, log);
    }

    /// Returns the last instant at which a departure comes before an arrival at `now`.
    #[inline]
    fn before(&self, now: Time) -> Time {
        Time::from_ps(now.as_ps().saturating_sub(u64::from(self.config.departs_last)))
    }

    /// Does everything at the queue up to and including `now`.
    #[inline]
    pub fn advance(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        if self.timetable.is_some() {
            return self.begin_by(now);
        }
        if self.clocked | self.gate.is_some() | self.watch.is_some() {
            return self.advance_by_events(now, packets, log);
        }
        while self.busy_until <= now && self.count.backlog > 0 {
            self.depart(self.busy_until, packets, log);
        }
    }

    /// Advances event by event in order of time, departures first: for a queue with a clock, a transmitter that is held back, or a queue
    /// that is watched.
    #[cold]
    fn advance_by_events(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        loop {
            let departure = self.next_departure();
            let timeout = self.queue.poll_timeout().unwrap_or(Time::MAX);
            let refresh = self.watch.as_ref().map_or(Time::MAX, |watch| watch.refresh);
            if departure.min(timeout).min(refresh) > now {
                break;
            }
            if departure <= timeout.min(refresh) {
                self.depart(departure, packets, log);
            } else if timeout <= refresh {
                self.queue.handle_timeout(timeout);
                assert!(self.queue.poll_timeout() > Some(timeout), "a queue's timeout did not move on");
            } else if let Some(watch) = &mut self.watch {
                watch.stop(refresh);
            }
        }
        if let Some(gate) = &mut self.gate {
            gate.take_in(now);
        }
    }

    /// Starts the next packet at `start`: the transmitter is free.
    #[inline]
    fn depart(&mut self, start: Time, packets: &mut Packets, log: &mut dyn QueueLog) {
        match self.queue.dequeue(start, packets, &mut Counted { count: &mut self.count, log }) {
            Some(id) => {
                let len = packets[id].ip_len();
                self.count.leave(start, len);
                if let Some(waits) = &mut self.waits {
                    waits.record(start.since(packets[id].stamp));
                }
                if let Some(watch) = &mut self.watch {
                    watch.note(start, self.count.backlog_bytes);
                }
                if self.gate.is_some() {
                    self.count.held_ps += start.since(self.busy_until.max(packets[id].stamp)).as_ps();
                }
                self.begin(start, id, len, packets);
            }
            None => {
                // The queue dropped all that it had, or all that might have gone now.
                assert!(self.count.backlog == 0 || self.shapes, "a queue held packets back from an idle link");
                if let Some(watch) = &mut self.watch {
                    watch.note(start, self.count.backlog_bytes);
                }
            }
        }
    }

    /// Starts the transmission of a packet that had to ask.
    #[inline]
    fn begin(&mut self, start: Time, id: PacketId, len: u32, packets: &mut Packets) {
        if let Some(gate) = &mut self.gate {
            gate.begins(start, len);
        }
        self.transmit(start, id, len, packets);
    }

    /// Returns the next packet that has been sent and will arrive. Its stamp is the time of arrival, and its route is that of the hop after
    /// this link. Packets come in the order in which they arrive.
    #[inline]
    pub fn take_sent(&mut self, packets: &Packets) -> Option<PacketId> {
        self.sent.pop(packets)
    }

    /// Returns all packets that [`Link::take_sent`] would give.
    #[inline]
    pub fn sent(&mut self) -> &mut Line {
        &mut self.sent
    }

    /// Returns when the next packet leaves the queue; [`Time::MAX`] while it is empty, or where that is known beforehand.
    #[inline]
    fn next_departure(&self) -> Time {
        if (self.count.backlog > 0) & self.timetable.is_none() { self.next_start() } else { Time::MAX }
    }

    /// Returns the first time from `from` on at which a packet may begin.
    #[inline]
    fn opens(&self, from: Time) -> Time {
        let from = from.max(self.busy_until);
        self.gate.as_ref().map_or(from, |gate| self.lets_pass(gate, from))
    }

    /// Returns when the transmitter may send, where the gate or the queue holds it back.
    fn lets_pass(&self, gate: &Gate, from: Time) -> Time {
        let mut opens = gate.opens(from);
        if !self.shapes || self.count.backlog == 0 {
            return opens;
        }
        loop {
            let later = gate.opens(self.queue.opens(opens));
            if later == opens {
                return opens;
            }
            opens = later;
        }
    }

    /// Returns the first time at which [`Link::advance_before`] has something to do; [`Time::MAX`] while the queue is empty.
    #[inline]
    pub fn departs(&self) -> Time {
        let refresh = self.watch.as_ref().map_or(Time::MAX, |watch| watch.refresh);
        self.next_departure().min(refresh).saturating_add(Duration::from_ps(u64::from(self.config.departs_last)))
    }

    /// Returns the first time at which [`Link::advance_before`] or [`Link::settle`] has something to do.
    #[inline]
    pub fn due(&self) -> Time {
        let departs = self.departs();
        match &self.travel {
            None => departs,
            Some(travel) => departs.min(self.is_certain_at(travel.first())),
        }
    }
}

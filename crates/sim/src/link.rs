//! A one-way link: a queue, a transmitter and a wire, with at most one pending event whatever it carries.
//!
//! Departures from the queue are *lazy* and exact. The transmitter is busy until a known time; whoever touches the link
//! later first does what has happened meanwhile: as long as the transmitter had fallen idle and packets waited, the next
//! one left the queue at just that time. A packet that starts at `s` goes straight onto the wire, stamped with its arrival
//! at `s + transmit time + delay`. A queue is only ever non-empty while a packet is in transmission, and so on the wire:
//! the arrival of the wire's head is the only event a link needs. (A switch takes a packet cell by cell, from the first one
//! on: on a link to a switch that is the arrival.)
//!
//! At equal times a departure from a queue comes before an arrival at it, unless the experiment says otherwise.
//!
//! A link to a host that only one other feeds needs no event of that other's: it is told of a packet when that leaves ([`tail`]).

mod tail;
mod wire;

use std::collections::VecDeque;

use longfat_core::atm::aal5;
use longfat_core::experiment;
use longfat_core::link::framing::wire_len;
use longfat_core::link::loss::{Fate, Loss};
use longfat_core::packet::{PacketId, Packets};
use longfat_core::queue::{DropReason, Queue, discard};
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

use crate::audit::Census;
use crate::ledger::{Count, Ledger, LinkLog};
use tail::{Feeder, Tail};
use wire::Wire;

/// One link of a running world.
pub struct Link {
    wire: Wire,
    busy_until: Time,
    /// What the last packet took on the line: nearly every packet has the length of the one before it.
    last: Framed,
    delay: Duration,
    rate: Rate,
    cell_time: Duration,
    overhead: u32,
    min_frame: u32,
    cells: bool,
    /// It leads to a switch, which takes the cells of a packet one by one.
    to_switch: bool,
    mtu: u32,
    number: u32,
    /// The port by which its packets enter the next router.
    port: u16,
    /// Whether the queue acts on a clock of its own.
    clocked: bool,
    /// A packet of up to so many bytes that finds the line idle goes out without a question to the queue.
    passes: u32,
    /// How long after its time a departure is seen by an arrival: not at all, or by the next instant.
    lag: Duration,
    queue: Box<dyn Queue + Send>,
    /// `None`: a perfect line.
    loss: Option<Box<dyn Loss + Send>>,
    /// So many of the next packets arrive whatever they are.
    spared: u32,
    /// Packets on the wire that will not arrive, in its order.
    doomed: VecDeque<PacketId>,
    pub count: Count,
    /// Who has its events.
    pub role: Role,
    pub feeder: Feeder,
    tail: Tail,
    /// The event it has in the event set.
    pub scheduled: Time,
}

/// Who has the events of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Itself.
    Alone,
    /// The trunk of this number, of which it is the source of this number.
    Source { trunk: u32, source: u32 },
    /// Itself, and those of its sources: it is the trunk of this number.
    Trunk(u32),
    /// The trunk of this number, to whose crowd it leads: it is the sink of this number.
    Sink { trunk: u32, sink: u32 },
}

/// A packet on the line.
#[derive(Debug, Default)]
struct Framed {
    ip_len: u32,
    bytes: u32,
    time: Duration,
    /// Until the far end has what it waits for: the whole of it, or its first cell.
    lead: Duration,
}

impl Link {
    /// The idle link number `number` of the network, made as `link` says, with `queue` in front of it and `loss` on it.
    pub fn new(
        number: u32,
        link: &experiment::Link,
        to_switch: bool,
        port: u16,
        queue: Box<dyn Queue + Send>,
        loss: Option<Box<dyn Loss + Send>>,
    ) -> Self {
        Link {
            wire: Wire::new(),
            busy_until: Time::ZERO,
            last: Framed::default(),
            delay: link.delay,
            rate: link.rate,
            cell_time: link.rate.transmit_time(aal5::CELL.into()),
            overhead: link.overhead,
            min_frame: link.min_frame,
            cells: link.cells,
            to_switch,
            mtu: link.mtu,
            number,
            port,
            clocked: queue.poll_timeout().is_some(),
            passes: if queue.poll_timeout().is_some() { 0 } else { queue.passes().min(link.mtu) },
            lag: Duration::ZERO,
            queue,
            loss,
            spared: 0,
            doomed: VecDeque::new(),
            count: Count::default(),
            role: Role::Alone,
            feeder: Feeder::default(),
            tail: Tail::default(),
            scheduled: Time::MAX,
        }
    }

    /// From here on departures come after the arrivals of the same instant.
    pub fn depart_last(&mut self) {
        self.lag = Duration::from_ps(1);
    }

    /// The packet `id` comes to the queue.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, id: PacketId, packets: &mut Packets, ledger: &mut Ledger) {
        let len = packets[id].ip_len();
        if self.tail.is_expecting() {
            self.meet(now, packets);
        }
        // One branch for all three: where flows are paced, whether the line is idle is anybody's guess.
        if (self.busy_until <= now) & (self.count.backlog == 0) & (len <= self.passes) {
            self.count.packets_in += 1;
            self.transmit(now, id, len, packets);
        } else {
            self.ask(now, id, len, packets, ledger);
        }
    }

    /// The same where the queue has a say.
    #[inline(never)]
    fn ask(&mut self, now: Time, id: PacketId, len: u32, packets: &mut Packets, ledger: &mut Ledger) {
        self.advance(Time::from_ps(now.as_ps().saturating_sub(self.lag.as_ps())), packets, ledger);
        self.count.packets_in += 1;
        let idle = self.busy_until <= now && self.count.backlog == 0;
        let mut log = LinkLog { link: self.number, count: &mut self.count, ledger };
        if len > self.mtu {
            log.count.enter(now, len);
            discard(now, id, DropReason::TooBig, packets, &mut log);
        } else if idle {
            if self.queue.pass(now, id, packets, &mut log) {
                self.transmit(now, id, len, packets);
            } else {
                self.count.enter(now, len);
                assert!(self.count.backlog == 0, "a queue held a packet back from an idle link");
            }
        } else {
            log.count.enter(now, len);
            self.queue.enqueue(now, id, packets, &mut log);
            self.count.note_backlog();
        }
    }

    /// Does what has happened at the queue before an arrival at `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, packets: &mut Packets, ledger: &mut Ledger) {
        if self.clocked || self.count.backlog > 0 {
            self.advance_before(now, packets, ledger);
        }
    }

    #[inline(never)]
    fn advance_before(&mut self, now: Time, packets: &mut Packets, ledger: &mut Ledger) {
        self.advance(Time::from_ps(now.as_ps().saturating_sub(self.lag.as_ps())), packets, ledger);
    }

    /// Does what has happened at the queue up to and including `now`.
    #[inline]
    pub fn advance(&mut self, now: Time, packets: &mut Packets, ledger: &mut Ledger) {
        if self.clocked {
            self.advance_clocked(now, packets, ledger);
        }
        while self.busy_until <= now && self.count.backlog > 0 {
            self.depart(packets, ledger);
        }
    }

    /// The same for a queue with a clock: departures and timeouts in order of time, departures first.
    #[cold]
    fn advance_clocked(&mut self, now: Time, packets: &mut Packets, ledger: &mut Ledger) {
        loop {
            let departure = if self.count.backlog > 0 { self.busy_until } else { Time::MAX };
            let timeout = self.queue.poll_timeout().unwrap_or(Time::MAX);
            if departure.min(timeout) > now {
                return;
            }
            if departure <= timeout {
                self.depart(packets, ledger);
            } else {
                self.queue.handle_timeout(timeout);
                assert!(self.queue.poll_timeout() > Some(timeout), "a queue's timeout did not move on");
            }
        }
    }

    /// The transmitter has fallen idle and takes the next packet.
    #[inline]
    fn depart(&mut self, packets: &mut Packets, ledger: &mut Ledger) {
        let start = self.busy_until;
        match self.queue.dequeue(start, packets, &mut LinkLog { link: self.number, count: &mut self.count, ledger }) {
            Some(id) => {
                let len = packets[id].ip_len();
                self.count.leave(start, len);
                self.transmit(start, id, len, packets);
            }
            None => assert!(self.count.backlog == 0, "a queue held packets back from an idle link"),
        }
    }

    /// The transmitter takes the packet `id`, of `len` bytes, at `start`.
    #[inline(always)]
    fn transmit(&mut self, start: Time, id: PacketId, len: u32, packets: &mut Packets) {
        self.begin(start, id, len, packets);
        self.book();
    }

    /// The same, not yet counted.
    #[inline(always)]
    fn begin(&mut self, start: Time, id: PacketId, len: u32, packets: &mut Packets) {
        self.frame(len);
        self.busy_until = start + self.last.time;
        self.launch(id, start + self.last.lead + self.delay, packets);
    }

    /// The packet `id` goes onto the wire, and is due at `arrival`.
    #[inline(always)]
    fn launch(&mut self, id: PacketId, arrival: Time, packets: &mut Packets) {
        packets[id].stamp = arrival;
        if self.loss.is_some() && !self.survives(arrival, id, packets) {
            self.doomed.push_back(id);
        }
        if self.feeder.feeds {
            self.feeder.leaving.push(id, packets);
        } else {
            self.put(id, packets);
        }
    }

    /// The packet `id`, stamped with its arrival, comes to it by an event.
    #[inline(always)]
    pub fn put(&mut self, id: PacketId, packets: &mut Packets) {
        self.wire.push(id, self.port, packets);
    }

    /// Makes a packet of `len` bytes the last one framed.
    #[inline(always)]
    fn frame(&mut self, len: u32) {
        if len != self.last.ip_len {
            self.last = self.framed(len);
        }
    }

    /// Counts a packet transmitted, the last one framed.
    #[inline(always)]
    fn book(&mut self) {
        self.count.transmitted += 1;
        self.count.ip_bytes += u64::from(self.last.ip_len);
        self.count.wire_bytes += u64::from(self.last.bytes);
        self.count.busy_ps += self.last.time.as_ps();
    }

    /// What a packet of `ip_len` bytes takes.
    #[cold]
    fn framed(&self, ip_len: u32) -> Framed {
        let bytes = wire_len(ip_len, self.overhead, self.min_frame, self.cells);
        let whole = self.rate.transmit_time(u64::from(bytes));
        let cell = self.cell_time;
        // So many times the time of a cell, to the picosecond, which that of all their bytes need not be.
        let time = if self.cells { cell * u64::from(bytes / aal5::CELL) } else { whole };
        Framed { ip_len, bytes, time, lead: if self.to_switch { cell } else { time } }
    }

    /// The cells of a packet of `ip_len` bytes.
    pub fn cells_of(&self, ip_len: u32) -> u32 {
        aal5::cells(ip_len + self.overhead)
    }

    /// Of the link behind an output port: the packet `id`, of `len` bytes in so many cells, has been sent whole by `end`.
    pub fn carry(&mut self, id: PacketId, len: u32, end: Time, packets: &mut Packets) {
        self.count.transmitted += 1;
        self.count.ip_bytes += u64::from(len);
        self.launch(id, end + self.delay, packets);
    }

    /// The same before another switch, to which its cells have gone by themselves.
    pub fn pass_on(&mut self, len: u32) {
        self.count.transmitted += 1;
        self.count.delivered += 1;
        self.count.ip_bytes += u64::from(len);
    }

    /// The port by which what it carries enters the next node.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether its queue acts on a clock of its own.
    pub fn is_clocked(&self) -> bool {
        self.clocked
    }

    /// The time a cell takes to the far end once it has left.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// When the first packet on the wire arrives.
    #[inline]
    pub fn head_arrives(&self) -> Time {
        self.wire.head_arrives()
    }

    /// What so many packets of the MTU take, one after the other, without what frames them.
    pub fn time_of(&self, packets: u64) -> Duration {
        self.rate.transmit_time(packets * u64::from(self.mtu))
    }

    /// Whether no packet comes to the far end at the same time as the one before it.
    pub fn takes_time(&self) -> bool {
        self.rate.transmit_time(1) > Duration::ZERO
    }

    /// When this link next has something to do.
    #[inline]
    pub fn next_event(&self) -> Time {
        let mut arrival = self.wire.head_arrives();
        // The far end has what is still in transmission, or knows of it: the first cell of the next one comes as soon as it can.
        if arrival == Time::MAX && self.count.backlog > 0 {
            arrival = self.busy_until + self.delay + if self.to_switch { self.cell_time } else { self.lag };
        }
        if self.clocked { arrival.min(self.queue.poll_timeout().unwrap_or(Time::MAX)) } else { arrival }
    }

    /// The event has come: the packet that arrives at the far end now, if one does.
    #[inline(always)]
    pub fn arrival(&mut self, now: Time, packets: &mut Packets, ledger: &mut Ledger) -> Option<PacketId> {
        self.catch_up(now, packets, ledger);
        self.take(now, packets, ledger)
    }

    /// The packet that arrives at the far end now, if it is on the wire already.
    #[inline(always)]
    pub fn take(&mut self, now: Time, packets: &mut Packets, ledger: &mut Ledger) -> Option<PacketId> {
        if self.wire.head_arrives() > now {
            return None;
        }
        let id = self.wire.pop(packets)?;
        if self.is_first_ahead(id) {
            self.count_first_ahead(id, packets);
        }
        if self.doomed.front() == Some(&id) {
            self.lose(now, id, packets, ledger);
            return None;
        }
        self.count.delivered += 1;
        Some(id)
    }

    /// Whether the packet `id`, which is on its way, will not arrive.
    #[inline]
    pub fn is_doomed(&self, id: PacketId) -> bool {
        !self.doomed.is_empty() && self.doomed.contains(&id)
    }

    /// Whether the packet `id` survives the way to the far end, where it is due at `arrival`.
    #[inline]
    fn survives(&mut self, arrival: Time, id: PacketId, packets: &mut Packets) -> bool {
        let Some(loss) = &mut self.loss else { return true };
        if self.spared > 0 {
            self.spared -= 1;
            return true;
        }
        let sent = Time::from_ps(arrival.as_ps() - self.delay.as_ps());
        let fate = loss.on_packet(sent, &packets[id]);
        self.spared = loss.spared();
        match fate {
            Fate::Deliver => true,
            Fate::Corrupt => {
                packets[id].corrupted = true;
                true
            }
            Fate::Lose => false,
        }
    }

    /// The first of the doomed would arrive now.
    #[cold]
    fn lose(&mut self, now: Time, id: PacketId, packets: &mut Packets, ledger: &mut Ledger) {
        self.doomed.pop_front();
        self.count.lost += 1;
        discard(now, id, DropReason::Loss, packets, &mut LinkLog { link: self.number, count: &mut self.count, ledger });
    }

    /// When the transmitter falls idle, or fell.
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Time spent transmitting up to `now`.
    pub fn busy(&self, now: Time) -> Duration {
        Duration::from_ps(self.count.busy_ps).saturating_sub(self.counted_until().since(now))
    }

    /// The packets on the wire, first to arrive first.
    #[cfg(test)]
    pub fn on_wire<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = PacketId> + 'a {
        self.wire.line().iter(packets)
    }

    /// Empties the link at the end of a run: every packet still on it goes to `census`.
    pub fn empty(&mut self, now: Time, packets: &mut Packets, census: &mut Census) {
        while let Some(id) = self.wire.pop(packets).or_else(|| self.queue.dequeue(now, packets, census)) {
            census.add(&packets[id]);
            packets.remove(id);
        }
    }

    /// Packets and bytes held, as the queue itself says.
    pub fn queue_holds(&self) -> (u64, u64) {
        (self.queue.backlog_packets(), self.queue.backlog_bytes())
    }
}

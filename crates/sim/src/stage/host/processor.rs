//! A host's processor: it serves the packets of all its flows one after the other, each for its cycles.
//!
//! The processor completes the effects of a packet before it looks at the next packet, as in a soft interrupt. First endpoints send, in
//! turn, one packet each; then the next arrived packet is received.
//!
//! A packet that arrives waits in the ring of the interface, which interrupts the processor at once or after a while. Then the processor
//! takes packets from the ring until it is empty (NAPI: Salim, Olsson and Kuznetsov, *Beyond Softnet*, 2001); or, as kernels did before, the interrupt
//! moves all of them to a queue, the backlog.

use std::collections::VecDeque;

use longfat_core::packet::PacketId;
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};
use longfat_model::{Cycles, Intake};

use crate::context::Context;

/// Cost of a packet.
#[derive(Clone, Copy, Debug)]
struct Cost {
    packet: Duration,
    byte_ps: f64,
}

impl Cost {
    fn new(cycles: Cycles, mhz: u64) -> Self {
        // A cycle at 1 MHz is 10^6 ps.
        let packet = Duration::from_ps((u128::from(cycles.packet) * 1_000_000 / u128::from(mhz)) as u64);
        Cost { packet, byte_ps: cycles.byte * 1e6 / mhz as f64 }
    }

    fn of(self, bytes: u32) -> Duration {
        self.packet + Duration::from_ps((self.byte_ps * f64::from(bytes)) as u64)
    }
}

/// Job that the processor works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Sends this packet to the interface of this link when done.
    Send(PacketId, usize),
    /// Delivers this packet to its endpoint when done.
    Receive(PacketId),
}

/// Next step of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask this endpoint for a packet to send.
    Ask(usize),
    /// Receive this packet.
    Receive(PacketId),
}

/// One processor.
#[derive(Debug)]
pub(crate) struct Processor {
    send: Cost,
    receive: Cost,
    job: Option<Job>,
    done: Time,
    /// Endpoints that may have something to send.
    asking: VecDeque<usize>,
    intake: Intake,
    /// Packets that have arrived, and wait at the interface.
    ring: VecDeque<PacketId>,
    /// Time of the interface's interrupt; [`Time::MAX`]: not for the packets that have arrived so far.
    interrupt: Time,
    /// True between an interrupt and an empty ring, if there is no backlog.
    polls: bool,
    /// Packets that interrupts have moved from the ring.
    backlog: VecDeque<PacketId>,
    /// True after the backlog was full: it takes no packets until it is empty.
    is_throttled: bool,
    busy: Duration,
}

impl Processor {
    /// Returns an idle processor.
    pub(crate) fn new(cpu: &longfat_model::Cpu) -> Self {
        Processor {
            send: Cost::new(cpu.send, cpu.mhz),
            receive: Cost::new(cpu.receive, cpu.mhz),
            job: None,
            done: Time::MAX,
            asking: VecDeque::new(),
            intake: cpu.intake,
            ring: VecDeque::new(),
            interrupt: Time::MAX,
            polls: false,
            backlog: VecDeque::new(),
            is_throttled: false,
            busy: Duration::ZERO,
        }
    }

    /// Queues `endpoint`, which does not ask yet and may have something to send.
    pub(crate) fn ask(&mut self, endpoint: usize) {
        self.asking.push_back(endpoint);
    }

    /// Puts the packet `id` into the interface's ring. Without room it is lost.
    pub(crate) fn arrived(&mut self, id: PacketId, context: &mut Context) {
        if self.intake.rx_ring.is_some_and(|most| self.ring.len() as u64 >= most) {
            return context.lose(id, DropReason::Overrun);
        }
        let now = context.now;
        self.ring.push_back(id);
        if self.polls {
            return;
        }
        let is_enough = self.intake.rx_frames.is_some_and(|frames| self.ring.len() as u64 >= frames);
        self.interrupt = self.interrupt.min(if is_enough { now } else { now + self.intake.rx_usecs });
        self.heed_interrupt(context);
    }

    /// Handles the interface's interrupt, if it is due.
    fn heed_interrupt(&mut self, context: &mut Context) {
        if self.interrupt > context.now {
            return;
        }
        self.interrupt = Time::MAX;
        let Some(backlog) = self.intake.backlog else {
            self.polls = true;
            return;
        };
        for id in self.ring.drain(..) {
            if self.is_throttled || self.backlog.len() as u64 >= backlog.max {
                self.is_throttled = backlog.throttles;
                context.lose(id, DropReason::Overrun);
            } else {
                self.backlog.push_back(id);
            }
        }
    }

    /// Takes the packet that has waited longest.
    fn take(&mut self) -> Option<PacketId> {
        if self.intake.backlog.is_none() {
            let id = if self.polls { self.ring.pop_front() } else { None };
            self.polls = id.is_some();
            return id;
        }
        let id = self.backlog.pop_front();
        self.is_throttled &= !self.backlog.is_empty();
        id
    }

    /// Returns the next step, if the processor is idle and there is something to do.
    pub(crate) fn next(&mut self) -> Option<Next> {
        if self.job.is_some() {
            return None;
        }
        self.asking.pop_front().map(Next::Ask).or_else(|| self.take().map(Next::Receive))
    }

    /// Begins `job`, with a packet of `bytes`.
    pub(crate) fn begin(&mut self, now: Time, job: Job, bytes: u32) {
        let cost = if matches!(job, Job::Send(..)) { self.send } else { self.receive }.of(bytes);
        self.job = Some(job);
        self.done = now + cost;
        self.busy += cost;
    }

    /// Returns the time at which it completes its job, or is interrupted; [`Time::MAX`]: never.
    pub(crate) fn wakes(&self) -> Time {
        self.done.min(self.interrupt)
    }

    /// Handles an interrupt, or the end of its job, which is then returned.
    pub(crate) fn wake(&mut self, context: &mut Context) -> Option<Job> {
        self.heed_interrupt(context);
        if self.done > context.now {
            return None;
        }
        self.done = Time::MAX;
        self.job.take()
    }

    /// Time spent working up to `now`.
    pub(crate) fn busy(&self, now: Time) -> Duration {
        let ahead = if self.job.is_some() { self.done.since(now) } else { Duration::ZERO };
        self.busy.saturating_sub(ahead)
    }

    /// Returns every packet it holds.
    pub(crate) fn holds(&self) -> impl Iterator<Item = PacketId> {
        let at_work = self.job.map(|job| match job {
            Job::Send(id, _) | Job::Receive(id) => id,
        });
        self.ring.iter().chain(&self.backlog).copied().chain(at_work)
    }
}

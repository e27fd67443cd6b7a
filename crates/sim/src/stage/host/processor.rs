//! A host's processor: it serves the packets of all its flows one after the other, each for its cycles.
//!
//! What a packet causes is done before the next packet is looked at, as in a soft interrupt: first whatever endpoints have to
//! send, in turn, one packet each; then the next of the packets that have arrived.
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

/// What a packet costs.
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

/// What it works on, until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// This packet goes to the interface of this link when it is done.
    Send(PacketId, usize),
    /// This packet comes to its endpoint then.
    Receive(PacketId),
}

/// What it could do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask this endpoint for a packet to send.
    Ask(usize),
    /// Receive this packet.
    Receive(PacketId),
}

/// One processor.
#[derive(Debug)]
pub struct Processor {
    send: Cost,
    receive: Cost,
    job: Option<Job>,
    done: Time,
    /// Endpoints that may have something to send.
    asking: VecDeque<usize>,
    intake: Intake,
    /// What has come, and waits at the interface.
    ring: VecDeque<PacketId>,
    /// When the interface interrupts; [`Time::MAX`]: not for what has come so far.
    interrupt: Time,
    /// Without a backlog: there was an interrupt, and the ring has not been empty since.
    polls: bool,
    /// What interrupts have moved here.
    backlog: VecDeque<PacketId>,
    /// It was full, and takes nothing until it is empty.
    is_throttled: bool,
    busy: Duration,
}

impl Processor {
    /// An idle one.
    pub fn new(cpu: &longfat_model::Cpu) -> Self {
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

    /// `endpoint`, which does not ask yet, may have something to send.
    pub fn ask(&mut self, endpoint: usize) {
        self.asking.push_back(endpoint);
    }

    /// The packet `id` has come to the interface. What finds no room is lost.
    pub fn arrived(&mut self, id: PacketId, context: &mut Context) {
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

    /// The interface interrupts, if it is time.
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

    /// The packet that has waited longest.
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

    /// What to do next, if it is idle and there is something to do.
    pub fn next(&mut self) -> Option<Next> {
        if self.job.is_some() {
            return None;
        }
        self.asking.pop_front().map(Next::Ask).or_else(|| self.take().map(Next::Receive))
    }

    /// It works on `job`, a packet of `bytes`, from now on.
    pub fn begin(&mut self, now: Time, job: Job, bytes: u32) {
        let cost = if matches!(job, Job::Send(..)) { self.send } else { self.receive }.of(bytes);
        self.job = Some(job);
        self.done = now + cost;
        self.busy += cost;
    }

    /// When it will be done with its job, or is interrupted; [`Time::MAX`]: never.
    pub fn wakes(&self) -> Time {
        self.done.min(self.interrupt)
    }

    /// It is interrupted, or done with its job, which is then what comes back.
    pub fn wake(&mut self, context: &mut Context) -> Option<Job> {
        self.heed_interrupt(context);
        if self.done > context.now {
            return None;
        }
        self.done = Time::MAX;
        self.job.take()
    }

    /// Time spent working up to `now`.
    pub fn busy(&self, now: Time) -> Duration {
        let ahead = if self.job.is_some() { self.done.since(now) } else { Duration::ZERO };
        self.busy.saturating_sub(ahead)
    }

    /// Every packet it holds.
    pub fn holds(&self) -> impl Iterator<Item = PacketId> {
        let at_work = self.job.map(|job| match job {
            Job::Send(id, _) | Job::Receive(id) => id,
        });
        self.ring.iter().chain(&self.backlog).copied().chain(at_work)
    }
}

//! A host's processor: it serves the packets of all its flows one after the other, each for its cycles.
//!
//! What a packet causes is done before the next packet is looked at, as in a soft interrupt: first whatever endpoints have to
//! send, in turn, one packet each; then the next of the packets that have arrived.

use std::collections::VecDeque;

use longfat_core::packet::PacketId;
use longfat_core::time::{Duration, Time};
use longfat_experiment::Cycles;

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
    Send(PacketId, u32),
    /// This packet comes to its endpoint then.
    Receive(PacketId),
}

/// What it could do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask this endpoint for a packet to send.
    Ask(u32),
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
    /// Endpoints that may have something to send, and arrivals that wait.
    asking: VecDeque<u32>,
    arrivals: VecDeque<PacketId>,
    busy: Duration,
}

impl Processor {
    /// An idle one.
    pub fn new(cpu: &longfat_experiment::Cpu) -> Self {
        Processor {
            send: Cost::new(cpu.send, cpu.mhz),
            receive: Cost::new(cpu.receive, cpu.mhz),
            job: None,
            done: Time::MAX,
            asking: VecDeque::new(),
            arrivals: VecDeque::new(),
            busy: Duration::ZERO,
        }
    }

    /// `endpoint`, which does not ask yet, may have something to send.
    pub fn ask(&mut self, endpoint: u32) {
        self.asking.push_back(endpoint);
    }

    /// A packet has arrived.
    pub fn arrived(&mut self, id: PacketId) {
        self.arrivals.push_back(id);
    }

    /// What to do next, if it is idle and there is something to do.
    pub fn next(&mut self) -> Option<Next> {
        if self.job.is_some() {
            return None;
        }
        self.asking.pop_front().map(Next::Ask).or_else(|| self.arrivals.pop_front().map(Next::Receive))
    }

    /// It works on `job`, a packet of `bytes`, from now on.
    pub fn begin(&mut self, now: Time, job: Job, bytes: u32) {
        let cost = if matches!(job, Job::Send(..)) { self.send } else { self.receive }.of(bytes);
        self.job = Some(job);
        self.done = now + cost;
        self.busy += cost;
    }

    /// When it will be done with its job; [`Time::MAX`] when it has none.
    pub fn done(&self) -> Time {
        self.done
    }

    /// It is done with its job.
    pub fn finish(&mut self) -> Job {
        self.done = Time::MAX;
        self.job.take().expect("a processor that is done had a job")
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
        self.arrivals.iter().copied().chain(at_work)
    }
}

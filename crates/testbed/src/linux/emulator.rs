//! Emulator: the thread between the hosts. It reads the packets that they send, and hands over packets that are due.
//!
//! It has a core and a real-time priority of its own, and sleeps between looks: a thread that spins is stopped by the kernel for 50 ms of
//! each second (`sched_rt_runtime_us`).

use std::fs::File;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use longfat_core::quantiles::Quantiles;
use longfat_core::time::{Duration, Time};
use longfat_host::clock::Clock;
use longfat_model::Experiment;
use longfat_record::recorder::Recorder;
use longfat_record::trace::Trace;

use crate::linux::frame::set_tos;
use crate::linux::network::Network;

/// The longest time between two looks at what hosts send.
const TICK: Duration = Duration::from_micros(50);
/// The shortest sleep: less would be a spin.
const LEAST_SLEEP: Duration = Duration::from_micros(10);
/// Series of a run in real time stay in memory: to put them away takes longer than a packet may wait.
pub const IN_MEMORY: &str = "memory has room for the series";
/// Packets taken from one host before the others have their turn.
const BATCH: usize = 64;

/// State that the threads of a run share.
#[derive(Debug)]
pub struct Shared {
    /// End of the run, in picoseconds; moved forward when its volumes are done.
    end: AtomicU64,
    crossings: AtomicU64,
}

impl Shared {
    /// Returns the state of a run that ends at `end` at the latest.
    pub fn new(end: Time) -> Self {
        Shared { end: AtomicU64::new(end.as_ps()), crossings: AtomicU64::new(0) }
    }
    /// Returns the end of the run.
    pub fn end(&self) -> Time {
        Time::from_ps(self.end.load(Ordering::Relaxed))
    }
    /// Ends the run at `time`, unless it ends before.
    pub fn end_by(&self, time: Time) {
        self.end.fetch_min(time.as_ps(), Ordering::Relaxed);
    }
    /// Returns the link crossings so far, by all packets.
    pub fn crossings(&self) -> u64 {
        self.crossings.load(Ordering::Relaxed)
    }
}

/// Exactness of the emulator.
#[derive(Debug, Default)]
pub struct Exactness {
    /// Lateness of each packet when handed over.
    pub late: Quantiles,
    /// Greatest lateness.
    pub late_max: Duration,
    /// Time since the emulator's last look at which each packet was read: it came to its first link at most this much late.
    pub unseen: Quantiles,
    /// Packets handed over.
    pub handed_over: u64,
    /// Packets that the device did not take.
    pub refused: u64,
}

/// Emulator thread: everything that it has.
pub struct Emulator {
    /// Links and queues.
    pub network: Network,
    /// A device for each host.
    pub devices: Vec<File>,
    /// Clock of the run.
    pub clock: Clock,
    /// Recorder of links.
    pub recorder: Recorder,
    /// Experiment that is run.
    pub experiment: Experiment,
    /// Exactness so far.
    pub exactness: Exactness,
}

/// Results of the emulator's thread.
pub struct Emulated {
    /// Links and queues.
    pub network: Network,
    /// Records and samples of links, and the losses of each flow on them.
    pub trace: Trace,
    /// Exactness of the emulator.
    pub exactness: Exactness,
}

impl Emulator {
    /// Runs until the end that `shared` says.
    pub fn run(mut self, shared: &Shared) -> Emulated {
        let mut looked = self.clock.now();
        loop {
            let now = self.clock.now();
            let end = shared.end();
            while self.recorder.next_stop() <= now.min(end) {
                let due = self.recorder.next_stop();
                self.recorder.record(due, &mut self.network).expect(IN_MEMORY);
            }
            self.network.advance(now.min(end));
            self.hand_over();
            if now >= end {
                let Emulator { mut network, recorder, experiment, exactness, .. } = self;
                let trace = recorder.finish(end, None, &experiment, &mut network).expect(IN_MEMORY);
                return Emulated { network, trace, exactness };
            }
            let more = self.take_in(looked);
            looked = now;
            shared.crossings.store(self.network.crossings, Ordering::Relaxed);
            if !more {
                let now = self.clock.now();
                let due = self.network.next().min(self.recorder.next_stop()).min(end);
                self.clock.sleep_until(due.min(now + TICK).max(now + LEAST_SLEEP));
            }
        }
    }

    /// Reads what the hosts have sent; whether there may be more. The last look was at `looked`.
    fn take_in(&mut self, looked: Time) -> bool {
        let mut more = false;
        for number in 0..self.devices.len() {
            for taken in 0..BATCH {
                let frames = &mut self.network.log.frames;
                let (place, bytes) = frames.vacant();
                match self.devices[number].read(bytes) {
                    Ok(len) => {
                        frames.filled(place, len);
                        let now = self.clock.now();
                        self.exactness.unseen.record(now.since(looked));
                        self.network.advance(now);
                        self.network.enter(now, place);
                        more |= taken + 1 == BATCH;
                    }
                    Err(_) => {
                        frames.free(place);
                        break;
                    }
                }
            }
            self.hand_over();
        }
        more
    }

    /// Hands over packets that have arrived to their hosts.
    fn hand_over(&mut self) {
        for at in 0..self.network.ready.len() {
            let delivery = self.network.ready[at];
            let frames = &mut self.network.log.frames;
            if let Some(tos) = delivery.tos {
                set_tos(frames.get_mut(delivery.frame), tos);
            }
            let result = self.devices[delivery.host as usize].write(frames.get(delivery.frame));
            self.exactness.refused += u64::from(result.is_err());
            self.exactness.handed_over += 1;
            let late = self.clock.now().since(delivery.at);
            self.exactness.late.record(late);
            self.exactness.late_max = self.exactness.late_max.max(late);
            frames.free(delivery.frame);
        }
        self.network.ready.clear();
    }
}

//! Times at which a transmitter may begin a frame: the other end of its line may stop it (PAUSE), and its own packets may have to keep
//! apart (shaping).

use std::collections::VecDeque;

use crate::time::{Duration, Time};
use crate::units::Rate;

/// A leaky bucket in front of a transmitter. After each packet the line rests until the packet would have ended at `rate`; but up to
/// `burst` unused bytes of earlier time may go at once.
///
/// The virtual scheduling of ITU-T I.371's generic cell rate algorithm, with packets of any length, is equivalent: a packet of L bytes may
/// begin at t if TAT - burst / rate <= t; then TAT = max(TAT, t) + L / rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Rate of IP packets.
    pub rate: Rate,
    /// Burst in IP bytes.
    pub burst: u64,
}

/// Gate of a transmitter: PAUSE frames and a shaper hold it back.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// PAUSE frames of each sender that may stop the transmitter.
    pauses: Vec<Pauses>,
    shaper: Option<Shaper>,
    /// Theoretical arrival time of the next packet, and the time by which it may begin earlier.
    due: Time,
    tolerance: Duration,
}

/// PAUSE frames of one sender.
#[derive(Debug, Default)]
struct Pauses {
    until: Time,
    /// PAUSE frames still to arrive, in order of time: when each does, and for how long it stops the transmitter.
    coming: VecDeque<(Time, Duration)>,
}

impl Gate {
    pub(super) fn shaped(shaper: Shaper) -> Self {
        let tolerance = shaper.rate.transmit_time(shaper.burst);
        Gate { shaper: Some(shaper), tolerance, ..Gate::default() }
    }

    /// Adds a sender that may stop the transmitter, and returns its number.
    pub(super) fn heed(&mut self) -> usize {
        self.pauses.push(Pauses::default());
        self.pauses.len() - 1
    }

    /// Records a PAUSE frame of `sender` that comes at `at`. It stops the transmitter until `time` later, whatever its last one said; zero
    /// lets it go on at once (IEEE 802.3 annex 31B). A frame in transmission is sent to its end.
    pub(super) fn pause(&mut self, sender: usize, at: Time, time: Duration) {
        let coming = &mut self.pauses[sender].coming;
        assert!(coming.back().is_none_or(|last| last.0 <= at), "PAUSE frames come in order");
        coming.push_back((at, time));
    }

    /// Returns the first time from `from` on at which a packet may begin.
    pub(super) fn opens(&self, from: Time) -> Time {
        let bucket = Time::from_ps(self.due.as_ps().saturating_sub(self.tolerance.as_ps()));
        let mut opens = from.max(bucket);
        loop {
            let later = self.pauses.iter().fold(opens, |time, pauses| pauses.over(time));
            if later == opens {
                return opens;
            }
            opens = later;
        }
    }

    /// Records that a packet of `len` bytes begins at `start`.
    pub(super) fn begins(&mut self, start: Time, len: u32) {
        if let Some(shaper) = self.shaper {
            self.due = self.due.max(start) + shaper.rate.transmit_time(len.into());
        }
    }

    /// Applies the PAUSE frames that have come up to and including `now`; everything before has been done.
    pub(super) fn take_in(&mut self, now: Time) {
        self.pauses.iter_mut().for_each(|pauses| pauses.take_in(now));
    }
}

impl Pauses {
    /// Returns the first time from `from` on at which they let a packet begin.
    fn over(&self, from: Time) -> Time {
        let mut over = from.max(self.until);
        for &(at, time) in &self.coming {
            // A PAUSE frame that arrives at the instant at which the packet begins stops that packet.
            if at > over {
                break;
            }
            over = from.max(at + time);
        }
        over
    }

    fn take_in(&mut self, now: Time) {
        while let Some(&(at, time)) = self.coming.front()
            && at <= now
        {
            self.until = at + time;
            self.coming.pop_front();
        }
    }
}

/// Queue lengths at which a switch stops and restarts the links that feed the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseAt {
    /// Length in IP bytes from which on the links are stopped.
    pub on: u64,
    /// Length in IP bytes down from which they go on.
    pub off: u64,
    /// Time after which the links are stopped anew while the queue holds more than `off`: before their last PAUSE has run out.
    pub refresh: Duration,
}

/// PAUSE frame that the switch sends to the links that feed a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseChange {
    /// Time of the frame.
    pub at: Time,
    /// True to stop, false to go on.
    pub stop: bool,
}

/// Watches a queue, and decides when to stop and when to go on.
#[derive(Debug)]
pub(super) struct Watch {
    config: PauseAt,
    /// Time at which to stop the links anew; [`Time::MAX`] while they may send.
    pub refresh: Time,
    changes: VecDeque<PauseChange>,
}

impl Watch {
    pub(super) fn new(config: PauseAt) -> Self {
        Watch { config, refresh: Time::MAX, changes: VecDeque::new() }
    }

    /// Takes note that the queue holds `backlog` bytes since `now`.
    pub(super) fn note(&mut self, now: Time, backlog: u64) {
        let is_stopped = self.refresh != Time::MAX;
        if !is_stopped && backlog >= self.config.on {
            self.stop(now);
        } else if is_stopped && backlog <= self.config.off {
            self.refresh = Time::MAX;
            self.changes.push_back(PauseChange { at: now, stop: false });
        }
    }

    /// Stops the links at `now`, for the first time or anew.
    pub(super) fn stop(&mut self, now: Time) {
        self.refresh = now + self.config.refresh;
        self.changes.push_back(PauseChange { at: now, stop: true });
    }

    pub(super) fn take_change(&mut self) -> Option<PauseChange> {
        self.changes.pop_front()
    }
}

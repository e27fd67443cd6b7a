//! Random early detection: the average queue, and the arrivals that signal congestion.
//!
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993,
//! called FJ93 below; `gentle` is S. Floyd, "Recommendation on using the gentle_ variant of RED", 2000; the adaptation
//! of max_p is S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED", 2001, called FGS01.
//!
//! It holds no packets: the queue that uses it reports its length, in the unit of the thresholds.

use super::{DropReason, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Decision on an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it in.
    Accept,
    /// Signal congestion: mark the packet if it can be marked, else drop it.
    Signal,
    /// Signal congestion while the average is over the upper threshold: RFC 3168 §7 would drop the packet whether or not it could be
    /// marked.
    Severe,
}

/// Reaction to a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// ECN-capable packets are marked, not dropped.
    pub ecn: bool,
    /// ECN-capable packets are dropped over the upper threshold.
    pub harddrop: bool,
    /// Packets that would be marked but cannot be are let in.
    pub nodrop: bool,
}

impl Verdict {
    /// Carries the verdict out as `marking` says. Returns true if the packet `id` may be held.
    pub fn apply(self, now: Time, id: PacketId, marking: Marking, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        let marks = match self {
            Verdict::Accept => return true,
            Verdict::Signal => marking.ecn,
            Verdict::Severe => marking.ecn && !marking.harddrop,
        };
        // RFC 3168 §5: a router that would drop an ECT packet as a signal marks it instead.
        if marks && (mark(now, id, packets, log) || marking.nodrop) {
            return true;
        }
        discard(now, id, DropReason::Early, packets, log);
        false
    }
}

/// Constants of one instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Lower threshold on the average, in the unit in which the queue is measured.
    pub min_threshold: f64,
    /// The upper threshold on the average, in the unit in which the queue is measured.
    pub max_threshold: f64,
    /// Probability of a signal as the average reaches `max_threshold` (before the spacing by `count`).
    pub max_p: f64,
    /// Weight of a new sample in the average.
    pub wq: f64,
    /// Between `max_threshold` and its double the probability rises from `max_p` to 1, instead of jumping there.
    pub gentle: bool,
    /// Adapt `max_p` (FGS01).
    pub adaptive: bool,
    /// Scale the probability with the packet's size, relative to this many bytes (FJ93 §4, byte mode).
    pub scale_by_size: Option<u32>,
    /// Signals keep at least 1 / pb arrivals apart.
    pub wait: bool,
    /// Size of the small packet by which idle time is counted, in bytes (FJ93 §11).
    pub small_packet: u32,
    /// Rate of the link.
    pub rate: Rate,
}

/// Interval, steps and bounds of the adaptation of max_p, additively up and multiplicatively down (FGS01, the algorithm's figure).
const INTERVAL: Duration = Duration::from_millis(500);
const MAX_P_LOW: f64 = 0.01;
const MAX_P_HIGH: f64 = 0.5;
const DECREASE: f64 = 0.9;

/// State of the algorithm.
#[derive(Debug)]
pub struct Red {
    config: RedConfig,
    max_p: f64,
    average: f64,
    /// Arrivals since the last signal while the average was between the thresholds; -1 if the average was last below them.
    count: i64,
    /// Time from which on the line has nothing to send while the queue is empty, or up to which that is accounted for.
    silent_from: Time,
    small_time_ps: f64,
    adapt_at: Time,
    rng: Rng,
}

impl Red {
    /// Returns the state of an empty queue.
    pub fn new(config: RedConfig, rng: Rng) -> Self {
        Red {
            max_p: config.max_p,
            average: 0.0,
            // FJ93 Fig. 2.
            count: -1,
            silent_from: Time::ZERO,
            small_time_ps: config.rate.transmit_time(u64::from(config.small_packet)).as_ps() as f64,
            adapt_at: Time::ZERO + INTERVAL,
            config,
            rng,
        }
    }

    /// Returns the average queue, in the unit of the thresholds.
    pub fn average(&self) -> f64 {
        self.average
    }
    /// Returns `max_p` as adapted.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Judges the arrival of a packet of `ip_len` bytes while `held` is queued.
    pub fn arrival(&mut self, now: Time, held: u64, ip_len: u32) -> Verdict {
        if self.config.adaptive {
            self.adapt(now);
        }
        self.sample(now, held as f64);
        self.decide(ip_len)
    }

    /// Judges an arrival where another keeps the average of the queue.
    pub(super) fn judge(&mut self, average: f64, ip_len: u32) -> Verdict {
        self.average = average;
        self.decide(ip_len)
    }

    /// Records that a packet of `ip_len` bytes starts its transmission and leaves the queue empty.
    ///
    /// FJ93 Fig. 2 notes the time when the queue becomes empty; the line is not idle before that packet is out.
    pub fn emptied(&mut self, now: Time, ip_len: u32) {
        self.silent_from = now + self.config.rate.transmit_time(u64::from(ip_len));
    }

    /// Records that the line falls silent at `at`, or did, for a queue that knows so beforehand.
    pub fn silent_from(&mut self, at: Time) {
        // The time does not go back to a silence of which a part is accounted for.
        self.silent_from = self.silent_from.max(at);
    }

    /// Updates the average (FJ93 §4 and Fig. 2): an exponentially weighted one. During silence it falls as if `m` small packets had met an
    /// empty queue.
    pub(super) fn sample(&mut self, now: Time, held: f64) {
        let wq = self.config.wq;
        if held > 0.0 || now <= self.silent_from {
            // The queue may be empty while the line still sends: then this is an ordinary sample, of zero.
            self.average += wq * (held - self.average);
        } else {
            let m = now.since(self.silent_from).as_ps() as f64 / self.small_time_ps;
            self.average *= libm::pow(1.0 - wq, m);
            // The silence goes on if this arrival is dropped, and this part of it must not count twice.
            self.silent_from = now;
        }
    }

    /// Decides by FJ93 Fig. 2, with the spacing of §7: `count` makes the distance between signals uniform instead of geometric.
    fn decide(&mut self, ip_len: u32) -> Verdict {
        let RedConfig { min_threshold, max_threshold, gentle, scale_by_size, wait, .. } = self.config;
        let average = self.average;
        if average < min_threshold {
            self.count = -1;
            return Verdict::Accept;
        }
        let below_max = average < max_threshold;
        let mut pb = if below_max {
            self.max_p * (average - min_threshold) / (max_threshold - min_threshold)
        } else if gentle && average < 2.0 * max_threshold {
            // Floyd 2000: from max_p at the threshold to 1 at its double.
            self.max_p + (1.0 - self.max_p) * (average - max_threshold) / max_threshold
        } else {
            self.count = 0;
            return Verdict::Severe;
        };
        self.count += 1;
        if let Some(full_size) = scale_by_size {
            pb = pb * f64::from(ip_len) / f64::from(full_size);
        }
        // pa = pb / (1 - count pb), and certain once count pb reaches 1. Waiting, the same after the first 1 / pb arrivals, in which
        // nothing is signalled: pb / (2 - count pb).
        let passed = self.count as f64 * pb;
        if wait && passed < 1.0 {
            return Verdict::Accept;
        }
        let rest = if wait { 2.0 } else { 1.0 } - passed;
        if pb <= 0.0 || (rest > 0.0 && self.rng.uniform() * rest >= pb) {
            return Verdict::Accept;
        }
        self.count = 0;
        if below_max { Verdict::Signal } else { Verdict::Severe }
    }

    /// Adapts `max_p` to keep the average in the middle fifth between the thresholds (FGS01). It is done at the first arrival after each
    /// interval: the average changes at arrivals only, so the result is the same as on time.
    fn adapt(&mut self, now: Time) {
        let RedConfig { min_threshold, max_threshold, .. } = self.config;
        let span = max_threshold - min_threshold;
        let (low, high) = (min_threshold + 0.4 * span, min_threshold + 0.6 * span);
        while self.adapt_at <= now {
            if self.average > high && self.max_p <= MAX_P_HIGH {
                self.max_p += (self.max_p / 4.0).min(0.01);
            } else if self.average < low && self.max_p >= MAX_P_LOW {
                self.max_p *= DECREASE;
            }
            self.adapt_at += INTERVAL;
        }
    }
}

#[cfg(test)]
mod tests;

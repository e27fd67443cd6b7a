//! PIE's control (RFC 8033): the probability with which arrivals signal that packets wait too long. It holds no packets: any queue can have
//! one.
//!
//! The probability changes at even times. Its inputs change between two of them only when a packet comes or goes, so updates that are due
//! are done then: the result is the same as on time, without a timer.

use super::super::fifo::Backlog;
use super::super::{DropReason, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// Configuration that all flow queues of a queue share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieConfig {
    /// Target delay.
    pub target: Duration,
    /// Time from one change of the probability to the next.
    pub tupdate: Duration,
    /// Increase of the probability per second over the target (`alpha`) and per second more than last time (`beta`), in Hz.
    pub alpha: f64,
    /// See `alpha`.
    pub beta: f64,
    /// Burst allowance: after a quiet spell no packet is dropped for this long.
    pub max_burst: Duration,
    /// Probability under which ECN-capable packets are marked instead of dropped; `None`: never.
    pub mark_under: Option<f64>,
    /// True if drops keep apart.
    pub derandomize: bool,
    /// True if a high probability grows in small steps only.
    pub cap_drop: bool,
    /// True if the delay is computed from the departure rate; false if departing packets tell it.
    pub dq_rate_estimator: bool,
    /// The largest IP packet, in bytes.
    pub mtu: u32,
}

/// State of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Pie {
    drop_prob: f64,
    /// Sum of the probabilities since the last drop.
    accu_prob: f64,
    qdelay_old: Duration,
    burst_allowance: Duration,
    next_update: Time,
    /// Wait of the last packet that left.
    waited: Duration,
    departures: Departures,
}

/// Measurement of the departure rate (RFC 8033 §5.2): the time that [`DQ_THRESHOLD`] bytes take to leave.
#[derive(Clone, Debug, Default)]
struct Departures {
    since: Option<Time>,
    bytes: u64,
    /// Average, in seconds; 0 before the first measurement.
    average: f64,
}

/// RFC 8033 §5.2, in bytes; and the weight of a new sample, DQ_THRESHOLD / 2^16.
const DQ_THRESHOLD: u64 = 1 << 14;
const DQ_WEIGHT: f64 = 0.25;

/// Divisors of the step, each for probabilities under a bound (RFC 8033 §4.2): the probability moves by a like share wherever it is.
const STEPS: [(f64, f64); 6] = [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];

impl Pie {
    /// Returns the state of a queue that is empty from `now` on.
    pub(crate) fn new(config: &PieConfig, now: Time) -> Self {
        Pie {
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: Duration::ZERO,
            burst_allowance: config.max_burst,
            next_update: now.saturating_add(config.tupdate),
            waited: Duration::ZERO,
            departures: Departures::default(),
        }
    }

    /// Returns true if a packet that comes to `line`, where there is room for it, is to be dropped or marked.
    pub(crate) fn hits(&mut self, config: &PieConfig, now: Time, line: &Backlog, rng: &mut Rng) -> bool {
        self.catch_up(config, now, line);
        // RFC 8033 §4.4 and appendix A: an arrival at a quiet queue renews the allowance.
        let half = config.target / 2;
        if self.drop_prob == 0.0 && self.qdelay_old < half && self.qdelay(config, line) < half {
            self.burst_allowance = config.max_burst;
        }
        let hits = self.burst_allowance.is_zero() && self.signals(config, line, rng);
        if hits {
            self.accu_prob = 0.0;
        }
        hits
    }

    /// Marks the packet `id`, which was hit, and returns true; or drops it (RFC 8033 §5.1).
    pub(crate) fn mark(&self, config: &PieConfig, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        let marked = config.mark_under.is_some_and(|threshold| self.drop_prob < threshold) && mark(now, id, packets, log);
        if !marked {
            discard(now, id, DropReason::Early, packets, log);
        }
        marked
    }

    /// Drops an arrival that found the queue full.
    pub(crate) fn overflowed(&mut self, config: &PieConfig, now: Time, line: &Backlog) {
        self.catch_up(config, now, line);
        self.accu_prob = 0.0;
    }

    /// Returns the next packet of `line`.
    pub(crate) fn dequeue(&mut self, config: &PieConfig, now: Time, line: &mut Backlog, packets: &Packets) -> Option<PacketId> {
        self.catch_up(config, now, line);
        let id = line.pop(packets)?;
        self.waited = now.since(packets[id].stamp);
        if config.dq_rate_estimator {
            self.departures.count(now, packets[id].ip_len(), line);
        }
        Some(id)
    }

    /// Returns true if an arrival is to be dropped or marked (RFC 8033 §4.1, §5.4 and appendix B).
    fn signals(&mut self, config: &PieConfig, line: &Backlog, rng: &mut Rng) -> bool {
        let calm = self.qdelay_old < config.target / 2 && self.drop_prob < 0.2;
        if calm || line.bytes() <= 2 * u64::from(config.mtu) {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if config.derandomize && self.accu_prob < 0.85 {
            return false;
        }
        config.derandomize && self.accu_prob >= 8.5 || rng.chance(self.drop_prob)
    }

    /// Does the updates due up to `now`.
    #[inline]
    fn catch_up(&mut self, config: &PieConfig, now: Time, line: &Backlog) {
        if self.next_update <= now {
            self.update_until(config, now, line);
        }
    }

    fn update_until(&mut self, config: &PieConfig, now: Time, line: &Backlog) {
        while self.next_update <= now {
            let qdelay = self.qdelay(config, line);
            if self.drop_prob == 0.0 && qdelay.is_zero() && self.qdelay_old.is_zero() {
                // Only the allowance still changes: all updates are done at once.
                let due = now.since(self.next_update).as_ps() / config.tupdate.as_ps() + 1;
                let passed = config.tupdate.saturating_mul(due);
                self.burst_allowance = self.burst_allowance.saturating_sub(passed);
                self.next_update = self.next_update.saturating_add(passed);
                return;
            }
            self.update(config, qdelay);
            self.next_update = self.next_update.saturating_add(config.tupdate);
        }
    }

    /// Returns the delay as of now (RFC 8033 §4.3). An empty queue has none, whatever the last packet had waited.
    fn qdelay(&self, config: &PieConfig, line: &Backlog) -> Duration {
        if line.is_empty() {
            Duration::ZERO
        } else if config.dq_rate_estimator {
            // RFC 8033 §5.2: Little's law.
            Duration::from_secs_f64(line.bytes() as f64 * self.departures.average / DQ_THRESHOLD as f64)
        } else {
            self.waited
        }
    }

    /// Changes the probability once, with the delay `qdelay` (RFC 8033 §4.2, §4.4 and §5.5).
    fn update(&mut self, config: &PieConfig, qdelay: Duration) {
        let (now, old) = (qdelay.as_secs_f64(), self.qdelay_old.as_secs_f64());
        let mut p = config.alpha * (now - config.target.as_secs_f64()) + config.beta * (now - old);
        if let Some((_, divisor)) = STEPS.iter().find(|(under, _)| self.drop_prob < *under) {
            p /= divisor;
        }
        if config.cap_drop && self.drop_prob >= 0.1 {
            p = p.min(0.02);
        }
        self.drop_prob += p;
        if qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(config.tupdate);
        self.qdelay_old = qdelay;
    }
}

impl Departures {
    /// Measures the departure of a packet of `len` bytes at `now`, behind which `line` is left (RFC 8033 appendix B). The next measurement
    /// begins with the end of this one. (§5.2 puts these steps in another order, in which a packet that does not end the measurement breaks
    /// it off.)
    fn count(&mut self, now: Time, len: u32, line: &Backlog) {
        if let Some(since) = self.since {
            self.bytes += u64::from(len);
            if self.bytes >= DQ_THRESHOLD {
                let sample = now.since(since).as_secs_f64();
                self.average = if self.average == 0.0 { sample } else { sample * DQ_WEIGHT + self.average * (1.0 - DQ_WEIGHT) };
                self.since = None;
            }
        }
        if self.since.is_none() && line.bytes() >= DQ_THRESHOLD {
            (self.since, self.bytes) = (Some(now), 0);
        }
    }
}

#[cfg(test)]
mod tests;

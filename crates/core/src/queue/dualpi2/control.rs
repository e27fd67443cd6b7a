//! The PI controller of both queues, and the probabilities that follow from it (RFC 9332, appendix A).

use crate::time::{Duration, Time};

/// Constants of the control.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoupledConfig {
    /// Target delay of the classic queue.
    pub target: Duration,
    /// Time from one change of the probability to the next.
    pub tupdate: Duration,
    /// Increase of the probability per second over the target, in Hz.
    pub alpha: f64,
    /// Increase of the probability per second more than last time, in Hz.
    pub beta: f64,
    /// The coupling factor.
    pub k: f64,
    /// Delay at which the ramp of the L4S queue begins (`min_th`), and the length of the ramp (`range`).
    pub min_th: Duration,
    /// See `min_th`.
    pub range: Duration,
    /// Packets: an L4S packet with fewer behind it is not marked for its own delay.
    pub th_len: u64,
    /// True if markable packets are dropped, too, when marks do not help any more.
    pub drop_on_overload: bool,
}

impl CoupledConfig {
    /// Returns the probability that an L4S packet is marked for its own delay (figure 5).
    pub(super) fn ramp(&self, delay: Duration) -> f64 {
        if delay >= self.min_th + self.range {
            1.0
        } else if delay > self.min_th {
            delay.saturating_sub(self.min_th).as_secs_f64() / self.range.as_secs_f64()
        } else {
            0.0
        }
    }
}

/// The base probability, p' of the RFC.
#[derive(Clone, Debug)]
pub(super) struct Coupled {
    p: f64,
    qdelay_old: Duration,
    /// Time of the next change.
    pub next_update: Time,
}

impl Coupled {
    pub(super) fn new(config: &CoupledConfig) -> Self {
        Coupled { p: 0.0, qdelay_old: Duration::ZERO, next_update: Time::ZERO.saturating_add(config.tupdate) }
    }

    /// Returns p_C, the probability of a classic packet.
    #[inline]
    pub(super) fn p_classic(&self) -> f64 {
        self.p * self.p
    }
    /// Returns p_CL, the probability of an L4S packet by coupling.
    #[inline]
    pub(super) fn p_coupled(&self, config: &CoupledConfig) -> f64 {
        (config.k * self.p).min(1.0)
    }
    /// Returns true if every L4S packet is marked already (appendix A.2, figure 7: p_Lmax = 1), which is where p_C is p_Cmax = 1 / k^2.
    #[inline]
    pub(super) fn is_overloaded(&self, config: &CoupledConfig) -> bool {
        config.drop_on_overload && config.k * self.p >= 1.0
    }

    /// Does the updates due up to `now`, with the delay that there was at each time; `empty` if nothing is held.
    pub(super) fn update_until(&mut self, config: &CoupledConfig, now: Time, empty: bool, qdelay: impl Fn(Time) -> Duration) {
        while self.next_update <= now {
            if empty && self.p == 0.0 && self.qdelay_old.is_zero() {
                // The probability does not change any more: skip to the first update after now.
                let due = now.since(self.next_update).as_ps() / config.tupdate.as_ps() + 1;
                self.next_update = self.next_update.saturating_add(config.tupdate.saturating_mul(due));
                return;
            }
            self.update(config, qdelay(self.next_update));
            self.next_update = self.next_update.saturating_add(config.tupdate);
        }
    }

    /// Figure 8: proportional and integral. §4.2.3: where overload does not drop, the probability ends where all of L4S is marked, and delay grows.
    pub(super) fn update(&mut self, config: &CoupledConfig, qdelay: Duration) {
        let (now, old) = (qdelay.as_secs_f64(), self.qdelay_old.as_secs_f64());
        self.p += config.alpha * (now - config.target.as_secs_f64()) + config.beta * (now - old);
        let most = if config.drop_on_overload { 1.0 } else { 1.0 / config.k };
        self.p = self.p.clamp(0.0, most);
        self.qdelay_old = qdelay;
    }
}

/// Figure 4, `recur`: true as often as the likelihoods say, and evenly spread.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Recur(f64);

impl Recur {
    #[inline]
    pub(super) fn hits(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let hits = self.0 > 1.0;
        if hits {
            self.0 -= 1.0;
        }
        hits
    }
}

//! Startup, which ends when the bandwidth no longer grows, and Drain.

use super::{Bbr3, State};
use crate::congestion::AckSample;
use crate::rate::RateSample;
use longfat_core::time::Time;

impl Bbr3 {
    /// §5.3.1.2, CheckFullBWReached.
    pub(super) fn check_plateau(&mut self, rs: &RateSample, rate: f64) {
        // A sample without an interval is none (§4.1.2.3).
        if self.plateau.now || !self.rounds.start || rs.app_limited || rate == 0.0 {
            return;
        }
        if rate >= self.plateau.bandwidth * 1.25 {
            self.plateau.search_again(rate);
            return;
        }
        self.plateau.rounds += 1;
        self.plateau.now = self.plateau.rounds >= 3;
        self.plateau.ever |= self.plateau.now;
    }

    /// §5.3.1.1, CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, ack: &AckSample, rs: &RateSample) {
        self.check_startup_losses(ack, rs);
        if self.state == State::Startup && self.plateau.ever {
            self.state = State::Drain { from_round: self.rounds.count };
        }
    }

    /// §5.3.2.
    pub(super) fn check_drain_done(&mut self, now: Time, rs: &RateSample) {
        if let State::Drain { from_round } = self.state
            && (rs.in_flight <= self.inflight(self.bandwidth, 1.0) || self.rounds.count > from_round + 3)
        {
            self.start_down(now, rs.total_delivered);
        }
    }
}

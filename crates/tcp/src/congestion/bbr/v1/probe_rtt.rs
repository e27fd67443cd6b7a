//! The least round trip, and ProbeRTT, which looks for it.

use super::{Bbr, Drained, MIN_RTT_LASTS, PROBE_RTT_LASTS, State};
use crate::rate::RateSample;
use longfat_core::time::Time;

impl Bbr {
    /// §4.1.2.3.
    pub(super) fn update_min_rtt(&mut self, now: Time, rs: &RateSample) {
        self.min_rtt_expired = now > self.min_rtt_at + MIN_RTT_LASTS;
        if let Some(rtt) = rs.rtt
            && (self.min_rtt.is_none_or(|min| rtt <= min) || self.min_rtt_expired)
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
    }

    /// §4.3.5.
    pub(super) fn check_probe_rtt(&mut self, now: Time, rs: &RateSample) {
        if !self.in_probe_rtt() && self.min_rtt_expired && !self.idle_restart {
            self.cwnd.save(false);
            self.state = State::ProbeRtt(Drained::No);
        }
        if let State::ProbeRtt(drained) = self.state {
            self.probe_rtt(now, drained, rs);
        }
        self.idle_restart = false;
    }

    fn probe_rtt(&mut self, now: Time, drained: Drained, rs: &RateSample) {
        match drained {
            Drained::No if rs.in_flight <= self.cwnd.least() => {
                self.state = State::ProbeRtt(Drained::Since { until: now + PROBE_RTT_LASTS, round_done: false });
                self.rounds.begin(rs.total_delivered);
            }
            Drained::No => {}
            Drained::Since { until, round_done } => {
                let round_done = round_done || self.rounds.start;
                self.state = State::ProbeRtt(Drained::Since { until, round_done });
                if round_done && now > until {
                    self.min_rtt_at = now;
                    self.cwnd.restore();
                    if self.pipe_full.full { self.enter_probe_bw(now) } else { self.state = State::Startup }
                }
            }
        }
    }
}

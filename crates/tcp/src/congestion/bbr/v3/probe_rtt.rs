//! The least round trip, and ProbeRTT, which looks for it.

use super::{AckPhase, Bbr3, MIN_RTT_LASTS, PROBE_RTT_INTERVAL, PROBE_RTT_LASTS, State};
use crate::rate::RateSample;
use longfat_core::time::{Duration, Time};

impl Bbr3 {
    pub(super) fn set_min_rtt(&mut self, rtt: Duration) {
        (self.rtt.min, self.rtt.min_s) = (Some(rtt), rtt.as_secs_f64());
    }

    /// §5.3.4.3, UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, now: Time, rs: &RateSample) {
        self.rtt.probe_expired = now > self.rtt.probe_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rs.rtt
            && (self.rtt.probe_min.is_none_or(|min| rtt < min) || self.rtt.probe_expired)
        {
            (self.rtt.probe_min, self.rtt.probe_min_at) = (Some(rtt), now);
        }
        let Some(candidate) = self.rtt.probe_min else { return };
        if self.rtt.min.is_none_or(|min| candidate < min) || now > self.rtt.min_at + MIN_RTT_LASTS {
            self.set_min_rtt(candidate);
            self.rtt.min_at = self.rtt.probe_min_at;
        }
    }

    /// §5.3.4.3, CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, now: Time, rs: &RateSample) {
        if !self.in_probe_rtt() && self.rtt.probe_expired && !self.idle_restart {
            self.cwnd.save(false);
            self.state = State::ProbeRtt { done: None, round_done: false };
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.rounds.begin(rs.total_delivered);
        }
        match self.state {
            State::ProbeRtt { done: None, .. } if rs.in_flight <= self.probe_rtt_cwnd() => {
                self.state = State::ProbeRtt { done: Some(now + PROBE_RTT_LASTS), round_done: false };
                self.rounds.begin(rs.total_delivered);
            }
            State::ProbeRtt { done: done @ Some(_), round_done } => {
                let round_done = round_done || self.rounds.start;
                self.state = State::ProbeRtt { done, round_done };
                if round_done {
                    self.check_probe_rtt_done(now, rs.total_delivered);
                }
            }
            _ => {}
        }
        self.idle_restart = false;
    }

    /// §5.3.4.3, CheckProbeRTTDone; §5.3.4.4.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, total_delivered: u64) {
        if !matches!(self.state, State::ProbeRtt { done: Some(done), .. } if now > done) {
            return;
        }
        self.rtt.probe_min_at = now;
        self.cwnd.restore();
        self.reset_shortterm();
        if self.plateau.ever {
            self.start_down(now, total_delivered);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}

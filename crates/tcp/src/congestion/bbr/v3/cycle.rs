//! ProbeBW: DOWN, CRUISE, REFILL, UP, and when to go from one to the next (draft-ietf-ccwg-bbr-06 §5.3.3).

use super::{Bbr3, HEADROOM, State, UNBOUNDED};
use crate::congestion::AckSample;
use crate::rate::RateSample;
use longfat_core::time::{Duration, Time};

/// §2.14: what the ACKs now arriving tell of the last probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Bbr3 {
    /// §5.3.3.9, StartProbeBW_DOWN (and EnterProbeBW).
    pub(super) fn start_down(&mut self, now: Time, total_delivered: u64) {
        self.reset_congestion_signals();
        self.cycle.up_acked_per_mss = UNBOUNDED;
        // §5.3.3.8.3, PickProbeWait: 2 to 3 s, and up to 62 or 63 rounds.
        self.cycle.rounds_since_up = self.rng.below(2);
        self.cycle.wait = Duration::from_secs(2) + Duration::from_ps(self.rng.below(Duration::from_secs(1).as_ps()));
        self.cycle.start = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.rounds.begin(total_delivered);
        self.state = State::Down;
    }

    /// §5.3.3.9, StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self, total_delivered: u64) {
        self.reset_shortterm();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.prev_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rounds.begin(total_delivered);
        self.state = State::Refill;
    }

    /// §5.3.3.9, StartProbeBW_UP.
    fn start_up(&mut self, total_delivered: u64, rate: f64) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.rounds.begin(total_delivered);
        self.plateau.search_again(rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// §5.3.3.9, UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, ack: &AckSample, rs: &RateSample, rate: f64) {
        if !self.plateau.ever || self.adapt_longterm(ack, rs) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(rs.total_delivered),
            State::Down if self.is_time_to_cruise(rs.in_flight) => self.state = State::Cruise,
            State::Refill if self.rounds.start => {
                self.cycle.probing_samples = true;
                self.start_up(rs.total_delivered, rate);
            }
            State::Up if self.is_time_to_go_down(ack, rs, rate) => {
                self.cycle.prev_too_high = false;
                self.start_down(ack.now, rs.total_delivered);
            }
            _ => {}
        }
    }

    /// §5.3.3.8.3, IsTimeToProbeBW: after the wait by the clock, or as many rounds as Reno would take to make up for a loss.
    fn is_time_to_probe(&self, now: Time) -> bool {
        now > self.cycle.start + self.cycle.wait || self.cycle.rounds_since_up >= (self.target_inflight() / self.cwnd.mss).min(63)
    }

    fn is_time_to_cruise(&self, in_flight: u64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bandwidth.max(), 1.0)
    }

    /// §5.3.3.7.
    fn is_time_to_go_down(&mut self, ack: &AckSample, rs: &RateSample, rate: f64) -> bool {
        if self.cycle.prev_too_high && rs.in_flight >= self.inflight_longterm {
            // §5.3.3.6: the level that was too much the last time is only touched.
            self.cycle.prev_precautionary = true;
            return true;
        }
        if ack.cwnd_limited && self.cwnd.bytes >= self.inflight_longterm {
            self.plateau.search_again(rate);
            return false;
        }
        self.plateau.now
    }

    /// §5.3.3.9: what leaves room for others.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = ((HEADROOM * self.inflight_longterm as f64) as u64).max(self.cwnd.mss);
        self.inflight_longterm.saturating_sub(headroom).max(self.cwnd.least())
    }

    /// §5.3.3.9, RaiseInflightLongtermSlope: 1, 2, 4, ... segments a round.
    fn raise_slope(&mut self) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_acked_per_mss = (self.cwnd.bytes / growth).max(self.cwnd.mss);
    }

    /// §5.3.3.9, ProbeInflightLongtermUpward.
    fn raise_longterm(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited || self.cwnd.bytes < self.inflight_longterm {
            return;
        }
        self.cycle.up_acked += ack.delivered;
        let steps = self.cycle.up_acked / self.cycle.up_acked_per_mss;
        self.cycle.up_acked -= steps * self.cycle.up_acked_per_mss;
        self.inflight_longterm += steps * self.cwnd.mss;
        if self.rounds.start {
            self.raise_slope();
        }
    }

    /// §5.3.3.9, AdaptLongTermModel. Whether it has chosen the next state.
    fn adapt_longterm(&mut self, ack: &AckSample, rs: &RateSample) -> bool {
        if self.rounds.start {
            match self.cycle.ack_phase {
                AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.cycle.probing_samples = false;
                    self.cycle.ack_phase = AckPhase::Init;
                    if self.in_probe_bw() {
                        if !rs.app_limited {
                            // §5.5.6.
                            self.cycles += 1;
                            self.max_bandwidth.advance(self.cycles);
                        }
                        if self.cycle.prev_precautionary && !self.cycle.prev_too_high {
                            self.start_refill(rs.total_delivered);
                            return true;
                        }
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
            }
        }
        if !self.is_inflight_too_high(rs.lost, rs.in_flight_then) && self.inflight_longterm != UNBOUNDED {
            self.inflight_longterm = self.inflight_longterm.max(rs.in_flight_then);
            if self.state == State::Up {
                self.raise_longterm(ack);
            }
        }
        false
    }
}

//! Outputs of the model: pacing rate, the volume to have in flight, cwnd (draft-ietf-ccwg-bbr-06 §5.6).

use super::{Bbr3, PACING_MARGIN, PROBE_RTT_CWND_GAIN, State, UNBOUNDED};
use crate::congestion::AckSample;
use crate::pacing::{BURST_LEAST, quantum};
use crate::rate::RateSample;

impl Bbr3 {
    /// §5.6.2, SetPacingRateWithGain.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        self.pace.set(gain * self.bandwidth * (1.0 - PACING_MARGIN), self.plateau.ever);
    }

    /// §5.6.4.2, BDPMultiple with a gain of 1.
    pub(super) fn bdp(&self, bandwidth: f64) -> u64 {
        self.bdp_multiple(bandwidth, 1.0)
    }

    fn bdp_multiple(&self, bandwidth: f64, gain: f64) -> u64 {
        self.rtt.min.map_or(self.cwnd.initial, |_| (gain * (bandwidth * self.rtt.min_s)) as u64)
    }

    /// §5.6.4.2, QuantizationBudget, with the offload budget of §5.5.8.1.
    fn quantized(&self, inflight: u64) -> u64 {
        let budget = 3 * quantum(self.pace.rate, self.cwnd.mss, BURST_LEAST);
        inflight.max(budget).max(self.cwnd.least()) + if self.state == State::Up { 2 * self.cwnd.mss } else { 0 }
    }

    /// §5.6.4.2, Inflight.
    pub(super) fn inflight(&self, bandwidth: f64, gain: f64) -> u64 {
        self.quantized(self.bdp_multiple(bandwidth, gain))
    }

    /// §5.3.3.8.3, TargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(self.bandwidth).min(self.cwnd.bytes)
    }

    /// §5.6.4.5.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.bandwidth, PROBE_RTT_CWND_GAIN).max(self.cwnd.least())
    }

    /// §5.6.4.6, SetCwnd.
    pub(super) fn set_cwnd(&mut self, ack: &AckSample, rs: &RateSample) {
        let (_, gain) = self.gains();
        let extra = self.aggregation.extra.max() as u64;
        let max_inflight = self.quantized(self.bdp_multiple(self.bandwidth, gain) + extra);
        self.cwnd.grow(ack.delivered, rs.total_delivered, max_inflight, self.plateau.ever);
        self.bound_cwnd();
    }

    /// §5.6.4.5 and §5.6.4.7.
    fn bound_cwnd(&mut self) {
        if self.in_probe_rtt() {
            self.cwnd.bytes = self.cwnd.bytes.min(self.probe_rtt_cwnd());
        }
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt { .. } => self.inflight_with_headroom(),
            State::Startup | State::Drain { .. } => UNBOUNDED,
        };
        self.cwnd.bytes = self.cwnd.bytes.min(longterm.min(self.inflight_shortterm).max(self.cwnd.least()));
    }

    pub(super) fn end_recovery(&mut self) {
        if self.cwnd.end_recovery() {
            self.losses.recovery_from = None;
            self.bound_cwnd();
        }
    }
}

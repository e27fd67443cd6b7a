//! Effect of losses on the model, and how it is undone (draft-ietf-ccwg-bbr-06 §5.3.1.3, §5.5.10, §5.5.11).

use super::{BETA, Bbr3, LOSS_THRESHOLD, STARTUP_LOST_RANGES, State, UNBOUNDED};
use crate::congestion::AckSample;
use crate::rate::{LostPacket, RateSample};

/// §2.15: the model before the last losses, and the state they drove the flow out of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    state: Option<State>,
    bandwidth_shortterm: f64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Undo { state: None, bandwidth_shortterm: 0.0, inflight_shortterm: 0, inflight_longterm: 0 }
    }
}

impl Bbr3 {
    /// §5.5.10.2: `lost` of the `in_flight` bytes are more than the flow may cause.
    pub(super) fn is_inflight_too_high(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * LOSS_THRESHOLD || (lost > 0 && !self.sack)
    }

    /// §5.5.10.2, NoteLoss.
    fn note_loss(&mut self) {
        if !self.losses.in_round {
            self.losses.round_delivered = self.last.total_delivered;
            self.save_upon_loss();
        }
        self.losses.in_round = true;
    }

    /// §5.5.10.2, HandleLostPacket.
    pub(super) fn handle_lost(&mut self, packet: &LostPacket) {
        self.note_loss();
        self.losses.ranges += u32::from(packet.start != self.losses.end);
        self.losses.end = packet.end;
        if self.cycle.probing_samples && self.is_inflight_too_high(packet.lost, packet.in_flight_then) {
            let in_flight = inflight_at_loss(packet);
            self.handle_inflight_too_high(in_flight, packet.app_limited);
        }
    }

    /// §3.7 leaves the answer to a mark open but for its being that to congestion: we take it for a loss that is too much.
    pub(super) fn handle_mark(&mut self) {
        self.note_loss();
        if self.cycle.probing_samples {
            self.handle_inflight_too_high(self.last.in_flight_then, self.last.app_limited);
        }
    }

    /// §5.5.10.2, HandleInflightTooHigh.
    fn handle_inflight_too_high(&mut self, in_flight: u64, app_limited: bool) {
        self.cycle.prev_too_high = true;
        self.cycle.probing_samples = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max((self.target_inflight() as f64 * BETA) as u64);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(self.last_at, self.last.total_delivered);
        }
    }

    /// §5.3.1.3, CheckStartupHighLoss.
    pub(super) fn check_startup_losses(&mut self, ack: &AckSample, rs: &RateSample) {
        if self.state == State::Startup && ack.in_recovery {
            let whole_round = self.losses.recovery_from.is_some_and(|from| rs.prior_delivered >= from);
            let enough = self.losses.ranges >= STARTUP_LOST_RANGES && self.is_inflight_too_high(rs.lost, rs.in_flight_then);
            if (self.sack && self.losses.round_start && whole_round && enough) || (!self.sack && self.losses.ranges > 0) {
                self.undo.state = Some(State::Startup);
                self.plateau.ever = true;
                self.inflight_longterm = self.inflight_latest.max(self.bdp(self.bandwidth));
                self.state = State::Drain { from_round: self.rounds.count };
            }
        }
        if self.losses.round_start {
            self.losses.ranges = 0;
        }
    }

    /// §5.5.10.3, UpdateLatestDeliverySignals.
    pub(super) fn update_latest(&mut self, rs: &RateSample, rate: f64) {
        self.bandwidth_latest = self.bandwidth_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        self.losses.round_start = rs.prior_delivered >= self.losses.round_delivered;
        if self.losses.round_start {
            self.losses.round_delivered = rs.total_delivered;
        }
    }

    /// §5.5.10.3, AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest(&mut self, rs: &RateSample, rate: f64) {
        // A sample without an interval says nothing of the rate (§4.1.2.3).
        if self.losses.round_start && rate > 0.0 {
            (self.bandwidth_latest, self.inflight_latest) = (rate, rs.delivered);
        }
    }

    /// §5.5.10.3, ResetCongestionSignals.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.losses.in_round = false;
        (self.bandwidth_latest, self.inflight_latest) = (0.0, 0);
    }

    /// §5.5.10.3, the end of UpdateCongestionSignals: once a round, unless probing.
    pub(super) fn adapt_to_losses(&mut self) {
        if !self.losses.round_start {
            return;
        }
        let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
        if self.losses.in_round && !probing {
            if self.bandwidth_shortterm == f64::INFINITY {
                self.bandwidth_shortterm = self.max_bandwidth.max();
            }
            if self.inflight_shortterm == UNBOUNDED {
                self.inflight_shortterm = self.cwnd.bytes;
            }
            self.bandwidth_shortterm = self.bandwidth_latest.max(BETA * self.bandwidth_shortterm);
            self.inflight_shortterm = self.inflight_latest.max((BETA * self.inflight_shortterm as f64) as u64);
        }
        self.losses.in_round = false;
    }

    /// §5.5.10.3, ResetShortTermModel.
    pub(super) fn reset_shortterm(&mut self) {
        self.bandwidth_shortterm = f64::INFINITY;
        self.inflight_shortterm = UNBOUNDED;
    }

    /// §5.5.11.1.
    pub(super) fn save_upon_loss(&mut self) {
        self.cwnd.save(self.in_probe_rtt());
        self.undo = Undo {
            state: None,
            bandwidth_shortterm: self.bandwidth_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// §5.5.11.2, HandleSpuriousLossDetection.
    pub(super) fn undo_losses(&mut self) {
        self.cwnd.restore();
        self.losses.in_round = false;
        self.plateau.search_again(0.0);
        self.bandwidth_shortterm = self.bandwidth_shortterm.max(self.undo.bandwidth_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.plateau.ever = false;
                if !self.in_probe_rtt() {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && !self.in_probe_rtt() => self.start_refill(self.last.total_delivered),
            _ => {}
        }
    }
}

/// §5.5.10.2, InflightAtLoss: how much was in flight at the byte of `packet` with which losses passed the threshold.
fn inflight_at_loss(packet: &LostPacket) -> u64 {
    let size = packet.end - packet.start;
    let before = packet.in_flight_then.saturating_sub(size) as f64;
    let lost_before = packet.lost.saturating_sub(size) as f64;
    let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
    (before + prefix) as u64
}

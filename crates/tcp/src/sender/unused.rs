//! Use of cwnd, and what becomes of a cwnd that is not used.

use super::usage::Flight;
use super::{Limit, Sender};
use crate::decay::Decay;
use crate::validation::{Adjustment, Validation};
use crate::{CwndValidation, TcpConfig, congestion};
use longfat_core::time::{Duration, Time};

/// Handling of a window that is not used.
#[derive(Debug)]
pub(super) struct Unused {
    rule: Rule,
    last_sent: Time,
}

#[derive(Debug)]
enum Rule {
    Kept,
    /// RFC 5681 §4.1.
    Restarts,
    /// RFC 2861.
    Decays(Box<Decay>),
    /// RFC 7661.
    Validated(Box<Validation>),
}

impl Unused {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let rule = match config.sending.cwnd_validation {
            CwndValidation::Off => Rule::Kept,
            CwndValidation::Rfc5681 => Rule::Restarts,
            CwndValidation::Rfc2861 => Rule::Decays(Box::new(Decay::new(config.first_window()))),
            CwndValidation::Rfc7661 => Rule::Validated(Box::new(Validation::new(config.first_window()))),
        };
        Unused { rule, last_sent: Time::ZERO }
    }

    /// The variables of RFC 7661, where it is that.
    #[inline]
    pub(super) fn validation(&mut self) -> Option<&mut Validation> {
        if let Rule::Validated(validation) = &mut self.rule { Some(validation) } else { None }
    }

    /// Returns true in the non-validated phase of RFC 7661.
    pub(super) fn is_not_validated(&self) -> bool {
        matches!(&self.rule, Rule::Validated(validation) if validation.is_unused())
    }

    /// Returns the base of a reduction with so much in `flight`, where RFC 7661 says so.
    pub(super) fn basis(&self, flight: u64) -> Option<u64> {
        if let Rule::Validated(validation) = &self.rule { Some(validation.basis(flight)) } else { None }
    }

    /// Returns true if only idleness matters.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.rule, Rule::Kept | Rule::Restarts)
    }

    /// Something is sent.
    #[inline]
    pub(super) fn sent(&mut self, now: Time) {
        self.last_sent = now;
    }

    /// Returns for how long nothing was sent.
    fn idle(&self, now: Time) -> Duration {
        now.since(self.last_sent)
    }
}

impl Sender {
    /// An ACK has come: notes how much of cwnd was in use before it, `in_flight` bytes.
    #[inline]
    pub(super) fn note_use(&mut self, in_flight: u64) {
        // If cwnd was the limit, it had no room.
        let is_full = self.usage.limit() == Limit::Cwnd || self.fills_window(in_flight);
        self.usage.note(Flight { una: self.board.una(), max: self.board.max(), size: in_flight, is_full });
    }

    /// Returns true if `in_flight` bytes are as many full segments as the window allows (RFC 7661 §3): what it has beyond them is no room
    /// for another. Small segments fill it by their bytes.
    #[inline]
    fn fills_window(&self, in_flight: u64) -> bool {
        let (window, segment) = (self.window(), self.payload_max);
        // Mostly there is room, and no need to divide.
        in_flight + segment > window && in_flight >= if window < segment { window } else { window / segment * segment }
    }

    /// Something is about to be sent while nothing is in flight.
    pub(super) fn restart(&mut self, now: Time) {
        let (idle, rto) = (self.unused.idle(now), self.trips.rto());
        // Windows never used need no validation.
        let has_sent = self.board.max() > 1;
        let window = self.cwnd_and_ssthresh();
        match &mut self.unused.rule {
            Rule::Kept => {}
            Rule::Restarts => {
                if has_sent && idle > rto {
                    // RFC 5681 §4.1.
                    self.control.on_unused(congestion::Unused::Idle(idle));
                    self.unused.last_sent = now;
                }
            }
            Rule::Decays(decay) => {
                if has_sent && let Some(to) = decay.idle(now, idle, rto, window, self.peer.max()) {
                    self.control.on_unused(to.into());
                    self.unused.last_sent = now;
                }
            }
            Rule::Validated(_) => self.validate(now),
        }
    }

    /// Something was sent: how far that fills the window (RFC 2861 §3.1).
    #[inline]
    pub(super) fn note_decay(&mut self, now: Time) {
        if matches!(self.unused.rule, Rule::Decays(_)) {
            self.decay(now);
        }
    }

    fn decay(&mut self, now: Time) {
        let in_flight = self.board.pipe();
        let (is_full, is_starved) = (self.fills_window(in_flight), self.board.max() >= self.stream.end());
        let window = self.cwnd_and_ssthresh();
        let Rule::Decays(decay) = &mut self.unused.rule else { return };
        if is_full {
            decay.full(now);
        } else if is_starved
            && self.repair.is_open()
            && let Some(to) = decay.short(now, self.trips.rto(), in_flight, window, self.peer.max())
        {
            self.control.on_unused(to.into());
        }
    }

    fn cwnd_and_ssthresh(&self) -> Adjustment {
        Adjustment { cwnd: self.control.cwnd(), ssthresh: self.control.ssthresh() }
    }

    /// Looks after a window that is not used (RFC 7661).
    pub(super) fn validate(&mut self, now: Time) {
        let (cwnd, ssthresh) = (self.control.cwnd(), self.control.ssthresh());
        if let Some(validation) = self.unused.validation()
            && let Some(to) = validation.look(now, self.trips.srtt(), cwnd, ssthresh)
        {
            self.control.on_unused(to.into());
        }
    }
}

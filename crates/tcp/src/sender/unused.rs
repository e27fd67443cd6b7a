//! Whether cwnd is used, and what becomes of one that is not.

use super::usage::Flight;
use super::{Limit, Sender, Unused};
use crate::validation::Adjustment;
use longfat_core::time::Time;

impl Sender {
    /// An ACK has come: notes how much of cwnd was in use before it, `in_flight` bytes.
    #[inline]
    pub(super) fn note_use(&mut self, in_flight: u64) {
        // What cwnd forbade, it had no room for.
        let is_full = self.usage.limit() == Limit::Cwnd || self.fills_window(in_flight);
        self.usage.note(Flight { una: self.board.una(), max: self.board.max(), size: in_flight, is_full });
    }

    /// Whether with `in_flight` bytes in flight as many full segments are as the window allows (RFC 7661 §3): what it has beyond
    /// them is no room for another. Small segments fill it by their bytes.
    #[inline]
    fn fills_window(&self, in_flight: u64) -> bool {
        let (window, segment) = (self.window(), self.payload_max);
        // Mostly there is room, and no need to divide.
        in_flight + segment > window && in_flight >= if window < segment { window } else { window / segment * segment }
    }

    /// Whether an ACK of what lies from `una` on lets the window grow.
    #[inline]
    pub(super) fn is_cwnd_limited(&self, una: u64) -> bool {
        self.usage.is_cwnd_limited(una) || (self.slow_start_half_used && self.is_half_used())
    }

    /// Whether this is slow start and more than half of cwnd was in use of late: it leads to twice what was in flight
    /// (draft-ietf-ccwg-ratelimited-increase §3; its appendix on implementations says that Linux has the rule since 3.16).
    fn is_half_used(&self) -> bool {
        let cwnd = self.control.cwnd();
        cwnd < self.control.ssthresh() && cwnd < 2 * self.usage.peak()
    }

    /// Something is about to be sent while nothing is in flight.
    pub(super) fn restart(&mut self, now: Time) {
        let (idle, rto) = (now.since(self.last_sent), self.trips.rto());
        // What was never used needs no validation.
        let has_sent = self.board.max() > 1;
        let window = self.cwnd_and_ssthresh();
        match &mut self.unused {
            Unused::Kept => {}
            Unused::Restarts => {
                if has_sent && idle > rto {
                    // RFC 5681 §4.1.
                    self.control.on_restart(idle);
                    self.last_sent = now;
                }
            }
            Unused::Decays(decay) => {
                if has_sent && let Some(to) = decay.idle(now, idle, rto, window, self.peer.max()) {
                    self.control.on_validation(to.cwnd, to.ssthresh);
                    self.last_sent = now;
                }
            }
            Unused::Validated(_) => self.validate(now),
        }
    }

    /// Something was sent: how far that fills the window (RFC 2861 §3.1).
    #[inline]
    pub(super) fn note_decay(&mut self, now: Time) {
        if matches!(self.unused, Unused::Decays(_)) {
            self.decay(now);
        }
    }

    fn decay(&mut self, now: Time) {
        let in_flight = self.board.pipe();
        let (is_full, is_starved) = (self.fills_window(in_flight), self.board.max() >= self.stream.end());
        let window = self.cwnd_and_ssthresh();
        let Unused::Decays(decay) = &mut self.unused else { return };
        if is_full {
            decay.full(now);
        } else if is_starved
            && self.repair.is_open()
            && let Some(to) = decay.short(now, self.trips.rto(), in_flight, window, self.peer.max())
        {
            self.control.on_validation(to.cwnd, to.ssthresh);
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
            self.control.on_validation(to.cwnd, to.ssthresh);
        }
    }
}

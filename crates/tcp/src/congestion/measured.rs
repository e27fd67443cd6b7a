//! A control and the delivery rate that is measured for it. A control that wants no rates costs a branch.

use super::{AckSample, CongestionControl};
use crate::rate::{RateSample, RateSampler};
use crate::scoreboard::Scoreboard;
use longfat_core::time::{Duration, Time};
use std::ops::{Deref, DerefMut};

#[derive(Debug)]
pub(crate) struct Measured {
    control: Box<dyn CongestionControl + Send>,
    rate: Option<Box<RateSampler>>,
}

impl Deref for Measured {
    type Target = dyn CongestionControl + Send;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &*self.control
    }
}

impl DerefMut for Measured {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.control
    }
}

impl Measured {
    pub(crate) fn new(control: Box<dyn CongestionControl + Send>) -> Self {
        Measured { rate: control.traits().wants_rate.then(Box::default), control }
    }

    /// Replaces the control and returns the old one. Everything measured so far stays.
    pub(crate) fn replace(&mut self, control: Box<dyn CongestionControl + Send>) -> Box<dyn CongestionControl + Send> {
        std::mem::replace(&mut self.control, control)
    }

    /// Returns true if no rate is measured.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.rate.is_none()
    }

    /// `start..end` has arrived, and was not known to have.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Time, start: u64, end: u64) {
        if let Some(rate) = &mut self.rate {
            rate.arrived(now, start, end);
        }
    }

    /// Everything on `board` below `ack` has arrived.
    #[inline]
    pub(crate) fn acked(&mut self, now: Time, board: &Scoreboard, ack: u64) {
        if let Some(rate) = &mut self.rate {
            board.holes(board.una(), ack).for_each(|(start, end)| rate.arrived(now, start, end));
        }
    }

    /// Returns the delivery rate that this ACK tells of.
    #[inline]
    pub(crate) fn rate_sample(&mut self, now: Time, board: &Scoreboard, rtt_min: Duration) -> Option<RateSample> {
        let rate = self.rate.as_mut()?;
        rate.forget_below(board.una());
        rate.sample(now, rtt_min, board.pipe())
    }

    /// Gives the control its sample, with `pipe` bytes in flight.
    #[inline]
    pub(crate) fn tell(&mut self, sample: &AckSample, pipe: u64) {
        self.control.on_sample(sample);
        if sample.in_recovery
            && let Some(window) = self.control.window_mut()
        {
            window.in_recovery(sample);
        }
        if let Some(rate) = &mut self.rate
            && self.control.path_model().is_some_and(|model| model.holds_back())
        {
            rate.mark_app_limited(pipe);
        }
    }

    /// `start..end` leaves and is on the `board`.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, (start, end): (u64, u64), retransmitted: bool, board: &Scoreboard) {
        if let Some(rate) = &mut self.rate {
            if rate.is_full() {
                rate.forget_arrived(|start, end| board.next_missing(start, end).is_none());
            }
            rate.sent(now, start, end, retransmitted, board.pipe());
        }
    }

    /// Something is about to be sent with nothing in flight.
    #[inline]
    pub(crate) fn idle_ends(&mut self, now: Time) {
        if self.rate.as_ref().is_some_and(|rate| rate.is_app_limited())
            && let Some(model) = self.control.path_model()
        {
            model.on_idle_end(now);
        }
    }

    /// Too little data from the application would matter, with `pipe` bytes in flight: [`Self::runs_dry`].
    #[inline]
    pub(crate) fn may_run_dry(&self, pipe: u64) -> bool {
        self.rate.as_ref().is_some_and(|rate| !rate.is_app_limited_until(pipe))
    }

    /// Notes that all that was written has been sent (draft-ietf-ccwg-bbr-06 §4.1.2.4).
    pub(crate) fn runs_dry(&mut self, board: &Scoreboard) {
        if let Some(rate) = &mut self.rate
            && board.pipe() < self.control.cwnd()
            && !board.has_lost()
        {
            rate.mark_app_limited(board.pipe());
        }
    }

    /// The rate at which data last arrived, in bytes of payload per second.
    pub(crate) fn delivery_rate(&self) -> Option<f64> {
        self.rate.as_ref().and_then(|rate| rate.latest())
    }

    /// `start..end`, which has not arrived, is lost.
    pub(crate) fn lost(&mut self, start: u64, end: u64) {
        let Some(rate) = &mut self.rate else { return };
        let mut model = self.control.path_model();
        rate.lost(start, end, |packet| {
            if let Some(model) = &mut model {
                model.on_lost(packet);
            }
        });
    }

    /// Bytes of `start..end` that have not arrived are lost. [`Self::lost_below`] does not count them again.
    pub(crate) fn lost_within(&mut self, board: &Scoreboard, start: u64, end: u64) {
        if self.rate.is_some() {
            board.holes(start, end).for_each(|(start, end)| self.lost(start, end));
        }
        if let Some(rate) = &mut self.rate {
            rate.lost_until = rate.lost_until.max(end);
        }
    }

    /// `board` may count more as lost below its mark than before.
    pub(crate) fn lost_below(&mut self, board: &Scoreboard) {
        let Some(rate) = &self.rate else { return };
        let (from, until) = (rate.lost_until.max(board.una()), board.lost_until());
        if from < until {
            self.lost_within(board, from, until);
        }
    }

    /// A timeout without RACK: retransmissions are lost again, and so is all that did not count as lost yet.
    pub(crate) fn all_lost(&mut self, board: &Scoreboard) {
        self.lost_within(board, board.una(), board.retransmitted_until());
        self.lost_within(board, board.lost_until(), board.max());
        if let Some(rate) = &mut self.rate {
            rate.start_over(board.max());
        }
    }
}

//! What the sender tells the delivery-rate sampler, and through it a control that wants rates. Others pay a branch.

use crate::congestion::{AckSample, CongestionControl, Established};
use crate::rate::{RateSample, RateSampler};
use crate::sender::Sender;
use longfat_core::time::{Duration, Time};

/// For a scoreboard that finds losses one by one: tells of each.
pub(super) fn lost<'a>(
    rate: &'a mut Option<Box<RateSampler>>,
    control: &'a mut Box<dyn CongestionControl + Send>,
) -> impl FnMut(u64, u64) + 'a {
    move |start, end| {
        if let Some(rate) = rate {
            rate.lost(start, end, |packet| control.on_lost(packet));
        }
    }
}

impl Sender {
    /// The handshake is done, and took `rtt` where that is known.
    pub fn established(&mut self, now: Time, rtt: Option<Duration>) {
        // The initial sequence number is drawn from the connection's own stream.
        let established = Established { now, rtt, sack: self.repair.kind().is_selective(), seed: u64::from(self.iss) };
        self.control.on_established(&established);
        self.size_buffer(now);
    }

    /// `start..end` arrives, except for what is SACKed already.
    #[inline]
    pub fn note_arrived(&mut self, now: Time, start: u64, end: u64) {
        if let Some(rate) = &mut self.rate {
            let mut from = start;
            while let Some((hole, until)) = self.board.next_missing(from, end) {
                rate.arrived(now, hole, until);
                from = until;
            }
        }
    }

    /// What arrived with this ACK, as a rate.
    #[inline]
    pub fn rate_sample(&mut self, now: Time) -> Option<RateSample> {
        let rate = self.rate.as_mut()?;
        rate.forget_below(self.board.una());
        rate.sample(now, self.stats.rtt_min, self.board.pipe())
    }

    /// Gives the control its sample.
    #[inline]
    pub fn tell(&mut self, sample: &AckSample) {
        self.control.on_sample(sample);
        if let Some(rate) = &mut self.rate
            && self.control.holds_back()
        {
            rate.mark_app_limited(self.board.pipe());
        }
    }

    /// The scoreboard may count more as lost than before.
    pub fn note_losses(&mut self) {
        let Some(rate) = &self.rate else { return };
        let from = rate.lost_until.max(self.board.una());
        let until = self.board.lost_until();
        if from < until {
            self.lose(from, until);
        }
    }

    /// Without SACK a retransmission is all that tells of a loss: the segment at the left edge.
    pub fn note_lost_head(&mut self) {
        let una = self.board.una();
        self.lose(una, (una + self.mss).min(self.board.max()));
    }

    /// A timeout: what was sent again is lost again, and so is all that did not count as lost yet.
    pub fn note_all_lost(&mut self) {
        let max = self.board.max();
        self.lose(self.board.una(), self.board.retransmitted_until());
        self.lose(self.board.lost_until(), max);
        if let Some(rate) = &mut self.rate {
            rate.start_over(max);
        }
    }

    fn lose(&mut self, start: u64, end: u64) {
        let Some(rate) = &mut self.rate else { return };
        let mut from = start;
        while let Some((hole, until)) = self.board.next_missing(from, end) {
            rate.lost(hole, until, |packet| self.control.on_lost(packet));
            from = until;
        }
        rate.lost_until = rate.lost_until.max(end);
    }

    /// Whether the application gives too little to send (draft-ietf-ccwg-bbr-06 §4.1.2.4): asked before it gives more, and before an
    /// ACK or a timer changes what may be sent.
    #[inline]
    pub fn check_app_limited(&mut self) {
        let pipe = self.board.pipe();
        if self.rate.as_ref().is_none_or(|rate| rate.is_app_limited_until(pipe)) {
            return;
        }
        let all_sent = self.board.max() >= self.end_of_buffered();
        if all_sent && pipe < self.control.cwnd() && !self.board.has_lost() {
            self.rate.as_mut().expect("asked above").mark_app_limited(pipe);
        }
    }
}

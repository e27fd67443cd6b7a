//! A control whose window or pacing rate somebody else holds: a script that steers a simulation step by step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{AckSample, CongestionControl, CongestionEvent, Established, Variable};
use crate::rate::LostPacket;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

/// What is held of a control. Shared by who steers and by the [`Held`] control, from whichever threads.
#[derive(Debug)]
pub struct Hold {
    cwnd: AtomicU64,
    pacing_bps: AtomicU64,
}

/// Not held.
const FREE: u64 = u64::MAX;

impl Default for Hold {
    fn default() -> Self {
        Hold { cwnd: AtomicU64::new(FREE), pacing_bps: AtomicU64::new(FREE) }
    }
}

impl Hold {
    /// Holds cwnd at so many bytes; with `None` the control has it again.
    pub fn set_cwnd(&self, bytes: Option<u64>) {
        self.cwnd.store(bytes.unwrap_or(FREE), Ordering::Relaxed);
    }
    /// Holds the pacing rate; with `None` the control has it again.
    pub fn set_pacing_rate(&self, rate: Option<Rate>) {
        self.pacing_bps.store(rate.map_or(FREE, Rate::as_bps), Ordering::Relaxed);
    }
    fn cwnd(&self) -> Option<u64> {
        Some(self.cwnd.load(Ordering::Relaxed)).filter(|bytes| *bytes != FREE)
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_bps.load(Ordering::Relaxed)).filter(|bps| *bps != FREE).map(Rate::from_bps)
    }
}

/// A control under a [`Hold`]. It hears of everything and goes on with its own window, which counts again when the hold ends.
#[derive(Debug)]
pub struct Held {
    control: Box<dyn CongestionControl + Send>,
    hold: Arc<Hold>,
}

impl Held {
    /// `control`, under `hold`.
    pub fn new(control: Box<dyn CongestionControl + Send>, hold: Arc<Hold>) -> Self {
        Held { control, hold }
    }
}

impl CongestionControl for Held {
    fn state(&mut self) -> Vec<Variable<'_>> {
        self.control.state()
    }

    fn cwnd(&self) -> u64 {
        self.hold.cwnd().unwrap_or_else(|| self.control.cwnd())
    }
    fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }
    fn on_established(&mut self, established: &Established) {
        self.control.on_established(established);
    }
    fn on_first_window(&mut self, rwnd: u64) {
        self.control.on_first_window(rwnd);
    }
    fn on_sample(&mut self, ack: &AckSample) {
        self.control.on_sample(ack);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.control.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.control.on_congestion(event);
    }
    fn on_spurious(&mut self) {
        self.control.on_spurious();
    }
    fn on_recovered(&mut self, now: Time) {
        self.control.on_recovered(now);
    }
    fn on_restart(&mut self, idle: Duration) {
        self.control.on_restart(idle);
    }
    fn on_validation(&mut self, cwnd: u64, ssthresh: u64) {
        self.control.on_validation(cwnd, ssthresh);
    }
    fn on_syn_loss(&mut self) {
        self.control.on_syn_loss();
    }
    fn on_lost(&mut self, packet: &LostPacket) {
        self.control.on_lost(packet);
    }
    fn on_idle_end(&mut self, now: Time) {
        self.control.on_idle_end(now);
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.hold.pacing_rate().or_else(|| self.control.pacing_rate())
    }
    /// What is held holds at all times, in recovery too.
    fn burst_least(&self) -> u64 {
        self.control.burst_least()
    }
    fn uses_prr(&self) -> bool {
        self.hold.cwnd().is_none() && self.control.uses_prr()
    }

    fn uses_prr_on_marks(&self) -> bool {
        self.hold.cwnd().is_none() && self.control.uses_prr_on_marks()
    }
    fn starts_over(&self) -> bool {
        self.control.starts_over()
    }
    fn holds_back(&self) -> bool {
        self.control.holds_back()
    }
    fn wants_rate(&self) -> bool {
        self.control.wants_rate()
    }
}

/// Stands in a sender's place for its control while that is being wrapped.
#[derive(Debug)]
pub(crate) struct Taken;

impl CongestionControl for Taken {
    fn on_ack(&mut self, _ack: &AckSample) {}
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
}

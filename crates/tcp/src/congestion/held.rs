//! A control whose window or pacing rate somebody else holds: a script that steers a simulation step by step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{AckSample, CongestionControl, CongestionEvent, PathModel, PrrUse, Traits, Unused, Variable, Window};
use longfat_core::time::Time;
use longfat_core::units::Rate;

/// Values held of a control. Shared between the script that steers and the [`Held`] control, from whichever threads.
#[derive(Debug)]
pub struct Hold {
    cwnd: AtomicU64,
    pacing_bps: AtomicU64,
}

/// Value of a variable that is not held.
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

    /// Returns the control itself, with its own window.
    pub fn own(&self) -> &dyn CongestionControl {
        &*self.control
    }
}

impl CongestionControl for Held {
    /// A window that is held holds at all times, in recovery too.
    fn traits(&self) -> Traits {
        let own = self.control.traits();
        Traits { prr: if self.hold.cwnd().is_some() { PrrUse::Never } else { own.prr }, ..own }
    }
    fn window(&self) -> Option<&Window> {
        self.control.window()
    }
    fn window_mut(&mut self) -> Option<&mut Window> {
        self.control.window_mut()
    }
    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        self.control.path_model()
    }
    fn state(&mut self) -> Vec<Variable<'_>> {
        self.control.state()
    }
    fn cwnd(&self) -> u64 {
        self.hold.cwnd().unwrap_or_else(|| self.control.cwnd())
    }
    fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.hold.pacing_rate().or_else(|| self.control.pacing_rate())
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
    fn on_recovered(&mut self, now: Time) {
        self.control.on_recovered(now);
    }
    fn on_spurious(&mut self) {
        self.control.on_spurious();
    }
    fn on_unused(&mut self, unused: Unused) {
        self.control.on_unused(unused);
    }
}

/// Stands in a sender's place for its control while that is being wrapped.
#[derive(Debug)]
pub(crate) struct Taken;

impl CongestionControl for Taken {
    fn on_ack(&mut self, _ack: &AckSample) {}
    fn on_congestion(&mut self, _event: &CongestionEvent) {}
}

//! A congestion control under an agent: it is measured, and asks the simulation to come back when a decision is due.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longfat_core::time::Time;
use longfat_core::units::Rate;
use longfat_tcp::congestion::agent::action::Command;
use longfat_tcp::congestion::agent::{Clock, Meter};
use longfat_tcp::congestion::held::{Held, Hold};
use longfat_tcp::congestion::state::{self, Refusal};
use longfat_tcp::congestion::{AckSample, CongestionControl, CongestionEvent, PathModel, Traits, Unused, Variable, Window};

/// State that the agent and the control share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub meter: Meter,
    /// Window and pacing rate that the agent sets, until the next hook: a control by name can set its own no sooner.
    pub command: Option<Command>,
    /// Variable of the control's state that the agent sets, and its new value, until the next ACK.
    pub wanted: Option<(String, f64)>,
    /// Why the last one could not be set.
    pub refused: Option<String>,
    /// Window and ssthresh of the control itself.
    pub own: (u64, u64),
}

/// Locks what is shared. Whoever panicked with the lock has left whole numbers.
pub(crate) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A control whose window an agent holds.
#[derive(Debug)]
pub(crate) struct Steered {
    held: Held,
    hold: Arc<Hold>,
    clock: Clock,
    shared: Arc<Mutex<Shared>>,
    /// Flag of the simulation: it comes back once this instant is over.
    asked: Arc<AtomicBool>,
}

impl Steered {
    /// `control`, steered by `hold` and `shared`.
    pub(crate) fn new(
        control: Box<dyn CongestionControl + Send>,
        hold: Arc<Hold>,
        clock: Clock,
        shared: Arc<Mutex<Shared>>,
        asked: Arc<AtomicBool>,
    ) -> Self {
        Steered { held: Held::new(control, Arc::clone(&hold)), hold, clock, shared, asked }
    }

    /// Carries out the agent's last command, if that is still to be done.
    fn obey(&self, shared: &mut Shared) {
        if let Some(command) = shared.command.take() {
            command.hold(&self.hold);
        }
    }

    fn set(&mut self, name: &str, value: f64) -> Option<String> {
        let refusal = state::set(&mut self.held, name, value).err()?;
        Some(match refusal {
            Refusal::Unknown(names) => format!("the control has no `{name}` in its state: expected one of {}", names.join(", ")),
            Refusal::Outside(unit, range) => {
                format!("{name} = {value}: expected {}, from {} to {}", unit.name(), range.start(), range.end())
            }
        })
    }
}

impl CongestionControl for Steered {
    fn traits(&self) -> Traits {
        self.held.traits()
    }
    fn window(&self) -> Option<&Window> {
        self.held.window()
    }
    fn window_mut(&mut self) -> Option<&mut Window> {
        self.held.window_mut()
    }
    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        self.held.path_model()
    }
    fn state(&mut self) -> Vec<Variable<'_>> {
        self.held.state()
    }
    fn cwnd(&self) -> u64 {
        self.held.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.held.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.held.pacing_rate()
    }
    fn on_sample(&mut self, ack: &AckSample) {
        let shared = Arc::clone(&self.shared);
        let mut shared = lock(&shared);
        self.obey(&mut shared);
        self.held.on_sample(ack);
        if let Some((name, value)) = shared.wanted.take() {
            shared.refused = self.set(&name, value);
        }
        shared.own = (self.held.own().cwnd(), self.held.own().ssthresh());
        let is_due = shared.meter.on_ack(ack, self.clock);
        // Decisions at equal distances in time wait for no ACK.
        if is_due && !matches!(self.clock, Clock::Time(_)) {
            self.asked.store(true, Ordering::Relaxed);
        }
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.held.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        let mut shared = lock(&self.shared);
        self.obey(&mut shared);
        shared.meter.on_congestion(event);
        drop(shared);
        self.held.on_congestion(event);
    }
    fn on_recovered(&mut self, now: Time) {
        self.held.on_recovered(now);
    }
    fn on_spurious(&mut self) {
        self.held.on_spurious();
    }
    fn on_unused(&mut self, unused: Unused) {
        self.held.on_unused(unused);
    }
}

//! A run that is stepped: advanced to a time, looked at, steered, and finished.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use longfat_core::time::Time;
use longfat_core::units::Rate;
use longfat_model::Experiment;
use longfat_record::recorder::Recorder;
use longfat_record::trace::{FlowSample, LinkSample, Spill, Trace};
use longfat_tcp::congestion::CongestionControl;
use longfat_tcp::congestion::held::{Held, Hold};
use longfat_tcp::{Stats, TcpInfo};

use crate::Error;
use crate::audit;
use crate::engine::world::{Pause, World};
use crate::measure::{flow_sample, link_sample};
use crate::stage::endpoint::Agent;

/// Events between two calls of a progress callback: some milliseconds.
const STEPS_PER_CALL: u64 = 20_000;

/// Progress of a run.
pub struct Progress<'a>(&'a World);

impl Progress<'_> {
    /// Returns the virtual time.
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// Packets that links have transmitted, each as often as it crossed one: what a run's time goes into. Looks at every link.
    pub fn crossings(&self) -> u64 {
        self.0.links().map(|link| link.carried().transmitted).sum()
    }
}

/// Runs `world` up to and including `until`, or to its end. Whether that is reached.
pub(crate) fn advance(
    world: &mut World,
    recorder: &mut Recorder,
    until: Time,
    go_on: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Result<bool, Error> {
    let mut budget = STEPS_PER_CALL;
    loop {
        let before = world.context.steps;
        let due = recorder.next_stop().min(recorder.end());
        let pause = world.run(due.min(until), budget);
        // A stop costs time as well, and with a short interval there are few steps between stops.
        budget = budget.saturating_sub(world.context.steps - before + 1);
        match pause {
            Pause::Done => return Ok(true),
            Pause::Reached if due <= until => {
                let now = world.now();
                recorder.record(now, world).map_err(|e| unrecorded(now, &e))?;
                if now >= recorder.end() {
                    return Ok(true);
                }
            }
            Pause::Reached | Pause::Asked => return Ok(false),
            Pause::Steps => {}
        }
        if budget == 0 {
            if !go_on(&Progress(world)) {
                return Err(Error::Cancelled { at: world.now() });
            }
            budget = STEPS_PER_CALL;
        }
    }
}

/// The trace of a world that is at its end, which is audited.
pub(crate) fn finish(mut world: World, recorder: Recorder, experiment: &Experiment) -> Result<Trace, Error> {
    let (end, span_end) = (world.now(), world.all_delivered.take());
    let trace = recorder.finish(end, span_end, experiment, &mut world).map_err(|e| unrecorded(end, &e))?;
    let trace = Trace {
        steps: world.context.steps,
        packets_in_network_max: world.context.ledger.in_network_max(),
        events: world.context.ledger.take_events(),
        packets: world.context.ledger.take_packets(),
        acks: world.context.ledger.take_acks(),
        ..trace
    };
    audit::audit(&mut world);
    Ok(trace)
}

fn unrecorded(at: Time, why: &io::Error) -> Error {
    Error::Recording { at, why: why.to_string() }
}

/// State of a flow at one instant.
#[derive(Clone, Copy, Debug)]
pub struct FlowState {
    /// State of its sender, as in `tcp_info`.
    pub info: TcpInfo,
    /// Sample of the flow, as in the time series.
    pub sample: FlowSample,
    /// Pacing rate of its segments.
    pub pacing_rate: Option<Rate>,
}

/// A run at one instant. Stepping does not change its results.
pub struct Simulation {
    experiment: Experiment,
    world: World,
    recorder: Recorder,
    /// Held parameters of each flow's congestion control.
    holds: Vec<Option<Arc<Hold>>>,
    /// True if a control was wrapped by something else than a hold.
    is_wrapped: bool,
    is_over: bool,
}

impl Simulation {
    /// The start of `experiment`; series that outgrow memory go to `spill`.
    ///
    /// # Errors
    /// [`Error::NoRoute`] when a flow's ends are not joined.
    pub fn new(experiment: Experiment, spill: Option<Arc<dyn Spill>>) -> Result<Self, Error> {
        let world = World::new(&experiment)?;
        let recorder = Recorder::new(&experiment, spill);
        let holds = vec![None; experiment.flows.len()];
        Ok(Simulation { experiment, world, recorder, holds, is_wrapped: false, is_over: false })
    }

    /// Returns the experiment of the run.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }
    /// Returns the virtual time.
    pub fn now(&self) -> Time {
        self.world.now()
    }
    /// True if the run has come to its end.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Advances up to and including `until`, or to the end of the run, if that is earlier; not at all if `until` is in the past. Comes back
    /// earlier when a control has asked for it ([`Self::asked`]): its flow has come to that instant, other parts of the network may be ahead
    /// of it or behind by less than a propagation delay.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when `go_on` said so; then it can be advanced again. [`Error::Recording`] where there is no room for the series.
    pub fn advance(&mut self, until: Time, go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Result<(), Error> {
        if !self.is_over && until > self.world.now() {
            self.is_over = advance(&mut self.world, &mut self.recorder, until, go_on)?;
        }
        Ok(())
    }

    /// Returns the state of the flow with this number.
    pub fn flow(&self, flow: usize) -> FlowState {
        let sender = &self.world.endpoint(2 * flow).agent;
        let pacing_rate = if let Agent::Tcp(tcp) = sender { tcp.pacing_rate() } else { None };
        FlowState { info: sender.info(), sample: flow_sample(self.world.now(), &self.world, flow), pacing_rate }
    }

    /// Returns a sample of every one-way link, with the queue in front of it.
    pub fn links(&mut self) -> Vec<LinkSample> {
        self.world.advance_links();
        (0..self.world.links().len()).map(|link| link_sample(&self.world, link)).collect()
    }

    /// Returns the holder of the congestion window and the pacing rate of a flow; `None` if it is not TCP, or does not exist.
    pub fn hold(&mut self, flow: usize) -> Option<&Hold> {
        let place = self.holds.get_mut(flow)?;
        let Agent::Tcp(tcp) = &mut self.world.endpoint_mut(2 * flow).agent else { return None };
        if place.is_none() {
            let hold = Arc::new(Hold::default());
            *place = Some(Arc::clone(&hold));
            tcp.wrap_control(|control| Box::new(Held::new(control, hold)));
        }
        place.as_deref()
    }

    /// Wraps the congestion control of a flow by `wrap`, before the flow starts. Returns false if the flow is not TCP, or does not exist.
    pub fn wrap_control(
        &mut self,
        flow: usize,
        wrap: impl FnOnce(Box<dyn CongestionControl + Send>) -> Box<dyn CongestionControl + Send>,
    ) -> bool {
        if flow >= self.experiment.flows.len() {
            return false;
        }
        let Agent::Tcp(tcp) = &mut self.world.endpoint_mut(2 * flow).agent else { return false };
        tcp.wrap_control(wrap);
        self.is_wrapped = true;
        true
    }

    /// Returns the flag with which a control asks [`Self::advance`] to come back as soon as the instant is over.
    pub fn asked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.world.context.asked)
    }

    /// Returns the payload bytes that a flow has given to its application.
    pub fn delivered(&self, flow: usize) -> u64 {
        self.world.endpoint(2 * flow + 1).agent.bytes_delivered()
    }

    /// Returns the statistics of a flow's sender.
    pub fn stats(&self, flow: usize) -> Stats {
        self.world.endpoint(2 * flow).agent.stats()
    }

    /// True if anything of a flow was ever held. The run is then not the one that the experiment describes.
    pub fn was_steered(&self) -> bool {
        self.is_wrapped || self.holds.iter().any(Option::is_some)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when `go_on` said so, [`Error::Recording`] where there is no room for the series.
    pub fn finish(mut self, go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Result<Trace, Error> {
        if !self.is_over {
            advance(&mut self.world, &mut self.recorder, Time::MAX, go_on)?;
        }
        finish(self.world, self.recorder, &self.experiment)
    }
}

//! An environment: one episode after the other, decision by decision.

use std::fmt;
use std::sync::{Arc, Mutex};

use longfat_core::rng::Rng;
use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_model::route::Routes;
use longfat_sim::Simulation;
use longfat_tcp::Stats;
use longfat_tcp::congestion::agent::action::Action;
use longfat_tcp::congestion::agent::moment::{MEASURES, Moment};
use longfat_tcp::congestion::agent::observation::{self, Field};
use longfat_tcp::congestion::agent::{Clock, Meter, known};
use longfat_tcp::congestion::held::Hold;

use crate::reward::Reward;
use crate::steered::{Shared, Steered, lock};

/// Experiments that episodes are drawn from.
pub trait Source {
    /// How many there are, at least one.
    fn runs(&self) -> u64;
    /// The experiment of this number.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn experiment(&self, run: u64) -> Result<Experiment, String>;
}

/// Values that an action sets.
#[derive(Clone, Debug)]
pub enum Sets {
    /// An action of the registry, with its parameters.
    Listed(&'static Action, Vec<f64>),
    /// A variable of the state of the flow's own control, from `least` at -1 to `most` at 1.
    Variable {
        /// Its name.
        name: String,
        /// Value at -1.
        least: f64,
        /// Value at 1.
        most: f64,
    },
}

/// Everything that is the same in all episodes.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Flows that agents steer, one agent each.
    pub flows: Vec<usize>,
    /// Fields of an observation.
    pub fields: Vec<&'static Field>,
    /// Meaning of an action.
    pub sets: Sets,
    /// Reward, with its parameters; `None`: 0.
    pub reward: Option<(&'static Reward, Vec<f64>)>,
    /// When decisions are due.
    pub clock: Clock,
    /// Steps after which an episode is cut off.
    pub steps: u64,
}

impl Setup {
    /// Returns how many numbers the observation of one agent has.
    pub fn width(&self) -> usize {
        observation::width(&self.fields)
    }
}

/// State of an episode: it goes on, or why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It goes on.
    No,
    /// Every volume is delivered: the task is done.
    Done,
    /// Its time is up, or its steps.
    Cut,
}

/// Why there is no step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The experiment cannot be made.
    Source(String),
    /// The flow does not exist, or is not TCP.
    NoFlow {
        /// Number of the flow.
        flow: usize,
        /// Flows of the experiment.
        flows: usize,
    },
    /// The flow delivered nothing before the run ended.
    Silent {
        /// Number of the flow.
        flow: usize,
        /// Number of the run.
        run: u64,
    },
    /// The variable cannot be set.
    Refused(String),
    /// A step without an episode.
    NoEpisode,
    /// The simulation failed or was cancelled.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Source(why) | Error::Refused(why) | Error::Failed(why) => f.write_str(why),
            Error::NoFlow { flow, flows } => {
                write!(f, "flow {flow} cannot decide: expected a TCP flow, from 0 to {}", flows.saturating_sub(1))
            }
            Error::Silent { flow, run } => write!(f, "flow {flow} delivered nothing in run {run}: there is nothing to decide"),
            Error::NoEpisode => f.write_str("there is no episode: reset first"),
        }
    }
}

impl std::error::Error for Error {}

/// Where a step is written to: per agent its observation, its reward, and its measures.
pub struct Told<'a> {
    /// [`Setup::width`] numbers per agent.
    pub observations: &'a mut [f32],
    /// One number per agent.
    pub rewards: &'a mut [f64],
    /// One number per agent and entry of [`MEASURES`].
    pub measures: &'a mut [f64],
}

/// An environment. What happens in it depends on its seed and the actions alone.
pub struct Env {
    setup: Arc<Setup>,
    rng: Rng,
    episode: Option<Episode>,
}

struct Episode {
    simulation: Simulation,
    agents: Vec<Agent>,
    run: u64,
    steps: u64,
    /// Latest end of the run.
    end: Time,
    /// Bytes that each flow had delivered at the last decision.
    delivered: Vec<u64>,
}

/// A flow that is steered.
struct Agent {
    flow: usize,
    hold: Arc<Hold>,
    shared: Arc<Mutex<Shared>>,
    capacity: f64,
    stats: Stats,
    moment: Moment,
}

impl Env {
    /// An environment without an episode yet.
    pub fn new(setup: Arc<Setup>, seed: u64) -> Self {
        Env { setup, rng: Env::stream(seed), episode: None }
    }

    fn stream(seed: u64) -> Rng {
        Rng::named(seed, "episodes")
    }

    /// Draws all episodes from now on after `seed`.
    pub fn seed(&mut self, seed: u64) {
        self.rng = Env::stream(seed);
    }

    /// Returns the number of the run of this episode.
    pub fn run(&self) -> Option<u64> {
        self.episode.as_ref().map(|episode| episode.run)
    }

    /// Begins an episode: `run`, or one drawn from `source`. It is at its first decision then, with the first ACK of data of every agent.
    ///
    /// # Errors
    /// Without an episode, if it cannot begin.
    pub fn reset(
        &mut self,
        source: &dyn Source,
        run: Option<u64>,
        go_on: &mut dyn FnMut() -> bool,
        told: &mut Told<'_>,
    ) -> Result<(), Error> {
        self.episode = None;
        let run = run.unwrap_or_else(|| self.rng.below(source.runs()));
        let experiment = source.experiment(run).map_err(Error::Source)?;
        let mut episode = Episode::new(experiment, run, &self.setup)?;
        episode.begin(&self.setup, go_on)?;
        episode.measure(&self.setup, told);
        told.rewards.fill(0.0);
        self.episode = Some(episode);
        Ok(())
    }

    /// Carries out one action per agent, and runs until the next decision.
    ///
    /// # Errors
    /// The episode is over then.
    pub fn step(&mut self, actions: &[f64], go_on: &mut dyn FnMut() -> bool, told: &mut Told<'_>) -> Result<Ended, Error> {
        let mut episode = self.episode.take().ok_or(Error::NoEpisode)?;
        for (agent, action) in episode.agents.iter_mut().zip(actions) {
            agent.act(&self.setup, *action);
        }
        episode.run_on(&self.setup, go_on)?;
        episode.steps += 1;
        episode.measure(&self.setup, told);
        for agent in &episode.agents {
            if let Some(why) = lock(&agent.shared).refused.take() {
                return Err(Error::Refused(why));
            }
        }
        let ended = match () {
            () if episode.simulation.is_over() && episode.simulation.now() < episode.end => Ended::Done,
            () if episode.simulation.is_over() || episode.steps >= self.setup.steps => Ended::Cut,
            () => Ended::No,
        };
        if ended == Ended::No {
            self.episode = Some(episode);
        }
        Ok(ended)
    }
}

fn failed(error: &longfat_sim::Error) -> Error {
    Error::Failed(error.to_string())
}

impl Episode {
    fn new(mut experiment: Experiment, run: u64, setup: &Setup) -> Result<Self, Error> {
        // Nobody reads a record of an episode.
        (experiment.measure.interval, experiment.measure.events, experiment.measure.packets) = (None, false, None);
        experiment.measure.acks = false;
        let end = Time::ZERO + experiment.measure.duration;
        let flows = experiment.flows.len();
        let mut simulation = Simulation::new(experiment, None).map_err(|e| failed(&e))?;
        let mut agents = Vec::new();
        for &flow in &setup.flows {
            let Some(described) = simulation.experiment().flows.get(flow) else { return Err(Error::NoFlow { flow, flows }) };
            let network = &simulation.experiment().network;
            let path = Routes::new(network).path(described.from, described.to).unwrap_or_default();
            let capacity = path.into_iter().map(|link| network.links[link].rate.as_bps()).min().map_or(f64::NAN, |bps| bps as f64);
            let hold = Arc::new(Hold::default());
            let meter = Meter::new(u64::from(described.sender.mss));
            let shared = Arc::new(Mutex::new(Shared { meter, command: None, wanted: None, refused: None, own: (0, u64::MAX) }));
            let (held, watched, asked) = (Arc::clone(&hold), Arc::clone(&shared), simulation.asked());
            if !simulation.wrap_control(flow, |control| Box::new(Steered::new(control, held, setup.clock, watched, asked))) {
                return Err(Error::NoFlow { flow, flows });
            }
            agents.push(Agent { flow, hold, shared, capacity, stats: Stats::default(), moment: Moment::default() });
        }
        Ok(Episode { simulation, agents, run, steps: 0, end, delivered: vec![0; flows] })
    }

    /// Runs until every agent has had its first ACK of data.
    fn begin(&mut self, setup: &Setup, go_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        while let Some(silent) = self.agents.iter().find(|agent| !lock(&agent.shared).meter.has_begun()) {
            if self.simulation.is_over() {
                return Err(Error::Silent { flow: silent.flow, run: self.run });
            }
            self.run_on(setup, go_on)?;
        }
        Ok(())
    }

    /// Runs until the next decision, or the end.
    fn run_on(&mut self, setup: &Setup, go_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let until = match setup.clock {
            Clock::Time(every) => self.simulation.now() + every,
            Clock::Ack | Clock::Round => Time::MAX,
        };
        self.simulation.advance(until, &mut |_| go_on()).map_err(|e| failed(&e))
    }

    /// Measures every agent, and writes what it is told.
    fn measure(&mut self, setup: &Setup, told: &mut Told<'_>) {
        let is_by_time = matches!(setup.clock, Clock::Time(_));
        let now = (is_by_time || self.simulation.is_over()).then(|| self.simulation.now());
        let (fairness, delivered) = self.shares();
        let width = setup.width();
        for (i, agent) in self.agents.iter_mut().enumerate() {
            let measured = agent.measure(&self.simulation, now);
            let utilization = if measured.step > 0.0 { delivered * 8.0 / measured.step / agent.capacity } else { f64::NAN };
            let moment = Moment { fairness, utilization, ..measured };
            agent.moment = moment;
            observation::write(&setup.fields, &moment, &mut told.observations[i * width..][..width]);
            told.rewards[i] = setup.reward.as_ref().map_or(0.0, |(reward, params)| reward.compute(params, &moment));
            for (measure, place) in MEASURES.iter().zip(&mut told.measures[i * MEASURES.len()..]) {
                *place = (measure.of)(&moment);
            }
        }
    }

    /// Returns Jain's index of the bytes that TCP flows delivered since the last call, and their sum. Flows that have delivered nothing so
    /// far do not count.
    fn shares(&mut self) -> (f64, f64) {
        let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for (flow, before) in self.delivered.iter_mut().enumerate() {
            if !self.simulation.experiment().flows[flow].traffic.is_tcp() {
                continue;
            }
            let delivered = self.simulation.delivered(flow);
            if delivered > 0 {
                let share = (delivered - *before) as f64;
                (n, sum, squares) = (n + 1.0, sum + share, squares + share * share);
            }
            *before = delivered;
        }
        (if squares > 0.0 { sum * sum / (n * squares) } else { f64::NAN }, sum)
    }
}

impl Agent {
    fn act(&self, setup: &Setup, action: f64) {
        match &setup.sets {
            Sets::Listed(listed, params) => {
                let command = (listed.of)(params, action, &self.moment);
                // Decisions at equal distances in time wait for no ACK.
                match setup.clock {
                    Clock::Time(_) => command.hold(&self.hold),
                    Clock::Ack | Clock::Round => lock(&self.shared).command = Some(command),
                }
            }
            Sets::Variable { name, least, most } => {
                let value = least + (most - least) * (action + 1.0) / 2.0;
                lock(&self.shared).wanted = Some((name.clone(), value));
            }
        }
    }

    /// Returns what happened since the last decision. A sender that steered by ACKs stands at its last one.
    fn measure(&mut self, simulation: &Simulation, now: Option<Time>) -> Moment {
        let (state, stats) = (simulation.flow(self.flow), simulation.stats(self.flow));
        let info = state.info;
        let before = std::mem::replace(&mut self.stats, stats);
        let mut shared = lock(&self.shared);
        let (own_cwnd, own_ssthresh) = shared.own;
        let (delivered, marked) = shared.meter.marked();
        let moment = shared.meter.decide(now);
        let (sent, retransmitted) =
            ((stats.bytes_sent - before.bytes_sent) as f64, (stats.bytes_retransmitted - before.bytes_retransmitted) as f64);
        Moment {
            cwnd: info.cwnd as f64,
            pacing_rate: state.pacing_rate.map_or(f64::NAN, |rate| rate.as_bps() as f64),
            marked: if info.ecn && delivered > 0 { marked as f64 / delivered as f64 } else { f64::NAN },
            own_cwnd: own_cwnd as f64,
            ssthresh: if own_ssthresh == u64::MAX { f64::NAN } else { own_ssthresh as f64 },
            rwnd: info.rwnd as f64,
            rttvar: known(info.rttvar),
            rto: known(info.rto),
            lost: f64::from(info.lost),
            sent,
            retransmitted,
            loss: if sent > 0.0 { retransmitted / sent } else { f64::NAN },
            capacity: self.capacity,
            ..moment
        }
    }
}

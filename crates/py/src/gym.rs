//! Environments for reinforcement learning: many at once, on all cores, without the interpreter's lock.

use std::sync::{Arc, Mutex, PoisonError};

use crate::choose::{LongfatError, unknown};
use crate::document::Document;
use crate::error::ExperimentError;
use crate::hooks;
use crate::samples::{PyAck, PyCongestion};
use longfat_core::time::{Duration, Time};
use longfat_gym::reward::{self, Reward};
use longfat_gym::{Ended, Env, Sets, Setup, Source, Told};
use longfat_model::Experiment;
use longfat_tcp::congestion::agent::action::{self, Action, Space};
use longfat_tcp::congestion::agent::moment::{MEASURES, Moment};
use longfat_tcp::congestion::agent::observation::{self, Field};
use longfat_tcp::congestion::agent::{Clock, Layer, Meter, Param, Policy, allowed};
use longfat_tcp::congestion::extensions;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The runs of a document.
struct Runs(longfat_experiment::Document);

impl Source for Runs {
    fn runs(&self) -> u64 {
        self.0.run_count()
    }
    fn experiment(&self, run: u64) -> Result<Experiment, String> {
        let run = self.0.run(run).map_err(|e| e.to_string())?;
        if run.backend.name != "sim" {
            return Err(format!("the backend `{}` cannot be stepped: virtual time is `sim`'s", run.backend.name));
        }
        Ok(run.experiment)
    }
}

/// Returns the fields of these names.
fn fields_of(names: &[String]) -> PyResult<Vec<&'static Field>> {
    let all: Vec<&str> = observation::REGISTRY.iter().map(|field| field.name).collect();
    let find = |name: &String| observation::find(name).ok_or_else(|| unknown(&format!("no observation is called `{name}`"), name, &all));
    names.iter().map(find).collect()
}

/// Returns the values of `params`: the defaults, but for those `given`.
fn values_of(what: &str, params: &[Param], given: &[(String, f64)]) -> PyResult<Vec<f64>> {
    let names: Vec<&str> = params.iter().map(|param| param.name).collect();
    if let Some((name, _)) = given.iter().find(|(name, _)| !names.contains(&&**name)) {
        return Err(unknown(&format!("`{what}` has no parameter `{name}`"), name, &names));
    }
    if let Some((name, value)) = given.iter().find(|(_, value)| !value.is_finite()) {
        return Err(LongfatError::new_err(format!("{what}: {name} = {value}: expected a finite number")));
    }
    let value = |param: &Param| given.iter().find(|(name, _)| name == param.name).map_or(param.default, |(_, value)| *value);
    Ok(params.iter().map(value).collect())
}

fn action_of(name: &str, given: &[(String, f64)]) -> PyResult<(&'static Action, Vec<f64>)> {
    let all: Vec<&str> = action::REGISTRY.iter().map(|action| action.name).collect();
    let action = action::find(name).ok_or_else(|| unknown(&format!("no action is called `{name}`"), name, &all))?;
    let values = values_of(name, action.params, given)?;
    if values.iter().any(|value| *value <= 0.0) {
        return Err(LongfatError::new_err(format!("{name}: expected parameters above 0, got {values:?}")));
    }
    Ok((action, values))
}

fn reward_of(name: &str, given: &[(String, f64)]) -> PyResult<(&'static Reward, Vec<f64>)> {
    let all: Vec<&str> = reward::REGISTRY.iter().map(|reward| reward.name).collect();
    let reward = reward::find(name).ok_or_else(|| unknown(&format!("no reward is called `{name}`"), name, &all))?;
    Ok((reward, values_of(name, reward.params, given)?))
}

/// 0 is each ACK, a negative number each round trip, a positive one so many seconds.
fn clock_of(seconds: f64) -> Clock {
    match seconds {
        0.0 => Clock::Ack,
        s if s < 0.0 => Clock::Round,
        s => Clock::Time(Duration::from_secs_f64(s)),
    }
}

/// An environment, and its part of what all are told.
struct Place {
    env: Env,
    observations: Vec<f32>,
    rewards: Vec<f64>,
    measures: Vec<f64>,
    /// Last observation and measures of an episode that ended in this step: the others are of the next one.
    last: Option<(Vec<f32>, Vec<f64>)>,
    ended: Ended,
}

/// Error of an environment: of the simulation, or the exception of a hook.
enum Failure {
    Here(longfat_gym::Error),
    Hook(PyErr),
}

impl std::convert::From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Here(error) => ExperimentError::new_err(error.to_string()),
            Failure::Hook(error) => error,
        }
    }
}

/// Carries out `act` with controls in Python watched: a hook that failed has ended the run.
fn watched<T>(act: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, longfat_gym::Error>) -> Result<T, Failure> {
    hooks::take_failure();
    let done = act(&mut || !hooks::has_failed());
    hooks::take_failure().map_or_else(|| done.map_err(Failure::Here), |error| Err(Failure::Hook(error)))
}

impl Place {
    fn told(&mut self) -> (&mut Env, Told<'_>) {
        let Place { env, observations, rewards, measures, .. } = self;
        (env, Told { observations, rewards, measures })
    }

    fn reset(&mut self, source: &Runs, run: Option<u64>) -> Result<(), Failure> {
        (self.last, self.ended) = (None, Ended::No);
        let (env, mut told) = self.told();
        watched(|go_on| env.reset(source, run, go_on, &mut told))
    }

    /// A step; where that ends the episode and `goes_on`, the next one begins.
    fn step(&mut self, source: &Runs, actions: &[f64], goes_on: bool) -> Result<(), Failure> {
        self.last = None;
        let (env, mut told) = self.told();
        let ended = watched(|go_on| env.step(actions, go_on, &mut told))?;
        if ended != Ended::No && goes_on {
            let last = (self.observations.clone(), self.measures.clone());
            let rewards = self.rewards.clone();
            self.reset(source, None)?;
            (self.last, self.rewards) = (Some(last), rewards);
        }
        self.ended = ended;
        Ok(())
    }
}

/// Arrays of a step: observations, rewards, whether each environment has ended (1 done, 2 cut off), measures.
type Arrays<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray2<f64>>);
/// Ends of episodes in a step: number of the environment, its last observations, its last measures.
type Lasts = Vec<(usize, Vec<f32>, Vec<f64>)>;

/// Environments side by side.
#[pyclass(module = "longfat._longfat", name = "Environments")]
pub struct Environments {
    /// Python objects may be looked at from any thread.
    places: Vec<Mutex<Place>>,
    source: Arc<Runs>,
    setup: Arc<Setup>,
    pool: Option<ThreadPool>,
    goes_on: bool,
}

#[pymethods]
impl Environments {
    #[new]
    #[pyo3(signature = (document, count, flows, fields, action, reward, clock, steps, threads, goes_on))]
    #[allow(clippy::too_many_arguments)] // as many as an environment has
    fn new(
        document: &Document,
        count: usize,
        flows: Vec<usize>,
        fields: Vec<String>,
        action: (String, Vec<(String, f64)>, bool),
        reward: Option<(String, Vec<(String, f64)>)>,
        clock: f64,
        steps: u64,
        threads: usize,
        goes_on: bool,
    ) -> PyResult<Self> {
        let (name, given, is_variable) = action;
        let sets = match (is_variable, &given[..]) {
            (true, [(_, least), (_, most)]) => Sets::Variable { name, least: *least, most: *most },
            _ => {
                let (action, values) = action_of(&name, &given)?;
                Sets::Listed(action, values)
            }
        };
        let reward = reward.map(|(name, given)| reward_of(&name, &given)).transpose()?;
        let fields = fields_of(&fields)?;
        let setup = Arc::new(Setup { flows, fields, sets, reward, clock: clock_of(clock), steps });
        let agents = setup.flows.len();
        let place = |_| {
            Mutex::new(Place {
                env: Env::new(Arc::clone(&setup), 0),
                observations: vec![0.0; agents * setup.width()],
                rewards: vec![0.0; agents],
                measures: vec![0.0; agents * MEASURES.len()],
                last: None,
                ended: Ended::No,
            })
        };
        let places = (0..count).map(place).collect();
        let pool = (threads > 1 && count > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build()).transpose();
        let pool = pool.map_err(|e| LongfatError::new_err(format!("no {threads} threads: {e}")))?;
        Ok(Environments { places, source: Arc::new(Runs(document.document().clone())), setup, pool, goes_on })
    }

    /// How many numbers an observation has.
    #[getter]
    fn width(&self) -> usize {
        self.setup.width()
    }

    /// Begins an episode in the environments of these numbers, with their seeds; without one, the draws go on.
    #[pyo3(signature = (places, seeds, run))]
    fn reset<'py>(&mut self, py: Python<'py>, places: Vec<usize>, seeds: Vec<Option<u64>>, run: Option<u64>) -> PyResult<Arrays<'py>> {
        for (place, seed) in places.iter().zip(seeds) {
            if let Some(seed) = seed {
                whole(&mut self.places[*place]).env.seed(seed);
            }
        }
        let source = Arc::clone(&self.source);
        self.each(py, |i, place| if places.contains(&i) { place.reset(&source, run) } else { Ok(()) })?;
        Ok(self.arrays(py))
    }

    /// A step of every environment: one action per agent, environment by environment.
    fn step<'py>(&mut self, py: Python<'py>, actions: PyReadonlyArray1<'py, f64>) -> PyResult<(Arrays<'py>, Lasts)> {
        let (actions, agents) = (actions.to_vec()?, self.setup.flows.len());
        let space = match &self.setup.sets {
            Sets::Listed(action, _) => action.space,
            Sets::Variable { .. } => Space::Unit,
        };
        if actions.len() != agents * self.places.len() {
            return Err(LongfatError::new_err(format!("{} actions: expected {}", actions.len(), agents * self.places.len())));
        }
        if let Some(action) = actions.iter().find(|action| !space.contains(**action)) {
            let expected = match space {
                Space::Unit => "a number from -1 to 1".to_owned(),
                Space::Choices(n) => format!("a whole number from 0 to {}", n - 1),
            };
            return Err(LongfatError::new_err(format!("action {action}: expected {expected}")));
        }
        let (source, goes_on) = (Arc::clone(&self.source), self.goes_on);
        self.each(py, |i, place| place.step(&source, &actions[i * agents..][..agents], goes_on))?;
        let ends = self.places.iter_mut().map(whole).enumerate();
        let lasts = ends.filter_map(|(i, place)| place.last.clone().map(|(observations, measures)| (i, observations, measures)));
        let lasts = lasts.collect();
        Ok((self.arrays(py), lasts))
    }

    /// Number of each environment's run.
    fn runs(&mut self) -> Vec<Option<u64>> {
        self.places.iter_mut().map(|place| whole(place).env.run()).collect()
    }
}

impl Environments {
    /// Carries out `act` for every environment, on all threads. The error of the first one counts, whichever was first on the clock.
    fn each(&mut self, py: Python<'_>, act: impl Fn(usize, &mut Place) -> Result<(), Failure> + Sync) -> PyResult<()> {
        let Environments { places, pool, .. } = self;
        let failures: Vec<Option<Failure>> = py.detach(|| match pool {
            None => places.iter_mut().enumerate().map(|(i, place)| act(i, whole(place)).err()).collect(),
            Some(pool) => {
                pool.install(|| places.par_iter_mut().enumerate().with_max_len(1).map(|(i, place)| act(i, whole(place)).err()).collect())
            }
        });
        py.check_signals()?;
        failures.into_iter().flatten().next().map_or(Ok(()), |failure| Err(failure.into()))
    }

    fn arrays<'py>(&mut self, py: Python<'py>) -> Arrays<'py> {
        let count = self.places.len();
        let rows = |columns: usize| (count, columns);
        let places: Vec<&Place> = self.places.iter_mut().map(|place| &*whole(place)).collect();
        let agents = self.setup.flows.len();
        let observations: Vec<f32> = places.iter().flat_map(|place| &place.observations).copied().collect();
        let rewards: Vec<f64> = places.iter().flat_map(|place| &place.rewards).copied().collect();
        let measures: Vec<f64> = places.iter().flat_map(|place| &place.measures).copied().collect();
        let ended = places.iter().map(|place| match place.ended {
            Ended::No => 0,
            Ended::Done => 1,
            Ended::Cut => 2,
        });
        (
            shaped(py, observations, rows(agents * self.setup.width())),
            shaped(py, rewards, rows(agents)),
            PyArray1::from_iter(py, ended),
            shaped(py, measures, rows(agents * MEASURES.len())),
        )
    }
}

/// Content of `place`. Whoever panicked with it has left it without an episode.
fn whole(place: &mut Mutex<Place>) -> &mut Place {
    place.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// An array of `rows.0` rows and `rows.1` columns.
fn shaped<T: numpy::Element>(py: Python<'_>, numbers: Vec<T>, rows: (usize, usize)) -> Bound<'_, PyArray2<T>> {
    PyArray1::from_vec(py, numbers).reshape([rows.0, rows.1]).expect("as many numbers as places")
}

/// The agent's observations and actions, in a control by name: the meter of the environments, fed by the hooks of a control in Python.
#[pyclass(module = "longfat._longfat", name = "Decider")]
pub struct Decider {
    meter: Meter,
    fields: Vec<&'static Field>,
    action: &'static Action,
    params: Vec<f64>,
    clock: Clock,
    moment: Moment,
    /// A decision is due once the instant of the last ACK is over.
    is_due: bool,
}

#[pymethods]
impl Decider {
    #[new]
    fn new(mss: u64, fields: Vec<String>, action: (String, Vec<(String, f64)>), clock: f64) -> PyResult<Self> {
        let fields = fields_of(&fields)?;
        let (action, params) = action_of(&action.0, &action.1)?;
        allowed(&fields, action).map_err(LongfatError::new_err)?;
        Ok(Decider { meter: Meter::new(mss), fields, action, params, clock: clock_of(clock), moment: Moment::default(), is_due: false })
    }

    /// Takes an ACK; returns the observation of a decision that was due before it.
    fn on_ack<'py>(&mut self, py: Python<'py>, ack: &PyAck, cwnd: u64, pacing_rate: Option<f64>) -> Option<Bound<'py, PyArray1<f32>>> {
        let seen = self.observe(py, ack.0.now, cwnd, pacing_rate);
        self.is_due |= self.meter.on_ack(&ack.0, self.clock);
        seen
    }

    /// Takes a reduction; returns the observation of a decision that was due before it.
    fn on_congestion<'py>(
        &mut self,
        py: Python<'py>,
        event: &PyCongestion,
        cwnd: u64,
        pacing_rate: Option<f64>,
    ) -> Option<Bound<'py, PyArray1<f32>>> {
        let seen = self.observe(py, event.0.now, cwnd, pacing_rate);
        self.meter.on_congestion(&event.0);
        seen
    }

    /// Returns cwnd in bytes and pacing rate in bit/s that an action sets.
    fn act(&self, action: f64) -> (Option<u64>, Option<f64>) {
        let command = (self.action.of)(&self.params, action, &self.moment);
        (command.cwnd, command.pacing_rate.map(|rate| rate.as_bps() as f64))
    }
}

impl Decider {
    /// The observation of a decision that was due before `now`. An agent decides once the instant of an ACK is over, so that all of the
    /// instant counts; a control is told of that by the next hook.
    fn observe<'py>(&mut self, py: Python<'py>, now: Time, cwnd: u64, pacing_rate: Option<f64>) -> Option<Bound<'py, PyArray1<f32>>> {
        if !self.is_due || now == self.meter.now() {
            return None;
        }
        self.is_due = false;
        self.moment = Moment { cwnd: cwnd as f64, pacing_rate: pacing_rate.unwrap_or(f64::NAN), ..self.meter.decide(None) };
        let mut numbers = vec![0.0; observation::width(&self.fields)];
        observation::write(&self.fields, &self.moment, &mut numbers);
        Some(PyArray1::from_vec(py, numbers))
    }
}

/// Gives the control `name` the policy that it was made of, so that the testbed can run it. `layers` are weights, row by row, and biases.
#[pyfunction]
pub(crate) fn register_policy(
    name: &str,
    fields: Vec<String>,
    action: (String, Vec<(String, f64)>),
    clock: f64,
    layers: Vec<(Vec<Vec<f64>>, Vec<f64>)>,
) -> PyResult<()> {
    let (action, params) = action_of(&action.0, &action.1)?;
    let layers = layers.into_iter().map(|(weights, bias)| Layer { weights, bias }).collect();
    let policy = Policy::new(fields_of(&fields)?, action, params, clock_of(clock), layers).map_err(LongfatError::new_err)?;
    extensions::give(name, policy);
    Ok(())
}

/// Returns every registry of environments by kind: a list of dicts.
#[pyfunction]
pub(crate) fn gym_registries(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kinds = PyDict::new(py);
    let described = |name: &str, summary: &str, source: &str, params: &[Param]| -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("name", name)?;
        dict.set_item("summary", summary)?;
        dict.set_item("source", source)?;
        dict.set_item("params", params.iter().map(|param| (param.name, param.default, param.doc)).collect::<Vec<_>>())?;
        Ok(dict)
    };
    let mut observations = Vec::new();
    for field in observation::REGISTRY {
        let dict = described(field.name, field.summary, field.from.name(), &[])?;
        dict.set_item("bounds", field.bounds)?;
        dict.set_item("has_mask", field.has_mask)?;
        dict.set_item("is_usual", observation::USUAL.contains(&field.name))?;
        observations.push(dict);
    }
    kinds.set_item("observations", observations)?;
    let mut actions = Vec::new();
    for action in action::REGISTRY {
        let dict = described(action.name, action.summary, action.source, action.params)?;
        let choices = if let Space::Choices(n) = action.space { Some(n) } else { None };
        dict.set_item("choices", choices)?;
        actions.push(dict);
    }
    kinds.set_item("actions", actions)?;
    let rewards: PyResult<Vec<_>> =
        reward::REGISTRY.iter().map(|reward| described(reward.name, reward.summary, reward.source, reward.params)).collect();
    kinds.set_item("rewards", rewards?)?;
    let mut measures = Vec::new();
    for measure in MEASURES {
        let dict = described(measure.name, measure.summary, measure.from.name(), &[])?;
        dict.set_item("unit", measure.unit)?;
        measures.push(dict);
    }
    kinds.set_item("measures", measures)?;
    Ok(kinds)
}

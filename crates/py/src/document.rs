//! Documents and their runs.

use crate::backend::{self, Progress};
use crate::error::{ExperimentError, error};
use crate::stored::PyTrace;
use crate::{hooks, tables};
use longfat_core::units::text::{RATE, SIZE, TIME, split};
use longfat_disk::Disk;
use longfat_experiment::Backend;
use longfat_experiment::forecast::Forecast;
use longfat_model::Experiment;
use longfat_model::cost;
use longfat_record::trace::Trace;
use longfat_record::warning;
use longfat_tcp::congestion::extensions;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An experiment file, parsed and checked.
#[pyclass(module = "longfat._longfat")]
pub struct Document(longfat_experiment::Document);

#[pymethods]
impl Document {
    #[new]
    fn new(text: &str, file: &str) -> PyResult<Self> {
        longfat_experiment::Document::parse_with(text, file, Arc::new(Disk)).map(Document).map_err(error)
    }
    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }
    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }
    #[getter]
    fn expected(&self) -> Vec<&str> {
        self.0.expected()
    }
    #[getter]
    fn asked(&self) -> Vec<&'static str> {
        self.0.asked()
    }
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.0.axes().map(|axis| (axis.name.clone(), axis.labels.clone())).collect()
    }
    #[getter]
    fn run_count(&self) -> u64 {
        self.0.run_count()
    }
    #[getter]
    fn repeats(&self) -> u64 {
        self.0.repeats()
    }
    /// (metric, within, relative, least), or None.
    #[getter]
    fn precision(&self) -> Option<(&'static str, f64, bool, u64)> {
        self.0.precision().map(|asked| (asked.metric, asked.within, asked.relative, asked.least))
    }
    /// (axis, metric, bound, whether it is reached from below), or None.
    #[getter]
    fn search(&self) -> Option<(usize, &'static str, f64, bool)> {
        self.0.search().map(|asked| (asked.axis, asked.metric, asked.bound, asked.is_floor))
    }
    fn choice(&self, combination: u64) -> PyResult<Vec<usize>> {
        self.check_combination(combination)?;
        Ok(self.0.choice(combination))
    }
    fn labels(&self, combination: u64) -> PyResult<Vec<(String, String)>> {
        self.check_combination(combination)?;
        Ok(self.0.labels(combination))
    }
    fn set(&mut self, path: &str, value: &str) -> PyResult<()> {
        self.0.set(path, value).map_err(error)
    }
    fn quick(&self) -> PyResult<Option<Self>> {
        self.0.quick().map(|quick| quick.map(Document)).map_err(error)
    }
    fn run(&self, index: u64) -> PyResult<Run> {
        if index >= self.0.run_count() {
            return Err(pyo3::exceptions::PyIndexError::new_err(format!("run {index} of {}", self.0.run_count())));
        }
        self.0.run(index).map(Run).map_err(error)
    }
    /// (hashes, costs, seeds, whether each is in real time, names of backends, warnings) of the runs of these numbers.
    fn plan<'py>(&self, py: Python<'py>, numbers: Vec<u64>) -> PyResult<Planned<'py>> {
        if let Some(beyond) = numbers.iter().find(|number| **number >= self.0.run_count()) {
            return Err(pyo3::exceptions::PyIndexError::new_err(format!("run {beyond} of {}", self.0.run_count())));
        }
        let plan = py.detach(|| self.0.plan(numbers)).map_err(error)?;
        let mut backends: Vec<&str> = plan.backends.iter().map(|backend| backend.name).collect();
        backends.sort_unstable();
        backends.dedup();
        let warnings = plan.warnings.into_iter();
        Ok((
            PyBytes::new(py, plan.hashes.as_flattened()),
            PyArray1::from_vec(py, plan.costs),
            PyArray1::from_vec(py, plan.seeds),
            PyArray1::from_iter(py, plan.backends.iter().map(|backend| backend.is_real_time)),
            backends,
            warnings.map(|(given, places)| (given.warning.name, given.text, given.count, places)).collect(),
        ))
    }
}

impl Document {
    /// Returns the document that it holds.
    pub fn document(&self) -> &longfat_experiment::Document {
        &self.0
    }

    fn check_combination(&self, combination: u64) -> PyResult<()> {
        if combination < self.0.run_count() / self.0.repeats() {
            return Ok(());
        }
        Err(pyo3::exceptions::PyIndexError::new_err(format!("there is no combination {combination}")))
    }
}

/// Result of [`Document::plan`]. A warning is (name, text, count, the places of the runs that have it).
type Planned<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<bool>>,
    Vec<&'static str>,
    Vec<(&'static str, String, usize, Vec<usize>)>,
);

/// One run, resolved.
#[pyclass(module = "longfat._longfat", frozen)]
pub struct Run(pub longfat_experiment::Run);

#[pymethods]
impl Run {
    #[getter]
    fn labels(&self) -> Vec<(String, String)> {
        self.0.labels.clone()
    }
    #[getter]
    fn index(&self) -> u64 {
        self.0.index
    }
    #[getter]
    fn repeat(&self) -> u64 {
        self.0.repeat
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.0.experiment.seed
    }
    #[getter]
    fn hash(&self) -> &str {
        &self.0.hash
    }
    #[getter]
    fn resolved(&self) -> String {
        self.0.resolved.to_string()
    }
    #[getter]
    fn backend(&self) -> &'static str {
        self.0.backend.name
    }
    #[getter]
    fn is_real_time(&self) -> bool {
        self.0.backend.is_real_time
    }
    #[getter]
    fn spread_s(&self) -> f64 {
        self.0.experiment.live.as_ref().map_or(0.0, |live| live.spread.as_secs_f64())
    }
    /// Warnings before the run: a list of {name, text, count}.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        tables::warnings(py, warning::before(&self.0.experiment, if self.0.backend.is_real_time { 1 } else { self.0.repeats }))
    }
    #[getter]
    fn cost(&self) -> f64 {
        cost::estimate(&self.0.experiment)
    }
    fn check(&self) -> PyResult<()> {
        check_present(&self.0.experiment)?;
        backend::ready(self.0.backend, &self.0.experiment).map_err(ExperimentError::new_err)
    }
    #[pyo3(signature = (progress=None, watch=None))]
    fn execute(&self, py: Python<'_>, progress: Option<Py<PyAny>>, watch: Option<Py<PyAny>>) -> PyResult<PyTrace> {
        check_present(&self.0.experiment)?;
        let (trace, lost) = py.detach(|| run(self.0.backend, &self.0.experiment, progress.as_ref(), watch.as_ref()))?;
        Ok(PyTrace { lost, ..PyTrace::new(self.0.experiment.clone(), trace) })
    }
}

/// Returns an error for a registered control that a stored run names and that this process lacks, and for a trace that is not here.
pub(crate) fn check_present(experiment: &Experiment) -> PyResult<()> {
    let controls = experiment.flows.iter().flat_map(|flow| [&flow.sender, &flow.receiver]).map(|end| end.congestion_control.kind);
    let files = experiment.network.links.iter().flat_map(|link| [&link.rate_file, &link.delay_file]).flatten();
    if let Some(file) = files.into_iter().find(|file| !file.is_there) {
        return Err(ExperimentError::new_err(format!(
            "the trace {} is not what it was, or not there: a file with the SHA-256 {} is needed",
            file.path, file.sha256
        )));
    }
    match controls.into_iter().find(|name| extensions::is_absent(name)) {
        None => Ok(()),
        Some(name) => Err(ExperimentError::new_err(format!(
            "the congestion control `{name}` is not in this process: import the module that defines it"
        ))),
    }
}

/// Time between two calls of `progress` and looks at signals.
const TICK: Duration = Duration::from_millis(100);

/// Runs without the GIL. Several times per second it takes it, to look at signals (Ctrl-C) and to tell `progress` and `watch`.
fn run(
    backend: &Backend,
    experiment: &Experiment,
    progress: Option<&Py<PyAny>>,
    watch: Option<&Py<PyAny>>,
) -> PyResult<(Trace, Option<String>)> {
    let mut forecast = Forecast::new(experiment);
    hooks::take_failure();
    let mut next = Instant::now() + TICK;
    let mut failure = None;
    let mut go_on = |run: &dyn Progress| {
        failure = hooks::take_failure();
        if failure.is_some() {
            return false;
        }
        if Instant::now() < next {
            return true;
        }
        next = Instant::now() + TICK;
        let share = match backend.is_live() {
            // Nobody counts the links of a real path.
            true => (run.now().as_secs_f64() / experiment.measure.duration.as_secs_f64().max(1e-12)).min(0.99),
            false => forecast.share(run.now(), run.crossings()),
        };
        let told = Python::attach(|py| {
            py.check_signals()?;
            if let Some(watch) = watch {
                let ends =
                    run.seen().into_iter().map(|end| (end.flow, end.sends, end.bytes, end.info.into_iter().collect::<BTreeMap<_, _>>()));
                watch.call1(py, (run.now().as_secs_f64(), ends.collect::<Vec<_>>()))?;
            }
            progress.map_or(Ok(()), |callable| callable.call1(py, (share,)).map(drop))
        });
        failure = told.err();
        failure.is_none()
    };
    let result = backend::run(backend, experiment, &mut go_on);
    match (result, failure.or_else(hooks::take_failure)) {
        // Between real hosts, a run that is stopped leaves what there is.
        (Ok(ran), Some(_)) if backend.is_live() => Ok(ran),
        (_, Some(e)) => Err(e),
        (result, None) => result.map_err(ExperimentError::new_err),
    }
}

/// Parses `"64 KiB"` as (65536.0, "bytes"); `None` for anything but a number with a unit.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<(f64, String)> {
    if let Ok(bytes) = SIZE.parse(text) {
        return Some((bytes as f64, "bytes".to_owned()));
    }
    if let Ok(ps) = TIME.parse(text) {
        return Some((longfat_core::time::Duration::from_ps(ps).as_secs_f64(), "s".to_owned()));
    }
    if let Ok(bps) = RATE.parse(text) {
        return Some((bps as f64, "bps".to_owned()));
    }
    // Counts: "60 packets", or a bare number.
    let (number, word) = split(text).ok()?;
    let value: f64 = number.parse().ok()?;
    match word {
        "" => Some((value, "number".to_owned())),
        "packets" | "buffers" | "segments" | "bdp" => Some((value, word.to_owned())),
        _ => None,
    }
}

/// The JSON Schema of experiment files.
#[pyfunction]
pub(crate) fn schema() -> String {
    longfat_experiment::schema().to_string()
}

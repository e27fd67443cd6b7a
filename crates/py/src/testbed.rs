//! Testbed beside its runs: its requirements on the machine, and any program as the endpoint.

use crate::document::Run;
use crate::error::ExperimentError;
use crate::stored::PyTrace;
use longfat_testbed::{check, shell};
use pyo3::prelude::*;

/// Returns the requirements of the testbed on this machine: (requirement, state, true if it is met).
#[pyfunction]
pub(crate) fn testbed_findings() -> Vec<(String, String, bool)> {
    check::findings().into_iter().map(|finding| (finding.what, finding.found, finding.is_good)).collect()
}

/// Returns facts about this machine: (fact, value).
#[pyfunction]
pub(crate) fn testbed_facts() -> Vec<(String, String)> {
    check::facts()
}

/// Runs a command inside a host of a run's network, whose flows stay away; its exit code, and what the links did.
#[pyfunction]
#[pyo3(signature = (run, host, command))]
pub(crate) fn testbed_shell(py: Python<'_>, run: &Run, host: Option<&str>, command: Vec<String>) -> PyResult<(i32, PyTrace)> {
    if command.is_empty() {
        return Err(ExperimentError::new_err("no command is given"));
    }
    let experiment = &run.0.experiment;
    let (code, trace) = py.detach(|| shell::run(experiment, host, &command)).map_err(|e| ExperimentError::new_err(e.to_string()))?;
    Ok((code, PyTrace::new(experiment.clone(), trace)))
}

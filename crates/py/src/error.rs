//! Errors of an experiment, as Python's exception.

use pyo3::prelude::*;

pyo3::import_exception!(longfat.errors, ExperimentError);

/// The exception for `e`.
pub(crate) fn error(e: longfat_experiment::Error) -> PyErr {
    let text = e.to_string();
    ExperimentError::new_err(text.strip_prefix("error: ").unwrap_or(&text).to_owned())
}

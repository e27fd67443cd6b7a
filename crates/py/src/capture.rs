//! Captures, out and in.

mod records;

use crate::visit::Visit;
use longfat_capture::{Error, Place};
use longfat_model::Experiment;
use longfat_record::trace::{Trace, columns};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use records::Capture;
pub(crate) use records::add;

pyo3::import_exception!(longfat.errors, CaptureError);

/// The exception for `e`.
pub(crate) fn error(e: Error) -> PyErr {
    match e {
        Error::Write(e) => PyOSError::new_err(e.to_string()),
        e => CaptureError::new_err(e.to_string()),
    }
}

/// Writes a capture of a run to a file.
pub(crate) fn write(path: &Path, experiment: &Experiment, trace: &Trace, place: &Place, comment: &str, snap: u32) -> PyResult<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    let count = longfat_capture::write(&mut out, experiment, trace, place, comment, snap).map_err(error)?;
    out.flush()?;
    Ok(count)
}

/// Tells Python how far it is, and hears signals; keeps what that raises.
fn tell<'a>(progress: Option<&'a Py<PyAny>>, failure: &'a mut Option<PyErr>) -> impl FnMut(f64) -> bool + 'a {
    move |share| {
        let told = Python::attach(|py| {
            py.check_signals()?;
            progress.map_or(Ok(()), |progress| progress.call1(py, (share,)).map(|_| ()))
        });
        *failure = told.err();
        failure.is_none()
    }
}

/// Reads captures as one, and describes the `keep` connections in them that have the most data.
#[pyfunction]
#[pyo3(signature = (files, keep, progress = None))]
pub(crate) fn trace(py: Python<'_>, files: Vec<PathBuf>, keep: usize, progress: Option<Py<PyAny>>) -> PyResult<Capture> {
    let mut failure = None;
    let found = py.detach(|| longfat_capture::trace(&files, keep, &mut tell(progress.as_ref(), &mut failure)));
    failure.map_or(Ok(()), Err)?;
    Ok(Capture::new(found.map_err(error)?))
}

/// The packets of one connection of captures, in the columns of the table `packets` of a run.
#[pyfunction]
#[pyo3(signature = (files, number, most, progress = None))]
pub(crate) fn trace_packets<'py>(
    py: Python<'py>,
    files: Vec<PathBuf>,
    number: u64,
    most: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut failure = None;
    let found = py.detach(|| longfat_capture::rows(&files, number, most, &mut tell(progress.as_ref(), &mut failure)));
    failure.map_or(Ok(()), Err)?;
    crate::tables::Shown { py, most: None }.table(columns::packets(), &found.map_err(error)?[..])
}

/// Row of the registry of features: name, unit, description, source.
type FeatureRow = (&'static str, &'static str, &'static str, &'static str);

/// The features that verdicts are told by.
#[pyfunction]
pub(crate) fn trace_features() -> Vec<FeatureRow> {
    longfat_capture::FEATURES.iter().map(|spec| (spec.name, spec.unit, spec.doc, spec.source)).collect()
}

/// A threshold of a rule: cause, feature, low, high, source.
type ThresholdRow = (&'static str, &'static str, f64, f64, &'static str);

/// The thresholds of the rules.
#[pyfunction]
pub(crate) fn trace_thresholds() -> Vec<ThresholdRow> {
    longfat_capture::thresholds().collect()
}

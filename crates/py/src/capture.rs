//! Captures, out and in.

use longfat_capture::{Error, Place};
use longfat_experiment::Experiment;
use longfat_experiment::trace::Trace;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

pyo3::import_exception!(longfat.errors, CaptureError);

/// The exception for `e`.
pub fn error(e: Error) -> PyErr {
    match e {
        Error::Write(e) => PyOSError::new_err(e.to_string()),
        e => CaptureError::new_err(e.to_string()),
    }
}

/// Writes a capture of a run to a file.
pub fn write(path: &Path, experiment: &Experiment, trace: &Trace, place: &Place, comment: &str, snap: u32) -> PyResult<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    let count = longfat_capture::write(&mut out, experiment, trace, place, comment, snap).map_err(error)?;
    out.flush()?;
    Ok(count)
}

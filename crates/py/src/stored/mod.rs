//! A trace as a results folder keeps it: every column of [`columns`], as arrays of whole numbers, of floats or of words.

mod parts;
mod reader;

pub(crate) use parts::hexadecimal;
pub(crate) use reader::{Columns, Together, kept_columns, restored};

use crate::error::error;
use crate::visit::{TABLES, visit};
use longfat_disk::Disk;
use longfat_experiment::restore;
use longfat_model::Experiment;
use longfat_record::trace::Trace;
use longfat_record::trace::columns::{self, Column, Form, NONE};
use longfat_record::warning;
use parts::{Digested, InBytes, Part, Pieces, Size, ToBytes, Whole, whole};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use reader::Kept;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Records of a run.
#[pyclass(module = "longfat._longfat", name = "Trace", frozen)]
pub struct PyTrace {
    pub experiment: Experiment,
    pub trace: Trace,
    /// Columns that were not stored, by a version of longfat that did not record them.
    pub missing: Vec<String>,
    /// Sentence about how the far host was lost before the end of the run that has just ended here.
    pub lost: Option<String>,
}

impl PyTrace {
    pub fn new(experiment: Experiment, trace: Trace) -> Self {
        PyTrace { experiment, trace, missing: Vec::new(), lost: None }
    }
}

#[pymethods]
impl PyTrace {
    /// Returns the tables that users see, with every metric.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::tables::trace(py, &self.experiment, &self.trace)
    }

    /// Returns all columns to keep, by table and name.
    fn stored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        all.set_item("run", whole(py, columns::run(), std::slice::from_ref(&self.trace))?)?;
        for name in TABLES {
            all.set_item(name, visit(&self.trace, name, Whole(py))??)?;
        }
        Ok(all)
    }

    /// Returns a table as users see it, without metrics. A series with more rows is thinned to about `most`: whole samples, evenly spread,
    /// and the last.
    #[pyo3(signature = (name, most = None))]
    fn table<'py>(&self, py: Python<'py>, name: &str, most: Option<usize>) -> PyResult<Bound<'py, PyDict>> {
        visit(&self.trace, name, crate::tables::Shown { py, most })?
    }

    /// Writes the packets that passed at the host or link `at` to a new file; returns their number.
    fn capture(&self, py: Python<'_>, path: std::path::PathBuf, at: &str, comment: &str, snap: u32) -> PyResult<u64> {
        let place = longfat_capture::Place::find(&self.experiment, at).map_err(crate::capture::error)?;
        py.detach(|| crate::capture::write(&path, &self.experiment, &self.trace, &place, comment, snap))
    }

    #[getter]
    fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// True if the run ended before its end: it was stopped, or lost.
    #[getter]
    fn is_cut(&self) -> bool {
        self.trace.real_time.is_some_and(|real| real.cut_by > 0)
    }

    #[getter]
    fn missing(&self) -> Vec<String> {
        self.missing.clone()
    }

    /// Returns the values that exist once per run, by column; `None` for no value.
    fn once<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for column in columns::run().iter().filter(|column| column.is_stored()) {
            let cell = column.get(&self.trace);
            dict.set_item(column.stored_name(), (cell != NONE).then_some(cell))?;
        }
        Ok(dict)
    }

    /// Warnings about the run: a list of {name, text, count}.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        crate::tables::warnings(py, warning::of(&self.experiment, &self.trace))
    }

    /// The digest of `head` and of all that [`PyTrace::stored`] gives; and that as bytes, unless it has more than `most` cells.
    fn kept<'py>(&self, py: Python<'py>, head: &[u8], most: usize) -> PyResult<(String, Option<Bound<'py, PyDict>>)> {
        let trace = &self.trace;
        let (digest, parts) = py.detach(|| {
            let mut digest = Sha256::new_with_prefix(head);
            let mut size = 0;
            for name in TABLES {
                visit(trace, name, Digested(name, &mut digest))?;
                size += visit(trace, name, Size)?;
            }
            let whole = |name| Ok((name, visit(trace, name, ToBytes { piece: None })?));
            let parts: Option<PyResult<Vec<(&str, Part)>>> = (size <= most).then(|| TABLES.into_iter().map(whole).collect());
            Ok::<_, PyErr>((hexadecimal(digest), parts.transpose()?))
        })?;
        let Some(parts) = parts else { return Ok((digest, None)) };
        let dict = PyDict::new(py);
        for (name, part) in parts.iter().filter(|(_, part)| part.rows > 0) {
            dict.set_item(name, part.to_python(py))?;
        }
        Ok((digest, Some(dict)))
    }

    /// Returns the number of rows of a table, and of pieces in which they can be had.
    fn pieces(&self, name: &str) -> PyResult<(usize, usize)> {
        visit(&self.trace, name, Pieces)
    }

    /// A piece of a table as bytes.
    fn piece<'py>(&self, py: Python<'py>, name: &str, number: usize) -> PyResult<InBytes<'py>> {
        if number >= self.pieces(name)?.1 {
            return Err(PyIndexError::new_err(format!("table {name} has no piece {number}")));
        }
        let part = py.detach(|| visit(&self.trace, name, ToBytes { piece: Some(number) }))?;
        Ok(part.to_python(py))
    }

    /// Restores a trace from the output of [`PyTrace::stored`], each table in any number of pieces, and the run as resolved.
    #[staticmethod]
    fn restore(resolved: &str, stored: &Bound<'_, PyDict>) -> PyResult<Self> {
        restored(experiment_of(resolved)?, &mut |name, with| {
            let pieces = stored.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("there is no table {name}")))?;
            for piece in pieces.try_iter()? {
                let columns = kept_columns(piece?.cast()?)?;
                let rows = columns.values().map(Kept::len).max().unwrap_or(0);
                with(&columns, 0..rows)?;
            }
            Ok(())
        })
    }
}

pub(crate) fn experiment_of(resolved: &str) -> PyResult<Experiment> {
    let resolved = serde_json::from_str(resolved).map_err(|e| PyValueError::new_err(format!("experiment.json: {e}")))?;
    Ok(restore(&resolved, Arc::new(Disk)).map_err(error)?.experiment)
}

/// Returns every column of results, by table: a list of {name, stored, unit, doc, form, is_shown}.
#[pyfunction(name = "columns")]
pub(crate) fn listed(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("run", described(py, columns::run())?)?;
    all.set_item("flows", described(py, columns::flows())?)?;
    all.set_item("links", described(py, columns::links())?)?;
    all.set_item("hosts", described(py, columns::hosts())?)?;
    all.set_item("flow_series", described(py, columns::flow_series())?)?;
    all.set_item("link_series", described(py, columns::link_series())?)?;
    all.set_item("events", described(py, columns::events())?)?;
    all.set_item("packets", described(py, columns::packets())?)?;
    all.set_item("acks", described(py, columns::acks())?)?;
    all.set_item("tcp_info", described(py, columns::tcp_info())?)?;
    all.set_item("probes", described(py, columns::probes())?)?;
    all.set_item("datagrams", described(py, columns::datagrams())?)?;
    all.set_item("hops", described(py, columns::hops())?)?;
    all.set_item("host_series", described(py, columns::host_series())?)?;
    Ok(all)
}

fn described<'py, R: 'static>(py: Python<'py>, columns: &[Column<R>]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for column in columns {
        let dict = PyDict::new(py);
        dict.set_item("name", column.name)?;
        dict.set_item("stored", column.is_stored().then(|| column.stored_name()))?;
        dict.set_item("unit", column.unit)?;
        dict.set_item("doc", column.doc)?;
        let form = match column.form {
            Form::Count => "count",
            Form::CountOrNone => "count or none",
            Form::Time => "time",
            Form::Number => "number",
            Form::Word(_) => "word",
            Form::Text => "text",
        };
        dict.set_item("form", form)?;
        dict.set_item("is_shown", column.is_shown)?;
        list.append(dict)?;
    }
    Ok(list)
}

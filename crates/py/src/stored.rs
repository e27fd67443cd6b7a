//! A trace as a results folder keeps it: every column of [`columns`], as arrays of whole numbers, of floats or of words.

use crate::error::error;
use longfat_experiment::trace::Trace;
use longfat_experiment::trace::columns::{self, Column, Form, NONE};
use longfat_experiment::{Experiment, restore};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// What a run left.
#[pyclass(module = "longfat._longfat", name = "Trace", frozen)]
pub struct PyTrace {
    pub experiment: Experiment,
    pub trace: Trace,
    /// Columns that were not stored, by a version of longfat that did not record them.
    missing: Vec<String>,
}

impl PyTrace {
    pub fn new(experiment: Experiment, trace: Trace) -> Self {
        PyTrace { experiment, trace, missing: Vec::new() }
    }
}

#[pymethods]
impl PyTrace {
    /// The tables that users see, with every metric.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::tables::trace(py, &self.experiment, &self.trace)
    }

    /// All there is to keep, by table and column.
    fn stored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        all.set_item("run", table(py, columns::run(), std::slice::from_ref(&self.trace))?)?;
        all.set_item("flows", table(py, columns::flows(), &self.trace.flows)?)?;
        all.set_item("links", table(py, columns::links(), &self.trace.links)?)?;
        all.set_item("hosts", table(py, columns::hosts(), &self.trace.hosts)?)?;
        all.set_item("flow_series", table(py, columns::flow_series(), &self.trace.flow_series)?)?;
        all.set_item("link_series", table(py, columns::link_series(), &self.trace.link_series)?)?;
        all.set_item("events", table(py, columns::events(), &self.trace.events)?)?;
        all.set_item("packets", table(py, columns::packets(), &self.trace.packets)?)?;
        all.set_item("acks", table(py, columns::acks(), &self.trace.acks)?)?;
        Ok(all)
    }

    /// Writes what passed at the host or link `at` to a new file; how many packets that were.
    fn capture(&self, py: Python<'_>, path: std::path::PathBuf, at: &str, comment: &str, snap: u32) -> PyResult<u64> {
        let place = longfat_capture::Place::find(&self.experiment, at).map_err(crate::capture::error)?;
        py.detach(|| crate::capture::write(&path, &self.experiment, &self.trace, &place, comment, snap))
    }

    #[getter]
    fn missing(&self) -> Vec<String> {
        self.missing.clone()
    }

    /// From what [`PyTrace::stored`] gave, and the run as resolved.
    #[staticmethod]
    fn restore(resolved: &str, stored: &Bound<'_, PyDict>) -> PyResult<Self> {
        let resolved = serde_json::from_str(resolved).map_err(|e| PyValueError::new_err(format!("experiment.json: {e}")))?;
        let experiment = restore(&resolved).map_err(error)?.experiment;
        let mut reader = Reader { stored, missing: Vec::new() };
        let run = reader.table("run", columns::run(), Trace::default)?;
        let [trace] = <[Trace; 1]>::try_from(run).map_err(|_| PyValueError::new_err("table run: expected one row"))?;
        let trace = Trace {
            flows: reader.rows("flows", columns::flows(), experiment.flows.len())?,
            links: reader.rows("links", columns::links(), experiment.network.links.len())?,
            hosts: reader.rows("hosts", columns::hosts(), experiment.hosts.len())?,
            flow_series: reader.table("flow_series", columns::flow_series(), Default::default)?,
            link_series: reader.table("link_series", columns::link_series(), Default::default)?,
            events: reader.table("events", columns::events(), Default::default)?,
            packets: reader.table("packets", columns::packets(), Default::default)?,
            acks: reader.table("acks", columns::acks(), Default::default)?,
            ..trace
        };
        let missing = reader.missing;
        let mut trace = trace;
        for (record, link) in trace.links.iter_mut().zip(&experiment.network.links) {
            record.name.clone_from(&link.name);
        }
        Ok(PyTrace { experiment, trace, missing })
    }
}

fn table<'py, R: 'static>(py: Python<'py>, columns: &[Column<R>], rows: &[R]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for column in columns.iter().filter(|column| column.is_stored()) {
        let cells = rows.iter().map(|row| column.get(row));
        let name = column.stored_name();
        match column.form {
            Form::Number => dict.set_item(name, PyArray1::from_vec(py, cells.map(f64::from_bits).collect()))?,
            Form::Word(words) => dict.set_item(name, cells.map(|cell| words()[cell as usize]).collect::<Vec<_>>())?,
            Form::Count | Form::CountOrNone | Form::Time => dict.set_item(name, PyArray1::from_vec(py, cells.collect::<Vec<u64>>()))?,
        }
    }
    Ok(dict)
}

struct Reader<'a, 'py> {
    stored: &'a Bound<'py, PyDict>,
    missing: Vec<String>,
}

impl Reader<'_, '_> {
    /// The rows of a table that must have `n`.
    fn rows<R: Default + 'static>(&mut self, name: &str, columns: &[Column<R>], n: usize) -> PyResult<Vec<R>> {
        let rows = self.table(name, columns, R::default)?;
        if rows.len() != n {
            return Err(PyValueError::new_err(format!("table {name}: {} rows, where the experiment has {n}", rows.len())));
        }
        Ok(rows)
    }

    fn table<R: 'static>(&mut self, name: &str, columns: &[Column<R>], empty: fn() -> R) -> PyResult<Vec<R>> {
        let wrong = |column: &str, what: &str| PyValueError::new_err(format!("table {name}, column {column}: {what}"));
        let found = self.stored.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("there is no table {name}")))?;
        let found = found.cast_into::<PyDict>()?;
        let mut rows: Option<Vec<R>> = None;
        let mut absent = Vec::new();
        for column in columns.iter().filter(|column| column.is_stored()) {
            let stored_name = column.stored_name();
            let Some(values) = found.get_item(&stored_name)? else {
                absent.push(column);
                continue;
            };
            let cells: Vec<u64> = match column.form {
                Form::Number => {
                    let values: PyReadonlyArray1<'_, f64> = values.extract().map_err(|_| wrong(&stored_name, "expected floats"))?;
                    values.as_array().iter().map(|x| x.to_bits()).collect()
                }
                Form::Word(words) => {
                    let said: Vec<String> = values.extract().map_err(|_| wrong(&stored_name, "expected words"))?;
                    let place = |word: &String| words().iter().position(|known| known == word).map(|place| place as u64);
                    let places: Option<Vec<u64>> = said.iter().map(place).collect();
                    places.ok_or_else(|| wrong(&stored_name, "there is a word that this longfat does not know"))?
                }
                Form::Count | Form::CountOrNone | Form::Time => {
                    let values: PyReadonlyArray1<'_, u64> = values.extract().map_err(|_| wrong(&stored_name, "expected whole numbers"))?;
                    values.as_array().to_vec()
                }
            };
            let rows = rows.get_or_insert_with(|| (0..cells.len()).map(|_| empty()).collect());
            if rows.len() != cells.len() {
                return Err(wrong(&stored_name, "it has another number of rows than the first"));
            }
            rows.iter_mut().zip(cells).for_each(|(row, cell)| column.set(row, cell));
        }
        let mut rows = rows.ok_or_else(|| PyValueError::new_err(format!("table {name} has no columns")))?;
        for column in absent {
            if column.was_zero {
                rows.iter_mut().for_each(|row| column.set(row, 0));
                continue;
            }
            let nothing = match column.form {
                Form::Number => f64::NAN.to_bits(),
                Form::CountOrNone => NONE,
                Form::Count | Form::Time | Form::Word(_) => 0,
            };
            rows.iter_mut().for_each(|row| column.set(row, nothing));
            self.missing.push(format!("{name}.{}", column.name));
        }
        Ok(rows)
    }
}

/// Every column of results, by table: a list of {name, stored, unit, doc, form, is_shown}.
#[pyfunction(name = "columns")]
pub fn listed(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
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
        };
        dict.set_item("form", form)?;
        dict.set_item("is_shown", column.is_shown)?;
        list.append(dict)?;
    }
    Ok(list)
}

//! A trace as a results folder keeps it: every column of [`columns`], as arrays of whole numbers, of floats or of words.

use crate::error::error;
use longfat_experiment::trace::Trace;
use longfat_experiment::trace::columns::{self, Column, Form, NONE};
use longfat_experiment::{Experiment, restore, warning};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;

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

    /// What there is once for a run, by column; `None` for what has no value.
    fn once<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for column in columns::run().iter().filter(|column| column.is_stored()) {
            let cell = column.get(&self.trace);
            dict.set_item(column.stored_name(), (cell != NONE).then_some(cell))?;
        }
        Ok(dict)
    }

    /// What is to be told of the run: a list of {name, text, count}.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        crate::tables::warnings(py, warning::of(&self.experiment, &self.trace))
    }

    /// The same as [`PyTrace::stored`] as bytes, and the digest of `head` and of it all.
    fn kept<'py>(&self, py: Python<'py>, head: &[u8]) -> PyResult<(String, Bound<'py, PyDict>)> {
        let (digest, parts) = py.detach(|| {
            let trace = &self.trace;
            let parts = [
                part("flows", columns::flows(), &trace.flows),
                part("links", columns::links(), &trace.links),
                part("hosts", columns::hosts(), &trace.hosts),
                part("flow_series", columns::flow_series(), &trace.flow_series),
                part("link_series", columns::link_series(), &trace.link_series),
                part("events", columns::events(), &trace.events),
                part("packets", columns::packets(), &trace.packets),
                part("acks", columns::acks(), &trace.acks),
            ];
            let mut digest = Sha256::new_with_prefix(head);
            for part in &parts {
                let (mut numbers, mut words) = (part.numbers.chunks_exact((8 * part.rows).max(1)), part.words.iter());
                for (name, is_word) in &part.columns {
                    digest.update(format!("{}.{name} {}\n", part.name, part.rows));
                    digest.update(if *is_word { words.next().map(Vec::as_slice) } else { numbers.next() }.expect("a column has cells"));
                }
            }
            (hexadecimal(digest), parts)
        });
        let dict = PyDict::new(py);
        for part in parts.iter().filter(|part| part.rows > 0) {
            let words: Vec<_> = part.words.iter().map(|words| PyBytes::new(py, words)).collect();
            dict.set_item(part.name, (part.rows, PyBytes::new(py, &part.numbers), words))?;
        }
        Ok((digest, dict))
    }

    /// From what [`PyTrace::stored`] gave, and the run as resolved.
    #[staticmethod]
    fn restore(resolved: &str, stored: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut tables = HashMap::new();
        for (name, table) in stored {
            tables.insert(name.extract::<String>()?, kept_columns(&table.cast_into::<PyDict>()?)?);
        }
        let rows = |name: &str| 0..tables.get(name).and_then(|table: &Columns| table.values().map(Kept::len).max()).unwrap_or(0);
        restored(experiment_of(resolved)?, &tables, &rows).map_err(PyValueError::new_err)
    }
}

pub fn experiment_of(resolved: &str) -> PyResult<Experiment> {
    let resolved = serde_json::from_str(resolved).map_err(|e| PyValueError::new_err(format!("experiment.json: {e}")))?;
    Ok(restore(&resolved).map_err(error)?.experiment)
}

/// The trace in these rows of the tables.
pub fn restored(experiment: Experiment, tables: &HashMap<String, Columns>, rows: &dyn Fn(&str) -> Range<usize>) -> Result<PyTrace, String> {
    let mut reader = Reader { tables, rows, missing: Vec::new() };
    let run = reader.table("run", columns::run(), Trace::default)?;
    let [trace] = <[Trace; 1]>::try_from(run).map_err(|_| "table run: expected one row")?;
    let mut trace = Trace {
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
    for (record, link) in trace.links.iter_mut().zip(&experiment.network.links) {
        record.name.clone_from(&link.name);
    }
    Ok(PyTrace { experiment, trace, missing })
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

/// A table as bytes.
struct Part {
    name: &'static str,
    rows: usize,
    /// The names of its columns, and whether each is of words.
    columns: Vec<(String, bool)>,
    /// The cells of the columns that are not of words, one column behind the other.
    numbers: Vec<u8>,
    /// Of each column of words its cells, with a NUL between two.
    words: Vec<Vec<u8>>,
}

fn part<R: 'static>(name: &'static str, columns: &[Column<R>], rows: &[R]) -> Part {
    let mut part = Part { name, rows: rows.len(), columns: Vec::new(), numbers: Vec::new(), words: Vec::new() };
    for column in columns.iter().filter(|column| column.is_stored() && !rows.is_empty()) {
        let cells = rows.iter().map(|row| column.get(row));
        let is_word = if let Form::Word(words) = column.form {
            part.words.push(cells.map(|cell| words()[cell as usize]).collect::<Vec<_>>().join("\0").into_bytes());
            true
        } else {
            part.numbers.extend(cells.flat_map(u64::to_le_bytes));
            false
        };
        part.columns.push((column.stored_name(), is_word));
    }
    part
}

pub fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A column as it comes from Python.
pub enum Kept {
    Cells(Vec<u64>),
    Floats(Vec<f64>),
    Words(Vec<String>),
}

/// The columns of a table, by name.
pub type Columns = HashMap<String, Kept>;

impl Kept {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Kept::Cells(cells) => cells.len(),
            Kept::Floats(values) => values.len(),
            Kept::Words(words) => words.len(),
        }
    }

    /// These rows of it go into a digest.
    pub fn digest(&self, rows: Range<usize>, digest: &mut Sha256) {
        match self {
            Kept::Cells(cells) => cells[rows].iter().for_each(|cell| digest.update(cell.to_le_bytes())),
            Kept::Floats(values) => values[rows].iter().for_each(|value| digest.update(value.to_bits().to_le_bytes())),
            Kept::Words(words) => digest.update(words[rows].join("\0")),
        }
    }
}

pub fn kept_columns(table: &Bound<'_, PyDict>) -> PyResult<Columns> {
    let mut columns = Columns::new();
    for (name, values) in table {
        let name: String = name.extract()?;
        let kept = if let Ok(cells) = values.extract::<PyReadonlyArray1<'_, u64>>() {
            Kept::Cells(cells.as_array().to_vec())
        } else if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f64>>() {
            Kept::Floats(values.as_array().to_vec())
        } else {
            let words = values.extract();
            Kept::Words(words.map_err(|_| PyValueError::new_err(format!("column {name}: expected whole numbers, floats or words")))?)
        };
        columns.insert(name, kept);
    }
    Ok(columns)
}

struct Reader<'a> {
    tables: &'a HashMap<String, Columns>,
    rows: &'a dyn Fn(&str) -> Range<usize>,
    missing: Vec<String>,
}

impl Reader<'_> {
    /// The rows of a table that must have `n`.
    fn rows<R: Default + 'static>(&mut self, name: &str, columns: &[Column<R>], n: usize) -> Result<Vec<R>, String> {
        let rows = self.table(name, columns, R::default)?;
        if rows.len() != n {
            return Err(format!("table {name}: {} rows, where the experiment has {n}", rows.len()));
        }
        Ok(rows)
    }

    fn table<R: 'static>(&mut self, name: &str, columns: &[Column<R>], empty: fn() -> R) -> Result<Vec<R>, String> {
        let wrong = |column: &str, what: &str| format!("table {name}, column {column}: {what}");
        let found = self.tables.get(name).ok_or_else(|| format!("there is no table {name}"))?;
        if found.is_empty() {
            return Err(format!("table {name} has no columns"));
        }
        let here = (self.rows)(name);
        let mut rows: Vec<R> = here.clone().map(|_| empty()).collect();
        if rows.is_empty() {
            return Ok(rows);
        }
        let mut absent = Vec::new();
        for column in columns.iter().filter(|column| column.is_stored()) {
            let stored_name = column.stored_name();
            let Some(values) = found.get(&stored_name) else {
                absent.push(column);
                continue;
            };
            if values.len() < here.end {
                return Err(wrong(&stored_name, "it has another number of rows than the first"));
            }
            let rows = rows.iter_mut();
            match (column.form, values) {
                (Form::Number, Kept::Floats(values)) => {
                    rows.zip(&values[here.clone()]).for_each(|(row, value)| column.set(row, value.to_bits()));
                }
                (Form::Number, _) => return Err(wrong(&stored_name, "expected floats")),
                (Form::Word(words), Kept::Words(said)) => {
                    for (row, word) in rows.zip(&said[here.clone()]) {
                        let place = words().iter().position(|known| known == word);
                        let place = place.ok_or_else(|| wrong(&stored_name, "there is a word that this longfat does not know"))?;
                        column.set(row, place as u64);
                    }
                }
                (Form::Word(_), _) => return Err(wrong(&stored_name, "expected words")),
                (Form::Count | Form::CountOrNone | Form::Time, Kept::Cells(cells)) => {
                    rows.zip(&cells[here.clone()]).for_each(|(row, &cell)| column.set(row, cell));
                }
                (Form::Count | Form::CountOrNone | Form::Time, _) => return Err(wrong(&stored_name, "expected whole numbers")),
            }
        }
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

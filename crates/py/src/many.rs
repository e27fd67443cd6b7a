//! The traces of many runs at once, as shards of results keep them.

use crate::document::Document;
use crate::stored::{Columns, PyTrace, Together, experiment_of, hexadecimal, kept_columns};
use crate::table::{Stack, Table};
use crate::tables::{Made, control_from, warnings};
use longfat_experiment::Resolver;
use longfat_model::Experiment;
use longfat_record::trace::Trace;
use longfat_record::warning::verdict::verdict;
use longfat_record::warning::{self, Given};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;

/// Runs one behind the other: the number of each run in a document where the caller has one, its resolved form, its digest, and the text of
/// the digest before and behind the resolved form, which is JSON there.
type Heads = Vec<(Option<u64>, String, String, String, String)>;
/// Tables of many runs: the name of each, its columns, and the number of rows of each run. Values that exist once per run are the table
/// `run`.
type Stacked<'py> = Vec<(String, Bound<'py, PyDict>, Vec<usize>)>;

/// The tables of several runs.
struct Tables {
    columns: HashMap<String, Columns>,
    /// First row of each run, and the end of the last run, per table.
    places: HashMap<String, Vec<usize>>,
    /// Tables and their columns in the order of a digest.
    order: Vec<(String, Vec<String>)>,
}

impl Tables {
    fn new(tables: Stacked<'_>, runs: usize) -> PyResult<Self> {
        let mut made = Tables { columns: HashMap::new(), places: HashMap::new(), order: Vec::new() };
        for (name, columns, counts) in tables {
            let names: Vec<String> = columns.keys().extract()?;
            let columns = kept_columns(&columns)?;
            let mut ends = vec![0];
            for count in &counts {
                ends.push(ends.last().expect("there is the first") + count);
            }
            let is_whole = counts.len() == runs && columns.values().all(|column| Some(&column.len()) == ends.last());
            if !is_whole {
                return Err(PyValueError::new_err(format!("table {name}: the runs have other numbers of rows than it has")));
            }
            made.order.push((name.clone(), names));
            made.places.insert(name.clone(), ends);
            made.columns.insert(name, columns);
        }
        Ok(made)
    }

    /// The rows of run `i`.
    fn rows(&self, name: &str, i: usize) -> Range<usize> {
        self.places.get(name).map_or(0..0, |ends| ends[i]..ends[i + 1])
    }

    /// True if run `i` is as it was written.
    fn is_whole(&self, runs: &Heads, i: usize) -> bool {
        let (_, resolved, digest, before, behind) = &runs[i];
        self.digest(&[before.as_bytes(), &in_ascii(resolved), behind.as_bytes()], i) == *digest
    }

    fn digest(&self, head: &[&[u8]], i: usize) -> String {
        let mut digest = Sha256::new();
        head.iter().for_each(|part| digest.update(part));
        for (name, columns) in self.order.iter().filter(|(name, _)| name != "run" && !self.rows(name, i).is_empty()) {
            let rows = self.rows(name, i);
            let said = format!(" {}\n", rows.len());
            for column in columns {
                for part in [name, ".", column, &said] {
                    digest.update(part);
                }
                self.columns[name][column].digest(rows.clone(), &mut digest);
            }
        }
        hexadecimal(digest)
    }

    /// Calls `each` with each run in turn; `None` for a run that is not as it was written, or of which no trace can be made. Runs with a
    /// number are of `document`.
    fn each(&self, runs: &Heads, document: Option<&longfat_experiment::Document>, mut each: impl FnMut(Option<PyTrace>)) {
        let mut resolver = document.map(Resolver::new);
        let Ok(mut together) = Together::new(&self.columns) else {
            // Reading each alone shows which of them it is.
            return runs.iter().for_each(|_| each(None));
        };
        for (i, (number, resolved, ..)) in runs.iter().enumerate() {
            let is_whole = self.is_whole(runs, i);
            // Resolving a run is faster than making it from its text.
            let known = resolver.as_mut().zip(*number).filter(|_| is_whole);
            let known = known.and_then(|(resolver, number)| resolver.resolve(number).ok());
            let of_text = || is_whole.then(|| experiment_of(resolved).ok()).flatten();
            let experiment = known.map_or_else(of_text, |known| Some(known.experiment()));
            each(together.next(experiment, |name| self.rows(name, i).len()));
        }
    }
}

/// Summary of a run beside its rows: a digest of its metrics, and its warnings.
type Said<'py> = (Vec<u8>, Bound<'py, PyList>);

/// Summary of each run; the tables that users see of all of them, by name; and by table the number of rows of each run.
type Rows<'py> = (Vec<Option<Said<'py>>>, Bound<'py, PyDict>, Bound<'py, PyDict>);

/// The tables that users see, of many runs at once. `None`, and no rows, for a run that is not what was written, of which no trace can be
/// made, or that was stored without columns that there are now: it can be read alone.
#[pyfunction]
pub(crate) fn tables_of_all<'py>(
    py: Python<'py>,
    runs: Heads,
    tables: Stacked<'py>,
    document: Option<PyRef<'py, Document>>,
) -> PyResult<Rows<'py>> {
    let tables = Tables::new(tables, runs.len())?;
    let document = document.as_ref().map(|document| document.document());
    let mut made: [(&str, Stack, Vec<i64>); 4] = ["runs", "flows", "links", "hosts"].map(|name| (name, Stack::default(), Vec::new()));
    let mut told = Vec::with_capacity(runs.len());
    py.detach(|| {
        tables.each(&runs, document, |found| {
            let found = found.filter(|found| found.missing.is_empty());
            let mut of_run = <[Table<'_>; 4]>::default();
            told.push(found.as_ref().map(|PyTrace { experiment, trace, .. }| {
                let (row, numbers, warnings) = row(experiment, trace, &mut of_run);
                of_run[0] = row;
                (numbers, warnings)
            }));
            for ((_, stack, counts), table) in made.iter_mut().zip(of_run) {
                counts.push(table.rows() as i64);
                stack.push(table);
            }
        });
    });
    let said = told.into_iter().map(|one| one.map(|(numbers, given)| Ok((numbers, warnings(py, given)?))).transpose());
    let said = said.collect::<PyResult<Vec<_>>>()?;
    let (all, rows) = (PyDict::new(py), PyDict::new(py));
    for (name, stack, counts) in made {
        all.set_item(name, stack.into_python(py)?)?;
        rows.set_item(name, PyArray1::from_vec(py, counts))?;
    }
    Ok((said, all, rows))
}

/// A run's row of `runs` but for what says which run it is, a digest of its metrics, and its warnings. Its other tables go to `others`.
fn row<'a>(experiment: &'a Experiment, trace: &'a Trace, others: &mut [Table<'a>; 4]) -> (Table<'a>, Vec<u8>, Vec<Given<String>>) {
    let Made { metrics, flows, links, hosts } = Made::of(experiment, trace);
    let [_, to_flows, to_links, to_hosts] = others;
    (*to_flows, *to_links, *to_hosts) = (flows, links, hosts);
    let mut table = Table::default();
    let mut digest = Sha256::new();
    for (name, value) in metrics {
        // One NaN is as another.
        digest.update(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }.to_le_bytes());
        table.numbers(name, std::iter::once(value));
    }
    table.numbers("end_s", std::iter::once(trace.end.as_secs_f64()));
    table.integers("steps", std::iter::once(trace.steps));
    if let Some(verdict) = verdict(experiment, trace) {
        table.words("verdict", std::iter::once(verdict.word()));
    }
    if let Some(from) = control_from(trace) {
        table.words("control_from", std::iter::once(from));
    }
    (table, digest.finalize()[..16].to_vec(), warning::of(experiment, trace))
}

/// Tells which of the runs are as they were written.
#[pyfunction]
pub(crate) fn check_all(py: Python<'_>, runs: Heads, tables: Stacked<'_>) -> PyResult<Vec<bool>> {
    let tables = Tables::new(tables, runs.len())?;
    Ok(py.detach(|| (0..runs.len()).map(|i| tables.is_whole(&runs, i)).collect()))
}

/// A text as JSON in ASCII, as Python's `json` writes it.
fn in_ascii(text: &str) -> Vec<u8> {
    let mut json = Vec::with_capacity(text.len() + text.len() / 2);
    json.push(b'"');
    for sign in text.chars() {
        match sign {
            '"' => json.extend_from_slice(b"\\\""),
            '\\' => json.extend_from_slice(b"\\\\"),
            '\n' => json.extend_from_slice(b"\\n"),
            '\r' => json.extend_from_slice(b"\\r"),
            '\t' => json.extend_from_slice(b"\\t"),
            '\u{8}' => json.extend_from_slice(b"\\b"),
            '\u{c}' => json.extend_from_slice(b"\\f"),
            ' '..='~' => json.push(sign as u8),
            _ => {
                for unit in sign.encode_utf16(&mut [0; 2]) {
                    json.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    json.push(b'"');
    json
}

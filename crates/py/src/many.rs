//! The traces of many runs at once, as shards of results keep them.

use crate::document::Run;
use crate::stored::{Columns, PyTrace, experiment_of, hexadecimal, kept_columns, restored};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;

/// Runs that stand one behind the other: of each run its experiment where the caller has it, what it resolved to, its digest, and what the
/// digest begins with.
type Heads<'py> = Vec<(Option<PyRef<'py, Run>>, String, String, Vec<u8>)>;
/// Of each table of theirs its name, its columns, and how many rows each run has. What is there once for a run is the table `run`.
type Stacked<'py> = Vec<(String, Bound<'py, PyDict>, Vec<usize>)>;

/// The tables of several runs.
struct Tables {
    columns: HashMap<String, Columns>,
    /// Of each table where the rows of each run begin, and where the last end.
    places: HashMap<String, Vec<usize>>,
    /// What a digest is of: the tables and their columns, in order.
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

    fn digest(&self, head: &[u8], i: usize) -> String {
        let mut digest = Sha256::new_with_prefix(head);
        for (name, columns) in self.order.iter().filter(|(name, _)| name != "run" && !self.rows(name, i).is_empty()) {
            for column in columns {
                digest.update(format!("{name}.{column} {}\n", self.rows(name, i).len()));
                self.columns[name][column].digest(self.rows(name, i), &mut digest);
            }
        }
        hexadecimal(digest)
    }
}

/// The traces of runs; `None` for one that is not what was written, or of which none can be made.
#[pyfunction]
pub fn restore_all(py: Python<'_>, runs: Heads<'_>, tables: Stacked<'_>) -> PyResult<Vec<Option<PyTrace>>> {
    let tables = Tables::new(tables, runs.len())?;
    let runs: Vec<_> = runs.iter().map(|(run, resolved, digest, head)| (run.as_ref().map(|run| &run.0), resolved, digest, head)).collect();
    let text = |run: &longfat_experiment::Run| run.resolved.to_string();
    let one = |i: usize| {
        let (run, resolved, digest, head) = runs[i];
        if tables.digest(head, i) != *digest {
            return None;
        }
        let experiment = match run {
            // It is faster to have than to make of its text.
            Some(run) if text(run) == *resolved => run.experiment.clone(),
            _ => experiment_of(resolved).ok()?,
        };
        restored(experiment, &tables.columns, &|name| tables.rows(name, i)).ok()
    };
    Ok(py.detach(|| (0..runs.len()).map(one).collect()))
}

/// Which of the runs are what was written.
#[pyfunction]
pub fn check_all(py: Python<'_>, runs: Heads<'_>, tables: Stacked<'_>) -> PyResult<Vec<bool>> {
    let tables = Tables::new(tables, runs.len())?;
    let runs: Vec<_> = runs.iter().map(|(_, _, digest, head)| (digest, head)).collect();
    Ok(py.detach(|| runs.iter().enumerate().map(|(i, (digest, head))| tables.digest(head, i) == **digest).collect()))
}

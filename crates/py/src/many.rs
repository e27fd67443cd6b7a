//! The traces of many runs at once, as shards of results keep them.

use crate::document::Document;
use crate::stored::{Columns, PyTrace, experiment_of, hexadecimal, kept_columns, restored};
use longfat_experiment::Resolver;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;

/// Runs that stand one behind the other: of each run its number in a document where the caller has one, what it resolved to, its digest, and
/// what the digest begins with.
type Heads = Vec<(Option<u64>, String, String, Vec<u8>)>;
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

/// The traces of runs; `None` for one that is not what was written, or of which none can be made. Those that have a number are of `document`.
#[pyfunction]
pub fn restore_all(
    py: Python<'_>,
    runs: Heads,
    tables: Stacked<'_>,
    document: Option<PyRef<'_, Document>>,
) -> PyResult<Vec<Option<PyTrace>>> {
    let tables = Tables::new(tables, runs.len())?;
    let document = document.as_ref().map(|document| document.document());
    let restore = || {
        let mut resolver = document.map(Resolver::new);
        let mut one = |i: usize| {
            let (number, resolved, digest, head) = &runs[i];
            if tables.digest(head, i) != *digest {
                return None;
            }
            // It is faster to resolve it than to make it of its text.
            let known = resolver.as_mut().zip(*number).and_then(|(resolver, number)| resolver.resolve(number).ok());
            let experiment = known.map_or_else(|| experiment_of(resolved).ok(), |known| Some(known.experiment()))?;
            restored(experiment, &mut |name, with| {
                let columns = tables.columns.get(name).ok_or_else(|| PyValueError::new_err(format!("there is no table {name}")))?;
                with(columns, tables.rows(name, i))
            })
            .ok()
        };
        (0..runs.len()).map(&mut one).collect()
    };
    Ok(py.detach(restore))
}

/// Which of the runs are what was written.
#[pyfunction]
pub fn check_all(py: Python<'_>, runs: Heads, tables: Stacked<'_>) -> PyResult<Vec<bool>> {
    let tables = Tables::new(tables, runs.len())?;
    let runs: Vec<_> = runs.iter().map(|(_, _, digest, head)| (digest, head)).collect();
    Ok(py.detach(|| runs.iter().enumerate().map(|(i, (digest, head))| tables.digest(head, i) == **digest).collect()))
}

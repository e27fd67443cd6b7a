//! Packet scripts.

use longfat_experiment::short;
use longfat_script::{IpVersion, Options, Place, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::path::PathBuf;

/// The text of a file that the user names. OSError where it is none, is not a regular file, or is longer than 32 MiB.
#[pyfunction]
pub(crate) fn read_text(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    Ok(py.detach(|| longfat_script::read_text(&path))?)
}

/// Runs the script `text`; `file` is where it is, and what the report calls it.
#[pyfunction]
#[pyo3(signature = (text, file, *, ip_version=None, settings=Vec::new(), verbose=false, init_scripts=Vec::new(), all=false))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn run_script<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    ip_version: Option<&str>,
    settings: Vec<(String, String)>,
    verbose: bool,
    init_scripts: Vec<String>,
    all: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let named = |name: &str| IpVersion::named(name).ok_or_else(|| PyValueError::new_err(format!("no version of IP is called {name:?}")));
    let options = Options { ip_version: ip_version.map(named).transpose()?, settings, verbose, init_scripts, all };
    let report: Report = py.detach(|| longfat_script::run(text, file, &options));
    let result = PyDict::new(py);
    result.set_item("file", file)?;
    result.set_item("ip_version", report.ip_version.name())?;
    result.set_item("verdict", report.verdict.word())?;
    let finding = report.verdict.finding();
    result.set_item("line", finding.map(|f| f.place.line))?;
    result.set_item("column", finding.map(|f| f.place.column))?;
    // Text of a script may be of any length.
    result.set_item("message", finding.map(|f| short(&f.message)))?;
    result.set_item("details", finding.map_or(Vec::new(), |f| shorts(&f.details)))?;
    let expectations = report.expectations.iter().map(|one| {
        let dict = PyDict::new(py);
        let finding = one.verdict.finding();
        dict.set_item("line", one.place.line)?;
        dict.set_item("column", one.place.column)?;
        dict.set_item("what", short(&one.what))?;
        dict.set_item("verdict", one.verdict.word())?;
        dict.set_item("message", finding.map(|f| short(&f.message)))?;
        dict.set_item("details", finding.map_or(Vec::new(), |f| shorts(&f.details)))?;
        Ok(dict)
    });
    result.set_item("expectations", expectations.collect::<PyResult<Vec<_>>>()?)?;
    result.set_item("warnings", placed(&report.warnings))?;
    result.set_item("notes", placed(&report.notes))?;
    result.set_item("printed", &report.printed)?;
    Ok(result)
}

/// Lines from a script, each of a length that can be shown.
fn shorts(lines: &[String]) -> Vec<Cow<'_, str>> {
    lines.iter().map(|line| short(line)).collect()
}

/// Returns the messages about lines of a script, with their numbers.
fn placed(said: &[(Place, String)]) -> Vec<(u32, Cow<'_, str>)> {
    said.iter().map(|(place, text)| (place.line, short(text))).collect()
}

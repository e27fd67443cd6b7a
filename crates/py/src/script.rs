//! Packet scripts.

use longfat_script::{IpVersion, Options, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs the script `text`; `file` is where it is, and what the report calls it.
#[pyfunction]
#[pyo3(signature = (text, file, *, ip_version=None, settings=Vec::new(), verbose=false, init_scripts=Vec::new(), all=false))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn run_script<'py>(
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
    result.set_item("message", finding.map(|f| f.message.as_str()))?;
    result.set_item("details", finding.map_or(Vec::new(), |f| f.details.clone()))?;
    let expectations = report.expectations.iter().map(|one| {
        let dict = PyDict::new(py);
        let finding = one.verdict.finding();
        dict.set_item("line", one.place.line)?;
        dict.set_item("column", one.place.column)?;
        dict.set_item("what", &one.what)?;
        dict.set_item("verdict", one.verdict.word())?;
        dict.set_item("message", finding.map(|f| f.message.as_str()))?;
        dict.set_item("details", finding.map_or(Vec::new(), |f| f.details.clone()))?;
        Ok(dict)
    });
    result.set_item("expectations", expectations.collect::<PyResult<Vec<_>>>()?)?;
    result.set_item("warnings", report.warnings.iter().map(|(place, text)| (place.line, text.as_str())).collect::<Vec<_>>())?;
    result.set_item("notes", report.notes.iter().map(|(place, note)| (place.line, note.as_str())).collect::<Vec<_>>())?;
    result.set_item("printed", &report.printed)?;
    Ok(result)
}

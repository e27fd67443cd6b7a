//! Packet scripts.

use longfat_script::Report;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs the script `text`; `file` is what the report calls it.
#[pyfunction]
pub fn run_script<'py>(py: Python<'py>, text: &str, file: &str) -> PyResult<Bound<'py, PyDict>> {
    let report: Report = py.detach(|| longfat_script::run(text, file));
    let result = PyDict::new(py);
    result.set_item("file", file)?;
    result.set_item("verdict", report.verdict.word())?;
    let finding = report.verdict.finding();
    result.set_item("line", finding.map(|f| f.place.line))?;
    result.set_item("column", finding.map(|f| f.place.column))?;
    result.set_item("message", finding.map(|f| f.message.as_str()))?;
    result.set_item("details", finding.map_or(Vec::new(), |f| f.details.clone()))?;
    result.set_item("notes", report.notes.iter().map(|(place, note)| (place.line, note.as_str())).collect::<Vec<_>>())?;
    result.set_item("printed", &report.printed)?;
    Ok(result)
}

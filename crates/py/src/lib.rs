//! The Python module `longfat._longfat`: thin.

use pyo3::prelude::*;

#[pymodule]
fn _longfat(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}

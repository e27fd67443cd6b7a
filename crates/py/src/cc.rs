//! Congestion controls for the kernel.

use longfat_bpf::{Error, Place, list, load, unload};
use pyo3::prelude::*;

pyo3::import_exception!(longfat.errors, LongfatError);

fn error(why: Error) -> PyErr {
    LongfatError::new_err(why.to_string())
}

/// Every control that the kernel has or could have of ours: its name there, and whose it is ("kernel", "loaded", "set").
#[pyfunction]
pub(crate) fn cc_list() -> Vec<(String, &'static str)> {
    let word = |place| match place {
        Place::Kernel => "kernel",
        Place::Loaded => "loaded",
        Place::Set => "set",
    };
    list().into_iter().map(|one| (one.name, word(one.place))).collect()
}

/// Registers a control with the kernel, with these parameters of its own. Its name there. LongfatError where that cannot be.
#[pyfunction]
pub(crate) fn cc_load(py: Python<'_>, name: &str, params: Vec<(String, String)>) -> PyResult<&'static str> {
    py.detach(|| load(name, &params)).map_err(error)
}

/// Takes a control from the kernel; one in use only by `force`. Its name there. LongfatError where that cannot be.
#[pyfunction]
pub(crate) fn cc_unload(py: Python<'_>, name: &str, force: bool) -> PyResult<&'static str> {
    py.detach(|| unload(name, force)).map_err(error)
}

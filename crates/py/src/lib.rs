//! The Python module `longfat._longfat`: thin. What it offers is written down in `python/longfat/_longfat.pyi`.

mod backend;
mod capture;
mod cc;
mod choose;
mod control;
mod document;
mod error;
mod gym;
mod hooks;
mod live;
mod many;
mod registries;
mod samples;
mod script;
mod simulation;
mod stored;
mod table;
mod tables;
mod testbed;
mod visit;

use pyo3::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the value below which a variable of Student's t with this many degrees of freedom lies with this probability. NaN where there is
/// none.
#[pyfunction]
fn student_t(probability: f64, freedom: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom);
    let is_inside = probability > 0.0 && probability < 1.0;
    distribution.ok().filter(|_| is_inside).map_or(f64::NAN, |t| t.inverse_cdf(probability))
}

#[pymodule]
fn _longfat(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("RESULTS_VERSION", longfat_experiment::RESULTS_VERSION)?;
    module.add("CODE", env!("LONGFAT_CODE"))?;
    module.add("METRICS", env!("LONGFAT_METRICS"))?;
    module.add("COMMIT", env!("LONGFAT_COMMIT"))?;
    module.add("HAS_BPF", longfat_bpf::IS_BUILT)?;
    module.add_class::<document::Document>()?;
    module.add_class::<document::Run>()?;
    module.add_class::<stored::PyTrace>()?;
    module.add_class::<control::PyCongestionControl>()?;
    module.add_class::<simulation::PySimulation>()?;
    module.add_class::<gym::Environments>()?;
    module.add_class::<gym::Decider>()?;
    module.add_function(wrap_pyfunction!(gym::gym_registries, module)?)?;
    module.add_function(wrap_pyfunction!(gym::register_policy, module)?)?;
    module.add_class::<samples::PyWindow>()?;
    module.add_class::<samples::PyAck>()?;
    module.add_class::<samples::PyCongestion>()?;
    module.add_function(wrap_pyfunction!(hooks::register_control, module)?)?;
    module.add_function(wrap_pyfunction!(hooks::conformance_checks, module)?)?;
    module.add_function(wrap_pyfunction!(document::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(document::schema, module)?)?;
    module.add_function(wrap_pyfunction!(student_t, module)?)?;
    module.add_function(wrap_pyfunction!(stored::listed, module)?)?;
    module.add_function(wrap_pyfunction!(many::check_all, module)?)?;
    module.add_function(wrap_pyfunction!(many::tables_of_all, module)?)?;
    module.add_function(wrap_pyfunction!(cc::cc_list, module)?)?;
    module.add_function(wrap_pyfunction!(cc::cc_load, module)?)?;
    module.add_function(wrap_pyfunction!(cc::cc_unload, module)?)?;
    capture::add(module)?;
    module.add_function(wrap_pyfunction!(capture::trace, module)?)?;
    module.add_function(wrap_pyfunction!(capture::trace_packets, module)?)?;
    module.add_function(wrap_pyfunction!(capture::trace_features, module)?)?;
    module.add_function(wrap_pyfunction!(capture::trace_thresholds, module)?)?;
    module.add_function(wrap_pyfunction!(script::run_script, module)?)?;
    module.add_function(wrap_pyfunction!(script::read_text, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_port, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_key_new, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_key_add, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_serve, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_greet, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_attack, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_survey, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_stamp, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_iperf, module)?)?;
    module.add_function(wrap_pyfunction!(testbed::testbed_findings, module)?)?;
    module.add_function(wrap_pyfunction!(testbed::testbed_facts, module)?)?;
    module.add_function(wrap_pyfunction!(testbed::testbed_shell, module)?)?;
    module.add_function(wrap_pyfunction!(registries::registries, module)?)
}

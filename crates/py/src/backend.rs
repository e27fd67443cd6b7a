//! How each backend is run: the one place that knows their crates.

use longfat_core::time::Time;
use longfat_experiment::trace::Trace;
use longfat_experiment::{Backend, Experiment};

/// Runs `experiment` by `backend`; calls `go_on` with the virtual time every few milliseconds, and stops when it says `false`.
pub fn run(backend: &Backend, experiment: &Experiment, go_on: &mut dyn FnMut(Time) -> bool) -> Result<Trace, String> {
    match backend.name {
        "sim" => longfat_sim::run_with(experiment, go_on).map_err(|e| e.to_string()),
        name => panic!("nothing here runs the backend {name}"),
    }
}

//! How each backend is run: the one place that knows their crates.

use longfat_experiment::trace::Trace;
use longfat_experiment::{Backend, Experiment};
use longfat_sim::Progress;

/// Runs `experiment` by `backend`; calls `go_on` with how far it is every few milliseconds, and stops when it says `false`.
pub fn run(backend: &Backend, experiment: &Experiment, go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Result<Trace, String> {
    match backend.name {
        "sim" => longfat_sim::run_with(experiment, go_on).map_err(|e| e.to_string()),
        name => panic!("nothing here runs the backend {name}"),
    }
}

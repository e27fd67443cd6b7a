//! The virtual-time driver: runs an experiment over longfat's own TCP, queues and links.

use longfat_core::experiment::Experiment;
use longfat_core::trace::Trace;

/// Runs `experiment` to its end. The same experiment gives the same trace, bit for bit, on every machine.
pub fn run(experiment: &Experiment) -> Trace {
    let _ = experiment;
    todo!()
}

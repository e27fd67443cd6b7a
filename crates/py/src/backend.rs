//! Backends and how each is run: the one place that knows their crates.

use std::sync::Arc;

use longfat_core::time::Time;
use longfat_disk::TemporaryFile;
use longfat_experiment::Backend;
use longfat_live::Seen;
use longfat_model::Experiment;
use longfat_record::trace::Trace;

/// Progress of a run.
pub(crate) trait Progress {
    /// Virtual time.
    fn now(&self) -> Time;
    /// Packets that links have transmitted, each as often as it crossed one.
    fn crossings(&self) -> u64;
    /// Ends of TCP flows of a real path at this host.
    fn seen(&self) -> Vec<Seen> {
        Vec::new()
    }
}

impl Progress for longfat_sim::Progress<'_> {
    fn now(&self) -> Time {
        self.now()
    }
    fn crossings(&self) -> u64 {
        self.crossings()
    }
}

impl Progress for longfat_testbed::Progress {
    fn now(&self) -> Time {
        self.now
    }
    fn crossings(&self) -> u64 {
        self.crossings
    }
}

impl Progress for longfat_live::Progress<'_> {
    fn now(&self) -> Time {
        self.now
    }
    fn crossings(&self) -> u64 {
        0
    }
    fn seen(&self) -> Vec<Seen> {
        (self.seen)()
    }
}

/// Checks that `backend` can run `experiment` here and now, without starting it.
pub(crate) fn ready(backend: &Backend, experiment: &Experiment) -> Result<(), String> {
    match backend.name {
        "testbed" => longfat_testbed::ready(experiment).map_err(|e| e.to_string()),
        "live" => longfat_live::ready(experiment).map_err(|e| e.to_string()),
        _ => Ok(()),
    }
}

/// Runs `experiment` by `backend`; calls `go_on` with how far it is every few milliseconds, and stops when it says `false`. A trace that it
/// gives all the same is of the time until then. So is one beside which there is a sentence: how the other host was lost.
pub(crate) fn run(
    backend: &Backend,
    experiment: &Experiment,
    go_on: &mut dyn FnMut(&dyn Progress) -> bool,
) -> Result<(Trace, Option<String>), String> {
    let whole = |trace: Trace| (trace, None);
    let spill = Arc::new(TemporaryFile::default());
    match backend.name {
        "sim" => longfat_sim::run_with(experiment, Some(spill), &mut |run| go_on(run)).map(whole).map_err(|e| e.to_string()),
        "testbed" => longfat_testbed::run_with(experiment, &mut |run| go_on(run)).map(whole).map_err(|e| e.to_string()),
        "live" => {
            let ran = longfat_live::run_with(experiment, &mut |run| go_on(run));
            ran.map(|(trace, lost)| (trace, lost.map(|e| e.to_string()))).map_err(|e| e.to_string())
        }
        name => panic!("nothing here runs the backend {name}"),
    }
}

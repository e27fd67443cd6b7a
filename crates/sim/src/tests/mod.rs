//! Whole runs: each part against timelines worked out by hand, and networks at random.

mod aqm;
mod bounds;
mod cake;
mod cells;
mod chance;
mod classes;
mod conformance;
mod delay_based;
mod ecn;
mod endings;
mod fast_open;
mod flow_control;
mod golden;
mod hosts;
mod limits;
mod memory;
mod moves;
mod offload;
mod packets;
mod probes;
mod random;
mod rates;
mod runs;
mod shared;
mod slow_start;
mod stages;
mod stepping;
mod ties;
mod traffic;
mod unsteady;
mod waits;
mod window_sizing;
mod xcp;

/// Returns the warnings about a run of `experiment` that left `trace`: all, or those with one name.
fn warnings(experiment: &longfat_model::Experiment, trace: &longfat_record::trace::Trace, name: Option<&str>) -> Vec<String> {
    let given = longfat_record::warning::of(experiment, trace).into_iter();
    given.filter(|given| name.is_none_or(|name| given.warning.name == name)).map(|given| given.text).collect()
}

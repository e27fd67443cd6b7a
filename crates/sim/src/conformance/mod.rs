//! Conformance of whole runs: what registry entries promise of themselves (`promises`), measured over small networks. The tests run every entry;
//! users run a congestion control of their own.

mod controls;
pub mod golden;
mod queues;

pub use controls::control;
pub use queues::queue;

use longfat_model::Experiment;
use longfat_record::trace::Trace;

use crate::{Error, run_with};

/// Result of a run for one claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The claim, after the name of the entry: "uses at least 90 % of an empty path".
    pub claim: String,
    /// The run's result: "99.8 %".
    pub measured: String,
    /// Why the claim does not hold, as a sentence that begins with the entry; `None`: it holds.
    pub fault: Option<String>,
}

/// Runs `experiment`, for as long as `go_on` says so.
fn trace(experiment: &Experiment, go_on: &mut dyn FnMut() -> bool) -> Result<Trace, Error> {
    run_with(experiment, None, &mut |_| go_on())
}

/// Seconds measured.
fn span(trace: &Trace) -> f64 {
    trace.span.1.since(trace.span.0).as_secs_f64()
}

/// Payload of flow `flow` in the measured span, as a share of what a link of `bps` carries of segments of `mss` in packets of 1500 bytes.
fn share(trace: &Trace, flow: usize, bps: u64, mss: u32) -> f64 {
    let record = &trace.flows[flow];
    let most = bps as f64 / 8.0 * span(trace) * f64::from(mss) / 1500.0;
    record.measured().delivered as f64 / most
}

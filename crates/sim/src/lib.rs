//! The virtual-time driver: runs an experiment over longfat's own TCP, queues and links.
//!
//! The network is cut into [stages](stage): links, ports of switches, endpoints, routers whose ports share a memory, and hosts whose endpoints
//! share more than a link. A plan of the [`engine`] says how far each may live by itself before the next has its turn. [`measure`] writes down what is asked for, and [`audit`]
//! checks at the end that no packet was lost from the books.

mod audit;
pub mod conformance;
mod context;
mod due;
mod engine;
mod ledger;
mod measure;
mod simulation;
mod stage;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_record::recorder::Recorder;
use longfat_record::trace::{Spill, Trace};

use engine::world::World;
pub use simulation::{FlowState, Progress, Simulation};

/// Why there is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A flow joins nodes without a path between them in both directions (or a node with itself).
    NoRoute {
        /// The number of the flow.
        flow: usize,
        /// Group of the flow in the file.
        group: String,
        /// The node it starts at.
        from: String,
        /// The node it goes to.
        to: String,
    },
    /// The caller asked to stop.
    Cancelled {
        /// Time that the run had reached.
        at: Time,
    },
    /// The store of the series has no room left.
    Recording {
        /// Time that the run had reached.
        at: Time,
        /// Reason that the store gives.
        why: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoRoute { flow, group, from, to } => {
                write!(f, "flow {flow} ({group}): no path leads from {from} to {to}; a flow needs links both ways, through routers")
            }
            Error::Cancelled { at } => write!(f, "cancelled at {} s of virtual time", at.as_secs_f64()),
            Error::Recording { at, why } => {
                let at = at.as_secs_f64();
                write!(f, "at {at} s of virtual time the series had no room: {why}; a longer `measure.interval` makes fewer samples")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Runs `experiment` to its end, with all of its record in memory. Equal experiments give equal traces, bit for bit, on every machine.
///
/// # Errors
/// [`Error::NoRoute`] when a flow's ends are not joined.
pub fn run(experiment: &Experiment) -> Result<Trace, Error> {
    run_with(experiment, None, &mut |_| true)
}

/// Runs `experiment` as [`run`] does, with series that outgrow memory in `spill`. Calls `go_on` every few milliseconds with how far the run is;
/// when it says `false`, the run is over.
///
/// # Errors
/// [`Error::NoRoute`] when a flow's ends are not joined, [`Error::Cancelled`] when `go_on` said so, [`Error::Recording`] where there is no
/// room for the series.
pub fn run_with(
    experiment: &Experiment,
    spill: Option<Arc<dyn Spill>>,
    go_on: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Result<Trace, Error> {
    drive(World::new(experiment)?, experiment, spill, go_on)
}

/// Runs `world`, the one of `experiment`, to its end.
fn drive(
    mut world: World,
    experiment: &Experiment,
    spill: Option<Arc<dyn Spill>>,
    go_on: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Result<Trace, Error> {
    let mut recorder = Recorder::new(experiment, spill);
    simulation::advance(&mut world, &mut recorder, Time::MAX, go_on)?;
    simulation::finish(world, recorder, experiment)
}

//! The virtual-time driver: runs an experiment over longfat's own TCP, queues and links.
//!
//! The network is cut into [stages](stage): links, ports of switches, endpoints, routers whose ports share a memory, and hosts whose endpoints
//! share more than a link. A plan of the [`engine`] says how far each may live by itself before the next has its turn. [`measure`] writes down what is asked for, and [`audit`]
//! checks at the end that no packet was lost from the books.

mod audit;
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

use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_record::trace::Trace;

use engine::world::World;
use measure::Recorder;
pub use simulation::{FlowState, Progress, Simulation};

/// Why there is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A flow between nodes that no path joins, both ways (or from a node to itself).
    NoRoute {
        /// The number of the flow.
        flow: usize,
        /// Its group in the file.
        group: String,
        /// The node it starts at.
        from: String,
        /// The node it goes to.
        to: String,
    },
    /// The caller asked to stop.
    Cancelled {
        /// How far the run had come.
        at: Time,
    },
    /// The temporary file of the series cannot be made, or has no room left.
    Recording {
        /// How far the run had come.
        at: Time,
        /// What the system says.
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
                let folder = std::env::temp_dir();
                write!(
                    f,
                    "at {} s of virtual time the series had no room in a temporary file in {}: {why}; TMPDIR names another folder, and a \
                     longer `measure.interval` makes fewer samples",
                    at.as_secs_f64(),
                    folder.display()
                )
            }
        }
    }
}

impl std::error::Error for Error {}

/// Runs `experiment` to its end. The same experiment gives the same trace, bit for bit, on every machine.
///
/// # Errors
/// [`Error::NoRoute`] when a flow's ends are not joined.
pub fn run(experiment: &Experiment) -> Result<Trace, Error> {
    run_with(experiment, &mut |_| true)
}

/// The same, and calls `go_on` with how far it is every few milliseconds; when it says `false`, the run is over.
///
/// # Errors
/// [`Error::NoRoute`] when a flow's ends are not joined, [`Error::Cancelled`] when `go_on` said so, [`Error::Recording`] where there is no
/// room for the series.
pub fn run_with(experiment: &Experiment, go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Result<Trace, Error> {
    drive(World::new(experiment)?, experiment, go_on)
}

/// Runs `world`, the one of `experiment`, to its end.
fn drive(mut world: World, experiment: &Experiment, go_on: &mut dyn FnMut(&Progress<'_>) -> bool) -> Result<Trace, Error> {
    let mut recorder = Recorder::new(experiment);
    simulation::advance(&mut world, &mut recorder, Time::MAX, go_on)?;
    simulation::finish(world, recorder, experiment)
}

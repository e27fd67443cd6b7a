//! What is asked and what came of it: the experiment as a person writes it (TOML, [`Document`]) and as a backend runs it
//! ([`Experiment`]), what a run records ([`trace`]), and the [metrics](metric) and [warnings](warning) computed from that.

mod adaptive;
pub mod backend;
mod base;
mod between;
pub mod chance;
pub mod cost;
mod document;
pub mod dumbbell;
mod elsewhere;
mod error;
mod fields;
pub mod forecast;
mod identity;
pub mod listing;
pub mod made;
pub mod metric;
mod model;
mod names;
mod plan;
mod print;
mod random;
mod resolve;
pub mod route;
mod schema;
mod shape;
mod sweep;
#[cfg(test)]
mod tests;
pub mod trace;
mod trace_file;
mod tree;
mod view;
pub mod warning;
mod write;

pub use adaptive::{Precision, Search};
pub use backend::Backend;
pub use document::{Document, Run, restore};
pub use error::{Error, Report, nearest, short};
pub use identity::{RESULTS_VERSION, defaults};
pub use longfat_tcp::Offload;
pub use model::{
    Backlog, Cpu, Cycles, Experiment, Flow, Host, Intake, Interrupts, Link, Measure, Memory, Move, Network, Nic, Node, NodeKind, OnFull,
    Pause, Router, Starts, Ties, Watched, When,
};
pub use plan::{Plan, Resolver};
pub use random::Distribution;
pub use schema::{reference, schema};
pub use sweep::Axis;
pub use trace_file::TraceFile;

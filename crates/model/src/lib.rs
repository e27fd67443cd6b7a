//! One run, resolved: the [`Experiment`] that a backend runs, and what follows from it alone (routes, links, cost).

pub mod chance;
pub mod cost;
pub mod dumbbell;
mod experiment;
pub mod made;
pub mod random;
pub mod route;
mod trace_file;

pub use experiment::{
    Backlog, Cpu, Cycles, Experiment, Flow, Host, Intake, Interrupts, Link, Live, LiveHost, Measure, Memory, Move, Network, Nic, Node,
    NodeKind, OnFull, Pause, Router, Starts, Ties, Watched, When,
};
pub use longfat_tcp::Offload;
pub use random::Distribution;
pub use trace_file::{How, Quantity, TraceFile};

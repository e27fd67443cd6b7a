//! The experiment: what a person writes (TOML, [`Document`]), and what a backend runs ([`Experiment`]).

pub mod backend;
mod base;
mod document;
mod error;
mod fields;
mod identity;
pub mod listing;
mod model;
mod print;
mod resolve;
pub mod route;
mod schema;
mod shape;
mod sweep;
#[cfg(test)]
mod tests;
mod tree;
mod view;
mod write;

pub use crate::params::Choice;
pub use backend::Backend;
pub use document::{Document, Run, restore};
pub use error::{Error, Report, nearest};
pub use identity::{RESULTS_VERSION, defaults};
pub use model::{Cpu, Cycles, Experiment, Flow, Host, Link, Measure, Memory, Network, Nic, Node, NodeKind, OnFull, Ties, Traffic};
pub use schema::{reference, schema};
pub use sweep::Axis;

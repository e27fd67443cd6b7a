//! The experiment: what a person writes (TOML, [`Document`]), and what a backend runs ([`Experiment`]).

mod base;
pub mod cost;
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
pub mod warning;
mod write;

pub use crate::params::Choice;
pub use document::{Document, Run};
pub use error::{Error, Report, nearest};
pub use identity::RESULTS_VERSION;
pub use model::{Cpu, Cycles, Experiment, Flow, Host, Link, Measure, Memory, Network, Nic, Node, NodeKind, OnFull, Ties};
pub use schema::{reference, schema};
pub use sweep::Axis;

//! The experiment: what a person writes (TOML), and what a backend runs ([`Experiment`]).

mod model;
pub mod route;

pub use model::{Choice, Experiment, Flow, Link, Measure, Network, Node, Traffic};

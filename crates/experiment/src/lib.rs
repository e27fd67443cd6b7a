//! Experiments as a person writes them (TOML, [`Document`]), resolved to what a backend runs ([`longfat_model::Experiment`]).

mod adaptive;
pub mod backend;
mod base;
mod between;
mod document;
mod elsewhere;
mod error;
mod fields;
mod files;
mod fingerprint;
pub mod forecast;
mod identity;
pub mod listing;
mod names;
mod plan;
mod print;
mod resolve;
mod schema;
mod shape;
mod sweep;
#[cfg(test)]
mod tests;
mod trace_file;
mod tree;
mod view;
mod write;

pub use adaptive::{Precision, Search};
pub use backend::Backend;
pub use document::{Document, Run, restore};
pub use error::{Error, Report, nearest, short};
pub use files::{Files, NoFiles};
pub use fingerprint::fingerprint;
pub use identity::{RESULTS_VERSION, defaults};
pub use plan::{Plan, Resolver};
pub use schema::{reference, schema};
pub use sweep::Axis;

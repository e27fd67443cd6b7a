//! The TCP connections of a capture.

mod clock;
mod connection;
mod control;
mod copies;
mod direction;
mod own;
mod ranges;
mod rate;
pub mod records;
mod report;
mod rows;
mod rtt;
pub mod sampled;
mod series;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use own::{Judged, Own, Watched, beside};
pub use rows::rows;
#[cfg(test)]
pub(crate) use table::Table;
pub use table::trace;
pub use verdict::{FEATURES, Spec, thresholds};

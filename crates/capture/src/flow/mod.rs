//! What a capture says of each TCP connection in it.

mod clock;
mod connection;
mod control;
mod copies;
mod direction;
mod ranges;
mod rate;
mod report;
mod rows;
mod rtt;
mod series;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use rows::rows;
#[cfg(test)]
pub use table::Table;
pub use table::trace;
pub use verdict::{FEATURES, Spec, thresholds};

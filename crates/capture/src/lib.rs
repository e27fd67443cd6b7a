//! Captures: pcapng [out](write) of what a run recorded, and [in](trace) of what anybody captured.

mod error;
mod flow;
mod out;
pub mod read;

pub use error::Error;
pub use flow::{FEATURES, Spec, records, rows, thresholds, trace};
pub use out::{Place, write};

//! Captures: pcapng [out](fn@write) of a run's records, and [in](trace) of captures of any source.

mod error;
mod flow;
mod out;
pub mod read;

pub use error::Error;
pub use flow::{FEATURES, Judged, Own, Spec, Watched, beside, records, rows, sampled, thresholds, trace};
pub use out::{Place, write};

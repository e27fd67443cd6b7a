//! Captures: pcapng [out](write) of what a run recorded.

mod error;
mod out;

pub use error::Error;
pub use out::{Place, write};

//! File system, for the crates that know none: [`Disk`] reads the files that experiments name, [`TemporaryFile`] has the rows of series that
//! outgrow memory.

mod named;
mod temporary;

pub use named::Disk;
pub use temporary::TemporaryFile;

//! The file that the rate or the delay of a link was read from.

use longfat_core::time::Duration;

/// A file that a trace comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// Where it was.
    pub path: String,
    /// Of what it holds, in hexadecimal.
    pub sha256: String,
    /// Whether it was there to be read. If not, the trace that a link has is empty, and stands for it where nothing is run.
    pub is_there: bool,
    /// The name of its format.
    pub format: &'static str,
    /// What else was said of it.
    pub how: How,
}

/// What is said of a file beside its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct How {
    /// What its values are of.
    pub of: Quantity,
    /// The column that its values are, where the file does not say so.
    pub value: Option<&'static str>,
    /// The time from one value to the next, where the file does not say so.
    pub interval: Option<Duration>,
}

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Bits a second.
    Rate,
    /// Picoseconds.
    Delay,
}

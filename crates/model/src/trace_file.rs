//! The file that the rate or the delay of a link was read from, and how files of values are read.

use longfat_core::time::Duration;

/// A file that a trace comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// Path of the file.
    pub path: String,
    /// Digest of its contents, in hexadecimal.
    pub sha256: String,
    /// True if the file could be read. If not, the link has an empty trace, which stands for it where nothing is run.
    pub is_there: bool,
    /// The name of its format.
    pub format: &'static str,
    /// Options beside the format.
    pub how: How,
}

/// Options of a trace file beside its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct How {
    /// Quantity of its values.
    pub of: Quantity,
    /// The column that its values are, where the file does not say so.
    pub value: Option<&'static str>,
    /// The time from one value to the next, where the file does not say so.
    pub interval: Option<Duration>,
}

/// Quantity that a file has: of a link that changes, or of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Bits a second.
    Rate,
    /// Picoseconds.
    Delay,
    /// Bytes of a connection.
    Size,
}

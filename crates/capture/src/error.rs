//! Errors of a capture, and of requests about one.

use std::fmt;
use std::io;

/// One clear message.
#[derive(Debug)]
pub enum Error {
    /// The user asked for something that does not exist.
    Asked(String),
    /// A file cannot be read at all.
    File {
        /// Name as given.
        name: String,
        /// Defect of the file.
        what: String,
    },
    /// A file could not be written.
    Write(io::Error),
    /// Whoever is told of the progress said stop.
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Asked(what) => f.write_str(what),
            Error::File { name, what } => write!(f, "{name}: {what}"),
            Error::Write(error) => error.fmt(f),
            Error::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Write(error)
    }
}

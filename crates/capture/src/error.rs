//! What can be wrong with a capture, or with what is asked of one.

use std::fmt;
use std::io;

/// One clear message.
#[derive(Debug)]
pub enum Error {
    /// What the user asked for cannot be had.
    Asked(String),
    /// Nothing of the file can be read.
    File {
        /// As given.
        name: String,
        /// What is wrong with it.
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

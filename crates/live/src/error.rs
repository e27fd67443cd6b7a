//! Why there is no measurement.

use std::fmt;

/// Reason why a measurement, or a server, did not begin or did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The experiment asks for what a host has otherwise, or cannot be told.
    Unsupported {
        /// The key of the experiment.
        key: String,
        /// Difference, and the line that sets it.
        what: String,
    },
    /// A key that is missing, not readable, or readable by others.
    Key(String),
    /// The other side said no, or was lost.
    Session {
        /// Address of the other side.
        at: String,
        /// Reason in a sentence.
        why: String,
    },
    /// The system refused something.
    System {
        /// Operation that was tried.
        what: String,
        /// Answer of the system.
        why: String,
    },
}

impl Error {
    /// Returns the refusal of the operation `what`.
    pub fn system(what: impl Into<String>, why: impl fmt::Display) -> Self {
        Error::System { what: what.into(), why: why.to_string() }
    }
    /// Returns the end of a session with the server at `at`.
    pub fn session(at: impl fmt::Display, why: impl fmt::Display) -> Self {
        Error::Session { at: at.to_string(), why: why.to_string() }
    }
    /// Returns the refusal of `key` of the experiment.
    pub fn unsupported(key: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Unsupported { key: key.into(), what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported { key, what } => write!(f, "`{key}`: {what}"),
            Error::Key(why) => f.write_str(why),
            Error::Session { at, why } => write!(f, "{at}: {why}"),
            Error::System { what, why } => write!(f, "{what}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

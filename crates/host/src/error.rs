//! Why a host did not do what it was asked for.

use std::fmt;

/// Refusal of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The kernel lacks a congestion control.
    NoControl {
        /// Name of the control in `TCP_CONGESTION`.
        name: String,
        /// Answer of the system.
        why: String,
    },
    /// The system refused something that it should grant.
    System {
        /// Operation that was tried.
        what: String,
        /// Answer of the system.
        why: String,
    },
}

impl Error {
    /// Returns the refusal of the operation `what`.
    pub fn system(what: &str, why: impl fmt::Display) -> Self {
        Error::System { what: what.to_owned(), why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoControl { name, why } => {
                write!(f, "{name}: this kernel does not have it ({why}; see net.ipv4.tcp_available_congestion_control)")
            }
            Error::System { what, why } => write!(f, "{what}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

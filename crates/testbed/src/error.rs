//! Why there is no run.

use std::fmt;

use longfat_core::time::Time;

/// Why there is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The kernel cannot be told what the experiment asks for.
    Unsupported {
        /// The key of the experiment.
        key: String,
        /// Feature in words.
        what: String,
    },
    /// A right is missing.
    NotPermitted {
        /// Requirements that are missing.
        missing: Vec<String>,
    },
    /// Another testbed is running.
    Busy {
        /// Process of that testbed.
        pid: String,
    },
    /// A flow between nodes that no path joins.
    NoRoute {
        /// Group of the flow in the file.
        group: String,
        /// Node at which it starts.
        from: String,
        /// Node to which it goes.
        to: String,
    },
    /// The system refused something that it should grant.
    System {
        /// Operation that was tried.
        what: String,
        /// Answer of the system.
        why: String,
    },
    /// The caller asked to stop.
    Cancelled {
        /// Time that the run had reached.
        at: Time,
    },
}

impl Error {
    #[cfg(target_os = "linux")]
    pub(crate) fn unsupported(key: &str, what: &str) -> Self {
        Error::Unsupported { key: key.to_owned(), what: what.to_owned() }
    }
    #[cfg(target_os = "linux")]
    pub(crate) fn system(what: &str, why: impl fmt::Display) -> Self {
        Error::System { what: what.to_owned(), why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unsupported { key, what } => write!(f, "`{key}`: the backend `testbed` cannot do {what}"),
            Error::NotPermitted { missing } => write!(
                f,
                "the testbed needs rights that this process does not have: {}. Run it as root, or in a container with these capabilities",
                missing.join(", ")
            ),
            Error::Busy { pid } => {
                write!(
                    f,
                    "another testbed is running (process {pid}): two would share cores, and neither could be trusted. Wait for it, or end it"
                )
            }
            Error::NoRoute { group, from, to } => {
                write!(f, "flow {group}: no path leads from {from} to {to}; a flow needs links both ways, through routers")
            }
            Error::System { what, why } => write!(f, "{what}: {why}"),
            Error::Cancelled { at } => write!(f, "cancelled at {} s", at.as_secs_f64()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(target_os = "linux")]
impl From<longfat_host::Error> for Error {
    fn from(error: longfat_host::Error) -> Self {
        match error {
            longfat_host::Error::NoControl { .. } => Error::unsupported("flow.congestion_control", &error.to_string()),
            longfat_host::Error::System { what, why } => Error::System { what, why },
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_the_kernel_lacks_is_the_flows() {
        let error = Error::from(longfat_host::Error::NoControl { name: "fast".to_owned(), why: "ENOENT".to_owned() });
        let said = "`flow.congestion_control`: the backend `testbed` cannot do fast: this kernel does not have it (ENOENT; see \
                    net.ipv4.tcp_available_congestion_control)";
        assert_eq!(error.to_string(), said);
    }
}

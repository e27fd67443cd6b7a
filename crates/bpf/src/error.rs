//! Errors, in words for the user.

use std::fmt;

/// Reasons why a control was not loaded or unloaded.
#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// No twin has this name.
    Unknown {
        /// Name as asked for.
        name: String,
        /// Name that may have been meant.
        nearest: &'static str,
    },
    /// A parameter has a wrong value: a sentence for the user.
    Parameter(String),
    /// This build has no BPF.
    NotBuilt,
    /// The process lacks this privilege.
    NotAllowed(&'static str),
    /// The kernel has no BTF to describe its structures.
    NoBtf,
    /// The control is loaded already.
    Loaded(&'static str),
    /// The control is not loaded.
    NotLoaded(&'static str),
    /// Connections, or defaults of namespaces, still use the control.
    InUse {
        /// Name in the kernel.
        name: &'static str,
        /// Number of connections and defaults.
        users: u32,
    },
    /// The kernel refused, or a file could not be made.
    Failed {
        /// Action that was tried.
        what: String,
        /// Reason of the failure.
        why: String,
    },
}

impl Error {
    #[cfg(feature = "bpf")]
    pub(crate) fn failed(what: impl Into<String>) -> impl FnOnce(Box<dyn std::error::Error>) -> Error {
        let what = what.into();
        move |why| Error::Failed { what, why: why.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unknown { name, nearest } => write!(f, "no control of the BPF set is called `{name}`; did you mean `{nearest}`?"),
            Error::Parameter(sentence) => f.write_str(sentence),
            Error::NotBuilt => {
                f.write_str("built without BPF: needs clang and libelf (`make system-packages` installs them, then `make build`)")
            }
            Error::NotAllowed(what) => write!(f, "needs {what}: run it as root"),
            Error::NoBtf => f.write_str("this kernel has no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF): its structures are not known"),
            Error::Loaded(name) => write!(f, "{name} is loaded already; unload it first to load it with other parameters"),
            Error::NotLoaded(name) => write!(f, "{name} is not loaded"),
            Error::InUse { name, users } => write!(
                f,
                "{name} is still in use: {users} {} it. With --force it goes as soon as they end, and new ones cannot have it",
                if *users == 1 { "connection or default has" } else { "connections or defaults have" },
            ),
            Error::Failed { what, why } => write!(f, "cannot {what}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

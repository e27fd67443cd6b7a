//! Replacement of `kernel.rs` in a build without BPF.

use longfat_core::params::Params;

use crate::{Error, Twin, find};

/// A control that is registered as long as this lives. There is none.
#[derive(Debug)]
pub enum Registered {}

/// Checks that `twin` may be registered here. It may not without the feature `bpf`.
pub fn ready(_twin: &Twin) -> Result<(), Error> {
    Err(Error::NotBuilt)
}

/// Registers `twin` with the kernel. Without the feature `bpf` it cannot.
pub fn register(_twin: &Twin, _params: &Params) -> Result<Registered, Error> {
    Err(Error::NotBuilt)
}

/// Registers the control `name` with the kernel, with `changes` of its parameters. Without the feature `bpf` it cannot.
pub fn load(name: &str, _changes: &[(String, String)]) -> Result<&'static str, Error> {
    find(name)?;
    Err(Error::NotBuilt)
}

/// Unregisters the control `name`. Without the feature `bpf` it cannot.
pub fn unload(name: &str, _force: bool) -> Result<&'static str, Error> {
    find(name)?;
    Err(Error::NotBuilt)
}

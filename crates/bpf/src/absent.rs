//! Replacement of `kernel.rs` in a build without BPF.

use std::os::fd::AsFd;

use longfat_core::params::Params;

use crate::{Error, Order, Step, Twin, find};

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

/// The control that agents steer. There is none.
#[derive(Debug)]
pub enum Steered {}

/// Checks that [`steer`] may be called here. It may not without the feature `bpf`.
pub fn ready_to_steer() -> Result<(), Error> {
    Err(Error::NotBuilt)
}

/// Registers the control that agents steer. Without the feature `bpf` it cannot.
pub fn steer() -> Result<Steered, Error> {
    Err(Error::NotBuilt)
}

impl Steered {
    /// Begins to steer a socket.
    pub fn begin(&self, _socket: &impl AsFd, _order: Order) -> Result<(), Error> {
        match *self {}
    }

    /// Orders a socket.
    pub fn order(&self, _socket: &impl AsFd, _order: Order) -> Result<(), Error> {
        match *self {}
    }

    /// Returns the last step of a socket.
    pub fn step(&self, _socket: &impl AsFd, _taken: u64) -> Result<Option<Step>, Error> {
        match *self {}
    }
}

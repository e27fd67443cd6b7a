//! Each host is a network namespace with one TUN device, whose other end is the [`emulator`]: the experiment's links on a virtual clock
//! ([`network`]). Applications are those of the simulator, on kernel sockets ([`session`], [`flow`], [`longfat_host`]). What could spoil the run is
//! measured while it runs ([`longfat_host::facts`]).

mod acks;
mod agents;
pub mod check;
mod controls;
mod emulator;
mod flow;
mod frame;
mod frames;
mod lock;
mod namespace;
mod network;
mod observe;
mod plan;
mod run;
mod session;
pub mod shell;

pub use run::{Progress, ready, run_with};

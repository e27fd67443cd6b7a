//! Each host is a network namespace with one TUN device, whose other end is the [`emulator`]: the experiment's links on a virtual clock
//! ([`network`]). Applications are those of the simulator, on kernel sockets ([`session`], [`flow`], [`stream`]). What could spoil the run is
//! measured while it runs ([`facts`]).

mod acks;
pub mod check;
mod clock;
mod controls;
mod datagrams;
mod emulator;
mod facts;
mod flow;
mod frame;
mod frames;
mod info;
mod lock;
mod namespace;
mod network;
mod observe;
mod plan;
mod run;
mod session;
pub mod shell;
mod stream;
mod sys;

pub use run::{Progress, ready, run_with};

//! Sockets, threads and files around the protocol.

mod captured;
mod client;
mod confine;
mod data;
mod datagrams;
mod due;
mod echo;
mod hops;
mod iperf;
pub mod keys;
mod look;
mod plane;
mod probe;
mod replay;
mod rows;
mod run;
mod serve;
mod settings;
mod stamp;
#[cfg(test)]
mod tests;
mod wall;
mod wire;

pub use iperf::iperf;
pub use run::{greet, ready, run_with, survey};
pub use serve::serve;
pub use stamp::stamp;

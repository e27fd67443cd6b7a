//! The Linux host: kernel sockets with the simulator's applications on them ([`flow`], [`stream`], [`datagrams`]), `TCP_INFO` ([`info`]), clocks
//! ([`clock`]), the path itself ([`path`]), what a host lost ([`facts`]), counters of the whole host ([`counters`]), the packets of
//! connections ([`capture`]), and cores near a card ([`near`]).
//!
//! It knows no path: sockets are made in the network namespace of the calling thread. Elsewhere than on Linux it is empty.
#![cfg(target_os = "linux")]

pub mod capture;
pub mod clock;
pub mod counters;
pub mod datagrams;
mod error;
pub mod facts;
pub mod flow;
pub mod info;
pub mod near;
pub mod options;
pub mod path;
mod qdisc;
pub mod sending;
pub mod stamps;
pub mod stream;
pub mod sys;

pub use error::Error;

//! The high-speed congestion controls for the Linux kernel: each of [`TWINS`] is a program in BPF (`bpf/NAME.bpf.c`) that does, hook by hook,
//! what its core file in `longfat_tcp::congestion` does. [`load`] registers one for the whole machine, [`unload`] takes it away; [`register`] does
//! so for as long as somebody holds it. [`steer`] registers a control that an agent in user space steers, socket by socket.
//!
//! Builds without the feature `bpf`, which needs clang and libelf, have only [`list`]; the other functions return what is missing.

mod agent;
mod error;
#[cfg(feature = "bpf")]
mod kernel;
#[cfg(not(feature = "bpf"))]
#[path = "absent.rs"]
mod kernel;
mod knobs;
mod listed;
#[cfg(feature = "bpf")]
mod privilege;
mod twins;

pub use agent::{AGENT, Order, Step};
pub use error::Error;
pub use kernel::{Registered, Steered, load, ready, ready_to_steer, register, steer, unload};
pub use knobs::{Knobs, knobs, settings};
pub use listed::{Listed, Place, list};
pub use twins::{TWINS, Twin, find};

/// True if this build can load controls.
pub const IS_BUILT: bool = cfg!(feature = "bpf");

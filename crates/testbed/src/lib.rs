//! The real-time driver: runs an experiment over the Linux kernel's TCP, and longfat's own queues and links.
//!
//! It needs Linux. Elsewhere everything is there, and says so.

#[cfg(not(target_os = "linux"))]
mod absent;
mod error;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use absent::{Progress, check, ready, run_with, shell};
pub use error::Error;
#[cfg(target_os = "linux")]
pub use linux::{Progress, check, ready, run_with, shell};

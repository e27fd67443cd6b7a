//! Measurements between two real hosts: the [`protocol`] by which a client and a server agree on them, the server, and the client, which runs an
//! experiment between itself and a server.
//!
//! The server and the client need Linux. Elsewhere everything is there, and says so.

#[cfg(not(target_os = "linux"))]
mod absent;
pub mod envelope;
mod error;
pub mod iperf;
#[cfg(target_os = "linux")]
mod linux;
pub mod options;
pub mod protocol;
pub mod stamp;
pub mod survey;

#[cfg(not(target_os = "linux"))]
pub use absent::{greet, iperf, keys, ready, run_with, serve, stamp, survey};
pub use error::Error;
#[cfg(target_os = "linux")]
pub use linux::{greet, iperf, keys, ready, run_with, serve, stamp, survey};
pub use options::{Greeting, IperfOptions, PORT, Progress, Said, Seen, ServeOptions, StampOptions};

//! TCP, sans-io: a [`Connection`] is told of segments and of time, and asked what to send and when to wake it.

pub mod congestion;
mod connection;
pub mod options;
pub mod stack;

pub use connection::{Connection, Stats, TcpInfo};
pub use options::{DelayedAck, RecoveryKind, TcpConfig};

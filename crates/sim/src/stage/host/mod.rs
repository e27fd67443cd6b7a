//! The parts of a host: its transmit queues, its processor, its receiving interface, its overhead and its memory.

pub mod interface;
pub mod memory;
pub mod nic;
pub mod overhead;
pub mod processor;

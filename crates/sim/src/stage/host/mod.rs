//! The parts of a host: its transmit queues, its processor, its receiving interface, its overhead and its memory.

pub mod interface;
pub mod memory;
pub mod nic;
pub mod overhead;
pub mod processor;

/// Place in the agenda of an island.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub island: u32,
    pub place: u32,
}

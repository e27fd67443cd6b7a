//! The parts of stages.

pub mod endpoint;
pub mod host;

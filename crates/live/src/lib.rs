//! Measurements between two real hosts: the [`protocol`] by which a client and a server agree on them.

pub mod protocol;

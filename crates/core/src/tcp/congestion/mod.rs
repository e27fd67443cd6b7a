//! Congestion controls: one file each, one line in the registry.

/// The names of every congestion control, as `TCP_CONGESTION` spells them.
pub const NAMES: &[&str] = &["reno"];

//! Metrics over a trace: one file each.

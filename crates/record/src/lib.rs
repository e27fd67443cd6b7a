//! Record of a run: its [`trace`], the [metrics](metric) and the [warnings](warning) computed from it.

pub mod metric;
pub mod trace;
pub mod warning;

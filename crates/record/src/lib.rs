//! Record of a run: its [`trace`], the [`recorder`] that makes it, and the [metrics](metric) and the [warnings](warning) computed from it.

pub mod metric;
pub mod recorder;
pub mod trace;
pub mod warning;

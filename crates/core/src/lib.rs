//! What TCP, its queues and its links decide: pure, with no clock, no I/O and no platform arithmetic.
//!
//! The same code runs under virtual time (`longfat-sim`) and, later, under real time. Modules see
//! each other in one direction only: [`units`], [`time`], [`rng`], [`params`] and [`packet`] come first,
//! then [`tcp`], [`traffic`], [`queue`] and [`link`] (`tcp` and `queue` never see each other), [`atm`], then [`experiment`],
//! [`trace`] and [`metric`].

pub mod atm;
pub mod experiment;
pub mod link;
pub mod metric;
pub mod packet;
pub mod params;
pub mod queue;
pub mod rng;
pub mod tcp;
pub mod time;
pub mod trace;
pub mod traffic;
pub mod units;

//! Decisions of queues, links, switches and sources, and the types that the other crates share: time, rates, packets, parameters. Pure: no
//! clock, no I/O, no arithmetic that differs between platforms.
//!
//! This code runs under virtual time (`longfat-sim`) and, later, under real time. Modules see each other in one direction only: [`units`],
//! [`time`], [`quantiles`], [`rng`], [`params`], [`promise`] and [`packet`] come first, then [`traffic`], [`queue`], [`atm`] and [`link`].

pub mod atm;
pub mod link;
pub mod packet;
pub mod params;
pub mod promise;
pub mod quantiles;
pub mod queue;
pub mod rng;
pub mod time;
pub mod traffic;
pub mod units;

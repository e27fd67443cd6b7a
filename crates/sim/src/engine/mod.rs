//! The engine: the [`plan`] of how far each stage may go alone, the [`world`] that gives the stages their turns, and the [`context`] that stages
//! share.

pub mod context;
pub mod due;
mod ending;
pub mod inputs;
mod layout;
pub mod merge;
mod plan;
pub mod route;
mod schedule;
mod snapshot;
mod units;
pub mod world;

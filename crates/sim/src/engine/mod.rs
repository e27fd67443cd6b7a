//! The engine: the [`plan`] of how far each stage may go alone, the [`world`] that gives the stages their turns, and what it needs for that.

pub mod due;
pub mod ending;
pub mod merge;
pub mod plan;
pub mod route;
pub mod schedule;
pub mod world;

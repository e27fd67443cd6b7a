//! The engine: the [`plan`] of how far each stage may go alone, and the [`world`] that gives the stages their turns.

mod layout;
mod plan;
mod schedule;
mod units;
pub(crate) mod world;

//! Environments for reinforcement learning: an agent steers flows of a simulation, decision by decision.
//!
//! An [`Env`] draws an experiment for each episode, runs it until a decision is due, and gives the agent an observation ([`observation`]) and
//! a reward ([`reward`]), both made from the same measures ([`moment`]). The agent's [`action`] holds until the next decision.

pub mod action;
mod env;
mod meter;
pub mod moment;
pub mod observation;
pub mod reward;
mod steered;

pub use env::{Ended, Env, Error, Sets, Setup, Source, Told};
pub use meter::{Clock, Meter};

/// A parameter of an action or a reward, with its default.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name.
    pub name: &'static str,
    /// Default value.
    pub default: f64,
    /// One line for listings.
    pub doc: &'static str,
}

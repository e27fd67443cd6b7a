//! Environments for reinforcement learning: an agent steers flows of a simulation, decision by decision.
//!
//! An [`Env`] draws an experiment for each episode, runs it until a decision is due, and gives the agent an observation and a reward
//! ([`reward`]), both made from the same measures. The agent's action holds until the next decision. Measures, observations and actions are
//! those of [`longfat_tcp::congestion::agent`].

mod env;
pub mod reward;
mod steered;

pub use env::{Ended, Env, Error, Sets, Setup, Source, Told};

//! Agents that steer a flow: their measures, observations, actions and policies. The simulator's environments and the testbed share them.
//!
//! A [`Meter`] adds up what happens between two decisions. A decision makes a [`moment`] of it, from that an [`observation`], and an
//! [`action`] becomes a window and a pacing rate.

pub mod action;
mod meter;
pub mod moment;
pub mod observation;
mod policy;

pub use meter::{Clock, Meter, Step, Sums, known};
pub use policy::{Layer, Policy, allowed};

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

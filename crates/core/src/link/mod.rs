//! Links: physical framing ([`framing`]), losses on the line ([`loss`]), and the one-way link itself ([`Link`]), with the queue in front of
//! it, the gate of its transmitter ([`Shaper`], [`PauseAt`]), and its changes over time or from packet to packet ([`Unsteady`]).
//!
//! A link does not know its driver. The simulator hands it packets in virtual time and collects those that it has sent. A driver in real
//! time can do the same.

mod count;
pub mod course;
pub mod framing;
mod gate;
mod grants;
pub mod jitter;
pub mod loss;
mod one_way;
pub mod service;
#[cfg(test)]
mod tests;
mod travel;
mod unsteady;

pub use count::{Carried, Count};
pub use gate::{PauseAt, PauseChange, Shaper};
pub use grants::RequestGrant;
pub use jitter::{Jitter, Spread};
pub use one_way::{Link, LinkConfig};
pub use service::{OPPORTUNITY, Opportunities, Service};
pub use travel::{Harq, Passage, Reorder};
pub use unsteady::Unsteady;

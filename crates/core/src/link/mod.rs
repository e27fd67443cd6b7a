//! Links: what physical framing leaves of the line rate ([`framing`]), what the line does to packets ([`loss`]), and the one-way link
//! itself ([`Link`]), with the queue in front of it, what holds its transmitter back ([`Shaper`], [`PauseAt`]), and what changes of it over
//! time or from packet to packet ([`Unsteady`]).
//!
//! A link knows nothing of who drives it. The simulator hands it packets in virtual time and collects what it has sent. A driver in
//! real time can do the same.

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

pub use count::Count;
pub use gate::{PauseAt, Shaper, Told};
pub use grants::RequestGrant;
pub use jitter::{Jitter, Spread};
pub use one_way::{Link, LinkConfig};
pub use service::{OPPORTUNITY, Opportunities, Service};
pub use travel::{Harq, Passage, Reorder};
pub use unsteady::Unsteady;

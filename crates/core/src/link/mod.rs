//! Links: what physical framing leaves of the line rate ([`framing`]), and what the line does to packets ([`loss`]).

pub mod framing;
pub mod loss;

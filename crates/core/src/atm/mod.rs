//! ATM: packets cut into cells ([`aal5`]), the output port of a cell switch ([`port`]), and its discard policies for a full buffer
//! ([`discard`]).
//!
//! A. Romanow and S. Floyd, "Dynamics of TCP Traffic over ATM Networks", IEEE JSAC, 1995, called RF95 below.

pub mod aal5;
pub mod discard;
pub mod port;

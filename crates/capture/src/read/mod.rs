//! Reader of capture files: TCP packets, one by one, in memory that does not grow with the file.

mod file;
mod frame;
mod joined;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use file::{Counts, Input};
pub use frame::{Address, Options, Packet, Skip, parse};
pub use joined::Joined;

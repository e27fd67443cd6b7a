//! Limits of the simulator.

use super::Limit;
use super::linux::tcp;

/// Keys that only a kernel can be told.
pub(super) const CANNOT: &[Limit] = &[
    tcp!("send", "another way to give a kernel data: there is none", []),
    tcp!("receive", "another way to take data from a kernel: there is none", []),
];

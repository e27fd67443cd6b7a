//! Cells that arrive at a port, and outcomes of their packets.

use crate::packet::PacketId;
use crate::queue::DropReason;
use crate::time::Time;

/// Cells of one packet that follow each other on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Packet that they carry.
    pub packet: PacketId,
    /// Route of the driver, passed on as it is.
    pub route: u32,
    /// Channel, by its number at this port.
    pub channel: u32,
    /// Cells of the run.
    pub cells: u32,
    /// Cells of the whole packet.
    pub of: u32,
    /// Time at which the first cell has come, whole.
    pub arrives: Time,
    /// True if the last cell is marked as the end of a frame.
    pub is_end: bool,
    /// True if no more cells of the packet follow. One run of each packet in a network is final; it may be a run of no cells.
    pub is_final: bool,
    /// True if a switch before this one has dropped some of the packet.
    pub is_lost: bool,
    /// True if congestion was experienced before (EFCI).
    pub is_marked: bool,
    /// True if the packet is ECN-capable.
    pub is_ect: bool,
}

/// Outcome of a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All its cells passed, and, unless there is another switch to come, it is whole.
    Whole {
        /// The packet.
        packet: PacketId,
        /// Route of the driver, as it came.
        route: u32,
        /// Time at which its last cell has left.
        leaves: Time,
        /// True if congestion was experienced (EFCI), here or before.
        is_marked: bool,
    },
    /// It is lost, and this port is the first to know.
    Lost {
        /// The packet.
        packet: PacketId,
        /// Route of the driver, as it came.
        route: u32,
        /// Time at which the cell was dropped that made it lost.
        at: Time,
        /// Reason for the drop.
        reason: DropReason,
        /// True if no cell of it goes on to another switch.
        is_gone: bool,
    },
    /// It was lost before, and its last cell is gone now.
    Gone {
        /// The packet.
        packet: PacketId,
    },
    /// It passes marked.
    Marked {
        /// The packet.
        packet: PacketId,
        /// Route of the driver, as it came.
        route: u32,
        /// Time at which its first cell came.
        at: Time,
    },
}

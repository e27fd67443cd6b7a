//! Cells that arrive at a port, and outcomes of their packets.

use crate::packet::PacketId;
use crate::queue::DropReason;
use crate::time::Time;

/// Cells of one packet that follow each other on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The packet they carry.
    pub packet: PacketId,
    /// The driver's, passed on as it is.
    pub route: u32,
    /// The channel, by its number at this port.
    pub channel: u32,
    /// How many.
    pub cells: u32,
    /// The cells of the whole packet.
    pub of: u32,
    /// When the first has come, whole.
    pub arrives: Time,
    /// The last one is marked as the end of a frame.
    pub is_end: bool,
    /// No more cells of the packet follow: of each packet, one run in a network says so. It may be a run of no cells.
    pub is_final: bool,
    /// A switch before this one has dropped some of the packet.
    pub is_lost: bool,
    /// Congestion was experienced before (EFCI).
    pub is_marked: bool,
    /// The packet is ECN-capable.
    pub is_ect: bool,
}

/// Outcome of a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All its cells passed, and, unless there is another switch to come, it is whole.
    Whole {
        /// The packet.
        packet: PacketId,
        /// The driver's, as it came.
        route: u32,
        /// When its last cell has left.
        leaves: Time,
        /// Congestion was experienced (EFCI), here or before.
        is_marked: bool,
    },
    /// It will not arrive, and this port is the first to know.
    Lost {
        /// The packet.
        packet: PacketId,
        /// The driver's, as it came.
        route: u32,
        /// When the cell was dropped without which it is lost.
        at: Time,
        /// Why.
        reason: DropReason,
        /// No cell of it goes on to another switch.
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
        /// The driver's, as it came.
        route: u32,
        /// When its first cell came.
        at: Time,
    },
}

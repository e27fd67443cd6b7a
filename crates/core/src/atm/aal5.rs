//! AAL5: a packet with its encapsulation becomes a frame of whole cells, and cells become a frame again.
//!
//! The sources are ITU-T I.363.5, and RFC 2684 for IP over it. Bytes are not carried, so their CRC-32 is not either: the cells that came
//! show the errors that it and the length would find.

/// Bytes of a cell on the line, and of its payload (ITU-T I.361): the other five are its header.
pub const CELL: u32 = 53;
/// Bytes of payload in a cell (ITU-T I.361: 53 bytes less a header of 5).
pub const PAYLOAD: u32 = 48;
/// Bytes of the trailer at the end of the last cell: user-to-user and common part indicators, length (2), CRC-32 (4) (I.363.5 §9.2.1).
pub const TRAILER: u32 = 8;
/// Most bytes that a frame carries: the length has 16 bits.
pub const MAX_SDU: u32 = 65_535;
/// Bytes of RFC 2684 §5.1 before a routed packet: LLC (3), OUI (3) and EtherType (2). Without them, the channel identifies the protocol.
pub const LLC_SNAP: u32 = 8;

/// Returns the cells of a frame that carries `sdu` bytes; padding fills the last.
#[inline]
pub const fn cells(sdu: u32) -> u32 {
    (sdu + TRAILER).div_ceil(PAYLOAD)
}

/// State of one channel's frame as the far end reassembles it.
///
/// Only one bit of a cell's header marks the end of a frame, and nothing marks its beginning (I.363.5 §9.2.2): when the last cell of a
/// frame is lost, its other cells and the next frame are taken for one frame, and neither passes the check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reassembly {
    /// Cells since the last end of a frame.
    held: u32,
    /// Cells in `held` that belong to the packet now arriving.
    of_packet: u32,
}

impl Reassembly {
    /// Adds `cells` cells of the packet.
    #[inline]
    pub fn come(&mut self, cells: u32) {
        self.held += cells;
        self.of_packet += cells;
    }

    /// Ends the frame with the last cell that came. Returns true if the frame was the packet of `cells` cells, whole.
    ///
    /// A fitting length is not enough: as many cells of two packets fail the CRC.
    #[inline]
    pub fn end_of_frame(&mut self, cells: u32) -> bool {
        let whole = self.held == cells && self.of_packet == cells;
        self.held = 0;
        whole
    }

    /// Ends the packet: no more of its cells will come. Returns how many came.
    #[inline]
    pub fn end_of_packet(&mut self) -> u32 {
        std::mem::take(&mut self.of_packet)
    }

    /// Returns true if cells arrived since the last end of a frame.
    #[inline]
    pub const fn is_open(&self) -> bool {
        self.held > 0
    }
}

#[cfg(test)]
mod tests;

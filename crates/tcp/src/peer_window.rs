//! Window of the other side, as its segments tell of it (RFC 9293 §3.3.1: SND.WND, SND.WL1, SND.WL2).

use longfat_core::packet::Segment;

/// A window of the stream that is sent. It outlives the absence of a sender: who only receives is told of it all the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerWindow {
    /// Right edge of the window.
    pub edge: u64,
    /// The window, and the largest it has been: less than 1 GiB, as all windows (RFC 7323 §2.3).
    rwnd: u32,
    max: u32,
    /// The sequence number of the segment that set it; what that acknowledged is its left edge.
    seq: u32,
    /// Shift of the window fields that arrive.
    pub shift: u8,
}

impl PeerWindow {
    /// The first window, of `rwnd` bytes, told by a segment numbered `seq`: nothing but the SYN is acknowledged.
    pub(crate) fn new(seq: u32, rwnd: u32, shift: u8) -> Self {
        PeerWindow { edge: 1 + u64::from(rwnd), rwnd, max: rwnd, seq, shift }
    }

    /// The largest it has been.
    #[inline]
    pub(crate) fn max(&self) -> u64 {
        self.max.into()
    }

    /// RFC 9293 §3.10.7.4: the newest segment sets the window. Whether `segment`, which acknowledges up to `ack`, is that.
    #[inline]
    pub(crate) fn update(&mut self, segment: &Segment, ack: u64) -> bool {
        let newer = (segment.seq.wrapping_sub(self.seq) as i32) > 0 || (segment.seq == self.seq && ack + u64::from(self.rwnd) >= self.edge);
        if newer {
            let rwnd = u32::from(segment.window) << self.shift;
            (self.seq, self.rwnd) = (segment.seq, rwnd);
            self.edge = ack + u64::from(rwnd);
            self.max = self.max.max(rwnd);
        }
        newer
    }
}

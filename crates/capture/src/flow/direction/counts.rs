//! Counts of one direction.

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub packets: u64,
    pub segments: u64,
    pub bytes: u64,
    /// IP bytes of segments with data.
    pub ip_bytes: u64,
    /// Retransmissions by [`Again`](super::Again).
    pub again: [u64; 4],
    pub bytes_again: u64,
    /// Retransmitted FINs without data.
    pub fins_again: u64,
    /// Retransmissions by the timer before any data behind them had arrived.
    pub blind: u64,
    /// Spurious retransmissions, whose data had arrived before (DSACK, the timestamp echoed, or an answer sooner than any).
    pub needless: u64,
    /// Segments that were overtaken before the point of capture, and behind it.
    pub reordered_before: u64,
    pub reordered_behind: u64,
    /// Retransmissions of segments whose first transmission was lost before the point of capture.
    pub lost_before: u64,
    /// Bytes that were acknowledged and never captured.
    pub unseen: u64,
    /// Segments longer than the mss: the interface cuts or joins them (TSO, GRO).
    pub offload: u64,
    pub below_mss: u64,
    pub pushed: u64,
    pub marked: u64,
    pub ece: u64,
    pub cwr: u64,
    pub zero_windows: u64,
    pub zero_window_time: i64,
    pub window_probes: u64,
    pub duplicate_acks: u64,
    pub acks: u64,
    pub len_max: u32,
}

impl Counts {
    /// Retransmissions of every kind.
    pub(crate) fn retransmitted(&self) -> u64 {
        self.again.iter().sum()
    }
}

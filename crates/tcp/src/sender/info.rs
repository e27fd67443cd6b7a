//! The state of a sender at one instant, computed when it is asked for.

use super::{Phase, Sender};
use crate::{CaState, TcpInfo};

impl Sender {
    /// Without what the SYNs agreed on.
    pub fn info(&self) -> TcpInfo {
        let segments = |bytes: u64| bytes.div_ceil(self.mss) as u32;
        let (lost, retrans) = self.lost_and_retransmitted();
        TcpInfo {
            cwnd: self.window(),
            ssthresh: self.control.ssthresh(),
            in_flight: self.board.pipe(),
            rwnd: self.rwnd(),
            srtt: self.trips.srtt(),
            rttvar: self.trips.rttvar(),
            rto: self.trips.rto(),
            backoff: self.trips.backoff(),
            mss: self.mss,
            outstanding: self.board.outstanding(),
            ca_state: self.ca_state(),
            reordering: self.repair.threshold().max(self.repair.rack.as_ref().map_or(0, |rack| segments(rack.reordering))),
            sacked: segments(self.board.sacked_bytes()),
            lost: segments(lost),
            retrans: segments(retrans),
            ..TcpInfo::default()
        }
    }

    fn ca_state(&self) -> CaState {
        match self.repair.phase() {
            Phase::Recovery => CaState::Recovery,
            Phase::Loss => CaState::Loss,
            Phase::Open if self.repair.eases() || !self.reductions.heeds_marks(self.board.una()) => CaState::Cwr,
            Phase::Open if self.board.has_sacked() || self.repair.has_duplicates() => CaState::Disorder,
            Phase::Open => CaState::Open,
        }
    }

    /// Bytes outstanding that are lost, sent again since or not, and bytes outstanding that were sent again.
    fn lost_and_retransmitted(&self) -> (u64, u64) {
        let Some(rack) = &self.repair.rack else { return self.board.marked() };
        // What was sent again had been lost, but for a tail loss probe; it may be lost once more.
        let retransmitted = rack.retransmissions.bytes();
        let twice = rack.retransmissions.bytes_among(self.board.lost());
        (self.board.lost_bytes() + retransmitted - twice, retransmitted - twice)
    }
}

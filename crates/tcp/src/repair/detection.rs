//! What is lost: by SACKs (RFC 6675 §4, IsLost) or by time (RFC 8985 §6).

use super::{Phase, Repair};
use crate::scoreboard::Scoreboard;
use crate::sent_log::SentLog;
use longfat_core::time::{Duration, Time};

/// What time must know of round trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latency {
    pub rtt_min: Duration,
    pub srtt: Duration,
}

impl Repair {
    /// RFC 8985 §6.2 step 4.
    fn reordering_window(&mut self, board: &Scoreboard, mss: u64, latency: Latency) -> Duration {
        let at_once = self.phase != Phase::Open || board.has_sacked_enough(self.threshold, mss);
        let Latency { rtt_min, srtt } = latency;
        self.rack.as_mut().map_or(Duration::ZERO, |rack| rack.reordering_window(board.una(), rtt_min, srtt, at_once))
    }

    /// RFC 6675's IsLost, or with RACK RFC 8985 §6.2 step 5. Whether anything became lost; RACK tells `lost` of each piece.
    pub fn detect(
        &mut self,
        now: Time,
        board: &mut Scoreboard,
        log: &SentLog,
        mss: u64,
        latency: Latency,
        lost: impl FnMut(u64, u64),
    ) -> bool {
        if self.rack.is_none() {
            return board.update_lost(self.threshold, mss);
        }
        let window = self.reordering_window(board, mss, latency);
        self.rack.as_mut().is_some_and(|rack| rack.detect(now, window, board, log, lost))
    }

    /// RFC 8985 §6.3: the retransmission timer went off. Only what has been out for long enough is lost.
    pub fn lose_overdue(
        &mut self,
        now: Time,
        board: &mut Scoreboard,
        log: &SentLog,
        mss: u64,
        latency: Latency,
        lost: impl FnMut(u64, u64),
    ) {
        let window = self.reordering_window(board, mss, latency);
        if let Some(rack) = &mut self.rack {
            rack.timeout(now, window, board, log, mss, lost);
        }
    }

    /// All that is outstanding and not SACKed is lost; none of it counts as retransmitted.
    pub fn lose_all(&mut self, board: &mut Scoreboard, lost: impl FnMut(u64, u64)) {
        board.forget_losses();
        match &mut self.rack {
            Some(rack) => rack.lose_all(board, lost),
            None => {
                board.mark_lost_until(board.max());
            }
        }
    }
}

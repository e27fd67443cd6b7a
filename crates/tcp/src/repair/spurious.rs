//! Was that loss one? F-RTO (RFC 5682), Eifel detection (RFC 3522) and DSACKs (RFC 3708) tell.

use super::frto::{AckReport, Finding};
use super::{Phase, Repair};
use crate::scoreboard::Scoreboard;
use longfat_core::packet::Segment;

/// News of an ACK beside the left edge: how many bytes newly SACKed were sent once, and what arrived twice. `is_bare`: it has no data and
/// does not change the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    pub originals: u64,
    pub duplicate: Option<(u64, u64)>,
    pub is_bare: bool,
}

impl Repair {
    /// An ACK, which `board` has taken in as far as its SACK blocks go: whether it says that the last reduction was for nothing. One that comes
    /// `late` has been overtaken, and only a duplicate that it reports is news.
    #[inline]
    pub(crate) fn is_spurious(&mut self, segment: &Segment, ack: u64, late: bool, told: Reported, board: &Scoreboard) -> bool {
        (self.undo.is_watching() || self.frto.is_running()) && self.judge(segment, ack, late, told, board)
    }

    #[inline(never)]
    fn judge(&mut self, segment: &Segment, ack: u64, late: bool, told: Reported, board: &Scoreboard) -> bool {
        let Reported { originals, duplicate, is_bare } = told;
        let mut spurious = false;
        if !late {
            let una = board.una();
            let filled = || board.holes(una, ack);
            if self.frto.is_running() {
                let original = originals > 0 || filled().any(|(start, end)| self.undo.sent_once(start, end) > 0);
                let highest_sacked = board.highest_sacked().unwrap_or(0);
                let answers_again = self.undo.answers_again(segment);
                let told = AckReport { ack, moves: ack > una, duplicate: ack == una && is_bare, original, highest_sacked, answers_again };
                let finding = self.frto.judge(told, self.recover, self.is_selective());
                if finding == Finding::Loss {
                    // The repair goes on: without SACK there is room for one segment more than the two new ones (RFC 5682 §2.1).
                    self.force = !self.is_selective();
                }
                spurious = finding == Finding::Spurious;
            }
            spurious |= self.undo.eifel(segment, filled(), !board.has_sacked());
        }
        if let Some(range) = duplicate {
            let waiting = self.phase == Phase::Recovery && board.has_lost();
            spurious |= self.undo.dsack(range, waiting);
        }
        spurious
    }
}

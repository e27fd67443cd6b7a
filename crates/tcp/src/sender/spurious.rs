//! Was that loss one? F-RTO (RFC 5682), Eifel detection (RFC 3522) and DSACKs (RFC 3708) tell; then the reduction is taken back, and
//! what is on its way is not sent again (RFC 4015).

use super::{Limit, Phase, Range, Sender};
use crate::repair::{Finding, Frto, Told};
use crate::scoreboard::Scoreboard;
use crate::sender::stall::Room;
use crate::seq::unwrap;
use longfat_core::packet::Segment;
use longfat_core::time::Time;

/// What an ACK tells beside the left edge: how many bytes newly SACKed were sent once, and what arrived twice. `is_bare`: there is no data in it and
/// no change of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported {
    pub originals: u64,
    pub duplicate: Option<(u64, u64)>,
    pub is_bare: bool,
}

/// What has not been SACKed of `from..until`.
fn holes(board: &Scoreboard, from: u64, until: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mut at = from;
    std::iter::from_fn(move || {
        let hole = board.next_missing(at, until)?;
        at = hole.1;
        Some(hole)
    })
}

impl Sender {
    /// The range that this ACK says has arrived twice (RFC 2883 §4): below the left edge, or inside the second block.
    pub(super) fn duplicate_told(&self, segment: &Segment, ack: u64) -> Option<(u64, u64)> {
        let block = |i| {
            let (left, right) = segment.sack(i);
            (unwrap(self.iss, ack, left), unwrap(self.iss, ack, right))
        };
        let (left, right) = block(0);
        let inside = |outer: (u64, u64)| outer.0 <= left && right <= outer.1;
        (left < right && (right <= ack || (segment.sack_count() > 1 && inside(block(1))))).then_some((left, right))
    }

    /// What this ACK (before it is taken in, but for its SACK blocks) says of the last reduction. `originals`: bytes newly SACKed that
    /// were sent once. `marked`: it tells of ECN marks. A `late` one has been overtaken, and only a duplicate that it reports is news.
    pub(super) fn judge_reduction(&mut self, now: Time, segment: &Segment, ack: u64, late: bool, told: Reported, marked: bool) {
        let Reported { originals, duplicate, is_bare } = told;
        let mut spurious = false;
        if !late {
            let (una, board, repair) = (self.board.una(), &self.board, &mut self.repair);
            let filled = || holes(board, una, ack);
            if repair.frto.is_running() {
                let original = originals > 0 || filled().any(|(start, end)| repair.undo.sent_once(start, end) > 0);
                let highest_sacked = board.highest_sacked().unwrap_or(0);
                let answers_again = repair.undo.answers_again(segment);
                let told = Told { ack, moves: ack > una, duplicate: ack == una && is_bare, original, highest_sacked, answers_again };
                let (point, selective) = (repair.point(), repair.kind().is_selective());
                let finding = repair.frto.judge(told, point, selective);
                if finding == Finding::Loss {
                    repair.goes_on_after_frto();
                }
                spurious = finding == Finding::Spurious;
            }
            spurious |= repair.undo.eifel(segment, filled(), !board.has_sacked());
        }
        if let Some(range) = duplicate {
            let waiting = self.repair.phase() == Phase::Recovery && self.board.has_lost();
            spurious |= self.repair.undo.dsack(range, waiting);
        }
        // RFC 4015 §3, step 8: not where the network asks for a reduction.
        if spurious && !marked {
            self.take_back(now, segment);
        }
    }

    /// The reduction was for nothing: window and state as before it.
    fn take_back(&mut self, now: Time, segment: &Segment) {
        self.stats.spurious_recoveries += 1;
        self.control.on_spurious();
        if self.repair.take_back(&mut self.board) {
            self.trips.after_spike(now, segment, self.board.max());
        }
    }

    /// RFC 5682 step 2b: up to two new segments, or one where there is no more; where there is none to send, what was lost goes again as ever.
    pub(super) fn next_for_frto(&mut self, now: Time, most: u8) -> Option<Range> {
        if most == 0 {
            self.usage.limited_by(Limit::Cwnd);
            return None;
        }
        let range = self.next_new(now, 0, u64::MAX);
        if range.is_none() && self.room == Room::Refused {
            return None;
        }
        if range.is_some() {
            self.repair.frto.sent_new();
            return range;
        }
        if most < Frto::MOST_NEW {
            return None;
        }
        self.repair.frto.stop();
        self.next(now)
    }
}

//! Next segment of a repair.

use super::detection::Detection;
use super::frto::Allowance;
use super::tlp::Tlp;
use super::{Phase, Repair};
use crate::scoreboard::Scoreboard;
use longfat_core::time::{Duration, Time};

/// Lost data that is to go again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lost {
    Nothing,
    /// Something, for which the window has no room.
    Waits,
    Goes {
        start: u64,
        end: u64,
    },
}

impl Repair {
    /// Returns true if there is something that must be sent, or waits to be judged, whatever the application has to say.
    #[inline]
    pub(crate) fn is_pressing(&self) -> bool {
        self.force || self.tlp.is_due() || self.frto.is_running()
    }

    /// Returns true if something goes that heeds no window.
    #[inline]
    pub(crate) fn heeds_no_window(&self) -> bool {
        self.force | self.tlp.is_due()
    }

    /// Returns true if lost data goes before new data.
    #[inline]
    pub(crate) fn comes_first(&self) -> bool {
        self.phase == Phase::Recovery || self.phase == Phase::Loss || self.force
    }

    /// Returns the oldest lost data, in a segment of at most `payload_max`, with `pipe` in flight.
    pub(crate) fn next_lost(&self, board: &Scoreboard, payload_max: u64, pipe: u64, window: u64) -> Lost {
        if self.force && !self.is_selective() {
            let start = board.una();
            return Lost::Goes { start, end: (start + payload_max).min(board.max()) };
        }
        match board.next_lost(payload_max) {
            None => Lost::Nothing,
            Some((start, end)) if !self.force && pipe + (end - start) > window => Lost::Waits,
            Some((start, end)) => Lost::Goes { start, end },
        }
    }

    /// `start..end`, the next that is lost, goes.
    pub(crate) fn lost_goes(&mut self, board: &mut Scoreboard, payload_max: u64, start: u64, end: u64) {
        self.force = false;
        // Reno forces segments that the scoreboard need not have as lost.
        if self.is_selective() || board.next_lost(payload_max) == Some((start, end)) {
            board.retransmitted(start, end);
        }
    }

    /// The window for new data outside a repair, `window` being that of [`Self::window`]: RFC 3042, limited transmit.
    #[inline]
    pub(crate) fn window_for_new(&self, board: &Scoreboard, mss: u64, window: u64) -> u64 {
        if self.duplicates == 0 {
            window
        } else if !self.limited_transmit {
            window.saturating_sub(board.sacked_bytes())
        } else if !self.is_selective() {
            // On the first two duplicate ACKs, up to cwnd + 2 SMSS may be outstanding.
            window + u64::from(self.duplicates.min(2)) * mss
        } else {
            window
        }
    }

    /// Returns true if, with nothing lost and nothing new to send, RFC 6675 has more to offer: [`Self::next_speculative`].
    #[inline]
    pub(crate) fn speculates(&self) -> bool {
        self.phase == Phase::Recovery && matches!(self.detection, Detection::Sack)
    }

    /// RFC 6675 §4, NextSeg rules 3 and 4: a hole that may be lost; then, once a recovery, the last segment, so that ACKs keep coming.
    pub(crate) fn next_speculative(&self, board: &Scoreboard, payload_max: u64) -> Option<Speculation> {
        if let Some((start, end)) = board.next_hole(payload_max) {
            return Some(Speculation { start, end, is_rescue: false });
        }
        if self.rescued || board.retransmitted_until() >= board.max() {
            return None;
        }
        // Departs from rule 4 where the highest outstanding byte is SACKed: the ACK clock then needs no rescue, and the highest
        // hole has been retransmitted already by rule 1 or 3.
        let (start, end) = board.last_segment(payload_max)?;
        Some(Speculation { start, end, is_rescue: true })
    }

    /// Notes that the speculation goes.
    pub(crate) fn speculation_goes(&mut self, board: &mut Scoreboard, speculation: Speculation) {
        if speculation.is_rescue {
            self.rescued = true;
        } else {
            board.retransmitted(speculation.start, speculation.end);
        }
    }

    /// Segments that F-RTO lets go.
    #[inline]
    pub(crate) fn frto_allows(&self) -> Allowance {
        self.frto.allows()
    }

    /// F-RTO asked for new data: it was `sent`, or there is none. Whether the repair goes on without F-RTO.
    pub(crate) fn frto_tried_new(&mut self, sent: bool) -> bool {
        self.frto.tried_new(sent)
    }

    /// RFC 8985 §7.2: how long after an ACK, or what is sent, a tail loss probe is due. Not in recovery, with nothing SACKed, and no probe out.
    #[inline]
    pub(crate) fn probe_timeout(&self, board: &Scoreboard, mss: u64, srtt: Duration) -> Option<Duration> {
        let may_probe = self.tlp.may_be_set() && self.is_open() && !board.has_sacked();
        may_probe.then(|| Tlp::timeout(srtt, board.outstanding() <= mss))
    }

    /// Notes that the timer of a tail loss probe went off, with something `outstanding` or not.
    pub(crate) fn probe_timed_out(&mut self, outstanding: bool) {
        self.tlp.went_off(outstanding);
    }

    /// Returns true if a tail loss probe is to be sent.
    #[inline]
    pub(crate) fn probe_is_due(&self) -> bool {
        self.tlp.is_due()
    }

    /// Notes that the probe was sent, when everything below `max` had been: as new data, or `retransmitted`.
    pub(crate) fn probe_sent(&mut self, max: u64, retransmitted: bool) {
        self.tlp.sent(max, retransmitted);
    }

    /// Notes that the probe could not be sent. `later`: it will be.
    pub(crate) fn probe_kept_back(&mut self, later: bool) {
        self.tlp.kept_back(later);
    }

    /// RFC 8985 §7.4.2: an ACK. Whether it says that a probe repaired a loss, which was congestion. `moved`: the left edge moved; `sacks`:
    /// it has SACK blocks; `duplicate`: what it reports to have arrived twice.
    #[inline]
    pub(crate) fn probe_repaired(&mut self, ack: u64, moved: bool, sacks: bool, duplicate: Option<(u64, u64)>) -> bool {
        let repaired = self.tlp.acked(ack, moved, sacks, duplicate) && self.is_open();
        if repaired {
            self.keep_reduction();
        }
        repaired
    }

    /// `len` bytes are sent for the first time.
    #[inline]
    pub(crate) fn sent_new(&mut self, now: Time, board: &mut Scoreboard, len: u64) {
        if self.log.is_full() && board.has_sacked() && self.detection.is_by_time() {
            self.log.forget_arrived(|start, end| board.next_missing(start, end).is_none());
        }
        let start = board.max();
        board.sent_new(len);
        self.log.sent(start, start + len, now);
    }

    /// `start..end` is retransmitted at `now`, because it is lost, by a repair; or as a probe or a guess. `stamp`: its TSval.
    pub(crate) fn sent_again(&mut self, now: Time, (start, end): (u64, u64), board: &Scoreboard, repairs: bool, stamp: Option<u32>) {
        match self.detection.rack_mut() {
            Some(rack) => rack.retransmissions.sent(start, end, board.max(), now),
            None => self.log.sent_again(end),
        }
        self.frto.sent_again(end);
        self.undo.sent_again(start, end, board.una(), repairs, stamp);
    }

    /// `len` bytes were sent, for the first time or again.
    #[inline]
    pub(crate) fn sent(&mut self, len: u64) {
        self.steering.sent(len);
    }
}

/// Data that goes again though it may not be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Speculation {
    pub start: u64,
    pub end: u64,
    is_rescue: bool,
}

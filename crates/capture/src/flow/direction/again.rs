//! Retransmissions of a direction: their causes and the recovery episodes to which they belong.

use super::{Direction, MS};
use crate::flow::ranges::{Range, Waited};
use crate::read::Packet;

const EPISODES: usize = 4096;

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// After duplicate or selective acknowledgments.
    Fast,
    /// After the retransmission timer, until all that was sent before is acknowledged.
    Timeout,
    /// The last segment, before the timer (RFC 8985 section 7).
    Probe,
    /// No cause that the capture shows.
    Unknown,
}

/// Loss recovery: the time in which a sender repaired losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Episode {
    pub is_timeout: bool,
    /// Bytes in flight when it began, as the sender saw it.
    pub flight: u64,
    /// The round trip shortly before, in ns; 0 where it is unknown.
    pub rtt: i64,
    /// Segments retransmitted in it, and the longest run of consecutive ones.
    pub again: u32,
    pub run: u32,
    pub needless: u32,
    /// Highest data sent when it began. When that is acknowledged, it is over.
    pub recover: u64,
    /// Start, and the time of the last retransmission.
    pub start: i64,
    pub end: i64,
    /// The first and the last segment that was lost: when it was sent first, and where it stands in the stream.
    pub first_lost: (i64, u64),
    pub last_lost: (i64, u64),
    /// Bytes lost.
    pub lost: u64,
    /// Queue that the first of them found before it.
    pub waited: Waited,
}

impl Direction {
    /// True if the segment that fills a hole was sent before segments that arrived earlier.
    ///
    /// Timestamps do not run backwards (RFC 7323 section 5.4), and first transmissions go in the order of the stream. An older timestamp
    /// than that of the overtaking segment proves it, a newer one proves a retransmission. Otherwise, no retransmission comes sooner than
    /// the answer to the overtaking segment can: a round trip, wherever the capture was taken.
    pub(crate) fn is_late(&self, hole: &Range, time: i64, stamp: Option<u32>) -> bool {
        // (Half of it, since the least round trip that was seen may not be the least there is.)
        let soonest = match (self.rtt.near.is_known(), self.quickest()) {
            (false, _) => 3 * MS,
            (true, Some(_)) => self.trips().min,
            (true, None) => self.rtt.near.min.max(self.trips().min.min(i64::MAX / 2) / 2),
        };
        match (stamp, hole.stamps[0]) {
            (Some(own), Some(other)) if own != other => (own.wrapping_sub(other) as i32) < 0,
            (Some(_), Some(_)) if self.rtt.near.is_known() && self.rates.lateness.tick().is_some_and(|tick| tick < soonest as f64) => true,
            _ => time - hole.first < soonest / 2,
        }
    }

    pub(crate) fn has_evidence(&self, range: &Range) -> bool {
        self.evidence.highest_sacked >= range.end || (self.evidence.duplicates > 0 && range.start <= self.acked)
    }

    /// Classifies a retransmission: its cause, and the recovery to which it belongs.
    pub(crate) fn again(&mut self, packet: &Packet, start: u64, end: u64, before: &Range) -> Again {
        let time = packet.time;
        self.counts.bytes_again += end - start;
        let kind = self.kind(time, start, end, before);
        self.counts.again[kind as usize] += 1;
        self.counts.blind += u64::from(kind == Again::Timeout && !self.has_evidence(before));
        self.series.at(time).again += 1;
        if kind == Again::Timeout && start <= self.acked && self.evidence.timeout_until <= self.acked {
            self.evidence.timeout_until = self.next;
        }
        self.losses.run = if start == self.losses.last_end { self.losses.run + 1 } else { 1 };
        self.losses.last_end = end;
        let (acked, next, flight) = (self.acked, self.next, self.next.saturating_sub(self.sender.acked));
        let is_new = self.losses.episodes.last().is_none_or(|episode| episode.recover <= acked);
        if is_new && kind != Again::Probe {
            if self.losses.episodes.len() < EPISODES {
                let rtt = if before.times == 0 { self.losses.rtt_at_hole } else { self.trips().last };
                let at = (before.first, start);
                self.losses.episodes.push(Episode {
                    is_timeout: kind == Again::Timeout,
                    flight,
                    rtt,
                    again: 0,
                    run: 0,
                    needless: 0,
                    recover: next,
                    start: time,
                    end: time,
                    first_lost: at,
                    last_lost: at,
                    lost: 0,
                    waited: before.waited,
                });
            } else {
                self.losses.forgotten += 1;
            }
        }
        let is_before = !self.is_behind();
        if let Some(episode) = self.losses.episodes.last_mut().filter(|episode| episode.recover > acked) {
            episode.again += 1;
            episode.run = episode.run.max(self.losses.run);
            episode.is_timeout |= kind == Again::Timeout;
            if before.times <= 1 && kind != Again::Probe {
                let at = (before.first, start);
                if at < episode.first_lost {
                    episode.waited = before.waited;
                }
                episode.first_lost = episode.first_lost.min(at);
                episode.last_lost = episode.last_lost.max(at);
                episode.lost += end - start;
                if is_before {
                    self.rates.bursts.lost(before.waited.ahead.into());
                }
            }
            episode.end = time;
        }
        kind
    }

    /// Returns the cause of the retransmission of a segment that found `before`.
    ///
    /// A sender repairs what an acknowledgment calls for within a round trip: RACK waits no longer (RFC 8985 section 6.2), and its first hole
    /// comes before all others (RFC 6675 section 4, RFC 6582 section 3.2). What nothing has called for, or not for so long, a timer sends.
    pub(crate) fn kind(&self, time: i64, start: u64, end: u64, before: &Range) -> Again {
        if self.evidence.timeout_until > self.acked {
            return Again::Timeout;
        }
        let rtt = self.trips().smoothed;
        let is_soon = |asked: i64| time - asked <= rtt.max(5 * MS);
        let by_order = self.has_evidence(before);
        // A segment sent later than the newest transmission of it has arrived.
        let overtaken = self.evidence.delivered.learned((before.last, end));
        let is_front = start <= self.acked || self.ranges.front().is_some_and(|front| start <= front.start);
        let is_repair = self.losses.episodes.last().is_some_and(|episode| episode.recover > self.acked);
        let quiet = time - self.evidence.last_advance.max(before.last).max(self.last_data.unwrap_or(before.last).min(time));
        let since_progress = time - self.evidence.last_advance.max(before.last);
        let is_called = by_order || overtaken.is_some();
        if end >= self.next && !is_called && !(is_front && since_progress >= rtt + 200 * MS) && quiet >= rtt {
            return Again::Probe;
        }
        if !is_front {
            return if is_called || is_repair { Again::Fast } else { Again::Unknown };
        }
        if before.times > 1 {
            // (Only the answer to later data tells that a retransmission is lost.)
            return if overtaken.is_some_and(is_soon) { Again::Fast } else { Again::Timeout };
        }
        // A hole this old was filled before by a repair that was lost, too.
        if before.times == 0 && time - before.first >= (3 * rtt).max(rtt + 200 * MS) {
            return Again::Timeout;
        }
        if by_order && is_soon(self.evidence.last_evidence) || overtaken.is_some_and(is_soon) {
            Again::Fast
        } else if !is_soon(self.evidence.last_advance.max(self.evidence.last_evidence)) {
            Again::Timeout
        } else if is_repair {
            // A partial acknowledgment calls for the next hole (RFC 6582 section 3.2).
            Again::Fast
        } else {
            Again::Unknown
        }
    }
}

//! Knowledge of the sender over time: acknowledgments on their way to it, and the causes of its waits.

use super::{Direction, MS};

const PENDING: usize = 1 << 16;
/// Uncertainty, away from the sender, of when an acknowledgment reaches it, known by timestamps: two of their ticks, most of which are
/// milliseconds.
pub(crate) const TICK: i64 = 2 * MS;
/// Time beyond a round trip at which an acknowledgment counts as delayed: half of Linux's least timer. RFC 1122 has up to 500 ms.
const DELAYED: i64 = 20 * MS;
/// TSvals on their way to the sender that are kept: four seconds of a clock of milliseconds.
const ECHOES: usize = 4096;

/// An acknowledgment on its way to the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    /// Time at which it is seen here, and time at which it reaches the sender, as seen here, by the recent round trips.
    pub seen: i64,
    pub at: i64,
    pub ack: u64,
    /// End of the window.
    pub edge: u64,
    /// True without data: no application hears of it.
    pub is_bare: bool,
}

/// Time, in ns, by the cause for which a new segment had waited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    /// Time for room in the receiver's window, and the part of it in a window that had shrunk.
    pub receiver: i64,
    pub closing: i64,
    pub recovery: i64,
    /// Time for a delayed acknowledgment, with a short segment (RFC 896), and the number of such waits.
    pub nagle: i64,
    pub nagles: u32,
    /// Longest time between new segments, whatever the cause.
    pub longest: i64,
    /// Time for data that was overtaken, and came without a retransmission.
    pub order: i64,
    pub acks: i64,
    pub idle: i64,
    pub unprompted: i64,
}

impl Waits {
    /// Returns the sum of all waits.
    pub(crate) fn total(&self) -> i64 {
        self.receiver + self.recovery + self.nagle + self.order + self.acks + self.idle + self.unprompted
    }
}

impl Direction {
    /// Records an acknowledgment with TSval `value` on its way to the sender. It will come back as an echo.
    pub(crate) fn acked_with(&mut self, time: i64, value: u32) {
        if self.rtt.echo.back().is_none_or(|(last, _)| *last != value) {
            if self.rtt.echo.len() == ECHOES {
                self.rtt.echo.pop_front();
            }
            self.rtt.echo.push_back((value, time));
        }
    }

    /// Measures the near round trip: from the first acknowledgment with a TSval to the first segment that echoes it.
    pub(crate) fn echoed(&mut self, time: i64, value: u32, is_data: bool) {
        // (Most segments echo what the one before them did.)
        if self.rtt.last_echo.replace(value) == Some(value) {
            return;
        }
        let Some(place) = self.rtt.echo.iter().position(|(sent, _)| *sent == value) else { return };
        let (_, passed) = self.rtt.echo[place];
        self.rtt.echo.drain(..=place);
        if is_data && time >= passed {
            self.rtt.near.add(time - passed);
        }
    }

    /// Adds the time before a new segment to its cause.
    pub(crate) fn wait(&mut self, time: i64, gap: i64, before: u64) {
        let rtt = self.trips().smoothed.max(MS / 10);
        // Retransmissions in between were repair, whatever else was sent: until the last of them could be acknowledged.
        let repaired = self.losses.episodes.last().map_or(0, |episode| (episode.end + rtt - (time - gap)).clamp(0, gap));
        // A sender that waits for its application sends when that writes. A sender that waits for missing data sends as soon as that has
        // come.
        let limit = (rtt / 20).max(if self.rtt.near.is_known() && self.rtt.near.min > rtt / 10 { TICK } else { MS / 5 });
        // (The distance to the sender may be known from the handshake alone, in which its host took its time.)
        let soon = self.sender.pending.front().filter(|answer| answer.at <= time + limit);
        let is_prompt = time - self.sender.ack_time <= limit || soon.is_some();
        // A sender of one buffer at a time waits for its acknowledgment, in which an application has no part. (After such a pause the
        // recent echoes say nothing about how near the sender is.)
        let near = if self.rtt.near.is_known() { self.rtt.near.min } else { 0 };
        let calls = |answer: &Answer| answer.is_bare && (time - answer.seen - near).abs() <= limit;
        let is_called = calls(&self.sender.answer) || self.sender.pending.iter().take(8).any(calls);
        let open = self.sender.hole_since.map_or(0, |since| (time - since.max(time - gap)).max(0));
        let missing = if is_called && gap > rtt / 2 { (self.sender.hole_time + open).min(gap) } else { 0 };
        // Nagle's algorithm holds a short segment until all before it is acknowledged.
        let least = self.rtt.far.min.saturating_add(DELAYED);
        let is_late = |answer: &Answer| answer.ack >= self.next && answer.seen - (time - gap) >= least;
        let is_held = |answer: &Answer| calls(answer) && is_late(answer);
        let is_held = self.is_short && (is_held(&self.sender.answer) || self.sender.pending.iter().take(8).any(is_held));
        self.sender.hole_time = 0;
        self.sender.hole_since = self.sender.hole_since.map(|since| since.max(time));
        let repaired = if self.sender.was_closing { 0 } else { repaired };
        self.waits.longest = self.waits.longest.max(gap);
        let (waits, gap) = (&mut self.waits, gap - repaired);
        waits.recovery += repaired;
        if self.sender.was_blocked {
            waits.receiver += gap;
            waits.closing += if self.sender.was_closing { gap } else { 0 };
        } else if self.losses.episodes.last().is_some_and(|episode| episode.recover > self.acked) {
            waits.recovery += gap;
        } else if is_held {
            waits.nagle += gap;
            waits.nagles += 1;
        } else if missing > 0 {
            let missing = missing.min(gap);
            waits.order += missing;
            waits.acks += gap - missing;
        } else if (before == 0 && gap > rtt / 2 && !is_called)
            || (before < self.sender.flight_recent / 2 && time - self.sender.ack_time > rtt / 4)
        {
            waits.idle += gap;
        } else if is_prompt {
            waits.acks += gap;
        } else {
            waits.unprompted += gap;
        }
    }

    /// Applies an acknowledgment to the data that the sender has in flight, when it reaches the sender.
    pub(crate) fn reach_sender(&mut self, answer: Answer) {
        let at = answer.seen + self.rtt.near.recent_min();
        if self.sender.pending.len() >= PENDING {
            self.let_pass(i64::MAX);
        }
        // (None overtakes another.)
        let at = self.sender.pending.back().map_or(at, |last| at.max(last.at));
        self.sender.pending.push_back(Answer { at, ..answer });
    }

    /// The sender sends up to `end`, which it may only since an acknowledgment reached it whose window goes so far: the near part is no longer
    /// than since that was seen. The handshake's last ACK, of a host that takes its time, may say otherwise. Without the sender's SYN, a window may
    /// go so far that was not captured, until the first that was has reached the sender.
    pub(crate) fn permitted(&mut self, time: i64, end: u64) {
        let is_from_start = self.handshake.syn_time.is_some() || self.sender.edge > 0;
        if !self.sender.knows_edge || !is_from_start || end <= self.sender.edge {
            return;
        }
        let Some(answer) = self.sender.pending.iter().find(|answer| answer.edge >= end).copied() else { return };
        self.let_pass(answer.at);
        let (most, said) = ((time - answer.seen).max(0), self.rtt.near.recent_min());
        if most >= said {
            return;
        }
        if self.rtt.near.count > 1 {
            self.rtt.near.add(most);
            return;
        }
        // (All round trips so far had that in them.)
        self.rtt.near_said.get_or_insert(said);
        self.rtt.near.shorten(said - most);
        self.rtt.whole.shorten(said - most);
        self.series.shorten(said - most);
        self.sender.pending.iter_mut().for_each(|answer| answer.at = answer.at.min(answer.seen + most));
    }

    pub(crate) fn let_pass(&mut self, time: i64) {
        while let Some(&answer) = self.sender.pending.front() {
            if answer.at > time {
                break;
            }
            self.sender.pending.pop_front();
            self.sender.acked = self.sender.acked.max(answer.ack);
            self.sender.edge = self.sender.edge.max(answer.edge);
            (self.sender.ack_time, self.sender.answer) = (answer.at, answer);
        }
    }
}

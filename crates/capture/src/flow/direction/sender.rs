//! What the sender knew, and when: acknowledgments on their way to it, and what it waited for.

use super::{Direction, MS};

const PENDING: usize = 1 << 16;
/// Away from the sender, when an acknowledgment reaches it is known by timestamps: to two of their ticks, most of which are milliseconds.
pub const TICK: i64 = 2 * MS;
/// An acknowledgment that comes so much later than a round trip was delayed: half of Linux's least timer. RFC 1122 has up to 500 ms.
const DELAYED: i64 = 20 * MS;
/// TSvals on their way to the sender that are kept: four seconds of a clock of milliseconds.
const ECHOES: usize = 4096;

/// An acknowledgment on its way to the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    /// When it is seen here, and when it reaches the sender, as seen here, by the round trips of late.
    pub seen: i64,
    pub at: i64,
    pub ack: u64,
    /// Where the window ends.
    pub edge: u64,
    /// Without data: no application hears of it.
    pub is_bare: bool,
}

/// Where time went, in ns, by what a new segment had waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// For room in the receiver's window; of that, in one that had shrunk.
    pub receiver: i64,
    pub closing: i64,
    pub recovery: i64,
    /// For a delayed acknowledgment, with a short segment (RFC 896); how many times.
    pub nagle: i64,
    pub nagles: u32,
    /// The longest time between new segments, whatever it was for.
    pub longest: i64,
    /// For what was overtaken, and came without being sent again.
    pub order: i64,
    pub acks: i64,
    pub idle: i64,
    pub unprompted: i64,
}

impl Waits {
    /// All of it.
    pub fn total(&self) -> i64 {
        self.receiver + self.recovery + self.nagle + self.order + self.acks + self.idle + self.unprompted
    }
}

impl Direction {
    /// An acknowledgment with TSval `value` passes on its way to the sender; it will come back as an echo.
    pub fn acked_with(&mut self, time: i64, value: u32) {
        if self.rtt.echo.back().is_none_or(|(last, _)| *last != value) {
            if self.rtt.echo.len() == ECHOES {
                self.rtt.echo.pop_front();
            }
            self.rtt.echo.push_back((value, time));
        }
    }

    /// The near round trip: from the first acknowledgment with a TSval to the first segment that echoes it.
    pub(super) fn echoed(&mut self, time: i64, value: u32, is_data: bool) {
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

    /// What the time before a new segment went by with.
    pub(super) fn wait(&mut self, time: i64, gap: i64, before: u64) {
        let rtt = self.trips().smoothed.max(MS / 10);
        // What was sent again in between was repaired then, whoever has more to send behind it: until the last of it could be acknowledged.
        let repaired = self.losses.episodes.last().map_or(0, |episode| (episode.end + rtt - (time - gap)).clamp(0, gap));
        // Who waits for an application sends when that writes; who waits for what is missing sends as soon as it has come.
        let limit = (rtt / 20).max(if self.rtt.near.is_known() && self.rtt.near.min > rtt / 10 { TICK } else { MS / 5 });
        // (How near the sender is may be known from the handshake alone, in which its host took its time.)
        let soon = self.sender.pending.front().filter(|answer| answer.at <= time + limit);
        let is_prompt = time - self.sender.ack_time <= limit || soon.is_some();
        // Who sends one buffer at a time waits for its acknowledgment, in which an application has no part. (After a pause of that the echoes of
        // late say nothing of how near the sender is.)
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

    /// When an acknowledgment counts for what the sender has in flight.
    pub(super) fn reach_sender(&mut self, answer: Answer) {
        let at = answer.seen + self.rtt.near.recent_min();
        if self.sender.pending.len() >= PENDING {
            self.let_pass(i64::MAX);
        }
        // (None overtakes another.)
        let at = self.sender.pending.back().map_or(at, |last| at.max(last.at));
        self.sender.pending.push_back(Answer { at, ..answer });
    }

    /// The sender sends up to `end`, which it may only since an acknowledgment reached it whose window goes so far: the near part is no longer
    /// than since that was seen. The handshake's last ACK, of a host that takes its time, may say otherwise.
    pub(super) fn permitted(&mut self, time: i64, end: u64) {
        if !self.sender.knows_edge || end <= self.sender.edge {
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

    pub(super) fn let_pass(&mut self, time: i64) {
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

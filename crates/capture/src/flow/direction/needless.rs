//! Spurious retransmissions, each counted once, however many ways there are to know it.

use super::{Again, Direction};
use std::collections::VecDeque;

/// Entries kept until a DSACK covers them, too.
const MOST: usize = 256;

/// A hole that was filled, as it seemed by a retransmission.
#[derive(Clone, Copy, Debug)]
struct Fill {
    start: u64,
    bytes: u64,
    kind: Again,
    stamp: Option<u32>,
}

/// A retransmission that was acknowledged after `delay` ns.
#[derive(Clone, Copy, Debug)]
struct Soon {
    start: u64,
    number: u64,
    delay: i64,
}

/// Round trips needed to know the least of them.
const SAMPLES: u64 = 8;

/// Spurious retransmissions, and candidates for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needless {
    /// Starts of segments that the capture itself shows as spurious; a DSACK of one says nothing new.
    known: VecDeque<u64>,
    /// Numbers of their retransmissions: an acknowledgment may take one of these in pieces.
    numbers: VecDeque<u64>,
    fills: VecDeque<Fill>,
    /// Answers sooner than any before. The end of the flow tells whether a round trip can be so short.
    soon: VecDeque<Soon>,
}

/// True if `one` was sent before `other`, by their timestamps.
pub(crate) fn is_older(one: Option<u32>, other: Option<u32>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if (one.wrapping_sub(other) as i32) < 0)
}

fn keep<T>(list: &mut VecDeque<T>, one: T) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back(one);
}

impl Direction {
    /// Counts the retransmission at `start` as spurious: the capture shows that its data had arrived before.
    pub(crate) fn is_needless(&mut self, start: u64) {
        keep(&mut self.needless.known, start);
        self.count_needless(start);
    }

    /// Counts retransmission `number`, which begins at `start`, as spurious: its first transmission was acknowledged.
    pub(crate) fn arrived(&mut self, start: u64, number: u64) {
        if !self.needless.numbers.contains(&number) {
            keep(&mut self.needless.numbers, number);
            self.is_needless(start);
        }
    }

    /// Records that retransmission `number`, which begins at `start`, was acknowledged after `delay` ns.
    pub(crate) fn answered(&mut self, start: u64, number: u64, delay: i64) {
        if is_sooner(delay, self.rtt.far.min) && self.needless.soon.back().is_none_or(|last| last.number != number) {
            keep(&mut self.needless.soon, Soon { start, number, delay });
        }
    }

    /// Returns the least round trip of the far part, once there were some.
    pub(crate) fn quickest(&self) -> Option<i64> {
        (self.rtt.far.count >= SAMPLES).then_some(self.rtt.far.min)
    }

    /// Judges the soon answers: those sooner than a round trip of the whole flow are spurious retransmissions.
    pub(crate) fn judge_soon(&mut self) {
        let least = self.quickest().unwrap_or(0);
        for soon in std::mem::take(&mut self.needless.soon).into_iter().filter(|soon| is_sooner(soon.delay, least)) {
            self.arrived(soon.start, soon.number);
        }
    }

    /// Handles a DSACK, which says that this data arrived twice (RFC 2883).
    pub(crate) fn came_twice(&mut self, left: u64, right: u64) {
        let before = self.needless.known.len();
        self.needless.known.retain(|start| !(left..right).contains(start));
        self.needless.soon.retain(|soon| !(left..right).contains(&soon.start));
        if self.needless.known.len() == before {
            self.count_needless(left);
        }
    }

    fn count_needless(&mut self, start: u64) {
        if self.counts.needless == self.counts.retransmitted() {
            return;
        }
        self.counts.needless += 1;
        let mut newest = self.losses.episodes.iter_mut().rev().take(MOST);
        if let Some(episode) = newest.find(|episode| (episode.first_lost.1..episode.recover).contains(&start)) {
            episode.needless += 1;
        }
    }

    /// Records a hole that was filled, where nothing says that the segment was late.
    pub(crate) fn filled(&mut self, start: u64, end: u64, kind: Again, stamp: Option<u32>) {
        keep(&mut self.needless.fills, Fill { start, bytes: end - start, kind, stamp });
    }

    /// Records that the segment at `start` was overtaken by its own retransmission.
    pub(crate) fn was_replaced(&mut self, start: u64) {
        self.counts.reordered_before += 1;
        self.counts.lost_before = self.counts.lost_before.saturating_sub(1);
        self.is_needless(start);
    }

    /// A segment filled a hole and comes once more. Timestamps say which of the two was sent first. Without them the first was late, and the
    /// second is the retransmission.
    pub(crate) fn was_late(&mut self, start: u64, stamp: Option<u32>) -> bool {
        let Some(place) = self.needless.fills.iter().position(|fill| fill.start == start) else { return false };
        let Some(fill) = self.needless.fills.remove(place) else { return false };
        if fill.stamp.is_some() {
            let is_first = is_older(stamp, fill.stamp);
            if is_first {
                self.was_replaced(start);
            }
            return is_first;
        }
        let counts = &mut self.counts;
        counts.reordered_before += 1;
        counts.lost_before = counts.lost_before.saturating_sub(1);
        let of_kind = &mut counts.again[fill.kind as usize];
        *of_kind = of_kind.saturating_sub(1);
        counts.bytes_again = counts.bytes_again.saturating_sub(fill.bytes);
        let mut newest = self.losses.episodes.iter_mut().rev().take(MOST);
        if let Some(episode) = newest.find(|episode| (episode.first_lost.1..episode.recover).contains(&start)) {
            episode.again = episode.again.saturating_sub(1);
        }
        false
    }
}

/// True if an answer after `delay` ns is too soon, where the least round trip is `least` ns.
fn is_sooner(delay: i64, least: i64) -> bool {
    least < i64::MAX && delay < least / 10 * 9
}

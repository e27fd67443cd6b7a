//! Segments that were sent again for nothing, each counted once, however many ways there are to know it.

use super::{Again, Way};
use std::collections::VecDeque;

/// How many are remembered until a DSACK tells of them, too.
const MOST: usize = 256;

/// A hole that was filled, as it seemed by a retransmission.
#[derive(Clone, Copy, Debug)]
struct Fill {
    start: u64,
    bytes: u64,
    kind: Again,
}

/// What was sent again for nothing, and what may have been.
#[derive(Clone, Debug, Default)]
pub struct Needless {
    /// Where segments begin that the capture itself shows; a DSACK of one says nothing new.
    known: VecDeque<u64>,
    fills: VecDeque<Fill>,
}

fn keep<T>(list: &mut VecDeque<T>, one: T) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back(one);
}

impl Way {
    /// The capture shows that what begins at `start` had arrived when it was sent again.
    pub(super) fn is_needless(&mut self, start: u64) {
        keep(&mut self.needless.known, start);
        self.count_needless(start);
    }

    /// A DSACK says that this came twice (RFC 2883).
    pub(super) fn came_twice(&mut self, left: u64, right: u64) {
        let before = self.needless.known.len();
        self.needless.known.retain(|start| !(left..right).contains(start));
        if self.needless.known.len() == before && self.counts.again.iter().sum::<u64>() > self.counts.needless {
            self.count_needless(left);
        }
    }

    fn count_needless(&mut self, start: u64) {
        self.counts.needless += 1;
        let mut newest = self.episodes.iter_mut().rev().take(MOST);
        if let Some(episode) = newest.find(|episode| (episode.first_lost.1..episode.recover).contains(&start)) {
            episode.needless += 1;
        }
    }

    /// A hole was filled, and nothing says that what filled it was late.
    pub(super) fn filled(&mut self, start: u64, end: u64, kind: Again) {
        keep(&mut self.needless.fills, Fill { start, bytes: end - start, kind });
    }

    /// What fills a hole, and comes once more: the first was late, and only the second was sent again.
    pub(super) fn was_late(&mut self, start: u64) {
        let Some(place) = self.needless.fills.iter().position(|fill| fill.start == start) else { return };
        let Some(fill) = self.needless.fills.remove(place) else { return };
        let counts = &mut self.counts;
        counts.reordered_before += 1;
        counts.lost_before = counts.lost_before.saturating_sub(1);
        let of_kind = &mut counts.again[fill.kind as usize];
        *of_kind = of_kind.saturating_sub(1);
        counts.bytes_again = counts.bytes_again.saturating_sub(fill.bytes);
        let mut newest = self.episodes.iter_mut().rev().take(MOST);
        if let Some(episode) = newest.find(|episode| (episode.first_lost.1..episode.recover).contains(&start)) {
            episode.again = episode.again.saturating_sub(1);
        }
    }
}

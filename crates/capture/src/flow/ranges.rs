//! Data that a sender has sent and that is not acknowledged, as far as a capture saw it: stretches of its stream, in order and without
//! holes.

use std::collections::VecDeque;

/// The most stretches that are kept: a window of 100 000 segments and more. Beyond it the oldest are forgotten.
const MOST: usize = 1 << 17;

/// Queues that a segment finds before it: by its sender's lead over the bottleneck, and by its sender's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Waited {
    /// Bytes before it that the bottleneck had not yet forwarded.
    pub ahead: u32,
    /// Microseconds that it came later than the quickest; none where that is not known.
    pub late: Option<u32>,
}

/// A stretch of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
    /// Time at which it was seen first; for a hole, when the segment behind it came.
    pub first: i64,
    /// Time at which it was seen last.
    pub last: i64,
    /// Number of times it was seen; 0 for a hole.
    pub times: u16,
    /// TSval of the first and of the second transmission; for a hole, that of the segment behind it.
    pub stamps: [Option<u32>; 2],
    /// The number of the retransmission that was seen last.
    pub number: u64,
    pub is_sacked: bool,
    pub waited: Waited,
    /// Time from its sending to its selective acknowledgment, if any, in ns.
    pub answered: Option<i64>,
    /// True for a hole that was filled later.
    pub is_fill: bool,
}

/// Stretches of the stream from the acknowledged data to the data sent last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    list: VecDeque<Range>,
    /// Stretches that were forgotten.
    pub forgotten: u64,
}

impl Ranges {
    /// Adds a range behind all others.
    pub(crate) fn push(&mut self, range: Range) {
        if self.list.len() == MOST {
            self.list.pop_front();
            self.forgotten += 1;
        }
        self.list.push_back(range);
    }
    pub(crate) fn front(&self) -> Option<&Range> {
        self.list.front()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes off what ends at or before `ack`, and cuts the one that it falls into.
    pub(crate) fn acknowledge(&mut self, ack: u64, mut each: impl FnMut(&Range)) {
        while let Some(front) = self.list.front_mut() {
            if front.end > ack {
                if front.start < ack {
                    each(&Range { end: ack, ..*front });
                    front.start = ack;
                }
                break;
            }
            let range = *front;
            self.list.pop_front();
            each(&range);
        }
    }

    /// Makes `start` and `end` ends of stretches, and calls `each` on every stretch between them.
    pub(crate) fn between(&mut self, start: u64, end: u64, mut each: impl FnMut(&mut Range)) {
        let from = self.cut(start);
        let until = self.cut(end);
        self.list.range_mut(from..until).for_each(&mut each);
    }

    /// The place of the first stretch that begins at or behind `at`; one around it is cut there.
    fn cut(&mut self, at: u64) -> usize {
        let place = self.list.partition_point(|range| range.start < at);
        if place > 0 && self.list[place - 1].end > at {
            let behind = Range { start: at, ..self.list[place - 1] };
            self.list[place - 1].end = at;
            // A segment that overlaps others only in part is rare: this moves the shorter side.
            self.list.insert(place, behind);
        }
        place
    }

    /// The stretch that `at` is in.
    pub(crate) fn around(&self, at: u64) -> Option<&Range> {
        let place = self.list.partition_point(|range| range.end <= at);
        self.list.get(place).filter(|range| range.start <= at)
    }
}

//! Acknowledgments of a direction, by the other side: cumulative and selective acknowledgments, windows, marks.

use super::sender::Answer;
use super::{Direction, is_older};
use crate::flow::ranges::Range;
use crate::read::Packet;
use longfat_core::packet::flags;

impl Direction {
    /// Takes in the acknowledgment in `packet`, with its window scaled by `scale`.
    pub(crate) fn acknowledged(&mut self, packet: &Packet, scale: u8) {
        let time = packet.time;
        let ack = self.offset(packet.ack);
        let is_first = self.acked_first.is_none();
        if is_first {
            self.acked_first = Some(ack);
            if self.counts.segments == 0 {
                (self.acked, self.next, self.sender.acked) = (ack, ack.max(self.next), ack);
            }
        }
        self.counts.acks += 1;
        let is_syn = packet.flags & flags::SYN != 0;
        let window = u64::from(packet.window) << if is_syn { 0 } else { scale };
        self.counts.ece += u64::from(packet.flags & (flags::ECE | flags::SYN) == flags::ECE);
        if packet.flags & (flags::ECE | flags::SYN) == flags::ECE {
            self.series.at(time).marks += 1;
        }
        let was = self.receiver.window;
        if packet.flags & flags::RST == 0 {
            self.note_window(time, window);
        }
        // (The byte of a probe that the receiver took.)
        if self.receiver.probed.take_if(|probed| *probed <= ack) == Some(ack) {
            self.next = self.next.max(ack);
        }
        // Data beyond all that was captured: the capture has lost it.
        if ack > self.next {
            self.ranges.push(Range { start: self.next, end: ack, first: time, last: time, ..Range::default() });
            self.next = ack;
        }
        let sacks = packet.options.sack();
        if ack > self.acked {
            self.advance(packet, ack);
        } else if ack == self.acked && packet.len == 0 && !self.ranges.is_empty() && !is_syn {
            // RFC 5681 section 2: without data, with data outstanding, and with the window as it was; or with news in SACK blocks.
            if was == Some(window) || !sacks.is_empty() {
                self.counts.duplicate_acks += 1;
                self.evidence.duplicates += 1;
                self.evidence.last_evidence = time + self.rtt.near.recent_min();
            }
        }
        if !sacks.is_empty() {
            self.selected(packet, ack);
        }
        self.hole(time);
        self.reach_sender(Answer { seen: time, at: time, ack, edge: ack.saturating_add(window), is_bare: packet.len == 0 });
    }

    /// Notes a hole before the data that has arrived, if there is one once the acknowledgment of `time` reaches the sender.
    fn hole(&mut self, time: i64) {
        let at = time + self.rtt.near.recent_min();
        if self.evidence.highest_sacked > self.acked || self.evidence.duplicates > 0 {
            self.sender.hole_since.get_or_insert(at);
        } else if let Some(since) = self.sender.hole_since.take() {
            self.sender.hole_time += (at - since).max(0);
        }
    }

    pub(crate) fn note_window(&mut self, time: i64, window: u64) {
        self.receiver.window_max = self.receiver.window_max.max(window);
        self.receiver.window_min = Some(self.receiver.window_min.map_or(window, |least| least.min(window)));
        match (window, self.receiver.zero_since) {
            (0, None) => {
                self.counts.zero_windows += 1;
                self.receiver.zero_since = Some(time);
            }
            (1.., Some(since)) => {
                self.counts.zero_window_time += (time - since).max(0);
                self.receiver.zero_since = None;
            }
            _ => {}
        }
        self.receiver.window = Some(window);
    }

    pub(crate) fn advance(&mut self, packet: &Packet, ack: u64) {
        let time = packet.time;
        let echo = packet.options.timestamps.map(|(_, echo)| echo);
        let (mut sample, mut is_clean) = (None, true);
        let (mut unseen, mut behind, mut needless) = (0, 0, Vec::new());
        let highest = self.evidence.highest_sacked;
        let mut burst = 0;
        let trip = self.trips().smoothed;
        let (least, was_whole) = (self.rtt.far.min, self.evidence.highest_sacked <= self.acked);
        let buckets = &mut self.rates.buckets;
        let mut newest = None;
        self.ranges.acknowledge(ack, |range| {
            // (What is lost behind here waits behind here, if it waits.)
            let wait = match range.answered {
                _ if range.times != 1 || range.is_fill => None,
                None if range.is_sacked || !was_whole => None,
                answered => Some(answered.unwrap_or(time - range.first).saturating_sub(least).max(0)).filter(|_| least < i64::MAX),
            };
            // (The send time of segments lost before the capture is unknown.)
            if range.times > 0 && !range.is_fill {
                let is_lost = range.times > 1;
                buckets.add(range.first, range.end, range.end - range.start, is_lost, wait, trip);
            }
            if !range.is_sacked {
                newest = newest.max(arrived(range, time, least));
            }
            match range.times {
                0 => unseen += range.end - range.start,
                1 => {
                    burst = burst.max(u64::from(range.waited.ahead) + (range.end - range.start));
                    if !range.is_sacked && !range.is_fill && highest > range.end {
                        behind += 1;
                    }
                    // Karn: segments that were sent once, and did not wait for a hole before them.
                    if !range.is_sacked && !range.is_fill {
                        sample = Some(time - range.first);
                    }
                }
                _ => {
                    is_clean = false;
                    // The first transmission is the one that arrived (RFC 3522), or an answer came sooner than any can.
                    if !range.is_sacked {
                        needless.push((range.start, range.number, time - range.last, is_older(echo, range.stamps[1])));
                    }
                }
            }
        });
        if !self.is_behind() {
            self.rates.bursts.passed(burst);
        }
        // Segments that waited for a hole say nothing about the bottleneck.
        if !is_clean || self.evidence.highest_sacked > self.acked {
            self.rates.ack_trains.cut();
        }
        self.rates.ack_trains.passed(time, ack, self.rates.clear);
        self.counts.unseen += unseen;
        self.counts.reordered_behind += behind;
        for (start, number, delay, is_first) in needless {
            if is_first { self.arrived(start, number) } else { self.answered(start, number, delay) }
        }
        if let Some(newest) = newest {
            self.evidence.delivered.note(newest, time + self.rtt.near.recent_min(), trip);
        }
        self.series.at(time).acked += ack - self.acked;
        self.acked = ack;
        self.evidence.duplicates = 0;
        self.evidence.last_advance = time + self.rtt.near.recent_min();
        self.last_acked_time = time;
        if let Some(sample) = sample.filter(|_| is_clean && behind == 0) {
            self.sample(time, sample);
        }
    }

    /// Takes in SACK blocks (RFC 2018). A first block below the ACK, or within the second, reports duplicate data (RFC 2883 section 4).
    pub(crate) fn selected(&mut self, packet: &Packet, ack: u64) {
        let time = packet.time;
        let mut blocks = [(0, 0); 4];
        let count = packet.options.sack().len();
        for (block, (left, right)) in blocks.iter_mut().zip(packet.options.sack()) {
            *block = (self.offset(*left), self.offset(*right));
        }
        let blocks = &blocks[..count];
        let is_duplicate = blocks[0].1 <= ack || blocks.get(1).is_some_and(|outer| outer.0 <= blocks[0].0 && blocks[0].1 <= outer.1);
        if is_duplicate {
            self.came_twice(blocks[0].0, blocks[0].1);
        }
        let next = self.next;
        for &(left, right) in &blocks[usize::from(is_duplicate)..] {
            let (mut from, mut until) = (left.max(ack), right.min(next));
            // Blocks grow: the part that was handled once is not handled again.
            for &(a, b) in &self.evidence.last_blocks {
                if a <= from && from < b {
                    from = b.min(until);
                }
                if a < until && until <= b {
                    until = a.max(from);
                }
            }
            if from >= until {
                continue;
            }
            let mut newest = None;
            let (mut arrivals, least) = (None, self.rtt.far.min);
            self.ranges.between(from, until, |range| {
                if !range.is_sacked {
                    arrivals = arrivals.max(arrived(range, time, least));
                }
                if !range.is_sacked && range.times == 1 {
                    newest = Some(range.first);
                    range.answered = Some(time - range.first);
                }
                range.is_sacked = true;
            });
            if let Some(arrived) = arrivals {
                self.evidence.delivered.note(arrived, time + self.rtt.near.recent_min(), self.trips().smoothed);
            }
            if until > self.evidence.highest_sacked {
                self.evidence.highest_sacked = until;
            }
            if let Some(sent) = newest {
                self.evidence.last_evidence = time + self.rtt.near.recent_min();
                self.sample(time, time - sent);
            }
        }
        let mut kept = [(0, 0); 4];
        kept[..count].copy_from_slice(blocks);
        if is_duplicate {
            kept[0] = (0, 0);
        }
        self.evidence.last_blocks = kept;
    }
}

/// The transmission that an acknowledgment of `range` at `time` answers, as far as it tells: not the newest, where that left less than the least
/// round trip before (RFC 8985 section 6.2, step 2).
fn arrived(range: &Range, time: i64, least: i64) -> Option<(i64, u64)> {
    let is_newest = range.times == 1 || least < i64::MAX && time - range.last >= least;
    (range.times > 0 && is_newest).then_some((range.last, range.end))
}

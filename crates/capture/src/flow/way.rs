//! One way of a connection: what one side sent, and what the other said of it, as seen at the point of capture.
//!
//! The capture may be taken anywhere. What lies between the sender and the point is its *near* part, the rest the *far* part; a round
//! trip of the connection is one of both. An acknowledgment that passes the point reaches the sender a near round trip before what it
//! calls for passes the point in turn: what the sender had in flight is found by letting acknowledgments count that much later.

use super::ranges::{Range, Ranges};
use super::rtt::Rtt;
use super::series::Series;
use crate::read::Packet;
use longfat_core::packet::flags;
use std::collections::VecDeque;

/// Where streams begin: what turns out to stand before the first segment seen is still a positive number.
pub const ORIGIN: u64 = 1 << 40;
const PENDING: usize = 1 << 16;
const EPISODES: usize = 4096;
/// TSvals on their way to the sender that are kept: four seconds of a clock of milliseconds.
const ECHOES: usize = 4096;
const MS: i64 = 1_000_000;

/// How a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// After duplicate or selective acknowledgments.
    Fast,
    /// After the retransmission timer, and what follows until all that was sent before is acknowledged.
    Timeout,
    /// The last segment, before the timer (RFC 8985 section 7).
    Probe,
    /// There was no reason that the capture shows.
    Unknown,
}

/// Counts of one way.
#[derive(Clone, Copy, Debug, Default)]
pub struct WayCounts {
    pub packets: u64,
    pub segments: u64,
    pub bytes: u64,
    /// By [`Again`].
    pub again: [u64; 4],
    pub bytes_again: u64,
    /// Of those sent again, what had arrived before (DSACK, the timestamp echoed, or an answer sooner than any).
    pub needless: u64,
    /// Segments that were overtaken before the point of capture, and behind it.
    pub reordered_before: u64,
    pub reordered_behind: u64,
    /// Segments sent again whose first transmission was lost before the point of capture.
    pub lost_before: u64,
    /// Copies of one packet in the capture.
    pub twice: u64,
    /// Bytes that were acknowledged and never captured.
    pub unseen: u64,
    /// Segments longer than the mss: cut or put together by an interface (TSO, GRO).
    pub above_mss: u64,
    pub below_mss: u64,
    pub pushed: u64,
    pub marked: u64,
    pub ece: u64,
    pub cwr: u64,
    pub zero_windows: u64,
    pub zero_window_time: i64,
    pub window_probes: u64,
    pub duplicate_acks: u64,
    pub acks: u64,
    pub len_max: u32,
}

/// A time in which something was repaired.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    pub is_timeout: bool,
    /// In flight when it began, as the sender saw it.
    pub flight: u64,
    /// The round trip shortly before, in ns; 0 where it is unknown.
    pub rtt: i64,
    /// Segments sent again in it, and how many of them at most one behind the other.
    pub again: u32,
    pub run: u32,
    pub needless: u32,
    /// Sent when it began: when that is acknowledged it is over.
    pub recover: u64,
    pub end: i64,
}

/// Where time went, in ns, by what a new segment had waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    pub receiver: i64,
    pub recovery: i64,
    pub acks: i64,
    pub idle: i64,
    pub unprompted: i64,
}

/// One way of a connection.
#[derive(Debug, Default)]
pub struct Way {
    pub counts: WayCounts,
    pub isn: Option<u32>,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: bool,
    pub syn_time: Option<i64>,
    pub syns: u32,
    pub fin: bool,
    /// Behind its last byte, once its FIN was seen: the FIN takes a number of its own.
    pub stream_end: Option<u64>,
    pub reset: bool,
    pub far: Rtt,
    pub near: Rtt,
    pub whole: Rtt,
    pub series: Series,
    pub episodes: Vec<Episode>,
    pub episodes_lost: u64,
    pub waits: Waits,
    pub first_data: Option<i64>,
    pub last_data: Option<i64>,
    /// First and last byte acknowledged of the stream, and when.
    pub acked_first: Option<u64>,
    pub last_acked_time: i64,
    pub flight_max: u64,
    pub window_max: u64,
    pub window_min: Option<u64>,
    /// Wire sequence number of [`ORIGIN`].
    origin: Option<u32>,
    pub next: u64,
    pub acked: u64,
    ranges: Ranges,
    highest_sacked: u64,
    duplicates: u32,
    last_evidence: i64,
    last_advance: i64,
    timeout_until: u64,
    last_blocks: [(u64, u64); 4],
    /// Of acknowledgments on their way to the sender: when they reach it, as seen at the point of capture, and what they say.
    pending: VecDeque<(i64, u64, u64)>,
    /// What the sender knows.
    sender_acked: u64,
    sender_edge: u64,
    sender_ack_time: i64,
    last_new: Option<i64>,
    was_blocked: bool,
    flight_recent: u64,
    echo: VecDeque<(u32, i64)>,
    last_echo: Option<u32>,
    window: Option<u64>,
    zero_since: Option<i64>,
    last_again_end: u64,
    run: u32,
    common_len: (u32, u32),
}

impl Way {
    /// The place in the stream of the wire's `seq`, nearest to what was sent last (RFC 9293 section 3.4).
    pub fn offset(&mut self, seq: u32) -> u64 {
        let origin = *self.origin.get_or_insert(seq);
        if self.next == 0 {
            (self.next, self.acked, self.sender_acked) = (ORIGIN, ORIGIN, ORIGIN);
        }
        let ahead = seq.wrapping_sub(origin).wrapping_sub(self.next.wrapping_sub(ORIGIN) as u32) as i32;
        self.next.saturating_add_signed(i64::from(ahead))
    }

    /// The longest segment that its sender may send: as agreed, or the most frequent length where no SYN was captured.
    pub fn full(&self, agreed: Option<u32>) -> u32 {
        agreed.unwrap_or(self.common_len.0).max(1)
    }

    /// The sender of this way sent `packet`. `agreed`: the mss that both sides said, less the options of each segment.
    pub fn sent(&mut self, packet: &Packet, agreed: Option<u32>) {
        let time = packet.time;
        let counts = &mut self.counts;
        counts.packets += 1;
        counts.marked += u64::from(packet.ecn == 3);
        counts.cwr += u64::from(packet.flags & (flags::CWR | flags::SYN) == flags::CWR);
        self.reset |= packet.flags & flags::RST != 0;
        if let Some((_, echoed)) = packet.options.timestamps {
            self.echoed(time, echoed, packet.len > 0);
        }
        let is_syn = packet.flags & flags::SYN != 0;
        if is_syn {
            self.syn(packet);
        }
        // (The SYN is before the first byte; its payload, if any, is not.)
        let start = self.offset(packet.seq.wrapping_add(u32::from(is_syn)));
        let end = start + u64::from(packet.len);
        if packet.len > 0 {
            self.data(packet, start, end, agreed);
        }
        if packet.flags & flags::FIN != 0 {
            self.fin = true;
            self.stream_end = Some(end);
            // It takes a number of its own, behind the last byte.
            if self.next == end {
                self.next = end + 1;
            }
        }
    }

    fn syn(&mut self, packet: &Packet) {
        self.syns += 1;
        if self.isn.is_none() {
            self.isn = Some(packet.seq);
            self.syn_time = Some(packet.time);
            self.mss = packet.options.mss;
            self.window_scale = packet.options.window_scale;
            self.sack_permitted = packet.options.sack_permitted;
            self.timestamps = packet.options.timestamps.is_some();
        }
    }

    /// An acknowledgment with TSval `value` passes on its way to the sender; it will come back as an echo.
    pub fn acked_with(&mut self, time: i64, value: u32) {
        if self.echo.back().is_none_or(|(last, _)| *last != value) {
            if self.echo.len() == ECHOES {
                self.echo.pop_front();
            }
            self.echo.push_back((value, time));
        }
    }

    /// The near round trip: from the first acknowledgment with a TSval to the first segment that echoes it.
    fn echoed(&mut self, time: i64, value: u32, is_data: bool) {
        // (Most segments echo what the one before them did.)
        if self.last_echo.replace(value) == Some(value) {
            return;
        }
        let Some(place) = self.echo.iter().position(|(sent, _)| *sent == value) else { return };
        let (_, passed) = self.echo[place];
        self.echo.drain(..=place);
        if is_data && time >= passed {
            self.near.add(time - passed);
        }
    }

    fn data(&mut self, packet: &Packet, start: u64, end: u64, agreed: Option<u32>) {
        let (time, len) = (packet.time, packet.len);
        self.let_pass(time);
        let full = self.full(agreed);
        // The most frequent length, by majority (Boyer and Moore 1981).
        self.common_len = match self.common_len {
            (_, 0) => (len, 1),
            (one, n) if one == len => (one, n.saturating_add(1)),
            (one, n) => (one, n - 1),
        };
        let counts = &mut self.counts;
        // A byte before what is acknowledged, or into a closed window, asks whether the other side is there (RFC 9293 section 3.8.6.1).
        if len == 1 && (end <= self.acked || self.window == Some(0)) {
            counts.window_probes += 1;
            if start >= self.next {
                self.next = end.max(self.next);
            }
            return;
        }
        counts.segments += 1;
        counts.bytes += u64::from(len);
        counts.len_max = counts.len_max.max(len);
        counts.pushed += u64::from(packet.flags & flags::PSH != 0);
        counts.above_mss += u64::from(len > full);
        counts.below_mss += u64::from(len < full);
        self.first_data.get_or_insert(time);
        self.series.at(time).sent += u64::from(len);
        if start >= self.next {
            self.new_data(packet, start, end, full);
        } else {
            self.old_data(packet, start, end);
        }
        self.last_data = Some(time);
    }

    fn new_data(&mut self, packet: &Packet, start: u64, end: u64, full: u32) {
        let time = packet.time;
        if start > self.next {
            // What should stand before it comes later, or has been lost before the point of capture.
            self.ranges.push(Range { start: self.next, end: start, first: time, last: time, ..Range::default() });
        }
        let stamp = packet.options.timestamps.map(|(value, _)| value);
        self.ranges.push(Range { start, end, first: time, last: time, times: 1, stamps: [stamp, None], ..Range::default() });
        let before = self.next.saturating_sub(self.sender_acked);
        if let Some(last) = self.last_new {
            self.wait(time, (time - last).max(0), before);
        }
        self.next = end;
        let flight = self.next.saturating_sub(self.sender_acked);
        self.flight_max = self.flight_max.max(flight);
        // Decays by an eighth with each new segment that finds less.
        self.flight_recent = if flight > self.flight_recent { flight } else { self.flight_recent - (self.flight_recent - flight) / 64 };
        let room = self.sender_edge.saturating_sub(self.next);
        self.was_blocked = self.sender_edge > 0 && room < u64::from(full);
        let window = self.sender_edge.saturating_sub(self.sender_acked);
        let has_edge = self.sender_edge > 0;
        let bin = self.series.at(time);
        bin.flight_max = bin.flight_max.max(flight);
        if has_edge {
            bin.window_min = Some(bin.window_min.map_or(window, |least| least.min(window)));
        }
        self.last_new = Some(time);
    }

    /// What the time before a new segment went by with.
    fn wait(&mut self, time: i64, gap: i64, before: u64) {
        let rtt = self.trips().smoothed.max(MS / 10);
        let waits = &mut self.waits;
        if self.was_blocked {
            waits.receiver += gap;
        } else if self.episodes.last().is_some_and(|episode| episode.recover > self.acked) {
            waits.recovery += gap;
        } else if (before == 0 && gap > rtt / 2) || (before < self.flight_recent / 2 && time - self.sender_ack_time > rtt / 4) {
            waits.idle += gap;
        } else if time - self.sender_ack_time <= (rtt / 20).max(MS / 5) {
            waits.acks += gap;
        } else {
            waits.unprompted += gap;
        }
    }

    /// What begins before the end of what was sent: sent again, late, or twice in the capture.
    fn old_data(&mut self, packet: &Packet, start: u64, end: u64) {
        let time = packet.time;
        let stamp = packet.options.timestamps.map(|(value, _)| value);
        let known = self.acked.max(self.ranges.front().map_or(self.next, |front| front.start));
        let before = if end <= known {
            None
        } else {
            let mut found = None;
            let next = self.next;
            self.ranges.between(start.max(known), end.min(next), |range| {
                found.get_or_insert(*range);
            });
            found
        };
        let quickest = if self.far.is_known() { self.far.min } else { MS };
        match before {
            // A hole: what fills it was overtaken, or is sent again since it was lost on its way here.
            Some(hole) if hole.times == 0 => {
                if self.is_late(&hole, time, stamp) {
                    self.counts.reordered_before += 1;
                } else {
                    self.counts.lost_before += 1;
                    self.again(packet, start, end, &hole);
                }
            }
            Some(range) if time - range.last < quickest / 2 && range.stamps[0] == stamp && !self.has_evidence(&range) => {
                self.counts.twice += 1;
            }
            Some(range) => self.again(packet, start, end, &range),
            // All of it is acknowledged: needless, if it is no late copy.
            None => {
                let range = Range { start, end, first: time, last: self.last_data.unwrap_or(time), times: 1, ..Range::default() };
                self.again(packet, start, end, &range);
                self.counts.needless += 1;
                if let Some(episode) = self.episodes.last_mut() {
                    episode.needless += 1;
                }
            }
        }
        if end > known {
            let until = end.min(self.next);
            self.ranges.between(start.max(known), until, |range| {
                if range.times == 1 {
                    range.stamps[1] = stamp;
                }
                if range.times == 0 {
                    (range.first, range.stamps[0], range.is_fill) = (time, stamp, true);
                }
                range.times = range.times.saturating_add(1);
                range.last = time;
            });
        }
        if end > self.next {
            let start = self.next;
            self.ranges.push(Range { start, end, first: time, last: time, times: 1, stamps: [stamp, None], ..Range::default() });
            self.next = end;
        }
    }

    /// Whether what fills a hole had been sent before what came earlier: by its timestamp, or since nothing sent again comes so soon.
    fn is_late(&self, hole: &Range, time: i64, stamp: Option<u32>) -> bool {
        let waited = time - hole.first;
        let soonest = if self.near.is_known() { self.near.min.max(self.trips().min.min(i64::MAX / 2) / 2) } else { 3 * MS };
        let is_soon = waited < soonest.max(MS / 2) / 2;
        if is_soon {
            return true;
        }
        match (stamp, self.ranges.stamp_at(hole.end)) {
            // Of a tick of its own, and not a newer one: older than what overtook it.
            (Some(own), Some(other)) if own != other => (own.wrapping_sub(other) as i32) < 0,
            _ => false,
        }
    }

    fn has_evidence(&self, range: &Range) -> bool {
        self.highest_sacked >= range.end || (self.duplicates > 0 && range.start <= self.acked)
    }

    /// A segment sent again: why, and what it belongs to.
    fn again(&mut self, packet: &Packet, start: u64, end: u64, before: &Range) {
        let time = packet.time;
        self.counts.bytes_again += end - start;
        let kind = self.kind(time, start, end, before);
        self.counts.again[kind as usize] += 1;
        self.series.at(time).again += 1;
        if kind == Again::Timeout && start <= self.acked && self.timeout_until <= self.acked {
            self.timeout_until = self.next;
        }
        self.run = if start == self.last_again_end { self.run + 1 } else { 1 };
        self.last_again_end = end;
        let (acked, next, flight) = (self.acked, self.next, self.next.saturating_sub(self.sender_acked));
        let is_new = self.episodes.last().is_none_or(|episode| episode.recover <= acked);
        if is_new && kind != Again::Probe {
            if self.episodes.len() < EPISODES {
                let rtt = self.trips().last;
                let episode =
                    Episode { is_timeout: kind == Again::Timeout, flight, rtt, again: 0, run: 0, needless: 0, recover: next, end: time };
                self.episodes.push(episode);
            } else {
                self.episodes_lost += 1;
            }
        }
        if let Some(episode) = self.episodes.last_mut().filter(|episode| episode.recover > acked) {
            episode.again += 1;
            episode.run = episode.run.max(self.run);
            episode.is_timeout |= kind == Again::Timeout;
            episode.end = time;
        }
    }

    fn kind(&self, time: i64, start: u64, end: u64, before: &Range) -> Again {
        if self.timeout_until > self.acked {
            return Again::Timeout;
        }
        let trips = *self.trips();
        let rtt = trips.smoothed;
        let quiet = time - self.last_advance.max(before.last).max(self.last_data.unwrap_or(before.last).min(time));
        let since_progress = time - self.last_advance.max(before.last);
        let timer = rtt + (4 * trips.deviation).max(10 * MS);
        let unasked = time - self.last_evidence > (rtt / 2).max(5 * MS);
        let is_front = start <= self.acked || self.ranges.front().is_some_and(|front| start <= front.start);
        let evidence = self.has_evidence(before);
        if end >= self.next && !evidence && !(is_front && since_progress >= rtt + 200 * MS) && quiet >= rtt {
            return Again::Probe;
        }
        if is_front && unasked && since_progress >= timer {
            return Again::Timeout;
        }
        if evidence { Again::Fast } else { Again::Unknown }
    }

    /// What the other side acknowledges in `packet`, with its window scaled by `scale`.
    pub fn acknowledged(&mut self, packet: &Packet, scale: u8) {
        let time = packet.time;
        let ack = self.offset(packet.ack);
        let is_first = self.acked_first.is_none();
        if is_first {
            self.acked_first = Some(ack);
            if self.counts.segments == 0 {
                (self.acked, self.next, self.sender_acked) = (ack, ack.max(self.next), ack);
            }
        }
        self.counts.acks += 1;
        let is_syn = packet.flags & flags::SYN != 0;
        let window = u64::from(packet.window) << if is_syn { 0 } else { scale };
        self.counts.ece += u64::from(packet.flags & (flags::ECE | flags::SYN) == flags::ECE);
        if packet.flags & (flags::ECE | flags::SYN) == flags::ECE {
            self.series.at(time).marks += 1;
        }
        let was = self.window;
        if packet.flags & flags::RST == 0 {
            self.note_window(time, window);
        }
        // More than was ever captured: the capture has lost it.
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
                self.duplicates += 1;
                self.last_evidence = time + self.near.recent_min();
            }
        }
        if !sacks.is_empty() {
            self.selected(packet, ack);
        }
        self.reach_sender(time, ack, ack.saturating_add(window));
    }

    fn note_window(&mut self, time: i64, window: u64) {
        self.window_max = self.window_max.max(window);
        self.window_min = Some(self.window_min.map_or(window, |least| least.min(window)));
        match (window, self.zero_since) {
            (0, None) => {
                self.counts.zero_windows += 1;
                self.zero_since = Some(time);
            }
            (1.., Some(since)) => {
                self.counts.zero_window_time += (time - since).max(0);
                self.zero_since = None;
            }
            _ => {}
        }
        self.window = Some(window);
    }

    fn advance(&mut self, packet: &Packet, ack: u64) {
        let time = packet.time;
        let echo = packet.options.timestamps.map(|(_, echo)| echo);
        let (mut sample, mut is_clean) = (None, true);
        let (mut unseen, mut behind, mut needless) = (0, 0, 0);
        let (highest, quickest) = (self.highest_sacked, self.far.min);
        self.ranges.acknowledge(ack, |range| {
            match range.times {
                0 => unseen += range.end - range.start,
                1 => {
                    if !range.is_sacked && !range.is_fill && highest > range.end {
                        behind += 1;
                    }
                    // Karn: what was sent once, and not what waited for a hole before it.
                    if !range.is_sacked && !range.is_fill {
                        sample = Some(time - range.first);
                    }
                }
                _ => {
                    is_clean = false;
                    // The first transmission is the one that arrived (RFC 3522), or an answer came sooner than any can.
                    let is_first = matches!((echo, range.stamps[1]), (Some(echo), Some(again)) if (echo.wrapping_sub(again) as i32) < 0);
                    let is_too_soon = quickest < i64::MAX && time - range.last < quickest / 2;
                    if !range.is_sacked && (is_first || is_too_soon) {
                        needless += 1;
                    }
                }
            }
        });
        self.counts.unseen += unseen;
        self.counts.reordered_behind += behind;
        self.counts.needless += needless;
        if let Some(episode) = self.episodes.last_mut().filter(|_| needless > 0) {
            episode.needless += needless as u32;
        }
        self.series.at(time).acked += ack - self.acked;
        self.acked = ack;
        self.duplicates = 0;
        self.last_advance = time + self.near.recent_min();
        self.last_acked_time = time;
        if let Some(sample) = sample.filter(|_| is_clean && behind == 0) {
            self.sample(time, sample);
        }
    }

    /// A round trip of the far part.
    pub fn sample(&mut self, time: i64, far: i64) {
        if far < 0 {
            return;
        }
        self.far.add(far);
        let all = far + self.near.recent_min();
        if self.near.is_known() {
            self.whole.add(all);
        }
        self.series.at(time).rtt(all);
    }

    /// Round trips of the whole path; of its far part, where nothing is known of the near one.
    pub fn trips(&self) -> &Rtt {
        if self.whole.is_known() { &self.whole } else { &self.far }
    }

    /// SACK blocks (RFC 2018); a first one below the ACK, or within the second, says what came twice (RFC 2883 section 4).
    fn selected(&mut self, packet: &Packet, ack: u64) {
        let time = packet.time;
        let mut blocks = [(0, 0); 4];
        let count = packet.options.sack().len();
        for (block, (left, right)) in blocks.iter_mut().zip(packet.options.sack()) {
            *block = (self.offset(*left), self.offset(*right));
        }
        let blocks = &blocks[..count];
        let is_duplicate = blocks[0].1 <= ack || blocks.get(1).is_some_and(|outer| outer.0 <= blocks[0].0 && blocks[0].1 <= outer.1);
        if is_duplicate {
            self.counts.needless += u64::from(self.counts.again.iter().sum::<u64>() > self.counts.needless);
        }
        let next = self.next;
        for &(left, right) in &blocks[usize::from(is_duplicate)..] {
            let (mut from, mut until) = (left.max(ack), right.min(next));
            // Blocks grow: what was gone through once is not gone through again.
            for &(a, b) in &self.last_blocks {
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
            self.ranges.between(from, until, |range| {
                if !range.is_sacked && range.times == 1 {
                    newest = Some(range.first);
                }
                range.is_sacked = true;
            });
            if until > self.highest_sacked {
                self.highest_sacked = until;
            }
            if let Some(sent) = newest {
                self.last_evidence = time + self.near.recent_min();
                self.sample(time, time - sent);
            }
        }
        let mut kept = [(0, 0); 4];
        kept[..count].copy_from_slice(blocks);
        if is_duplicate {
            kept[0] = (0, 0);
        }
        self.last_blocks = kept;
    }

    /// When an acknowledgment counts for what the sender has in flight.
    fn reach_sender(&mut self, time: i64, ack: u64, edge: u64) {
        let at = time + self.near.recent_min();
        if self.pending.len() >= PENDING {
            self.let_pass(i64::MAX);
        }
        // (None overtakes another.)
        let at = self.pending.back().map_or(at, |(last, ..)| at.max(*last));
        self.pending.push_back((at, ack, edge));
    }

    fn let_pass(&mut self, time: i64) {
        while let Some(&(at, ack, edge)) = self.pending.front() {
            if at > time {
                break;
            }
            self.pending.pop_front();
            self.sender_acked = self.sender_acked.max(ack);
            self.sender_edge = self.sender_edge.max(edge);
            self.sender_ack_time = at;
        }
    }

    /// Nothing more comes.
    pub fn finish(&mut self, time: i64) {
        if let Some(since) = self.zero_since.take() {
            self.counts.zero_window_time += (time - since).max(0);
        }
        self.ranges = Ranges::default();
        self.pending = VecDeque::new();
        self.echo = VecDeque::new();
    }

    /// Stretches of which the capture had too many to keep.
    pub fn forgotten(&self) -> u64 {
        self.ranges.forgotten
    }
}

//! One direction of a connection: the packets that one side sent, and the answers of the other, as seen at the point of capture.
//!
//! The capture may be taken anywhere. What lies between the sender and the point is its *near* part, the rest the *far* part; a round
//! trip of the connection is one of both. An acknowledgment that passes the point reaches the sender a near round trip before what it
//! calls for passes the point in turn: what the sender had in flight is found by letting acknowledgments count that much later.

mod acked;
mod again;
mod bucket;
mod bursts;
mod counts;
mod delivered;
mod lateness;
mod needless;
mod parts;
mod ranks;
mod sender;
mod trains;

pub(crate) use again::{Again, Episode};
pub(crate) use counts::Counts;
pub(crate) use sender::{TICK, Waits};
pub(crate) use trains::{Rate, Trains};

use super::copies::Identifications;
use super::ranges::{Range, Ranges, Waited};
use super::rtt::Rtt;
use super::series::Series;
use crate::read::Packet;
use longfat_core::packet::flags;
use needless::{Needless, is_older};
use parts::{Closing, Evidence, Handshake, Losses, Rates, Receiver, RoundTrips, Sender};

/// Offset at which streams begin, so that bytes before the first segment seen still have a positive offset.
pub(crate) const ORIGIN: u64 = 1 << 40;
const MS: i64 = 1_000_000;
/// Bytes of the mss that timestamps take in each segment (RFC 7323 appendix A).
pub(crate) const STAMPS: u32 = 12;

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    pub counts: Counts,
    pub ids: Identifications,
    /// Delays of the copies that were left out.
    pub copies: Rtt,
    pub handshake: Handshake,
    pub closing: Closing,
    pub rtt: RoundTrips,
    pub series: Series,
    pub losses: Losses,
    pub waits: Waits,
    pub rates: Rates,
    pub receiver: Receiver,
    pub sender: Sender,
    pub first_data: Option<i64>,
    pub last_data: Option<i64>,
    /// First and last byte acknowledged of the stream, and when.
    pub acked_first: Option<u64>,
    pub last_acked_time: i64,
    pub flight_max: u64,
    /// Wire sequence number of [`ORIGIN`].
    origin: Option<u32>,
    pub next: u64,
    pub acked: u64,
    ranges: Ranges,
    evidence: Evidence,
    /// The newest segment is shorter than the mss.
    is_short: bool,
    common_len: (u32, u32),
    needless: Needless,
}

impl Direction {
    /// Returns the place in the stream of the wire's `seq`, nearest to the data sent last (RFC 9293 section 3.4).
    pub(crate) fn offset(&mut self, seq: u32) -> u64 {
        let origin = *self.origin.get_or_insert(seq);
        if self.next == 0 {
            (self.next, self.acked, self.sender.acked) = (ORIGIN, ORIGIN, ORIGIN);
        }
        let ahead = seq.wrapping_sub(origin).wrapping_sub(self.next.wrapping_sub(ORIGIN) as u32) as i32;
        self.next.saturating_add_signed(i64::from(ahead))
    }

    /// The longest segment that its sender may send: as agreed, or the most frequent length where no SYN was captured.
    pub(crate) fn full(&self, agreed: Option<u32>) -> u32 {
        agreed.unwrap_or(self.common_len.0).max(1)
    }

    /// The sender of this direction sent `packet`. `agreed`: the mss that both sides said, less the options of each segment.
    pub(crate) fn sent(&mut self, packet: &Packet, agreed: Option<u32>) {
        let time = packet.time;
        let counts = &mut self.counts;
        counts.packets += 1;
        counts.marked += u64::from(packet.ecn == 3);
        counts.cwr += u64::from(packet.flags & (flags::CWR | flags::SYN) == flags::CWR);
        self.closing.reset |= packet.flags & flags::RST != 0;
        if let Some((_, echoed)) = packet.options.timestamps {
            self.echoed(time, echoed, packet.len > 0);
        }
        let is_syn = packet.flags & flags::SYN != 0;
        if is_syn {
            self.handshake.syn(packet);
        }
        // (The SYN is before the first byte; its payload, if any, is not.)
        let start = self.offset(packet.seq.wrapping_add(u32::from(is_syn)));
        let end = start + u64::from(packet.len);
        if packet.len > 0 {
            self.data(packet, start, end, agreed);
        }
        if packet.flags & flags::FIN != 0 {
            self.counts.fins_again += u64::from(packet.len == 0 && self.closing.stream_end == Some(end));
            self.closing.fin = true;
            self.closing.stream_end = Some(end);
            // The FIN takes a number of its own, behind the last byte.
            if self.next == end {
                self.next = end + 1;
            }
        }
    }

    fn data(&mut self, packet: &Packet, start: u64, end: u64, agreed: Option<u32>) {
        let (time, len) = (packet.time, packet.len);
        self.let_pass(time);
        self.permitted(time, end);
        let full = self.full(agreed);
        self.is_short = len < full;
        // The most frequent length, by majority (Boyer and Moore 1981).
        self.common_len = match self.common_len {
            (_, 0) => (len, 1),
            (one, n) if one == len => (one, n.saturating_add(1)),
            (one, n) => (one, n - 1),
        };
        let counts = &mut self.counts;
        // A probe of one byte, before the acknowledged data or into a closed window, asks whether the other side is there (RFC 9293 section
        // 3.8.6.1).
        if len == 1 && (end <= self.acked || self.receiver.window == Some(0)) {
            counts.window_probes += 1;
            self.receiver.probed = Some(end).filter(|_| start == self.next);
            return;
        }
        counts.segments += 1;
        counts.bytes += u64::from(len);
        counts.ip_bytes += u64::from(packet.ip_len);
        counts.len_max = counts.len_max.max(len);
        counts.pushed += u64::from(packet.flags & flags::PSH != 0);
        // (A sender may forget that its timestamps take some of the mss. Where no SYN was captured, two segments are longer than one.)
        let own = if packet.options.timestamps.is_some() { STAMPS } else { 0 };
        counts.offload += u64::from(agreed.map_or(len >= full.saturating_mul(2), |agreed| len > agreed + own));
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
        let stamp = packet.options.timestamps.map(|(value, _)| value);
        if start > self.next {
            self.rates.data_trains.cut();
            // Missing data comes later, or was lost before the point of capture.
            self.losses.rtt_at_hole = self.trips().last;
            // (It would have been lost behind the segment that came last.)
            let waited = self.rates.last_waited;
            self.ranges.push(Range {
                start: self.next,
                end: start,
                first: time,
                last: time,
                stamps: [stamp, None],
                waited,
                ..Range::default()
            });
        }
        let gap = self.sender.last_new.map_or(i64::MAX, |last| (time - last).max(0));
        if self.is_behind() || !self.rtt.near.is_known() {
            self.rates.data_trains.passed(time, end, self.rates.clear);
        }
        let ahead = self.rates.bursts.sent(gap, end - start, self.rates.ack_trains.rate, self.next.saturating_sub(self.sender.acked));
        let late = stamp.and_then(|stamp| self.rates.lateness.came(time, stamp));
        let waited = Waited { ahead, late };
        self.rates.last_waited = waited;
        self.ranges.push(Range { start, end, first: time, last: time, times: 1, stamps: [stamp, None], waited, ..Range::default() });
        let before = self.next.saturating_sub(self.sender.acked);
        if let Some(last) = self.sender.last_new {
            self.wait(time, (time - last).max(0), before);
        }
        self.next = end;
        let flight = self.next.saturating_sub(self.sender.acked);
        self.flight_max = self.flight_max.max(flight);
        // Decays by an eighth with each new segment that finds less.
        self.sender.flight_recent =
            if flight > self.sender.flight_recent { flight } else { self.sender.flight_recent - (self.sender.flight_recent - flight) / 64 };
        let room = self.sender.edge.saturating_sub(self.next);
        let window = self.sender.edge.saturating_sub(self.sender.acked);
        self.sender.was_blocked = self.sender.edge > 0 && room < u64::from(full);
        // A window that only waits for more of a buffer stays as large as it was.
        self.sender.was_closing = self.sender.was_blocked && 10 * window < 7 * self.sender.window_max;
        self.sender.window_max = self.sender.window_max.max(window);
        let has_edge = self.sender.edge > 0;
        let bin = self.series.at(time);
        bin.flight_max = bin.flight_max.max(flight);
        if has_edge {
            bin.window_min = Some(bin.window_min.map_or(window, |least| least.min(window)));
        }
        self.sender.last_new = Some(time);
    }

    /// True if it was captured behind the bottleneck, as far as one can tell. There segments show the bottleneck's rate. Before it they
    /// show how far the sender runs ahead.
    pub(crate) fn is_behind(&self) -> bool {
        self.rtt.near.is_known() && self.rtt.near.min > self.rtt.far.min
    }

    /// Delay of a copy without an identification behind its original, in ns: sooner than an answer could have caused it.
    pub(crate) fn copied(&mut self, packet: &Packet) -> Option<i64> {
        if packet.len == 0 || self.ids.tell(packet.id) || self.ranges.is_empty() {
            return None;
        }
        let start = self.offset(packet.seq.wrapping_add(u32::from(packet.flags & flags::SYN != 0)));
        if start >= self.next {
            return None;
        }
        let range = self.ranges.around(start).filter(|range| range.times > 0 && !self.has_evidence(range))?;
        let (quickest, delay) = (self.quickest().unwrap_or(MS), packet.time.saturating_sub(range.last).saturating_abs());
        (delay < quickest / 2 && range.stamps[0] == packet.options.timestamps.map(|(value, _)| value)).then_some(delay)
    }

    /// Data below the highest sequence number so far: a retransmission, or late.
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
        match before {
            // The segment that fills a hole was overtaken, or is retransmitted since it was lost on its way here.
            Some(hole) if hole.times == 0 => {
                if self.is_late(&hole, time, stamp) {
                    self.counts.reordered_before += 1;
                } else {
                    self.counts.lost_before += 1;
                    let kind = self.again(packet, start, end, &hole);
                    self.filled(start, end, kind, stamp);
                }
            }
            // (The segment was sent before the one that came in its place.)
            Some(range) if is_older(stamp, range.stamps[0]) => {
                self.was_replaced(start);
                return;
            }
            Some(range) => {
                self.again(packet, start, end, &range);
            }
            // The whole segment is acknowledged: its retransmission is spurious, if it is not late.
            None => {
                if self.was_late(start, stamp) {
                    return;
                }
                let range = Range { start, end, first: time, last: self.last_data.unwrap_or(time), times: 1, ..Range::default() };
                self.again(packet, start, end, &range);
                self.is_needless(start);
            }
        }
        if end > known {
            let (until, number) = (end.min(self.next), self.counts.retransmitted());
            self.ranges.between(start.max(known), until, |range| {
                range.number = number;
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

    /// A round trip of the far part.
    pub(crate) fn sample(&mut self, time: i64, far: i64) {
        if far < 0 {
            return;
        }
        self.rtt.far.add(far);
        let all = far + self.rtt.near.recent_min();
        if self.rtt.near.is_known() {
            self.rtt.whole.add(all);
        }
        self.series.at(time).rtt(all);
    }

    /// Round trips of the whole path; of its far part, where nothing is known of the near one.
    pub(crate) fn trips(&self) -> &Rtt {
        if self.rtt.whole.is_known() { &self.rtt.whole } else { &self.rtt.far }
    }

    /// Ends the direction: no packets follow.
    pub(crate) fn finish(&mut self, time: i64) {
        self.judge_soon();
        if let Some(since) = self.receiver.zero_since.take() {
            self.counts.zero_window_time += (time - since).max(0);
        }
        self.ranges = Ranges::default();
        self.sender.pending = Default::default();
        self.rtt.echo = Default::default();
        self.evidence.delivered = Default::default();
    }

    /// Stretches of which the capture had too many to keep.
    pub(crate) fn forgotten(&self) -> u64 {
        self.ranges.forgotten
    }
}

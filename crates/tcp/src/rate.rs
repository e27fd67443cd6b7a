//! Delivery rate: how fast data arrives at the other end, as a control that models the path wants to know it
//! (draft-ietf-ccwg-bbr-06 §4.1; the same as draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Every transmission leaves a record of what was known when it left. Records of first transmissions stand in a ring in the order
//! of the stream, which is also that of time; those of retransmissions in one of their own, in the order of the stream. Segments
//! that leave at one instant with nothing learned between them share a record, and nothing is lost by that: their fields are the
//! same but for the bytes in flight, which grow by what was sent. A record is looked at when its bytes arrive or are lost, so the
//! cost is constant per transmission (and a binary search where something arrives out of order).

use std::collections::VecDeque;

use longfat_core::time::{Duration, Time};

/// Delivery rate that an ACK tells of. Byte counts are of the stream's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered in `interval`: between the sending of the newest segment this ACK delivers and its delivery.
    pub delivered: u64,
    /// The longer of the spans in which those bytes were sent and in which they were acknowledged. Zero where it is shorter than
    /// the least round trip, which no delivery can be: an ambiguous retransmission then, and no rate to be had.
    pub interval: Duration,
    /// All bytes delivered on the connection when that segment was sent.
    pub prior_delivered: u64,
    /// All bytes delivered on the connection now.
    pub total_delivered: u64,
    /// All bytes of the connection marked lost so far.
    pub total_lost: u64,
    /// Bytes marked lost since that segment was sent.
    pub lost: u64,
    /// When that segment was sent.
    pub sent_at: Time,
    /// Bytes in flight when that segment was sent, itself included.
    pub in_flight_then: u64,
    /// Bytes in flight now, with this ACK taken in.
    pub in_flight: u64,
    /// The round trip of that segment, if it was sent only once.
    pub rtt: Option<Duration>,
    /// True if the sender had too little to send when that segment was sent.
    pub app_limited: bool,
}

impl RateSample {
    /// Bytes of payload per second; zero where the sample is not to be relied on.
    #[inline]
    pub fn bytes_per_second(&self) -> f64 {
        if self.interval.is_zero() { 0.0 } else { self.delivered as f64 / self.interval.as_secs_f64() }
    }
}

/// Bytes `start..end` of the stream, sent together, of which the sender now says that they are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LostPacket {
    /// Offset of the first byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// When they were sent.
    pub sent_at: Time,
    /// Bytes in flight when they were sent, themselves included.
    pub in_flight_then: u64,
    /// Bytes marked lost since then, themselves included.
    pub lost: u64,
    /// True if the sender had too little to send when they were sent.
    pub app_limited: bool,
}

/// The per-packet state of §4.1.2.1.2. A window is of no more than 1 GiB, so that 32 bits hold what is measured against it, and the lower
/// 32 bits of a total tell how far it has grown since.
#[derive(Clone, Copy, Debug)]
struct Record {
    end: u64,
    at: Time,
    delivered_at: Time,
    first_sent: Time,
    delivered: u32,
    lost: u32,
    len: u32,
    /// Bytes in flight after its last byte; the highest bit tells if the application was the limit.
    in_flight: u32,
}

/// Highest bit of [`Record::in_flight`]: the application was the limit.
const APP_LIMITED: u32 = 1 << 31;

const _: () = assert!(size_of::<Record>() == 48);

/// Returns how far the total `now` has grown since its lower 32 bits were `then`.
#[inline]
fn grown(now: u64, then: u32) -> u64 {
    u64::from((now as u32).wrapping_sub(then))
}

impl Record {
    fn start(&self) -> u64 {
        self.end - u64::from(self.len)
    }

    fn is_app_limited(&self) -> bool {
        self.in_flight & APP_LIMITED != 0
    }

    /// Bytes in flight when the byte before `end` had left.
    fn in_flight_at(&self, end: u64) -> u64 {
        u64::from(self.in_flight & !APP_LIMITED).saturating_sub(self.end - end)
    }

    /// Keeps only what is below `end`.
    fn cut_at(&mut self, end: u64) {
        self.in_flight = self.in_flight_at(end) as u32 | self.in_flight & APP_LIMITED;
        self.len -= (self.end - end) as u32;
        self.end = end;
    }

    /// Takes in what follows it in the stream, if it left at the same instant, with the same knowledge and nothing in between.
    fn merge(&mut self, next: &Record) -> bool {
        let same = self.end == next.start()
            && self.in_flight + next.len == next.in_flight
            && (self.at, self.delivered, self.lost) == (next.at, next.delivered, next.lost);
        if same {
            (self.end, self.in_flight) = (next.end, next.in_flight);
            self.len += next.len;
        }
        same
    }
}

/// The newest of what this ACK delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    record: Record,
    end: u64,
    /// True if it was sent only once.
    once: bool,
}

/// The per-connection state of §4.1.2.1.1, and the records.
#[derive(Clone, Debug, Default)]
pub(super) struct RateSampler {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// `delivered` when the bubble of the last application-limited phase will have left the path; 0: there is none.
    app_limited: u64,
    first: VecDeque<Record>,
    retransmitted: VecDeque<Record>,
    /// Index in `first` of the record last found beyond a hole.
    found: usize,
    /// Below this, records of retransmissions were given up: what arrives there may have been sent twice.
    ambiguous_until: u64,
    newest: Option<Newest>,
    /// The last rate that tells of the path: bytes and how long they took.
    latest: (u64, Duration),
    /// Losses below this are counted.
    pub lost_until: u64,
}

/// A ring has room for an eighth more: a window of many thousands of segments is most of a connection's memory.
fn make_room(ring: &mut VecDeque<Record>) {
    let wanted = 16 + ring.len() / 8;
    if ring.capacity() - ring.len() < wanted {
        ring.reserve_exact(wanted);
    }
}

impl RateSampler {
    /// Returns true if the next record needs more memory, or [`Self::forget_arrived`].
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.first.len() == self.first.capacity()
    }

    /// Makes room: while a hole at the left edge waits to be filled, nearly all that is on record has been SACKed, and `arrived` tells so
    /// of the bytes from one offset to another.
    #[cold]
    pub(crate) fn forget_arrived(&mut self, arrived: impl Fn(u64, u64) -> bool) {
        self.first.retain(|r| !arrived(r.start(), r.end));
        make_room(&mut self.first);
    }

    /// §4.1.2.2: `start..end` leaves, with `in_flight` bytes now on their way.
    pub(crate) fn sent(&mut self, now: Time, start: u64, end: u64, retransmitted: bool, in_flight: u64) {
        if in_flight <= end - start {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = Record {
            end,
            at: now,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            delivered: self.delivered as u32,
            lost: self.lost as u32,
            len: (end - start) as u32,
            in_flight: in_flight as u32 | if self.app_limited == 0 { 0 } else { APP_LIMITED },
        };
        let ring = if retransmitted { &mut self.retransmitted } else { &mut self.first };
        if ring.back_mut().is_some_and(|last| last.merge(&record)) {
            return;
        }
        if ring.len() == ring.capacity() {
            make_room(ring);
        }
        if retransmitted && ring.back().is_some_and(|last| last.end > start) {
            self.send_again_below(record);
        } else {
            ring.push_back(record);
        }
    }

    /// A retransmission below the last one: it takes the place of those of the same bytes.
    fn send_again_below(&mut self, record: Record) {
        let ring = &mut self.retransmitted;
        let start = record.start();
        let mut i = ring.partition_point(|r| r.end <= start);
        while let Some(other) = ring.get_mut(i).filter(|r| r.start() < record.end) {
            if other.start() < start {
                other.cut_at(start);
                i += 1;
            } else if other.end > record.end {
                other.len = (other.end - record.end) as u32;
                break;
            } else if (other.len, other.end) == (record.len, record.end) {
                *other = record;
                return;
            } else {
                ring.remove(i);
            }
        }
        ring.insert(i, record);
    }

    /// §4.1.2.3, UpdateRateSample: `start..end`, all of it outstanding and none of it SACKed before, has arrived.
    pub(crate) fn arrived(&mut self, now: Time, start: u64, end: u64) {
        self.delivered += end - start;
        self.delivered_at = now;
        // The highest byte of it that was sent only once.
        let mut once = end;
        if self.retransmitted.front().is_some_and(|r| r.start() < end) {
            let from = self.retransmitted.partition_point(|r| r.end <= start);
            let until = self.retransmitted.partition_point(|r| r.start() < end);
            for i in (from..until).rev() {
                let record = self.retransmitted[i];
                if record.end >= once {
                    once = record.start();
                }
                self.consider(Newest { record, end: record.end.min(end), once: false });
            }
        }
        if once > start
            && let Some(&record) = self.record_of(once - 1)
        {
            self.consider(Newest { record, end: once, once: once > self.ambiguous_until });
        }
    }

    /// The first transmission of the byte at `offset`.
    #[inline]
    fn record_of(&mut self, offset: u64) -> Option<&Record> {
        // Nearly always the first or the second.
        match self.first.iter().take(2).position(|r| r.end > offset) {
            Some(i) => self.first.get(i),
            None => self.record_beyond(offset),
        }
    }

    /// Finds the record at `offset` beyond a hole at the left edge: usually the one found last, or the one sent next.
    #[inline(never)]
    fn record_beyond(&mut self, offset: u64) -> Option<&Record> {
        let first = &self.first;
        let holds = |i: usize| first.get(i).is_some_and(|r| r.end > offset) && i.checked_sub(1).is_none_or(|i| first[i].end <= offset);
        let near = [self.found, self.found + 1].into_iter().find(|i| holds(*i));
        self.found = near.unwrap_or_else(|| first.partition_point(|r| r.end <= offset));
        self.first.get(self.found)
    }

    /// §4.1.2.3, IsNewestPacket.
    fn consider(&mut self, other: Newest) {
        if self.newest.is_none_or(|newest| (other.record.at, other.end) > (newest.record.at, newest.end)) {
            self.newest = Some(other);
        }
    }

    /// Everything below `una` has arrived.
    pub(crate) fn forget_below(&mut self, una: u64) {
        for ring in [&mut self.first, &mut self.retransmitted] {
            while ring.front().is_some_and(|r| r.end <= una) {
                ring.pop_front();
            }
        }
    }

    /// §4.1.2.3, GenerateRateSample: what the arrivals since the last call add up to, with `in_flight` bytes on their way now.
    pub(crate) fn sample(&mut self, now: Time, rtt_min: Duration, in_flight: u64) -> Option<RateSample> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let Newest { record, end, once } = self.newest.take()?;
        self.first_sent = record.at;
        let interval = record.at.since(record.first_sent).max(now.since(record.delivered_at));
        let interval = if interval < rtt_min { Duration::ZERO } else { interval };
        let delivered = grown(self.delivered, record.delivered);
        let kept_low = record.is_app_limited() && self.was_faster_than(delivered, interval);
        if !interval.is_zero() && !kept_low {
            self.latest = (delivered, interval);
        }
        Some(RateSample {
            delivered,
            interval,
            prior_delivered: self.delivered - delivered,
            total_delivered: self.delivered,
            total_lost: self.lost,
            lost: grown(self.lost, record.lost),
            sent_at: record.at,
            in_flight_then: record.in_flight_at(end),
            in_flight,
            rtt: once.then(|| now.since(record.at)),
            app_limited: record.is_app_limited(),
        })
    }

    /// Returns true if the latest rate is higher. A sample kept low by the application tells of a path at least so fast (§4.1.1.5).
    fn was_faster_than(&self, delivered: u64, interval: Duration) -> bool {
        let (bytes, span) = self.latest;
        u128::from(bytes) * u128::from(interval.as_ps()) > u128::from(delivered) * u128::from(span.as_ps())
    }

    /// The last rate measured, in bytes of payload a second; none that the application kept below one before.
    pub(crate) fn latest(&self) -> Option<f64> {
        let (bytes, span) = self.latest;
        (!span.is_zero()).then(|| bytes as f64 / span.as_secs_f64())
    }

    /// `start..end`, outstanding and not SACKed, is lost, as it was last sent. Tells `each` transmission it was part of.
    pub(crate) fn lost(&mut self, start: u64, end: u64, mut each: impl FnMut(&LostPacket)) {
        let mut retransmitted = self.retransmitted.partition_point(|r| r.end <= start);
        let mut first = self.first.partition_point(|r| r.end <= start);
        let mut from = start;
        while from < end {
            let record = match self.retransmitted.get(retransmitted) {
                Some(r) if r.start() <= from => {
                    retransmitted += 1;
                    *r
                }
                next => {
                    // End of the part before the next retransmission.
                    let until = next.map_or(end, |r| r.start().min(end));
                    while self.first.get(first).is_some_and(|r| r.end <= from) {
                        first += 1;
                    }
                    let Some(&(mut record)) = self.first.get(first) else { return };
                    // Data that had been SACKed, and that the receiver gave up again (RFC 2018 §8), has no record any more.
                    if record.start() >= until {
                        from = until;
                        continue;
                    }
                    from = from.max(record.start());
                    record.cut_at(record.end.min(until));
                    record
                }
            };
            let until = record.end.min(end);
            self.lost += until - from;
            each(&LostPacket {
                start: from,
                end: until,
                sent_at: record.at,
                in_flight_then: record.in_flight_at(until),
                lost: grown(self.lost, record.lost),
                app_limited: record.is_app_limited(),
            });
            from = until;
        }
    }

    /// After a timeout all that is outstanding up to `max` counts as lost, and is retransmitted from the start. What is known of
    /// earlier retransmissions is given up: should one of them still arrive, the first transmission stands for it, whose interval
    /// is longer and whose rate is lower.
    pub(crate) fn start_over(&mut self, max: u64) {
        if let Some(last) = self.retransmitted.back() {
            self.ambiguous_until = self.ambiguous_until.max(last.end);
        }
        self.retransmitted.clear();
        self.lost_until = max;
    }

    /// §4.1.2.4, MarkConnectionAppLimited: there is room for more than the `in_flight` bytes, and nothing to fill it with.
    pub(crate) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Returns true if [`Self::mark_app_limited`] has said the same: always, for a stream that only goes in the other direction.
    #[inline]
    pub(crate) fn is_app_limited_until(&self, in_flight: u64) -> bool {
        self.app_limited == (self.delivered + in_flight).max(1)
    }

    /// Returns true if data sent now counts as limited by the application.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }
}

#[cfg(test)]
mod tests;

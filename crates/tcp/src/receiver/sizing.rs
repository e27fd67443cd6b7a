//! The receive buffer: how the window follows what arrives, and what of it is held against the host's memory.

use super::Receiver;
use crate::seq::unwrap;
use crate::window_sizing::{Answer, Arrival, MemoryUse};
use longfat_core::packet::{Ecn, Segment};
use longfat_core::time::{Duration, Time};

impl Receiver {
    /// The ACK in `segment` goes out. Not inlined, and nor is the next: most connections do not size their windows.
    #[inline(never)]
    pub(super) fn note_answer(&mut self, now: Time, segment: &Segment) {
        let held = self.held();
        if let Some(sizing) = &mut self.buffer.sizing {
            let timestamp = segment.timestamps().map(|(val, _)| val);
            sizing.on_answer(&Answer { now, timestamp, received: self.nxt + held, edge: self.promised });
        }
    }

    /// Bytes beyond a gap.
    fn held(&self) -> u64 {
        self.beyond.as_ref().map_or(0, |beyond| beyond.held)
    }

    /// Data has been taken in: sizes the window. Whether the other side should hear of that at once.
    #[inline(never)]
    pub(super) fn follow_arrival(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> bool {
        let arrival = Arrival {
            now,
            received: self.nxt + self.held(),
            read: self.nxt - self.unread,
            next: self.nxt,
            echoed: segment.timestamps().map(|(_, ecr)| ecr),
            marked: ecn == Ecn::Ce,
            segment: self.largest_segment.into(),
        };
        if let Some(sizing) = &mut self.buffer.sizing {
            sizing.on_arrival(&arrival);
        }
        self.bound_buffer();
        self.buffer.sizing.as_ref().is_some_and(|sizing| sizing.has_news())
    }

    /// Returns the size that the receive buffer would have with memory enough. A scaled window comes in units, and is rounded down when
    /// shown (RFC 7323 §2.2): so the size is rounded up.
    fn wanted_buffer(&self) -> u64 {
        let Some(sizing) = &self.buffer.sizing else { return self.buffer.most };
        let unit = 1 << self.shift;
        (sizing.buffer().div_ceil(unit) * unit).min(self.buffer.most)
    }

    /// The application asks for so much.
    pub(crate) fn set_most_buffer(&mut self, bytes: u64) {
        self.buffer.most = bytes;
        self.bound_buffer();
    }

    pub(super) fn bound_buffer(&mut self) {
        self.buffer.size = self.wanted_buffer().min(if self.keeps_to_memory() { self.buffer.memory } else { u64::MAX });
    }

    /// Returns true if the advertised window keeps to the memory that there is.
    pub(crate) fn keeps_to_memory(&self) -> bool {
        self.buffer.sizing.as_ref().is_some_and(|sizing| sizing.keeps_to_memory())
    }

    /// The host has so much memory for unread data and window. What is promised beyond it stays promised. Whether the other side,
    /// without room for a segment till now, should hear of it.
    pub(crate) fn set_memory(&mut self, bytes: u64) -> bool {
        self.buffer.memory = bytes;
        if let Some(sizing) = &mut self.buffer.sizing {
            sizing.on_memory(bytes);
        }
        self.bound_buffer();
        self.promised.saturating_sub(self.nxt) < u64::from(self.largest_segment.max(1)) && self.wants_update()
    }

    /// This end measures a round trip of `srtt`, and would wait `rto` for an ACK of its own data.
    #[inline]
    pub(crate) fn follow(&mut self, srtt: Duration, rto: Duration) {
        self.acks.follow(srtt, rto);
    }

    /// The SYN and its answer took `rtt`.
    pub(crate) fn established(&mut self, rtt: Duration) {
        if let Some(sizing) = &mut self.buffer.sizing {
            sizing.on_established(rtt);
        }
    }

    /// The round trip as measured here, and what came in the last one: where the window follows them.
    pub(crate) fn measured(&self) -> (Duration, u64) {
        self.buffer.sizing.as_ref().map_or((Duration::ZERO, 0), |sizing| sizing.measured())
    }

    /// The receiving side of what the connection has of its host's memory.
    pub(crate) fn memory(&self) -> MemoryUse {
        // A FIN beyond a gap is held as a number of the stream, and takes no room.
        let fin = u64::from(self.fin.is_some_and(|fin| fin.get() >= self.nxt));
        MemoryUse {
            receive_buffered: self.unread + self.held() - fin,
            unread: self.unread,
            promised: self.promised.saturating_sub(self.nxt),
            receive_wanted: self.wanted_buffer(),
            ..MemoryUse::default()
        }
    }

    /// Returns how many more bytes would be held if `segment` came now and the application then read up to `reads`.
    pub(crate) fn would_hold(&self, segment: &Segment, reads: u64) -> u64 {
        let start = unwrap(self.irs, self.nxt, segment.seq).max(self.nxt);
        let end = (unwrap(self.irs, self.nxt, segment.seq) + u64::from(segment.len)).min(self.promised);
        if end <= start || (start == self.nxt && self.auto_read) {
            return 0;
        }
        let fresh = end - start - self.beyond.as_ref().map_or(0, |beyond| beyond.bytes_within(start, end));
        if start == self.nxt { fresh.saturating_sub(reads) } else { fresh }
    }
}

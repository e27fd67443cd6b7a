//! The receiving half: what has arrived, what to tell the other side, and when.

mod acks;
mod answer;
mod beyond;
mod plain;
mod sizing;

use crate::TcpConfig;
use crate::ecn::Echo;
use crate::seq::{TIMESTAMP_LIFE, timestamp_before, unwrap};
use crate::window_sizing::{self, ReceiveSizing};
use acks::Acks;
use beyond::Beyond;
use longfat_core::packet::{Ecn, Segment, flags};
use longfat_core::time::{Duration, Time};
use std::num::NonZeroU64;

/// Verdict on a segment: why it must be answered at once, if it must.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nothing to say now (a delayed ACK may be pending).
    Quiet,
    /// Acknowledge at once.
    AckNow,
}

/// The receive buffer: unread data and window together.
#[derive(Debug)]
struct Buffer {
    /// Bytes it holds now.
    size: u64,
    sizing: Option<Box<dyn ReceiveSizing + Send>>,
    /// The most it can be.
    most: u64,
    /// Memory there is for it.
    memory: u64,
}

/// Reassembly, the advertised window, delayed and selective acknowledgments.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Initial sequence number of the other side.
    irs: u32,
    /// Next offset expected.
    nxt: u64,
    /// Data beyond a gap, where there is one.
    beyond: Option<Box<Beyond>>,
    /// The last segment held nothing new: report it first (RFC 2883).
    duplicate: Option<(u64, NonZeroU64)>,
    sack: bool,
    dsack: bool,
    /// Offset of the other side's FIN, once seen.
    fin: Option<NonZeroU64>,
    buffer: Buffer,
    /// The most that is advertised, should the application say so.
    pub clamp: u64,
    /// Bytes in order, not yet read by the application.
    unread: u64,
    auto_read: bool,
    /// The right edge promised so far; it never moves left (RFC 9293 §3.8.6.2.1).
    promised: u64,
    shift: u8,
    largest_segment: u32,
    pub acks: Acks,
    /// TS.Recent, when it was set, and Last.ACK.sent (RFC 7323 §4.3).
    ts_recent: u32,
    ts_recent_at: Time,
    last_ack_sent: u64,
    /// ECN marks that ACKs report.
    pub echo: Echo,
    /// Feedback of routers that the next ACK returns, in bytes.
    feedback: Option<f32>,
    pub duplicates: u64,
    pub bytes_duplicate: u64,
}

/// Returns the range `start..end`, unless it is empty.
#[inline]
fn span(start: u64, end: u64) -> Option<(u64, NonZeroU64)> {
    NonZeroU64::new(end).filter(|end| start < end.get()).map(|end| (start, end))
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig, phase: Duration) -> Self {
        let mut receiver = Receiver {
            irs: 0,
            nxt: 0,
            beyond: None,
            duplicate: None,
            sack: config.sack,
            // (A receiver that conceals losses does not report that something came late.)
            dsack: config.dsack && config.misbehaviour.optimistic_acks == 0,
            fin: None,
            buffer: Buffer {
                size: 0,
                sizing: (window_sizing::kind(config).receive)(config),
                most: window_sizing::bounds(config).1,
                memory: u64::MAX,
            },
            clamp: u64::MAX,
            unread: 0,
            auto_read: true,
            promised: 0,
            shift: 0,
            largest_segment: 0,
            acks: Acks::new(config, phase),
            ts_recent: 0,
            ts_recent_at: Time::ZERO,
            last_ack_sent: 0,
            echo: Echo::new(),
            feedback: None,
            duplicates: 0,
            bytes_duplicate: 0,
        };
        receiver.bound_buffer();
        receiver
    }

    /// The other side's SYN arrived.
    pub(crate) fn start(&mut self, now: Time, segment: &Segment) {
        self.irs = segment.seq;
        self.nxt = 1;
        self.promised = 1 + u64::from(self.first_window());
        self.last_ack_sent = 1;
        if let Some((val, _)) = segment.timestamps() {
            self.ts_recent = val;
            self.ts_recent_at = now;
        }
    }

    /// Both sides of the handshake are known.
    pub(crate) fn agree(&mut self, shift: u8, sack: bool) {
        self.shift = shift;
        self.sack = sack;
    }

    /// The handshake begins anew, with a SYN yet to come.
    pub(crate) fn listen_again(&mut self, config: &TcpConfig) {
        self.agree(0, config.sack);
        self.echo = Echo::new();
        self.stop();
    }

    /// The least shift that lets the window field show the largest buffer (RFC 7323 §2.3: at most 14).
    pub(crate) fn wanted_shift(&self) -> u8 {
        (0..14).find(|s| self.buffer.most >> s <= 0xffff).unwrap_or(14)
    }

    /// Returns true unless `segment` is an old one whose number came round again (PAWS, RFC 7323 §5.3).
    #[inline]
    pub(crate) fn is_current(&self, now: Time, segment: &Segment) -> bool {
        match segment.timestamps() {
            Some((val, _)) if timestamp_before(val, self.ts_recent) => now.since(self.ts_recent_at) >= TIMESTAMP_LIFE,
            _ => true,
        }
    }

    /// Returns true if `segment` is current and some of it lies inside the window (RFC 9293 §3.10.7.4).
    #[inline]
    pub(crate) fn accepts(&self, now: Time, segment: &Segment) -> bool {
        if !segment.has(flags::RST) && !self.is_current(now, segment) {
            return false;
        }
        let start = unwrap(self.irs, self.nxt, segment.seq);
        let len = u64::from(segment.seq_len());
        if len == 0 {
            return start >= self.nxt && start <= self.promised.max(self.nxt);
        }
        // (A number before the stream's first wraps to far beyond its end.)
        start < self.promised && start + len > self.nxt
    }

    /// Takes in an acceptable segment.
    #[inline]
    pub(crate) fn handle(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> Verdict {
        self.duplicate = None;
        let len = u64::from(segment.seq_len());
        let start = unwrap(self.irs, self.nxt, segment.seq);
        if let Some((val, _)) = segment.timestamps()
            && start <= self.last_ack_sent
        {
            self.ts_recent = val;
            self.ts_recent_at = now;
        }
        if let Some(header) = segment.congestion().filter(|header| header.answered) {
            // Katabi, Handley and Rohrs 2002 §3.4: it goes back with the acknowledgment. A delayed ACK returns the sum.
            *self.feedback.get_or_insert(0.0) += header.feedback;
        }
        let tell = self.echo.arrived(segment.flags, segment.len.into(), ecn, self.acks.unacked + len > 0);
        let verdict = if len == 0 { Verdict::Quiet } else { self.take(now, segment, start, len) };
        let has_news = self.buffer.sizing.is_some() && len > 0 && self.follow_arrival(now, segment, ecn);
        if tell || has_news { Verdict::AckNow } else { verdict }
    }

    /// A segment of `len` octets of the stream.
    #[inline]
    fn take(&mut self, now: Time, segment: &Segment, start: u64, len: u64) -> Verdict {
        self.largest_segment = self.largest_segment.max(u32::from(segment.len));
        let end = (start + len).min(self.promised);
        if segment.has(flags::FIN) && end == start + len {
            self.fin = NonZeroU64::new(end - 1);
        }
        if start <= self.nxt && self.beyond.is_none() {
            return self.in_order(now, start, end);
        }
        self.beyond_a_gap(start.max(self.nxt), end, start)
    }

    /// Returns true if data that waits for a delayed ACK must be acknowledged apart from data that has `ecn` in its ECN field.
    #[inline]
    pub(crate) fn splits_ack(&self, ecn: Ecn) -> bool {
        self.acks.unacked > 0 && self.echo.splits_ack(ecn)
    }

    /// Gives up what is missing before `segment`, which is acceptable and not empty. Returns how many bytes.
    pub(crate) fn leave_out_gap(&mut self, segment: &Segment) -> u64 {
        let missing = self.offset(segment).saturating_sub(self.nxt);
        self.nxt += missing;
        missing
    }

    /// Returns the offset at which `segment` begins.
    pub(crate) fn offset(&self, segment: &Segment) -> u64 {
        unwrap(self.irs, self.nxt, segment.seq)
    }

    /// A segment outside the window: an old one is reported as a duplicate (RFC 2883 §4) in the ACK that answers it.
    pub(crate) fn handle_unacceptable(&mut self, segment: &Segment) {
        let start = unwrap(self.irs, self.nxt, segment.seq);
        let len = u64::from(segment.seq_len());
        if len > 0 && start < self.nxt && start + len <= self.nxt {
            self.duplicates += 1;
            self.bytes_duplicate += u64::from(segment.len);
            self.duplicate = span(start, start + len);
        }
    }

    /// The common case: the next bytes, and no gap to think of.
    #[inline]
    fn in_order(&mut self, now: Time, start: u64, end: u64) -> Verdict {
        if start < self.nxt {
            self.bytes_duplicate += self.nxt - start;
            self.duplicate = span(start, self.nxt);
        }
        let fresh = end - self.nxt;
        self.advance(end);
        let urgent = self.fin_is_below(end) || self.duplicate.is_some();
        if self.acks.arrived(now, fresh, self.largest_segment, urgent) { Verdict::AckNow } else { Verdict::Quiet }
    }

    /// There is a gap before this segment, or there was one (RFC 5681 §4.2: acknowledge at once in both cases).
    fn beyond_a_gap(&mut self, start: u64, end: u64, sent_start: u64) -> Verdict {
        let mut beyond = self.beyond.take().unwrap_or_default();
        let (fresh, range) = beyond.take(start, end);
        if fresh == 0 {
            self.duplicates += 1;
        }
        self.bytes_duplicate += end - sent_start - fresh;
        if fresh < end - sent_start.min(start) {
            // RFC 2883 §4: the first block tells what came twice.
            self.duplicate = if fresh == 0 { span(sent_start, end) } else { span(sent_start, start) };
        }
        if let Some(end) = beyond.close(self.nxt) {
            self.advance(end);
        } else if let Some(range) = range {
            beyond.remember(range, self.nxt);
        }
        self.beyond = Some(beyond).filter(|beyond| !beyond.is_empty());
        Verdict::AckNow
    }

    /// Returns true if the other side's FIN is known, and below `offset`.
    #[inline]
    fn fin_is_below(&self, offset: u64) -> bool {
        self.fin.is_some_and(|fin| fin.get() < offset)
    }

    #[inline]
    fn advance(&mut self, to: u64) {
        let fin = u64::from(self.fin_is_below(to));
        if !self.auto_read {
            self.unread += to - fin - self.nxt;
        }
        self.nxt = to;
    }

    /// Returns true if data waits for a delayed ACK.
    pub(crate) fn owes_ack(&self) -> bool {
        self.acks.deadline() != Time::MAX
    }

    pub(crate) fn largest_segment(&self) -> u32 {
        self.largest_segment
    }

    pub(crate) fn set_auto_read(&mut self, on: bool) {
        self.auto_read = on;
        if on {
            self.unread = 0;
        }
    }

    /// The application takes up to `bytes`; how many it got.
    pub(crate) fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        taken
    }

    /// Returns the bytes in order and not yet read.
    pub(crate) fn unread(&self) -> u64 {
        self.unread
    }

    /// No ACK is owed any more.
    pub(crate) fn stop(&mut self) {
        self.acks.stop();
    }

    #[inline]
    pub(crate) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    #[inline]
    pub(crate) fn ack_deadline(&self) -> Time {
        self.acks.deadline()
    }

    /// The delayed ACK is due: whether there is anything to acknowledge.
    pub(crate) fn ack_due(&mut self, now: Time) -> bool {
        self.acks.due(now)
    }

    /// In-order payload bytes so far.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        let fin = u64::from(self.end_of_stream());
        self.nxt.saturating_sub(1 + fin)
    }

    /// In-order payload bytes that the application has read.
    pub(crate) fn read_so_far(&self) -> u64 {
        self.delivered() - self.unread
    }

    /// Returns true if the FIN and all before it is here.
    #[inline]
    pub(crate) fn end_of_stream(&self) -> bool {
        self.fin_is_below(self.nxt)
    }

    /// Offset expected next, and the other side's initial sequence number.
    pub(crate) fn next(&self) -> (u64, u32) {
        (self.nxt, self.irs)
    }

    /// Returns true if SACK is offered or, after the other side's SYN, agreed.
    pub(crate) fn sacks(&self) -> bool {
        self.sack
    }

    #[cfg(test)]
    pub(crate) fn renege(&mut self) {
        self.beyond = None;
        self.fin = self.fin.filter(|fin| fin.get() < self.nxt);
    }
}

//! The sender's window, as a receiver can infer it: how much was in flight.
//!
//! When an ACK comes to a sender, all that it has sent and the ACK before did not acknowledge is in flight; the first segment that
//! answers the ACK arrives behind all of it. So what arrives from the ACK before until that segment is what the window was when
//! the ACK came, however the path spreads it over time. Timestamps (RFC 7323 §3) tell which segment that is: the first that
//! echoes the ACK's. The time since is a round trip, which the receiver cannot measure otherwise (Weigle and Feng 2001 §II).
//!
//! A receiver without timestamps takes that segment to come a round trip after the ACK. The round trip is what the handshake took, or
//! less or more where the time to receive one window shows it. Data beyond a window's edge cannot have been sent before the ACK that
//! moved the edge came. So a window takes a round trip at least, and no more where the window is the limit. A flight that seems smaller
//! than the last, with nothing that would make a sender send less, is not: the round trip has become longer ([`Cwnd`]).

use super::cwnd::Cwnd;
use super::{Answer, Arrival};
use crate::seq::timestamp_before;
use longfat_core::time::{Duration, Time};

/// Flight of a round trip ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    pub bytes: u64,
    /// True if the advertised window left no room for a segment more.
    pub fills_window: bool,
    /// True if a round trip has ended, the first since the last that did.
    pub ends_round: bool,
}

/// An ACK whose answer is awaited.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    timestamp: u32,
    at: Time,
    /// Bytes that had come when the ACK before went out, and the edge that it gave.
    received: u64,
    edge: u64,
}

/// Number of ACKs per round trip that are marked.
const MARKS: usize = 8;

/// Measures flights.
#[derive(Clone, Debug, Default)]
pub(super) struct FlightMeter {
    /// Oldest first.
    marks: [Mark; MARKS],
    waiting: usize,
    /// Mark of the last ACK.
    last: Mark,
    /// Bytes that had come before the segment that is looked at.
    received: u64,
    rtt: Duration,
    round_began: Time,
    /// State without timestamps: the least round trip so far; since when the window up to this edge is being received; the number of
    /// windows in a row, each meant to be no more than the flight, and the fastest of them; whether one of them was clearly too small;
    /// and the gap that is open.
    least: Duration,
    window: Option<(Time, u64)>,
    fastest: (u32, Duration),
    held_back: bool,
    gap: Gap,
    cwnd: Cwnd,
}

/// Missing data, and what has come beyond it.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    /// The first byte missing; zero: none.
    next: u64,
    segments: u32,
    /// When the third of them came.
    third: Time,
}

/// Number of windows that must all have taken longer than the supposed round trip before that is raised: a window that ends in the gap
/// between two bursts takes longer by the gap.
const WINDOWS: u32 = 8;

impl FlightMeter {
    /// The SYN and its answer took `rtt`.
    pub(super) fn on_established(&mut self, rtt: Duration) {
        (self.rtt, self.least) = (rtt, rtt);
    }

    /// The last round trip, or the best guess of it; zero before the first.
    pub(super) fn rtt(&self) -> Duration {
        self.rtt
    }

    /// An ACK goes out.
    pub(super) fn on_answer(&mut self, answer: &Answer) {
        let timestamp = answer.timestamp.unwrap_or_default();
        // Several ACKs may have one timestamp: only the first is sure to be what is answered.
        let is_new = answer.timestamp.is_none() || timestamp != self.last.timestamp;
        let spaced = self.waiting == 0 || answer.now.since(self.marks[self.waiting - 1].at) >= self.rtt / MARKS as u64;
        if is_new && spaced && self.waiting < MARKS {
            self.marks[self.waiting] = Mark { timestamp, at: answer.now, ..self.last };
            self.waiting += 1;
        }
        self.last = Mark { timestamp, at: answer.now, received: answer.received, edge: answer.edge };
        if self.window.is_none() {
            self.window = Some((answer.now, answer.edge));
        }
    }

    /// Data has come. What it tells, if it answers a marked ACK; `follows` where the window is meant to be no more than the flight.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival, follows: bool) -> Option<Flight> {
        let before = self.received;
        self.received = arrival.received;
        if arrival.echoed.is_none() {
            self.time_window(arrival, follows);
            self.time_repair(arrival);
            self.cwnd.on_arrival(arrival, self.rtt);
        }
        let answered = self.marks[..self.waiting].iter().take_while(|mark| match arrival.echoed {
            Some(echoed) => !timestamp_before(echoed, mark.timestamp),
            None => !self.rtt.is_zero() && arrival.now.since(mark.at) >= self.rtt,
        });
        let n = answered.count();
        let mark = *self.marks[..n].last()?;
        self.marks.copy_within(n..self.waiting, 0);
        self.waiting -= n;
        if arrival.echoed.is_some() {
            self.rtt = arrival.now.since(mark.at);
        }
        let ends_round = mark.at >= self.round_began;
        if ends_round {
            self.round_began = arrival.now;
        }
        let fills_window = before + arrival.segment > mark.edge || std::mem::take(&mut self.held_back);
        let came = before.saturating_sub(mark.received);
        let bytes = if arrival.echoed.is_some() { came } else { self.cwnd.at_least(came, ends_round) };
        Some(Flight { bytes, fills_window, ends_round })
    }

    /// The time to receive one window: an upper bound of the round trip, and close to it only where the window is the limit or nearly.
    fn time_window(&mut self, arrival: &Arrival, follows: bool) {
        let Some((since, _)) = self.window.filter(|(_, edge)| arrival.next >= *edge) else { return };
        let took = arrival.now.since(since);
        self.window = None;
        self.bound_rtt(took);
        let (n, fastest) = self.fastest;
        self.fastest = match (follows, n) {
            (false, _) => (0, took),
            (true, 0) => (1, took),
            (true, n) => (n + 1, fastest.min(took)),
        };
        if self.fastest.0 == WINDOWS {
            // Even the fastest window took longer than the round trip. Either the sender is at its own window, smaller than this one, or
            // it is at this window and the round trip has become longer. The two look the same, and only the second may not be held back.
            self.held_back |= self.fastest.1 > self.rtt + self.rtt / 8;
            self.rtt = self.rtt.max(self.fastest.1);
            self.fastest.0 = 0;
        }
    }

    /// The time to fill a gap is another upper bound: what fills it was sent when the third duplicate ACK came (RFC 5681 §3.2), or later.
    /// Data that comes sooner was late, and not lost: so the bound is never less than the least so far.
    fn time_repair(&mut self, arrival: &Arrival) {
        if arrival.received == arrival.next {
            let gap = std::mem::take(&mut self.gap);
            self.end_gap(&gap, arrival);
        } else if self.gap.next == 0 {
            self.gap = Gap { next: arrival.next, segments: 1, third: arrival.now };
        } else if arrival.next == self.gap.next {
            self.gap.segments = self.gap.segments.saturating_add(1);
            if self.gap.segments == 3 {
                self.gap.third = arrival.now;
            }
        } else {
            // Another gap behind the first: when its third duplicate ACK came is not known.
            let gap = std::mem::replace(&mut self.gap, Gap { next: arrival.next, segments: 3, third: Time::ZERO });
            self.end_gap(&gap, arrival);
        }
    }

    fn end_gap(&mut self, gap: &Gap, arrival: &Arrival) {
        if gap.segments >= 3 {
            self.rtt = self.rtt.min(arrival.now.since(gap.third)).max(self.least);
        }
    }

    fn bound_rtt(&mut self, took: Duration) {
        if self.rtt.is_zero() || took < self.rtt {
            self.rtt = took;
        }
        self.least = if self.least.is_zero() { took } else { self.least.min(took) };
    }
}

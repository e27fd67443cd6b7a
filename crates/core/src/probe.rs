//! Active probes: `ping`, which measures the round trip of a path beside its flows (RFC 792, echo and echo reply).

use std::collections::VecDeque;

use crate::packet::{Segment, flags};
use crate::time::{Duration, Time};

/// Bytes that a [`Segment`] always counts: an IPv4 and a TCP header. A probe's other bytes are its payload.
pub const LEAST_SIZE: u32 = 40;

/// What a probe has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct PingStats {
    pub requests_sent: u64,
    pub replies_sent: u64,
    /// Requests answered.
    pub answered: u64,
    pub rtt_last: Duration,
    pub rtt_min: Duration,
    pub rtt_max: Duration,
    pub rtt_sum_ps: u128,
    /// Sum of the squares, in ns^2.
    pub rtt_squares_ns2: u128,
}

impl PingStats {
    /// Mean of the round trips in seconds; NaN without one.
    pub fn rtt_mean_s(&self) -> f64 {
        self.rtt_sum_ps as f64 / self.answered as f64 / 1e12
    }

    /// Their standard deviation in seconds, the root of the mean square less the square of the mean: what ping of iputils
    /// prints as `mdev`. NaN without one.
    pub fn rtt_deviation_s(&self) -> f64 {
        let mean_ns = self.rtt_sum_ps as f64 / self.answered as f64 / 1e3;
        let mean_square = self.rtt_squares_ns2 as f64 / self.answered as f64;
        // Rounding may leave less than nothing of equal round trips; but NaN stays NaN.
        let variance = mean_square - mean_ns * mean_ns;
        if variance < 0.0 { 0.0 } else { variance.sqrt() / 1e9 }
    }
}

/// One end of a probe: the one that asks, or the one that answers. Sans-io, like a TCP connection.
#[derive(Debug)]
pub struct Ping {
    /// `None`: this end answers.
    asks: Option<Asking>,
    reply: Option<Segment>,
    stats: PingStats,
}

#[derive(Debug)]
struct Asking {
    interval: Duration,
    payload: u16,
    next: Time,
    stop: Time,
    number: u32,
    /// Requests not yet answered, in the order sent.
    waiting: VecDeque<(u32, Time)>,
}

/// Unanswered requests that are remembered: an answer later than so many others is not counted.
const MOST_WAITING: usize = 4096;

impl Ping {
    /// The end that sends an echo request of `size` bytes (the whole IP packet) every `interval`, first at `start` and before `stop`.
    pub fn ask(interval: Duration, size: u32, start: Time, stop: Time) -> Self {
        let payload = (size - LEAST_SIZE) as u16;
        let asks = Asking { interval, payload, next: start, stop, number: 0, waiting: VecDeque::new() };
        Ping { asks: Some(asks), reply: None, stats: PingStats::default() }
    }

    /// The end that answers.
    pub fn answer() -> Self {
        Ping { asks: None, reply: None, stats: PingStats::default() }
    }

    /// A packet arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        let Some(asking) = &mut self.asks else {
            self.reply = Some(Segment::new(segment.seq, flags::ACK, segment.len));
            return;
        };
        // What was asked before this and is not answered is lost: nothing on a path overtakes.
        while let Some((number, sent)) = asking.waiting.pop_front() {
            if number == segment.seq {
                let rtt = now.since(sent);
                let s = &mut self.stats;
                s.rtt_min = if s.answered == 0 { rtt } else { s.rtt_min.min(rtt) };
                s.rtt_max = s.rtt_max.max(rtt);
                s.rtt_sum_ps += u128::from(rtt.as_ps());
                let ns = u128::from(rtt.as_ps() / 1000);
                s.rtt_squares_ns2 += ns * ns;
                s.rtt_last = rtt;
                s.answered += 1;
                return;
            }
        }
    }

    /// The next packet to send, if any may go now. Call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(reply) = self.reply.take() {
            self.stats.replies_sent += 1;
            return Some(reply);
        }
        let asking = self.asks.as_mut().filter(|asking| now >= asking.next && asking.next < asking.stop)?;
        let segment = Segment::new(asking.number, 0, asking.payload);
        if asking.waiting.len() == MOST_WAITING {
            asking.waiting.pop_front();
        }
        asking.waiting.push_back((asking.number, now));
        asking.number = asking.number.wrapping_add(1);
        asking.next = asking.next.saturating_add(asking.interval);
        self.stats.requests_sent += 1;
        Some(segment)
    }

    /// When the next request is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.asks.as_ref().filter(|asking| asking.next < asking.stop).map(|asking| asking.next)
    }

    /// What has been measured so far.
    pub fn stats(&self) -> PingStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_in_time_and_counts_what_comes_back() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (mut a, mut b) = (Ping::ask(Duration::from_secs(1), 84, at(500), at(5000)), Ping::answer());
        assert_eq!((a.poll_transmit(at(499)), a.poll_timeout(), b.poll_timeout()), (None, Some(at(500)), None));
        for n in 0..5 {
            let request = a.poll_transmit(at(500 + 1000 * n)).unwrap();
            assert_eq!((request.ip_len(), a.poll_transmit(at(500 + 1000 * n))), (84, None));
            // The third is lost; the others take 10, 20, 40 and 50 ms.
            if n != 2 {
                b.handle_segment(at(505 + 1000 * n), &request);
                let reply = b.poll_transmit(at(505 + 1000 * n)).unwrap();
                a.handle_segment(at(510 + 1010 * n), &reply);
            }
        }
        assert_eq!((a.poll_transmit(at(5500)), a.poll_timeout()), (None, None), "it has stopped");
        let s = a.stats();
        assert_eq!((s.requests_sent, s.answered, b.stats().replies_sent), (5, 4, 4));
        assert_eq!((s.rtt_min, s.rtt_max, s.rtt_last), (Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(50)));
        assert_eq!(s.rtt_sum_ps, u128::from(Duration::from_millis(120).as_ps()));
        // Of 10, 20, 40 and 50 ms: mean 30, mean square 4600 / 4 = 1150, and 1150 - 900 = 250.
        assert!((s.rtt_mean_s() - 0.030).abs() < 1e-15);
        assert!((s.rtt_deviation_s() - 0.001 * 250.0_f64.sqrt()).abs() < 1e-12);
        assert!(b.stats().rtt_deviation_s().is_nan() && b.stats().rtt_mean_s().is_nan());
    }
}

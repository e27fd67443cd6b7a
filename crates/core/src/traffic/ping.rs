//! `ping`: an active probe, which measures the round-trip time of a path beside its flows (RFC 792, echo and echo reply).

use std::collections::VecDeque;

use super::{Datagram, DatagramStats, Datagrams, Demand, LEAST_SIZE, Over, Rank, Traffic, TrafficKind, Volume, as_said, nothing_to_check};
use crate::params::{Kind, ParamSpec, Value};
use crate::quantiles::Quantiles;
use crate::time::{Duration, Time};

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "ping",
    summary: "a probe, not TCP: an echo request now and then, which the other end answers; the run does not wait for it",
    source: "RFC 792; Bulot, Cottrell and Hughes-Jones, Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks, 2004, section 3",
    params: &[
        ParamSpec {
            name: "interval",
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) },
            default: Some(Value::Duration(Duration::from_secs(1))),
            doc: "from one request to the next",
        },
        ParamSpec {
            name: "size",
            kind: Kind::Bytes { min: LEAST_SIZE as u64, max: 65_535 },
            default: Some(Value::Bytes(84)),
            doc: "the whole IP packet, request and reply alike",
        },
    ],
    check: nothing_to_check,
    canonical: as_said,
    rank: Rank::Probe,
    volume: Volume::None,
    demand: |params, time| Demand::datagrams(time.as_secs_f64() / params.duration("interval").as_secs_f64(), params.integer("size") as u32),
    over: Over::Datagrams {
        sender: |params, life| Box::new(Ping::ask(params.duration("interval"), params.integer("size") as u32, life.start)),
        receiver: || Box::new(Ping::answer()),
        peak: |params| {
            let requests = (1.0 / params.duration("interval").as_secs_f64()).ceil();
            Demand::datagrams(requests, params.integer("size") as u32).bytes
        },
    },
};

impl Traffic {
    /// Returns the traffic of an echo request of `size` bytes (IP) every `interval`.
    pub fn ping(interval: Duration, size: u32) -> Self {
        Traffic::of("ping", &[("interval", Value::Duration(interval)), ("size", Value::Bytes(size.into()))])
    }
}

/// One end of a probe: the one that asks, or the one that answers.
#[derive(Debug)]
pub(super) struct Ping {
    /// Requests; `None`: this end answers.
    asks: Option<Asking>,
    /// Requests to be answered, in the order in which they came: a host may take in several requests before it sends.
    replies: VecDeque<Datagram>,
    stats: DatagramStats,
    round_trips: Quantiles,
}

#[derive(Debug)]
struct Asking {
    interval: Duration,
    size: u32,
    next: Time,
    number: u32,
    /// Requests not yet answered, in the order sent.
    waiting: VecDeque<(u32, Time)>,
}

/// Unanswered requests that are remembered: an answer later than so many others is not counted.
const MOST_WAITING: usize = 4096;

impl Ping {
    /// Returns the end that sends an echo request of `size` bytes (the whole IP packet) every `interval`, first at `start`.
    pub(super) fn ask(interval: Duration, size: u32, start: Time) -> Self {
        let asks = Asking { interval, size, next: start, number: 0, waiting: VecDeque::new() };
        Ping { asks: Some(asks), replies: VecDeque::new(), stats: DatagramStats::default(), round_trips: Quantiles::default() }
    }

    /// Returns the end that answers.
    pub(super) fn answer() -> Self {
        Ping { asks: None, replies: VecDeque::new(), stats: DatagramStats::default(), round_trips: Quantiles::default() }
    }
}

impl Datagrams for Ping {
    fn handle(&mut self, now: Time, datagram: &Datagram) {
        let Some(asking) = &mut self.asks else {
            // The other end remembers no more requests.
            if self.replies.len() < MOST_WAITING {
                self.replies.push_back(Datagram { is_reply: true, ..*datagram });
            }
            return;
        };
        // Earlier requests without an answer are lost: nothing on a path overtakes.
        while let Some((number, sent)) = asking.waiting.pop_front() {
            if number == datagram.number {
                self.stats.rtt.add(now.since(sent));
                self.round_trips.record(now.since(sent));
                return;
            }
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if let Some(reply) = self.replies.pop_front() {
            self.stats.replies += 1;
            return Some(reply);
        }
        let asking = self.asks.as_mut().filter(|asking| now >= asking.next)?;
        let request = Datagram { number: asking.number, size: asking.size, is_reply: false };
        if asking.waiting.len() == MOST_WAITING {
            asking.waiting.pop_front();
        }
        asking.waiting.push_back((asking.number, now));
        asking.number = asking.number.wrapping_add(1);
        asking.next = asking.next.saturating_add(asking.interval);
        self.stats.sent += 1;
        Some(request)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.asks.as_ref().map(|asking| asking.next)
    }

    fn stats(&self) -> DatagramStats {
        self.stats
    }

    fn round_trips(&self) -> Option<&Quantiles> {
        Some(&self.round_trips)
    }

    fn forget_round_trips(&mut self) {
        self.stats.rtt.forget();
        self.round_trips.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::until;

    /// Requests are answered even if several come before the answering end sends.
    #[test]
    fn every_request_is_answered() {
        let (mut a, mut b) = (Ping::ask(Duration::from_millis(1), 84, Time::ZERO), Ping::answer());
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        for n in 0..3 {
            let request = a.poll_transmit(at(n)).unwrap();
            b.handle(at(n), &request);
        }
        let replies: Vec<(u32, bool)> = std::iter::from_fn(|| b.poll_transmit(at(5))).map(|reply| (reply.number, reply.is_reply)).collect();
        assert_eq!(replies, [(0, true), (1, true), (2, true)]);
        assert_eq!(b.stats().replies, 3);
    }

    #[test]
    fn asks_in_time_and_counts_what_comes_back() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (mut a, mut b) = (until(at(5000), Box::new(Ping::ask(Duration::from_secs(1), 84, at(500)))), Ping::answer());
        assert_eq!((a.poll_transmit(at(499)), a.poll_timeout(), b.poll_timeout()), (None, Some(at(500)), None));
        for n in 0..5 {
            let request = a.poll_transmit(at(500 + 1000 * n)).unwrap();
            assert_eq!((request.size, a.poll_transmit(at(500 + 1000 * n))), (84, None));
            // The third is lost; the others take 10, 20, 40 and 50 ms.
            if n != 2 {
                b.handle(at(505 + 1000 * n), &request);
                let reply = b.poll_transmit(at(505 + 1000 * n)).unwrap();
                a.handle(at(510 + 1010 * n), &reply);
            }
        }
        assert_eq!((a.poll_transmit(at(5500)), a.poll_timeout()), (None, None), "it has stopped");
        let (sent, s) = (a.stats().sent, a.stats().rtt);
        assert_eq!((sent, s.count, b.stats().replies), (5, 4, 4));
        assert_eq!((s.min, s.max, s.last), (Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(50)));
        assert_eq!(s.sum_ps, u128::from(Duration::from_millis(120).as_ps()));
        // Round trips are 10, 20, 40 and 50 ms: mean 30, mean square 4600 / 4 = 1150, and 1150 - 900 = 250.
        assert!((s.mean_s() - 0.030).abs() < 1e-15);
        assert!((s.deviation_s() - 0.001 * 250.0_f64.sqrt()).abs() < 1e-12);
        assert!(b.stats().rtt.deviation_s().is_nan() && b.stats().rtt.mean_s().is_nan());
    }
}

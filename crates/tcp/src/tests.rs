//! Two endpoints joined by a network the test controls, stepped in virtual time.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::*;
use longfat_core::packet::{Ecn, Segment, flags};
use longfat_core::time::{Duration, Time};

mod aborts;
mod by_time;
mod ecn;
mod fast_open;
mod forward;
mod handshake;
mod misbehaving;
mod overshoot;
mod overtaken;
mod plain;
mod recovery;
mod samples;
mod silence;
mod sizing;
mod spurious;
mod stall;
mod stream;
mod tahoe;
mod undone;
mod unused;
mod window;

/// A segment on its way: (arrival, order of sending, to the client?, segment, ECN).
type InFlight = Reverse<(Time, u64, bool, Wire)>;

#[derive(Clone, Copy, Debug)]
struct Wire(Segment, Ecn);

impl PartialEq for Wire {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Wire {}
impl PartialOrd for Wire {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Wire {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// Sees every segment (its number, whether the client sent it) and returns when copies of it arrive, as extra delays: none is a
/// loss, two a duplication.
type Network<'a> = dyn FnMut(u64, bool, &mut Segment, &mut Ecn) -> Vec<Duration> + 'a;

/// Client and server with `delay` each way, joined by a network.
struct Pair<'a> {
    now: Time,
    /// `now`, for a network that needs it.
    clock: Rc<Cell<Time>>,
    client: Connection,
    server: Connection,
    delay: Duration,
    sent: u64,
    wire: BinaryHeap<InFlight>,
    network: Box<Network<'a>>,
    /// Every segment sent: (when, by the client?, segment).
    log: Vec<(Time, bool, Segment)>,
    /// Plain segments are handled as such, and how many were; `None`: as all others.
    plain: Option<u64>,
    /// Answer to the plain segment that has just come: to the client?, segments, and whether they are all that goes.
    answer: Option<(bool, Vec<Segment>, bool)>,
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at_ms(n: u64) -> Time {
    Time::ZERO + ms(n)
}

pub(crate) fn config(stack: &str) -> TcpConfig {
    TcpConfig::new(&stack::find(stack).unwrap().params(), 1500)
}

impl<'a> Pair<'a> {
    fn new(client: TcpConfig, server: TcpConfig, delay: Duration) -> Self {
        Self::with_iss(client, server, delay, 0xffff_fff0, 0x7fff_fff0)
    }

    fn with_iss(client: TcpConfig, server: TcpConfig, delay: Duration, client_iss: u32, server_iss: u32) -> Self {
        Pair {
            now: Time::ZERO,
            clock: Rc::default(),
            client: Connection::connect(client, client_iss, ms(123)),
            server: Connection::listen(server, server_iss, ms(77)),
            delay,
            sent: 0,
            wire: BinaryHeap::new(),
            network: Box::new(|_, _, _, _| vec![Duration::ZERO]),
            log: Vec::new(),
            plain: None,
            answer: None,
        }
    }

    fn network(mut self, f: impl FnMut(u64, bool, &mut Segment, &mut Ecn) -> Vec<Duration> + 'a) -> Self {
        self.network = Box::new(f);
        self
    }

    fn flush(&mut self) {
        self.clock.set(self.now);
        for client in [true, false] {
            let end = if client { &mut self.client } else { &mut self.server };
            let (plain, is_all) =
                self.answer.take_if(|answer| answer.0 == client).map_or_else(Default::default, |answer| (answer.1, answer.2));
            let mut plain = plain.into_iter();
            let mut next =
                || plain.next().map(|segment| (segment, Ecn::NotEct)).or_else(|| if is_all { None } else { end.poll_transmit(self.now) });
            while let Some((mut segment, mut ecn)) = next() {
                self.log.push((self.now, client, segment));
                let copies = (self.network)(self.sent, client, &mut segment, &mut ecn);
                self.sent += 1;
                assert!(self.log.len() < 2_000_000, "a storm of segments");
                for extra in copies {
                    self.wire.push(Reverse((self.now + self.delay + extra, self.sent, !client, Wire(segment, ecn))));
                }
            }
        }
    }

    /// Handles the next thing that happens, if it is not after `until`.
    fn step(&mut self, until: Time) -> bool {
        self.flush();
        let arrival = self.wire.peek().map(|Reverse((at, ..))| *at);
        let timers =
            [self.client.poll_timeout(), self.server.poll_timeout(), self.client.paced_until(self.now), self.server.paced_until(self.now)];
        // A segment may arrive at the very instant a timer is set for: the timer's turn is then still to come.
        assert!(timers.iter().flatten().all(|at| *at >= self.now), "a timer for a time in the past: {timers:?}, and it is {:?}", self.now);
        let Some(next) = arrival.into_iter().chain(timers.into_iter().flatten()).min() else { return false };
        if next > until {
            self.now = until;
            return false;
        }
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let Reverse((_, _, to_client, Wire(segment, ecn))) = self.wire.pop().unwrap();
            let end = if to_client { &mut self.client } else { &mut self.server };
            if let Some(count) = &mut self.plain
                && let Some(mut plain) = end.plain()
                && plain.handle(self.now, &segment, || ecn)
            {
                let mut answer = Vec::new();
                let is_all = plain.send(self.now, |segment| answer.push(*segment));
                self.answer = Some((to_client, answer, is_all));
                *count += 1;
            } else {
                end.handle_segment(self.now, &segment, ecn);
            }
        } else {
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
        }
        self.flush();
        true
    }

    fn run_until(&mut self, until: Time) {
        while self.step(until) {}
        self.now = until;
    }

    /// Segments with payload that the client sent, as (ms since the start, first byte's offset in mss, segments).
    fn data(&self) -> impl Iterator<Item = (Time, &Segment)> {
        self.log.iter().filter(|(_, client, s)| *client && s.len > 0).map(|(at, _, s)| (*at, s))
    }
}

use proptest::prelude::*;

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// RFC 8985 §6.2 step 4.
#[test]
fn the_reordering_window_widens_by_dsack_and_narrows_after_sixteen_recoveries() {
    let mut rack = Rack::default();
    let window = |rack: &mut Rack, una, at_once| rack.reordering_window(una, ms(80), ms(100), at_once);
    assert_eq!(window(&mut rack, 0, false), ms(20));
    assert_eq!(window(&mut rack, 0, true), Duration::ZERO, "no reordering seen: the threshold rules");
    // Once a round trip, however many DSACKs come.
    rack.duplicate_reported(1000);
    rack.duplicate_reported(1000);
    assert_eq!(window(&mut rack, 999, true), ms(40));
    rack.duplicate_reported(2000);
    assert_eq!(window(&mut rack, 1000, true), ms(40));
    rack.duplicate_reported(2000);
    assert_eq!(window(&mut rack, 2000, false), ms(60));
    for round in 3..10 {
        rack.duplicate_reported(1000 * round);
        window(&mut rack, 1000 * round, false);
    }
    assert_eq!(window(&mut rack, 10_000, false), ms(100), "no more than srtt");
    for _ in 0..15 {
        rack.recovered();
    }
    assert_eq!(window(&mut rack, 10_000, false), ms(100));
    rack.recovered();
    assert_eq!(window(&mut rack, 10_000, false), ms(20));
}

/// A sender's books with RACK, and the same per byte, as the RFC words it.
#[derive(Default)]
struct Books {
    now: u64,
    board: Scoreboard,
    log: SentLog,
    rack: Rack,
    bytes: Vec<Byte>,
    newest: Option<(Order, u64)>,
    rtt: Duration,
    fack: u64,
    reordered: bool,
    serial: u32,
}

#[derive(Clone, Copy, Debug)]
struct Byte {
    sent: Time,
    order: Order,
    retransmitted: bool,
    arrived: bool,
    lost: bool,
}

const SEGMENT: u64 = 10;
const MIN_RTT: Duration = Duration::from_millis(5);

impl Books {
    fn now(&self) -> Time {
        at(self.now)
    }

    fn send_new(&mut self, segments: u64) {
        let (start, len, now) = (self.board.max(), segments * SEGMENT, self.now());
        self.board.sent_new(len);
        self.log.sent(start, start + len, now);
        let order = |i| Order { sent: now, position: start + i + 1, serial: 0 };
        self.bytes.extend((0..len).map(|i| Byte { sent: now, order: order(i), retransmitted: false, arrived: false, lost: false }));
    }

    fn send_again(&mut self, start: u64, end: u64) {
        let now = self.now();
        self.serial += 1;
        let (max, serial) = (self.board.max(), self.serial);
        self.rack.retransmissions.sent(start, end, max, now);
        for byte in &mut self.bytes[start as usize..end as usize] {
            *byte = Byte {
                sent: now,
                order: Order { sent: now, position: max, serial },
                retransmitted: true,
                arrived: byte.arrived,
                lost: false,
            };
        }
    }

    fn repair(&mut self) {
        let next = self.board.next_lost(SEGMENT);
        assert_eq!(next.map(|n| n.0), self.bytes.iter().position(|b| b.lost).map(|n| n as u64));
        if let Some((start, end)) = next {
            self.board.retransmitted(start, end);
            self.send_again(start, end);
        }
    }

    /// One ACK: everything below `ack` and `left..right` are there.
    fn ack(&mut self, ack: u64, left: u64, right: u64) {
        let now = self.now();
        let answer = Answer { now, rtt_min: MIN_RTT, echo: None };
        self.rack.begin(false);
        let (rack, log) = (&mut self.rack, &self.log);
        self.board.sack(left, right, |s, e| rack.arrived(now, s, e, log, answer));
        let mut from = self.board.una();
        while let Some((s, e)) = self.board.next_missing(from, ack) {
            self.rack.arrived(now, s, e, &self.log, answer);
            from = e;
        }
        if ack > self.board.una() {
            self.log.arrived(ack);
            self.board.acknowledge(ack);
        }
        let fresh: Vec<u64> = (0..ack)
            .chain(left..right)
            .filter(|i| !self.bytes[*i as usize].arrived)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let told: Vec<(Order, u64)> = fresh
            .iter()
            .map(|i| (self.bytes[*i as usize], *i))
            .filter(|(b, _)| !b.retransmitted || answer.is_of(b.sent))
            .map(|(b, i)| (b.order, i + 1))
            .collect();
        if let Some(last) = told.iter().max() {
            self.rtt = now.since(last.0.sent);
        }
        self.newest = self.newest.max(told.iter().copied().max());
        let late = fresh.iter().any(|i| *i < self.fack && !self.bytes[*i as usize].retransmitted);
        self.reordered |= late;
        assert_eq!(self.rack.reordering_seen, self.reordered);
        for i in fresh {
            self.bytes[i as usize].arrived = true;
            self.bytes[i as usize].lost = false;
            self.fack = self.fack.max(i + 1);
        }
    }

    fn before_newest(&self, byte: &Byte, offset: u64) -> bool {
        self.newest.is_some_and(|n| (byte.order, offset + 1) < n)
    }

    fn detect(&mut self, window: Duration) {
        let (now, patience) = (self.now(), self.rtt + window);
        let news = self.rack.detect(now, window, &mut self.board, &self.log, |_, _| {});
        let (mut lost, mut wake) = (false, None::<Time>);
        for i in 0..self.bytes.len() {
            let byte = self.bytes[i];
            if byte.arrived || byte.lost || !self.before_newest(&byte, i as u64) {
                continue;
            }
            let due = byte.sent + patience;
            if due <= now {
                self.bytes[i].lost = true;
                lost = true;
            } else {
                wake = Some(wake.map_or(due, |w| w.min(due)));
            }
        }
        assert_eq!((news, self.rack.wake), (lost, wake));
    }

    fn timeout(&mut self, window: Duration) {
        let (now, patience) = (self.now(), self.rtt + window);
        self.rack.timeout(now, window, &mut self.board, &self.log, SEGMENT, |_, _| {});
        let una = self.board.una();
        let first = self.board.next_missing(una, (una + SEGMENT).min(self.board.max())).unwrap_or((0, 0));
        for (i, byte) in self.bytes.iter_mut().enumerate().filter(|(_, byte)| !byte.arrived) {
            byte.lost |= byte.sent + patience <= now || (first.0..first.1).contains(&(i as u64));
        }
    }

    fn check(&self) {
        let in_flight = self.bytes.iter().filter(|b| !b.arrived && !b.lost).count() as u64;
        assert_eq!(self.board.pipe(), in_flight, "every byte is in flight once, or lost, or there");
        let lost: Vec<u64> = self.board.lost().flat_map(|(s, e)| s..e).collect();
        let expected: Vec<u64> = (0..self.bytes.len() as u64).filter(|i| self.bytes[*i as usize].lost).collect();
        assert_eq!(lost.len(), expected.len());
        assert!(lost.iter().all(|i| expected.contains(i)));
        let retransmitted = self.bytes.iter().filter(|b| b.retransmitted && !b.arrived).count() as u64;
        assert_eq!(self.rack.retransmissions.bytes(), retransmitted);
    }
}

proptest! {
    /// Whatever is sent, arrives, gets lost, is retransmitted and lost again: detection, `pipe` and the timer are those of the RFC
    /// applied to each byte.
    #[test]
    fn detection_equals_the_rfc_byte_by_byte(steps in prop::collection::vec((0u8..10, 0u64..30, 1u64..5, 0u64..12), 1..120)) {
        let mut books = Books::default();
        books.send_new(3);
        for (what, at, len, wait) in steps {
            books.now += wait / 2;
            let max = books.board.max();
            match what {
                0 | 1 if max < 400 => books.send_new(len),
                2 | 3 => books.repair(),
                4 => {
                    // A probe: the last segment again, lost or not (then it is no longer).
                    if let Some((start, end)) = books.board.last_segment(SEGMENT)
                        && books.board.next_missing(start, end) == Some((start, end))
                        && !books.bytes[start as usize..end as usize].iter().any(|b| b.lost)
                    {
                        books.send_again(start, end);
                    }
                }
                5..=7 => {
                    let (left, right) = ((at * SEGMENT).min(max), ((at + len) * SEGMENT).min(max));
                    let ack = if what == 7 { (at * 3).min(max) } else { 0 };
                    // A cumulative ACK ends where something is missing.
                    let ack = (ack.max(books.board.una())..max).find(|i| !books.bytes[*i as usize].arrived).unwrap_or(max);
                    books.ack(ack, left.max(ack), right.max(ack));
                }
                8 => {
                    books.timeout(ms(wait));
                    books.check();
                    books.repair();
                }
                _ => {}
            }
            books.detect(ms(wait));
            books.check();
            if wait == 11 && at == 7 {
                // All proved spurious.
                books.board.forget_losses();
                books.rack.judge_again();
                books.bytes.iter_mut().for_each(|byte| byte.lost = false);
            }
        }
    }
}

//! The overshoot of slow start on a long fat path, followed round trip by round trip: thousands of packets of one window are
//! lost at a queue of one BDP, and RFC 6675 with PRR repairs them without a timeout while the link stays busy.

use std::cell::RefCell;

use super::*;
use crate::units::Rate;

/// A bottleneck in front of the server: a drop-tail queue of `limit` packets, and a rate.
struct Bottleneck {
    rate: Rate,
    limit: usize,
    departures: std::collections::VecDeque<Time>,
    free: Time,
    dropped: u64,
    busy: Vec<Duration>,
}

const ROUND: u64 = 72;

/// 622 Mb/s, 72 ms, queue of one BDP (3,700 packets): the case (a), 5 s. Returns the pair's log and what each round of
/// 72 ms saw: (utilization, packets dropped, retransmissions, timeouts so far).
fn run(recovery: RecoveryKind) -> (Vec<(f64, u64, u64, u64)>, u64) {
    let sender = TcpConfig { recovery, ..config("rfc") };
    let bottleneck = Rc::new(RefCell::new(Bottleneck {
        rate: Rate::from_bps(622_000_000),
        limit: 3_700,
        departures: std::collections::VecDeque::new(),
        free: Time::ZERO,
        dropped: 0,
        busy: vec![Duration::ZERO; 200],
    }));
    let shared = bottleneck.clone();
    let pair = Pair::new(sender, config("rfc"), ms(36));
    let now = pair.clock.clone();
    let mut pair = pair.network(move |_, client, segment, _| {
        if !client {
            return vec![Duration::ZERO];
        }
        let now = now.get();
        let mut b = shared.borrow_mut();
        while b.departures.front().is_some_and(|t| *t <= now) {
            b.departures.pop_front();
        }
        if b.departures.len() > b.limit {
            b.dropped += 1;
            return vec![];
        }
        let busy = b.rate.transmit_time(u64::from(segment.ip_len()));
        let leaves = b.free.max(now) + busy;
        b.free = leaves;
        b.departures.push_back(leaves);
        let round = (leaves.as_ps() / ms(ROUND).as_ps()) as usize;
        if let Some(total) = b.busy.get_mut(round) {
            *total += busy;
        }
        vec![leaves.since(now)]
    });
    pair.client.write(u64::MAX);
    let mut rounds = Vec::new();
    let (mut dropped, mut again) = (0, 0);
    for round in 1..=70 {
        pair.run_until(at_ms(ROUND * round));
        let stats = pair.client.stats();
        let total = bottleneck.borrow().dropped;
        let used = bottleneck.borrow().busy[round as usize - 1].as_secs_f64() / ms(ROUND).as_secs_f64();
        rounds.push((used, total - dropped, stats.segments_retransmitted - again, stats.timeouts));
        (dropped, again) = (total, stats.segments_retransmitted);
        pair.log.clear();
    }
    (rounds, pair.server.bytes_delivered())
}

#[test]
fn sack_with_prr_repairs_the_overshoot_without_a_timeout_and_keeps_the_link_busy() {
    let (rounds, _) = run(RecoveryKind::Sack);
    let first_loss = rounds.iter().position(|r| r.1 > 0).unwrap();
    let lost: u64 = rounds[first_loss..first_loss + 3].iter().map(|r| r.1).sum();
    assert!(lost > 2_000, "the overshoot loses {lost}");
    // What is lost within a round or two is sent again, once each, within the rounds that follow; no timeout.
    assert_eq!(rounds.last().unwrap().3, 0, "no timeout: {rounds:?}");
    let repaired: u64 = rounds.iter().map(|r| r.2).sum();
    assert_eq!(repaired, rounds.iter().map(|r| r.1).sum::<u64>(), "each lost packet is sent again exactly once: {rounds:?}");
    for (n, round) in rounds.iter().enumerate().skip(first_loss) {
        assert!(round.0 > 0.95, "round {n} used {:.3}: {rounds:?}", round.0);
    }
}

//! The overshoot of slow start on a long fat path, followed round trip by round trip: thousands of packets of one window are
//! lost at a queue of one BDP. RFC 6675 with PRR repairs them without a timeout while the link stays busy; the table tells what
//! each other style makes of it.

use std::cell::RefCell;
use std::fmt::Write;

use super::*;
use longfat_core::units::Rate;

/// The way of the data: an access link, then a bottleneck with a drop-tail queue of `LIMIT` packets.
struct Path {
    access_free: Time,
    departures: std::collections::VecDeque<Time>,
    free: Time,
    dropped: u64,
    /// How long the bottleneck was busy in each round.
    busy: Vec<Duration>,
    /// One past the highest byte sent; whether anything was retransmitted; one past the highest byte dropped before that.
    highest: u64,
    again: bool,
    overshoot_end: u64,
    first_drop: Option<Time>,
}

/// Round trip of the empty path, in ms, and how many of them are watched: 10 s.
const ROUND: u64 = 72;
const ROUNDS: u64 = 139;
/// One BDP of 1500-byte packets at 622 Mb/s.
const LIMIT: usize = 3_730;

#[derive(Clone, Copy)]
struct Round {
    utilization: f64,
    dropped: u64,
    retransmitted: u64,
}

struct Outcome {
    rounds: Vec<Round>,
    stats: Stats,
    delivered: u64,
    /// From the first drop until all that was dropped before the first retransmission has arrived, to a round trip.
    repaired_after: Option<Duration>,
}

/// Ten seconds of one flow at 622 Mb/s behind an access link of `access_gbps`, delayed ACKs, slow start without bound.
fn run(access_gbps: u64, recovery: RecoveryKind, prr: bool) -> Outcome {
    let (access, bottleneck) = (Rate::from_bps(access_gbps * 1_000_000_000), Rate::from_bps(622_000_000));
    let sender = TcpConfig { recovery, ..config("rfc") }.with(|tcp| tcp.repair.prr = prr);
    let path = Rc::new(RefCell::new(Path {
        access_free: Time::ZERO,
        departures: std::collections::VecDeque::new(),
        free: Time::ZERO,
        dropped: 0,
        busy: vec![Duration::ZERO; ROUNDS as usize + 10],
        highest: 0,
        again: false,
        overshoot_end: 0,
        first_drop: None,
    }));
    let shared = path.clone();
    let pair = Pair::with_iss(sender, config("rfc"), ms(ROUND / 2), 0, 0);
    let now = pair.clock.clone();
    let mut pair = pair.network(move |_, client, segment, _| {
        if !client {
            return vec![Duration::ZERO];
        }
        let sent = now.get();
        let mut path = shared.borrow_mut();
        let end = u64::from(segment.seq) + u64::from(segment.len);
        path.again |= segment.len > 0 && end <= path.highest;
        path.highest = path.highest.max(end);
        let arrives = path.access_free.max(sent) + access.transmit_time(u64::from(segment.ip_len()));
        path.access_free = arrives;
        while path.departures.front().is_some_and(|t| *t <= arrives) {
            path.departures.pop_front();
        }
        if path.departures.len() > LIMIT {
            path.dropped += 1;
            path.first_drop = path.first_drop.or(Some(arrives));
            if !path.again {
                path.overshoot_end = end;
            }
            return vec![];
        }
        let busy = bottleneck.transmit_time(u64::from(segment.ip_len()));
        let leaves = path.free.max(arrives) + busy;
        path.free = leaves;
        path.departures.push_back(leaves);
        let round = (leaves.as_ps() / ms(ROUND).as_ps()) as usize;
        if let Some(total) = path.busy.get_mut(round) {
            *total += busy;
        }
        vec![leaves.since(sent)]
    });
    pair.client.write(u64::MAX);
    let mut rounds = Vec::new();
    let (mut dropped, mut again) = (0, 0);
    let mut repaired = None;
    for round in 1..=ROUNDS {
        pair.run_until(at_ms(ROUND * round));
        let stats = pair.client.stats();
        let path = path.borrow();
        let utilization = path.busy[round as usize - 1].as_secs_f64() / ms(ROUND).as_secs_f64();
        rounds.push(Round { utilization, dropped: path.dropped - dropped, retransmitted: stats.segments_retransmitted - again });
        (dropped, again) = (path.dropped, stats.segments_retransmitted);
        if path.again && repaired.is_none() && pair.server.bytes_delivered() + 1 >= path.overshoot_end {
            repaired = Some(pair.now);
        }
        pair.log.clear();
    }
    let first_drop = path.borrow().first_drop.expect("slow start overshoots");
    Outcome {
        rounds,
        stats: pair.client.stats(),
        delivered: pair.server.bytes_delivered(),
        repaired_after: repaired.map(|t| t.since(first_drop)),
    }
}

/// Checks what RFC 6675 and 9937 ask for, round trip by round trip.
fn check_sack_with_prr(outcome: &Outcome) {
    let rounds = &outcome.rounds;
    let shown =
        || rounds.iter().map(|r| format!("{:.2} -{} +{}", r.utilization, r.dropped, r.retransmitted)).collect::<Vec<_>>().join(", ");
    let first_loss = rounds.iter().position(|r| r.dropped > 0).unwrap();
    let lost: u64 = rounds[first_loss..first_loss + 3].iter().map(|r| r.dropped).sum();
    assert!(lost > 2_000, "the overshoot loses {lost}");
    // RFC 6675 §5: what is lost is retransmitted once, without a timeout.
    assert_eq!(outcome.stats.timeouts, 0, "{} {:?}", shown(), outcome.stats);
    let dropped: u64 = rounds.iter().map(|r| r.dropped).sum();
    assert_eq!(outcome.stats.segments_retransmitted, dropped, "each lost packet is retransmitted exactly once: {}", shown());
    // RFC 9937 §4: the flight comes down to ssthresh in proportion, with no silence of half a round trip; ssthresh is one BDP.
    for (n, round) in rounds.iter().enumerate().skip(first_loss) {
        assert!(round.utilization > 0.95, "round {n} used {:.3}: {}", round.utilization, shown());
    }
}

const STYLES: [(&str, RecoveryKind, bool); 8] = [
    ("tahoe", RecoveryKind::Tahoe, false),
    ("reno", RecoveryKind::Reno, false),
    ("newreno", RecoveryKind::NewReno, false),
    ("sack", RecoveryKind::Sack, false),
    ("sack + prr", RecoveryKind::Sack, true),
    ("fack", RecoveryKind::Fack, false),
    ("fack + prr", RecoveryKind::Fack, true),
    ("rack + prr", RecoveryKind::Rack, true),
];

/// One row a style; docs/recovery.md explains the numbers.
fn table(access_gbps: u64, check: impl Fn(&str, &Outcome)) -> String {
    let mut table = format!(
        "access link {access_gbps} Gb/s\nstyle       goodput Mb/s  dropped     retrans  fast retransmits  timeouts  repaired after s\n"
    );
    for (name, recovery, prr) in STYLES {
        let outcome = run(access_gbps, recovery, prr);
        let dropped: u64 = outcome.rounds.iter().map(|r| r.dropped).sum();
        // Payload bits over the 10 s, in units of 1000^2.
        let rate = outcome.delivered as f64 * 8.0 / ms(ROUND * ROUNDS).as_secs_f64() / 1e6;
        let repaired = outcome.repaired_after.map_or("not".into(), |t| format!("{:.1}", t.as_secs_f64()));
        let s = &outcome.stats;
        let (again, fast, timeouts) = (s.segments_retransmitted, s.fast_retransmits, s.timeouts);
        writeln!(table, "{name:<10}  {rate:>12.0}  {dropped:>7}  {again:>10}  {fast:>16}  {timeouts:>8}  {repaired:>16}").unwrap();
        check(name, &outcome);
    }
    table
}

#[test]
fn what_each_style_makes_of_the_overshoot() {
    let table = table(10, |name, outcome| match name {
        "sack + prr" => check_sack_with_prr(outcome),
        // RFC 6582 §4, the impatient variant: the timer that the first partial ACK started goes off long before thousands of holes
        // have been filled one a round trip.
        "newreno" => {
            assert!(outcome.stats.timeouts == 1 && outcome.rounds.iter().filter(|r| r.retransmitted == 1).count() > 5);
        }
        // Fall and Floyd 1996 §3: Reno comes to a timeout when more than a few of a window are lost.
        "reno" => assert!(outcome.stats.timeouts > 0),
        _ => {}
    });
    insta::assert_snapshot!(table);
}

/// A sender's own link queues what slow start sends: FlightSize / 2 is more than the path holds. A recovery that goes up to it loses
/// retransmissions, and RFC 6675 has nothing but the timer for those.
#[test]
fn what_each_style_makes_of_it_behind_a_slower_access_link() {
    let table = table(1, |name, outcome| {
        if name == "sack + prr" {
            assert!(outcome.stats.timeouts <= 1 && outcome.stats.fast_retransmits == 1);
        }
    });
    insta::assert_snapshot!(table);
}

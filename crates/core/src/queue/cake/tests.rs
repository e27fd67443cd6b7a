use super::cobalt::Blue;
use super::isolation::{Flow, NOBODY};
use super::lines::{LINES, WAYS};
use super::*;
use crate::packet::{Direction, Ecn};
use crate::queue::tests::{Ledger, context, packet_with};
use crate::units::Capacity;

/// A queue, its packets and their fates. The number of a packet is `10000 flow + n`.
pub(super) struct Rig {
    pub queue: Box<dyn Queue + Send>,
    pub packets: Packets,
    pub log: Ledger,
    pub ecn: Ecn,
}

pub(super) fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Choice(word))
}
pub(super) fn rate(bps: u64) -> (&'static str, Value) {
    ("rate", Value::Rate(Rate::from_bps(bps)))
}
pub(super) fn limit_of_packets(n: u64) -> (&'static str, Value) {
    ("limit", Value::Capacity(Capacity::Packets(n)))
}
pub(super) fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

impl Rig {
    pub(super) fn new(bps: u64, given: &[(&'static str, Value)]) -> Self {
        let mut params = Params::defaults(KIND.params);
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(bps, 20, 1500);
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        Rig { queue: (KIND.build)(&params, context), packets: Packets::new(), log: Ledger::default(), ecn: Ecn::NotEct }
    }
    /// Enqueues the packets `numbers` of a flow at `now`, each of `size` bytes, with this codepoint.
    pub(super) fn arrive(&mut self, now: Time, (flow, dscp): (u32, &str), numbers: std::ops::Range<u32>, size: u16) {
        for n in numbers {
            let (mut packet, segment) = packet_with(self.ecn, 10_000 * flow + n, size - 40);
            (packet.route, packet.dscp) = (flow, Dscp::parse(dscp).unwrap());
            let id = self.packets.insert(Direction::There, packet, segment);
            self.queue.enqueue(now, id, &mut self.packets, &mut self.log);
        }
    }
    /// Dequeues the next packet, at `now`.
    pub(super) fn depart(&mut self, now: Time) -> Option<u32> {
        let id = self.queue.dequeue(now, &mut self.packets, &mut self.log)?;
        let seq = self.packets.segment(id).seq;
        self.packets.remove(id);
        Some(seq)
    }
    /// Returns when each of the packets held leaves, in picoseconds, on a link that is always free.
    fn departures(&mut self) -> Vec<u64> {
        let mut now = Time::ZERO;
        let mut leave = || {
            now = self.queue.opens(now);
            self.depart(now).map(|_| now.as_ps())
        };
        std::iter::from_fn(&mut leave).collect()
    }
    /// Returns how many of the next `count` packets are of each of the flows, at one instant, so that no packet has waited.
    pub(super) fn shares(&mut self, flows: u32, count: u32) -> Vec<u32> {
        let mut shares = vec![0; flows as usize];
        for _ in 0..count {
            shares[(self.depart(Time::ZERO).unwrap() / 10_000) as usize] += 1;
        }
        shares
    }
}

/// Modes, each with its shares for five flows of equal packets: flow 0 of host `a`, flows 1 to 4 of host `b`; to one server, and to one
/// each.
#[test]
fn hosts_have_equal_shares_by_mode() {
    let one: fn(u32) -> &'static str = |_| "server";
    let many: fn(u32) -> &'static str = |flow| ["s0", "s1", "s2", "s3", "s4"][flow as usize];
    let (flows, hosts) = ([800; 5], [2000, 500, 500, 500, 500]);
    let cases = [
        ("flows", one, flows),
        ("flows", many, flows),
        ("dual-srchost", one, hosts),
        ("dual-srchost", many, hosts),
        // Every server has one busy flow, or the only one has all five.
        ("dual-dsthost", one, flows),
        ("dual-dsthost", many, flows),
        // The larger count decides: that of the server, which is five for all, or that of the client.
        ("triple-isolate", one, flows),
        ("triple-isolate", many, hosts),
        // Each client, each server, each pair or all have one queue: packets in it leave in order of arrival.
        ("srchost", one, hosts),
        ("srchost", many, hosts),
        ("dsthost", one, flows),
        ("dsthost", many, flows),
        ("hosts", one, hosts),
        ("hosts", many, flows),
        ("flowblind", one, flows),
        ("flowblind", many, flows),
    ];
    for (mode, server, expected) in cases {
        let mut rig = Rig::new(1_000_000_000, &[word("isolation", mode), word("diffserv", "besteffort"), limit_of_packets(1_000_000)]);
        for flow in 0..5 {
            let hosts = [if flow == 0 { "a" } else { "b" }, server(flow)];
            rig.queue.tell(flow, &Party { group: "", hosts });
        }
        for n in 0..4000 {
            (0..5).for_each(|flow| rig.arrive(Time::ZERO, (flow, "CS0"), n..n + 1, 1500));
        }
        let shares = rig.shares(5, 4000);
        // First turns are whole ones, since no flow is busy yet. So each share is within a packet, or four of a host, of the exact one.
        assert!(shares.iter().zip(expected).all(|(got, want)| got.abs_diff(want) <= 4), "{mode}: {shares:?}, {expected:?}");
    }
}

/// Fairness downstream is at the other end: four flows to host `b`, one to host `a`.
#[test]
fn the_destination_counts_too() {
    for (mode, expected) in [("dual-dsthost", [2000, 500, 500, 500, 500]), ("dual-srchost", [800; 5]), ("triple-isolate", [800; 5])] {
        let mut rig = Rig::new(1_000_000_000, &[word("isolation", mode), limit_of_packets(1_000_000)]);
        for flow in 0..5 {
            rig.queue.tell(flow, &Party { group: "", hosts: ["server", if flow == 0 { "a" } else { "b" }] });
            rig.arrive(Time::ZERO, (flow, "CS0"), 0..4000, 1500);
        }
        let shares = rig.shares(5, 4000);
        assert!(shares.iter().zip(expected).all(|(got, want)| got.abs_diff(want) <= 4), "{mode}: {shares:?}");
    }
}

/// A flow that ends gives its part back to its host, not to the others.
#[test]
fn a_flow_that_ends_leaves_its_share_to_its_host() {
    let mut rig = Rig::new(1_000_000_000, &[word("isolation", "dual-srchost"), limit_of_packets(1_000_000)]);
    for flow in 0..5 {
        rig.queue.tell(flow, &Party { group: "", hosts: [if flow == 0 { "a" } else { "b" }, "server"] });
        rig.arrive(Time::ZERO, (flow, "CS0"), 0..if flow < 3 { 6000 } else { 100 }, 1500);
    }
    rig.shares(5, 800);
    let shares = rig.shares(5, 4000);
    assert!(shares.iter().zip([2000, 1000, 1000, 0, 0]).all(|(got, want): (&u32, u32)| got.abs_diff(want) <= 8), "{shares:?}");
}

/// A packet of 1000 bytes with 38 more takes 8304/7 us at 7 Mb/s; the rest of a picosecond is not lost. The first packet goes at once, and
/// no other with it.
#[test]
fn the_shaper_is_exact_and_has_no_burst() {
    let mut rig = Rig::new(1_000_000_000, &[rate(7_000_000), ("overhead", Value::Bytes(38)), ("mpu", Value::Bytes(84))]);
    rig.arrive(Time::ZERO, (0, "CS0"), 0..80, 1000);
    let expected: Vec<u64> = (0..80).map(|n| n * 8_304_000_000 / 7).collect();
    assert_eq!(rig.departures(), expected);
}

#[test]
fn a_packet_takes_what_the_line_needs() {
    let wire = |overhead, mpu, framing| Wire { overhead, mpu, framing };
    // 40 + 38 is under 84.
    assert_eq!([40, 46, 47, 1500].map(|len| wire(38, 84, Framing::None).bytes(len)), [84, 84, 85, 1538]);
    // `conservative`: 48 and cells. 1548 are 32.25 cells of 48: 33 of 53. 48 + 48 fit two cells, one byte more takes three.
    assert_eq!([1500, 48, 49].map(|len| wire(48, 0, Framing::Atm).bytes(len)), [1749, 106, 159]);
    // `pppoe-ptm`: 30. 1530 x 65 / 64 = 1553.9.
    assert_eq!([1500, 34].map(|len| wire(30, 0, Framing::Ptm).bytes(len)), [1554, 65]);
}

/// Packets that waited go as a train, whatever the link does meanwhile. A pause is not made up for.
#[test]
fn a_pause_is_not_made_up_for() {
    // 12 Mb/s: a millisecond a packet.
    let mut rig = Rig::new(1_000_000_000, &[rate(12_000_000)]);
    rig.arrive(at(0), (0, "CS0"), 0..2, 1500);
    assert_eq!([rig.queue.opens(at(0)), at(1)], [at(0), at(1)]);
    rig.depart(at(0));
    assert_eq!(rig.queue.opens(at(0)), at(1));
    rig.depart(at(1));
    // Empty at 1, and not quiet before 2.
    rig.arrive(Time::from_ps(1_500_000_000), (0, "CS0"), 2..3, 1500);
    assert_eq!(rig.queue.opens(Time::from_ps(1_500_000_000)), at(2));
    rig.depart(at(2));
    rig.arrive(at(50), (0, "CS0"), 3..6, 1500);
    assert_eq!(rig.queue.opens(at(50)), at(50));
    rig.depart(at(50));
    assert_eq!(rig.queue.opens(at(50)), at(51));
    // Late by 0.7 ms, which the next makes up for.
    rig.depart(Time::from_ps(51_700_000_000));
    assert_eq!(rig.queue.opens(Time::from_ps(51_800_000_000)), at(52));
}

/// Returns tags of `count` flows in one set, for flow queues with this key.
fn of_one_set(lines: &Lines, count: usize) -> Vec<u32> {
    (0..).filter(|&tag| lines.set_of(tag) == 7).take(count).collect()
}

#[test]
fn eight_flows_of_a_set_share_nothing_and_the_ninth_does() {
    let mut packets = Packets::new();
    let mut lines = Lines::new(5, 1500, [false; 2]);
    let tags = of_one_set(&lines, 9);
    let mut push = |lines: &mut Lines, tag: u32| {
        let (packet, segment) = packet_with(Ecn::NotEct, tag, 1460);
        let id = packets.insert(Direction::There, packet, segment);
        lines.push(Flow { tag, hosts: [NOBODY; 2] }, id, &mut packets);
    };
    tags[..8].iter().for_each(|&tag| push(&mut lines, tag));
    let mut places: Vec<usize> = tags[..8].iter().map(|&tag| lines.place_of(tag)).collect();
    places.sort_unstable();
    assert_eq!(places, (7 * WAYS..8 * WAYS).collect::<Vec<_>>());
    // Each is found again, also when it is asked in another order.
    push(&mut lines, tags[3]);
    assert_eq!(lines.packets(), 9);
    push(&mut lines, tags[8]);
    let ninth = lines.place_of(tags[8]);
    assert!(places.contains(&ninth), "all ways are taken: it shares one");
    // When all have left, it finds a way of its own, and so does the one whose way it took.
    let mut count = 0;
    while lines.next(&mut packets, |_, held, packets| held.pop(packets), |len| len, |_| ()).is_some() {
        count += 1;
    }
    assert_eq!(count, 10);
    assert_eq!(lines.place_of(tags[8]), ninth, "it is known there");
}

/// Flows beyond eight in their set share a queue: 128 E max(0, B(n, 1/128) - 8) of n flows. A plain hash makes n - 1024 (1 - (1 -
/// 1/1024)^n) share.
#[test]
fn collisions_are_as_rare_as_eight_ways_make_them() {
    let sets = (LINES / WAYS) as f64;
    for (flows, plain) in [(32_u32, 0.48), (256, 29.4), (512, 108.9), (1024, 376.5)] {
        let expected_plain = f64::from(flows) - LINES as f64 * (1.0 - libm::pow(1.0 - 1.0 / LINES as f64, f64::from(flows)));
        assert!((expected_plain - plain).abs() < 0.06, "{flows}: {expected_plain}");
        // The binomial distribution, term by term.
        let (p, n) = (1.0 / sets, f64::from(flows));
        let mut term = libm::pow(1.0 - p, n);
        let mut mean = 0.0;
        for k in 0..flows {
            mean += term * (f64::from(k) - 8.0).max(0.0);
            term *= (n - f64::from(k)) / (f64::from(k) + 1.0) * p / (1.0 - p);
        }
        mean *= sets;
        let keys = 50;
        let shared: u32 = (0..keys)
            .map(|key: u64| {
                let lines = Lines::new(key.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1500, [false; 2]);
                let mut of = vec![0_u32; LINES / WAYS];
                (0..flows).for_each(|tag| of[lines.set_of(tag)] += 1);
                of.iter().map(|count| count.saturating_sub(WAYS as u32)).sum::<u32>()
            })
            .sum();
        let got = f64::from(shared) / keys as f64;
        // Four standard deviations, of no more than a Poisson variable that comes in groups of a few.
        assert!((got - mean).abs() < 4.0 * (3.0 * mean / keys as f64).sqrt() + 0.01, "{flows} flows: {got}, expected {mean}");
    }
}

#[test]
fn blue_rises_by_a_256th_and_falls_by_a_4096th_once_in_a_while() {
    let freeze = Duration::from_millis(100);
    let mut blue = Blue::new();
    blue.empty(at(0), freeze);
    assert_eq!(blue.probability(), (0, 4096));
    blue.full(at(0), freeze);
    blue.full(at(99), freeze);
    assert_eq!(blue.probability(), (16, 4096));
    blue.full(at(100), freeze);
    assert_eq!(blue.probability(), (32, 4096));
    blue.empty(at(199), freeze);
    assert_eq!(blue.probability(), (32, 4096));
    blue.empty(at(200), freeze);
    blue.empty(at(300), freeze);
    assert_eq!(blue.probability(), (30, 4096));
    (4..300).for_each(|n| blue.full(at(100 * n), freeze));
    assert_eq!(blue.probability(), (4096, 4096));
}

/// Overflow drops from the flow that causes it, ECN-capable or not; the other flow loses nothing.
#[test]
fn who_overflows_is_dropped_from() {
    let mut rig = Rig::new(12_000_000, &[limit_of_packets(20), ("rtt", Value::Duration(Duration::from_millis(1)))]);
    rig.ecn = Ecn::Ect0;
    // Flow 1 has two packets per millisecond, of which one leaves with a small packet of flow 2, for a minute.
    let (mut lost, mut sent) = ([0, 0], [0, 0]);
    for ms in 0..60_000 {
        rig.arrive(at(ms), (1, "CS0"), 0..2, 1500);
        rig.arrive(at(ms), (2, "CS0"), 0..1, 100);
        for _ in 0..2 {
            if let Some(seq) = rig.depart(at(ms)) {
                sent[(seq / 10_000 - 1) as usize] += 1;
            }
        }
    }
    rig.log.dropped.iter().for_each(|(seq, ..)| lost[(seq / 10_000 - 1) as usize] += 1);
    assert_eq!((sent[1], lost[1]), (60_000, 0));
    // Overflow has taught BLUE to drop about half. Then the queue is hardly ever full any more, and now and then empty.
    let late: Vec<_> = rig.log.dropped.iter().filter(|(_, when, _)| *when > at(30_000)).map(|(.., reason)| *reason).collect();
    let early = late.iter().filter(|reason| **reason == DropReason::Early).count();
    assert!(early * 10 > late.len() * 9, "{early} of {} drops are BLUE's", late.len());
    assert!((50_000..60_000).contains(&sent[0]), "{sent:?}");
}

/// One packet leaves per millisecond (12 Mb/s). From 5 ms on packets have waited the target. An interval later the first is dropped, then
/// after 100 ms, 100/sqrt(2), 100/sqrt(3): 105, 205, 275.7, 333.4.
#[test]
fn codel_drops_at_the_interval_over_the_root_of_the_count() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut rig = Rig::new(12_000_000, &[limit_of_packets(10_000)]);
        rig.ecn = ecn;
        rig.arrive(at(0), (0, "CS0"), 0..1000, 1500);
        let mut signals = vec![];
        for ms in 0..340 {
            let before = rig.log.dropped.len() + rig.log.marked.len();
            rig.depart(at(ms));
            (before..rig.log.dropped.len() + rig.log.marked.len()).for_each(|_| signals.push(ms));
        }
        assert_eq!(signals, [105, 205, 276, 334], "{ecn:?}");
        assert_eq!(rig.log.marked.is_empty(), ecn == Ecn::NotEct);
    }
}

/// Published values: the statistics in tc-cake(8), of 100 Mb/s and diffserv3, and on the wiki of bufferbloat.net, of a tin of 3 Mb/s.
#[test]
fn what_follows_from_rate_and_rtt_is_what_tc_prints() {
    let mbps = |mbps: f64| Rate::from_bps((mbps * 1e6) as u64);
    let rates: Vec<u64> = tins::named("diffserv3").0.iter().map(|kind| kind.rate(mbps(100.0)).as_bps()).collect();
    assert_eq!(rates, [6_250_000, 100_000_000, 25_000_000]);
    assert_eq!(rates.iter().map(|&bps| quantum(Rate::from_bps(bps), 1514)).collect::<Vec<_>>(), [300, 1514, 762]);
    let rtt = Duration::from_millis(100);
    for bps in rates {
        let config = codel(Rate::from_bps(bps), rtt, 1514);
        assert_eq!((config.target, config.interval), (Duration::from_millis(5), rtt));
    }
    let mut params = Params::defaults(KIND.params);
    params.set("rate", Value::Rate(mbps(100.0)));
    assert_eq!(limit(&params, &context(1_000_000_000, 20, 1500)), Limit { measure: Measure::Bytes, max: 5_000_000 });
    // 1.5 x 1514 bytes at 3 Mb/s: the wiki has 6.1 ms.
    assert_eq!(codel(mbps(3.0), rtt, 1514).target, Duration::from_micros(6056));
    // At 1 Mb/s 18.2 ms, and eight of these are over 100.
    let slow = codel(mbps(1.0), rtt, 1514);
    assert_eq!([slow.target, slow.interval], [Duration::from_micros(18_168), Duration::from_micros(145_344)]);
}

/// Two tins want the whole link. A tin under its threshold has its high weight and comes up to the threshold; over it the tin has its low
/// weight and stays there.
#[test]
fn tins_share_by_weight_and_threshold() {
    let cases = [
        ("CS1", "CS0", 1.0 / 17.0),
        ("LE", "AF11", 1.0 / 17.0),
        ("EF", "CS0", 0.25),
        ("CS6", "CS0", 0.25),
        ("AF41", "CS0", 0.5),
        ("CS2", "CS0", 0.5),
        // Over its threshold with either weight: 4 to 1.
        ("EF", "CS1", 0.8),
        // 8 to 1.
        ("AF31", "CS1", 8.0 / 9.0),
    ];
    for (one, other, expected) in cases {
        let given = [word("diffserv", "diffserv4"), rate(100_000_000), limit_of_packets(1_000_000)];
        let mut rig = Rig::new(100_000_000, &given);
        rig.arrive(Time::ZERO, (0, one), 0..8000, 1500);
        rig.arrive(Time::ZERO, (1, other), 0..8000, 1500);
        let share = f64::from(rig.shares(2, 8000)[0]) / 8000.0;
        assert!((share - expected).abs() < 0.002, "{one} beside {other}: {share}, expected {expected}");
    }
}

/// A tin that has the link for itself has all of it, and a call waits for no more than a packet of each tin.
#[test]
fn a_call_comes_first() {
    let mut rig = Rig::new(12_000_000, &[rate(12_000_000)]);
    rig.arrive(Time::ZERO, (0, "CS0"), 0..100, 1500);
    rig.arrive(Time::ZERO, (1, "CS1"), 0..100, 1500);
    rig.shares(2, 10);
    rig.arrive(Time::ZERO, (2, "EF"), 0..1, 200);
    assert_eq!(rig.depart(Time::ZERO), Some(20_000));
    let mut rig = Rig::new(12_000_000, &[rate(12_000_000)]);
    rig.arrive(Time::ZERO, (0, "CS1"), 0..3, 1500);
    assert_eq!(rig.departures(), [0, 1_000_000_000, 2_000_000_000]);
}

#[test]
fn new_flows_come_first() {
    let mut rig = Rig::new(1_000_000_000, &[]);
    rig.arrive(Time::ZERO, (1, "CS0"), 0..20, 500);
    rig.arrive(Time::ZERO, (2, "CS0"), 0..20, 1500);
    let out = |rig: &mut Rig, count| (0..count).map_while(|_| rig.depart(Time::ZERO)).collect::<Vec<_>>();
    assert_eq!(out(&mut rig, 8), [10_000, 10_001, 10_002, 20_000, 10_003, 10_004, 10_005, 20_001]);
    rig.arrive(Time::ZERO, (3, "CS0"), 0..1, 200);
    assert_eq!(out(&mut rig, 2), [30_000, 10_006]);
}

/// Cake is `fq_codel` whose flows share no queues if it has no shaper, hosts, tins or overflow: packets, times and drops are equal.
#[test]
fn bare_it_is_fq_codel_without_collisions() {
    let mut dropped = 0;
    for seed in 1..9 {
        let mut cake = Rig::new(100_000_000, &[word("isolation", "flows"), limit_of_packets(100_000)]);
        let kind = crate::queue::named("fq_codel");
        let mut params = Params::defaults(kind.params);
        params.set("collisions", Value::Bool(false));
        let (limit, roomy) = limit_of_packets(100_000);
        params.set(limit, roomy);
        let mut plain = Rig { queue: (kind.build)(&params, context(100_000_000, 20, 1500)), ..Rig::new(100_000_000, &[]) };
        let mut rng = Rng::named(seed, "arrivals");
        let mut now = Time::ZERO;
        for n in 0..6000 {
            now += Duration::from_micros(rng.below(2000));
            // Some flows send much and others little: flow queues become empty, and are new again.
            let (flow, size) = (rng.below(8).min(rng.below(8)) as u32, 100 + rng.below(1400) as u16);
            let departures = rng.below(3);
            for rig in [&mut cake, &mut plain] {
                rig.arrive(now, (flow, "CS0"), n..n + 1, size);
            }
            for _ in 0..departures {
                assert_eq!(cake.depart(now), plain.depart(now), "seed {seed}, step {n}");
            }
        }
        assert_eq!(cake.log.dropped, plain.log.dropped);
        dropped += cake.log.dropped.len();
    }
    assert!(dropped > 100, "{dropped}");
}

#[test]
fn the_longest_line_loses_its_head() {
    let mut rig = Rig::new(12_000_000, &[limit_of_packets(20)]);
    rig.arrive(Time::ZERO, (1, "CS0"), 0..12, 500);
    rig.arrive(Time::ZERO, (2, "EF"), 0..8, 1500);
    rig.arrive(Time::ZERO, (1, "CS0"), 12..14, 500);
    // 12000 bytes, then 10500, beside 6500 and 7000.
    let dropped: Vec<_> = rig.log.dropped.iter().map(|d| (d.0, d.2)).collect();
    assert_eq!(dropped, [(20_000, DropReason::Overflow), (20_001, DropReason::Overflow)]);
    assert_eq!(rig.queue.held(Measure::Packets), 20);
}

#[test]
fn what_shapes_nothing_is_refused() {
    let mut params = Params::defaults(KIND.params);
    params.set("rate", Value::Rate(Rate::from_bps(11_000_000)));
    assert_eq!(
        (KIND.check)(&params, &context(10_000_000, 10, 1500)).unwrap_err(),
        "rate (11000000 bit/s) is more than that of the link (10000000 bit/s), so that it shapes nothing"
    );
}

use super::*;
use crate::packet::Ecn;

/// Thresholds 4 and 8 of an unaveraged queue (wq 1), max_p 1/2, one small packet (100 bytes) a millisecond.
fn config() -> RedConfig {
    RedConfig {
        min_threshold: 4.0,
        max_threshold: 8.0,
        max_p: 0.5,
        wq: 1.0,
        gentle: false,
        adaptive: false,
        scale_by_size: None,
        wait: false,
        small_packet: 100,
        rate: Rate::from_bps(800_000),
    }
}

fn red(config: RedConfig, seed: u64) -> Red {
    Red::new(config, Rng::named(seed, "red"))
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Returns the arrivals from one signal to the next, at a steady queue of `held`.
fn distances(red: &mut Red, held: u64, signals: usize) -> Vec<u64> {
    let mut next = || (1..).find(|_| red.arrival(ms(1), held, 100) == Verdict::Signal).unwrap();
    next();
    (0..signals).map(|_| next()).collect()
}

/// Returns Pearson's chi-square of `seen` against equal chances for 1..=n.
fn chi_square(seen: &[u64], n: u64) -> f64 {
    let expected = seen.len() as f64 / n as f64;
    let of = |d: u64| seen.iter().filter(|s| **s == d).count() as f64;
    (1..=n).map(|d| (of(d) - expected) * (of(d) - expected) / expected).sum()
}

#[test]
fn the_average_is_exponentially_weighted() {
    // FJ93 §4: avg <- (1 - wq) avg + wq q, from 0, with q = 8, 8, 0 (line busy), 16 and wq = 1/4.
    let mut red = red(RedConfig { wq: 0.25, ..config() }, 1);
    let averages: Vec<f64> = [8, 8, 8, 16]
        .iter()
        .map(|&held| {
            red.arrival(ms(1), held, 100);
            red.average()
        })
        .collect();
    assert_eq!(averages, [2.0, 3.5, 4.625, 7.46875]);
}

#[test]
fn silence_counts_as_small_packets_meeting_an_empty_queue() {
    let mut red = red(RedConfig { wq: 0.5, ..config() }, 1);
    red.arrival(ms(0), 16, 100);
    assert_eq!(red.average(), 8.0);
    // A packet of 200 bytes leaves the queue empty at 10 ms: the line is busy until 12 ms.
    red.emptied(ms(10), 200);
    red.arrival(ms(11), 0, 100);
    assert_eq!(red.average(), 4.0, "an ordinary sample of 0 while the line is busy");
    // m = (15 - 12) / 1: avg <- (1/2)^3 avg.
    red.arrival(ms(15), 0, 100);
    assert!((red.average() - 0.5).abs() < 1e-12);
    // The next packet finds the queue still empty if that packet is dropped: only the time since then counts.
    red.arrival(ms(16), 0, 100);
    assert!((red.average() - 0.25).abs() < 1e-12);
}

#[test]
fn under_the_lower_threshold_nothing_and_from_the_upper_everything_is_dropped() {
    let mut red = red(config(), 1);
    assert!((0..10_000).all(|_| red.arrival(ms(1), 3, 100) == Verdict::Accept));
    assert!((0..10_000).all(|_| red.arrival(ms(1), 8, 100) == Verdict::Severe));
}

#[test]
fn the_distance_between_signals_is_uniform() {
    // FJ93 §7 method 2. At a queue of 6, pb = 1/2 (6-4)/(8-4) = 1/4. By Fig. 2 `count` is 0 after a signal and grows
    // before it is used, so pa is 1/3, 1/2, 1: 1 to 3 with equal chance.
    let few = distances(&mut red(config(), 1), 6, 30_000);
    assert!(few.iter().all(|d| (1..=3).contains(d)));
    // 99.9 % of chi-square with 2 degrees of freedom.
    assert!(chi_square(&few, 3) < 13.8);

    // pb = 1/50 with max_p = 1/25: 1 to 49. 99.9 % with 48 degrees of freedom: 84.0.
    let many = distances(&mut red(RedConfig { max_p: 0.04, ..config() }, 2), 6, 49_000);
    assert!(many.iter().all(|d| (1..=49).contains(d)));
    let x = chi_square(&many, 49);
    assert!(x < 84.0, "{x}");
    // Waiting moves the distances to 1 / pb = 50 and on: 50 to 99.
    let apart = distances(&mut red(RedConfig { max_p: 0.04, wait: true, ..config() }, 4), 6, 50_000);
    assert!(apart.iter().all(|d| (50..=99).contains(d)));
    let x = chi_square(&apart.iter().map(|d| d - 49).collect::<Vec<_>>(), 50);
    assert!(x < 85.4, "{x}");
    // The test can fail: geometric distances (FJ93 §7 method 1) of the same pb are far off.
    let mut rng = Rng::named(3, "geometric");
    let geometric: Vec<u64> = (0..49_000).map(|_| (1..).find(|_| rng.chance(1.0 / 25.0)).unwrap()).collect();
    assert!(chi_square(&geometric, 49) > 1000.0);
}

#[test]
fn the_first_signal_after_quiet_is_uniform_from_one_to_the_whole() {
    // From count -1: pa is 1/4, 1/3, 1/2, 1.
    let mut red = red(config(), 4);
    let mut first = || {
        red.arrival(ms(1), 0, 100);
        (1..).find(|_| red.arrival(ms(1), 6, 100) == Verdict::Signal).unwrap()
    };
    let seen: Vec<u64> = (0..40_000).map(|_| first()).collect();
    // 99.9 % with 3 degrees of freedom.
    assert!(chi_square(&seen, 4) < 16.3);
}

#[test]
fn gentle_rises_to_one_at_twice_the_threshold() {
    let gentle = RedConfig { gentle: true, max_p: 0.1, ..config() };
    // At the threshold pb = max_p = 1/10: distances 1 to 9. RFC 3168 §7: no marks up here, so drops.
    let mut at = red(gentle, 5);
    let mut next = || (1..).find(|_| at.arrival(ms(1), 8, 100) == Verdict::Severe).unwrap();
    next();
    let seen: Vec<u64> = (0..27_000).map(|_| next()).collect();
    // 99.9 % with 8 degrees of freedom.
    assert!(chi_square(&seen, 9) < 26.1);
    // Half way, pb = 0.1 + 0.9/2 > 1/2: with the spacing every arrival. So from twice the threshold on.
    let mut beyond = red(gentle, 6);
    beyond.arrival(ms(1), 16, 100);
    assert!((0..1000).all(|_| beyond.arrival(ms(1), 12, 100) == Verdict::Severe));
    assert!((0..1000).all(|_| beyond.arrival(ms(1), 16, 100) == Verdict::Severe));
}

#[test]
fn byte_mode_scales_the_probability_with_the_size() {
    // pb = 1/25 * 1/2 for an MTU of 1000 bytes; a tenth of it for 100 bytes: distances of 1 to 49 and 1 to 499.
    let mean = |ip_len: u32| {
        let mut red = red(RedConfig { scale_by_size: Some(1000), max_p: 0.04, ..config() }, 7);
        let arrivals = 2_000_000;
        let signals = (0..arrivals).filter(|_| red.arrival(ms(1), 6, ip_len) == Verdict::Signal).count();
        f64::from(arrivals) / signals as f64
    };
    assert!((mean(1000) - 25.0).abs() < 0.4, "{}", mean(1000));
    assert!((mean(100) - 250.0).abs() < 10.0, "{}", mean(100));
}

#[test]
fn max_p_adapts_every_half_second() {
    // Target: 40 + 0.4 x 40 = 56 to 40 + 0.6 x 40 = 64.
    let start = RedConfig { adaptive: true, max_p: 0.1, min_threshold: 40.0, max_threshold: 80.0, ..config() };
    let after = |max_p: f64, held: u64, seconds: u64| {
        let mut red = red(RedConfig { max_p, ..start }, 8);
        // Just before each adaptation the average is `held`.
        (0..=seconds * 10).for_each(|tenth| _ = red.arrival(ms(tenth * 100), held, 100));
        red.max_p()
    };
    assert_eq!((after(0.1, 57, 3), after(0.1, 63, 3)), (0.1, 0.1), "within the target");
    assert!((after(0.1, 65, 1) - 0.12).abs() < 1e-12, "two steps of 0.01");
    assert!((after(0.02, 65, 1) - 0.02 * 1.25 * 1.25).abs() < 1e-12, "by a quarter while small");
    assert!((after(0.1, 55, 1) - 0.1 * 0.81).abs() < 1e-12, "two steps of 0.9");
    assert!((0.5..0.52).contains(&after(0.1, 65, 100)), "it stops over 0.5");
    assert!((0.009..0.01).contains(&after(0.1, 55, 100)), "it stops under 0.01");
    // An interval without arrivals is made up for at the next.
    let mut red = red(start, 9);
    red.arrival(ms(100), 55, 100);
    red.arrival(ms(1600), 55, 100);
    assert!((red.max_p() - 0.1 * 0.729).abs() < 1e-12);
}

#[test]
fn ecn_marks_only_what_can_be_marked() {
    use crate::packet::Direction;
    use crate::queue::tests::{Ledger, packet_with};
    let mut log = Ledger::default();
    let mut apply = |verdict: Verdict, ecn, on| {
        let marking = Marking { ecn: on, harddrop: true, nodrop: false };
        let mut packets = Packets::new();
        let (packet, segment) = packet_with(ecn, 0, 100);
        let id = packets.insert(Direction::There, packet, segment);
        let held = verdict.apply(ms(1), id, marking, &mut packets, &mut log);
        // A dropped packet has left.
        assert_eq!(packets.is_empty(), !held);
        held.then(|| packets[id].ecn)
    };
    assert_eq!(apply(Verdict::Signal, Ecn::Ect0, true), Some(Ecn::Ce));
    assert_eq!(apply(Verdict::Signal, Ecn::Ect1, true), Some(Ecn::Ce));
    assert_eq!(apply(Verdict::Signal, Ecn::Ce, true), Some(Ecn::Ce));
    assert_eq!(apply(Verdict::Signal, Ecn::NotEct, true), None);
    assert_eq!(apply(Verdict::Signal, Ecn::Ect0, false), None);
    assert_eq!(apply(Verdict::Severe, Ecn::Ect0, true), None);
    assert_eq!(apply(Verdict::Accept, Ecn::Ect0, true), Some(Ecn::Ect0));
    assert_eq!((log.marked.len(), log.dropped.len()), (3, 3));
}

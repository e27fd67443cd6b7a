use super::*;
use crate::packet::{Direction, Ecn};
use crate::params::{Params, Value};
use crate::queue::Measure;
use crate::queue::pie::{KIND, config_of};
use crate::queue::tests::{Ledger, context, packet_with};
use crate::units::Capacity;

fn config(given: &[(&'static str, Value)]) -> PieConfig {
    let mut params = Params::defaults(KIND.params);
    given.iter().for_each(|&(name, value)| params.set(name, value));
    config_of(&params, &context(12_000_000, 20, 1500))
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-9), "{a} is not {b}");
}

/// RFC 8033 §4.2, step by step, with a target of 15 ms.
#[test]
fn the_probability_follows_the_delay() {
    let config = config(&[]);
    let mut pie = Pie::new(&config, Time::ZERO);
    // 0.125 (20 - 15) ms + 1.25 (20 - 0) ms = 0.025625, and under a millionth a 2048th of that.
    pie.update(&config, ms(20));
    close(pie.drop_prob, 0.025_625 / 2048.0);
    // 0.125 x 25 ms + 1.25 x 20 ms = 0.028125; 1.25e-5 is under 1e-4: a 128th.
    pie.update(&config, ms(40));
    close(pie.drop_prob, 0.025_625 / 2048.0 + 0.028_125 / 128.0);
    // It no longer grows, but it is over the target: 0.125 x 25 ms, a 32nd.
    pie.update(&config, ms(40));
    close(pie.drop_prob, 0.025_625 / 2048.0 + 0.028_125 / 128.0 + 0.003_125 / 32.0);
    // At the target and falling: -1.25 x 25 ms / 32 = -9.8e-4 is more than there is.
    pie.update(&config, ms(15));
    assert_eq!(pie.drop_prob, 0.0);
}

#[test]
fn a_step_is_a_like_share_of_the_probability() {
    let config = config(&[]);
    for (drop_prob, divisor) in [
        (0.0, 2048.0),
        (0.9e-6, 2048.0),
        (1e-6, 512.0),
        (1e-5, 128.0),
        (1e-4, 32.0),
        (1e-3, 8.0),
        (1e-2, 2.0),
        (0.099, 2.0),
        (0.1, 1.0),
        (0.5, 1.0),
    ] {
        let mut pie = Pie { drop_prob, qdelay_old: ms(30), ..Pie::new(&config, Time::ZERO) };
        // 0.125 x 25 ms + 1.25 x 10 ms.
        pie.update(&config, ms(40));
        close(pie.drop_prob, drop_prob + 0.015_625 / divisor);
    }
}

#[test]
fn growth_is_capped_and_quiet_decays() {
    let of = |cap: bool, drop_prob, qdelay_old, qdelay| {
        let config = config(&[("cap_drop", Value::Bool(cap))]);
        let mut pie = Pie { drop_prob, qdelay_old, ..Pie::new(&config, Time::ZERO) };
        pie.update(&config, qdelay);
        pie.drop_prob
    };
    // 0.125 x 400 ms + 1.25 x 100 ms = 0.175.
    close(of(false, 0.1, ms(315), ms(415)), 0.275);
    close(of(true, 0.1, ms(315), ms(415)), 0.12);
    close(of(true, 0.05, ms(315), ms(415)), 0.05 + 0.175 / 2.0);
    close(of(false, 0.99, ms(315), ms(415)), 1.0);
    // Falling is not capped: 0.125 x -15 ms - 1.25 x 100 ms; and it is not quiet yet.
    close(of(true, 0.5, ms(100), ms(0)), 0.5 - 0.126_875);
    close(of(true, 0.5, ms(0), ms(0)), (0.5 - 0.001_875) * 0.98);
}

fn line_of(packets: &mut Packets, held: u32) -> Backlog {
    let mut line = Backlog::default();
    for seq in 0..held {
        let (packet, segment) = packet_with(Ecn::NotEct, seq, 1460);
        line.push(packets.insert(Direction::There, packet, segment), packets);
    }
    line
}

/// RFC 8033 §4.4: 150 ms are ten times 15.
#[test]
fn the_burst_allowance_lasts_ten_updates() {
    let config = config(&[]);
    let mut pie = Pie::new(&config, Time::ZERO);
    for n in 1..=10 {
        pie.update(&config, ms(40));
        assert_eq!(pie.burst_allowance, ms(150 - 15 * n));
    }
    pie.update(&config, ms(40));
    assert_eq!(pie.burst_allowance, Duration::ZERO);
    // An update does not renew it, however quiet it is.
    pie.update(&config, ms(0));
    pie.update(&config, ms(0));
    assert_eq!((pie.drop_prob, pie.burst_allowance), (0.0, Duration::ZERO));
}

/// RFC 8033 §4.4: half of 15 ms is 7.5. The sample before, the wait now and the probability must all be quiet.
#[test]
fn an_arrival_that_finds_all_quiet_renews_the_allowance() {
    let config = config(&[]);
    let mut packets = Packets::new();
    let held = line_of(&mut packets, 1);
    let after = |drop_prob, qdelay_old, waited, line| {
        let burst_allowance = ms(30);
        let mut pie = Pie { drop_prob, qdelay_old, waited, burst_allowance, ..Pie::new(&config, Time::ZERO) };
        assert!(!pie.hits(&config, Time::ZERO, line, &mut Rng::named(1, "quiet")));
        pie.burst_allowance
    };
    assert_eq!(after(0.0, ms(7), ms(7), &held), ms(150));
    assert_eq!(after(1e-9, ms(7), ms(7), &held), ms(30));
    assert_eq!(after(0.0, ms(8), ms(7), &held), ms(30));
    assert_eq!(after(0.0, ms(7), ms(8), &held), ms(30));
    // No packet waits in an empty queue, whatever the last packet had waited.
    assert_eq!(after(0.0, ms(7), ms(8), &Backlog::default()), ms(150));
}

/// Returns what happens to `count` arrivals of 1500 bytes that all find ten packets in the queue, at a constant probability.
fn fates(given: &[(&'static str, Value)], drop_prob: f64, ecn: Ecn, count: u32) -> Ledger {
    let config = PieConfig { max_burst: Duration::ZERO, ..config(given) };
    let (mut packets, mut log, mut line) = (Packets::new(), Ledger::default(), Backlog::default());
    let mut rng = Rng::named(1, "fates");
    let mut pie = Pie { drop_prob, qdelay_old: config.target, ..Pie::new(&config, Time::ZERO) };
    for seq in 0..count + 10 {
        let (packet, segment) = packet_with(ecn, seq.wrapping_sub(10), 1460);
        let id = packets.insert(Direction::There, packet, segment);
        if seq < 10 {
            line.push(id, &mut packets);
        } else if !pie.hits(&config, Time::ZERO, &line, &mut rng) || pie.mark(&config, Time::ZERO, id, &mut packets, &mut log) {
            packets.remove(id);
        }
    }
    log
}

/// The sum is 0.85 with the 17th arrival at 0.05, and from there on each arrival is dropped with 0.05: 16 + 1 / 0.05 = 36 on average, with
/// a standard deviation of 19.5; and at the latest the 170th.
#[test]
fn drops_keep_apart() {
    let gaps = |log: &Ledger| log.dropped.windows(2).map(|d| d[1].0 - d[0].0).collect::<Vec<_>>();
    let log = fates(&[], 0.05, Ecn::NotEct, 200_000);
    let gaps_apart = gaps(&log);
    let mean = gaps_apart.iter().sum::<u32>() as f64 / gaps_apart.len() as f64;
    assert!((mean - 36.0).abs() < 4.0 * 19.5 / (gaps_apart.len() as f64).sqrt(), "{mean}");
    assert!(gaps_apart.iter().all(|gap| (17..=171).contains(gap)), "{gaps_apart:?}");
    assert!(log.dropped.iter().all(|d| d.2 == DropReason::Early));
    // Packets are dropped independently without `derandomize`: 20 on average, and some side by side.
    let log = fates(&[("derandomize", Value::Bool(false))], 0.05, Ecn::NotEct, 200_000);
    let gaps_random = gaps(&log);
    let mean = gaps_random.iter().sum::<u32>() as f64 / gaps_random.len() as f64;
    assert!((mean - 20.0).abs() < 4.0 * 19.5 / (gaps_random.len() as f64).sqrt(), "{mean}");
    assert!(gaps_random.contains(&1));
}

/// Packets are marked while the probability is under 0.1, and dropped at 0.1 (RFC 8033 §5.1).
#[test]
fn marks_under_the_threshold_and_drops_from_there_on() {
    let ecn = [("ecn", Value::Bool(true))];
    let count = |log: Ledger| (!log.dropped.is_empty(), !log.marked.is_empty());
    assert_eq!(count(fates(&ecn, 0.099, Ecn::Ect0, 1000)), (false, true));
    assert_eq!(count(fates(&ecn, 0.1, Ecn::Ect0, 1000)), (true, false));
    assert_eq!(count(fates(&ecn, 0.099, Ecn::NotEct, 1000)), (true, false));
    assert_eq!(count(fates(&[], 0.099, Ecn::Ect0, 1000)), (true, false));
}

#[test]
fn little_is_never_dropped() {
    let config = PieConfig { max_burst: Duration::ZERO, derandomize: false, ..config(&[]) };
    let signals = |drop_prob, qdelay_old, held: u32| {
        let line = line_of(&mut Packets::new(), held);
        let mut pie = Pie { drop_prob, qdelay_old, ..Pie::new(&config, Time::ZERO) };
        let mut rng = Rng::named(1, "little");
        (0..200).any(|_| pie.signals(&config, &line, &mut rng))
    };
    assert!(!signals(1.0, ms(15), 2), "two packets are not a queue");
    assert!(signals(1.0, ms(15), 3));
    assert!(!signals(0.19, ms(7), 3), "under half of the target, while the probability is low");
    assert!(signals(0.2, ms(7), 3));
    assert!(signals(0.19, ms(8), 3));
}

/// RFC 8033 appendix B: 11 packets of 1500 bytes are the first to be 16384 bytes or more; at 1 ms each they take 11 ms, from when the one before
/// them leaves.
#[test]
fn the_rate_is_measured_while_there_is_enough_to_measure() {
    let config = config(&[("dq_rate_estimator", Value::Bool(true))]);
    let mut packets = Packets::new();
    let mut line = line_of(&mut packets, 44);
    let mut pie = Pie::new(&config, Time::ZERO);
    let mut leave = |pie: &mut Pie, line: &mut Backlog, at_ms: u64| {
        let id = pie.dequeue(&config, Time::ZERO + ms(at_ms), line, &packets).unwrap();
        packets.remove(id);
    };
    (0..11).for_each(|n| leave(&mut pie, &mut line, n));
    assert_eq!(pie.qdelay(&config, &line), Duration::ZERO, "nothing is known yet");
    leave(&mut pie, &mut line, 11);
    close(pie.departures.average, 0.011);
    // 32 packets are left: 48000 / 16384 x 11 ms.
    assert_eq!(pie.qdelay(&config, &line), Duration::from_ps(32_226_562_500));
    // The next measurement began with that packet. At 2 ms a packet: 22 ms, a quarter of which counts.
    (1..=11).for_each(|n| leave(&mut pie, &mut line, 11 + 2 * n));
    let second = 0.25 * 0.022 + 0.75 * 0.011;
    close(pie.departures.average, second);
    // 21 are left, so there is one more; with the 10 after that, 15000 bytes, none begins.
    (1..=11).for_each(|n| leave(&mut pie, &mut line, 33 + 2 * n));
    (0..10).for_each(|n| leave(&mut pie, &mut line, 1000 + n));
    assert!(pie.departures.since.is_none() && line.is_empty());
    close(pie.departures.average, 0.25 * 0.022 + 0.75 * second);
}

/// Updates that are due are done when somebody looks: one look at each update or one much later makes no difference.
#[test]
fn late_is_as_on_time() {
    let config = config(&[]);
    let line = Backlog::default();
    let start =
        Pie { drop_prob: 0.3, qdelay_old: ms(20), waited: ms(33), burst_allowance: Duration::ZERO, ..Pie::new(&config, Time::ZERO) };
    let (mut often, mut once) = (start.clone(), start);
    for n in 0..100_000 {
        often.catch_up(&config, Time::ZERO + ms(n), &line);
    }
    once.catch_up(&config, Time::ZERO + ms(99_999), &line);
    assert_eq!(format!("{often:?}"), format!("{once:?}"));
    // 6667 x 15 ms is the first after that.
    assert_eq!((once.drop_prob, once.next_update), (0.0, Time::ZERO + ms(100_005)));
    // An empty queue only reduces the allowance: by two updates at 44 ms, and by all of it at 1 s.
    let mut idle = Pie::new(&config, Time::ZERO);
    idle.catch_up(&config, Time::ZERO + ms(44), &line);
    assert_eq!((idle.burst_allowance, idle.next_update), (ms(120), Time::ZERO + ms(45)));
    idle.catch_up(&config, Time::ZERO + ms(1000), &line);
    assert_eq!((idle.burst_allowance, idle.next_update), (Duration::ZERO, Time::ZERO + ms(1005)));
}

/// A standing queue: no packet is dropped while the allowance lasts, and then the delay falls.
#[test]
fn a_standing_queue_is_let_be_for_a_while() {
    let mut params = Params::defaults(KIND.params);
    params.set("limit", Value::Capacity(Capacity::Packets(1000)));
    let mut queue = (KIND.build)(&params, context(12_000_000, 20, 1500));
    let (mut packets, mut log, mut seq) = (Packets::new(), Ledger::default(), 0);
    let mut held = Vec::new();
    // One packet leaves per ms, and 1.25 come.
    for now in 0..60_000 {
        for _ in 0..if now % 4 == 0 { 2 } else { 1 } {
            let (packet, segment) = packet_with(Ecn::NotEct, seq, 1460);
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO + ms(now), id, &mut packets, &mut log);
            seq += 1;
        }
        if let Some(id) = queue.dequeue(Time::ZERO + ms(now), &mut packets, &mut log) {
            packets.remove(id);
        }
        held.push(queue.held(Measure::Packets));
    }
    let first = log.dropped[0].1;
    assert!(first > Time::ZERO + ms(150), "{first:?}");
    // It needs a probability of a fifth; then the packets of 15 ms wait.
    let mean = held[20_000..].iter().sum::<u64>() as f64 / 40_000.0;
    assert!((13.0..17.0).contains(&mean), "{mean}");
}

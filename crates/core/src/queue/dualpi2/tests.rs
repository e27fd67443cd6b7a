use super::*;
use crate::packet::{Direction, Ecn};
use crate::queue::tests::{Ledger, context, packet_with};

fn params(given: &[(&'static str, Value)]) -> Params {
    let mut params = Params::defaults(KIND.params);
    given.iter().for_each(|&(name, value)| params.set(name, value));
    params
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} is not {b}");
}

/// A queue, its packets and their fates.
struct Rig {
    queue: Box<dyn Queue + Send>,
    packets: Packets,
    log: Ledger,
    next: u32,
}

impl Rig {
    fn new(given: &[(&'static str, Value)]) -> Self {
        let (params, context) = (params(given), context(12_000_000, 20, 1500));
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        Rig { queue: (KIND.build)(&params, context), packets: Packets::new(), log: Ledger::default(), next: 0 }
    }
    /// Enqueues `count` packets at `us`. Returns the number of the first.
    fn arrive(&mut self, us: u64, count: u32, ecn: Ecn, size: u16) -> u32 {
        let first = self.next;
        for _ in 0..count {
            let (packet, segment) = packet_with(ecn, self.next, size - 40);
            self.next += 1;
            let id = self.packets.insert(Direction::There, packet, segment);
            self.queue.enqueue(Time::ZERO + Duration::from_micros(us), id, &mut self.packets, &mut self.log);
        }
        first
    }
    /// Dequeues the next packet, at `us`.
    fn depart(&mut self, us: u64) -> Option<u32> {
        let id = self.queue.dequeue(Time::ZERO + Duration::from_micros(us), &mut self.packets, &mut self.log)?;
        let seq = self.packets.segment(id).seq;
        self.packets.remove(id);
        Some(seq)
    }
}

/// RFC 9332 appendix A.1: 15 ms, 0.1 x 15 ms / (100 ms)^2 and 0.3 / 100 ms.
#[test]
fn the_gains_follow_from_the_longest_round_trip() {
    let config = config_of(&params(&[]));
    assert_eq!(config.tupdate, ms(15));
    close(config.alpha, 0.15);
    close(config.beta, 3.0);
    // 30 ms: a third of it is less than the target.
    let config = config_of(&params(&[("max_rtt", Value::Duration(ms(30)))]));
    assert_eq!(config.tupdate, ms(10));
    close(config.alpha, 0.1 * 0.010 / 0.000_9);
    close(config.beta, 10.0);
}

#[test]
fn one_probability_is_squared_for_one_line_and_doubled_for_the_other() {
    let config = config_of(&params(&[]));
    let mut control = Coupled::new(&config);
    // 0.15 (20 - 15) ms + 3 x 20 ms.
    control.update(&config, ms(20));
    close(control.p_classic(), 0.060_75 * 0.060_75);
    close(control.p_coupled(&config), 0.121_5);
    // 0.15 x 5 ms more.
    control.update(&config, ms(20));
    close(control.p_coupled(&config), 0.123);
    // 0.15 x 185 ms + 3 x 180 ms = 0.56775: over a half, all of L4S is marked, and it is overload.
    assert!(!control.is_overloaded(&config));
    control.update(&config, ms(200));
    close(control.p_classic(), 0.629_25 * 0.629_25);
    assert_eq!((control.p_coupled(&config), control.is_overloaded(&config)), (1.0, true));
    // Between nothing and all.
    // 0.62925 - 0.15 x 15 ms - 3 x 200 ms; the next 12 take 0.00225 each.
    control.update(&config, ms(0));
    assert!((control.p_coupled(&config) - 0.054).abs() < 1e-12);
    (0..12).for_each(|_| control.update(&config, ms(0)));
    assert!(control.p_coupled(&config) < 1e-12);
    control.update(&config, Duration::from_secs(5));
    assert_eq!(control.p_classic(), 1.0);
}

/// RFC 9332 §4.2.3, delay on saturation: p ends at 1 / k, where k p is 1 and p^2 is 1 / k^2.
#[test]
fn without_drops_on_overload_the_probability_ends_where_all_of_l4s_is_marked() {
    for (k, p_classic) in [(2.0, 0.25), (4.0, 0.0625)] {
        let mut config = config_of(&params(&[("coupling_factor", Value::Number(k)), ("drop_on_overload", Value::Bool(false))]));
        let mut control = Coupled::new(&config);
        // 0.15 x 985 ms + 3 x 1 s = 3.14775.
        control.update(&config, Duration::from_secs(1));
        assert_eq!((control.p_classic(), control.p_coupled(&config), control.is_overloaded(&config)), (p_classic, 1.0, false));
        config.drop_on_overload = true;
        control.update(&config, Duration::from_secs(2));
        assert_eq!((control.p_classic(), control.is_overloaded(&config)), (1.0, true));
    }
}

#[test]
fn the_ramp_is_a_ramp_and_can_be_a_step() {
    let us = Duration::from_micros;
    let config = config_of(&params(&[]));
    let ramp: Vec<f64> = [0, 800, 900, 1000, 1200, 5000].map(|t| config.ramp(us(t))).to_vec();
    assert_eq!(ramp, [0.0, 0.0, 0.25, 0.5, 1.0, 1.0]);
    let config = config_of(&params(&[("min_th", Value::Duration(us(1000))), ("range", Value::Duration(us(0)))]));
    assert_eq!([999, 1000].map(|t| config.ramp(us(t))), [0.0, 1.0]);
}

/// 0.25 five times is more than 1, and then each fourth time.
#[test]
fn likelihoods_are_spread_evenly() {
    let mut recur = Recur::default();
    let hits: Vec<u32> = (1..=13).filter(|_| recur.hits(0.25)).collect();
    assert_eq!(hits, [5, 9, 13]);
}

/// The classic queue has a share of a tenth: nine packets of L4S, then one classic packet; or three, and one of a third of their size.
#[test]
fn both_lines_get_their_shares() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 100, Ecn::Ect1, 1500);
    let classic = rig.arrive(0, 100, Ecn::Ect0, 1500);
    let order: String = (0..30).map(|_| if rig.depart(0).unwrap() >= classic { 'c' } else { 'l' }).collect();
    assert_eq!(order, "lllllllllclllllllllclllllllllc");
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 100, Ecn::Ect1, 1500);
    let classic = rig.arrive(0, 100, Ecn::NotEct, 500);
    let order: String = (0..16).map(|_| if rig.depart(0).unwrap() >= classic { 'c' } else { 'l' }).collect();
    assert_eq!(order, "lllclllclllclllc");
    // A queue that is alone has the whole link, and is owed nothing for it.
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 30, Ecn::Ect1, 1500);
    assert!((0..20).all(|n| rig.depart(0) == Some(n)));
    let classic = rig.arrive(0, 2, Ecn::NotEct, 1500);
    let order: Vec<u32> = (0..10).map(|_| rig.depart(0).unwrap()).collect();
    assert_eq!(order, [20, 21, 22, 23, 24, 25, 26, 27, 28, classic]);
    assert_eq!((rig.depart(0), rig.depart(0), rig.depart(0)), (Some(29), Some(classic + 1), None));
    // The classic queue waits for all L4S packets if it has no share.
    let mut rig = Rig::new(&[("classic_protection", Value::Number(0.0))]);
    let l4s = rig.arrive(0, 50, Ecn::Ce, 1500);
    rig.arrive(0, 1, Ecn::Ect0, 1500);
    assert!((0..51).all(|n| rig.depart(0) == Some(l4s + n)));
}

/// One packet leaves per millisecond. Each packet of a burst of ten waits for those before it. From the one that waited 1.2 ms on they are
/// marked, except the last, which has none behind it. (The first certain mark is one packet too early for `recur`, which needs more than
/// 1.)
#[test]
fn l4s_is_marked_for_its_own_wait() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 10, Ecn::Ect1, 1500);
    (0..10).for_each(|n| assert_eq!(rig.depart(1000 * n), Some(n as u32)));
    // 1 ms is half of the ramp: 0.5; 2 ms is 1: 1.5, and from there on 1.5 each time.
    assert_eq!(rig.log.marked, [2, 3, 4, 5, 6, 7, 8]);
    assert!(rig.log.dropped.is_empty());
    // Classic packets of that wait are not: the probability is still none.
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 10, Ecn::Ect0, 1500);
    (0..10).for_each(|n| assert_eq!(rig.depart(1000 * n), Some(n as u32)));
    assert_eq!(rig.log, Ledger::default());
}

/// A classic queue of 20 ms at 15 ms, the first update: p = 0.06 + .... L4S packets without any wait are marked at twice that rate, evenly.
#[test]
fn the_classic_queue_marks_l4s() {
    let mut rig = Rig::new(&[("tupdate", Value::Duration(ms(20)))]);
    rig.arrive(0, 1000, Ecn::NotEct, 1500);
    // At 20 ms: alpha = 0.1 x 20 ms / 0.01 = 0.2: 0.2 x 5 ms + 3 x 20 ms = 0.061; 0.122 of L4S.
    let mut l4s = 0;
    for n in 0..100 {
        rig.arrive(20_000 + n, 1, Ecn::Ect1, 100);
        l4s += u32::from(rig.depart(20_000 + n).unwrap() >= 1000);
    }
    assert_eq!(l4s, 100, "the short line comes first");
    // More than 1 is reached each 1 / 0.122 = 8.2 packets.
    assert_eq!(rig.log.marked.iter().map(|seq| seq - 999).collect::<Vec<_>>(), [9, 17, 25, 33, 41, 50, 58, 66, 74, 82, 91, 99]);
    assert!(rig.log.dropped.is_empty());
    // And of classic packets 0.061^2 = 0.003721 are dropped: more than 1 with the 269th and the 538th.
    (0..600).for_each(|_| assert!(rig.depart(20_200).is_some()));
    assert_eq!(rig.log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(268, DropReason::Early), (537, DropReason::Early)]);
}

/// Overload: L4S packets are dropped as often as classic packets, the remaining ones are marked, and ECT(0) packets are dropped instead of
/// marked.
#[test]
fn in_overload_both_lines_drop() {
    for (on_overload, dropped) in [(true, true), (false, false)] {
        let mut rig =
            Rig::new(&[("drop_on_overload", Value::Bool(on_overload)), ("alpha", Value::Number(0.0)), ("beta", Value::Number(3.0))]);
        rig.arrive(0, 500, Ecn::Ect1, 1500);
        let classic = rig.arrive(0, 500, Ecn::Ect0, 1500);
        // Nothing has left by 195 ms: p rises by 3 x 15 ms at each of 13 updates, to 0.585; all of L4S, and 0.342225 of both.
        (0..200).for_each(|_| assert!(rig.depart(195_000).is_some()));
        let of = |classic_ones: bool| rig.log.dropped.iter().filter(|d| (d.0 >= classic) == classic_ones).count();
        assert_eq!((of(false) > 0, of(true) > 0), (dropped, dropped));
        let marked_classic = rig.log.marked.iter().filter(|seq| **seq >= classic).count();
        assert_eq!(marked_classic > 0, !dropped);
        if dropped {
            // 200 went out, of which a tenth were classic; 0.342225 of all that were tried were dropped.
            let tried = 200.0 / (1.0 - 0.342_225);
            assert!((rig.log.dropped.len() as f64 - 0.342_225 * tried).abs() < 3.0, "{}", rig.log.dropped.len());
        }
    }
}

/// Updates that are due are done when somebody looks: one look at each update or one much later makes no difference.
#[test]
fn late_is_as_on_time() {
    let config = config_of(&params(&[]));
    let delay = |at: Time| at.since(Time::ZERO);
    let (mut often, mut once) = (Coupled::new(&config), Coupled::new(&config));
    (0..170).for_each(|n| often.update_until(&config, Time::ZERO + ms(n), false, delay));
    once.update_until(&config, Time::ZERO + ms(169), false, delay);
    assert_eq!(format!("{often:?}"), format!("{once:?}"));
    // Eleven updates, each 15 ms later than the one before: 11 x 3 x 15 ms, and 0.15 x (0 + 15 + ... + 150) ms.
    close(once.p_classic().sqrt(), 0.495 + 0.15 * 0.825);
    // Empty and quiet it need not be asked a million times.
    let mut idle = Coupled::new(&config);
    idle.update_until(&config, Time::ZERO + Duration::from_secs(15_000), true, |_| Duration::ZERO);
    assert_eq!(idle.next_update, Time::ZERO + ms(15_000_015));
}

#[test]
fn the_limit_is_of_both_lines() {
    use crate::units::Capacity;
    let mut rig = Rig::new(&[("limit", Value::Capacity(Capacity::Packets(3)))]);
    rig.arrive(0, 2, Ecn::Ect1, 1500);
    rig.arrive(0, 2, Ecn::Ect0, 1500);
    rig.arrive(0, 1, Ecn::Ce, 1500);
    assert_eq!(rig.log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(3, DropReason::Overflow), (4, DropReason::Overflow)]);
}

/// RFC 9332 figure 3: 3000 bytes hold two packets of the MTU, 1500 bytes. Of small ones, the last that comes finds 1500 held.
#[test]
fn there_must_be_room_for_the_largest_packet() {
    use crate::units::Capacity;
    let mut rig = Rig::new(&[("limit", Value::Capacity(Capacity::Bytes(3000)))]);
    rig.arrive(0, 5, Ecn::Ect1, 500);
    assert_eq!(rig.log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(4, DropReason::Overflow)]);
    let mut rig = Rig::new(&[("limit", Value::Capacity(Capacity::Bytes(3000)))]);
    rig.arrive(0, 1, Ecn::Ect0, 1500);
    rig.arrive(0, 2, Ecn::Ect1, 1500);
    assert_eq!(rig.log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(2, DropReason::Overflow)]);
}

#[test]
fn the_short_line_must_be_the_short_one() {
    let refused = (KIND.check)(&params(&[("target", Value::Duration(ms(1)))]), &context(12_000_000, 20, 1500)).unwrap_err();
    assert_eq!(refused, "min_th + range (1.2 ms) must be under target (1 ms): the L4S line is the short one");
}

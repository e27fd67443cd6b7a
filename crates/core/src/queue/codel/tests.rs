use super::*;
use crate::packet::{Direction, Ecn};
use crate::queue::DropReason;
use crate::queue::tests::{Ledger, context, packet_with};
use crate::units::Capacity;

/// A queue, its packets and their fates.
struct Rig {
    queue: Box<dyn Queue + Send>,
    packets: Packets,
    log: Ledger,
    next: u32,
}

impl Rig {
    fn new(given: &[(&'static str, Value)]) -> Self {
        let mut params = Params::defaults(KIND.params);
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(12_000_000, 20, 1500);
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        Rig { queue: (KIND.build)(&params, context), packets: Packets::new(), log: Ledger::default(), next: 0 }
    }
    /// Enqueues `count` packets of 1500 bytes at `ms`.
    fn arrive(&mut self, ms: u64, count: u32, ecn: Ecn) {
        for _ in 0..count {
            let (packet, segment) = packet_with(ecn, self.next, 1460);
            self.next += 1;
            let id = self.packets.insert(Direction::There, packet, segment);
            self.queue.enqueue(at(ms), id, &mut self.packets, &mut self.log);
        }
    }
    /// Dequeues one packet at each millisecond of `from..to`, and returns their numbers.
    fn depart(&mut self, from: u64, to: u64) -> Vec<u32> {
        let take = |ms| {
            let id = self.queue.dequeue(at(ms), &mut self.packets, &mut self.log)?;
            let seq = self.packets.segment(id).seq;
            self.packets.remove(id);
            Some(seq)
        };
        (from..to).filter_map(take).collect()
    }
    /// Returns when packets were dropped, in ms.
    fn drops(&self) -> Vec<u64> {
        self.log
            .dropped
            .iter()
            .map(|(_, time, reason)| (*reason, time.as_ps() / 1_000_000_000))
            .map(|(reason, ms)| {
                assert_eq!(reason, DropReason::Early);
                ms
            })
            .collect()
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

const ECN: (&str, Value) = ("ecn", Value::Bool(true));

/// The wait is 5 ms at 5 ms, so it has stood for an interval at 105. The second drop is 100 ms later, and then each 100/sqrt(n) after the one
/// before it was due: 205 + 70.71 = 275.71, + 57.74 = 333.45, + 50 = 383.45, + 44.72 = 428.17, + 40.82 = 468.99. A packet leaves each ms.
#[test]
fn drops_follow_the_square_root() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 900, Ecn::Ect0);
    let sent = rig.depart(0, 480);
    assert_eq!(rig.drops(), [105, 205, 276, 334, 384, 429, 469]);
    assert_eq!(sent.len(), 480, "another goes out for each that is dropped");
    assert_eq!(rig.log.dropped[0].0, 105, "what is dropped is the packet at the head");
    assert_eq!(sent[105], 106);
    assert!(rig.log.marked.is_empty());
}

#[test]
fn marks_are_as_drops_and_only_for_what_can_be_marked() {
    let mut rig = Rig::new(&[ECN]);
    rig.arrive(0, 900, Ecn::Ect1);
    assert!(rig.depart(0, 480).is_sorted());
    assert_eq!(rig.log.marked, [105, 205, 276, 334, 384, 429, 469], "packet n leaves at n ms");
    assert!(rig.log.dropped.is_empty());
    let mut rig = Rig::new(&[ECN]);
    rig.arrive(0, 900, Ecn::NotEct);
    rig.depart(0, 480);
    assert_eq!((rig.drops().len(), rig.log.marked.len()), (7, 0));
}

/// Several drops that are due when a packet leaves come at once. Marks come one per packet, since a packet carries one.
#[test]
fn what_is_due_meanwhile_is_caught_up_with() {
    for (ecn, dropped, marked) in [(Ecn::NotEct, vec![105, 300, 300], vec![]), (Ecn::Ect0, vec![], vec![105, 106, 107])] {
        let mut rig = Rig::new(&[ECN]);
        rig.arrive(0, 900, ecn);
        rig.depart(0, 106);
        // The drops of 205 and 275.71 ms are due at 300 ms.
        rig.depart(300, 304);
        assert_eq!((rig.drops(), &rig.log.marked), (dropped, &marked));
    }
}

#[test]
fn one_short_wait_is_enough() {
    let mut rig = Rig::new(&[]);
    // At 99 ms the queue is down to one packet, which is no standing queue; then it waits again.
    rig.arrive(0, 101, Ecn::NotEct);
    rig.depart(0, 100);
    rig.arrive(100, 400, Ecn::NotEct);
    rig.depart(100, 205);
    assert_eq!(rig.drops().len(), 0);
    // Packet 101 came at 100 ms and leaves at 101; the first packet to have waited 5 ms is that of 105.
    rig.depart(205, 206);
    assert_eq!(rig.drops(), [205]);
}

#[test]
fn the_last_packet_is_never_dropped() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 3, Ecn::NotEct);
    assert_eq!(rig.depart(10, 11), [0]);
    assert_eq!(rig.depart(5000, 5002), [1, 2], "one packet behind is no standing queue");
    rig.arrive(6000, 4, Ecn::NotEct);
    assert_eq!(rig.depart(6010, 6011), [3]);
    // It has stood for an interval: 4 is dropped, and behind 5 there is one.
    assert_eq!(rig.depart(7000, 7002), [5, 6]);
    assert_eq!(rig.drops(), [7000]);
}

/// The dropping state ends with count 7 after seven drops, and begins again at the rate of 6, for 16 intervals.
#[test]
fn it_remembers_its_rate_for_sixteen_intervals() {
    for (pause, second) in [(1000, 41), (3000, 100)] {
        let mut rig = Rig::new(&[]);
        rig.arrive(0, 488, Ecn::NotEct);
        rig.depart(0, 482);
        assert_eq!((rig.drops().len(), rig.queue.held(Measure::Packets)), (7, 0));
        let start = 482 + pause;
        rig.arrive(start, 400, Ecn::NotEct);
        rig.depart(start, start + 250);
        // 100 / sqrt(6) = 40.8 ms after the first; or 100 / sqrt(1).
        assert_eq!(rig.drops()[7..9], [start + 105, start + 105 + second]);
    }
}

#[test]
fn over_the_ce_threshold_all_are_marked() {
    let threshold = ("ce_threshold", Value::Duration(Duration::from_millis(2)));
    let mut rig = Rig::new(&[threshold]);
    rig.arrive(0, 6, Ecn::Ect1);
    rig.arrive(0, 1, Ecn::NotEct);
    rig.depart(0, 7);
    assert_eq!((&rig.log.marked[..], rig.log.dropped.len()), (&[3, 4, 5][..], 0), "2 ms are not more than 2 ms");
    // A packet that the control law marks is not marked twice.
    let mut rig = Rig::new(&[threshold, ECN]);
    rig.arrive(0, 300, Ecn::Ect1);
    rig.depart(0, 210);
    assert_eq!(rig.log.marked, (3..210).collect::<Vec<_>>());
}

#[test]
fn the_limit_is_a_thousand_packets_or_a_quarter_of_a_second() {
    let of = |bps| limit(&Params::defaults(KIND.params), &context(bps, 20, 1500));
    assert_eq!(of(10_000_000), Limit { measure: Measure::Packets, max: 1000 });
    // 10 Gb/s x 250 ms / 1500 bytes.
    assert_eq!(of(10_000_000_000), Limit { measure: Measure::Packets, max: 208_333 });
    let mut rig = Rig::new(&[("limit", Value::Capacity(Capacity::Packets(3)))]);
    rig.arrive(0, 5, Ecn::Ect0);
    assert_eq!(rig.log.dropped.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(3, DropReason::Overflow), (4, DropReason::Overflow)]);
}

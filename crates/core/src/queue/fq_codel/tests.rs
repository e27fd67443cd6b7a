use super::*;
use crate::packet::{Direction, Ecn};
use crate::params::Value;
use crate::queue::tests::{Ledger, context, packet_with};
use crate::time::Duration;
use crate::units::Capacity;

/// A queue, its packets and their fates. The number of a packet is `100 flow + n`.
struct Rig {
    queue: Box<dyn Queue + Send>,
    packets: Packets,
    log: Ledger,
}

impl Rig {
    fn new(given: &[(&'static str, Value)]) -> Self {
        let mut params = Params::defaults(KIND.params);
        params.set("collisions", Value::Bool(false));
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(12_000_000, 20, 1500);
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        Rig { queue: (KIND.build)(&params, context), packets: Packets::new(), log: Ledger::default() }
    }
    /// Makes the packet `n` of a flow, of `size` bytes.
    fn packet(&mut self, flow: u32, n: u32, size: u16) -> PacketId {
        let (mut packet, segment) = packet_with(Ecn::NotEct, 100 * flow + n, size - 40);
        packet.route = flow;
        self.packets.insert(Direction::There, packet, segment)
    }
    /// Enqueues the packets `numbers` of a flow at `ms`, each of `size` bytes.
    fn arrive(&mut self, ms: u64, flow: u32, numbers: std::ops::Range<u32>, size: u16) {
        for n in numbers {
            let id = self.packet(flow, n, size);
            self.queue.enqueue(at(ms), id, &mut self.packets, &mut self.log);
        }
    }
    /// Passes the packet `n` of a flow, of 200 bytes, over the idle link at `ms`.
    fn pass(&mut self, ms: u64, flow: u32, n: u32) {
        let id = self.packet(flow, n, 200);
        assert!(self.queue.pass(at(ms), at(ms), id, &mut self.packets, &mut self.log));
        self.packets.remove(id);
    }
    /// Dequeues the next `count` packets, at `ms`.
    fn depart(&mut self, ms: u64, count: usize) -> Vec<u32> {
        (0..count)
            .map_while(|_| {
                let id = self.queue.dequeue(at(ms), &mut self.packets, &mut self.log)?;
                let seq = self.packets.segment(id).seq;
                self.packets.remove(id);
                Some(seq)
            })
            .collect()
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn packets(n: u64) -> Value {
    Value::Capacity(Capacity::Packets(n))
}

/// A quantum is 1500 bytes: one large packet, or as many small ones as it takes to use it up.
#[test]
fn flows_take_turns_by_bytes() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 1, 0..4, 1500);
    rig.arrive(0, 2, 0..8, 500);
    rig.arrive(0, 3, 0..4, 1000);
    // First round: 1500, 3 x 500, and 2 x 1000, since the first leaves 500 bytes of credit; which is then -500, and the next quantum 1000.
    assert_eq!(rig.depart(0, 6), [100, 200, 201, 202, 300, 301]);
    assert_eq!(rig.depart(0, 5), [101, 203, 204, 205, 302]);
    // 1000 - 1000 = 0: a quantum.
    assert_eq!(rig.depart(0, 4), [102, 206, 207, 303]);
    assert_eq!(rig.depart(0, 9), [103]);
}

#[test]
fn a_new_flow_comes_first_once() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 1, 0..20, 500);
    rig.arrive(0, 2, 0..20, 1500);
    assert_eq!(rig.depart(0, 8), [100, 101, 102, 200, 103, 104, 105, 201]);
    // One packet of a flow that had none waits for nobody.
    rig.arrive(1, 3, 0..1, 200);
    assert_eq!(rig.depart(1, 1), [300]);
    // Its flow queue is still new, with 1300 bytes of credit; so is the packet that follows at once.
    rig.arrive(1, 3, 1..2, 200);
    assert_eq!(rig.depart(1, 2), [301, 106]);
    // Found empty in its turn it became an old flow queue; a packet that comes now waits for the turn of flow 1 to end.
    rig.arrive(2, 3, 2..3, 200);
    assert_eq!(rig.depart(2, 3), [107, 108, 302]);
    // Found empty as an old flow queue it was forgotten, and is new again.
    assert_eq!(rig.depart(2, 2), [202, 109]);
    rig.arrive(3, 3, 3..4, 200);
    assert_eq!(rig.depart(3, 1), [303]);
}

#[test]
fn a_new_flow_that_sends_more_than_a_quantum_is_an_old_one() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 1, 0..20, 1500);
    rig.depart(0, 1);
    rig.arrive(0, 2, 0..5, 1000);
    // 1500 - 1000 = 500, - 1000 = -500: then its turn is over.
    assert_eq!(rig.depart(0, 4), [200, 201, 101, 202]);
}

/// Three packets of 200 bytes have found the link idle. The flow queue had its whole quantum each time: it has 1300 bytes left, not 900.
#[test]
fn an_idle_link_forgets_every_line() {
    let mut rig = Rig::new(&[]);
    (0..3).for_each(|n| rig.pass(n.into(), 3, n));
    rig.arrive(2, 3, 3..13, 200);
    rig.arrive(2, 1, 0..1, 1500);
    assert_eq!(rig.depart(2, 8), [303, 304, 305, 306, 307, 308, 309, 100]);
}

#[test]
fn over_the_limit_the_fattest_line_loses_half_from_its_head() {
    let mut rig = Rig::new(&[("limit", packets(20))]);
    rig.arrive(0, 1, 0..12, 500);
    rig.arrive(0, 2, 0..8, 1500);
    assert!(rig.log.dropped.is_empty());
    // 8 packets of 1500 bytes are more than 12 of 500; a half of 8 is 4.
    rig.arrive(0, 1, 12..13, 500);
    let dropped: Vec<_> = rig.log.dropped.iter().map(|d| (d.0, d.2)).collect();
    assert_eq!(dropped, [200, 201, 202, 203].map(|seq| (seq, DropReason::Overflow)));
    assert_eq!((rig.queue.held(Measure::Packets), rig.queue.held(Measure::Bytes)), (17, 13 * 500 + 4 * 1500));
    // 64 packets at most, of one flow queue of 201.
    let mut rig = Rig::new(&[("limit", packets(200))]);
    rig.arrive(0, 1, 0..201, 500);
    assert_eq!((rig.log.dropped.len(), rig.queue.held(Measure::Packets)), (64, 137));
    // A limit of one packet holds one packet: half of one is one. Of lines with as many bytes it is the first.
    let mut rig = Rig::new(&[("limit", packets(1))]);
    rig.arrive(0, 1, 0..2, 500);
    rig.arrive(0, 2, 0..1, 500);
    assert_eq!((rig.log.dropped.len(), rig.queue.held(Measure::Packets)), (2, 1));
}

/// Each flow queue has a control of its own: the standing flow loses packets, and the other does not.
#[test]
fn who_does_not_queue_is_not_dropped() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 1, 0..99, 1500);
    for ms in 0..200 {
        if ms % 10 == 0 {
            rig.arrive(ms, 5, (ms / 10) as u32..(ms / 10) as u32 + 1, 300);
        }
        rig.depart(ms, if ms % 10 == 0 { 2 } else { 1 });
        if ms % 50 == 49 {
            rig.arrive(ms, 1, 99..149, 1500);
        }
    }
    assert!(!rig.log.dropped.is_empty());
    assert!(rig.log.dropped.iter().all(|(seq, _, reason)| *seq < 250 && *reason == DropReason::Early), "{:?}", rig.log.dropped);
}

/// Flow queue 2 never holds more than an MTU, but the link has flow queue 1 to send (RFC 8289 §4.4). Packet 200 waited 10 ms, so flow queue
/// 2 stands at 110 ms: the first of its packets at 120 ms is dropped and the last goes out. Then it is found empty, which ends its dropping
/// state: at 225 ms, though its next drop would have been due at 220 ms, its clock starts anew.
#[test]
fn what_other_lines_hold_counts_and_an_empty_line_starts_anew() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 1, 0..10, 1500);
    rig.arrive(0, 2, 0..3, 500);
    assert_eq!(rig.depart(10, 2), [100, 200]);
    assert_eq!(rig.depart(120, 1), [202]);
    // Flow queue 2 becomes an old one; flow queue 1 stands as well.
    assert_eq!(rig.depart(121, 1), [102]);
    let dropped = [(201, at(120), DropReason::Early), (101, at(121), DropReason::Early)];
    assert_eq!(rig.log.dropped, dropped);
    rig.arrive(122, 2, 3..5, 500);
    assert_eq!(rig.depart(225, 1), [203]);
    assert_eq!(rig.log.dropped, dropped);
}

/// Flow queue 2 has 1600 bytes left beside its last packet at 10 ms. An idle link ends all of that, and the standing delay that was about
/// to be found in flow queue 2.
#[test]
fn an_idle_link_ends_what_stood() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 1, 0..1, 1500);
    rig.arrive(0, 1, 1..3, 800);
    rig.arrive(0, 2, 0..1, 1500);
    assert_eq!(rig.depart(10, 4), [100, 200, 101, 102]);
    rig.pass(200, 3, 0);
    rig.arrive(200, 2, 1..5, 1500);
    assert_eq!(rig.depart(206, 1), [201]);
    assert_eq!(rig.log.dropped, []);
}

/// Flow queue 2 has one packet that is due to be dropped, and it is its last: the link takes from flow queue 1 instead.
#[test]
fn a_line_that_a_drop_empties_leaves_its_turn() {
    let mut rig = Rig::new(&[]);
    rig.arrive(0, 2, 0..2, 500);
    rig.arrive(0, 1, 0..10, 1500);
    assert_eq!(rig.depart(10, 1), [200]);
    assert_eq!(rig.depart(110, 1), [100]);
    assert_eq!(rig.log.dropped, [(201, at(110), DropReason::Early)]);
    assert_eq!((rig.queue.held(Measure::Packets), rig.queue.held(Measure::Bytes)), (9, 9 * 1500));
}

/// Two flows share one flow queue, and their order in it is that of their arrival.
#[test]
fn flows_of_one_line_are_one() {
    let mut rig = Rig::new(&[("collisions", Value::Bool(true)), ("flows", Value::Count(1))]);
    rig.arrive(0, 1, 0..2, 1500);
    rig.arrive(0, 2, 0..1, 100);
    rig.arrive(0, 1, 2..3, 1500);
    assert_eq!(rig.depart(0, 4), [100, 101, 200, 102]);
}

/// 1000 flows on 1024 queues take 1024 (1 - (1 - 1/1024)^1000) = 638.4 of them on average, with a standard deviation of about 11.
#[test]
fn the_hash_is_even() {
    for seed in 0..20 {
        let mut context = context(12_000_000, 20, 1500);
        context.rng = crate::rng::Rng::named(seed, "hash");
        let params = Params::defaults(KIND.params);
        let mut flows = FlowQueues::new(Classifier::new(&params, &mut context.rng), Quanta::new(&params, &context), ());
        let mut packets = Packets::new();
        for route in 0..1000 {
            let (mut packet, segment) = packet_with(Ecn::NotEct, route, 100);
            packet.route = 7 * route;
            let id = packets.insert(Direction::There, packet, segment);
            flows.push(id, &mut packets);
        }
        let lines = flows.lines_in_use();
        assert!((600..677).contains(&lines), "seed {seed}: {lines}");
    }
}

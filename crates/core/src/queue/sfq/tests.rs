use super::super::tests::{Ledger, context, packet};
use super::*;
use crate::packet::Direction;

struct Rig {
    queue: Box<dyn Queue + Send>,
    packets: Packets,
    log: Ledger,
}

impl Rig {
    /// Flows 1, 2 and 3 have queues of their own unless few queues are asked for (the hash is that of this seed).
    fn new(given: &[(&'static str, Value)]) -> Self {
        let mut params = Params::defaults(KIND.params);
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(10_000_000, 1000, 1500);
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        Rig { queue: (KIND.build)(&params, context), packets: Packets::new(), log: Ledger::default() }
    }
    fn arrive(&mut self, at: Time, flow: u32, numbers: std::ops::Range<u32>, size: u16) {
        for n in numbers {
            let (mut packet, segment) = packet(100 * flow + n, size - 40, 0);
            packet.route = flow;
            let id = self.packets.insert(Direction::There, packet, segment);
            self.queue.enqueue(at, id, &mut self.packets, &mut self.log);
        }
    }
    fn depart(&mut self, at: Time, count: usize) -> Vec<u32> {
        let take = |_| {
            let id = self.queue.dequeue(at, &mut self.packets, &mut self.log)?;
            let seq = self.packets.segment(id).seq;
            self.packets.remove(id);
            Some(seq)
        };
        (0..count).map_while(take).collect()
    }
    fn dropped(&self) -> Vec<u32> {
        self.log.dropped.iter().map(|drop| drop.0).collect()
    }
}

/// A flow queue sends until its quantum is used up, and the excess is missing in its next turn.
#[test]
fn lines_take_turns_by_bytes() {
    let mut rig = Rig::new(&[("quantum", Value::Bytes(1000))]);
    rig.arrive(Time::ZERO, 1, 0..4, 600);
    rig.arrive(Time::ZERO, 2, 0..4, 1500);
    // 600 + 600 of the first; 1500 of the second. Then 1000 - 200 = 800 for the first: two again. The second has 500.
    assert_eq!(rig.depart(Time::ZERO, 8), [100, 101, 200, 102, 103, 201, 202, 203]);
}

/// McKenney's rule: the flow with the most packets makes room, whoever came.
#[test]
fn the_longest_line_gives_way_at_its_tail_or_head() {
    let packets = Value::Capacity(Capacity::Packets(6));
    for (headdrop, lost) in [(false, [103, 203]), (true, [100, 200])] {
        let mut rig = Rig::new(&[("limit", packets), ("headdrop", Value::Bool(headdrop))]);
        rig.arrive(Time::ZERO, 1, 0..4, 100);
        rig.arrive(Time::ZERO, 2, 0..4, 1500);
        // With the third of the second flow there are 7, 4 of them of the first; with its fourth 3 and 4.
        assert_eq!(rig.dropped(), lost, "packets count, not bytes");
        assert_eq!((rig.queue.held(Measure::Packets), rig.queue.held(Measure::Bytes)), (6, 3 * 100 + 3 * 1500));
    }
}

#[test]
fn a_line_has_a_depth() {
    let mut rig = Rig::new(&[("depth", Value::Count(2))]);
    rig.arrive(Time::ZERO, 1, 0..4, 1500);
    rig.arrive(Time::ZERO, 2, 0..2, 1500);
    assert_eq!(rig.dropped(), [102, 103]);
    let mut rig = Rig::new(&[("depth", Value::Count(2)), ("headdrop", Value::Bool(true))]);
    rig.arrive(Time::ZERO, 1, 0..4, 1500);
    assert_eq!(rig.dropped(), [100, 101]);
}

/// Some pairs of flows share one of two queues; after a while other pairs do. Each flow keeps its order all the while.
#[test]
fn flows_that_share_a_line_part_after_a_while() {
    let divisor = ("divisor", Value::Count(2));
    let second = |n: u64| Time::ZERO + Duration::from_secs(n);
    let shares = |rig: &mut Rig, at: Time| {
        rig.arrive(at, 1, 0..2, 1500);
        rig.arrive(at, 2, 0..2, 1500);
        let order = rig.depart(at, 4);
        assert!(order.iter().filter(|n| **n < 200).is_sorted() && order.iter().filter(|n| **n >= 200).is_sorted());
        // Apart they take turns.
        order == [100, 101, 200, 201]
    };
    let mut fixed = Rig::new(&[divisor]);
    let first = shares(&mut fixed, second(0));
    assert!((1..20).all(|n| shares(&mut fixed, second(10 * n)) == first));
    let mut perturbed = Rig::new(&[divisor, ("perturb", Value::Duration(Duration::from_secs(10)))]);
    let of: Vec<bool> = (0..40).map(|n| shares(&mut perturbed, second(10 * n))).collect();
    let shared = of.iter().filter(|shares| **shares).count();
    assert!((8..32).contains(&shared), "half of the time, by chance: {shared} of 40");
}

/// Waiting packets move with their flow, and none is lost or out of order.
#[test]
fn what_waits_is_hashed_anew() {
    let mut rig = Rig::new(&[("divisor", Value::Count(4)), ("perturb", Value::Duration(Duration::from_secs(1)))]);
    for flow in 1..8 {
        rig.arrive(Time::ZERO, flow, 0..9, 1000);
    }
    let mut out = Vec::new();
    for n in 0..63 {
        out.extend(rig.depart(Time::ZERO + Duration::from_millis(500 * n), 1));
    }
    assert_eq!(out.len(), 63);
    for flow in 1..8_u32 {
        let of: Vec<u32> = out.iter().copied().filter(|n| n / 100 == flow).collect();
        assert_eq!(of, (0..9).map(|n| 100 * flow + n).collect::<Vec<_>>());
    }
}

#[test]
fn a_divisor_is_a_power_of_two() {
    let mut params = Params::defaults(KIND.params);
    params.set("divisor", Value::Count(1000));
    let told = (KIND.check)(&params, &context(10_000_000, 1000, 1500));
    assert_eq!(told, Err("divisor is 1000, not a power of two".to_owned()));
}

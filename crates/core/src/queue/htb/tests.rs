use super::super::tests::{Ledger, context, packet};
use super::super::{build, check, choice, named};
use crate::packet::{Direction, Dscp, Dscps, Packets};
use crate::params::{Kept, Kind, ParamSpec, Params, Value};
use crate::queue::{Queue, QueueContext};
use crate::time::{Duration, Time};
use crate::units::{Capacity, Rate};

/// A link of 120 Mb/s takes 100 us for a packet of 1500 bytes.
const LINK: u64 = 120_000_000;
const SIZE: u16 = 1500;

fn specs() -> &'static [ParamSpec] {
    match named("htb").params.iter().find(|spec| spec.name == "class").map(|spec| spec.kind) {
        Some(Kind::Tables(keys)) => keys.0,
        _ => panic!("it has classes"),
    }
}

/// Returns a class for this codepoint, or for all others, with rate and ceil in Mb/s.
fn class(dscp: Option<u8>, rate: u64, ceil: u64, more: &[(&'static str, Value)]) -> Params {
    let mut class = Params::defaults(specs());
    let mbps = |rate: u64| Value::Rate(Rate::from_bps(rate * 1_000_000));
    class.set("dscp", dscp.map_or(Value::Auto, |number| Value::Dscps(Dscps::from(Dscp::new(number).unwrap()))));
    [("rate", mbps(rate)), ("ceil", mbps(ceil))].iter().chain(more).for_each(|&(name, value)| class.set(name, value));
    class
}

fn tables(classes: Vec<Params>) -> (&'static str, Value) {
    ("class", Value::Tables(Kept::from(classes)))
}

struct Rig {
    queue: Box<dyn Queue + Send>,
    context: QueueContext,
    packets: Packets,
    log: Ledger,
    free: Time,
}

impl Rig {
    /// Returns classes in 12 Mb/s, each of which holds any number of packets.
    fn new(classes: Vec<Params>) -> Self {
        let context = context(LINK, 1000, SIZE.into());
        let rate = ("rate", Value::Rate(Rate::from_bps(12_000_000)));
        let choice = choice("htb").with(&[rate, tables(classes)]);
        assert_eq!(check(&choice, &context), Ok(()));
        Rig { queue: build(&choice, context.clone()), context, packets: Packets::new(), log: Ledger::default(), free: Time::ZERO }
    }

    fn arrive(&mut self, dscp: u8) {
        let (mut packet, segment) = packet(0, SIZE - 40, 0);
        packet.dscp = Dscp::new(dscp).unwrap();
        let id = self.packets.insert(Direction::There, packet, segment);
        self.queue.enqueue(self.free, id, &mut self.packets, &mut self.log);
    }

    /// Dequeues the next packet: its codepoint, and when it left.
    fn depart(&mut self) -> (u8, Time) {
        let at = self.queue.opens(self.free);
        let id = self.queue.dequeue(at, &mut self.packets, &mut self.log).expect("something is held");
        let packet = self.packets[id];
        self.packets.remove(id);
        self.free = at + self.context.rate.transmit_time(packet.ip_len().into());
        (packet.dscp.number(), at)
    }

    /// Returns the packets of each of the codepoints 0 to 3 that leave within so many seconds, while those that are `busy` always have
    /// some.
    fn shares(&mut self, busy: &[u8], seconds: u64) -> [u64; 4] {
        let mut count = [0; 4];
        busy.iter().for_each(|&dscp| (0..20).for_each(|_| self.arrive(dscp)));
        let end = self.free + Duration::from_secs(seconds);
        loop {
            let (dscp, at) = self.depart();
            if at >= end {
                return count;
            }
            count[usize::from(dscp)] += 1;
            self.arrive(dscp);
        }
    }
}

/// Asserts the packets of each class in `seconds`: 12 Mb/s are 1000 packets per second, but for the bursts and turns of `within` packets.
fn assert_shares(count: [u64; 4], per_second: [f64; 4], seconds: u64, within: f64) {
    for (count, rate) in count.into_iter().zip(per_second) {
        assert!((count as f64 - rate * seconds as f64).abs() <= within, "{count} packets, not {}", rate * seconds as f64);
    }
}

/// Excess is shared in proportion to the rates: 4 and 2 of 12 Mb/s are given, and the other 6 are divided 2 to 1.
#[test]
fn all_that_want_more_share_the_excess() {
    let mut rig = Rig::new(vec![class(Some(1), 4, 12, &[]), class(None, 2, 12, &[])]);
    let count = rig.shares(&[0, 1], 100);
    assert_shares(count, [1000.0 / 3.0, 2000.0 / 3.0, 0.0, 0.0], 100, 8.0);
}

/// Quanta set the division of the excess: 1 to 3 of 6 Mb/s.
#[test]
fn excess_goes_by_quanta() {
    let quantum = |bytes| [("quantum", Value::Bytes(bytes))];
    let mut rig = Rig::new(vec![class(Some(1), 3, 12, &quantum(4500)), class(None, 3, 12, &quantum(1500))]);
    let count = rig.shares(&[0, 1], 100);
    assert_shares(count, [250.0 + 125.0, 250.0 + 375.0, 0.0, 0.0], 100, 8.0);
}

/// Bandwidth that one class leaves goes to the others, up to their ceils.
#[test]
fn a_ceil_bounds_what_is_borrowed() {
    let mut rig = Rig::new(vec![class(Some(1), 4, 6, &[]), class(Some(2), 2, 2, &[]), class(None, 2, 12, &[])]);
    assert_shares(rig.shares(&[1], 50), [0.0, 500.0, 0.0, 0.0], 50, 4.0);
    let mut rig = Rig::new(vec![class(Some(1), 4, 6, &[]), class(Some(2), 2, 2, &[]), class(None, 2, 12, &[])]);
    // 2 and 6 at their ceils; the rest has the other 4.
    assert_shares(rig.shares(&[0, 1, 2], 100), [4000.0 / 12.0, 500.0, 1000.0 / 6.0, 0.0], 100, 8.0);
}

/// The priority decides which class borrows, not which class has its own rate.
#[test]
fn who_comes_first_borrows_all() {
    let prio = |n| [("prio", Value::Count(n))];
    let mut rig = Rig::new(vec![class(Some(1), 3, 12, &prio(1)), class(None, 3, 12, &prio(0))]);
    assert_shares(rig.shares(&[0, 1], 100), [750.0, 250.0, 0.0, 0.0], 100, 8.0);
}

/// Two classes together have 8, and a third has 4. While only one of the two has packets it has their 8; excess beyond comes last.
#[test]
fn classes_borrow_from_near_before_far() {
    let two = || vec![class(Some(1), 2, 12, &[]), class(None, 6, 12, &[])];
    let tree = || vec![class(Some(3), 4, 12, &[]), class(None, 8, 12, &[tables(two())])];
    assert_shares(Rig::new(tree()).shares(&[0, 1, 3], 100), [500.0, 1000.0 / 6.0, 0.0, 1000.0 / 3.0], 100, 8.0);
    assert_shares(Rig::new(tree()).shares(&[1, 3], 100), [0.0, 2000.0 / 3.0, 0.0, 1000.0 / 3.0], 100, 8.0);
    assert_shares(Rig::new(tree()).shares(&[1], 100), [0.0, 1000.0, 0.0, 0.0], 100, 8.0);
}

/// Four packets of the burst go at the rate of the link after a silence, and then one per millisecond: 12 Mb/s.
#[test]
fn a_burst_goes_at_once_and_then_the_rate() {
    let mut rig = Rig::new(vec![class(None, 12, 12, &[])]);
    (0..8).for_each(|_| rig.arrive(0));
    let times: Vec<u64> = (0..8).map(|_| rig.depart().1.as_ps() / 1_000_000).collect();
    // In the 400 us of four packets the tokens of 0.4 of one come.
    assert_eq!(times, [0, 100, 200, 300, 1000, 2000, 3000, 4000]);
    let mut rig = Rig::new(vec![class(None, 12, 12, &[("cburst", Value::Capacity(Capacity::Packets(1)))])]);
    (0..3).for_each(|_| rig.arrive(0));
    let times: Vec<u64> = (0..3).map(|_| rig.depart().1.as_ps() / 1_000_000).collect();
    assert_eq!(times, [0, 1000, 2000], "a ceil has a burst of its own");
}

/// An inner queue that holds packets back lets other classes go, and is asked again in time.
#[test]
fn a_queue_inside_may_shape() {
    let rate = ("rate", Value::Rate(Rate::from_bps(1_200_000)));
    let slow = choice("tbf").with(&[rate, ("burst", Value::Capacity(Capacity::Packets(1)))]);
    let inside = [("queue", Value::Queue(Kept::from(slow)))];
    let mut rig = Rig::new(vec![class(Some(1), 6, 12, &inside), class(None, 6, 12, &[])]);
    assert_shares(rig.shares(&[0, 1], 20), [900.0, 100.0, 0.0, 0.0], 20, 5.0);
    let mut rig = Rig::new(vec![class(Some(1), 6, 12, &inside), class(None, 6, 12, &[])]);
    assert_shares(rig.shares(&[1], 20), [0.0, 100.0, 0.0, 0.0], 20, 1.0);
}

use std::collections::BTreeSet;

use longfat_core::link::loss;
use longfat_core::packet::{Ecn, Packet, PacketId, Packets, Segment, Way};
use longfat_core::params::{Choice, Value};
use longfat_core::queue::{self, DropReason, Queue, QueueContext, QueueLog};
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::units::{Capacity, Rate};
use proptest::prelude::*;

use crate::dumbbell::droptail;
use crate::ledger::Ledger;
use crate::link::Link;

const MS: u64 = 1_000_000_000;

/// 10 Mb/s and 5 ms, 20 bytes of overhead: a packet of 1230 bytes takes 1 ms.
fn spec(queue: Choice) -> longfat_experiment::Link {
    longfat_experiment::Link {
        name: "link".into(),
        from: 0,
        to: 1,
        rate: Rate::from_bps(10_000_000),
        delay: Duration::from_millis(5),
        cells: false,
        overhead: 20,
        min_frame: 64,
        mtu: 1500,
        queue,
        discard: None,
        loss: loss::choice("none"),
        bottleneck: true,
    }
}

fn build_queue(spec: &longfat_experiment::Link) -> Box<dyn Queue + Send> {
    let context =
        QueueContext { rate: spec.rate, rtt: Duration::from_millis(10), mtu: spec.mtu, rng: Rng::named(1, "the queue of a test") };
    (queue::find(spec.queue.kind).unwrap().build)(&spec.queue.params, context)
}

/// Packet number `seq`, of `len` bytes.
fn packet(seq: usize, len: u32) -> (Packet, Segment) {
    let segment = Segment::new(seq as u32, 0, (len - 40) as u16);
    (Packet::new(Time::ZERO, 0, Ecn::NotEct, &segment), segment)
}

/// A link with someone at either end.
struct Rig {
    link: Link,
    packets: Packets,
    ledger: Ledger,
    /// When which packet arrived at the far end.
    arrived: Vec<(u64, u32)>,
}

impl Rig {
    fn new(spec: &longfat_experiment::Link) -> Self {
        let loss = loss::find(spec.loss.kind).unwrap();
        let loss = (loss.build)(&spec.loss.params, Rng::named(1, "the loss of a test"));
        // One route, of endpoint 0: this link, and its end.
        let link = Link::new(0, spec, false, 0, build_queue(spec), loss);
        Rig { link, packets: Packets::new(), ledger: Ledger::new(vec![0, 0], &[0, 0], true), arrived: Vec::new() }
    }
    /// Handles the link's events before `until`.
    fn run_before(&mut self, until: Time) {
        while self.link.next_event() < until {
            let now = self.link.next_event();
            if let Some(id) = self.link.arrival(now, &mut self.packets, &mut self.ledger) {
                self.ledger.left();
                self.arrived.push((now.as_ps(), self.packets.segment(id).seq));
                self.packets.remove(id);
            }
        }
    }
    fn offer(&mut self, now: Time, seq: usize, len: u32) {
        let (packet, segment) = packet(seq, len);
        self.ledger.entered(0, &segment);
        let id = self.packets.insert(Way::There, packet, segment);
        self.link.offer(now, id, &mut self.packets, &mut self.ledger);
    }
    /// Offers packets of (time in ps, length), numbered in order, and runs until all is quiet.
    fn offer_all(&mut self, packets: &[(u64, u32)]) {
        for (seq, &(at, len)) in packets.iter().enumerate() {
            let now = Time::from_ps(at);
            self.run_before(now);
            self.offer(now, seq, len);
        }
        self.run_before(Time::MAX);
        assert!(self.packets.is_empty(), "every packet arrived or was dropped");
    }
    fn dropped(&mut self) -> Vec<(u64, u32)> {
        let events = self.ledger.take_events();
        // The first byte follows the SYN, so that packet `n` is at offset `n - 1`; the first is at 0 too.
        events.iter().map(|event| (event.time.as_ps(), event.seq as u32 + 1)).collect()
    }
}

#[test]
fn one_packet_arrives_to_the_picosecond() {
    let mut rig = Rig::new(&spec(droptail(Capacity::Packets(10))));
    rig.offer_all(&[(7, 1230), (100 * MS + 1, 577), (200 * MS, 40)]);
    // (577 + 20) bytes take 477.6 us; 40 + 20 bytes are padded to 64 and take 51.2 us.
    assert_eq!(rig.arrived, [(6 * MS + 7, 0), (105 * MS + 477_600_001, 1), (205 * MS + 51_200_000, 2)]);
    assert_eq!(rig.link.count.ip_bytes, 1230 + 577 + 40);
    assert_eq!(rig.link.count.wire_bytes, 1250 + 597 + 64);
    assert_eq!(rig.link.count.backlog_max, 0, "none of them waited");
}

#[test]
fn packets_back_to_back_leave_one_after_the_other() {
    let mut rig = Rig::new(&spec(droptail(Capacity::Packets(10))));
    rig.offer_all(&[(0, 1230), (0, 1230), (MS / 2, 1230), (10 * MS, 1230)]);
    assert_eq!(rig.arrived, [(6 * MS, 0), (7 * MS, 1), (8 * MS, 2), (16 * MS, 3)]);
    assert_eq!((rig.link.count.backlog_max, rig.link.count.backlog_bytes_max), (2, 2460));
    // Packet 1 waited 1 ms and packet 2 waited 1.5 ms.
    let waited = u128::from(MS / 2);
    assert_eq!(rig.link.count.waited(Time::from_ps(20 * MS)), (5 * waited, 5 * waited * 1230));
    // Busy: 3 ms by 3 ms, and half of the last one by 10.5 ms.
    assert_eq!(rig.link.busy(Time::from_ps(20 * MS)), Duration::from_millis(4));
}

#[test]
fn integrals_count_what_still_waits_and_busy_time_what_is_still_sent() {
    let mut rig = Rig::new(&spec(droptail(Capacity::Packets(10))));
    for seq in 0..3 {
        rig.offer(Time::ZERO, seq, 1230);
    }
    let now = Time::from_ps(3 * MS / 2);
    rig.link.advance(now, &mut rig.packets, &mut rig.ledger);
    // Two wait for 1 ms, then one for half a ms more; the second is half sent.
    assert_eq!(rig.link.count.waited(now).0, u128::from(5 * MS / 2));
    assert_eq!(rig.link.busy(now), Duration::from_micros(1500));
}

#[test]
fn the_packet_that_does_not_fit_is_the_one_dropped() {
    let mut rig = Rig::new(&spec(droptail(Capacity::Packets(3))));
    rig.offer_all(&[(0, 1230); 6]);
    // One in transmission, three waiting.
    assert_eq!(rig.arrived.iter().map(|a| a.1).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(rig.dropped(), [(0, 4), (0, 5)]);
    assert_eq!(rig.link.count.drops[DropReason::Overflow as usize], 2);
}

#[test]
fn a_departure_comes_before_an_arrival_at_the_same_time() {
    let arrivals = |third: u64| {
        let mut rig = Rig::new(&spec(droptail(Capacity::Packets(1))));
        rig.offer_all(&[(0, 1230), (0, 1230), (third, 1230)]);
        rig.arrived.len()
    };
    assert_eq!(arrivals(MS - 1), 2, "a picosecond before the first has left, the second still fills the queue");
    assert_eq!(arrivals(MS), 3, "at that picosecond it does not");
}

#[test]
fn a_packet_larger_than_the_mtu_goes_no_further() {
    let mut rig = Rig::new(&spec(droptail(Capacity::Packets(3))));
    rig.offer_all(&[(0, 1500), (0, 1501), (0, 1500)]);
    assert_eq!(rig.arrived.len(), 2);
    assert_eq!(rig.link.count.drops[DropReason::TooBig as usize], 1);
    assert_eq!((rig.link.count.backlog, rig.link.count.backlog_bytes), (0, 0));
}

#[test]
fn a_line_loses_and_damages_as_often_as_it_is_told() {
    let changes = [("probability", Value::Number(0.2)), ("corruption", Value::Number(0.5))];
    let mut spec = spec(droptail(Capacity::Packets(3)));
    spec.loss = loss::choice("bernoulli").with(&changes);
    let mut rig = Rig::new(&spec);
    let packets: Vec<_> = (0..10_000).map(|i| (i * 2 * MS, 1230)).collect();
    rig.offer_all(&packets);
    // Five standard deviations of a binomial: 5 sqrt(10,000 x 0.2 x 0.8) = 200.
    let lost = rig.link.count.lost;
    assert!((1800..=2200).contains(&lost), "{lost}");
    assert_eq!(rig.arrived.len() as u64 + lost, 10_000);
}

/// What the link under test must do, done the plain way: one event for each arrival and each end of a transmission,
/// in order of time, ends of transmissions first.
struct Reference {
    queue: Box<dyn Queue + Send>,
    sending: Option<PacketId>,
    log: Drops,
    arrived: Vec<(u64, u32)>,
    /// Integral of the packets queued over time.
    waited: u128,
}

#[derive(Default)]
struct Drops(Vec<(u64, u32)>);
impl QueueLog for Drops {
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, _reason: DropReason) {
        self.0.push((now.as_ps(), packets.segment(id).seq));
    }
    fn marked(&mut self, _now: Time, _id: PacketId, _packets: &Packets) {}
}

impl Reference {
    fn run(spec: &longfat_experiment::Link, packets: &[(u64, u32)]) -> Self {
        let mut kept = Packets::new();
        let mut this = Reference { queue: build_queue(spec), sending: None, log: Drops::default(), arrived: Vec::new(), waited: 0 };
        // (time, 0 for the end of a transmission or 1 for an arrival, number of the packet)
        let mut events: BTreeSet<(u64, u8, usize)> = packets.iter().enumerate().map(|(i, p)| (p.0, 1, i)).collect();
        let mut last = 0;
        while let Some((time, kind, number)) = events.pop_first() {
            this.waited += u128::from(this.queue.backlog_packets()) * u128::from(time - last);
            last = time;
            let now = Time::from_ps(time);
            if kind == 0 {
                let sent = this.sending.take().unwrap();
                this.arrived.push((time + spec.delay.as_ps(), kept.segment(sent).seq));
                kept.remove(sent);
            } else {
                let (packet, segment) = packet(number, packets[number].1);
                let id = kept.insert(Way::There, packet, segment);
                this.queue.enqueue(now, id, &mut kept, &mut this.log);
            }
            if this.sending.is_none() {
                this.sending = this.queue.dequeue(now, &mut kept, &mut this.log);
                if let Some(next) = this.sending {
                    let frame = (kept[next].ip_len() + spec.overhead).max(spec.min_frame);
                    events.insert((time + spec.rate.transmit_time(u64::from(frame)).as_ps(), 0, 0));
                }
            }
        }
        this
    }
}

proptest! {
    /// Lazy departures are the same as eager ones, for the queues that look at the time, too.
    #[test]
    fn lazy_is_eager(
        kind in prop::sample::select(vec!["droptail", "red"]),
        gaps in prop::collection::vec((prop::sample::select(vec![0, 1, MS / 2, MS - 1, MS, MS + 1, 3 * MS]), prop::sample::select(vec![40_u32, 400, 1230, 1500])), 1..200),
    ) {
        let queue = if kind == "droptail" { droptail(Capacity::Packets(4)) } else { queue::choice("red") };
        let spec = spec(queue);
        let mut at = 0;
        let packets: Vec<(u64, u32)> = gaps.iter().map(|&(gap, len)| { at += gap; (at, len) }).collect();
        let reference = Reference::run(&spec, &packets);
        let mut rig = Rig::new(&spec);
        rig.offer_all(&packets);
        prop_assert_eq!(&rig.arrived, &reference.arrived);
        prop_assert_eq!(rig.link.count.queue_drops(), reference.log.0.len() as u64);
        let end = Time::from_ps(at + 1_000_000 * MS);
        prop_assert_eq!(rig.link.count.waited(end).0, reference.waited);
        let dropped = rig.dropped();
        let expected: Vec<_> = reference.log.0.iter().map(|&(time, seq)| (time, seq.max(1))).collect();
        prop_assert_eq!(dropped, expected);
    }
}

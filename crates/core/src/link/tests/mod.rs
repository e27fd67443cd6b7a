mod unsteady;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Count, Link, LinkConfig, PauseAt, Shaper, loss};
use crate::packet::{Direction, Dscp, Dscps, Ecn, Line, Packet, PacketId, Packets, Segment};
use crate::params::{Choice, Kind, Params, Value};
use crate::queue::{self, DropReason, Measure, Queue, QueueContext, QueueLog};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::{Capacity, Rate};

const MS: u64 = 1_000_000_000;

/// 10 Mb/s and 5 ms, 20 bytes of overhead: a packet of 1230 bytes takes 1 ms.
const CONFIG: LinkConfig = LinkConfig {
    rate: Rate::from_bps(10_000_000),
    delay: Duration::from_millis(5),
    overhead: 20,
    min_frame: 64,
    cells: false,
    to_switch: false,
    mtu: 1500,
    port: 7,
    departs_last: false,
};

fn droptail(packets: u64) -> Choice {
    queue::choice("droptail").with(&[("limit", Value::Capacity(Capacity::Packets(packets)))])
}

fn build_queue(choice: &Choice) -> Box<dyn Queue + Send> {
    let rng = Rng::named(1, "the queue of a test");
    let context = QueueContext { rate: CONFIG.rate, rtt: Duration::from_millis(10), mtu: CONFIG.mtu, rng };
    (queue::find(choice.kind).unwrap().build)(&choice.params, context)
}

/// Returns packet number `seq`, of `len` bytes; every third is EF.
fn packet(seq: usize, len: u32) -> (Packet, Segment) {
    let segment = Segment::new(seq as u32, 0, (len - 40) as u16);
    let mut packet = Packet::new(Time::ZERO, 0, Ecn::NotEct, &segment);
    packet.dscp = if seq.is_multiple_of(3) { Dscp::parse("EF").unwrap() } else { Dscp::DEFAULT };
    (packet, segment)
}

#[derive(Default)]
struct Drops(Vec<(u64, u32)>);
impl QueueLog for Drops {
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, _reason: DropReason) {
        self.0.push((now.as_ps(), packets.segment(id).seq));
    }
    fn marked(&mut self, _now: Time, _id: PacketId, _packets: &Packets) {}
}

/// A link with a driver at either end.
struct Rig {
    link: Link,
    packets: Packets,
    dropped: Drops,
    /// Arrivals at the far end: time and packet.
    arrived: Vec<(u64, u32)>,
}

/// Time long after everything.
const END: Time = Time::from_ps(1_000_000_000 * MS);

impl Rig {
    fn new(queue: &Choice) -> Self {
        Self::with(CONFIG, queue, &loss::choice("none"))
    }
    fn with(config: LinkConfig, queue: &Choice, loss: &Choice) -> Self {
        let loss = (loss::named(loss.kind).build)(&loss.params, Rng::named(1, "the loss of a test"));
        Rig { link: Link::new(config, build_queue(queue), loss), packets: Packets::new(), dropped: Drops::default(), arrived: Vec::new() }
    }
    /// Takes the packets that have been sent.
    fn collect(&mut self) {
        while let Some(id) = self.link.take_sent(&self.packets) {
            let packet = &self.packets[id];
            assert_eq!((packet.ingress, packet.route), (7, 1), "the port it comes in by, and the hop after this link");
            self.arrived.push((packet.stamp.as_ps(), self.packets.segment(id).seq));
            self.link.count.delivered += 1;
            self.packets.remove(id);
        }
    }
    fn offer(&mut self, now: Time, seq: usize, len: u32) {
        let (packet, segment) = packet(seq, len);
        let id = self.packets.insert(Direction::There, packet, segment);
        self.link.offer(now, id, &mut self.packets, &mut self.dropped);
    }
    /// Takes what has come in `line` by `now`, in ps.
    fn take(&mut self, line: &mut Line, now: u64) {
        self.link.take_line(line, Time::from_ps(now), &mut self.packets, &mut self.dropped);
    }
    fn advance(&mut self, now: Time) {
        self.link.advance(now, &mut self.packets, &mut self.dropped);
    }
    /// Offers packets of (time in ps, length), numbered in order, and waits until all is quiet.
    fn offer_all(&mut self, packets: &[(u64, u32)]) {
        for (seq, &(at, len)) in packets.iter().enumerate() {
            self.offer(Time::from_ps(at), seq, len);
        }
        self.advance(END);
        self.link.settle(END, &mut self.packets, &mut self.dropped);
        self.collect();
        assert!(self.packets.is_empty(), "every packet arrived or was dropped");
        assert_eq!((self.link.in_flight(), self.link.keeps(), self.link.due()), (0, 0, Time::MAX));
        assert_eq!((self.link.count.backlog, self.link.count.backlog_bytes), self.link.queue_holds());
    }
}

#[test]
fn one_packet_arrives_to_the_picosecond() {
    let mut rig = Rig::new(&droptail(10));
    rig.offer_all(&[(7, 1230), (100 * MS + 1, 577), (200 * MS, 40)]);
    // (577 + 20) bytes take 477.6 us; 40 + 20 bytes are padded to 64 and take 51.2 us.
    assert_eq!(rig.arrived, [(6 * MS + 7, 0), (105 * MS + 477_600_001, 1), (205 * MS + 51_200_000, 2)]);
    assert_eq!(rig.link.carried().ip_bytes, 1230 + 577 + 40);
    assert_eq!(rig.link.carried().wire_bytes, 1250 + 597 + 64);
    assert_eq!(rig.link.count.backlog_max, 0, "none of them waited");
}

#[test]
fn packets_back_to_back_leave_one_after_the_other() {
    let mut rig = Rig::new(&droptail(10));
    rig.offer_all(&[(0, 1230), (0, 1230), (MS / 2, 1230), (10 * MS, 1230)]);
    assert_eq!(rig.arrived, [(6 * MS, 0), (7 * MS, 1), (8 * MS, 2), (16 * MS, 3)]);
    assert_eq!((rig.link.count.backlog_max, rig.link.count.backlog_bytes_max), (2, 2460));
    // Packet 1 waited 1 ms and packet 2 waited 1.5 ms.
    let waited = u128::from(MS / 2);
    assert_eq!(rig.link.waited(Time::from_ps(20 * MS)), (5 * waited, 5 * waited * 1230));
    // Busy: 3 ms by 3 ms, and half of the last one by 10.5 ms.
    assert_eq!(rig.link.busy(Time::from_ps(20 * MS)), Duration::from_millis(4));
}

/// Sends packets through a shaper at 1 Mb/s: a frame of 1230 bytes takes 1 ms on the link, and its IP packet takes 9.84 ms of the shaper.
fn shaped(burst: u64, packets: &[(u64, u32)]) -> (Vec<u64>, u64) {
    let mut rig = Rig::new(&droptail(100));
    rig.link.shape(Shaper { rate: Rate::from_bps(1_000_000), burst });
    rig.offer_all(packets);
    (rig.arrived.iter().map(|(at, _)| at / 1_000_000).collect(), rig.link.count.held_ps)
}

#[test]
fn a_shaper_spaces_packets_and_lets_go_at_once_what_was_not_used() {
    // Times in us. Each begins 9840 after the one before; the last comes when that time is long over.
    let (arrived, held) = shaped(0, &[(0, 1230), (0, 1230), (0, 1230), (100 * MS, 1230)]);
    assert_eq!(arrived, [6000, 15_840, 25_680, 106_000]);
    // The second was held from 1 ms to 9.84 and the third from 10.84 to 19.68.
    assert_eq!(held, (8_840 + 8_840) * 1_000_000);
    // Two packets of credit: three at the rate of the line, and then each when its time has come.
    let (arrived, _) = shaped(2460, &[(0, 1230); 5]);
    assert_eq!(arrived, [6000, 7000, 8000, 9840 + 6000, 2 * 9840 + 6000]);
}

#[test]
fn a_paused_transmitter_ends_its_packet_and_waits() {
    let run = |pauses: &[(u64, u64)]| {
        let mut rig = Rig::new(&droptail(10));
        let sender = rig.link.heed_pauses();
        for (at, time) in pauses {
            rig.link.pause(sender, Time::from_ps(at * MS / 10), Duration::from_ps(time * MS / 10));
        }
        rig.offer_all(&[(0, 1230), (0, 1230), (10 * MS, 1230)]);
        rig.arrived.iter().map(|(at, _)| at * 10 / MS).collect::<Vec<_>>()
    };
    // Times in tenths of ms: packets of 10, arriving 50 later.
    assert_eq!(run(&[]), [60, 70, 160]);
    assert_eq!(run(&[(5, 20)]), [60, 85, 160], "the first is sent whole");
    assert_eq!(run(&[(10, 20)]), [60, 90, 160], "at the very instant a PAUSE is first");
    assert_eq!(run(&[(11, 20)]), [60, 70, 160], "the second has begun");
    assert_eq!(run(&[(5, 1000), (22, 0)]), [60, 82, 160], "zero lets it go on at once");
    assert_eq!(run(&[(5, 20), (20, 20)]), [60, 100, 160], "anew from 2 ms on");
    assert_eq!(run(&[(5, 20), (25, 20)]), [60, 105, 160], "what comes at the end of a pause is in time to make it longer");
    assert_eq!(run(&[(5, 300)]), [60, 365, 375], "what comes meanwhile waits in turn");
    assert_eq!(run(&[(30, 100)]), [60, 70, 190], "it came to an idle line, and the packet waits");
}

/// A PAUSE of the very instant in which a packet finds the line free holds it back, even if departures come last.
#[test]
fn a_pause_and_a_packet_at_one_instant() {
    for departs_last in [false, true] {
        let mut rig = Rig::with(LinkConfig { departs_last, ..CONFIG }, &droptail(10), &loss::choice("none"));
        let sender = rig.link.heed_pauses();
        rig.link.pause(sender, Time::from_ps(6 * MS), Duration::from_millis(2));
        rig.offer_all(&[(0, 1230), (6 * MS, 1230), (6 * MS, 1230)]);
        assert_eq!(rig.arrived, [(6 * MS, 0), (14 * MS, 1), (15 * MS, 2)], "{departs_last}");
    }
}

#[test]
fn whoever_may_stop_a_transmitter_does() {
    let mut rig = Rig::new(&droptail(10));
    let senders = [rig.link.heed_pauses(), rig.link.heed_pauses()];
    rig.link.pause(senders[0], Time::ZERO, Duration::from_millis(10));
    rig.link.pause(senders[1], Time::ZERO, Duration::from_millis(5));
    // One sender lets go early; the other does not.
    rig.link.pause(senders[0], Time::from_ps(MS), Duration::ZERO);
    rig.offer_all(&[(0, 1230)]);
    assert_eq!(rig.arrived, [(11 * MS, 0)]);
    assert_eq!(rig.link.count.pauses, 3);
}

#[test]
fn a_watched_queue_says_when_to_stop_and_when_to_go_on() {
    let mut rig = Rig::new(&droptail(10));
    rig.link.watch(PauseAt { on: 3690, off: 1230, refresh: Duration::from_ps(MS / 4) });
    rig.offer_all(&[(0, 1230), (0, 1230), (MS / 2, 1230), (MS / 2, 1230), (5 * MS, 1230)]);
    let told: Vec<_> = std::iter::from_fn(|| rig.link.take_change()).map(|told| (told.at.as_ps() * 4 / MS, told.stop)).collect();
    // In quarters of ms. Three wait since 0.5 ms. They leave at 1, 2 and 3 ms: at 2 ms one is left.
    assert_eq!(told, [(2, true), (3, true), (4, true), (5, true), (6, true), (7, true), (8, false)]);
}

#[test]
fn integrals_count_what_still_waits_and_busy_time_what_is_still_sent() {
    let mut rig = Rig::new(&droptail(10));
    for seq in 0..3 {
        rig.offer(Time::ZERO, seq, 1230);
    }
    let now = Time::from_ps(3 * MS / 2);
    rig.advance(now);
    // Two wait for 1 ms, then one for half a ms more; the second is half sent.
    assert_eq!(rig.link.waited(now).0, u128::from(5 * MS / 2));
    assert_eq!(rig.link.busy(now), Duration::from_micros(1500));
}

#[test]
fn the_packet_that_does_not_fit_is_the_one_dropped() {
    let mut rig = Rig::new(&droptail(3));
    rig.offer_all(&[(0, 1230); 6]);
    // One in transmission, three waiting.
    assert_eq!(rig.arrived.iter().map(|a| a.1).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(rig.dropped.0, [(0, 4), (0, 5)]);
    assert_eq!(rig.link.count.drops[DropReason::Overflow as usize], 2);
}

#[test]
fn a_departure_comes_before_an_arrival_at_the_same_time_or_after_it() {
    let arrivals = |third: u64, departs_last: bool| {
        let mut rig = Rig::with(LinkConfig { departs_last, ..CONFIG }, &droptail(1), &loss::choice("none"));
        rig.offer_all(&[(0, 1230), (0, 1230), (third, 1230)]);
        rig.arrived.len()
    };
    assert_eq!(arrivals(MS - 1, false), 2, "a picosecond before the first has left, the second still fills the queue");
    assert_eq!(arrivals(MS, false), 3, "at that picosecond it does not");
    assert_eq!(arrivals(MS, true), 2, "unless departures come last");
    assert_eq!(arrivals(MS + 1, true), 3);
}

#[test]
fn a_packet_larger_than_the_mtu_goes_no_further() {
    let mut rig = Rig::new(&droptail(3));
    rig.offer_all(&[(0, 1500), (0, 1501), (0, 1500)]);
    assert_eq!(rig.arrived.len(), 2);
    assert_eq!(rig.link.count.drops[DropReason::TooBig as usize], 1);
    assert_eq!((rig.link.count.backlog, rig.link.count.backlog_bytes), (0, 0));
}

#[test]
fn a_line_loses_and_damages_as_often_as_it_is_told() {
    let changes = [("probability", Value::Number(0.2)), ("corruption", Value::Number(0.5))];
    let mut rig = Rig::with(CONFIG, &droptail(3), &loss::choice("bernoulli").with(&changes));
    let packets: Vec<_> = (0..10_000).map(|i| (i * 2 * MS, 1230)).collect();
    rig.offer_all(&packets);
    // Five standard deviations of a binomial: 5 sqrt(10,000 x 0.2 x 0.8) = 200.
    let lost = rig.link.count.lost;
    assert!((1800..=2200).contains(&lost), "{lost}");
    assert_eq!(rig.arrived.len() as u64 + lost, 10_000);
    assert!(rig.dropped.0.iter().all(|(at, seq)| *at == u64::from(*seq) * 2 * MS + 6 * MS), "it is lost when it would have arrived");
}

/// A packet that comes to an idle link is seen at the far end no earlier than the lag of the link.
#[test]
fn the_lag_is_that_of_the_least_packet() {
    let mut rig = Rig::new(&droptail(3));
    // 64 bytes take 51.2 us.
    assert_eq!(rig.link.lag(), Duration::from_ps(5 * MS + 51_200_000));
    rig.offer_all(&[(0, 40)]);
    assert_eq!(rig.arrived[0].0, rig.link.lag().as_ps());
}

/// Plain reference for the link under test: one event for each arrival and each end of a transmission, in order of time, ends of
/// transmissions first.
struct Reference {
    queue: Box<dyn Queue + Send>,
    sending: Option<PacketId>,
    log: Drops,
    arrived: Vec<(u64, u32)>,
    /// Integral of the packets queued over time.
    waited: u128,
}

impl Reference {
    fn run(queue: &Choice, packets: &[(u64, u32)]) -> Self {
        let mut kept = Packets::new();
        let mut this = Reference { queue: build_queue(queue), sending: None, log: Drops::default(), arrived: Vec::new(), waited: 0 };
        // (time, 0 for the end of a transmission, 1 for a queue that opens or 2 for an arrival, number of the packet)
        let mut events: BTreeSet<(u64, u8, usize)> = packets.iter().enumerate().map(|(i, p)| (p.0, 2, i)).collect();
        let mut last = 0;
        while let Some((time, kind, number)) = events.pop_first() {
            this.waited += u128::from(this.queue.held(Measure::Packets)) * u128::from(time - last);
            last = time;
            let now = Time::from_ps(time);
            if kind == 0 {
                let sent = this.sending.take().expect("one is sent at a time");
                this.arrived.push((time + CONFIG.delay.as_ps(), kept.segment(sent).seq));
                kept.remove(sent);
            } else if kind == 2 {
                let (packet, segment) = packet(number, packets[number].1);
                let id = kept.insert(Direction::There, packet, segment);
                this.queue.enqueue(now, id, &mut kept, &mut this.log);
            }
            // Dequeues until one packet is sent, or none is left that may be sent now.
            while this.sending.is_none() && this.queue.held(Measure::Packets) > 0 {
                let opens = this.queue.opens(now);
                if opens > now {
                    events.insert((opens.as_ps(), 1, 0));
                    break;
                }
                this.sending = this.queue.dequeue(now, &mut kept, &mut this.log);
                if let Some(next) = this.sending {
                    let frame = (kept[next].ip_len() + CONFIG.overhead).max(CONFIG.min_frame);
                    events.insert((time + CONFIG.rate.transmit_time(u64::from(frame)).as_ps(), 0, 0));
                }
            }
            if kind == 0 && this.sending.is_none() && this.queue.held(Measure::Packets) == 0 {
                // The link asks its queue all the same.
                assert!(this.queue.dequeue(now, &mut kept, &mut this.log).is_none());
            }
        }
        this
    }
}

/// 1250 bytes are 2 ms of tokens, and 1.016 ms on the line. The bucket has 1500 bytes: the second packet waits for 1000 more, 1.6 ms, and the third for
/// its own, 2 ms more. Later the bucket is full again.
#[test]
fn a_queue_that_shapes_holds_packets_back() {
    let rate = Value::Rate(Rate::from_bps(5_000_000));
    let burst = Value::Capacity(Capacity::Packets(1));
    let mut rig = Rig::new(&queue::choice("tbf").with(&[("rate", rate), ("burst", burst)]));
    rig.offer(Time::ZERO, 0, 1250);
    assert_eq!((rig.link.in_flight(), rig.link.due()), (1, Time::MAX), "the first goes at once");
    rig.offer(Time::ZERO, 1, 1250);
    assert_eq!(rig.link.due(), Time::from_ps(MS / 5 * 8));
    rig.offer(Time::ZERO, 2, 1250);
    rig.advance(END);
    rig.collect();
    assert_eq!(rig.arrived, [(6_016_000_000, 0), (7_616_000_000, 1), (9_616_000_000, 2)]);
    assert_eq!(rig.link.count.held_ps, 584_000_000 + 984_000_000, "the line was free, and a packet waited");
    rig.offer(Time::from_ps(100 * MS), 3, 1250);
    rig.collect();
    assert_eq!(rig.arrived[3], (106_016_000_000, 3));
}

/// A shaper in a shaper, beside a queue that may drop all that it has.
fn tree() -> Choice {
    let keys = queue::named("htb").params.iter().find_map(|spec| if let Kind::Tables(keys) = spec.kind { Some(keys) } else { None });
    let class = |given: &[(&'static str, Value)]| {
        let mut class = Params::defaults(keys.expect("it has classes").0);
        given.iter().for_each(|&(name, value)| class.set(name, value));
        class
    };
    let mbps = |rate: u64| Value::Rate(Rate::from_bps(rate * 1_000_000));
    let inside = |choice: Choice| ("queue", Value::Queue(choice.into()));
    let ef = ("dscp", Value::Dscps(Dscps::parse("EF").unwrap()));
    let classes = vec![
        class(&[("rate", mbps(2)), ("ceil", mbps(6)), ef, inside(queue::choice("tbf").with(&[("rate", mbps(1))]))]),
        class(&[("rate", mbps(4)), ("ceil", mbps(7)), inside(queue::choice("dualpi2"))]),
    ];
    queue::choice("htb").with(&[("rate", mbps(7)), ("class", Value::Tables(classes.into()))])
}

const LAZY: [&str; 10] = ["droptail", "red", "codel", "pie", "fq_codel", "dualpi2", "tbf", "htb", "cake", "cake, shaping"];
const GAPS: [u64; 7] = [0, 1, MS / 2, MS - 1, MS, MS + 1, 3 * MS];
const LENGTHS: [u32; 4] = [40, 400, 1230, 1500];

/// Queues whose targets and intervals are such that few packets make a difference.
fn lazy(kind: &str) -> Choice {
    let ms = |ms| Value::Duration(Duration::from_millis(ms));
    let (rate, limit) = (Value::Rate(Rate::from_bps(7_000_000)), |packets| Value::Capacity(Capacity::Packets(packets)));
    match kind {
        "droptail" => droptail(4),
        "tbf" => queue::choice("tbf").with(&[("rate", rate), ("burst", limit(2))]),
        "htb" => tree(),
        "codel" | "fq_codel" => queue::choice(kind).with(&[("target", ms(1)), ("interval", ms(5))]),
        "pie" => queue::choice("pie").with(&[("target", ms(2)), ("max_burst", Value::Duration(Duration::ZERO)), ("tupdate", ms(1))]),
        "cake" => queue::choice("cake").with(&[("rtt", ms(5)), ("limit", limit(8))]),
        "cake, shaping" => queue::choice("cake").with(&[("rate", rate), ("limit", limit(8))]),
        kind => queue::choice(kind),
    }
}

/// Lazy departures equal eager ones, for the queues that look at the time, too, and for those that hold packets back. Packets are `(gap in
/// ps, length)`.
fn assert_lazy_is_eager(kind: &str, gaps: &[(u64, u32)]) {
    let queue = lazy(kind);
    let mut at = 0;
    let mut arrive = |&(gap, len): &(u64, u32)| {
        at += gap;
        (at, len)
    };
    let packets: Vec<(u64, u32)> = gaps.iter().map(&mut arrive).collect();
    let reference = Reference::run(&queue, &packets);
    let mut rig = Rig::new(&queue);
    rig.offer_all(&packets);
    assert_eq!(rig.arrived, reference.arrived, "{kind}");
    assert_eq!(rig.link.count.queue_drops(), reference.log.0.len() as u64, "{kind}");
    let end = Time::from_ps(at + 1_000_000 * MS);
    assert_eq!(rig.link.waited(end).0, reference.waited, "{kind}");
    assert_eq!(rig.dropped.0, reference.log.0, "{kind}");
}

proptest! {
    #[test]
    fn lazy_is_eager(
        kind in prop::sample::select(LAZY.to_vec()),
        gaps in prop::collection::vec((prop::sample::select(GAPS.to_vec()), prop::sample::select(LENGTHS.to_vec())), 1..200),
    ) {
        assert_lazy_is_eager(kind, &gaps);
    }
}

/// State that a queue keeps for long (BLUE of cake: when it was last empty, to the picosecond) shows seldom.
#[test]
fn lazy_is_eager_for_long() {
    for kind in LAZY {
        let mut rng = Rng::named(1, kind);
        let mut pick = |n: usize| rng.below(n as u64) as usize;
        let gaps: Vec<_> = (0..20_000).map(|_| (GAPS[pick(GAPS.len())], LENGTHS[pick(LENGTHS.len())])).collect();
        assert_lazy_is_eager(kind, &gaps);
    }
}

/// A droptail queue that does not say that it is a FIFO.
struct Opaque(Box<dyn Queue + Send>);

impl Queue for Opaque {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.0.enqueue(now, id, packets, log);
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        self.0.dequeue(now, packets, log)
    }
    fn held(&self, measure: Measure) -> u64 {
        self.0.held(measure)
    }
}

proptest! {
    /// A link knows beforehand when the packets of a FIFO begin: it does with them what it does with those of any queue. It may take them one
    /// by one or in lines.
    #[test]
    fn a_timetable_is_as_good_as_the_queue(
        packets in prop::collection::vec((0_u64..3 * MS, 40_u32..1510), 0..80),
        looks in prop::collection::vec(0_u64..80, 0..5),
        limit in prop_oneof![(1_u64..6).prop_map(Capacity::Packets), (1500_u64..9000).prop_map(Capacity::Bytes)],
        (departs_last, in_lines, unit) in (any::<bool>(), any::<bool>(), prop::sample::select(vec![1, MS / 4])),
    ) {
        let choice = queue::choice("droptail").with(&[("limit", Value::Capacity(limit))]);
        let (config, none) = (LinkConfig { departs_last, ..CONFIG }, loss::choice("none"));
        let mut rigs = [Rig::with(config, &choice, &none), Rig::with(config, &choice, &none)];
        rigs[1].link = Link::new(config, Box::new(Opaque(build_queue(&choice))), None);
        rigs.iter_mut().for_each(|rig| rig.link.record_waits());
        let (mut now, mut line) = (0, Line::new());
        for (seq, (gap, len)) in packets.into_iter().enumerate() {
            now += gap / unit * unit;
            rigs[1].offer(Time::from_ps(now), seq, len);
            if in_lines {
                let (mut packet, segment) = packet(seq, len);
                packet.stamp = Time::from_ps(now);
                let id = rigs[0].packets.insert(Direction::There, packet, segment);
                line.push(id, &mut rigs[0].packets);
            } else {
                rigs[0].offer(Time::from_ps(now), seq, len);
            }
            if looks.contains(&(seq as u64)) {
                rigs[0].take(&mut line, now);
                rigs.iter_mut().for_each(|rig| rig.advance(Time::from_ps(now)));
                let seen = rigs.each_ref().map(|Rig { link, dropped, .. }| {
                    let Count { packets_in, backlog, backlog_bytes, backlog_max, backlog_bytes_max, drops, .. } = link.count;
                    let queue = (packets_in, backlog, backlog_bytes, backlog_max, backlog_bytes_max, drops, link.queue_holds());
                    let line = (link.carried(), link.keeps() - link.ahead().0, link.next_start(), link.busy(Time::from_ps(now)));
                    (queue, line, link.waited(Time::from_ps(now)), link.waits([0.5]), dropped.0.clone())
                });
                prop_assert_eq!(&seen[0], &seen[1]);
            }
        }
        rigs[0].take(&mut line, now);
        prop_assert!(line.is_empty());
        rigs.iter_mut().for_each(|rig| rig.offer_all(&[]));
        prop_assert_eq!(&rigs[0].arrived, &rigs[1].arrived);
        prop_assert_eq!(&rigs[0].dropped.0, &rigs[1].dropped.0);
        prop_assert_eq!(rigs[0].link.waits([0.1, 0.5, 0.9]), rigs[1].link.waits([0.1, 0.5, 0.9]));
    }
}

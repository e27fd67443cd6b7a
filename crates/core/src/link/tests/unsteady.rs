//! Links that change, with results computed by hand.

use super::*;
use crate::link::course::{Course, Outages, Step, Steps};
use crate::link::{Harq, Jitter, Opportunities, Passage, Reorder, Service, Spread, Unsteady};

fn steps(steps: &[(u64, u64)]) -> Course {
    let step = |&(at, value): &(u64, u64)| Step { at: Duration::from_millis(at), value };
    Course::Steps(Steps { steps: steps.iter().map(step).collect(), repeat: None })
}

fn rate(course: Course) -> Unsteady {
    Unsteady { service: Some(Service::Rate(course)), ..Unsteady::default() }
}

fn opportunities(ms: &[u32]) -> Unsteady {
    Unsteady { service: Some(Service::Opportunities(Opportunities(ms.into()))), ..Unsteady::default() }
}

fn passage(passage: Passage) -> Unsteady {
    Unsteady { passage, ..Unsteady::default() }
}

/// Framing adds nothing to a packet, so that a byte on the line is a byte of IP.
const PLAIN: LinkConfig = LinkConfig { overhead: 0, min_frame: 0, ..CONFIG };

fn rig(unsteady: &Unsteady) -> Rig {
    rig_with_loss(unsteady, &loss::choice("none"))
}

fn rig_with_loss(unsteady: &Unsteady, loss: &Choice) -> Rig {
    let mut rig = Rig::with(PLAIN, &droptail(1_000_000), loss);
    rig.link.change(unsteady, |part| Rng::named(1, part));
    rig
}

/// Returns when packets arrive, in us, and which.
fn arrivals(unsteady: &Unsteady, packets: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut rig = rig(unsteady);
    rig.offer_all(packets);
    rig.arrived.iter().map(|&(at, seq)| (at / 1_000_000, seq)).collect()
}

/// 1250 bytes are 10,000 bits. At 10 Mb/s they take 1 ms; from 1.5 ms on the rate is 1 Mb/s. So the second packet is half sent, and the rest
/// takes 5 ms.
#[test]
fn the_rate_counts_while_a_packet_is_sent() {
    let changes = rate(steps(&[(0, 10_000_000), (2, 1_000_000), (20, 0), (30, 10_000_000)]));
    let packets = [(0, 1250), (3 * MS / 2, 1250), (15 * MS, 1250), (25 * MS, 1250)];
    // The second: 0.5 ms at 10 Mb/s, 5 ms at 1 Mb/s, ends at 7. The third: 5 ms at 1 Mb/s, nothing for 10 ms, and 0.5 ms. Then the fourth.
    assert_eq!(arrivals(&changes, &packets), [(6_000, 0), (12_000, 1), (35_500, 2), (36_500, 3)]);
}

#[test]
fn nothing_leaves_during_an_outage() {
    let span = |from, to| (Duration::from_millis(from), Duration::from_millis(to));
    let outages = Unsteady { outages: Outages::once([span(2, 4), span(4, 5)]), ..Unsteady::default() };
    // At 10 Mb/s of the link. The second is half sent at 2 ms.
    assert_eq!(arrivals(&outages, &[(0, 1250), (3 * MS / 2, 1250), (3 * MS, 1250)]), [(6_000, 0), (10_500, 1), (11_500, 2)]);
    let mut both = opportunities(&[1, 2, 3, 4]);
    both.outages = Outages::once([span(2, 4)]);
    // The opportunities at 2 and 3 ms are in the outage, that at 4 is not.
    assert_eq!(arrivals(&both, &[(0, 1500), (0, 1500)]), [(6_000, 0), (9_000, 1)]);
}

/// Three packets of 500 bytes share an opportunity; one of 1000 bytes has what is left of one and a part of the next.
#[test]
fn opportunities_are_counted_in_bytes() {
    let trace = opportunities(&[1, 2, 10]);
    let small = [(0, 500); 4];
    assert_eq!(arrivals(&trace, &small), [(6_000, 0), (6_000, 1), (6_000, 2), (7_000, 3)]);
    let mixed = [(0, 1000), (0, 1000), (0, 1000), (0, 1500)];
    assert_eq!(arrivals(&trace, &mixed), [(6_000, 0), (7_000, 1), (7_000, 2), (15_000, 3)]);
}

#[test]
fn opportunities_that_nobody_waits_for_are_wasted_and_the_trace_begins_anew() {
    let trace = opportunities(&[1, 2, 2, 10]);
    // Packets that arrive at the instant of an opportunity are too late for it. Both opportunities at 12 ms are there for waiting packets.
    let packets = [(MS, 1500), (10 * MS, 1500), (11 * MS, 1500), (11 * MS, 1500), (11 * MS, 1500)];
    assert_eq!(arrivals(&trace, &packets), [(7_000, 0), (16_000, 1), (17_000, 2), (17_000, 3), (25_000, 4)]);
    // 4 times 1500 bytes in 10 ms.
    assert_eq!(Opportunities([1, 2, 2, 10].into()).mean(), 4_800_000);
}

#[test]
fn a_delay_that_falls_lets_nothing_overtake() {
    let delay = Some(steps(&[(0, 50 * MS), (3, 5 * MS), (60, 20 * MS)]));
    let changes = passage(Passage { delay, ..Passage::default() });
    // The first leaves at 1 ms and takes 50; the second leaves at 5 and would be there at 10.
    let packets = [(0, 1250), (4 * MS, 1250), (54 * MS, 1250), (69 * MS, 1250)];
    assert_eq!(arrivals(&changes, &packets), [(51_000, 0), (51_000, 1), (60_000, 2), (90_000, 3)]);
}

#[test]
fn a_packet_held_back_is_overtaken() {
    let all = Reorder { probability: 1.0, by: Duration::from_millis(3) };
    let changes = passage(Passage { reorder: Some(all), ..Passage::default() });
    assert_eq!(arrivals(&changes, &[(0, 1250), (0, 1250)]), [(9_000, 0), (10_000, 1)]);
    let some = Reorder { probability: 0.2, by: Duration::from_micros(2500) };
    let changes = passage(Passage { reorder: Some(some), ..Passage::default() });
    let packets = [(0, 1250); 5000];
    let arrived = arrivals(&changes, &packets);
    assert!(arrived.is_sorted_by_key(|(at, _)| *at));
    let late: Vec<_> = arrived.iter().filter(|(at, seq)| *at != 6_000 + 1_000 * u64::from(*seq)).collect();
    assert!(late.iter().all(|(at, seq)| *at == 8_500 + 1_000 * u64::from(*seq)), "later by just that");
    // Five standard deviations of a binomial: 5 sqrt(5000 x 0.2 x 0.8) = 141.
    assert!((859..=1141).contains(&late.len()), "{}", late.len());
}

#[test]
fn jitter_is_even_and_correlated_as_asked() {
    for (correlation, in_order) in [(0.0, false), (0.75, false), (0.0, true)] {
        let jitter = Jitter { spread: Spread::Uniform(Duration::from_millis(4)), correlation, in_order };
        let mut rig = rig(&passage(Passage { jitter: Some(jitter), ..Passage::default() }));
        // One every 1 ms, so that some could overtake.
        let packets: Vec<_> = (0..20_000).map(|i| (i * MS, 1250)).collect();
        rig.offer_all(&packets);
        let is_in_order = rig.arrived.is_sorted_by_key(|(_, seq)| *seq);
        assert_eq!(is_in_order, in_order);
        if in_order {
            continue;
        }
        rig.arrived.sort_by_key(|(_, seq)| *seq);
        let extra: Vec<f64> = rig.arrived.iter().map(|(at, seq)| (at - (6 + u64::from(*seq)) * MS) as f64 / MS as f64).collect();
        let mean = extra.iter().sum::<f64>() / 20_000.0;
        let with = |lag: usize| extra.windows(lag + 1).map(|w| (w[0] - mean) * (w[lag] - mean)).sum::<f64>() / 20_000.0;
        // Even in 0..4: mean 2, variance 16 / 12.
        assert!((mean - 2.0).abs() < 0.1 && (with(0) - 4.0 / 3.0).abs() < 0.1, "{mean} {}", with(0));
        assert!((with(1) / with(0) - correlation).abs() < 0.03, "{}", with(1) / with(0));
    }
}

#[test]
fn a_packet_may_come_twice_and_the_books_agree() {
    let changes = passage(Passage { duplicate: 0.1, ..Passage::default() });
    let mut rig = rig_with_loss(&changes, &loss::choice("bernoulli").with(&[("probability", Value::Number(0.2))]));
    rig.offer_all(&[(0, 1250); 10_000]);
    let count = &rig.link.count;
    assert_eq!(rig.arrived.len() as u64 + count.lost, 10_000 + count.duplicated);
    // A tenth of the 8000 that arrive: five standard deviations are 134.
    assert!((666..=934).contains(&count.duplicated), "{}", count.duplicated);
    assert!(rig.dropped.0.iter().all(|(at, seq)| *at == (6 + u64::from(*seq)) * MS), "a packet is lost when it would have arrived");
}

fn harq(probability: f64) -> Harq {
    Harq { probability, round_trip: Duration::from_millis(8), block: Duration::from_millis(1), most: 3 }
}

/// Packets of 0.4 ms at 10 Mb/s, 5 ms away: each arrives with the end of the block in which it was sent whole.
#[test]
fn blocks_arrive_whole() {
    let changes = passage(Passage { harq: Some(harq(0.0)), ..Passage::default() });
    assert_eq!(arrivals(&changes, &[(0, 500); 5]), [(6_000, 0), (6_000, 1), (7_000, 2), (7_000, 3), (7_000, 4)]);
}

/// One packet of a whole block is sent each ms: it comes 0, 8, 16 or 24 ms later than its block, or when the rest of that time of an
/// earlier block is over.
#[test]
fn a_block_that_failed_comes_a_round_trip_later_and_in_order() {
    let n = 100_000;
    let changes = passage(Passage { harq: Some(harq(0.1)), ..Passage::default() });
    let mut rig = rig(&changes);
    rig.offer_all(&(0..n).map(|i| (i * MS, 1250)).collect::<Vec<_>>());
    assert!(rig.arrived.iter().enumerate().all(|(i, (_, seq))| i == *seq as usize), "in order");
    let late: Vec<u64> = rig.arrived.iter().map(|(at, seq)| (at - (6 + u64::from(*seq)) * MS) / MS).collect();
    assert!(late.windows(2).all(|pair| pair[1] + 1 >= pair[0] && [0, 8, 16, 24].iter().any(|of| pair[1] == *of || pair[1] + 1 == pair[0])));
    // A block j before that failed k times comes 8 k - j after the packet's own. So it is on time if its block and the seven before did not
    // fail, the eight before these not twice, and the eight before those not three times.
    let on_time = libm::pow(0.9 * 0.99 * 0.999, 8.0);
    let seen = late.iter().filter(|late| **late == 0).count() as f64 / n as f64;
    assert!((seen - on_time).abs() < 0.01, "{seen} for {on_time}");
}

/// A line that stands still for an hour costs no more than a few blocks.
#[test]
fn a_long_packet_looks_back_no_further_than_it_must() {
    let changes = Unsteady {
        service: Some(Service::Rate(steps(&[(0, 0), (3_600_000, 10_000_000)]))),
        ..passage(Passage { harq: Some(harq(0.0)), ..Passage::default() })
    };
    assert_eq!(arrivals(&changes, &[(0, 500)]), [(3_600_006_000, 0)]);
}

/// A modem asks for the packets behind the one in its transmitter together with that one, so that one burst carries all of them.
#[test]
fn a_burst_carries_what_waits_in_the_queue() {
    let by = crate::link::service::choice("docsis").with(&[("rate", Value::Rate(Rate::from_bps(10_000_000)))]);
    let changes = Unsteady { service: Some(Service::Granted(by)), ..Unsteady::default() };
    let times = arrivals(&changes, &[(0, 500), (0, 500), (0, 500), (50 * MS, 500), (100 * MS, 500)]);
    // Grants begin with an interval of 2 ms, and 5 ms are the way.
    let burst = times[0].0 - 5400;
    assert!(burst.is_multiple_of(2000) && (2000..=4000).contains(&burst), "{burst}");
    assert_eq!(times[..3], [(burst + 5400, 0), (burst + 5800, 1), (burst + 6200, 2)]);
    assert!(times[3..].iter().all(|(at, _)| (at - 5400).is_multiple_of(2000)));
}

/// Packets that are sent on certainly arrive before all others. The others are due in time.
#[test]
fn nothing_is_sent_on_too_early_or_too_late() {
    let jitter = Jitter { spread: Spread::Uniform(Duration::from_millis(7)), correlation: 0.0, in_order: false };
    let delay = Some(steps(&[(0, 9 * MS), (40, 5 * MS), (80, 30 * MS), (130, 5 * MS)]));
    let changes = passage(Passage { delay, jitter: Some(jitter), duplicate: 0.2, ..Passage::default() });
    let mut rig = rig(&changes);
    let (lag, mut now) = (rig.link.lag(), Time::ZERO);
    let mut rng = Rng::named(7, "steps");
    for seq in 0..500 {
        let next = now + Duration::from_ps(rng.below(2 * MS));
        while rig.link.due() < next {
            now = rig.link.due();
            rig.advance(now);
            rig.settle(now, lag);
        }
        now = next;
        rig.offer(now, seq, 1250);
        rig.settle(now, lag);
    }
    rig.settle(END, lag);
    assert!(rig.arrived.is_sorted_by_key(|(at, _)| *at));
    assert_eq!(rig.link.keeps(), 0);
}

impl Rig {
    /// At `now` all packets are sent on that are certain, and no others.
    fn settle(&mut self, now: Time, lag: Duration) {
        self.advance(now);
        self.link.settle(now, &mut self.packets, &mut self.dropped);
        let before = self.arrived.len();
        self.collect();
        assert!(self.arrived[before..].iter().all(|(at, _)| *at <= (now.saturating_add(lag)).as_ps()));
        assert!(self.link.due() > now);
    }
}

/// Each packet takes 1 ms and arrives 5 ms later. Three are in the queue or on the wire from the beginning, until the first arrives at 6
/// ms.
#[test]
fn a_limit_in_delay_counts_what_is_on_the_wire() {
    let limited = Unsteady { limit_in_delay: Some(3), ..Unsteady::default() };
    let offered = [(0, 1250), (0, 1250), (0, 1250), (0, 1250), (6 * MS - 1, 1250), (6 * MS, 1250), (6 * MS, 1250), (7 * MS, 1250)];
    assert_eq!(arrivals(&limited, &offered), [(6_000, 0), (7_000, 1), (8_000, 2), (12_000, 5), (13_000, 7)]);
    let mut last = rig(&limited);
    last.link = {
        let loss = (loss::named("none").build)(&loss::choice("none").params, Rng::named(1, "none"));
        Link::new(LinkConfig { departs_last: true, ..PLAIN }, build_queue(&droptail(100)), loss)
    };
    last.link.change(&limited, |part| Rng::named(1, part));
    last.offer_all(&offered);
    let came: Vec<u32> = last.arrived.iter().map(|(_, seq)| *seq).collect();
    assert_eq!(came, [0, 1, 2, 7], "what arrives at an instant leaves after what comes at it");
}

/// Packets keep their place until they arrive or are lost, however long that takes.
#[test]
fn a_limit_in_delay_counts_jitter_and_losses() {
    let limit = |passage| Unsteady { limit_in_delay: Some(2), passage, ..Unsteady::default() };
    let held = Passage { reorder: Some(Reorder { probability: 1.0, by: Duration::from_millis(10) }), ..Passage::default() };
    assert_eq!(arrivals(&limit(held), &[(0, 1250), (0, 1250), (15 * MS, 1250), (16 * MS, 1250)]), [(16_000, 0), (17_000, 1), (32_000, 3)]);
    let mut rig = rig_with_loss(&limit(Passage::default()), &loss::choice("bernoulli").with(&[("probability", Value::Number(1.0))]));
    rig.offer_all(&[(0, 1250), (0, 1250), (5 * MS, 1250), (6 * MS, 1250)]);
    assert_eq!(rig.dropped.0.iter().map(|(_, seq)| *seq).collect::<Vec<_>>(), [2, 0, 1, 3]);
}

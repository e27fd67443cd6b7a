use super::*;
use proptest::prelude::*;

const MSS: u64 = 1000;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A sampler with the bookkeeping a sender does around it.
#[derive(Default)]
struct Flow {
    sampler: RateSampler,
    una: u64,
    max: u64,
    in_flight: u64,
}

impl Flow {
    fn send(&mut self, now: u64, segments: u64) {
        for _ in 0..segments {
            self.in_flight += MSS;
            self.sampler.sent(at(now), self.max, self.max + MSS, false, self.in_flight);
            self.max += MSS;
        }
    }

    fn send_again(&mut self, now: u64, segment: u64) {
        self.in_flight += MSS;
        self.sampler.sent(at(now), segment * MSS, (segment + 1) * MSS, true, self.in_flight);
    }

    /// Segments `from..until` arrive.
    fn arrive(&mut self, now: u64, from: u64, until: u64) {
        self.sampler.arrived(at(now), from * MSS, until * MSS);
        self.in_flight = self.in_flight.saturating_sub((until - from) * MSS);
    }

    fn sample(&mut self, now: u64) -> RateSample {
        self.sampler.sample(at(now), ms(10), self.in_flight).expect("something arrived")
    }

    /// A cumulative ACK up to segment `until`.
    fn ack(&mut self, now: u64, until: u64) -> RateSample {
        self.arrive(now, self.una / MSS, until);
        self.una = until * MSS;
        self.sampler.forget_below(self.una);
        self.sample(now)
    }

    fn lose(&mut self, from: u64, until: u64) -> Vec<LostPacket> {
        let mut packets = Vec::new();
        self.sampler.lost(from * MSS, until * MSS, |p| packets.push(*p));
        self.in_flight -= (until - from) * MSS;
        packets
    }
}

#[test]
fn a_steady_stream_has_its_rate() {
    // A segment each ms, a round trip of 10 ms, each acknowledged.
    let mut flow = Flow::default();
    for now in 0..40 {
        if now >= 10 {
            let sample = flow.ack(now, now - 9);
            assert_eq!(sample.rtt, Some(ms(10)));
            assert_eq!(sample.total_delivered, (now - 9) * MSS);
            if now >= 20 {
                // Ten segments were delivered since the last ACK before this one was sent.
                assert_eq!((sample.delivered, sample.interval), (10 * MSS, ms(10)));
                assert_eq!(sample.bytes_per_second(), 1e6);
                assert_eq!((sample.in_flight_then, sample.in_flight), (10 * MSS, 9 * MSS));
            }
        }
        flow.send(now, 1);
    }
}

#[test]
fn compressed_acks_do_not_show_a_rate_above_that_of_sending() {
    // Sent one each ms from 0 on; the ACKs of 30 segments all come at 41 ms. §4.1.1.2.2.
    let mut flow = Flow::default();
    for now in 0..10 {
        flow.send(now, 1);
    }
    let before = flow.ack(10, 1);
    assert_eq!(before.bytes_per_second(), 1e5, "the first arrived over a whole round trip");
    for now in 10..41 {
        flow.send(now, 1);
    }
    flow.ack(41, 11);
    let newest = flow.ack(41, 40);
    // The 40th left at 39 ms, when one had been delivered, at 10 ms: 39 in 31 ms by the ACKs; sent since the first, at 0, in 39 ms.
    assert_eq!((newest.delivered, newest.interval), (39 * MSS, ms(39)));
    assert_eq!(newest.bytes_per_second(), 1e6);
}

#[test]
fn a_stretch_ack_gives_the_sample_of_its_newest_segment() {
    let mut flow = Flow::default();
    for now in 0..10 {
        flow.send(now, 1);
    }
    let sample = flow.ack(19, 10);
    assert_eq!((sample.delivered, sample.prior_delivered, sample.rtt), (10 * MSS, 0, Some(ms(10))));
    // All were sent in 9 ms, and came back 19 ms after the first left.
    assert_eq!(sample.interval, ms(19));
    assert_eq!(sample.in_flight_then, 10 * MSS);
}

#[test]
fn an_idle_start_begins_the_interval_anew() {
    let mut flow = Flow::default();
    flow.send(0, 2);
    flow.ack(10, 2);
    flow.send(1000, 2);
    let sample = flow.ack(1010, 4);
    assert_eq!((sample.delivered, sample.interval), (2 * MSS, ms(10)));
}

#[test]
fn the_bubble_of_an_application_limited_phase_taints_a_round_trip() {
    let mut flow = Flow::default();
    flow.send(0, 4);
    // Room for more than four, and nothing to send.
    flow.sampler.mark_app_limited(flow.in_flight);
    flow.send(5, 2);
    assert!(!flow.ack(10, 4).app_limited, "sent before the bubble");
    assert!(flow.sampler.is_app_limited(), "all before the bubble is delivered, nothing behind it");
    flow.send(11, 1);
    assert!(flow.ack(15, 6).app_limited);
    assert!(!flow.sampler.is_app_limited());
    flow.send(16, 1);
    assert!(flow.ack(21, 7).app_limited, "it left while the bubble was in the path");
    assert!(!flow.ack(26, 8).app_limited);
}

#[test]
fn what_arrives_out_of_order_counts_once_and_when_it_arrives() {
    let mut flow = Flow::default();
    for now in 0..10 {
        flow.send(now, 1);
    }
    flow.ack(10, 1);
    // Segment 1 is missing; 2 to 4 are SACKed one by one.
    for n in 2..5 {
        flow.arrive(10 + n, n, n + 1);
        let sample = flow.sample(10 + n);
        assert_eq!((sample.total_delivered, sample.rtt), (n * MSS, Some(ms(10))));
    }
    let lost = flow.lose(1, 2);
    assert_eq!(lost, [LostPacket { start: MSS, end: 2 * MSS, sent_at: at(1), in_flight_then: 2 * MSS, lost: MSS, app_limited: false }]);
    flow.send_again(15, 1);
    flow.arrive(16, 5, 6);
    let sample = flow.sample(16);
    assert_eq!((sample.lost, sample.total_lost), (MSS, MSS));
    // The retransmission fills the hole, and the ACK covers all that was SACKed behind it.
    flow.arrive(25, 1, 2);
    flow.sampler.forget_below(6 * MSS);
    let sample = flow.sample(25);
    // Four were delivered when it left, the last of them at 14 ms; it was sent twice, so that its round trip is not told.
    assert_eq!((sample.prior_delivered, sample.delivered, sample.rtt), (4 * MSS, 2 * MSS, None));
    assert_eq!((sample.interval, sample.lost), (ms(11), 0));
}

#[test]
fn an_answer_too_quick_for_a_retransmission_gives_no_rate() {
    // Spuriously retransmitted at 15 ms; the first copy arrives a millisecond later. §4.1.2.3, GenerateRateSample.
    let mut flow = Flow::default();
    flow.send(0, 1);
    flow.send(14, 1);
    flow.arrive(15, 1, 2);
    flow.sample(15);
    flow.lose(0, 1);
    flow.send_again(15, 0);
    flow.arrive(16, 0, 1);
    let sample = flow.sample(16);
    assert_eq!((sample.interval, sample.bytes_per_second(), sample.rtt), (Duration::ZERO, 0.0, None));
}

#[test]
fn a_second_retransmission_takes_the_place_of_the_first() {
    let mut flow = Flow::default();
    flow.send(0, 6);
    flow.arrive(10, 5, 6);
    flow.sample(10);
    flow.lose(0, 3);
    for (now, n) in [(11, 0), (12, 1), (13, 2)] {
        flow.send_again(now, n);
    }
    // The first retransmission of segment 1 is lost too, and it goes a third time.
    assert_eq!(flow.lose(1, 2)[0].in_flight_then, 4 * MSS);
    flow.send_again(20, 1);
    assert_eq!(flow.sampler.retransmitted.len(), 3);
    flow.arrive(31, 0, 3);
    // The newest is the one of 20 ms.
    assert_eq!(flow.sample(31).interval, ms(21));
}

#[test]
fn a_timeout_counts_what_was_not_lost_before_and_sends_all_again() {
    let mut flow = Flow::default();
    flow.send(0, 4);
    flow.lose(0, 1);
    flow.send_again(20, 0);
    let lost = flow.lose(0, 4);
    assert_eq!(lost.iter().map(|p| (p.start / MSS, p.lost / MSS)).collect::<Vec<_>>(), [(0, 1), (1, 5)]);
    flow.sampler.start_over(4 * MSS);
    flow.arrive(25, 0, 1);
    let sample = flow.sample(25);
    assert_eq!(sample.rtt, None, "it was sent twice, whatever is still known of it");
    assert_eq!(sample.total_lost, 5 * MSS);
}

#[test]
fn segments_of_one_instant_share_a_record_and_lose_nothing_by_it() {
    let mut flow = Flow::default();
    flow.send(0, 40);
    assert_eq!(flow.sampler.first.len(), 1);
    flow.arrive(10, 0, 7);
    assert_eq!(flow.sample(10).in_flight_then, 7 * MSS);
    let lost = flow.lose(7, 9);
    assert_eq!((lost.len(), lost[0].in_flight_then, lost[0].lost), (1, 9 * MSS, 2 * MSS));
    assert!(std::mem::size_of::<Record>() <= 64);
}

/// §4.1.2 to the letter: a list of packets, one a segment, the newest transmission of each.
#[derive(Default)]
struct Model {
    packets: Vec<Packet>,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    lost: u64,
}

#[derive(Clone, Copy)]
struct Packet {
    sent: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    lost: u64,
    in_flight: u64,
    arrived: bool,
    out: bool,
    retransmitted: bool,
}

impl Model {
    fn in_flight(&self) -> u64 {
        self.packets.iter().filter(|p| p.out && !p.arrived).count() as u64
    }

    fn send(&mut self, now: u64, n: usize) {
        if self.in_flight() == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let retransmitted = n < self.packets.len();
        let packet = Packet {
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight: self.in_flight() + 1,
            arrived: false,
            out: true,
            retransmitted,
        };
        if retransmitted { self.packets[n] = packet } else { self.packets.push(packet) }
    }

    /// The sample that the arrival of these gives: bytes in segments, times in ms.
    fn arrive(&mut self, now: u64, which: &[usize]) -> RateSample {
        let mut newest: Option<usize> = None;
        for &n in which {
            self.delivered += 1;
            self.packets[n].arrived = true;
            if newest.is_none_or(|m| (self.packets[n].sent, n) > (self.packets[m].sent, m)) {
                newest = Some(n);
            }
        }
        self.delivered_at = now;
        let p = self.packets[newest.expect("something arrived")];
        self.first_sent = p.sent;
        let interval = (p.sent - p.first_sent).max(now - p.delivered_at);
        RateSample {
            delivered: (self.delivered - p.delivered) * MSS,
            interval: ms(interval),
            prior_delivered: p.delivered * MSS,
            total_delivered: self.delivered * MSS,
            total_lost: self.lost * MSS,
            lost: (self.lost - p.lost) * MSS,
            sent_at: at(p.sent),
            in_flight_then: p.in_flight * MSS,
            in_flight: self.in_flight() * MSS,
            rtt: (!p.retransmitted).then(|| ms(now - p.sent)),
            app_limited: false,
        }
    }
}

proptest! {
    /// Any order of sending, arriving, losing and sending again: the sampler says what the draft's pseudocode says, packet by packet.
    #[test]
    fn equals_the_draft_packet_by_packet(steps in prop::collection::vec((0u8..8, 0usize..20, 1usize..4, 0u64..4), 1..150)) {
        let (mut flow, mut model, mut now) = (Flow::default(), Model::default(), 0);
        for (what, at_segment, count, later) in steps {
            now += later;
            match what {
                0..=2 => {
                    for _ in 0..count {
                        flow.send(now, 1);
                        model.send(now, model.packets.len());
                    }
                }
                3 | 4 => {
                    // One ACK: runs of segments that are outstanding, whatever was sent last of them is what arrives.
                    let out: Vec<usize> = (0..model.packets.len()).filter(|n| model.packets[*n].out && !model.packets[*n].arrived).collect();
                    let which: Vec<usize> = out.iter().copied().skip(at_segment % 7).take(count).collect();
                    if which.is_empty() {
                        continue;
                    }
                    for run in which.chunk_by(|a, b| a + 1 == *b) {
                        flow.arrive(now, run[0] as u64, *run.last().unwrap() as u64 + 1);
                    }
                    let una = model.packets.iter().position(|p| !p.arrived);
                    let expected = model.arrive(now, &which);
                    flow.sampler.forget_below(una.unwrap_or(0).min(which[0]) as u64 * MSS);
                    let sample = flow.sampler.sample(at(now), Duration::ZERO, flow.in_flight).unwrap();
                    prop_assert_eq!(sample, expected);
                }
                5 => {
                    let mut out = (0..model.packets.len()).filter(|n| model.packets[*n].out && !model.packets[*n].arrived);
                    if let Some(n) = out.nth(at_segment % 5) {
                        let packets = flow.lose(n as u64, n as u64 + 1);
                        model.lost += 1;
                        model.packets[n].out = false;
                        let p = model.packets[n];
                        prop_assert_eq!(packets.len(), 1);
                        let told = (packets[0].lost, packets[0].in_flight_then, packets[0].sent_at);
                        prop_assert_eq!(told, ((model.lost - p.lost) * MSS, p.in_flight * MSS, at(p.sent)));
                    }
                }
                _ => {
                    let mut lost = (0..model.packets.len()).filter(|n| !model.packets[*n].out && !model.packets[*n].arrived);
                    if let Some(n) = lost.nth(at_segment % 3) {
                        flow.send_again(now, n as u64);
                        model.send(now, n);
                    }
                }
            }
        }
    }
}

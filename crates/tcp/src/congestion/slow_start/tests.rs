use super::*;
use crate::stack;
use longfat_core::time::{Duration, Time};

pub(super) const MSS: u64 = 1000;

pub(super) fn config(name: &'static str) -> TcpConfig {
    let config = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
    TcpConfig { mss: MSS as u32, ..config }.with(|tcp| {
        tcp.growth.slow_start = name;
        tcp.sending.abc_limit = 2;
    })
}

fn slow_start(name: &'static str) -> SlowStart {
    SlowStart::new(&config(name))
}

fn paced(name: &'static str) -> SlowStart {
    let config = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
    SlowStart::new(&TcpConfig { mss: MSS as u32, ..config }.with(|tcp| {
        tcp.growth.slow_start = name;
        tcp.sending.pacing = crate::Pacing::On;
    }))
}

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// An ACK for one segment, at `now` and with a round trip of `rtt`, both in us, on a path of 50 ms.
fn ack(round: u64, now: u64, rtt: u64) -> AckSample {
    AckSample {
        now: Time::ZERO + us(now),
        acked: MSS,
        round,
        rtt: Some(us(rtt)),
        rtt_min: us(50_000),
        cwnd_limited: true,
        ..AckSample::default()
    }
}

/// Rounds of 20 ACKs, 5 ms apart (no train), with one round trip in ms each. What each round grew by, in bytes, and whether it left.
fn rounds(s: &mut SlowStart, first: u64, rtts: &[u64]) -> Vec<(u64, bool)> {
    let round = |(r, rtt): (u64, &u64)| {
        let steps = (0..20).map(|n| s.step(&ack(r, r * 200_000 + n * 5_000, rtt * 1000), 1000 * MSS, true));
        steps.fold((0, false), |(growth, left), step| (growth + step.growth, left || step.leave))
    };
    (first..).zip(rtts).map(round).collect()
}

#[test]
fn limited_slow_start_grows_by_a_kth_of_a_segment() {
    // RFC 3742 §2 with max_ssthresh of 100 segments: K = int(cwnd / 50).
    let mut s = slow_start("limited");
    for (cwnd, growth) in [(2, 1000), (100, 1000), (101, 500), (149, 500), (150, 333), (200, 250), (1000, 50), (83_000, 1)] {
        let step = s.step(&ack(0, 0, 50_000), cwnd * MSS, true);
        // 83,000 segments: K = 1660, and a segment of 1000 bytes has no such part. It must not stand still.
        assert_eq!(step, Step { growth, ..Step::default() }, "at {cwnd} segments");
    }
}

#[test]
fn limited_slow_start_takes_the_round_trips_of_section_2() {
    // RFC 3742 §2: log2(max_ssthresh) round trips, then at least max_ssthresh / 2 segments in each.
    let mut s = slow_start("limited");
    let mut cwnd = MSS;
    let mut trips = 0;
    while cwnd < 2_000 * MSS {
        let before = cwnd;
        for _ in 0..before / MSS {
            cwnd += s.step(&ack(trips, 0, 50_000), cwnd, true).growth;
        }
        trips += 1;
        let gained = (cwnd - before) / MSS;
        assert!(before < 100 * MSS || (46..=100).contains(&gained), "{gained} segments in a round trip from {}", before / MSS);
    }
    assert!((7 + (2_000 - 100) / 75..=7 + (2_000 - 100) / 46).contains(&trips), "{trips}");
}

#[test]
fn hystart_leaves_at_a_train_of_half_a_round_trip() {
    let mut s = slow_start("hystart");
    // ACKs 1 ms apart: at 25 ms the train is half of 50 ms.
    let at = (0..40).find(|n| s.step(&ack(1, 1_000_000 + n * 1_000, 50_000), 100 * MSS, true).leave);
    assert_eq!(at, Some(25));
    // A gap of more than 2 ms ends the train for this round.
    s.reset();
    let gap = |n: u64| n * 1_000 + if n > 10 { 1_100 } else { 0 };
    assert_eq!((0..60).find(|n| s.step(&ack(2, 2_000_000 + gap(*n), 50_000), 100 * MSS, true).leave), None);
    // A new round begins a new train; under 16 segments nothing is looked for.
    assert_eq!((0..60).find(|n| s.step(&ack(3, 3_000_000 + n * 1_000, 50_000), 15 * MSS, true).leave), None);
    assert_eq!((0..60).find(|n| s.step(&ack(4, 4_000_000 + n * 1_000, 50_000), 16 * MSS, true).leave), Some(25));
}

#[test]
fn hystart_does_not_take_pacing_for_the_bottleneck() {
    let at = |mut s: SlowStart| (0..100).find(|n| s.step(&ack(1, 1_000_000 + n * 1_000, 50_000), 100 * MSS, true).leave);
    // Spread over a whole round trip, not half of one.
    assert_eq!((at(slow_start("hystart")), at(paced("hystart"))), (Some(25), Some(50)));
}

#[test]
fn hystart_leaves_when_the_least_of_nine_round_trips_is_an_eighth_over_the_least_of_all() {
    let calm = |least: u64| {
        let mut s = slow_start("hystart");
        s.step(&ack(0, 0, least), 100 * MSS, true);
        s
    };
    // 50 ms / 8 = 6.25 ms.
    let exit = |rtt: u64, short: u64| {
        let mut s = calm(50_000);
        (0..20).find(|n| s.step(&ack(1, n * 5_000, if *n == short { 50_000 } else { rtt }), 100 * MSS, true).leave)
    };
    assert_eq!(exit(56_250, 99), Some(8));
    assert_eq!(exit(56_249, 99), None);
    // One calm packet among the first nine is enough to stay; later ones come too late.
    assert_eq!(exit(90_000, 8), None);
    assert_eq!(exit(90_000, 9), Some(8));
    // The bounds: at least 4 ms on a short path, at most 16 ms on a long one.
    for (least, rise) in [(8_000, 4_000), (400_000, 16_000)] {
        for (more, expected) in [(rise - 1, None), (rise, Some(8))] {
            let mut s = calm(least);
            let found = (0..20).find(|n| s.step(&ack(1, n * 5_000, least + more), 100 * MSS, true).leave);
            assert_eq!(found, expected, "{least} us + {more} us");
        }
    }
}

#[test]
fn hystart_measures_data_alone_and_grows_no_more_where_it_leaves() {
    // The handshake took 20 ms, data 50: that is no rise (a kernel, 6.18, stays in slow start, too).
    let mut s = slow_start("hystart");
    let sample = |round: u64, n: u64, rtt: u64| AckSample { rtt_min: us(20_000), ..ack(round, round * 1_000_000 + n * 5_000, rtt) };
    assert!((0..20).all(|n| s.step(&sample(0, n, 50_000), 100 * MSS, true) == Step { growth: MSS, ..Step::default() }));
    let steps: Vec<Step> = (0..9).map(|n| s.step(&sample(1, n, 60_000), 100 * MSS, true)).collect();
    assert_eq!(steps[7..], [Step { growth: MSS, ..Step::default() }, Step { growth: 0, leave: true, ..Step::default() }]);
}

#[test]
fn hystart_plus_plus_takes_five_slower_rounds_to_leave() {
    let mut s = slow_start("hystart++");
    // RFC 9406 §4.2: a rise of 7 ms is over max(4, min(50 / 8, 16)) = 6.25 ms. It shows at the eighth sample of the third round; the
    // remaining 12 ACKs grow by a quarter. That partial round is the first of CSS_ROUNDS; after the fifth slow start is over.
    let got = rounds(&mut s, 1, &[50, 50, 57, 57, 57, 57, 57, 57]);
    let full = (20 * MSS, false);
    let slow = (20 * MSS / 4, false);
    assert_eq!(got[..7], [full, full, (8 * MSS + 12 * MSS / 4, false), slow, slow, slow, slow]);
    assert!(got[7].1);
}

#[test]
fn hystart_plus_plus_resumes_when_the_rise_was_not_real() {
    let mut s = slow_start("hystart++");
    let got = rounds(&mut s, 1, &[50, 57, 56, 56, 56]);
    // The baseline is 57 ms; the round of 56 ms lies under it, which the eighth sample shows.
    assert_eq!(got[1], (8 * MSS + 12 * MSS / 4, false));
    assert_eq!(got[2], (8 * MSS / 4 + 12 * MSS, false));
    assert_eq!(got[3..], [(20 * MSS, false); 2]);
    // It finds the next rise, against the round before it.
    assert_eq!(rounds(&mut s, 6, &[63])[0], (8 * MSS + 12 * MSS / 4, false));
}

#[test]
fn hystart_plus_plus_knows_its_thresholds() {
    for (rtt, rise, enters) in [(16, 3, false), (16, 4, true), (200, 15, false), (200, 16, true)] {
        let mut s = slow_start("hystart++");
        let got = rounds(&mut s, 1, &[rtt, rtt + rise]);
        assert_eq!(got[1].0 < 20 * MSS, enters, "{rtt} + {rise} ms");
    }
    // A rise in small steps is never enough: each round is compared with the one before (§4.2).
    assert!(rounds(&mut slow_start("hystart++"), 1, &[50, 56, 62, 68]).iter().all(|r| *r == (20 * MSS, false)));
    // Seven samples are too few.
    let mut s = slow_start("hystart++");
    rounds(&mut s, 1, &[50]);
    assert!((0..7).all(|n| s.step(&ack(2, 400_000 + n * 5_000, 90_000), 100 * MSS, true).growth == MSS));
    assert_eq!(s.step(&AckSample { rtt: None, ..ack(2, 500_000, 0) }, 100 * MSS, true).growth, MSS);
}

#[test]
fn hystart_plus_plus_counts_eight_segments_an_ack_and_only_in_the_first_slow_start() {
    let mut s = slow_start("hystart++");
    let large = AckSample { acked: 20 * MSS, ..ack(1, 0, 50_000) };
    // RFC 9406 §4.3: L = 8. Later slow starts know where to end: standard, with RFC 3465's L, here 2.
    assert_eq!(s.step(&large, 100 * MSS, true).growth, 8 * MSS);
    assert_eq!(s.step(&large, 100 * MSS, false).growth, 2 * MSS);
}

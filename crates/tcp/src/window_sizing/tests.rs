//! Inferences of a receiver about its sender, round trip by round trip, with numbers worked out by hand; and tests of every kind.

use super::*;
use crate::stack;
use longfat_core::units::Capacity;
use proptest::prelude::*;

/// Segments of 1000 bytes; `changes` to the defaults of `name`.
fn config(name: &str, changes: &[(&'static str, Value)]) -> TcpConfig {
    let mut window_sizing = choice(name);
    for (name, value) in changes {
        window_sizing.params.set(name, *value);
    }
    let plain = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
    TcpConfig { mss: 1000, window_sizing, ..plain }
}

const fn ms(n: u64) -> Time {
    Time::from_ps(n * 1_000_000_000)
}

/// A sender of whole windows and a receiver that acknowledges each segment, 100 ms apart there and back; segments come 1 ms apart.
struct Rounds {
    sizing: Box<dyn ReceiveSizing + Send>,
    timestamps: bool,
    /// The least window that the sender is told, so that it may send what it does.
    least: u64,
    /// When the round trip begins, and what has come before it.
    at: u64,
    received: u64,
}

impl Rounds {
    fn new(config: &TcpConfig, timestamps: bool) -> Self {
        let mut sizing = (kind(config).receive)(config).expect("a kind that sizes windows");
        sizing.on_established(Duration::from_millis(100));
        // The SYN-ACK: the SYN has come, and nothing else.
        sizing.on_answer(&Answer { now: ms(900), timestamp: timestamps.then_some(900), received: 1, edge: 100_001 });
        Rounds { sizing, timestamps, least: 100_000, at: 1000, received: 1 }
    }

    /// One round trip with `segments` in flight. The window after it.
    fn round(&mut self, segments: u64) -> u64 {
        for i in 0..segments {
            let now = self.at + i;
            self.received += 1000;
            let arrival = Arrival {
                now: ms(now),
                received: self.received,
                read: self.received,
                next: self.received,
                // Each segment answers an ACK of 100 ms ago, the later ones of a burst that grows the last of them.
                echoed: self.timestamps.then(|| (now - 100).min(self.at - 1) as u32),
                marked: false,
                segment: 1000,
            };
            self.sizing.on_arrival(&arrival);
            let edge = self.received + self.sizing.buffer().max(self.least);
            self.sizing.on_answer(&Answer {
                now: ms(now),
                timestamp: self.timestamps.then_some(now as u32),
                received: self.received,
                edge,
            });
        }
        self.at += 100;
        self.sizing.buffer()
    }
}

#[test]
fn a_flight_is_what_comes_before_the_answer_to_an_ack() {
    let mut rounds = Rounds::new(&config("drs", &[]), true);
    let mut last = 0;
    for flight in [2, 4, 8, 8, 9, 10, 5, 5] {
        // A flight is known when the first segment of the next round trip answers.
        let known = std::mem::replace(&mut last, flight);
        rounds.round(flight);
        assert_eq!(rounds.sizing.measured(), (Duration::from_millis(100), 1_000 * known));
    }
}

#[test]
fn slow_start_is_offered_twice_its_next_window() {
    for timestamps in [true, false] {
        let mut rounds = Rounds::new(&config("drs", &[("leeway", bytes(1)), ("initial", bytes(1))]), timestamps);
        let windows: Vec<u64> = [2, 4, 8, 16, 32].into_iter().map(|n| rounds.round(n)).collect();
        // A flight of n segments is known when the next begins, which is of 2n; the ACK then sent meets a cwnd of 2n, and must leave
        // room for 4n: and two segments more.
        assert_eq!(windows[2..], [2 * 8_000 + 2_000, 2 * 16_000 + 2_000, 2 * 32_000 + 2_000], "timestamps: {timestamps}");
    }
}

#[test]
fn additive_increase_is_offered_a_little_more_than_its_next_window() {
    for timestamps in [true, false] {
        let mut rounds = Rounds::new(&config("drs", &[("leeway", bytes(1)), ("initial", bytes(1))]), timestamps);
        for n in [2, 4, 8, 16] {
            rounds.round(n);
        }
        let windows: Vec<u64> = (17..=26).map(|n| rounds.round(n)).collect();
        // Still taken for slow start, and what was offered in it stays for three round trips more.
        assert!(windows[0] >= 2 * 16_000, "{windows:?}");
        // Then: the flight known, n - 1; the segment it has grown by since, and the one it will; and two.
        assert_eq!(windows[8..], [(24 + 2 + 2) * 1_000, (25 + 2 + 2) * 1_000], "timestamps: {timestamps}, {windows:?}");
    }
}

#[test]
fn a_window_shrinks_a_few_round_trips_after_the_flight() {
    for shrink_after in [1, 3, 5] {
        let changes = [("leeway", bytes(1)), ("initial", bytes(1)), ("shrink_after", Value::Count(shrink_after))];
        let mut rounds = Rounds::new(&config("drs", &changes), true);
        for _ in 0..12 {
            rounds.round(40);
        }
        assert_eq!(rounds.sizing.buffer(), 43_000);
        let windows: Vec<u64> = (0..8).map(|_| rounds.round(20)).collect();
        let stays = windows.iter().take_while(|w| **w == 43_000).count() as u64;
        // A round trip passes before the first smaller flight is known.
        assert_eq!((stays, windows[7]), (shrink_after + 1, 23_000), "{windows:?}");
    }
}

#[test]
fn a_full_window_is_taken_for_slow_start() {
    let mut rounds = Rounds::new(&config("drs", &[("leeway", bytes(1)), ("initial", bytes(1))]), true);
    for _ in 0..12 {
        rounds.round(40);
    }
    rounds.least = 0;
    // It fills what it is offered, and after two round trips shows it: more is offered, and as much again.
    let mut offered = 43_000;
    for _ in 0..2 {
        offered = rounds.round(offered / 1000);
    }
    for _ in 0..4 {
        let before = offered;
        offered = rounds.round(offered / 1000);
        offered = offered.max(rounds.round(offered / 1000));
        assert!(offered * 2 >= before * 3, "{before}, then {offered}");
    }
}

#[test]
fn steps_and_least_are_kept() {
    let mut rounds = Rounds::new(&config("drs", &[]), true);
    assert_eq!(rounds.sizing.buffer(), 24_000);
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 41, 42] {
        let window = rounds.round(n);
        assert!(window.is_multiple_of(4_000) && window >= 24_000, "{window}");
    }
}

#[test]
fn without_timestamps_a_round_trip_is_the_time_to_receive_a_window() {
    let mut meter = flight::FlightMeter::default();
    meter.on_established(Duration::from_millis(300));
    let mut now = 0;
    // A window of 10,000 bytes that takes so long; whether it is known to be no more than the flight.
    let mut window = |took: u64, follows: bool| {
        let edge = 10_000 * (now + 1);
        meter.on_answer(&Answer { now: ms(1000 * now), timestamp: None, received: edge - 10_000, edge });
        let at = ms(1000 * now + took);
        meter
            .on_arrival(&Arrival { now: at, received: edge, read: edge, next: edge, echoed: None, marked: false, segment: 1_000 }, follows);
        now += 1;
        meter.rtt()
    };
    let millis = Duration::from_millis;
    // Less than was thought: at once.
    assert_eq!((window(400, false), window(100, false), window(150, false)), (millis(300), millis(100), millis(100)));
    // More: after eight in a row that were meant to be the limit.
    assert!((0..7).all(|_| window(150, true) == millis(100)));
    assert_eq!((window(149, true), window(600, true)), (millis(149), millis(149)));
    assert!((0..6).all(|_| window(160, true) == millis(149)));
    assert_eq!(window(160, true), millis(160));
    assert!((0..20).all(|n| window(500, n % 8 != 7) == millis(160)));
}

#[test]
fn without_timestamps_a_repair_bounds_the_round_trip() {
    // Segments of 1000 bytes that come one a millisecond; the first is missing until so many have come beyond it and it has been
    // on its way for so long. The round trip then, thought to be 300 ms and 100 ms at least.
    let after = |beyond: u64, took: u64| {
        let mut meter = flight::FlightMeter::default();
        meter.on_established(Duration::from_millis(100));
        let mut window = |from: u64, at: u64| {
            meter.on_answer(&Answer { now: ms(at), timestamp: None, received: from, edge: from + 1000 });
            let next = from + 1000;
            meter.on_arrival(
                &Arrival { now: ms(at + 300), received: next, read: next, next, echoed: None, marked: false, segment: 1_000 },
                true,
            );
            meter.rtt()
        };
        let rtts: Vec<Duration> = (0..8).map(|n| window(1000 * n, 1000 * n)).collect();
        assert_eq!(rtts[7], Duration::from_millis(300));
        for n in 0..beyond {
            let received = 8000 + 1000 * (n + 1);
            meter.on_arrival(
                &Arrival { now: ms(9_000 + n), received, read: 8000, next: 8000, echoed: None, marked: false, segment: 1_000 },
                true,
            );
        }
        let next = 8000 + 1000 * (beyond + 1);
        meter.on_arrival(
            &Arrival { now: ms(9_002 + took), received: next, read: next, next, echoed: None, marked: false, segment: 1_000 },
            true,
        );
        meter.rtt()
    };
    let millis = Duration::from_millis;
    // From the third segment beyond the gap until it is filled.
    assert_eq!(after(5, 180), millis(180));
    // Fewer tell nothing, a timeout takes longer than a round trip, and what is only late comes sooner.
    assert_eq!((after(2, 180), after(5, 1_000), after(5, 10)), (millis(300), millis(300), millis(100)));
}

#[test]
fn without_timestamps_a_cwnd_falls_only_for_a_reason() {
    // Flights seem to be this large, a round trip each, and then again with such a segment before it.
    let next = Arrival { now: ms(700), received: 10, read: 10, next: 10, echoed: None, marked: false, segment: 1 };
    let told = |came: Arrival| {
        let mut cwnd = cwnd::Cwnd::default();
        cwnd.on_arrival(&Arrival { now: ms(600), ..next }, Duration::from_millis(100));
        assert_eq!([20, 40, 30, 50, 30].map(|flight| cwnd.at_least(flight, true)), [20, 40, 40, 50, 50]);
        cwnd.on_arrival(&came, Duration::from_millis(100));
        [50, 30, 20, 10, 25].map(|flight| cwnd.at_least(flight, true))
    };
    assert_eq!(told(next), [50, 50, 50, 50, 50]);
    // Two round trips in which flights may still change; then what they have come to.
    let fallen = [50, 30, 20, 20, 25];
    assert_eq!(told(Arrival { next: 9, ..next }), fallen, "a gap");
    assert_eq!(told(Arrival { marked: true, ..next }), fallen, "a mark");
    assert_eq!(told(Arrival { now: ms(1_601), ..next }), fallen, "a silence of a second");
}

#[test]
fn linux_grows_by_two_bytes_for_one_and_never_gives_back() {
    let mut rounds = Rounds::new(&config("linux", &[]), true);
    assert_eq!(rounds.sizing.buffer(), 65_536);
    // 30 segments after 10, 200 % more: 2 x 30 x (1 + 2 x 2) = 300 segments. 60 after 30: 2 x 60 x (1 + 2 x 1) = 360. By twice what comes.
    assert_eq!([30, 30, 60, 60].map(|segments| rounds.round(segments)), [65_536, 125_536, 245_536, 360_000]);
    // 63 after 60: 138.6, which is less than before.
    assert_eq!([63, 63].map(|segments| rounds.round(segments)), [360_000, 360_000]);
    assert_eq!([20, 20].map(|segments| rounds.round(segments)), [360_000, 360_000]);
    rounds.sizing.on_memory(400_000);
    rounds.round(150);
    assert_eq!(rounds.round(150), 400_000);
    // All of tcp_wmem[2] is data, and of tcp_rmem[2] 1448 of 2304 bytes.
    let config = TcpConfig { mss: 1448, ..config("linux", &[]) };
    assert_eq!(bounds(&config), (4 << 20, (6 << 20) * 1448 / 2304));
    // Linux 6.18 advertised 3.93 MB at an MTU of 1500, and 4.47 MB at 9000 (100 ms, 1 Gbit/s).
    for (mss, advertised) in [(1448, 3.93e6), (8948, 4.47e6)] {
        let window = bounds(&TcpConfig { mss, ..config.clone() }).1 as f64;
        assert!((window / advertised - 1.0).abs() < 0.01, "{mss}: {window}");
    }
}

#[test]
fn linux_measures_what_share_of_its_memory_is_data() {
    // Linux 6.18 at an MTU of 9000: the window is 98,304 bytes once the first segments have come, three quarters of 131,072.
    let config = config("linux", &[("rmem_data", Value::Number(0.75))]);
    let mut rounds = Rounds::new(&config, true);
    assert_eq!(rounds.sizing.buffer(), 65_536);
    // Grows by twice what comes.
    assert_eq!(rounds.round(10), 85_538, "and twice the SYN");
    assert_eq!(rounds.round(10), 98_304);
    assert_eq!(bounds(&config), (4 << 20, 9 << 19));
}

#[test]
fn linux_lets_a_window_grow_as_far_as_the_kernel_does() {
    // Linux 6.18, an application that writes 20, 40, 60, 80, 160 and 400 segments a round trip: what TCP_INFO said was read in one (`rcv_space`),
    // and TCP_WINDOW_CLAMP after it, both in segments. Windows below the first 45 segments cannot be seen.
    let seen = [(17, 82), (31, 164), (38, 164), (41, 164), (42, 164), (47, 164), (61, 195), (70, 195), (75, 195), (81, 195), (82, 195)];
    let mut sizing = linux::Receive::new(&TcpConfig { mss: 1448, ..config("linux", &[]) });
    for (space, clamp) in seen.into_iter().chain([(157, 888), (161, 888), (170, 888), (401, 2982), (423, 2982)]) {
        let window = sizing.on_round(1448 * space) as f64 / 1448.0;
        assert!((window / f64::from(clamp) - 1.0).abs() < 0.005, "{space}: {window} for {clamp}");
    }
}

#[test]
fn linux_lets_a_window_of_large_segments_grow() {
    // Bytes read as TCP_INFO says (`rcv_space`) of a connection that is new, Linux 6.18: MTU of 1500, 3000, 5000, 9000 and 16,000 bytes.
    let seen = [(1448, 14_480), (2948, 29_480), (4948, 49_480), (8948, 56_588), (15_948, 49_588)];
    for (mss, space) in seen {
        let sizing = linux::Receive::new(&TcpConfig { mss, ..config("linux", &[]) });
        assert_eq!(sizing.measured().1, space);
    }
    // The first round trip that brings as much as the window lets through lets it grow: whole segments, or a part of one.
    for mss in (536..=65_000).step_by(1000) {
        let mut sizing = linux::Receive::new(&TcpConfig { mss, ..config("linux", &[]) });
        let (window, mss) = (sizing.buffer(), u64::from(mss));
        assert!(sizing.on_round((window / mss * mss).max(window.min(mss))) > window, "{mss}");
    }
}

fn bytes(n: u64) -> Value {
    Value::Capacity(Capacity::Bytes(n))
}

/// A sender with this cwnd, all of it in flight.
fn state(at: u64, round: u64, una: u64, cwnd: u64) -> SendState {
    let rtt = Duration::from_millis(100);
    SendState { now: ms(at), cwnd, ssthresh: 50_000, needed: cwnd, rwnd: 1 << 30, una, mss: 1000, round, srtt: rtt }
}

#[test]
fn a_source_keeps_what_its_window_needs() {
    let buffer = |name: &str, states: &[SendState]| {
        let config = config(name, &[]);
        let mut sizing = (kind(&config).send)(&config).expect("a kind that sizes send buffers");
        states.iter().map(|state| (sizing.update(state), sizing.buffer()).1).collect::<Vec<_>>()
    };
    let cwnds = [10_000, 20_000, 40_000, 20_000, 9_000].map(|cwnd| state(0, 0, 1, cwnd));
    // cwnd and three segments; in steps of four.
    assert_eq!(buffer("ideal", &cwnds), [13_000, 23_000, 43_000, 23_000, 12_000]);
    assert_eq!(buffer("drs", &cwnds), [16_000, 24_000, 44_000, 24_000, 12_000]);
    // Twice to four times cwnd: halving leaves it.
    assert_eq!(buffer("auto-psc", &cwnds), [40_000, 40_000, 80_000, 80_000, 36_000]);
    // The memory of two windows, 2304 bytes per segment, and nothing given back.
    assert_eq!(buffer("linux", &cwnds), [46_080, 92_160, 184_320, 184_320, 184_320]);
    // min(cwnd, awnd).
    let narrow = [SendState { rwnd: 5_000, ..cwnds[0] }];
    assert_eq!((buffer("ideal", &narrow), buffer("drs", &narrow)), (vec![8_000], vec![8_000]));
}

/// The search over a path on which `rate` gives throughput (bytes a second) and whether cwnd swings, by maxwnd. The maxwnd after each
/// period of eight round trips.
fn search(periods: u64, rate: impl Fn(u64) -> (u64, bool)) -> Vec<u64> {
    let config = config("search", &[("start", bytes(40_000))]);
    let mut sizing = (kind(&config).send)(&config).expect("it sizes send buffers");
    let (mut una, mut found) = (1, Vec::new());
    sizing.update(&state(0, 0, una, 1 << 20));
    for n in 1..=periods {
        let maxwnd = sizing.buffer();
        let (bps, swings) = rate(maxwnd);
        if swings {
            sizing.update(&state(800 * n - 400, 8 * n - 4, una, maxwnd / 2));
        }
        una += bps * 8 / 10;
        sizing.update(&state(800 * n, 8 * n, una, 1 << 20));
        found.push(sizing.buffer());
    }
    found
}

#[test]
fn the_search_raises_maxwnd_while_it_helps() {
    // Throughput is maxwnd over 100 ms, up to 100 segments' worth.
    let found = search(40, |maxwnd| (10 * maxwnd.min(100_000), false));
    assert_eq!(found[..3], [44_000, 48_400, 53_240]);
    // No better above 100,000: the raise that went beyond is taken back, and tried again after each rest.
    let settled = &found[12..];
    assert!(settled.iter().all(|maxwnd| (94_000..=114_500).contains(maxwnd)), "{settled:?}");
    let raised = settled.windows(2).filter(|w| w[1] > w[0]).count();
    assert!((2..=4).contains(&raised), "{settled:?}");
}

#[test]
fn the_search_steps_back_where_cwnd_swings() {
    // Beyond 80 segments queues overflow: half the throughput, and a cwnd that swings.
    let found = search(60, |maxwnd| if maxwnd > 80_000 { (400_000, true) } else { (10 * maxwnd, false) });
    let peak = found.iter().position(|maxwnd| *maxwnd > 80_000).expect("it gets there");
    // Back, and one step below what was good.
    assert!(found[peak + 1] < found[peak - 1] && found[peak + 1] > 60_000, "{found:?}");
    // Most of the time it is on the good side.
    let good = found[peak..].iter().filter(|maxwnd| **maxwnd <= 80_000).count();
    assert!(good * 10 >= (found.len() - peak) * 8, "{found:?}");
}

#[test]
fn defaults_are_within_their_bounds() {
    for entry in REGISTRY {
        assert!(entry.params.iter().any(|spec| spec.name == "maxwnd"), "{}", entry.name);
        for spec in entry.params {
            let default = spec.default.expect("window sizing has no parameter that must be given");
            if let Some(json) = spec.kind.write(default) {
                let literal = match (json.as_str(), json.as_f64(), json.as_i64()) {
                    (Some(text), ..) => longfat_core::params::Literal::Text(text),
                    (_, _, Some(n)) => longfat_core::params::Literal::Integer(n),
                    (_, x, _) => longfat_core::params::Literal::Float(x.unwrap()),
                };
                assert_eq!(spec.kind.read(literal), Ok(default), "{}: {}", entry.name, spec.name);
            }
        }
        assert_eq!((entry.check)(&config(entry.name, &[])), Ok(()), "{}", entry.name);
    }
}

#[test]
fn maxwnd_bounds_both_ends() {
    for name in NAMES {
        let bounded = config(name, &[("maxwnd", Value::Capacity(Capacity::Packets(7)))]);
        assert_eq!(bounds(&bounded), (7_000, 7_000), "{name}");
        let small = config(name, &[("maxwnd", bytes(999))]);
        let refusal = (kind(&small).check)(&small).expect_err("under a segment");
        assert_eq!((refusal.param, refusal.sentence.as_str()), ("maxwnd", "999 bytes are less than one segment of 1000 bytes"));
    }
}

proptest! {
    /// However the rate changes: with no gap, no mark and no silence a sender that was taken to have so much in flight still has.
    #[test]
    fn without_timestamps_a_longer_round_trip_is_no_smaller_flight(
        handshake in 1u64..500,
        spacings in prop::collection::vec(0u64..900, 1..40),
    ) {
        let config = config("drs", &[]);
        let mut meter = flight::FlightMeter::default();
        meter.on_established(Duration::from_millis(handshake));
        let (mut now, mut received, mut known) = (0, 1, 0);
        for spacing in spacings.into_iter().flat_map(|spacing| [spacing; 20]) {
            meter.on_answer(&Answer { now: ms(now), timestamp: None, received, edge: received + 30_000 });
            now += spacing;
            received += u64::from(config.mss);
            let arrival = Arrival { now: ms(now), received, read: received, next: received, echoed: None, marked: false, segment: 1_000 };
            if let Some(flight) = meter.on_arrival(&arrival, true) {
                prop_assert!(flight.bytes >= known, "{} after {known}", flight.bytes);
                known = flight.bytes;
            }
        }
    }

    /// Whatever comes, in whatever order and rhythm, a window is finite, and what is inferred is no more than what came.
    #[test]
    fn any_arrivals_are_taken(
        name in prop::sample::select(vec!["drs", "linux"]),
        timestamps: bool,
        events in prop::collection::vec((0u64..200, 0u64..20_000, 0u64..3_000, any::<bool>(), 0u32..300), 1..300),
    ) {
        let config = config(name, &[]);
        let mut sizing = (kind(&config).receive)(&config).unwrap();
        let (mut now, mut received, mut next) = (0, 1, 1);
        for (wait, came, gap, answers, ago) in events {
            now += wait;
            if answers {
                let edge = next + sizing.buffer();
                sizing.on_answer(&Answer { now: ms(now), timestamp: timestamps.then_some(now as u32), received, edge });
            } else {
                received += came;
                next = received - gap.min(received - next);
                let echoed = timestamps.then(|| (now as u32).wrapping_sub(ago));
                sizing.on_arrival(&Arrival { now: ms(now), received, read: next, next, echoed, marked: false, segment: 1_000 });
            }
            prop_assert!(sizing.measured().1 <= received.max(65_536));
            prop_assert!(sizing.buffer() >= 20_000 && sizing.buffer() <= 8 * received + 200_000);
        }
    }
}

use super::*;
use crate::congestion::choice;
use crate::stack;

const MSS: u64 = 1000;

fn bbr() -> Bbr {
    let plain = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
    Bbr::new(&TcpConfig { mss: MSS as u32, congestion_control: choice("bbr"), ..plain })
}

/// A path of 1 MB/s and 100 ms (BDP 100 segments), as its ACKs look: one for each `step` ms, rounds of 100 ms.
struct Path {
    bbr: Bbr,
    ms: u64,
    delivered: u64,
    rtt: u64,
    rate: f64,
    in_flight: u64,
}

impl Path {
    fn new() -> Self {
        let mut bbr = bbr();
        bbr.on_established(&Established { now: Time::ZERO, rtt: Some(Duration::from_millis(100)), sack: true, seed: 7 });
        Path { bbr, ms: 0, delivered: 0, rtt: 100, rate: 1e6, in_flight: 100 * MSS }
    }

    fn ack(&mut self) {
        self.ack_with(|_| {});
    }

    fn ack_with(&mut self, change: impl FnOnce(&mut AckSample)) {
        self.ms += 10;
        let news = (self.rate / 100.0) as u64;
        self.delivered += news;
        let in_a_round = (self.rate * self.rtt as f64 / 1e3) as u64;
        let rate = RateSample {
            delivered: in_a_round,
            interval: Duration::from_millis(self.rtt),
            prior_delivered: self.delivered.saturating_sub(in_a_round),
            total_delivered: self.delivered,
            in_flight: self.in_flight,
            rtt: Some(Duration::from_millis(self.rtt)),
            ..RateSample::default()
        };
        let mut ack = AckSample {
            now: Time::ZERO + Duration::from_millis(self.ms),
            acked: news,
            delivered: news,
            in_flight: self.in_flight,
            srtt: Duration::from_millis(100),
            rate: Some(rate),
            ..AckSample::default()
        };
        change(&mut ack);
        self.bbr.on_sample(&ack);
    }

    /// ACKs until `done`, for at most `seconds`.
    fn until(&mut self, seconds: u64, done: impl Fn(&Bbr) -> bool) {
        let end = self.ms + seconds * 1000;
        while !done(&self.bbr) {
            assert!(self.ms < end, "not within {seconds} s: {:?}", self.bbr);
            self.ack();
        }
    }

    fn steady() -> Self {
        let mut path = Path::new();
        path.until(5, |b| matches!(b.state, State::ProbeBw { .. }));
        path
    }

    fn pacing(&self) -> f64 {
        self.bbr.pacing_rate().unwrap().as_bps() as f64 / 8.0
    }
}

fn loss(now: u64) -> CongestionEvent {
    CongestionEvent { now: Time::ZERO + Duration::from_millis(now), kind: Congestion::Loss, flight_size: 0 }
}

#[test]
fn starts_at_the_high_gain_over_the_handshake() {
    let bbr = bbr();
    // §4.2.1: without a round trip, 1 ms.
    assert_eq!(bbr.pacing_rate().unwrap().as_bps(), (HIGH_GAIN * 10_000.0 / 1e-3 * 8.0) as u64);
    let path = Path::new();
    assert!((path.pacing() - HIGH_GAIN * 10_000.0 / 0.1).abs() < 1.0);
}

#[test]
fn leaves_startup_after_three_rounds_of_no_growth() {
    let mut path = Path::new();
    // Growing by a quarter each round: never full.
    path.rate = 1e5;
    for _ in 0..8 {
        let round = path.bbr.rounds.count;
        while path.bbr.rounds.count == round {
            path.ack();
        }
        path.rate *= 1.3;
        assert_eq!(path.bbr.state, State::Startup);
    }
    // Now it stands: the round that brings the new rate, and three that do not better it.
    path.in_flight = 1000 * MSS;
    let grown = path.bbr.rounds.count;
    path.until(5, |b| b.state == State::Drain);
    assert!((4..=5).contains(&(path.bbr.rounds.count - grown)), "{}", path.bbr.rounds.count - grown);
    assert!((path.pacing() / (path.bbr.bandwidth.max() / HIGH_GAIN) - 1.0).abs() < 1e-6);
    // Drained when no more is in flight than the BDP and three quanta.
    path.ack();
    assert_eq!(path.bbr.state, State::Drain);
    path.in_flight = path.bbr.target(1.0);
    path.ack();
    assert!(matches!(path.bbr.state, State::ProbeBw { .. }));
}

#[test]
fn application_limited_rounds_do_not_end_startup_nor_lower_the_model() {
    let mut path = Path::new();
    for _ in 0..20 {
        path.ack();
    }
    let bandwidth = path.bbr.bandwidth.max();
    let count = path.bbr.rounds.count;
    path.rate = 5e5;
    while path.bbr.rounds.count < count + 8 {
        path.ack_with(|ack| ack.rate.as_mut().unwrap().app_limited = true);
    }
    assert_eq!((path.bbr.state, path.bbr.bandwidth.max()), (State::Startup, bandwidth));
}

#[test]
fn cycles_through_its_gains_a_min_rtt_each() {
    let mut path = Path::steady();
    let mut phases = Vec::new();
    // Bytes in flight follow the gains.
    for _ in 0..400 {
        let State::ProbeBw { phase, .. } = path.bbr.state else { panic!("{:?}", path.bbr.state) };
        if phases.last().is_none_or(|(p, _)| *p != phase) {
            phases.push((phase, path.ms));
        }
        path.in_flight = if phase == 0 { 200 * MSS } else { 150 * MSS };
        path.ack();
        assert!(path.bbr.cwnd() <= path.bbr.target(2.0) + path.bbr.extra_acked());
    }
    assert!(phases.windows(2).all(|w| w[1].0 == (w[0].0 + 1) % 8), "{phases:?}");
    // Longer than a round trip of 100 ms by the clock of the ACKs.
    assert!(phases.windows(2).skip(1).all(|w| (101..=120).contains(&(w[1].1 - w[0].1))), "{phases:?}");
    assert_ne!(phases[0].0, 1, "§4.3.4.2: not with the 3/4");
}

#[test]
fn probing_up_waits_for_what_it_wants_in_flight_or_for_a_loss() {
    let mut path = Path::steady();
    path.until(5, |b| matches!(b.state, State::ProbeBw { phase: 0, .. }));
    for _ in 0..50 {
        path.ack();
    }
    assert!(matches!(path.bbr.state, State::ProbeBw { phase: 0, .. }), "100 segments in flight are not 125");
    path.bbr.on_lost(&LostPacket { start: 0, end: MSS, ..LostPacket::default() });
    path.ack();
    assert!(matches!(path.bbr.state, State::ProbeBw { phase: 1, .. }));
    path.ack();
    assert!(matches!(path.bbr.state, State::ProbeBw { phase: 2, .. }), "drained already");
}

#[test]
fn a_recovery_conserves_packets_for_a_round_and_then_restores_cwnd() {
    let mut path = Path::steady();
    for _ in 0..30 {
        path.ack();
    }
    let before = path.bbr.cwnd();
    path.bbr.on_lost(&LostPacket { start: 0, end: 3 * MSS, ..LostPacket::default() });
    path.bbr.on_congestion(&loss(path.ms));
    // §4.2.3.4: what is in flight, and what this ACK delivered.
    assert_eq!(path.bbr.cwnd(), (100 - 3 + 10) * MSS);
    path.in_flight = 90 * MSS;
    let recovery = |ack: &mut AckSample| ack.in_recovery = true;
    path.ack_with(recovery);
    assert_eq!(path.bbr.cwnd(), 107 * MSS);
    path.bbr.on_lost(&LostPacket { start: 5 * MSS, end: 10 * MSS, ..LostPacket::default() });
    assert_eq!(path.bbr.cwnd(), 102 * MSS, "at once: what the same ACK lets out comes after it");
    path.ack_with(recovery);
    assert_eq!(path.bbr.cwnd(), 102 * MSS);
    for _ in 0..10 {
        path.ack_with(recovery);
    }
    assert!(path.bbr.conserve_until.is_none(), "a round is over");
    assert!(path.bbr.cwnd() > 102 * MSS && path.bbr.cwnd() < before);
    path.bbr.on_recovered(Time::ZERO);
    assert_eq!(path.bbr.cwnd(), before);
}

/// §4.2.3.4: the first round is that of the loss-repair process, which ends when nothing is left to be repaired.
#[test]
fn recoveries_that_one_ack_joins_are_one() {
    let recovery = |ack: &mut AckSample| ack.in_recovery = true;
    let joined = |path: &mut Path| {
        path.bbr.on_recovered(Time::ZERO + Duration::from_millis(path.ms));
        path.bbr.on_congestion(&loss(path.ms));
    };
    let mut path = Path::steady();
    for _ in 0..30 {
        path.ack();
    }
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(&loss(path.ms));
    path.in_flight = 20 * MSS;
    path.ack_with(recovery);
    // In the first round: it is still the first, and still the window of conservation.
    let (cwnd, until) = (path.bbr.cwnd(), path.bbr.conserve_until);
    joined(&mut path);
    assert!(path.bbr.cwnd.recovering && until.is_some());
    assert_eq!((path.bbr.cwnd(), path.bbr.conserve_until), (cwnd, until));
    // In a later one: cwnd grows on by what arrives.
    for _ in 0..10 {
        path.ack_with(recovery);
    }
    assert!(path.bbr.conserve_until.is_none());
    path.bbr.cwnd.bytes = 30 * MSS;
    joined(&mut path);
    assert_eq!((path.bbr.cwnd(), path.bbr.conserve_until), (30 * MSS, None));
    path.ack_with(recovery);
    assert_eq!(path.bbr.cwnd(), 40 * MSS);
    // Over: the window of before all of them. And a loss with the next ACK begins anew.
    path.bbr.on_recovered(Time::ZERO + Duration::from_millis(path.ms));
    assert_eq!(path.bbr.cwnd(), before);
    path.ack();
    path.bbr.on_congestion(&loss(path.ms));
    assert_eq!(path.bbr.cwnd(), (20 + 10) * MSS);
    assert!(path.bbr.conserve_until.is_some());
}

/// A recovery after that of a timeout does not conserve packets.
#[test]
fn a_recovery_that_follows_that_of_a_timeout_conserves_nothing() {
    let mut path = Path::steady();
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(&CongestionEvent { kind: Congestion::Timeout, ..loss(path.ms) });
    for _ in 0..3 {
        path.ack_with(|ack| ack.after_timeout = true);
    }
    path.bbr.on_congestion(&loss(path.ms));
    assert_eq!((path.bbr.cwnd(), path.bbr.conserve_until), (31 * MSS, None));
    path.bbr.on_recovered(Time::ZERO + Duration::from_millis(path.ms));
    assert_eq!(path.bbr.cwnd(), before);
}

#[test]
fn a_timeout_leaves_one_segment_and_what_was_known_before() {
    let mut path = Path::steady();
    for _ in 0..30 {
        path.ack();
    }
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(&CongestionEvent { kind: Congestion::Timeout, ..loss(path.ms) });
    assert_eq!(path.bbr.cwnd(), MSS);
    path.bbr.on_congestion(&CongestionEvent { kind: Congestion::TimeoutAgain, ..loss(path.ms) });
    path.ack_with(|ack| ack.after_timeout = true);
    assert_eq!(path.bbr.cwnd(), 11 * MSS, "by what was delivered");
    path.ack();
    assert_eq!(path.bbr.cwnd(), before, "over: as before both");
}

#[test]
fn probe_rtt_comes_when_the_min_rtt_is_ten_seconds_old() {
    let mut path = Path::steady();
    path.rtt = 120;
    path.until(11, |b| matches!(b.state, State::ProbeRtt(_)));
    let cwnd = path.bbr.cwnd.prior;
    // The handshake's round trip is of time zero, those of Startup up to its end.
    assert!(path.ms > 10_000 && path.ms < 10_000 + 5_000, "{}", path.ms);
    assert_eq!(path.bbr.cwnd(), 4 * MSS);
    assert!(path.bbr.holds_back());
    for _ in 0..30 {
        path.ack();
    }
    assert_eq!(path.bbr.state, State::ProbeRtt(Drained::No), "100 segments are still in flight");
    (path.in_flight, path.rtt) = (4 * MSS, 105);
    let drained = path.ms;
    path.until(1, |b| matches!(b.state, State::ProbeBw { .. }));
    assert!((210..=230).contains(&(path.ms - drained)), "{}", path.ms - drained);
    assert_eq!(path.bbr.cwnd(), cwnd + 10 * MSS, "as before, and what this ACK delivered");
    assert!(path.bbr.min_rtt_at > Time::ZERO + Duration::from_millis(drained));
}

#[test]
fn idleness_is_as_good_as_probe_rtt_and_starts_again_at_the_bandwidth() {
    let mut path = Path::steady();
    path.until(5, |b| matches!(b.state, State::ProbeBw { phase: 0, .. }));
    path.ms += 20_000;
    path.bbr.on_idle_end(Time::ZERO + Duration::from_millis(path.ms));
    assert!((path.pacing() / path.bbr.bandwidth.max() - 1.0).abs() < 1e-6);
    path.ack();
    assert!(matches!(path.bbr.state, State::ProbeBw { .. }));
}

#[test]
fn samples_without_an_interval_leave_the_bandwidth_as_it_is() {
    let mut path = Path::steady();
    let bandwidth = path.bbr.bandwidth.max();
    // 50 rounds, where the filter is ten long.
    for _ in 0..500 {
        path.ack_with(|ack| ack.rate.as_mut().unwrap().interval = Duration::ZERO);
        assert_eq!(path.bbr.bandwidth.max(), bandwidth);
    }
    path.rate /= 2.0;
    path.until(3, |b| b.bandwidth.max() < 0.6 * bandwidth);
}

/// ACKs arrive together: 20 segments every 20 ms, where the path has 10 every 10 ms. The surplus is what is acknowledged beyond the
/// bandwidth, at most what it carries in 100 ms; without `extra_acked` there is none.
#[test]
fn the_window_has_room_for_acks_that_come_together() {
    let mut path = Path::new();
    path.until(5, |bbr| matches!(bbr.state, State::ProbeBw { .. }));
    let steady = path.bbr.target(2.0);
    for _ in 0..60 {
        path.ms += 190;
        path.ack_with(|ack| ack.delivered = 60 * MSS);
    }
    let extra = path.bbr.extra_acked();
    assert!((40 * MSS..=100 * MSS).contains(&extra), "{extra}");
    assert!(path.bbr.cwnd() > steady + 30 * MSS, "{} {steady}", path.bbr.cwnd());
    path.bbr.aggregation = None;
    assert_eq!(path.bbr.extra_acked(), 0);
}

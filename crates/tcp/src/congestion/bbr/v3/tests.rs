use super::*;
use crate::congestion::choice;
use crate::stack;

const MSS: u64 = 1000;

/// A path of 1 MB/s and 100 ms (BDP 100 segments), as its ACKs look: one for each 10 ms, rounds of 100 ms.
struct Path {
    bbr: Bbr3,
    ms: u64,
    delivered: u64,
    lost: u64,
    rtt: u64,
    rate: f64,
    in_flight: u64,
}

impl Path {
    fn new() -> Self {
        let plain = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
        let mut bbr = Bbr3::new(&TcpConfig { mss: MSS as u32, congestion_control: choice("bbr3"), ..plain });
        bbr.on_established(&Established { now: Time::ZERO, rtt: Some(Duration::from_millis(100)), sack: true, seed: 7 });
        Path { bbr, ms: 0, delivered: 0, lost: 0, rtt: 100, rate: 1e6, in_flight: 100 * MSS }
    }

    fn ack(&mut self) {
        self.ack_with(|_| {});
    }

    fn ack_with(&mut self, change: impl FnOnce(&mut AckSample)) {
        self.ms += 10;
        let news = (self.rate / 100.0) as u64;
        self.delivered += news;
        let in_flight = if self.bbr.in_probe_rtt() { self.in_flight.min(self.bbr.cwnd()) } else { self.in_flight };
        let in_a_round = (self.rate * self.rtt as f64 / 1e3) as u64;
        let rate = RateSample {
            delivered: in_a_round,
            interval: Duration::from_millis(self.rtt),
            prior_delivered: self.delivered.saturating_sub(in_a_round),
            total_delivered: self.delivered,
            in_flight,
            in_flight_then: in_flight,
            rtt: Some(Duration::from_millis(self.rtt)),
            ..RateSample::default()
        };
        let mut ack = AckSample {
            now: Time::ZERO + Duration::from_millis(self.ms),
            acked: news,
            delivered: news,
            in_flight,
            srtt: Duration::from_millis(100),
            rate: Some(rate),
            ..AckSample::default()
        };
        change(&mut ack);
        self.bbr.on_sample(&ack);
    }

    /// A segment is lost of `in_flight`, of which `lost` segments are by now.
    fn lose(&mut self, in_flight: u64, lost: u64) {
        self.lost += 2;
        let start = self.lost * MSS;
        let packet = LostPacket { start, end: start + MSS, in_flight_then: in_flight * MSS, lost: lost * MSS, ..LostPacket::default() };
        self.bbr.on_lost(&packet);
    }

    fn until(&mut self, seconds: u64, done: impl Fn(&Bbr3) -> bool) {
        let end = self.ms + seconds * 1000;
        while !done(&self.bbr) {
            assert!(self.ms < end, "not within {seconds} s: {:?}", self.bbr);
            self.ack();
        }
    }

    fn round(&mut self, mut each: impl FnMut(&mut Path)) {
        let round = self.bbr.rounds.count;
        while self.bbr.rounds.count == round {
            each(self);
        }
    }

    fn steady() -> Self {
        let mut path = Path::new();
        path.until(5, |b| b.state == State::Cruise);
        path
    }

    fn up() -> Self {
        let mut path = Path::steady();
        path.until(4, |b| b.state == State::Up);
        path
    }

    fn pacing(&self) -> f64 {
        self.bbr.pacing_rate().unwrap().as_bps() as f64 / 8.0
    }
}

fn event(kind: Congestion) -> CongestionEvent {
    CongestionEvent { now: Time::ZERO, kind, flight_size: 0 }
}

#[test]
fn startup_paces_at_four_ln_two_and_ends_on_a_plateau() {
    let mut path = Path::new();
    // §5.6.2: the initial window over the handshake's round trip.
    assert!((path.pacing() - 2.7726 * 10_000.0 / 0.1).abs() < 10.0);
    path.rate = 1e5;
    for _ in 0..8 {
        path.round(Path::ack);
        path.rate *= 1.3;
        assert_eq!(path.bbr.state, State::Startup);
    }
    path.in_flight = 1000 * MSS;
    let grown = path.bbr.rounds.count;
    path.until(5, |b| matches!(b.state, State::Drain { .. }));
    assert!((4..=5).contains(&(path.bbr.rounds.count - grown)));
    // §5.3.2 and the margin of §2.5.
    assert!((path.pacing() / (0.5 * 0.99 * path.bbr.max_bandwidth.max()) - 1.0).abs() < 1e-6);
    path.ack();
    assert!(matches!(path.bbr.state, State::Drain { .. }), "1000 segments are in flight");
    path.in_flight = path.bbr.inflight(path.bbr.bandwidth, 1.0);
    path.ack();
    assert_eq!(path.bbr.state, State::Cruise, "through DOWN at once: there is nothing more to drain");
}

#[test]
fn drain_gives_up_after_three_rounds() {
    let mut path = Path::new();
    path.in_flight = 1000 * MSS;
    path.until(5, |b| matches!(b.state, State::Drain { .. }));
    let from = path.bbr.rounds.count;
    path.until(5, |b| b.state == State::Down);
    assert_eq!(path.bbr.rounds.count - from, 4, "§5.3.2: more than three");
}

/// Startup with the bandwidth still growing, in recovery; an ACK a call of `each`, for three rounds or until Startup ends.
fn startup_with(mut each: impl FnMut(&mut Path)) -> Path {
    let mut path = Path::new();
    path.rate = 2e5;
    path.round(Path::ack);
    path.round(Path::ack);
    path.bbr.on_congestion(&event(Congestion::Loss));
    let until = path.bbr.rounds.count + 3;
    while path.bbr.rounds.count < until && path.bbr.state == State::Startup {
        path.rate *= 1.03;
        each(&mut path);
    }
    path
}

/// An ACK in recovery that says how many segments of 100 were lost within its round trip.
fn ack_with_losses(path: &mut Path, lost: u64) {
    path.ack_with(|ack| {
        ack.in_recovery = true;
        let rs = ack.rate.as_mut().unwrap();
        (rs.lost, rs.in_flight_then) = (lost * MSS, 100 * MSS);
    });
}

#[test]
fn startup_ends_on_losses_only_if_they_are_many_and_apart() {
    // §5.3.1.3. One loss an ACK is ten ranges a round; 5 % is too much, 1 % is not.
    let apart = |percent: u64| {
        startup_with(|path| {
            path.lose(100, percent);
            ack_with_losses(path, percent);
        })
    };
    let path = apart(5);
    assert!(matches!(path.bbr.state, State::Drain { .. }) && path.bbr.plateau.ever);
    assert_eq!(path.bbr.inflight_longterm, path.bbr.inflight_latest.max(path.bbr.bdp(path.bbr.bandwidth)));
    assert_eq!(apart(1).bbr.state, State::Startup);
    // All in one range.
    let path = startup_with(|path| {
        path.lost += 1;
        let start = path.lost * MSS;
        path.bbr.on_lost(&LostPacket { start, end: start + MSS, in_flight_then: 100 * MSS, lost: 5 * MSS, ..LostPacket::default() });
        ack_with_losses(path, 5);
    });
    assert_eq!(path.bbr.state, State::Startup);
}

#[test]
fn without_sack_one_loss_in_a_recovery_ends_startup() {
    let mut path = Path::new();
    path.bbr.sack = false;
    path.ack();
    path.lose(100, 1);
    path.bbr.on_congestion(&event(Congestion::Loss));
    assert_eq!(path.bbr.state, State::Startup);
    ack_with_losses(&mut path, 1);
    assert!(path.bbr.plateau.ever && path.bbr.state != State::Startup);
}

#[test]
fn a_startup_that_ended_on_losses_that_were_none_goes_on() {
    let mut path = startup_with(|path| {
        path.lose(100, 5);
        ack_with_losses(path, 5);
    });
    path.bbr.on_spurious();
    assert_eq!((path.bbr.state, path.bbr.plateau.ever, path.bbr.inflight_longterm), (State::Startup, false, UNBOUNDED));
}

#[test]
fn probes_every_two_to_three_seconds_through_all_states() {
    let mut path = Path::steady();
    let (mut states, mut ups) = (Vec::new(), Vec::new());
    for _ in 0..2000 {
        if path.bbr.state == State::Up && states.last() != Some(&State::Up) {
            ups.push(path.ms);
        }
        if states.last() != Some(&path.bbr.state) {
            states.push(path.bbr.state);
            let gains = match path.bbr.state {
                State::Down => (0.9, 2.0),
                State::Up => (1.25, 2.25),
                _ => (1.0, 2.0),
            };
            assert_eq!(path.bbr.gains(), gains);
        }
        // More than the BDP until DOWN has drained it; and ProbeRTT, which would begin the wait anew, is never due.
        path.in_flight = if path.bbr.state == State::Up { 120 * MSS } else { path.in_flight.saturating_sub(5 * MSS).max(100 * MSS) };
        path.bbr.rtt.probe_min_at = Time::ZERO + Duration::from_millis(path.ms);
        path.ack();
    }
    for pair in states.windows(2) {
        let next = match pair[0] {
            State::Cruise => State::Refill,
            State::Refill => State::Up,
            State::Up => State::Down,
            _ => State::Cruise,
        };
        assert_eq!(pair[1], next, "{states:?}");
    }
    // REFILL takes a round, UP three or four, and then it is 2 to 3 s from the start of DOWN.
    let gaps: Vec<u64> = ups.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.len() >= 5 && gaps.iter().all(|g| (2_300..=3_700).contains(g)), "{gaps:?}");
    assert!(gaps.iter().max().unwrap() - gaps.iter().min().unwrap() > 100, "not by a fixed clock: {gaps:?}");
}

#[test]
fn a_small_bdp_probes_as_often_as_reno_would() {
    // §5.3.3.8.2: 20 segments of BDP, so after about 20 rounds of 100 ms, no later.
    let mut path = Path::new();
    (path.rate, path.in_flight) = (1.5e5, 10 * MSS);
    path.until(5, |b| b.state == State::Cruise);
    let from = path.ms;
    path.until(3, |b| b.state == State::Refill);
    assert!((1300..=1700).contains(&(path.ms - from)), "{}", path.ms - from);
}

#[test]
fn up_goes_down_on_two_percent_of_losses_and_remembers_the_level() {
    let mut path = Path::up();
    path.lose(150, 3);
    assert_eq!(path.bbr.state, State::Up, "3 of 150 are not more than 2 %");
    path.lose(150, 4);
    assert_eq!(path.bbr.state, State::Down);
    assert!(path.bbr.cycle.prev_too_high);
    // §5.5.10.2: 149 were in flight before it, 3 lost: (0.02 * 149 - 3) / 0.98 of it fits.
    assert_eq!(path.bbr.inflight_longterm, ((149.0 + (0.02 * 149.0 - 3.0) / 0.98) * 1000.0) as u64);
    let level = path.bbr.inflight_longterm;
    path.lose(150, 5);
    assert_eq!(path.bbr.inflight_longterm, level, "once a probe");
    // Headroom of 15 % in CRUISE.
    path.until(5, |b| b.state == State::Cruise);
    path.ack();
    assert!(path.bbr.cwnd() <= level - (0.15 * level as f64) as u64);
    // §5.3.3.6: the next probe only touches the level, and the one after it, at once, is a whole one.
    path.until(6, |b| b.state == State::Up);
    path.in_flight = level;
    path.ack();
    assert_eq!((path.bbr.state, path.bbr.cycle.prev_precautionary), (State::Down, true));
    path.in_flight = 100 * MSS;
    let rounds = path.bbr.rounds.count;
    path.until(1, |b| b.state == State::Refill);
    assert_eq!(path.bbr.rounds.count - rounds, 1);
}

#[test]
fn the_longterm_level_falls_by_no_more_than_cubic_would() {
    let mut path = Path::up();
    let target = path.bbr.target_inflight();
    path.lose(20, 10);
    assert_eq!(path.bbr.inflight_longterm, (0.7 * target as f64) as u64);
}

#[test]
fn a_false_alarm_while_probing_is_taken_back() {
    let mut path = Path::up();
    path.bbr.on_congestion(&event(Congestion::Loss));
    path.lose(150, 10);
    assert_eq!(path.bbr.state, State::Down);
    let before = path.bbr.cwnd();
    path.bbr.on_spurious();
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::Refill, UNBOUNDED));
    assert!(path.bbr.cwnd() >= before);
}

#[test]
fn cruising_yields_to_losses_by_what_was_delivered_and_by_no_more_than_beta() {
    let mut path = Path::steady();
    path.ack();
    let (bandwidth, cwnd) = (path.bbr.max_bandwidth.max(), path.bbr.cwnd());
    // A round at 90 % with losses.
    path.rate = 9e5;
    for _ in 0..30 {
        path.lose(100, 1);
        path.ack();
    }
    assert!((path.bbr.bandwidth_shortterm - 9e5).abs() < 1e3, "{}", path.bbr.bandwidth_shortterm);
    assert!((path.bbr.bandwidth - 9e5).abs() < 1e3);
    assert!(path.bbr.inflight_shortterm < cwnd && path.bbr.cwnd() <= path.bbr.inflight_shortterm);
    // Nothing delivered to speak of: a factor of 0.7 a round.
    let mut path = Path::steady();
    path.ack();
    path.rate = 1e5;
    path.lose(100, 1);
    let mut low = Vec::new();
    for _ in 0..200 {
        path.lose(100, 1);
        path.ack();
        if low.last() != Some(&path.bbr.bandwidth_shortterm) && path.bbr.bandwidth_shortterm.is_finite() {
            low.push(path.bbr.bandwidth_shortterm);
        }
        if low.len() > 2 {
            break;
        }
    }
    assert!((low[1] / (0.7 * low[0]) - 1.0).abs() < 1e-9, "{low:?} of {bandwidth}");
    // REFILL forgets the short term.
    path.rate = 1e6;
    path.until(5, |b| b.state == State::Refill);
    assert_eq!((path.bbr.bandwidth_shortterm, path.bbr.inflight_shortterm), (f64::INFINITY, UNBOUNDED));
}

#[test]
fn the_longterm_level_rises_by_one_two_four_while_it_is_the_limit() {
    let mut path = Path::up();
    (path.bbr.inflight_longterm, path.bbr.cwnd.bytes) = (100 * MSS, 100 * MSS);
    (path.bbr.cycle.up_acked, path.bbr.cycle.up_acked_per_mss) = (0, 100 * MSS);
    let mut levels = vec![100];
    for _ in 0..5 {
        path.round(|path| {
            path.in_flight = 99 * MSS;
            path.ack_with(|ack| ack.cwnd_limited = true);
        });
        levels.push(path.bbr.inflight_longterm / MSS);
    }
    assert_eq!(path.bbr.state, State::Up, "limited by its own level, it cannot tell whether the path is full");
    let steps: Vec<u64> = levels.windows(2).map(|w| w[1] - w[0]).collect();
    // §5.3.3.5: 1, 2, 4, 8, 16, as far as whole segments and a slowly rising cwnd let them be.
    for (step, exact) in steps.iter().zip([1, 2, 4, 8, 16]) {
        assert!(step.abs_diff(exact) <= 1 + exact / 8, "{levels:?}");
    }
}

#[test]
fn a_mark_is_congestion() {
    let mut path = Path::up();
    path.bbr.on_congestion(&event(Congestion::Ecn));
    assert_eq!(path.bbr.state, State::Down);
    assert!(path.bbr.inflight_longterm != UNBOUNDED);
    let mut path = Path::steady();
    path.ack();
    path.bbr.on_congestion(&event(Congestion::Ecn));
    path.round(Path::ack);
    path.ack();
    assert!(path.bbr.bandwidth_shortterm.is_finite());
}

#[test]
fn probe_rtt_halves_the_flight_every_five_seconds_without_a_new_minimum() {
    let mut path = Path::steady();
    path.rtt = 110;
    path.until(6, Bbr3::in_probe_rtt);
    assert!((5_000..=5_500).contains(&path.ms), "{}", path.ms);
    assert_eq!(path.bbr.rtt.min, Some(Duration::from_millis(100)), "good for ten seconds");
    assert_eq!(path.bbr.cwnd(), path.bbr.probe_rtt_cwnd());
    assert!((45..=55).contains(&(path.bbr.cwnd() / MSS)), "{}", path.bbr.cwnd());
    assert!(path.bbr.holds_back());
    path.in_flight = path.bbr.cwnd();
    let drained = path.ms;
    path.until(1, |b| b.state == State::Cruise);
    assert!((210..=240).contains(&(path.ms - drained)), "{}", path.ms - drained);
    assert!(path.bbr.cwnd() > 100 * MSS);
    // The next: five seconds later, by when the old minimum is ten seconds old too.
    path.in_flight = 100 * MSS;
    path.until(6, Bbr3::in_probe_rtt);
    path.ack();
    assert_eq!(path.bbr.rtt.min, Some(Duration::from_millis(110)));
}

#[test]
fn bursts_of_acks_are_given_room() {
    let mut path = Path::steady();
    for _ in 0..100 {
        path.ack();
    }
    assert!(path.bbr.aggregation.extra.max() < 15_000.0, "{}", path.bbr.aggregation.extra.max());
    let smooth = path.bbr.cwnd();
    // Silence of 50 ms, then all of it at once.
    for _ in 0..20 {
        path.ms += 40;
        path.ack_with(|ack| ack.delivered = 50 * MSS);
    }
    let extra = path.bbr.aggregation.extra.max() as u64;
    assert!((49 * MSS..=52 * MSS).contains(&extra), "{extra}");
    assert!(path.bbr.cwnd() > smooth + 30 * MSS);
}

#[test]
fn a_timeout_leaves_one_segment_and_what_was_known_before() {
    let mut path = Path::steady();
    path.ack();
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(&event(Congestion::Timeout));
    assert_eq!(path.bbr.cwnd(), MSS);
    path.ack_with(|ack| ack.after_timeout = true);
    assert_eq!(path.bbr.cwnd(), 11 * MSS);
    path.ack();
    assert!(path.bbr.cwnd() >= before.min(path.bbr.inflight_shortterm));
}

#[test]
fn two_connections_do_not_probe_in_step() {
    let wait = |seed| {
        let mut path = Path::new();
        path.bbr.on_established(&Established { now: Time::ZERO, rtt: None, sack: true, seed });
        path.until(5, |b| b.state == State::Cruise);
        path.bbr.cycle.wait
    };
    assert_ne!(wait(1), wait(2));
    assert_eq!(wait(1), wait(1));
    assert!((Duration::from_secs(2)..Duration::from_secs(3)).contains(&wait(3)));
}

#[test]
fn samples_without_an_interval_leave_the_model_as_it_is() {
    let mut path = Path::steady();
    let (bandwidth, pacing) = (path.bbr.max_bandwidth.max(), path.pacing());
    // A minute: some twenty cycles of ProbeBW, of which none brings a rate.
    for _ in 0..6_000 {
        path.ack_with(|ack| ack.rate.as_mut().unwrap().interval = Duration::ZERO);
        assert_eq!(path.bbr.max_bandwidth.max(), bandwidth);
        assert!(path.pacing() >= 0.9 * 0.99 * bandwidth, "{} after {pacing}", path.pacing());
    }
    assert!(path.bbr.cycles > 10);
    // The first rate there is takes the place of all that was before.
    path.rate /= 2.0;
    path.until(10, |b| b.max_bandwidth.max() < 0.6 * bandwidth);
}

#[test]
fn no_rate_is_less_than_a_segment_a_second() {
    let mut path = Path::steady();
    path.rate = 100.0;
    path.until(60, |b| b.max_bandwidth.max() < 0.2 * MSS as f64);
    path.ack();
    assert_eq!(path.pacing(), MSS as f64);
}

//! PCC Vivace (Dong and others 2018): a sender that tries a little more and a little less, and follows the gradient of a utility of
//! rate, growth of the round trip, and loss.
//!
//! Abstract and summaries of the paper were read; section numbers, constants and what is not in them are from memory. Choices of ours
//! say so.

use super::promises::{beside_cubic, queues_bdp, uses};
use super::{
    AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Established, PathModel, PrrUse, Traits, Unused, Variable,
};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use crate::pacing::rate;
use crate::rate::{LostPacket, RateSample};
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use std::collections::VecDeque;

pub(super) const KIND: ControlKind = ControlKind {
    name: "vivace",
    summary: "follows the gradient of a utility by trying both sides of its rate",
    source: "Dong and others, PCC Vivace, NSDI 2018",
    params: &[
        ParamSpec {
            name: "exponent",
            kind: Kind::Number { min: 0.1, max: 0.99 },
            default: Some(Value::Number(0.9)),
            doc: "power of the rate in the utility",
        },
        ParamSpec {
            name: "latency_weight",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Some(Value::Number(900.0)),
            doc: "weight of the growth of round trips in the utility",
        },
        ParamSpec {
            name: "loss_weight",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            default: Some(Value::Number(11.35)),
            doc: "weight of the loss in the utility: 11.35 withstands 5 %",
        },
        ParamSpec {
            name: "epsilon",
            kind: Kind::Number { min: 0.01, max: 0.25 },
            default: Some(Value::Number(0.05)),
            doc: "share of the rate by which it tries more and less",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.85, "Dong and others 2018, section 5: near capacity; a trial at either side of it"),
        queues_bdp(0.0, 0.5, "Dong and others 2018, section 3: growth of the round trip lowers the utility"),
        // Nothing of how it shares: theorem 1 of the paper has equal shares in the end; two flows were far from it after 40 s.
        beside_cubic(0.0, 0.6, "Dong and others 2018, section 5: yields to CUBIC, whose queue grows"),
    ],
    build: |c| Box::new(Vivace::new(c)),
};

/// §4.1: the first conversion factor, in Mbit/s of change for a unit of gradient.
const THETA: f64 = 1.0;
/// §4.2: the first boundary of change as a share of the rate, and what is added to it while steps are cut.
const OMEGA: f64 = 0.05;
const OMEGA_STEP: f64 = 0.1;
/// §4.3: gradients of the round trip of less count as none.
const GRADIENT_FLOOR: f64 = 0.01;
/// Choices of ours. An interval that sent less than this part of its rate tells of another limit than the rate. None is shorter than so many
/// segments take, or there were nothing to fit a line through. The window leaves room for two round trips at the rate. No rate is under a
/// segment per round trip: a lower one takes longer to measure than to repair.
const FILLED: f64 = 0.75;
const LEAST_SEGMENTS: f64 = 10.0;
const CWND_GAIN: f64 = 2.0;
const MAX_RATE: f64 = 1e14 / 8.0;

/// A time in which the rate is one, and what came of its data. Seconds, and bytes per second.
#[derive(Clone, Copy, Debug)]
struct Interval {
    rate: f64,
    begin: Time,
    /// `None`: still sending.
    end: Option<Time>,
    role: Role,
    /// Bytes sent by the connection before it began, and by this interval once it ended.
    before: u64,
    sent: u64,
    delivered: u64,
    lost: u64,
    /// Sums of a regression of the round trip on the time of sending.
    n: f64,
    t: f64,
    tt: f64,
    r: f64,
    tr: f64,
}

/// Purpose of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Starting,
    Higher,
    Lower,
    /// Waits for the results of a pair.
    Between,
}

impl Interval {
    fn new(role: Role, rate: f64, begin: Time, before: u64) -> Self {
        let end = None;
        Interval { rate, begin, end, role, before, sent: 0, delivered: 0, lost: 0, n: 0.0, t: 0.0, tt: 0.0, r: 0.0, tr: 0.0 }
    }

    fn holds(&self, sent: Time) -> bool {
        sent >= self.begin && self.end.is_none_or(|end| sent < end)
    }

    /// Whether all that it sent has arrived or is lost. A loss is known a round trip after it at the latest (RFC 8985 §6.2): an ACK that
    /// covers data of both this interval and the next counts for the next.
    fn is_complete(&self, newest: Time, srtt: Duration) -> bool {
        self.end.is_some_and(|end| self.delivered + self.lost >= self.sent || newest > end && newest.since(end) >= srtt)
    }

    fn rtt(&mut self, sent: Time, rtt: f64) {
        let t = sent.since(self.begin).as_secs_f64();
        self.n += 1.0;
        self.t += t;
        self.tt += t * t;
        self.r += rtt;
        self.tr += t * rtt;
    }

    /// §4.3: the slope of the least-squares line, without the noise around zero.
    fn gradient(&self) -> f64 {
        let spread = self.n * self.tt - self.t * self.t;
        if self.n < 2.0 || spread <= 1e-18 {
            return 0.0;
        }
        let slope = (self.n * self.tr - self.t * self.r) / spread;
        if slope.abs() < GRADIENT_FLOOR { 0.0 } else { slope }
    }

    fn loss(&self) -> f64 {
        let all = self.delivered + self.lost;
        if all > 0 { self.lost as f64 / all as f64 } else { 0.0 }
    }

    fn duration(&self) -> f64 {
        self.end.map_or(0.0, |end| end.since(self.begin).as_secs_f64())
    }

    /// Bytes per second that were sent.
    fn sent_rate(&self) -> f64 {
        let duration = self.duration();
        if duration > 0.0 { self.sent as f64 / duration } else { 0.0 }
    }
}

/// Vivace's rate, the intervals whose results are out, and the size of its steps.
#[derive(Clone, Debug)]
pub struct Vivace {
    cwnd: u64,
    mss: u64,
    initial: u64,
    exponent: f64,
    latency_weight: f64,
    loss_weight: f64,
    epsilon: f64,
    /// Base rate in bytes per second; zero before the first round trip.
    rate: f64,
    srtt: Duration,
    /// Bytes sent so far, and when the newest that arrived was sent.
    sent: u64,
    newest: Time,
    intervals: VecDeque<Interval>,
    starting: bool,
    /// Rate and utility of the last interval of the start.
    best: Option<(f64, f64)>,
    /// Result of the first of a pair.
    first: Option<(Role, f64)>,
    higher_first: bool,
    /// Sign of the last step, steps of that sign in a row, and steps in a row that were cut.
    rises: bool,
    steps: u32,
    cut: u32,
    /// cwnd before a timeout.
    before: Option<(u64, f64)>,
    rng: Rng,
}

impl Vivace {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Vivace {
            cwnd: config.first_window(),
            mss: u64::from(config.mss),
            initial: config.first_window(),
            exponent: params.number("exponent"),
            latency_weight: params.number("latency_weight"),
            loss_weight: params.number("loss_weight"),
            epsilon: params.number("epsilon"),
            rate: 0.0,
            srtt: Duration::ZERO,
            sent: 0,
            newest: Time::ZERO,
            intervals: VecDeque::new(),
            starting: true,
            best: None,
            first: None,
            higher_first: true,
            rises: true,
            steps: 0,
            cut: 0,
            before: None,
            rng: Rng::named(0, "vivace"),
        }
    }

    /// §3: x^t - b x d(RTT)/dT - c x L, in Mbit/s.
    fn utility(&self, interval: &Interval) -> f64 {
        let x = interval.rate * 8e-6;
        libm::pow(x, self.exponent) - self.latency_weight * x * interval.gradient() - self.loss_weight * x * interval.loss()
    }

    fn floor(&self) -> f64 {
        self.mss as f64 / if self.srtt.is_zero() { 1.0 } else { self.srtt.as_secs_f64() }
    }

    fn set_rate(&mut self, bytes_per_second: f64) {
        self.rate = bytes_per_second.max(self.floor()).min(MAX_RATE);
    }

    /// Rate at which it sends now.
    fn sending(&self) -> f64 {
        self.intervals.back().map_or(self.rate, |interval| interval.rate)
    }

    fn begin(&mut self, role: Role, now: Time) {
        let rate = match role {
            Role::Higher => self.rate * (1.0 + self.epsilon),
            Role::Lower => self.rate * (1.0 - self.epsilon),
            Role::Starting | Role::Between => self.rate,
        };
        self.intervals.push_back(Interval::new(role, rate.max(self.floor()).min(MAX_RATE), now, self.sent));
    }

    /// A pair of trials, in random order.
    fn begin_pair(&mut self, now: Time) {
        self.first = None;
        self.higher_first = self.rng.chance(0.5);
        self.begin(if self.higher_first { Role::Higher } else { Role::Lower }, now);
    }

    /// Ends the interval that is sending if it lasted a round trip (§2), and begins the next.
    fn advance(&mut self, now: Time) {
        let Some(last) = self.intervals.back_mut() else {
            if self.starting {
                self.begin(Role::Starting, now);
            } else {
                self.begin_pair(now);
            }
            return;
        };
        let least = LEAST_SEGMENTS * self.mss as f64 / last.rate;
        let lasts = self.srtt.as_secs_f64().max(least);
        if last.role == Role::Between || now.since(last.begin).as_secs_f64() < lasts {
            return;
        }
        (last.end, last.sent) = (Some(now), self.sent.saturating_sub(last.before));
        match last.role {
            Role::Starting => {
                self.set_rate(2.0 * self.rate);
                self.begin(Role::Starting, now);
            }
            Role::Higher if self.higher_first => self.begin(Role::Lower, now),
            Role::Lower if !self.higher_first => self.begin(Role::Higher, now),
            _ => self.begin(Role::Between, now),
        }
    }

    /// Results of `interval` are complete.
    fn complete(&mut self, interval: &Interval, now: Time) {
        let utility = self.utility(interval);
        let is_filled = interval.sent_rate() >= FILLED * interval.rate;
        match interval.role {
            Role::Starting => {
                // §2: the start doubles the rate while utility grows, and goes back to the best.
                let grew = utility > self.best.map_or(0.0, |(_, best)| best);
                if grew && is_filled {
                    self.best = Some((interval.rate, utility));
                    return;
                }
                // Where another limit than the rate decided, it goes on from what was sent.
                let back = if is_filled { self.best.map_or(interval.rate / 2.0, |(rate, _)| rate) } else { interval.sent_rate() };
                self.set_rate(back.min(interval.rate));
                (self.starting, self.best) = (!is_filled && grew, None);
                self.intervals.clear();
                self.advance(now);
            }
            Role::Between => {}
            _ if !is_filled => {
                // Neither more nor less than what is sent: another limit decides.
                self.set_rate(self.rate.min(interval.sent_rate().max(self.rate * FILLED)));
                (self.steps, self.cut) = (0, 0);
                self.intervals.clear();
                self.advance(now);
            }
            role => match self.first.take() {
                None => self.first = Some((role, utility)),
                Some((_, first)) => {
                    let (higher, lower) = if role == Role::Lower { (first, utility) } else { (utility, first) };
                    self.step((higher - lower) / (2.0 * self.epsilon * self.rate * 8e-6));
                    self.intervals.clear();
                    self.advance(now);
                }
            },
        }
    }

    /// §4: moves the rate along the gradient of the utility.
    fn step(&mut self, gradient: f64) {
        let rises = gradient > 0.0;
        if rises == self.rises {
            self.steps = self.steps.saturating_add(1);
        } else {
            (self.rises, self.steps, self.cut) = (rises, 1, 0);
        }
        // §4.1, the confidence amplifier: m(t) is t to the third step of one sign, and 2 t - 3 from there on.
        let t = f64::from(self.steps);
        let amplifier = if self.steps <= 3 { t } else { 2.0 * t - 3.0 };
        let wanted = amplifier * THETA * gradient * 1e6 / 8.0;
        // §4.2, the dynamic boundary: omega0 + k delta of the rate, k being the steps in a row that it cut.
        let most = (OMEGA + f64::from(self.cut) * OMEGA_STEP) * self.rate;
        if wanted.abs() > most {
            self.cut = self.cut.saturating_add(1);
        } else {
            // The least k whose boundary would have held this step.
            let needed = ((wanted.abs() / self.rate - OMEGA) / OMEGA_STEP).max(0.0);
            self.cut = self.cut.min(libm::ceil(needed) as u32);
        }
        // Half at most: a boundary of more than the rate would make it negative.
        let step = wanted.clamp(-most, most).max(-self.rate / 2.0);
        self.set_rate(self.rate + step);
    }

    /// Sorts this ACK into the interval in which its data was sent, and completes those whose data is all accounted for.
    fn account(&mut self, ack: &AckSample, rs: &RateSample) {
        self.sent = rs.total_delivered + rs.total_lost + rs.in_flight;
        self.newest = self.newest.max(rs.sent_at);
        if let Some(interval) = self.intervals.iter_mut().find(|interval| interval.holds(rs.sent_at)) {
            interval.delivered += ack.delivered;
            if let Some(rtt) = rs.rtt.filter(|rtt| !rtt.is_zero()) {
                interval.rtt(rs.sent_at, rtt.as_secs_f64());
            }
        }
        while let Some(front) = self.intervals.front().copied().filter(|front| front.is_complete(self.newest, self.srtt)) {
            self.intervals.pop_front();
            self.complete(&front, ack.now);
        }
    }

    fn set_cwnd(&mut self, delivered: u64) {
        let target = (CWND_GAIN * self.sending() * self.srtt.as_secs_f64()) as u64 + 4 * self.mss;
        self.cwnd = (self.cwnd + delivered).min(target.max(4 * self.mss)).min(1 << 30).max(self.mss);
    }

    fn reset(&mut self) {
        self.intervals.clear();
        (self.first, self.best, self.steps, self.cut) = (None, None, 0, 0);
    }
}

impl CongestionControl for Vivace {
    fn traits(&self) -> Traits {
        Traits { prr: PrrUse::Never, wants_rate: true, ..Traits::WINDOW }
    }

    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![
            Variable::bytes("cwnd", &mut self.cwnd, self.mss),
            Variable::rate("rate", &mut self.rate),
            Variable::flag("starting", &mut self.starting),
        ]
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| rate(self.sending()))
    }

    fn on_sample(&mut self, ack: &AckSample) {
        let Some(rs) = &ack.rate else { return };
        if !ack.srtt.is_zero() {
            self.srtt = ack.srtt;
        }
        if self.srtt.is_zero() {
            return;
        }
        if self.rate == 0.0 {
            // A choice of ours: the initial window in a round trip, as where a window begins.
            self.set_rate(self.initial as f64 / self.srtt.as_secs_f64());
        }
        self.account(ack, rs);
        self.advance(ack.now);
        self.set_cwnd(ack.delivered);
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            // §3: a loss is a part of the utility, and no signal of its own.
            Congestion::Loss | Congestion::Ecn | Congestion::Local => self.before = None,
            // A choice of ours: RFC 9743 §5.1.1 wants a full retreat where nothing arrives.
            // One again without progress is of a path that went away, whose rate is to be found anew.
            Congestion::Timeout | Congestion::TimeoutAgain => {
                self.starting = event.kind == Congestion::TimeoutAgain;
                if !self.starting {
                    self.before = Some((self.cwnd, self.rate));
                }
                self.cwnd = self.mss;
                self.set_rate(self.rate / 2.0);
                self.reset();
            }
        }
    }

    fn on_recovered(&mut self, _now: Time) {}

    fn on_spurious(&mut self) {
        if let Some((cwnd, rate)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.rate = self.rate.max(rate);
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        if let Unused::Idle(_) = unused {
            self.cwnd = self.cwnd.min(self.initial);
            self.reset();
        }
    }
}

impl PathModel for Vivace {
    fn on_established(&mut self, established: &Established) {
        self.rng = Rng::named(established.seed, "vivace");
    }

    fn on_syn_loss(&mut self) {
        (self.cwnd, self.initial) = (self.mss, self.mss);
    }

    fn on_lost(&mut self, packet: &LostPacket) {
        if let Some(interval) = self.intervals.iter_mut().find(|interval| interval.holds(packet.sent_at)) {
            interval.lost += packet.end - packet.start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn vivace() -> Vivace {
        Vivace::new(&config("vivace", &[], 10))
    }

    fn mbps(n: f64) -> f64 {
        n * 1e6 / 8.0
    }

    /// An interval of a second at `n` Mbit/s, with this slope of the round trip and this loss.
    fn interval(n: f64, slope: f64, loss: f64) -> Interval {
        let mut interval = Interval::new(Role::Higher, mbps(n), Time::ZERO, 0);
        for i in 0..100 {
            let sent = Time::ZERO + Duration::from_millis(10 * i);
            interval.rtt(sent, 0.1 + slope * 0.01 * i as f64);
        }
        interval.end = Some(Time::ZERO + Duration::from_secs(1));
        let lost = (mbps(n) * loss) as u64;
        (interval.sent, interval.lost) = (mbps(n) as u64, lost);
        interval.delivered = interval.sent - lost;
        interval
    }

    #[test]
    fn the_utility_is_that_of_the_paper() {
        let v = vivace();
        let near = |interval: Interval, expected: f64| {
            let got = v.utility(&interval);
            assert!((got - expected).abs() < 1e-6 * expected.abs(), "{got}, not {expected}");
        };
        // 10^0.9 = 7.943; 900 x 10 x 0.02 = 180; 11.35 x 10 x 0.05 = 5.675.
        near(interval(10.0, 0.0, 0.0), 7.943_282_347);
        near(interval(10.0, 0.02, 0.0), 7.943_282_347 - 180.0);
        near(interval(10.0, 0.0, 0.05), 7.943_282_347 - 5.675);
        // A slope of less than 0.01 is noise.
        near(interval(10.0, 0.009, 0.0), 7.943_282_347);
    }

    /// Steps of the same sign: 1, 2, 3, 5, 7 times the gradient; the boundary is 5 % of the rate and widens by 10 % where it cuts.
    #[test]
    fn steps_are_amplified_and_bounded() {
        let mut v = vivace();
        v.set_rate(mbps(1000.0));
        v.rises = true;
        let mut rates = Vec::new();
        for _ in 0..5 {
            v.step(1.0);
            rates.push((v.rate * 8e-6).round());
        }
        assert_eq!(rates, [1001.0, 1003.0, 1006.0, 1011.0, 1018.0]);
        // The other sign begins anew.
        v.step(-1.0);
        assert_eq!((v.rate * 8e-6).round(), 1017.0);
        let mut v = vivace();
        v.set_rate(mbps(100.0));
        let rates: Vec<f64> = (0..3)
            .map(|_| {
                v.step(1000.0);
                (v.rate * 8e-6).round()
            })
            .collect();
        // 5 % of 100, 15 % of 105, 25 % of 120.75.
        assert_eq!(rates, [105.0, 121.0, 151.0]);
    }

    #[test]
    fn a_pair_decides_by_its_utilities() {
        for (worse, expected) in [(Role::Higher, 95.0), (Role::Lower, 105.0)] {
            let mut v = vivace();
            v.srtt = Duration::from_millis(100);
            v.starting = false;
            v.set_rate(mbps(100.0));
            let now = Time::ZERO + Duration::from_secs(3);
            for role in [Role::Lower, Role::Higher] {
                let slope = if role == worse { 0.05 } else { 0.0 };
                let rate = if role == Role::Higher { 105.0 } else { 95.0 };
                v.complete(&Interval { role, ..interval(rate, slope, 0.0) }, now);
            }
            assert_eq!((v.rate * 8e-6).round(), expected, "{worse:?}");
        }
    }

    /// ACKs of what was sent in one interval come while the next is sending, and its losses later still.
    #[test]
    fn arrivals_and_losses_count_for_the_interval_in_which_they_were_sent() {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let mut v = vivace();
        (v.srtt, v.starting, v.higher_first) = (Duration::from_millis(100), false, true);
        v.set_rate(40.0 * MSS as f64);
        v.begin(Role::Higher, at(0));
        (v.intervals[0].end, v.intervals[0].sent) = (Some(at(100)), 4 * MSS);
        v.begin(Role::Lower, at(100));
        let arrive = |v: &mut Vivace, now: u64, sent: u64, rtt: Option<Duration>| {
            let rs = RateSample { sent_at: at(sent), rtt, ..RateSample::default() };
            v.account(&AckSample { now: at(now), delivered: 2 * MSS, ..AckSample::default() }, &rs);
        };
        arrive(&mut v, 150, 50, Some(Duration::from_millis(100)));
        // A retransmission has no round trip, and counts all the same.
        arrive(&mut v, 201, 101, None);
        assert_eq!((v.intervals[0].delivered, v.intervals[1].delivered), (2 * MSS, 2 * MSS));
        assert_eq!((v.intervals[0].n, v.intervals[1].n), (1.0, 0.0));
        assert!(v.first.is_none(), "two segments of the first are still out");
        v.on_lost(&LostPacket { end: 2 * MSS, sent_at: at(99), ..LostPacket::default() });
        arrive(&mut v, 203, 103, None);
        // 40 segments per second, 5 % more: 0.336 Mbit/s. 0.336^0.9 - 11.35 x 0.336 x 0.5 = -1.532.
        let (role, utility) = v.first.unwrap();
        assert!(role == Role::Higher && (utility + 1.532).abs() < 1e-3, "{utility}");
        assert_eq!(v.intervals[0].lost, 0);
    }

    #[test]
    fn a_timeout_takes_half_and_leaves_a_segment_per_round_trip() {
        let mut v = vivace();
        v.srtt = Duration::from_millis(100);
        v.set_rate(mbps(80.0));
        reduce(&mut v, Time::ZERO, Congestion::Timeout);
        assert_eq!(((v.rate * 8e-6).round(), v.starting), (40.0, false));
        for _ in 0..30 {
            reduce(&mut v, Time::ZERO, Congestion::TimeoutAgain);
        }
        assert_eq!((v.rate, v.starting), (10.0 * MSS as f64, true));
        v.on_spurious();
        assert_eq!((v.rate * 8e-6).round(), 80.0);
    }

    #[test]
    fn an_interval_that_was_not_filled_decides_nothing() {
        let mut v = vivace();
        v.srtt = Duration::from_millis(100);
        v.starting = false;
        v.set_rate(mbps(100.0));
        let mut half = interval(105.0, 0.0, 0.0);
        half.sent /= 2;
        v.complete(&half, Time::ZERO + Duration::from_secs(3));
        assert_eq!((v.rate * 8e-6).round(), 75.0, "to three quarters at once, and on from there");
        assert!(v.first.is_none());
    }

    #[test]
    fn the_start_doubles_and_goes_back_when_utility_falls() {
        let mut v = vivace();
        v.srtt = Duration::from_millis(100);
        v.set_rate(mbps(80.0));
        let now = Time::ZERO + Duration::from_secs(3);
        v.begin(Role::Starting, now);
        v.complete(&Interval { role: Role::Starting, ..interval(20.0, 0.0, 0.0) }, now);
        v.complete(&Interval { role: Role::Starting, ..interval(40.0, 0.5, 0.0) }, now);
        assert!(!v.starting);
        assert_eq!((v.rate * 8e-6).round(), 20.0);
    }
}

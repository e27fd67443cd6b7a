//! H-TCP (Leith and Shorten 2004): the increase grows with the time since the last congestion event, and the decrease is
//! what empties the queue and no more.

use super::promises::{CONVERGES, FULL, beside_cubic, queues_bdp};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::{Duration, Time};

pub(super) const KIND: ControlKind = ControlKind {
    name: "htcp",
    summary: "AIMD whose increase is a quadratic of the time since the last loss, its decrease RTTmin/RTTmax",
    source: "Leith and Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004; draft-leith-tcp-htcp-06",
    params: &[
        ParamSpec {
            name: "rtt_scaling",
            kind: Kind::Bool,
            default: Some(Value::Bool(true)),
            doc: "scale the increase by RTT / 100 ms, so that growth in time does not depend on the round trip",
        },
        ParamSpec {
            name: "adaptive_backoff",
            kind: Kind::Bool,
            default: Some(Value::Bool(true)),
            doc: "after a loss keep RTTmin / RTTmax of the window, between 0.5 and 0.8; off: half",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        queues_bdp(
            0.2,
            0.56,
            "Leith and Shorten 2004: a loss leaves RTTmin / RTTmax; growth that speeds up keeps the mean under 0.56, that of a straight line",
        ),
        CONVERGES,
        beside_cubic(0.3, 0.7, "Leith and Shorten 2004: Reno for the first second after a loss, faster then"),
    ],
    build: |c| Box::new(Htcp::new(c)),
};

/// Leith and Shorten 2004 §2: for so long after a congestion event it is Reno, in seconds.
const DELTA_L: f64 = 1.0;
/// Leith and Shorten 2004 §2: a throughput that differs by more from that of the last event means another path: halve.
const DELTA_B: f64 = 0.2;
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// The round trip whose growth all others get, and how far the scaling may go.
const RTT_REFERENCE: f64 = 0.1;
const SCALE_MIN: f64 = 0.1;
const SCALE_MAX: f64 = 10.0;

/// Epoch that a congestion event begins.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time of the event, later by the time in which cwnd was not the limit.
    start: Time,
    /// The largest round trip since.
    rtt_max: Duration,
    beta: f64,
    /// Bytes per second delivered just before it.
    throughput: f64,
}

/// H-TCP's variables.
#[derive(Clone, Debug)]
pub struct Htcp {
    window: Window,
    rtt_scaling: bool,
    adaptive_backoff: bool,
    /// None until there is an ACK to count time from.
    epoch: Option<Epoch>,
    before: Option<Epoch>,
    rtt_min: Duration,
    scale: f64,
    /// The round trip under way, and the bytes per second delivered in the last whole one.
    round: u64,
    round_start: Time,
    delivered: u64,
    throughput: f64,
    last_ack: Time,
}

impl Htcp {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Htcp {
            window: Window::new(config),
            rtt_scaling: params.boolean("rtt_scaling"),
            adaptive_backoff: params.boolean("adaptive_backoff"),
            epoch: None,
            before: None,
            rtt_min: Duration::ZERO,
            scale: 1.0,
            round: 0,
            round_start: Time::ZERO,
            delivered: 0,
            throughput: 0.0,
            last_ack: Time::ZERO,
        }
    }

    fn new_rtt_min(&mut self, rtt_min: Duration) {
        self.rtt_min = rtt_min;
        if self.rtt_scaling {
            self.scale = (rtt_min.as_secs_f64() / RTT_REFERENCE).clamp(SCALE_MIN, SCALE_MAX);
        }
    }

    fn end_round(&mut self, ack: &AckSample) {
        let span = ack.now.since(self.round_start).as_secs_f64();
        if span > 0.0 {
            self.throughput = self.delivered as f64 / span;
        }
        (self.round, self.round_start, self.delivered) = (ack.round, ack.now, 0);
    }

    /// Segments a round trip, so long after the last congestion event.
    fn alpha(&self, epoch: &Epoch, now: Time) -> f64 {
        let d = now.since(epoch.start).as_secs_f64() - DELTA_L;
        // Leith and Shorten 2004 §2: 1, and from Delta_L on 1 + 10 d + (d / 2)^2.
        let alpha = if d > 0.0 { 1.0 + d * (10.0 + d / 4.0) } else { 1.0 };
        // Leith and Shorten 2004 §2: 2 (1 - beta) makes flows of different beta share alike.
        2.0 * (1.0 - epoch.beta) * alpha * self.scale
    }

    fn beta(&self, event: &CongestionEvent, epoch: &Epoch) -> f64 {
        // Leith and Shorten 2004 §2: where the throughput at this event is that of the last one, the queue between them drains with
        // RTTmin / RTTmax; else, and after a timeout, half.
        let steady = epoch.throughput > 0.0 && libm::fabs(self.throughput - epoch.throughput) <= DELTA_B * epoch.throughput;
        if !self.adaptive_backoff || !steady || event.kind == Congestion::Timeout || epoch.rtt_max.is_zero() {
            return BETA_MIN;
        }
        (self.rtt_min.as_secs_f64() / epoch.rtt_max.as_secs_f64()).clamp(BETA_MIN, BETA_MAX)
    }
}

impl CongestionControl for Htcp {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let mut all = vec![Variable::span("rtt_min", &mut self.rtt_min), Variable::rate("throughput", &mut self.throughput)];
        if let Some(Epoch { start, rtt_max, beta, .. }) = &mut self.epoch {
            all.extend([
                Variable::instant("last_congestion", start),
                Variable::span("rtt_max", rtt_max),
                Variable::number("beta", beta, BETA_MIN..=BETA_MAX),
            ]);
        }
        all
    }

    fn on_sample(&mut self, ack: &AckSample) {
        if ack.rtt_min != self.rtt_min {
            self.new_rtt_min(ack.rtt_min);
        }
        self.delivered = self.delivered.saturating_add(ack.delivered);
        if ack.round != self.round {
            self.end_round(ack);
        }
        let epoch = self.epoch.get_or_insert(Epoch { start: ack.now, rtt_max: Duration::ZERO, beta: BETA_MIN, throughput: 0.0 });
        if let Some(rtt) = ack.rtt {
            epoch.rtt_max = epoch.rtt_max.max(rtt);
        }
        if !ack.cwnd_limited {
            // Time in which cwnd was not tested says nothing about the path, and must not count.
            epoch.start = epoch.start.saturating_add(ack.now.since(self.last_ack.max(epoch.start)));
        }
        self.last_ack = ack.now;
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if self.window.slow_start(ack) || !ack.cwnd_limited {
            return;
        }
        let alpha = self.epoch.as_ref().map_or(1.0, |epoch| self.alpha(epoch, ack.now));
        // Never faster than slow start.
        self.window.increase(ack, alpha.min(self.window.segments()));
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let mut beta = BETA_MIN;
        if event.kind != Congestion::TimeoutAgain {
            self.before = self.epoch;
            if let Some(epoch) = &self.epoch {
                beta = self.beta(event, epoch);
            }
            self.epoch = Some(Epoch { start: event.now, rtt_max: Duration::ZERO, beta, throughput: self.throughput });
        }
        self.window.reduce(event, beta);
    }

    fn on_spurious(&mut self) {
        if self.window.undo() {
            self.epoch = self.before;
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Idle(_) = unused {
            // The path may be another one by now: time counts from the next ACK.
            self.epoch = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn htcp(params: &[(&'static str, Value)], cwnd: u64) -> Box<dyn CongestionControl + Send> {
        (KIND.build)(&config("htcp", params, cwnd))
    }

    #[test]
    fn the_increase_is_the_quadratic_of_the_time_since_the_loss() {
        let mut c = htcp(&[], 4000);
        let mut now = rounds(c.as_mut(), Time::ZERO, ms(100), 0, 1);
        reduce(c.as_mut(), now, Congestion::Loss);
        for n in 0..100 {
            let before = segments(c.as_ref());
            now = rounds(c.as_mut(), now, ms(100), n, 1);
            let gained = segments(c.as_ref()) - before;
            // Middle of the round, in seconds after the loss; beta was a half, and RTT / 100 ms is 1.
            let d = (n as f64 + 0.5) * 0.1 - 1.0;
            let alpha = if d <= 0.0 { 1.0 } else { 1.0 + 10.0 * d + (d / 2.0) * (d / 2.0) };
            assert!((gained - alpha).abs() < 0.1 + 0.02 * alpha, "{d} s after Delta_L: {gained}, not {alpha}");
        }
    }

    #[test]
    fn growth_in_time_does_not_depend_on_the_round_trip() {
        let grown = |scaling, rtt| {
            let mut c = htcp(&[("rtt_scaling", Value::Bool(scaling))], 4000);
            let mut now = rounds(c.as_mut(), Time::ZERO, ms(rtt), 0, 1);
            reduce(c.as_mut(), now, Congestion::Loss);
            let before = segments(c.as_ref());
            now = rounds(c.as_mut(), now, ms(rtt), 1, 6000 / rtt);
            assert!(now > Time::ZERO + ms(6000));
            segments(c.as_ref()) - before
        };
        assert!((grown(true, 200) / grown(true, 50) - 1.0).abs() < 0.05);
        assert!((grown(false, 50) / grown(false, 200) / 4.0 - 1.0).abs() < 0.05);
        assert!((grown(true, 100) / grown(false, 100) - 1.0).abs() < 1e-9);
    }

    /// Two losses at windows of `first` and `second` segments on a path whose queue doubles or half again the round trip.
    fn kept(adaptive: bool, first: u64, second: u64, rtt_max: u64) -> f64 {
        let mut c = htcp(&[("adaptive_backoff", Value::Bool(adaptive))], 1000);
        let mut now = Time::ZERO;
        let sample = |now, number, delivered, rtt: u64| AckSample { round: number, delivered, rtt_min: ms(100), ..ack(now, ms(rtt)) };
        for (n, delivered) in [first, second].into_iter().enumerate() {
            for number in 1..4 {
                now += ms(100);
                c.on_sample(&sample(now, 10 * n as u64 + number, delivered * MSS, rtt_max));
            }
            let before = segments(c.as_ref());
            reduce(c.as_mut(), now, Congestion::Loss);
            if n == 1 {
                return segments(c.as_ref()) / before;
            }
        }
        unreachable!()
    }

    #[test]
    fn keeps_rtt_min_over_rtt_max_while_the_throughput_stays() {
        assert!((kept(true, 1000, 1100, 150) - 100.0 / 150.0).abs() < 1e-3);
        // Between a half and 0.8.
        assert_eq!(kept(true, 1000, 1000, 101), 0.8);
        assert_eq!(kept(true, 1000, 1000, 400), 0.5);
        // A fifth more or less than at the last event, or the switch off: half.
        assert_eq!(kept(true, 1000, 1300, 150), 0.5);
        assert_eq!(kept(true, 1000, 700, 150), 0.5);
        assert_eq!(kept(false, 1000, 1000, 150), 0.5);
    }

    #[test]
    fn time_in_which_the_application_is_the_limit_does_not_count() {
        let mut c = htcp(&[], 100);
        let mut now = rounds(c.as_mut(), Time::ZERO, ms(100), 0, 1);
        reduce(c.as_mut(), now, Congestion::Loss);
        for n in 0..100 {
            now = round(c.as_mut(), &AckSample { cwnd_limited: false, round: n, ..ack(now, ms(100)) });
        }
        let before = segments(c.as_ref());
        rounds(c.as_mut(), now, ms(100), 100, 1);
        assert!((segments(c.as_ref()) - before - 1.0).abs() < 0.1);
    }

    #[test]
    fn a_spurious_loss_gives_back_the_time() {
        let mut c = htcp(&[], 1000);
        let now = rounds(c.as_mut(), Time::ZERO, ms(100), 0, 60);
        let window = segments(c.as_ref());
        rounds(c.as_mut(), now, ms(100), 60, 1);
        let gained = segments(c.as_ref()) - window;
        let mut c = htcp(&[], 1000);
        let now = rounds(c.as_mut(), Time::ZERO, ms(100), 0, 60);
        reduce(c.as_mut(), now, Congestion::Loss);
        c.on_spurious();
        assert_eq!(segments(c.as_ref()).floor(), window.floor());
        rounds(c.as_mut(), now, ms(100), 60, 1);
        assert!((segments(c.as_ref()) - window - gained).abs() < 1.5 && gained > 40.0);
    }
}

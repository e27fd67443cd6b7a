//! FAST (Jin, Wei and Low 2004): every other round trip the window moves towards that which keeps alpha packets of its own in
//! the path, by the average queueing delay; its segments are spaced over the round trip.

use super::{AckSample, Claim, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::promise::Promise;
use longfat_core::time::Duration;
use longfat_core::units::Rate;

pub(super) const KIND: ControlKind = ControlKind {
    name: "fast",
    summary: "keeps alpha packets of its own in the queue, by average round-trip times; paced",
    source: "Jin, Wei and Low, FAST TCP: motivation, architecture, algorithms, performance, INFOCOM 2004",
    params: &[
        ParamSpec {
            name: "alpha",
            kind: Kind::Count { unit: "packets", min: 1, max: 1_000_000 },
            default: Some(Value::Count(200)),
            doc: "packets of its own to keep in the queue",
        },
        ParamSpec {
            name: "gamma",
            kind: Kind::Number { min: 0.01, max: 1.0 },
            default: Some(Value::Number(0.5)),
            doc: "how much of the way to the new window each update goes",
        },
        ParamSpec {
            name: "mi_threshold",
            kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(10) },
            default: Some(Value::Duration(Duration::from_micros(750))),
            doc: "with less queueing delay than this the queue counts as empty: slow start goes on",
        },
        ParamSpec {
            name: "multiplicative",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "while the queue is empty, alpha is as large as the window: exponential growth",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        Promise::with(
            &[("alpha", Value::Count(20))],
            Claim::Uses(0.97),
            "Jin, Wei and Low 2004, section IV: alpha packets are always queued",
        ),
        Promise::with(
            &[("alpha", Value::Count(20))],
            Claim::QueuesSegments { least: 16.0, most: 24.0 },
            "Jin, Wei and Low 2004, section IV: the equilibrium keeps alpha packets queued",
        ),
        // Nothing of how it shares: a flow that starts later takes the queue of the first for a part of the path, as with Vegas.
        Promise::with(
            &[("alpha", Value::Count(20))],
            Claim::BesideCubic { least: 0.0, most: 0.6 },
            "Tang, Wang, Hegde and Low, Equilibrium and Fairness of Networks Shared by TCP Reno and Vegas/FAST, 2005: its share goes with alpha",
        ),
    ],
    build: |c| Box::new(Fast::new(c)),
};

/// Pacing goes faster than cwnd in a round trip, so that the window and not the pacing is the limit: in slow start so fast that
/// the window can double (Linux Documentation/networking/ip-sysctl: tcp_pacing_ca_ratio, tcp_pacing_ss_ratio).
const HEADROOM: f64 = 1.2;
const HEADROOM_IN_SLOW_START: f64 = 2.0;

/// FAST's window, its estimates, and the update under way.
#[derive(Clone, Debug)]
pub struct Fast {
    window: Window,
    alpha: f64,
    gamma: f64,
    mi_threshold: f64,
    multiplicative: bool,
    /// Average round trip, and the least, in seconds; zero before the first.
    average: f64,
    base: f64,
    round: u64,
    /// True if the window stays as it is in this round.
    frozen: bool,
    /// Bytes that the update under way still adds, and bytes per byte acknowledged.
    left: f64,
    slope: f64,
}

impl Fast {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Fast {
            window: Window::new(config),
            alpha: params.integer("alpha") as f64,
            gamma: params.number("gamma"),
            mi_threshold: params.duration("mi_threshold").as_secs_f64(),
            multiplicative: params.boolean("multiplicative"),
            average: 0.0,
            base: 0.0,
            round: 0,
            frozen: true,
            left: 0.0,
            slope: 0.0,
        }
    }

    /// Returns true if the path's queue looks empty: little delay, and fewer packets of ours than equilibrium has.
    fn queue_is_empty(&self) -> bool {
        let delay = self.average - self.base;
        delay < self.mi_threshold && self.window.segments() * delay < self.alpha / 2.0 * self.average
    }

    /// The next window, in segments (INFOCOM 2004 §IV-C): never more than double.
    fn next_window(&self) -> f64 {
        let w = self.window.segments();
        // INFOCOM 2004 §IV-C: alpha is constant, and growth linear where there is no queueing delay. It may instead be proportional to
        // w there, for exponential growth.
        let alpha = if self.multiplicative && self.queue_is_empty() { self.alpha.max(w) } else { self.alpha };
        let wanted = (1.0 - self.gamma) * w + self.gamma * (self.base / self.average * w + alpha);
        wanted.min(2.0 * w)
    }

    /// A round is over: what its update has left is done, and the one after is frozen (INFOCOM 2004 §IV-C: a window changed
    /// now shows in the delays a round later).
    fn end_round(&mut self) {
        self.window.grow(self.left);
        self.left = 0.0;
        self.frozen = !self.frozen;
        if self.frozen || self.average <= 0.0 {
            return;
        }
        let mss = self.window.mss as f64;
        self.left = self.next_window() * mss - self.window.cwnd as f64;
        self.slope = self.left / self.window.cwnd as f64;
        if self.left < 0.0 {
            // Slow start must not give back what the delay took.
            self.window.ssthresh = self.window.ssthresh.min((self.window.cwnd as f64 + self.left) as u64).max(2 * self.window.mss);
        }
    }
}

impl CongestionControl for Fast {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![
            Variable::seconds("rtt_average", &mut self.average),
            Variable::seconds("rtt_min", &mut self.base),
            Variable::flag("frozen", &mut self.frozen),
        ]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_secs_f64();
        self.base = ack.rtt_min.as_secs_f64();
        // INFOCOM 2004 §IV-B: an exponential average with the weight min(3/w, 1/4), of about a third of a window.
        let weight = if self.average > 0.0 { (3.0 / self.window.segments()).min(0.25) } else { 1.0 };
        self.average += weight * (rtt - self.average);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        if self.window.in_slow_start() {
            if self.queue_is_empty() {
                self.window.slow_start(ack);
                return;
            }
            self.window.move_to(self.window.cwnd);
        }
        if ack.round != self.round {
            self.round = ack.round;
            self.end_round();
        }
        if self.left != 0.0 {
            // INFOCOM 2004 §IV-C, §IV-D: the update is spread over its round.
            let step = self.slope * ack.acked as f64;
            let step = if step.abs() < self.left.abs() { step } else { self.left };
            self.left -= step;
            self.window.grow(step);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // INFOCOM 2004 §IV-C: a loss halves the window.
        self.window.reduce(event, 0.5);
        (self.left, self.frozen) = (0.0, true);
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        (self.left, self.frozen) = (0.0, true);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.average <= 0.0 {
            return None;
        }
        let headroom = if self.window.in_slow_start() { HEADROOM_IN_SLOW_START } else { HEADROOM };
        Some(Rate::from_bps((8.0 * headroom * self.window.cwnd as f64 / self.average) as u64 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, testing::*};
    use super::*;
    use longfat_core::time::Time;

    fn fast(segments: u64, alpha: u64) -> Fast {
        let mut fast = Fast::new(&config("fast", &[("alpha", Value::Count(alpha))], segments));
        // Only so that a test need not wait for it.
        (fast.average, fast.base, fast.frozen) = (0.1, 0.1, true);
        fast
    }

    #[test]
    fn follows_the_equation_every_other_round() {
        let (mut path, mut f) = (Path::new(100), fast(1000, 100));
        f.average = 0.12;
        // 1000 segments, base 100 ms, average 120 ms: 500 + (100/120 1000 + 100) / 2 = 966.67; then frozen.
        path.round(&mut f, 120);
        assert_eq!(f.cwnd() / MSS, 966);
        path.round(&mut f, 120);
        assert_eq!(f.cwnd() / MSS, 966);
        // 966.67: 483.3 + (805.6 + 100) / 2 = 936.1.
        path.round(&mut f, 120);
        assert_eq!(f.cwnd() / MSS, 936);
    }

    #[test]
    fn it_rests_where_alpha_packets_are_queued() {
        // A path of 1000 segments in 100 ms and 50 in the queue: 105 ms, 1050 segments.
        let (mut path, mut f) = (Path::new(100), fast(1050, 50));
        f.average = 0.105;
        for _ in 0..10 {
            path.round(&mut f, 105);
        }
        assert!((f.window.segments() - 1050.0).abs() < 1.0, "{}", f.window.segments());
    }

    #[test]
    fn with_an_empty_queue_it_grows_by_half_of_alpha_or_of_itself_and_never_more_than_doubles() {
        let (mut path, mut f) = (Path::new(100), fast(1000, 100));
        path.round(&mut f, 100);
        assert_eq!(f.cwnd() / MSS, 1050);
        let (mut path, mut f) = (Path::new(100), Fast { multiplicative: true, ..fast(1000, 100) });
        path.round(&mut f, 100);
        assert_eq!(f.cwnd() / MSS, 1500);
        // A small window with a large alpha: 10/2 + (10 + 100)/2 = 60, but at most 20.
        let (mut path, mut f) = (Path::new(100), fast(10, 100));
        path.round(&mut f, 100);
        assert_eq!(f.cwnd() / MSS, 20);
    }

    #[test]
    fn the_average_spans_a_third_of_a_window() {
        let mut f = fast(300, 100);
        let ack = AckSample { rtt: Some(Duration::from_millis(200)), rtt_min: Duration::from_millis(100), ..AckSample::default() };
        f.on_sample(&ack);
        // Weight 3/300.
        assert!((f.average - 0.101).abs() < 1e-12, "{}", f.average);
        f.window.cwnd = 6 * MSS;
        f.on_sample(&ack);
        // Weight 1/4.
        assert!((f.average - (0.101 + 0.099 / 4.0)).abs() < 1e-12, "{}", f.average);
    }

    #[test]
    fn queueing_delay_ends_slow_start() {
        let (mut path, mut f) = (Path::new(100), fast(10, 100));
        f.window.ssthresh = u64::MAX;
        path.round(&mut f, 100);
        assert_eq!(f.cwnd() / MSS, 20);
        path.round(&mut f, 110);
        assert_eq!(f.ssthresh() / MSS, 20);
    }

    #[test]
    fn a_loss_halves_and_the_pacing_follows() {
        let mut f = fast(1000, 100);
        assert_eq!(f.pacing_rate().unwrap().as_bps(), 1000 * MSS * 8 * 10 * 6 / 5 + 1);
        reduce(&mut f, Time::ZERO, Congestion::Loss);
        assert_eq!((f.cwnd() / MSS, f.ssthresh() / MSS), (500, 500));
        f.on_spurious();
        assert_eq!(f.cwnd() / MSS, 1000);
        reduce(&mut f, Time::ZERO, Congestion::Timeout);
        assert_eq!((f.cwnd() / MSS, f.ssthresh() / MSS), (1, 500));
    }
}

//! Westwood+ (Grieco and Mascolo 2004): Reno whose threshold after a loss is what the path has been delivering, not half.

use super::promises::{CONVERGES, beside_cubic, sawtooth, uses};
use super::state::Unit;
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::{Duration, Time};

pub(super) const KIND: ControlKind = ControlKind {
    name: "westwood",
    summary: "Westwood+: Reno's increase; a loss leaves the bandwidth estimate times RTTmin",
    source: "Grieco and Mascolo, Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control, ACM CCR 34(2), 2004",
    params: &[
        ParamSpec {
            name: "filter",
            kind: Kind::Number { min: 0.0, max: 0.999 },
            // Grieco and Mascolo 2004 §2.
            default: Some(Value::Number(0.9)),
            doc: "the share of its last value that the bandwidth estimate keeps at each sample",
        },
        ParamSpec {
            name: "rate_halving",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "a loss halves the window, and the estimate sets it when the loss is repaired (Linux: true)",
        },
        ParamSpec {
            name: "renew_rtt_min",
            kind: Kind::Bool,
            default: Some(Value::Bool(false)),
            doc: "a timeout begins the least round trip anew (Linux: true)",
        },
    ],
    // Dell'Aera, Grieco and Mascolo, ICC 2004, name rate-halving of Linux's implementation; measured on 6.1 (docs/congestion/westwood.md).
    // S. Mascolo, end2end-interest, 18 July 2006: RTT_min is updated at each timeout, from 2.6.18 on.
    linux: &[("rate_halving", Value::Bool(true)), ("renew_rtt_min", Value::Bool(true))],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.97, "Mascolo et al. 2001: a loss leaves what the path holds, the rate times the least round trip"),
        sawtooth(0.5, "Mascolo et al. 2001: a loss with one BDP queued leaves one BDP"),
        CONVERGES,
        beside_cubic(0.25, 0.65, "Mascolo et al. 2001: friendly to Reno"),
    ],
    build: |c| Box::new(Westwood::new(c)),
};

/// Grieco and Mascolo 2004 §2: samples are taken over a round trip, but no less than this.
const INTERVAL_MIN: Duration = Duration::from_millis(50);

/// Reno with a bandwidth estimate.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    filter: f64,
    rate_halving: bool,
    renew_rtt_min: bool,
    /// BWE, in bytes per second; None before the first sample.
    bandwidth: Option<f64>,
    /// RTTmin; zero before the first sample, and with `renew_rtt_min` before the first after a timeout.
    rtt_min: Duration,
    /// True from a loss to the end of its repair, with `rate_halving`.
    halved: bool,
    /// Time since which `delivered` counts; None before the first ACK and after idleness.
    since: Option<Time>,
    delivered: u64,
}

impl Westwood {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Westwood {
            window: Window::new(config),
            filter: params.number("filter"),
            rate_halving: params.boolean("rate_halving"),
            renew_rtt_min: params.boolean("renew_rtt_min"),
            bandwidth: None,
            rtt_min: Duration::ZERO,
            halved: false,
            since: None,
            delivered: 0,
        }
    }

    /// Grieco and Mascolo 2004 §2: BWE RTTmin; `None` before there is an estimate.
    fn pipe(&self) -> Option<u64> {
        self.bandwidth.filter(|_| !self.rtt_min.is_zero()).map(|bandwidth| (bandwidth * self.rtt_min.as_secs_f64()) as u64)
    }
}

impl CongestionControl for Westwood {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let bandwidth = &mut self.bandwidth;
        let set =
            Variable::new("bandwidth", Unit::BitsPerSecond, bandwidth.map(|b| b * 8.0), 0.0..=1e14, |bps| *bandwidth = Some(bps / 8.0));
        vec![set, Variable::span("rtt_min", &mut self.rtt_min)]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        if !self.renew_rtt_min {
            self.rtt_min = ack.rtt_min;
        } else if let Some(rtt) = ack.rtt {
            self.rtt_min = if self.rtt_min.is_zero() { rtt } else { self.rtt_min.min(rtt) };
        }
        let Some(since) = self.since else {
            self.since = Some(ack.now);
            return;
        };
        // Grieco and Mascolo 2004 §2: what was delivered in a round trip, duplicate ACKs included, is one sample. Westwood took one
        // an ACK, which compressed ACKs made far too large.
        self.delivered = self.delivered.saturating_add(ack.delivered);
        let span = ack.now.since(since);
        if span >= INTERVAL_MIN.max(ack.rtt.unwrap_or(ack.srtt)) {
            let sample = self.delivered as f64 / span.as_secs_f64();
            self.bandwidth = Some(self.bandwidth.map_or(sample, |old| self.filter * old + (1.0 - self.filter) * sample));
            (self.since, self.delivered) = (Some(ack.now), 0);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !self.window.slow_start(ack) && ack.cwnd_limited {
            self.window.increase(ack, 1.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let timeout = matches!(event.kind, Congestion::Timeout | Congestion::TimeoutAgain);
        self.halved = self.rate_halving && event.kind == Congestion::Loss;
        match self.pipe() {
            // Before there is an estimate, RFC 5681 Eq. 4.
            None => self.window.reduce(event, 0.5),
            Some(_) if self.halved => self.window.reduce(event, 0.5),
            // Grieco and Mascolo 2004 §2: ssthresh = BWE RTTmin. The paper leaves a cwnd below that as it is; the estimate lags, and a
            // loss must not be a reason to grow.
            Some(pipe) => self.window.reduce_to(event, if timeout { pipe } else { pipe.min(self.window.cwnd) }),
        }
        if timeout && self.renew_rtt_min {
            self.rtt_min = Duration::ZERO;
        }
    }

    fn on_recovered(&mut self, _now: Time) {
        self.window.recovered();
        if std::mem::take(&mut self.halved)
            && let Some(pipe) = self.pipe()
        {
            self.window.set_both(pipe);
        }
    }

    fn on_spurious(&mut self) {
        // The estimate measured what arrived: it stands.
        self.window.undo();
        self.halved = false;
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Idle(_) = unused {
            // Idleness is no bandwidth of the path.
            (self.since, self.delivered) = (None, 0);
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

    /// `n` ACKs, one every `gap`, each for one segment, at a round trip of `rtt` over one of `rtt_min` ms.
    fn acks(c: &mut Westwood, now: &mut Time, n: u64, gap: Duration, rtt: u64, rtt_min: u64) {
        for _ in 0..n {
            *now += gap;
            give(c, &AckSample { rtt_min: ms(rtt_min), ..ack(*now, ms(rtt)) });
        }
    }

    #[test]
    fn a_loss_leaves_the_bandwidth_delay_product_of_the_empty_path() {
        // 1 segment a ms is 1 MB/s; with 100 ms the path holds 100 segments, whatever stands in the queue.
        let mut c = Westwood::new(&config("westwood", &[], 180));
        let mut now = Time::ZERO;
        acks(&mut c, &mut now, 2000, ms(1), 180, 100);
        assert!((c.bandwidth.unwrap() / 1e6 - 1.0).abs() < 1e-9);
        reduce(&mut c, now, Congestion::Loss);
        assert!((segments(&c) - 100.0).abs() < 0.01);
        reduce(&mut c, now, Congestion::Timeout);
        assert_eq!(c.cwnd(), MSS);
        assert!(c.ssthresh().abs_diff(100 * MSS) < 10);
    }

    #[test]
    fn a_random_loss_on_an_empty_queue_costs_nothing() {
        let mut c = Westwood::new(&config("westwood", &[], 60));
        let mut now = Time::ZERO;
        acks(&mut c, &mut now, 2000, ms(1), 100, 100);
        let before = segments(&c).min(100.0);
        reduce(&mut c, now, Congestion::Loss);
        assert!(segments(&c) >= before - 0.01);
    }

    #[test]
    fn the_estimate_follows_a_change_by_a_tenth_a_sample() {
        let mut c = Westwood::new(&config("westwood", &[], 100));
        let mut now = Time::ZERO;
        acks(&mut c, &mut now, 1001, ms(1), 100, 100);
        let mut expected = 1e6;
        for _ in 0..5 {
            // Half the rate, for one sample of 100 ms.
            acks(&mut c, &mut now, 50, ms(2), 100, 100);
            expected = 0.9 * expected + 0.1 * 0.5e6;
            assert!((c.bandwidth.unwrap() / expected - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_short_round_trip_is_sampled_every_50_ms() {
        let mut c = Westwood::new(&config("westwood", &[], 10));
        let mut now = Time::ZERO;
        acks(&mut c, &mut now, 50, ms(1), 5, 5);
        assert_eq!(c.bandwidth, None);
        acks(&mut c, &mut now, 1, ms(1), 5, 5);
        assert_eq!(c.bandwidth, Some(1e6));
    }

    #[test]
    fn without_an_estimate_a_loss_halves() {
        let mut c = Westwood::new(&config("westwood", &[], 100));
        reduce(&mut c, Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), 50 * MSS);
    }

    fn linux(cwnd: u64) -> Westwood {
        Westwood::new(&config("westwood", KIND.linux, cwnd))
    }

    #[test]
    fn with_rate_halving_the_estimate_comes_when_the_loss_is_repaired() {
        let mut c = linux(180);
        let mut now = Time::ZERO;
        acks(&mut c, &mut now, 2000, ms(1), 180, 100);
        // The least round trip is one that was measured.
        acks(&mut c, &mut now, 1, ms(1), 100, 100);
        let before = c.cwnd();
        reduce(&mut c, now, Congestion::Loss);
        assert_eq!((c.cwnd(), c.ssthresh()), (before.div_ceil(2), before.div_ceil(2)));
        c.on_recovered(now);
        assert!((segments(&c) - 100.0).abs() < 0.01 && c.cwnd() == c.ssthresh());
        // A mark has no repair: the estimate at once. The repair that ends after a timeout sets nothing.
        c.window.cwnd = 150 * MSS;
        reduce(&mut c, now, Congestion::Ecn);
        assert!((segments(&c) - 100.0).abs() < 0.01);
        reduce(&mut c, now, Congestion::Loss);
        reduce(&mut c, now, Congestion::Timeout);
        c.on_recovered(now);
        assert_eq!(c.cwnd(), MSS);
    }

    #[test]
    fn a_spurious_loss_is_taken_back_and_sets_nothing_later() {
        let mut c = linux(180);
        let mut now = Time::ZERO;
        acks(&mut c, &mut now, 2000, ms(1), 100, 100);
        let before = c.cwnd();
        reduce(&mut c, now, Congestion::Loss);
        c.on_spurious();
        c.on_recovered(now);
        assert_eq!(c.cwnd(), before);
    }

    #[test]
    fn a_timeout_begins_the_least_round_trip_anew() {
        for (mut c, expected) in [(linux(50), 85), (Westwood::new(&config("westwood", &[], 50)), 50)] {
            let mut now = Time::ZERO;
            acks(&mut c, &mut now, 10, ms(1), 50, 50);
            // The path has grown; until a timeout the old one stands.
            acks(&mut c, &mut now, 10, ms(1), 85, 50);
            assert_eq!(c.rtt_min, ms(50));
            reduce(&mut c, now, Congestion::Timeout);
            acks(&mut c, &mut now, 10, ms(1), 85, 50);
            assert_eq!(c.rtt_min, ms(expected));
        }
    }
}

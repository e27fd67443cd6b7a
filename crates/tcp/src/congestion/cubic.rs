//! CUBIC (RFC 9438): the window is a cubic function of the time since the last congestion event, so that its growth does not
//! depend on the round trip; with fast convergence and the Reno-friendly region. Slow start is whatever `slow_start` says.

use super::promises::{FULL, beside_cubic, sawtooth, shares};
use super::reno::{ABE, BETA_ECN_CUBIC};
use super::state::Unit;
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::time::Time;

pub(super) const KIND: ControlKind = ControlKind {
    name: "cubic",
    summary: "the window a cubic of the time since the last loss",
    source: "RFC 9438",
    params: &[ABE],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.3, "RFC 9438 section 4.6: a loss takes 0.3"),
        shares(0.9, "RFC 9438 section 5.6: flows of CUBIC converge to equal shares"),
        beside_cubic(0.4, 0.6, "itself"),
    ],
    build: |c| Box::new(Cubic { abe: c.congestion_control.params.boolean(ABE.name), ..Cubic::new(c) }),
};

/// RFC 9438 §5.1: C in segments per second cubed, and beta.
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// RFC 9438 §4.3: Reno's additive increase for a decrease by beta that is as friendly as halving.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state between two congestion events, in segments and seconds.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// W_max: the plateau the curve returns to.
    plateau: f64,
    /// K: when it gets there.
    k: f64,
    /// W_est: what Reno would have by now.
    reno: f64,
}

/// CUBIC's variables; in segments where the RFC's formulas have them so.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    abe: bool,
    /// cwnd before the last reduction (W_max and cwnd_prior of §4.1.2).
    w_max: f64,
    cwnd_prior: f64,
    after_timeout: bool,
    /// Least growth of cwnd before the first congestion event, as a fraction of the bytes acknowledged.
    first_growth: f64,
    /// The increase of W_est from cwnd_prior on.
    alpha_above: f64,
    epoch: Option<Epoch>,
    /// State before the last reduction, restored if it proves spurious (§4.9).
    before: Option<(f64, f64, Option<Epoch>)>,
}

impl Cubic {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let first_growth = f64::from(config.growth.growth_before_loss) / 100.0;
        Cubic {
            window: Window::new(config),
            abe: false,
            w_max: 0.0,
            cwnd_prior: 0.0,
            after_timeout: false,
            first_growth,
            alpha_above: if config.growth.reno_above_prior { 1.0 } else { ALPHA },
            epoch: None,
            before: None,
        }
    }

    fn begin_epoch(&mut self, now: Time) -> Epoch {
        let cwnd = self.window.segments();
        // RFC 9438 §4.8: after a timeout, and (§4.2) where there was no congestion event yet, the curve starts at its plateau.
        let plateau = if self.after_timeout || self.w_max <= cwnd { cwnd } else { self.w_max };
        // RFC 9438 §4.2 Eq. 2.
        let k = libm::cbrt((plateau - cwnd) / C);
        self.after_timeout = false;
        Epoch { start: now, plateau, k, reno: cwnd }
    }

    fn congestion_avoidance(&mut self, ack: &AckSample) {
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(ack.now),
        };
        let cwnd = self.window.segments();
        let acked = self.window.acked_segments(ack);
        // RFC 9438 §4.2 Eq. 1.
        let curve = |t: f64| {
            let d = t - epoch.k;
            C * d * d * d + epoch.plateau
        };
        let t = ack.now.since(epoch.start).as_secs_f64();
        // RFC 9438 §4.3 Eq. 4; from cwnd_prior on as fast as Reno itself (not in Linux 6.18, as measured: docs/stacks/linux.md).
        let alpha = if epoch.reno >= self.cwnd_prior { self.alpha_above } else { ALPHA };
        epoch.reno += alpha * acked / cwnd;
        let window = if curve(t) < epoch.reno {
            epoch.reno.max(cwnd)
        } else {
            // RFC 9438 §4.2: the target one round trip ahead, never under cwnd and never over one and a half of it; §4.4, §4.5: a
            // cwnd-th of the way for each segment acknowledged.
            let target = curve(t + ack.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        // RFC 9438 does not have this. Its curve is flat where slow start ended without a loss, far below the path as that may be: Linux
        // 6.18 adds a segment for every 20 acknowledged until the first loss (measured: docs/stacks/linux.md).
        let window = if self.w_max > 0.0 { window } else { window.max(cwnd + self.first_growth * acked) };
        self.window.grow((window - cwnd) * self.window.mss as f64);
        self.epoch = Some(epoch);
    }
}

impl CongestionControl for Cubic {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let mut all = vec![Variable::segments("w_max", &mut self.w_max), Variable::segments("cwnd_prior", &mut self.cwnd_prior)];
        if let Some(Epoch { start, plateau, k, reno }) = &mut self.epoch {
            all.extend([
                Variable::instant("t_epoch", start),
                Variable::segments("plateau", plateau),
                Variable::new("k", Unit::Seconds, Some(*k), 0.0..=1e7, |seconds| *k = seconds),
                Variable::segments("w_est", reno),
            ]);
        }
        all
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // RFC 9438 §4.10: slow start is not CUBIC's; it should be HyStart++ or another that does not overshoot.
        let in_slow_start = self.window.slow_start(ack);
        if !ack.cwnd_limited {
            // RFC 9438 §5.8: time in which the application sends less than cwnd must not count as growth of the curve.
            self.epoch = None;
        } else if !in_slow_start {
            self.congestion_avoidance(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != Congestion::TimeoutAgain {
            self.before = Some((self.w_max, self.cwnd_prior, self.epoch));
            let cwnd = self.window.counted_segments();
            // RFC 9438 §4.7, fast convergence: a flow that did not get back to its last plateau gives way to newer ones.
            self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
            self.cwnd_prior = cwnd;
        }
        // RFC 9438 §4.6: a multiplicative decrease of what is in flight, by beta; RFC 8511 §3.1: less for a mark, outside slow start.
        let alternative = self.abe && event.kind == Congestion::Ecn && !self.window.in_slow_start();
        self.window.reduce(event, if alternative { BETA_ECN_CUBIC } else { BETA });
        self.after_timeout = matches!(event.kind, Congestion::Timeout | Congestion::TimeoutAgain);
        self.epoch = None;
    }

    fn on_spurious(&mut self) {
        // RFC 9438 §4.9.
        if self.window.undo()
            && let Some((w_max, cwnd_prior, epoch)) = self.before.take()
        {
            (self.w_max, self.cwnd_prior, self.epoch, self.after_timeout) = (w_max, cwnd_prior, epoch, false);
        }
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        self.epoch = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack;
    use longfat_core::time::Duration;

    const MSS: u64 = 1000;

    fn cubic(cwnd: u64) -> Cubic {
        let config =
            TcpConfig { mss: MSS as u32, initial_window: cwnd as u32, ..TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500) };
        Cubic::new(&config)
    }

    /// A round trip of ACKs, each for one segment, spread over it.
    fn round(cubic: &mut Cubic, start: Time, rtt: Duration) -> Time {
        let n = cubic.cwnd() / MSS;
        for i in 0..n {
            cubic.on_ack(&AckSample {
                now: start + Duration::from_ps(rtt.as_ps() / n * i),
                acked: MSS,
                in_flight: cubic.cwnd(),
                rtt: Some(rtt),
                srtt: rtt,
                cwnd_limited: true,
                ..AckSample::default()
            });
        }
        start + rtt
    }

    fn loss(cubic: &mut Cubic, now: Time) {
        let flight_size = cubic.cwnd();
        cubic.on_congestion(&CongestionEvent { now, kind: Congestion::Loss, flight_size });
    }

    #[test]
    fn follows_the_curve_of_section_4_2() {
        // 1000 segments lost at t = 0: W = 700, K = cbrt(300 / 0.4) = 9.086 s, back at 1000 there.
        let mut c = cubic(1000);
        loss(&mut c, Time::ZERO);
        assert_eq!(c.cwnd(), 700 * MSS);
        let rtt = Duration::from_millis(100);
        let mut now = Time::ZERO;
        let mut at = Vec::new();
        for n in 1..=150 {
            now = round(&mut c, now, rtt);
            if n % 25 == 0 {
                at.push(c.cwnd() / MSS);
            }
        }
        let k = libm::cbrt(300.0 / 0.4);
        for (n, window) in (1..).zip(at) {
            let t = 2.5 * f64::from(n);
            let expected = 0.4 * (t - k) * (t - k) * (t - k) + 1000.0;
            assert!((window as f64 / expected - 1.0).abs() < 0.01, "after {t} s: {window}, the curve says {expected}");
        }
    }

    #[test]
    fn before_the_first_loss_it_may_grow_faster_than_its_curve() {
        let rtt = Duration::from_millis(100);
        for (percent, expected) in [(0, 1_004), (5, 1_276)] {
            let mut c = cubic(1000);
            c.first_growth = f64::from(percent) / 100.0;
            c.window.reduce(&CongestionEvent { now: Time::ZERO, kind: Congestion::Loss, flight_size: 2 * c.cwnd() }, 0.5);
            let now = (0..5).fold(Time::ZERO, |now, _| round(&mut c, now, rtt));
            // Reno by its Reno-friendly region; 1.05^5: Linux 6.18 has 1114, 1198, 1281, 1364 segments 1666 acknowledged ones apart: 5.0 %.
            assert!((c.cwnd() / MSS).abs_diff(expected) <= 1, "{percent} %: {}", c.cwnd() / MSS);
            loss(&mut c, now);
            let before = c.cwnd();
            round(&mut c, now, rtt);
            assert!((c.cwnd() - before) as f64 / (before as f64) < 0.04);
        }
    }

    #[test]
    fn from_the_last_window_on_it_is_as_fast_as_reno_or_goes_on_as_before() {
        let rtt = Duration::from_millis(10);
        for (alpha, expected) in [(1.0, 30.0), (ALPHA, 30.0 * ALPHA)] {
            let mut c = cubic(40);
            c.alpha_above = alpha;
            loss(&mut c, Time::ZERO);
            let mut now = Time::ZERO;
            while c.cwnd() < 40 * MSS {
                now = round(&mut c, now, rtt);
            }
            let before = c.cwnd();
            for _ in 0..30 {
                now = round(&mut c, now, rtt);
            }
            let gained = (c.cwnd() - before) as f64 / MSS as f64;
            assert!((gained / expected - 1.0).abs() < 0.1, "{alpha}: {gained}");
        }
    }

    #[test]
    fn a_reduction_may_count_whole_segments() {
        // Measured on Linux 6.18: 14 segments and a part of one become 9, 50 become 35; W_max is what was counted.
        for (cwnd, parts, whole) in [(14_300, 10_010, 9_000), (50_900, 35_630, 35_000)] {
            for (whole_segments, expected) in [(false, parts), (true, whole)] {
                let stack = stack::find("rfc").unwrap().params();
                let mut c = Cubic::new(
                    &TcpConfig { mss: MSS as u32, ..TcpConfig::new(&stack, 1500) }.with(|tcp| tcp.growth.whole_segments = whole_segments),
                );
                c.window.cwnd = cwnd;
                loss(&mut c, Time::ZERO);
                assert_eq!((c.cwnd(), c.ssthresh()), (expected, expected));
                assert_eq!(c.w_max, if whole_segments { (cwnd / MSS) as f64 } else { cwnd as f64 / MSS as f64 });
            }
        }
    }

    #[test]
    fn a_second_loss_below_the_plateau_gives_way() {
        let mut c = cubic(1000);
        loss(&mut c, Time::ZERO);
        assert_eq!(c.w_max, 1000.0);
        loss(&mut c, Time::ZERO + Duration::from_millis(100));
        // RFC 9438 §4.7: 700 (1 + 0.7) / 2.
        assert!((c.w_max - 595.0).abs() < 1e-9);
        assert_eq!(c.cwnd(), 490 * MSS);
    }

    #[test]
    fn on_a_short_path_it_is_as_fast_as_reno() {
        // 20 segments, 10 ms: Reno with beta 0.7 gains ALPHA a round; the curve would need 2.5 s to come back.
        let mut c = cubic(20);
        loss(&mut c, Time::ZERO);
        let mut now = Time::ZERO;
        for _ in 0..10 {
            now = round(&mut c, now, Duration::from_millis(10));
        }
        let gained = c.cwnd() as f64 / MSS as f64 - 14.0;
        assert!((gained - 10.0 * ALPHA).abs() < 0.6, "{gained}");
    }

    #[test]
    fn after_a_timeout_the_curve_starts_where_slow_start_ends() {
        let mut c = cubic(100);
        c.on_congestion(&CongestionEvent { now: Time::ZERO, kind: Congestion::Timeout, flight_size: 100 * MSS });
        assert_eq!((c.cwnd(), c.ssthresh()), (MSS, 70 * MSS));
        let rtt = Duration::from_millis(50);
        let mut now = Time::ZERO;
        while c.cwnd() < c.ssthresh() {
            now = round(&mut c, now, rtt);
        }
        round(&mut c, now, rtt);
        // RFC 9438 §4.8: K = 0.
        assert_eq!(c.epoch.unwrap().k, 0.0);
    }
}

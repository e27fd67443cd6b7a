//! LEDBAT (RFC 6817): the window moves by how far the queueing delay is from a target, so that the queue settles there.

use super::promises::{FULL, beside_cubic};
use super::queueing_delay::{BASE_HISTORY, CURRENT_FILTER, QueueingDelay};
use super::{AckSample, Claim, CongestionControl, CongestionEvent, ControlKind, Traits, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::promise::Promise;
use longfat_core::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "ledbat",
    summary: "holds the queueing delay at a target, and yields where others queue more",
    source: "RFC 6817",
    params: &[
        ParamSpec {
            name: "target",
            // RFC 6817 §2.5: TARGET is 100 ms or less.
            kind: Kind::Duration { min: Duration::from_micros(1), max: Duration::from_millis(100) },
            default: Some(Value::Duration(Duration::from_millis(100))),
            doc: "the queueing delay that it holds",
        },
        ParamSpec {
            name: "gain",
            // RFC 6817 §2.5: GAIN is 1 or less, so that growth is no faster than Reno's.
            kind: Kind::Number { min: 0.001, max: 1.0 },
            default: Some(Value::Number(1.0)),
            doc: "segments by which the window grows each round trip over an empty queue",
        },
        ParamSpec {
            name: "allowed_increase",
            kind: Kind::Count { unit: "segments", min: 1, max: 1000 },
            // RFC 6817 §2.5: ALLOWED_INCREASE is 1.
            default: Some(Value::Count(1)),
            doc: "the most by which the window exceeds what is in flight",
        },
        BASE_HISTORY,
        CURRENT_FILTER,
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        Promise::with(
            HALF_A_PRODUCT,
            Claim::QueuesBdp { least: 0.35, most: 0.65 },
            "RFC 6817 section 2.4.1: the queueing delay settles at TARGET, here half of a product of 40 ms",
        ),
        // Nothing of how it shares: who comes later takes the queue of the first for the empty path (RFC 6817 section 4.4).
        Promise::with(
            HALF_A_PRODUCT,
            Claim::BesideCubic { least: 0.0, most: 0.35 },
            "RFC 6817 section 1.2: it yields to flows that queue more than TARGET; one that starts beside CUBIC takes a part of its queue for the path",
        ),
        beside_cubic(0.0, 0.5, "RFC 6817 section 3.2.1: with a buffer of less than TARGET it grows as Reno, and no faster"),
    ],
    build: |c| Box::new(Ledbat::new(c)),
};

const HALF_A_PRODUCT: &[(&str, Value)] = &[("target", Value::Duration(Duration::from_millis(20)))];

/// LEDBAT's window, and the delay that it looks at.
#[derive(Clone, Debug)]
pub struct Ledbat {
    window: Window,
    delay: QueueingDelay,
    target: f64,
    gain: f64,
    /// In bytes.
    allowed_increase: u64,
    /// True once a one-way delay came: round trips are no measure any more.
    one_way: bool,
}

impl Ledbat {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let mut window = Window::new(config);
        // RFC 6817 §2.4.2 has no slow start: every ACK is congestion avoidance's.
        window.ssthresh = 2 * window.mss;
        Ledbat {
            delay: QueueingDelay::new(params.integer(BASE_HISTORY.name), params.integer(CURRENT_FILTER.name)),
            target: params.duration("target").as_secs_f64(),
            gain: params.number("gain"),
            allowed_increase: params.integer("allowed_increase") * window.mss,
            window,
            one_way: false,
        }
    }
}

impl CongestionControl for Ledbat {
    keeps_window!();

    fn traits(&self) -> Traits {
        Traits { wants_forward_delay: true, ..Traits::WINDOW }
    }

    fn on_sample(&mut self, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        // RFC 6817 §2.2: one-way delays, of which a constant error does not matter. Departs from it without timestamps: then round trips.
        let delay = match ack.forward_delay {
            Some(delay) => {
                self.one_way = true;
                delay
            }
            None if self.one_way => return,
            None => rtt.as_ps() as i64,
        };
        self.delay.measure(ack.now, delay, rtt);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        let Some(queueing) = self.delay.get() else { return };
        let w = &mut self.window;
        // RFC 6817 §2.4.2: cwnd += GAIN off_target bytes_newly_acked MSS / cwnd, where
        // off_target = (TARGET - queuing_delay) / TARGET; at least MIN_CWND = 2 segments, which `grow` sees to.
        let off_target = 1.0 - queueing.as_secs_f64() / self.target;
        let change = self.gain * off_target * w.acked_segments(ack) * w.mss as f64 / w.segments();
        if off_target <= 0.0 {
            w.grow(change);
        } else if ack.cwnd_limited {
            // RFC 6817 §2.4.2: max_allowed_cwnd bounds growth. Departs from it in that it takes nothing from a window there is: the
            // sender validates windows that are not used (RFC 7661).
            let room = (ack.in_flight + self.allowed_increase).saturating_sub(w.cwnd);
            w.grow(change.min(room as f64));
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // RFC 6817 §2.4.2: on data loss half of cwnd; after a timeout one segment.
        self.window.reduce_to(event, self.window.cwnd / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, testing::*};
    use super::*;
    use longfat_core::time::Time;

    /// The window in segments after each of these rounds, in ms.
    fn windows(l: &mut Ledbat, path: &mut Path, rtts: &[u64]) -> Vec<f64> {
        let mut after = |rtt: &u64| {
            path.round(l, *rtt);
            (segments(l) * 10.0).round() / 10.0
        };
        rtts.iter().map(&mut after).collect()
    }

    fn ledbat(params: &[(&'static str, Value)], cwnd: u64) -> Ledbat {
        Ledbat::new(&config("ledbat", params, cwnd))
    }

    #[test]
    fn the_window_moves_by_the_distance_from_the_target() {
        let (mut path, mut l) = (Path::new(100), ledbat(&[], 50));
        // Base 100 ms. An empty queue: a segment. 50 of 100 ms queued: half of one. At the target: none. 150 over 100: half of one less.
        // The least of four samples moves with the fourth ACK of a round.
        assert_eq!(windows(&mut l, &mut path, &[100, 150, 200, 250]), [51.0, 51.5, 51.5, 51.1]);
        // A queue of 400 ms: three segments less.
        assert_eq!(windows(&mut l, &mut path, &[500]), [48.1]);
    }

    #[test]
    fn gain_and_target_scale_it() {
        let half = [("gain", Value::Number(0.5)), ("target", Value::Duration(Duration::from_millis(20)))];
        let (mut path, mut l) = (Path::new(100), ledbat(&half, 50));
        // Half of a segment; 10 of 20 ms queued: a quarter; 40 of 20 ms: half of one less.
        assert_eq!(windows(&mut l, &mut path, &[100, 110, 140]), [50.5, 50.8, 50.3]);
    }

    #[test]
    fn one_way_delays_count_where_there_are_any() {
        let (mut path, mut l) = (Path::new(100), ledbat(&[], 50));
        path.round_with(&mut l, 100, Some(-7));
        // The way back queues: the round trip is longer, and the data's way is not.
        path.round_with(&mut l, 300, Some(-7));
        assert!(segments(&l) > 51.9);
        let before = segments(&l);
        path.round_with(&mut l, 300, Some(143));
        assert!((before - segments(&l) - 0.5).abs() < 0.2, "150 ms on the data's way are half a target too much");
    }

    #[test]
    fn it_does_not_shrink_below_two_segments_nor_grow_beyond_what_is_in_flight() {
        let (mut path, mut l) = (Path::new(100), ledbat(&[], 3));
        assert_eq!(*windows(&mut l, &mut path, &[100, 900, 900, 900]).last().unwrap(), 2.0);
        let mut l = ledbat(&[], 10);
        let sample = AckSample { in_flight: 9 * MSS + 100, acked: 9 * MSS, ..ack(Time::ZERO, Duration::from_millis(100)) };
        give(&mut l, &sample);
        assert_eq!(l.cwnd(), 10 * MSS + 100);
    }

    #[test]
    fn a_loss_takes_half_and_a_timeout_all_but_a_segment_without_slow_start_after_it() {
        let (mut path, mut l) = (Path::new(100), ledbat(&[], 40));
        reduce(&mut l, Time::ZERO, Congestion::Loss);
        assert_eq!(l.cwnd(), 20 * MSS);
        l.on_spurious();
        assert_eq!(l.cwnd(), 40 * MSS);
        reduce(&mut l, Time::ZERO, Congestion::Timeout);
        assert_eq!(l.cwnd(), MSS);
        // An ACK adds 1 / cwnd: one in the first round, two in the next ones, in which the window grows under way.
        assert_eq!(windows(&mut l, &mut path, &[100; 3]), [2.0, 2.9, 3.6]);
    }
}

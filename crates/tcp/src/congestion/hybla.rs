//! Hybla (Caini and Firrincieli 2004): a long round trip gets the growth, in time, of a reference connection of 25 ms.

use super::promises::{CONVERGES, FULL, beside_cubic, sawtooth};
use super::state::Unit;
use super::{AckSample, COUNT_ACKS, CongestionControl, CongestionEvent, ControlKind, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "hybla",
    summary: "Reno with the growth of a connection of 25 ms, whatever the round trip",
    source: "Caini and Firrincieli, TCP Hybla: a TCP enhancement for heterogeneous networks, Int. J. Satellite Communications 22(5), 2004",
    params: &[
        ParamSpec {
            name: "rtt0",
            kind: Kind::Duration { min: Duration::from_millis(1), max: Duration::from_secs(10) },
            default: Some(Value::Duration(Duration::from_millis(25))),
            doc: "the round trip of the reference connection",
        },
        COUNT_ACKS,
    ],
    // Measured on 6.1 (docs/congestion/hybla.md).
    linux: &[(COUNT_ACKS.name, Value::Bool(true))],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        sawtooth(0.5, "Caini and Firrincieli 2004: a loss takes half"),
        CONVERGES,
        beside_cubic(0.45, 0.8, "Caini and Firrincieli 2004: a round trip of 40 ms has rho = 1.6, and a window rho times that of Reno"),
    ],
    build: |c| Box::new(Hybla::new(c)),
};

/// Segments a round trip in congestion avoidance, rho^2, and for each segment in slow start, 2^rho - 1.
fn by_rho(rho: f64) -> (f64, f64) {
    (rho * rho, libm::exp2(rho) - 1.0)
}

/// Growth scaled by rho = RTT / RTT0.
#[derive(Clone, Debug)]
pub struct Hybla {
    window: Window,
    rtt0: f64,
    count_acks: bool,
    /// The round trip that the two below were computed for.
    rtt: Duration,
    /// rho^2, and 2^rho - 1.
    avoidance: f64,
    slow_start: f64,
}

impl Hybla {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let (rtt0, count_acks) = (params.duration("rtt0").as_secs_f64(), params.boolean(COUNT_ACKS.name));
        Hybla { window: Window::new(config), rtt0, count_acks, rtt: Duration::ZERO, avoidance: 1.0, slow_start: 1.0 }
    }

    fn new_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
        // Caini and Firrincieli 2004 §3: never slower than Reno. The bound above keeps 2^rho a number; it is beyond any window.
        let rho = (rtt.as_secs_f64() / self.rtt0).clamp(1.0, 60.0);
        (self.avoidance, self.slow_start) = by_rho(rho);
    }
}

impl CongestionControl for Hybla {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        let (avoidance, slow_start) = (&mut self.avoidance, &mut self.slow_start);
        let rho = avoidance.sqrt();
        vec![Variable::new("rho", Unit::Number, Some(rho), 1.0..=60.0, |rho| (*avoidance, *slow_start) = by_rho(rho))]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        // The least round trip, so that a queue does not feed its own growth.
        if ack.rtt_min != self.rtt {
            self.new_rtt(ack.rtt_min);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // Caini and Firrincieli 2004 §3: for each segment acknowledged 2^rho - 1 in slow start, rho^2 / cwnd in congestion avoidance.
        let counted = if self.count_acks { self.window.as_one(ack) } else { *ack };
        if !self.window.slow_start_by(&counted, self.slow_start) && ack.cwnd_limited {
            self.window.increase(&counted, self.avoidance);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // Caini and Firrincieli 2004 §3: the decrease is Reno's.
        self.window.reduce(event, 0.5);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, testing::*};
    use super::*;
    use longfat_core::time::Time;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_round_adds_rho_squared() {
        for (rtt, gain) in [(10, 1.0), (25, 1.0), (50, 4.0), (100, 16.0), (250, 100.0)] {
            let mut c = (KIND.build)(&config("hybla", &[], 5000));
            rounds(c.as_mut(), Time::ZERO, ms(rtt), 0, 1);
            let gained = segments(c.as_ref()) - 5000.0;
            assert!((gained / gain - 1.0).abs() < 0.02, "{rtt} ms: {gained}, not {gain}");
        }
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho_a_round_and_ends_at_ssthresh() {
        let hybla = |rtt| {
            let mut c = (KIND.build)(&TcpConfig { initial_ssthresh: 2000 * MSS, ..config("hybla", &[], 10) });
            rounds(c.as_mut(), Time::ZERO, ms(rtt), 0, 1);
            segments(c.as_ref())
        };
        assert_eq!((hybla(25), hybla(50), hybla(100)), (20.0, 40.0, 160.0));
        assert!((2000.0..2400.0).contains(&hybla(600)));
    }

    /// Shows why the paper estimates the first ssthresh.
    #[test]
    fn without_ssthresh_a_long_path_has_no_second_round_of_slow_start() {
        let mut c = (KIND.build)(&TcpConfig { initial_ssthresh: u64::MAX, ..config("hybla", &[], 10) });
        rounds(c.as_mut(), Time::ZERO, ms(600), 0, 1);
        assert_eq!(c.cwnd(), 1 << 30, "2^24 segments for each ACK, and no window holds more");
    }

    #[test]
    fn in_time_a_long_path_grows_as_fast_as_the_reference() {
        // Segments per second, gained in 10 s: the rate is cwnd / RTT.
        let rate = |rtt: u64| {
            let mut c = (KIND.build)(&config("hybla", &[], 100));
            rounds(c.as_mut(), Time::ZERO, ms(rtt), 0, 10_000 / rtt);
            (segments(c.as_ref()) - 100.0) / (rtt as f64 / 1000.0)
        };
        let reference = rate(25);
        assert!((reference - 400.0 / 0.025).abs() < 0.02 * reference);
        assert!((rate(50) / reference - 1.0).abs() < 0.05);
        assert!((rate(100) / reference - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_loss_halves() {
        let mut c = (KIND.build)(&config("hybla", &[], 100));
        rounds(c.as_mut(), Time::ZERO, ms(25), 0, 1);
        let before = c.cwnd();
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!(c.cwnd(), before.div_ceil(2));
    }

    /// An ACK for two segments in place of two ACKs halves the growth of a control that counts ACKs, in both phases.
    #[test]
    fn delayed_acks_halve_the_growth_of_one_that_counts_acks() {
        let gained = |cwnd, ssthresh, count: bool, acks: u64, segments: u64| {
            let config = config("hybla", &[(COUNT_ACKS.name, Value::Bool(count))], cwnd);
            let mut c = (KIND.build)(&TcpConfig { initial_ssthresh: ssthresh, ..config });
            for n in 1..=acks {
                let ack = AckSample { acked: segments * MSS, delivered: segments * MSS, ..ack(Time::ZERO + ms(n), ms(50)) };
                c.on_sample(&ack);
                c.on_ack(&ack);
            }
            super::super::testing::segments(c.as_ref()) - cwnd as f64
        };
        // rho = 2: four segments a round trip in congestion avoidance, three for each ACK in slow start.
        for (count, acks, segments, growth) in [(false, 500, 2, 4.0), (true, 500, 2, 2.0), (true, 1000, 1, 4.0)] {
            assert!((gained(1000, 2 * MSS, count, acks, segments) / growth - 1.0).abs() < 0.01);
        }
        assert_eq!((gained(10, u64::MAX, false, 5, 2), gained(10, u64::MAX, true, 5, 2)), (30.0, 15.0));
    }
}

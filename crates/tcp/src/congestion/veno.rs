//! Veno (Fu and Liew 2003): Reno that asks Vegas' backlog whether a loss was congestion. It gives up less after a random loss, and grows
//! slower where segments queue.

use super::promises::{CONVERGES, FULL, beside_cubic, queues_bdp};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "veno",
    summary: "Reno; a loss with few segments queued takes a fifth",
    source: "Fu and Liew, TCP Veno, IEEE JSAC 21(2), 2003",
    params: &[
        ParamSpec {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 1e6 },
            // Fu and Liew 2003 §III-A.
            default: Some(Value::Number(3.0)),
            doc: "with this many segments in the queue or more, the path counts as congested",
        },
        ParamSpec {
            name: "random_loss",
            kind: Kind::Number { min: 0.001, max: 0.5 },
            // Fu and Liew 2003 §III-A: 4/5 of the window stay.
            default: Some(Value::Number(0.2)),
            doc: "the share of the window that a loss takes where the path is not congested",
        },
    ],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        FULL,
        queues_bdp(
            0.41,
            0.71,
            "Fu and Liew 2003 section III: with more than beta segments queued a loss halves, as in Reno; the growth is linear, whatever its pace",
        ),
        CONVERGES,
        beside_cubic(0.15, 0.7, "Fu and Liew 2003 section III: half of Reno's growth where segments queue, and a fifth less where few do"),
    ],
    build: |c| Box::new(Veno::new(c)),
};

/// Reno's window and Vegas' backlog.
#[derive(Clone, Debug)]
pub struct Veno {
    window: Window,
    beta: f64,
    random_loss: f64,
    /// The least round trip since the last loss.
    base_rtt: Option<Duration>,
    /// N, in segments.
    backlog: f64,
}

impl Veno {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        let (beta, random_loss) = (params.number("beta"), params.number("random_loss"));
        Veno { window: Window::new(config), beta, random_loss, base_rtt: None, backlog: 0.0 }
    }
}

impl CongestionControl for Veno {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::segments("backlog", &mut self.backlog)]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        let base = self.base_rtt.map_or(rtt, |base| base.min(rtt));
        self.base_rtt = Some(base);
        // Fu and Liew 2003 §II: N = Actual (RTT - BaseRTT), Actual = cwnd / RTT, with the smoothed round trip.
        let srtt = ack.srtt.max(base).as_secs_f64();
        if srtt > 0.0 {
            self.backlog = self.window.segments() * (1.0 - base.as_secs_f64() / srtt);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if self.window.slow_start(ack) || !ack.cwnd_limited {
            return;
        }
        // Fu and Liew 2003 §III-B: 1 / cwnd for each ACK, or for every other one while the bandwidth is fully used.
        self.window.increase(ack, if self.backlog < self.beta { 1.0 } else { 0.5 });
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let factor = match event.kind {
            // Fu and Liew 2003 §III-A: with N under beta the loss is likely to be random.
            Congestion::Loss if self.backlog < self.beta => 1.0 - self.random_loss,
            // A mark, or a full queue of the host, is congestion by definition.
            _ => 0.5,
        };
        self.window.reduce(event, factor);
        // Fu and Liew 2003 §II: the least round trip is measured anew after each loss, as the traffic of others changes.
        self.base_rtt = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::Time;

    fn veno(cwnd: u64) -> Veno {
        Veno::new(&config("veno", &[], cwnd))
    }

    #[test]
    fn it_grows_as_reno_until_three_segments_queue_and_at_half_the_pace_then() {
        // 50 (1 - 100/106) = 2.8 of 3 segments; 50 (1 - 100/107) = 3.3.
        for (rtt, growth) in [(100, 1.0), (106, 1.0), (107, 0.5), (200, 0.5)] {
            let (mut path, mut v) = (Path::new(100), veno(50));
            let first = AckSample { in_flight: 50 * MSS, ..ack(path.now, Duration::from_millis(100)) };
            v.on_sample(&first);
            path.round(&mut v, rtt);
            assert!((segments(&v) - 50.0 - growth).abs() < 0.02, "{rtt} ms: {}", segments(&v));
        }
    }

    #[test]
    fn a_random_loss_takes_a_fifth_and_a_congestive_one_half() {
        for (rtt, kind, left) in
            [(106, Congestion::Loss, 40), (107, Congestion::Loss, 25), (106, Congestion::Ecn, 25), (106, Congestion::Timeout, 1)]
        {
            let mut v = veno(50);
            for rtt in [100, rtt] {
                v.on_sample(&ack(Time::ZERO, Duration::from_millis(rtt)));
            }
            reduce(&mut v, Time::ZERO, kind);
            assert_eq!(v.cwnd(), left * MSS, "{kind:?} at {rtt} ms");
            v.on_spurious();
            assert_eq!(v.cwnd(), 50 * MSS);
        }
    }

    #[test]
    fn a_loss_begins_a_new_least_round_trip() {
        let mut v = veno(50);
        for rtt in [100, 200] {
            v.on_sample(&ack(Time::ZERO, Duration::from_millis(rtt)));
        }
        assert_eq!(v.backlog, 25.0);
        reduce(&mut v, Time::ZERO, Congestion::Loss);
        v.on_sample(&ack(Time::ZERO, Duration::from_millis(200)));
        assert_eq!(v.backlog, 0.0);
    }
}

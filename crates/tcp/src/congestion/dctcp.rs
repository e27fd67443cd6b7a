//! DCTCP (RFC 8257): the window shrinks in proportion to how much of it was marked; all else is Reno.

use super::promises::{beside_cubic, queues_segments, shares, uses};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};

pub(super) const KIND: ControlKind = ControlKind {
    name: "dctcp",
    summary: "Reno whose decrease is half the share of bytes that were marked CE",
    source: "RFC 8257; Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010",
    params: &[ParamSpec {
        name: "g",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        // RFC 8257 §3.3 and §4.2.
        default: Some(Value::Number(1.0 / 16.0)),
        doc: "weight of the last window in alpha, the estimate of the share of bytes marked",
    }],
    linux: &[],
    ecn: EcnUse::DCTCP,
    promises: &[
        uses(0.97, "Alizadeh et al. 2010, section 3.4: full where K is over 0.17 BDP"),
        queues_segments(11.0, 19.0, "Alizadeh et al. 2010, section 3.3: from K + 1 - sqrt(2 (BDP + K)) / 2, 11, to K + 1, 18, for K = 17"),
        shares(0.9, "Alizadeh et al. 2010, section 4.1: flows converge to equal shares"),
        beside_cubic(0.3, 0.6, "RFC 8257 section 3.5: without marks a loss counts as for Reno"),
    ],
    build: |c| Box::new(Dctcp::new(c)),
};

/// DCTCP.Alpha: an average, taken over time, of the share of bytes marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alpha {
    value: f64,
    g: f64,
    acked: u64,
    marked: u64,
}

impl Alpha {
    /// Returns the value, to be set from outside.
    pub(super) fn value_mut(&mut self) -> &mut f64 {
        &mut self.value
    }

    /// RFC 8257 §3.3: until something is known, as if all were marked, so that the first mark halves the window.
    pub(super) fn new(g: f64) -> Self {
        Alpha { value: 1.0, g, acked: 0, marked: 0 }
    }

    /// RFC 8257 §3.3 steps 1 to 3.
    #[inline]
    pub(super) fn count(&mut self, ack: &AckSample) {
        self.acked += ack.delivered;
        self.marked += ack.marked;
    }

    /// RFC 8257 §3.3 steps 5 to 8: an observation window is over.
    pub(super) fn update(&mut self) {
        if self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.value += self.g * (share - self.value);
        }
        (self.acked, self.marked) = (0, 0);
    }

    /// RFC 8257 §3.3 step 9: what a reduction leaves of the window.
    pub(super) fn decrease(&self) -> f64 {
        1.0 - self.value / 2.0
    }

    #[cfg(test)]
    pub(super) fn value(&self) -> f64 {
        self.value
    }
}

/// Reno's growth; alpha for the decrease.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: Window,
    alpha: Alpha,
    /// The round trip that alpha is being measured in.
    round: u64,
}

impl Dctcp {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        Dctcp { window: Window::new(config), alpha: Alpha::new(config.congestion_control.params.number("g")), round: 0 }
    }
}

impl CongestionControl for Dctcp {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::number("alpha", self.alpha.value_mut(), 0.0..=1.0)]
    }

    fn on_sample(&mut self, ack: &AckSample) {
        self.alpha.count(ack);
        // RFC 8257 §3.3 steps 4 and 7: a window ends when what was sent at its start has been acknowledged.
        if ack.round != self.round {
            self.round = ack.round;
            self.alpha.update();
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // RFC 8257 §3.4: growth is that of RFC 5681.
        if !self.window.slow_start(ack) && ack.cwnd_limited {
            self.window.increase(ack, 1.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            // RFC 8257 §3.3 step 9, once a window: of cwnd, not of what is in flight.
            Congestion::Ecn => self.window.reduce_to(event, (self.window.cwnd as f64 * self.alpha.decrease() + 0.5) as u64),
            // RFC 8257 §3.5: losses as in RFC 5681.
            _ => self.window.reduce(event, 0.5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::choice;
    use crate::stack;
    use longfat_core::time::Time;

    const MSS: u64 = 1000;

    fn dctcp(cwnd: u32) -> Dctcp {
        let basis = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
        Dctcp::new(&TcpConfig { congestion_control: choice("dctcp"), mss: MSS as u32, initial_window: cwnd, initial_ssthresh: 1, ..basis })
    }

    /// A window of 10 segments is acknowledged, the first `marked` of them marked.
    fn round(dctcp: &mut Dctcp, round: u64, marked: u64) {
        for n in 0..10 {
            let ack = AckSample {
                acked: MSS,
                delivered: MSS,
                marked: if n < marked { MSS } else { 0 },
                round: round + u64::from(n == 9),
                cwnd_limited: true,
                ..AckSample::default()
            };
            dctcp.on_sample(&ack);
            dctcp.on_ack(&ack);
        }
    }

    fn event(kind: Congestion, flight_size: u64) -> CongestionEvent {
        CongestionEvent { now: Time::ZERO, kind, flight_size }
    }

    /// RFC 8257 §3.3: Alpha = Alpha (1 - g) + g M, once a window, from 1.
    #[test]
    fn alpha_is_an_average_of_the_share_marked() {
        let mut d = dctcp(10);
        assert_eq!(d.alpha.value(), 1.0);
        let mut expected = 1.0;
        for (n, marked) in [10, 10, 0, 0, 3, 0, 7].into_iter().enumerate() {
            round(&mut d, n as u64, marked);
            expected = expected * 15.0 / 16.0 + marked as f64 / 10.0 / 16.0;
            assert!((d.alpha.value() - expected).abs() < 1e-12, "{n}");
        }
        (7..200).for_each(|n| round(&mut d, n, 2));
        assert!((d.alpha.value() - 0.2).abs() < 1e-4);
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        let mut d = dctcp(100);
        d.on_congestion(&event(Congestion::Ecn, 100 * MSS));
        assert_eq!((d.cwnd(), d.ssthresh()), (50 * MSS, 50 * MSS), "nothing is known yet");
        d.alpha.value = 0.1;
        // Marks reduce cwnd, also where less is in flight.
        d.on_congestion(&event(Congestion::Ecn, 20 * MSS));
        assert_eq!((d.cwnd(), d.ssthresh()), (47_500, 47_500));
        d.on_congestion(&event(Congestion::Loss, 40 * MSS));
        assert_eq!((d.cwnd(), d.alpha.value()), (20 * MSS, 0.1));
        d.on_congestion(&event(Congestion::Timeout, 20 * MSS));
        assert_eq!((d.cwnd(), d.ssthresh()), (MSS, 10 * MSS));
    }

    #[test]
    fn it_grows_by_a_segment_a_round_also_while_marks_come() {
        let mut d = dctcp(10);
        round(&mut d, 0, 0);
        assert!((d.window.segments() - 10.96).abs() < 0.01, "{}", d.window.segments());
    }
}

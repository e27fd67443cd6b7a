//! XCP (Katabi, Handley and Rohrs 2002, KHR02 below): routers say in a header by how much the window changes. The queue `xcp` is the router.

use super::promises::{AS_RENO_BESIDE_CUBIC, queues_bdp, shares, uses};
use super::{AckSample, CongestionControl, CongestionEvent, ControlKind, Traits, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};

pub(super) const KIND: ControlKind = ControlKind {
    name: "xcp",
    summary: "routers with the queue xcp set the window; Reno where there are none",
    source: "Katabi, Handley and Rohrs, Congestion Control for High Bandwidth-Delay Product Networks, SIGCOMM 2002",
    params: &[ParamSpec {
        name: "price",
        kind: Kind::Number { min: 0.01, max: 100.0 },
        default: Some(Value::Number(1.0)),
        doc: "flows of one queue share it in proportion to their prices",
    }],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(
            0.93,
            "Katabi and others 2002, sections 5.2 and 3.5: near full, less the congestion header of 20 bytes and the end of each round of feedback",
        ),
        queues_bdp(0.0, 0.1, "Katabi and others 2002, section 3.5.1: the persistent queue is drained"),
        shares(0.98, "Katabi and others 2002, section 3.5.2: a tenth of the traffic is shuffled each round trip, by AIMD"),
        AS_RENO_BESIDE_CUBIC,
    ],
    build: |c| Box::new(Xcp::new(c)),
};

/// The window that routers steer.
#[derive(Clone, Debug)]
pub struct Xcp {
    window: Window,
    price: f64,
    /// Feedback came with this ACK.
    is_fed: bool,
    /// Round in which feedback came last.
    fed_in: Option<u64>,
}

impl Xcp {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let price = config.congestion_control.params.number("price");
        Xcp { window: Window::new(config), price, is_fed: false, fed_in: None }
    }
}

impl CongestionControl for Xcp {
    keeps_window!();

    fn traits(&self) -> Traits {
        Traits { explicit: self.price, ..Traits::WINDOW }
    }

    fn on_feedback(&mut self, feedback: f64) {
        // KHR02 §3.3: cwnd = max(cwnd + H_feedback, s).
        self.window.steer(feedback);
        self.is_fed = true;
    }

    fn on_sample(&mut self, ack: &AckSample) {
        if std::mem::take(&mut self.is_fed) {
            self.fed_in = Some(ack.round);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // KHR02 §8.2: a conventional protocol where the routers do not speak XCP. Theirs asks them first; this is told by their silence.
        let is_steered = self.fed_in.is_some_and(|round| ack.round <= round + 1);
        if !is_steered && !self.window.slow_start(ack) && ack.cwnd_limited {
            self.window.increase(ack, 1.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // KHR02 §3.3: losses are answered as TCP does.
        self.window.reduce(event, 0.5);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::{Duration, Time};

    #[test]
    fn feedback_is_added_to_the_window_to_no_less_than_a_segment() {
        let mut c = (KIND.build)(&config("xcp", &[], 10));
        c.on_feedback(0.75);
        c.on_feedback(0.5);
        assert_eq!(c.cwnd(), 10 * MSS + 1);
        c.on_feedback(-2.0 * MSS as f64);
        assert_eq!(c.cwnd(), 8 * MSS + 1);
        c.on_feedback(-20.0 * MSS as f64);
        assert_eq!(c.cwnd(), MSS);
    }

    #[test]
    fn where_routers_speak_acks_alone_do_nothing_and_where_they_are_silent_it_is_aimd() {
        let rtt = Duration::from_millis(40);
        let mut c = (KIND.build)(&config("xcp", &[], 10));
        c.on_feedback(0.0);
        c.on_sample(&AckSample { round: 1, ..AckSample::default() });
        let ack = |round| AckSample { round, acked: MSS, delivered: MSS, cwnd_limited: true, ..AckSample::default() };
        c.on_ack(&ack(1));
        c.on_ack(&ack(2));
        assert_eq!(c.cwnd(), 10 * MSS);
        // A whole round of silence; no slow start from a window that routers have set.
        c.on_ack(&ack(3));
        assert_eq!(c.cwnd(), 10 * MSS + MSS / 10);
        let (mut silent, mut aimd) = ((KIND.build)(&config("xcp", &[], 10)), (super::super::aimd::KIND.build)(&config("aimd", &[], 10)));
        for c in [&mut silent, &mut aimd] {
            rounds(c.as_mut(), Time::ZERO, rtt, 0, 3);
            reduce(c.as_mut(), Time::ZERO, super::super::Congestion::Loss);
            rounds(c.as_mut(), Time::ZERO, rtt, 3, 5);
        }
        assert_eq!(silent.cwnd(), aimd.cwnd());
    }
}

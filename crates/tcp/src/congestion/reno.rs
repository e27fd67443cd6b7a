//! Reno: additive increase, multiplicative decrease (Jacobson 1988; RFC 5681 §3.1).

use super::promises::{AS_RENO_BESIDE_CUBIC, CONVERGES, FULL, sawtooth};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Unused, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};

pub(super) const KIND: ControlKind = ControlKind {
    name: "reno",
    summary: "AIMD(1, 1/2): slow start and congestion avoidance of RFC 5681",
    source: "RFC 5681; Jacobson, Congestion avoidance and control, SIGCOMM 1988",
    params: &[ABE],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[FULL, sawtooth(0.5, "RFC 5681 Eq. 4: a loss takes half"), CONVERGES, AS_RENO_BESIDE_CUBIC],
    build: |c| Box::new(Reno { abe: c.congestion_control.params.boolean(ABE.name), ..Reno::new(c) }),
};

/// RFC 8511: alternative backoff with ECN.
pub(super) const ABE: ParamSpec = ParamSpec {
    name: "abe",
    kind: Kind::Bool,
    default: Some(Value::Bool(false)),
    doc: "a mark in congestion avoidance lowers cwnd less than a loss does (RFC 8511): who marks keeps its queue short",
};
/// RFC 8511 §3.1: what a mark leaves of the window, for Reno and, by the same experiments, for CUBIC.
const BETA_ECN: f64 = 0.8;
pub(super) const BETA_ECN_CUBIC: f64 = 0.85;

/// AIMD(1, 1/2) with standard slow start.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
    counts_acks: bool,
    counts_segments: bool,
    extra_increment: bool,
    abe: bool,
    /// Bytes acknowledged, or segments' worth of ACKs counted, towards the next segment of congestion avoidance.
    acked: u64,
}

impl Reno {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        Reno {
            window: Window::new(config),
            counts_acks: config.sending.abc_limit == 0,
            counts_segments: config.sending.count_segments,
            extra_increment: config.sending.extra_increment,
            abe: false,
            acked: 0,
        }
    }

    fn congestion_avoidance(&mut self, ack: &AckSample) {
        let w = &mut self.window;
        if self.counts_acks && !self.counts_segments {
            // RFC 5681 Eq. 3: SMSS*SMSS/cwnd an ACK. RFC 2525 §2.6: BSD added mss/8 to it, which is wrong and faster.
            let extra = if self.extra_increment { w.mss / 8 } else { 0 };
            w.cwnd += (w.mss * w.mss / w.cwnd).max(1) + extra;
            return;
        }
        // RFC 3465 §2.1: one segment for each cwnd of bytes acknowledged. Sarolahti and Kuznetsov 2002 on Linux: for each cwnd of ACKs.
        self.acked += if self.counts_acks { w.mss } else { ack.acked };
        if self.acked >= w.cwnd {
            self.acked -= w.cwnd;
            w.cwnd += w.mss;
        }
    }
}

impl CongestionControl for Reno {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::bytes("acked", &mut self.acked, 0)]
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // A window that nothing tests must not grow (RFC 7661 §4.3.1).
        if !self.window.slow_start(ack) && ack.cwnd_limited {
            self.congestion_avoidance(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // RFC 5681 Eq. 4: max(FlightSize / 2, 2 SMSS). Stacks that count ACKs, not bytes, rounded it down to whole segments
        // (TCP/IP Illustrated vol. 2 §27).
        let unit = if self.counts_acks { self.window.mss } else { 1 };
        let left = if self.abe && event.kind == Congestion::Ecn && !self.window.in_slow_start() {
            // RFC 8511 §3.1; in slow start as ever.
            (event.flight_size as f64 * BETA_ECN + 0.5) as u64
        } else {
            event.flight_size / 2
        };
        self.window.reduce_to(event, left / unit * unit);
        self.acked = 0;
    }

    fn on_unused(&mut self, unused: Unused) {
        self.window.unused(unused);
        if let Unused::Limited { .. } = unused {
            self.acked = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::{Duration, Time};

    /// RFC 8511 §3.1: 0.8 for Reno, 0.85 for CUBIC, for marks in congestion avoidance; losses, timeouts and slow start as ever.
    #[test]
    fn a_mark_costs_less_than_a_loss_with_abe() {
        let left = |name: &'static str, abe: bool, kind: Congestion, slow_start: bool| {
            let mut config = config(name, &[("abe", Value::Bool(abe))], 100);
            if slow_start {
                config.initial_ssthresh = u64::MAX;
            }
            let mut control = (super::super::find(name).unwrap().build)(&config);
            reduce(&mut *control, Time::ZERO, kind);
            control.ssthresh() / MSS
        };
        for (name, loss, mark) in [("reno", 50, 80), ("cubic", 70, 85)] {
            assert_eq!(left(name, true, Congestion::Ecn, false), mark, "{name}");
            assert_eq!(left(name, true, Congestion::Ecn, true), loss, "{name} in slow start");
            assert_eq!(left(name, true, Congestion::Loss, false), loss, "{name}");
            assert_eq!(left(name, true, Congestion::Timeout, false), loss, "{name}");
            assert_eq!(left(name, false, Congestion::Ecn, false), loss, "{name}");
        }
    }

    /// Returns the bytes that congestion avoidance adds per round trip of `segments` ACKs.
    fn growth(count_segments: bool, segments: u64) -> u64 {
        let mut reno = Reno::new(&config("reno", &[], segments).with(|tcp| {
            tcp.sending.abc_limit = 0;
            tcp.sending.count_segments = count_segments;
        }));
        round(&mut reno, &ack(Time::ZERO, Duration::from_millis(100)));
        reno.cwnd() - segments * MSS
    }

    #[test]
    fn a_segment_a_round_trip_whatever_the_window() {
        // RFC 5681 Eq. 3 in whole bytes: a little less than a segment, and beyond mss^2 bytes a byte an ACK, which is more.
        for segments in [10, 100, 900] {
            assert_eq!(growth(true, segments), MSS, "{segments} segments, counted");
            assert!((MSS * 9 / 10..=MSS).contains(&growth(false, segments)), "{segments} segments");
        }
        // initial_window ends at 1000.
        assert_eq!((growth(true, 1000), growth(false, 1000)), (MSS, 1000));
    }

    #[test]
    fn beyond_mss_squared_a_byte_an_ack_is_too_much() {
        for (count_segments, grown) in [(true, MSS), (false, 5 * MSS)] {
            let mut reno = Reno::new(&config("reno", &[], 10).with(|tcp| {
                tcp.sending.abc_limit = 0;
                tcp.sending.count_segments = count_segments;
            }));
            reno.on_unused(Unused::Limited { cwnd: 5000 * MSS, ssthresh: MSS });
            round(&mut reno, &ack(Time::ZERO, Duration::from_millis(100)));
            assert_eq!(reno.cwnd() - 5000 * MSS, grown);
        }
    }
}

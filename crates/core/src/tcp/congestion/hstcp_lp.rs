//! HSTCP-LP (Kuzmanovic, Knightly and Cottrell 2004): HighSpeed TCP that yields, by TCP-LP's early congestion indications and
//! inference phase. The SLAC evaluation (Bulot, Cottrell and Hughes-Jones 2004, section 2.6): the two merged.

use super::low_priority::{self, LowPriority};
use super::{AckSample, CongestionControl, CongestionEvent, ControlKind, Window, highspeed};
use crate::tcp::TcpConfig;
use crate::tcp::ecn::EcnUse;
use crate::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "hstcp_lp",
    summary: "low priority: HighSpeed that yields as soon as one-way delays tell of others; needs timestamps",
    source: "RFC 3649; Kuzmanovic and Knightly, TCP-LP, INFOCOM 2003; Kuzmanovic, Knightly and Cottrell, HSTCP-LP, PFLDnet 2004",
    params: low_priority::PARAMS,
    ecn: EcnUse::CLASSIC,
    build: |c| Box::new(HstcpLp::new(c)),
};

/// HighSpeed's window with early congestion indications.
#[derive(Clone, Debug)]
pub struct HstcpLp {
    window: Window,
    low: LowPriority,
    /// a(w), computed for a window of so many segments; good for one segment more.
    a: f64,
    computed_at: f64,
}

impl HstcpLp {
    /// As `config` asks.
    pub fn new(config: &TcpConfig) -> Self {
        HstcpLp { window: Window::new(config), low: LowPriority::new(config), a: 1.0, computed_at: 0.0 }
    }
}

impl CongestionControl for HstcpLp {
    fn window(&mut self) -> Option<&mut Window> {
        Some(&mut self.window)
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    fn on_sample(&mut self, ack: &AckSample) {
        self.low.measure(ack);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // RFC 3649 §5: a(w) segments a window, and a loss or, here, an early indication takes b(w).
        let increase = |w: f64| {
            if (w - self.computed_at).abs() >= 1.0 {
                (self.computed_at, self.a) = (w, highspeed::increase(w));
            }
            self.a
        };
        self.low.on_ack(&mut self.window, ack, increase, highspeed::decrease);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.reduce(event, 1.0 - highspeed::decrease(self.window.segments()));
        self.low.on_congestion(event);
    }

    fn on_spurious(&mut self) {
        if self.window.undo() {
            self.low.restart();
        }
    }

    fn on_restart(&mut self, _idle: Duration) {
        self.window.restart();
        self.low.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, testing::*};
    use super::*;
    use crate::time::Time;

    /// In congestion avoidance, with one-way delays seen from 0 to 100 ms: early congestion is beyond 15.85 ms.
    fn hstcp_lp(segments: u64) -> (Path, HstcpLp) {
        let (mut path, mut lp) = (Path::new(100), HstcpLp::new(&config("hstcp_lp", &[], segments)));
        lp.low.on_congestion(&CongestionEvent { now: Time::ZERO, kind: Congestion::Loss, flight_size: 0 });
        path.round_with(&mut lp, 100, Some(0));
        path.round_with(&mut lp, 100, Some(0));
        let most = AckSample { round: 2, acked: 1, in_flight: 100 * MSS, forward_delay: Some(100_000_000_000), ..AckSample::default() };
        lp.low.measure(&most);
        (path, lp)
    }

    #[test]
    fn it_grows_and_gives_way_as_highspeed() {
        let (mut path, mut lp) = hstcp_lp(5000);
        let before = lp.window.segments();
        path.round_with(&mut lp, 100, Some(0));
        let a = highspeed::increase(before);
        assert!(a > 10.0 && (lp.window.segments() - before - a).abs() < 0.05 * a, "{} {a}", lp.window.segments() - before);
        let before = lp.window.segments();
        path.round_with(&mut lp, 120, Some(20));
        // Smoothed delays pass that at the 12th ACK.
        let left = 1.0 - highspeed::decrease(before);
        assert!(left > 0.6 && (lp.window.segments() / before - left).abs() < 0.001, "{} {left}", lp.window.segments() / before);
        // Nothing for three round trips; a second indication in them, and one segment is left.
        let held = lp.cwnd();
        path.round_with(&mut lp, 100, Some(0));
        assert_eq!(lp.cwnd(), held);
        path.round_with(&mut lp, 120, Some(20));
        assert_eq!(lp.cwnd(), MSS);
    }

    #[test]
    fn a_loss_takes_what_it_takes_from_highspeed() {
        let (_, mut lp) = hstcp_lp(5000);
        let before = lp.window.segments();
        reduce(&mut lp, Time::ZERO, Congestion::Loss);
        assert!((lp.window.segments() / before - (1.0 - highspeed::decrease(before))).abs() < 1e-3);
        lp.on_spurious();
        assert_eq!(lp.window.segments(), before);
        reduce(&mut lp, Time::ZERO, Congestion::Timeout);
        assert_eq!(lp.cwnd(), MSS);
    }
}

//! HSTCP-LP (Kuzmanovic, Knightly and Cottrell 2004): HighSpeed TCP that yields, by TCP-LP's early congestion indications and
//! inference phase. The SLAC evaluation (Bulot, Cottrell and Hughes-Jones 2004, section 2.6): the two merged.

use super::highspeed::{self, Increase};
use super::low_priority::{Growth, LowPriority, PARAMS};
use super::promises::{beside_cubic, queues_bdp, shares, uses};
use super::{ControlKind, Window};
use crate::ecn::EcnUse;

pub(super) const KIND: ControlKind = ControlKind {
    name: "hstcp_lp",
    summary: "low priority: HighSpeed that yields as soon as one-way delays tell of others; needs timestamps",
    source: "RFC 3649; Kuzmanovic and Knightly, TCP-LP, INFOCOM 2003; Kuzmanovic, Knightly and Cottrell, HSTCP-LP, PFLDnet 2004",
    params: PARAMS,
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.7, "arithmetic: it halves at 0.15 BDP of queue; a window from 0.58 to 1.15 BDP uses 84 %"),
        queues_bdp(0.0, 0.15, "Kuzmanovic and Knightly 2003: it yields at delta = 0.15 of the greatest delay"),
        shares(0.8, "Kuzmanovic, Knightly and Cottrell 2004: equal flows share"),
        beside_cubic(0.0, 0.15, "Kuzmanovic, Knightly and Cottrell 2004: it uses what others leave"),
    ],
    build: |c| Box::new(LowPriority::new(c, Increase::default())),
};

/// RFC 3649 §5: a(w) segments a window, and a loss or, here, an early indication takes b(w).
impl Growth for Increase {
    fn increase(&mut self, w: &Window) -> f64 {
        self.at(w)
    }

    fn decrease(w: f64) -> f64 {
        highspeed::decrease(w)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AckSample, Congestion, CongestionControl, testing::*};
    use super::*;
    use longfat_core::time::{Duration, Time};

    type HstcpLp = LowPriority<Increase>;

    /// Returns a control in congestion avoidance, with one-way delays seen from 0 to 100 ms: early congestion is beyond 15.85 ms.
    fn hstcp_lp(segments: u64) -> (Path, HstcpLp) {
        let (mut path, mut lp) = (Path::new(100), LowPriority::new(&config("hstcp_lp", &[], segments), Increase::default()));
        lp.delays.full_seen = true;
        path.round_with(&mut lp, 100, Some(0));
        path.round_with(&mut lp, 100, Some(0));
        let pair = AckSample { round: 2, acked: 2 * MSS, in_flight: 100 * MSS, ..ack(path.now, Duration::from_millis(100)) };
        let most = AckSample { forward_delay: Some(100_000_000_000), ..pair };
        lp.delays.measure(&most);
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

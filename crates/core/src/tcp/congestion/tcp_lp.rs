//! TCP-LP (Kuzmanovic and Knightly 2003): Reno that uses only what others leave, by early congestion indications.

use super::low_priority::{self, LowPriority};
use super::{AckSample, CongestionControl, CongestionEvent, ControlKind, Window};
use crate::tcp::TcpConfig;
use crate::tcp::ecn::EcnUse;
use crate::time::Duration;

pub(super) const KIND: ControlKind = ControlKind {
    name: "tcp_lp",
    summary: "low priority: Reno that yields as soon as one-way delays tell of others; needs timestamps",
    source: "Kuzmanovic and Knightly, TCP-LP: a distributed algorithm for low priority data transfer, INFOCOM 2003",
    params: low_priority::PARAMS,
    ecn: EcnUse::CLASSIC,
    build: |c| Box::new(TcpLp::new(c)),
};

/// Reno's window with early congestion indications.
#[derive(Clone, Debug)]
pub struct TcpLp {
    window: Window,
    low: LowPriority,
}

impl TcpLp {
    /// As `config` asks.
    pub fn new(config: &TcpConfig) -> Self {
        TcpLp { window: Window::new(config), low: LowPriority::new(config) }
    }
}

impl CongestionControl for TcpLp {
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
        self.low.on_ack(&mut self.window, ack, |_| 1.0, |_| 0.5);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.reduce(event, 0.5);
        self.low.reduced();
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

    fn lp(segments: u64) -> (Path, TcpLp) {
        let (mut path, mut lp) = (Path::new(100), TcpLp::new(&config("tcp_lp", &[], segments)));
        // One-way delays from -40 ms (the clocks differ) to 60 ms: early congestion is beyond -25 ms.
        path.round_with(&mut lp, 100, Some(-40));
        path.round_with(&mut lp, 100, Some(-40));
        let most = AckSample { round: 2, acked: 1, in_flight: 100 * MSS, forward_delay: Some(60_000_000_000), ..AckSample::default() };
        lp.low.measure(&most);
        (path, lp)
    }

    /// The window in segments after rounds of so many milliseconds one way.
    fn windows(path: &mut Path, lp: &mut TcpLp, delays: &[i64]) -> Vec<u64> {
        let mut window = |delay: &i64| {
            path.round_with(lp, 100, Some(*delay));
            lp.cwnd() / MSS
        };
        delays.iter().map(&mut window).collect()
    }

    #[test]
    fn an_early_indication_halves_and_three_round_trips_pass_without_growth() {
        let (mut path, mut lp) = lp(98);
        // A delay of 20 ms more is beyond 15 %, but smoothed by 1/8 an ACK it takes a few; one that does not last is none.
        assert_eq!(windows(&mut path, &mut lp, &[-40]), [100]);
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [50], "100 (and a little) halved");
        // It gave way at about the 13th ACK of that round: -40 + 20 (1 - (7/8)^n) > -25. The phase ends 300 ms later.
        assert_eq!(windows(&mut path, &mut lp, &[-40, -40]), [50, 50]);
        let grown = windows(&mut path, &mut lp, &[-40, -40]);
        assert!(grown[0] <= 51 && grown[1] == grown[0] + 1, "{grown:?}");
    }

    #[test]
    fn a_second_one_in_the_inference_phase_leaves_one_segment() {
        let (mut path, mut lp) = lp(98);
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [50]);
        // The round after the halving still shows the delays of the window before it; the next one counts.
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [50]);
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [1]);
        // A segment alone tells nothing: its ACK may have waited for the receiver's timer.
        assert_eq!(windows(&mut path, &mut lp, &[0, 0]), [1, 1]);
        assert_eq!(lp.ssthresh(), 2 * MSS, "what follows is additive increase");
    }

    #[test]
    fn after_the_phase_it_is_a_first_one_again() {
        let (mut path, mut lp) = lp(98);
        assert_eq!(windows(&mut path, &mut lp, &[-20, -40, -40, -40]), [50, 50, 50, 50]);
        let before = lp.cwnd() / MSS;
        path.round_with(&mut lp, 100, Some(-40));
        assert!(lp.cwnd() / MSS > before);
        // 52 and a little by then, halved.
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [26]);
    }

    #[test]
    fn what_one_tick_explains_is_no_congestion() {
        let (mut path, mut lp) = (Path::new(100), TcpLp::new(&config("tcp_lp", &[], 50)));
        for delay in [0, 1, 0, 1, 1, 1] {
            path.round_with(&mut lp, 100, Some(delay));
        }
        assert!(lp.cwnd() / MSS >= 55, "{}", lp.cwnd() / MSS);
    }

    #[test]
    fn a_loss_halves_as_in_reno() {
        let (_, mut lp) = lp(98);
        let before = lp.cwnd();
        reduce(&mut lp, Time::ZERO, Congestion::Loss);
        assert_eq!(lp.cwnd(), before.div_ceil(2));
        lp.on_spurious();
        assert_eq!(lp.cwnd(), before);
        reduce(&mut lp, Time::ZERO, Congestion::Timeout);
        assert_eq!((lp.cwnd(), lp.ssthresh()), (MSS, before.div_ceil(2)));
    }
}

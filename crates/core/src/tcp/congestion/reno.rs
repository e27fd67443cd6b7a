//! Reno: additive increase, multiplicative decrease (Jacobson 1988; RFC 5681 §3.1).

use super::{AckSample, Congestion, CongestionControl, CongestionEvent};
use crate::tcp::TcpConfig;
use crate::time::Duration;

/// AIMD(1, 1/2) with standard slow start.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    initial: u64,
    /// RFC 3465's L in segments; 0 counts ACKs, not bytes.
    abc_limit: u64,
    extra_increment: bool,
    /// Bytes acknowledged towards the next segment of congestion avoidance.
    acked: u64,
}

impl Reno {
    /// A window of `initial_window` segments and the `initial_ssthresh` of `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        let initial = mss * u64::from(config.initial_window);
        Reno {
            cwnd: initial,
            ssthresh: config.initial_ssthresh,
            mss,
            initial,
            abc_limit: u64::from(config.abc_limit),
            extra_increment: config.extra_increment,
            acked: 0,
        }
    }

    fn slow_start(&mut self, ack: &AckSample) {
        // RFC 5681 Eq. 2: cwnd += min(N, SMSS); RFC 3465 §2.2 raises the bound to L segments, and §2.3 lowers it to one after a timeout.
        let limit = match self.abc_limit {
            0 => self.mss,
            _ if ack.after_timeout => ack.acked.min(self.mss),
            limit => ack.acked.min(limit.saturating_mul(self.mss)),
        };
        self.cwnd += limit;
    }

    fn congestion_avoidance(&mut self, ack: &AckSample) {
        if self.abc_limit == 0 {
            // RFC 5681 Eq. 3: SMSS*SMSS/cwnd an ACK. RFC 2525 §2.6: BSD added mss/8 to it, which is wrong and faster.
            let extra = if self.extra_increment { self.mss / 8 } else { 0 };
            self.cwnd += (self.mss * self.mss / self.cwnd).max(1) + extra;
            return;
        }
        // RFC 3465 §2.1: one segment for each cwnd of bytes acknowledged.
        self.acked += ack.acked;
        if self.acked >= self.cwnd {
            self.acked -= self.cwnd;
            self.cwnd += self.mss;
        }
    }
}

impl CongestionControl for Reno {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // A window that nothing tests must not grow (RFC 7661 §4.3.1).
        if !ack.cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh { self.slow_start(ack) } else { self.congestion_avoidance(ack) }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != Congestion::TimeoutAgain {
            // RFC 5681 Eq. 4: max(FlightSize / 2, 2 SMSS). Stacks that count ACKs, not bytes, rounded it down to whole segments
            // (TCP/IP Illustrated vol. 2 §27).
            let unit = if self.abc_limit == 0 { self.mss } else { 1 };
            self.ssthresh = (event.flight_size / 2 / unit * unit).max(2 * self.mss);
        }
        self.cwnd = match event.kind {
            Congestion::Loss | Congestion::Ecn => self.ssthresh,
            // RFC 5681 §3.1: the loss window is one segment.
            Congestion::Timeout | Congestion::TimeoutAgain => self.mss,
        };
        self.acked = 0;
    }

    fn on_restart(&mut self, _idle: Duration) {
        self.cwnd = self.cwnd.min(self.initial);
    }

    fn on_syn_loss(&mut self) {
        self.cwnd = self.mss;
    }
}

//! Congestion controls: how `cwnd` grows and shrinks. One file each, one line in [`REGISTRY`].
//!
//! A control owns `cwnd`, `ssthresh` and its pacing rate. The sender owns loss recovery (and the window *during* it,
//! by PRR or by Reno's inflation) and the pacing itself.

pub mod cubic;
pub mod reno;

use crate::tcp::TcpConfig;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// What an ACK that moved the left edge says.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    pub now: Time,
    /// Payload bytes newly acknowledged, cumulatively.
    pub acked: u64,
    /// Bytes in flight before this ACK.
    pub in_flight: u64,
    /// A round trip measured by this ACK.
    pub rtt: Option<Duration>,
    pub srtt: Duration,
    /// Whether cwnd is what kept the sender from sending more (not the application, not rwnd).
    pub cwnd_limited: bool,
    /// Whether this is slow start after a timeout (RFC 3465 §2.3 wants L = 1 there).
    pub after_timeout: bool,
}

/// Why the window must shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// A loss seen by duplicate ACKs or SACK.
    Loss,
    /// The retransmission timer, or a loss under Tahoe, which treats both alike: cwnd falls to one segment.
    Timeout,
    /// The same timer again, with no progress: ssthresh stays (RFC 5681 §3.1 after Eq. 4).
    TimeoutAgain,
    /// An ECN echo.
    Ecn,
}

/// A reduction asked of the control.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    pub now: Time,
    pub kind: Congestion,
    /// FlightSize of RFC 5681: bytes sent and not acknowledged, limited transmit left out.
    pub flight_size: u64,
}

/// A congestion control. Windows are in bytes. Each method stands for a hook of Linux's `tcp_congestion_ops`.
pub trait CongestionControl: std::fmt::Debug {
    /// The congestion window.
    fn cwnd(&self) -> u64;
    /// The slow start threshold; `u64::MAX` while there is none.
    fn ssthresh(&self) -> u64;
    /// New data was acknowledged outside fast recovery.
    fn on_ack(&mut self, ack: &AckSample);
    /// Congestion: choose ssthresh, and cwnd as it shall be when recovery ends.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// The last reduction was for nothing: take it back.
    fn on_spurious(&mut self) {}
    /// Sending starts again after an idle `rto` (RFC 5681 §4.1).
    fn on_restart(&mut self, idle: Duration);
    /// The SYN was lost: start with one segment (RFC 5681 §3.1).
    fn on_syn_loss(&mut self);
    /// At what rate to space segments; `None`: ACKs clock them.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Whether proportional rate reduction may steer the window during recovery.
    fn uses_prr(&self) -> bool {
        true
    }
}

/// One congestion control.
pub struct ControlKind {
    /// As `TCP_CONGESTION` spells it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    pub build: fn(&TcpConfig) -> Box<dyn CongestionControl + Send>,
}

/// Every congestion control, in the order of listings.
pub const REGISTRY: &[ControlKind] = &[
    ControlKind {
        name: "reno",
        summary: "AIMD(1, 1/2): slow start and congestion avoidance of RFC 5681",
        build: |c| Box::new(reno::Reno::new(c)),
    },
    ControlKind {
        name: "cubic",
        summary: "RFC 9438: the window a cubic of the time since the last loss",
        build: |c| Box::new(cubic::Cubic::new(c)),
    },
];

/// The names in [`REGISTRY`].
pub const NAMES: &[&str] = &{
    let mut names = [""; REGISTRY.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = REGISTRY[i].name;
        i += 1;
    }
    names
};

/// The control called `name`.
pub fn find(name: &str) -> Option<&'static ControlKind> {
    REGISTRY.iter().find(|c| c.name == name)
}

#[cfg(test)]
mod tests;

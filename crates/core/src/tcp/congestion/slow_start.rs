//! Slow start: how fast the window grows before the first loss, and when it stops by itself.

use super::AckSample;
use crate::tcp::TcpConfig;

/// Standard slow start (RFC 5681 §3.1) with appropriate byte counting (RFC 3465).
#[derive(Clone, Debug)]
pub struct SlowStart {
    mss: u64,
    /// RFC 3465's L in segments; 0 counts ACKs, not bytes.
    abc_limit: u64,
}

impl SlowStart {
    /// As `config` asks.
    pub fn new(config: &TcpConfig) -> Self {
        SlowStart { mss: u64::from(config.mss), abc_limit: u64::from(config.abc_limit) }
    }

    /// By how many bytes `cwnd` grows with this ACK.
    #[inline]
    pub fn growth(&mut self, ack: &AckSample) -> u64 {
        // RFC 5681 Eq. 2: cwnd += min(N, SMSS); RFC 3465 §2.2 raises the bound to L segments, and §2.3 lowers it to one after a timeout.
        match self.abc_limit {
            0 => self.mss,
            _ if ack.after_timeout => ack.acked.min(self.mss),
            limit => ack.acked.min(limit.saturating_mul(self.mss)),
        }
    }
}
